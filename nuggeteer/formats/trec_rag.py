"""Answers of TREC RAG: one JSON object per line, with sentences and their citations.

2024 {"run_id", "topic_id", "topic", "references": [docid, ...], "response_length",
      "answer": [{"text", "citations": [0, 3]}]}
2025 {"metadata": {"team_id", "run_id", "type", "narrative_id", "narrative"},
      "references": [docid, ...], "answer": [{"text", "citations": [0, 3]}]}

and reports of RAGTIME, NeuCLIR and DRAGUN, as TREC Auto-Judge takes them:

     {"metadata": {"team_id", "run_id", "topic_id"}, "responses": [{"text", "citations": {docid: confidence} or
      [docid, ...]}]}

Each sentence becomes a response. Its docid is its first citation, which is an index into `references` or a docid. The
other keys of a sentence are kept under `sentence`. The other keys of the object are kept under `answer`, with the first
sentence, so that the object can be written again. An answer without sentences becomes an empty response. A line is kept
aside if an id is not valid, if `answer` or `responses` is not a list of objects with texts, or if the run has already
answered the question.

Responses from other sources are written in the form of 2024, with their docids as citations. Ranks are not written,
because the order has them. Extra keys and a question's kind, target and template are not written either.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nuggeteer.formats.bundle import Bundle, are_texts, as_id, by_question, kept
from nuggeteer.formats.objects import Opening, read_objects
from nuggeteer.records import Question, Response, RunInfo


def recognises(opening: Opening) -> bool:
    """Whether a file begins as answers do."""
    listed = all(isinstance(one.get("answer", one.get("responses")), list) for one in opening.objects)
    return listed and (opening.every("topic_id", "run_id") or opening.every("metadata"))


def read_answers(path: Path) -> Bundle:
    """Read answers of either year, of one or several runs."""
    bundle = Bundle()
    answered: set[tuple[str, str]] = set()
    for number, line, raw in read_objects(path, bundle, ("run_id", "topic_id", "metadata", "answer", "responses")):
        where = "answer" if line.get("answer") is not None or "responses" not in line else "responses"
        sentences = line.pop(where, None)
        about = line["metadata"] if isinstance(line.get("metadata"), dict) else line
        qid, run = as_id(about.get("topic_id", about.get("narrative_id"))), as_id(about.get("run_id"))
        if qid is None or run is None or not are_texts(sentences):
            what = "no run_id, no topic_id or narrative_id, or no answer with texts"
            bundle.not_understood(path, number, raw, what)
            continue
        if (run, qid) in answered:
            bundle.not_understood(path, number, raw, f"a second answer of {run} to {qid}")
            continue
        answered.add((run, qid))
        topic, references = about.get("topic", about.get("narrative")), line.get("references")
        bundle.add_question(Question(qid, topic if isinstance(topic, str) else "", kind="rag"))
        bundle.worded(path, number, qid, topic)
        whole: dict[str, Any] = {"answer": line} | ({} if where == "answer" else {"sentences_in": where})
        for rank, sentence in enumerate(sentences, 1):
            docid = _cited(sentence.get("citations"), references if isinstance(references, list) else [])
            extra = {"sentence": {k: v for k, v in sentence.items() if k != "text"}, **whole}
            bundle.add_response(RunInfo(run), Response(qid, sentence["text"], docid, rank, extra))
            whole = {}
        if whole:
            bundle.add_response(RunInfo(run), Response(qid, "", extra=whole))
    bundle.warn_of_empty_answers(path)
    return bundle


def _cited(citations: Any, references: list[Any]) -> str | None:
    """The docid of the first citation, or of the one with the highest confidence; None if there is none or if it is not
    valid."""
    if isinstance(citations, dict) and all(isinstance(value, int | float) for value in citations.values()):
        return max(citations, key=lambda docid: citations[docid], default=None)
    first = next(iter(citations), None) if isinstance(citations, list | dict) else None
    if isinstance(first, int) and not isinstance(first, bool) and 0 <= first < len(references):
        first = references[first]
    return first if isinstance(first, str) else None


def answer_objects(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run as answers. Answers that were read from such a file are unchanged; others have the form of 2024."""
    for qid, responses in by_question(bundle.responses[run]).items():
        answer = kept(responses[0], "answer")
        if not answer:
            yield _answer_2024(run, bundle.question(qid), responses)
            continue
        sentences = [r for r in responses if "sentence" in r.extra or r.text]
        where = "responses" if responses[0].extra.get("sentences_in") == "responses" else "answer"
        yield {**answer, where: [{"text": r.text, **kept(r, "sentence")} for r in sentences]}


def _answer_2024(run: str, question: Question, responses: list[Response]) -> dict[str, Any]:
    references = list(dict.fromkeys(r.docid for r in responses if r.docid is not None))
    index = {docid: i for i, docid in enumerate(references)}
    return {
        "run_id": run,
        "topic_id": question.qid,
        "topic": question.text,
        "references": references,
        "response_length": sum(len(r.text.split()) for r in responses),
        "answer": [{"text": r.text, "citations": [] if r.docid is None else [index[r.docid]]} for r in responses],
    }
