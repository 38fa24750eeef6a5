"""Answers of TREC RAG, one JSON object a line, sentences with citations.

2024 {"run_id", "topic_id", "topic", "references": [docid, ...], "response_length",
      "answer": [{"text", "citations": [0, 3]}]}
2025 {"metadata": {"team_id", "run_id", "type", "narrative_id", "narrative"},
      "references": [docid, ...], "answer": [{"text", "citations": [0, 3]}]}

A sentence is a response; its docid is its first citation, a place in `references` or a docid itself. What
else a sentence says is kept under `sentence`, and all else of the object with the answer's first sentence,
under `answer`, so that it can be written again; an answer without sentences becomes an empty response. A
line is kept aside if an id is none, if `answer` is no list of objects with texts, or if it is a run's to a
question for the second time.

Responses that come from elsewhere are written in the form of 2024, with their docids for citations; their
ranks, which the order says again, and extra keys are not written, nor are a question's kind, target and
template.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from nuggeteer.formats.bundle import Bundle, as_id, kept, read_objects
from nuggeteer.records import Question, Response, RunInfo


def read_answers(path: Path) -> Bundle:
    """Read answers of either year, of one or several runs."""
    bundle = Bundle()
    answered: set[tuple[str, str]] = set()
    for number, line, raw in read_objects(path, bundle, ("run_id", "topic_id", "metadata", "answer")):
        sentences = line.pop("answer", None)
        about = line["metadata"] if isinstance(line.get("metadata"), dict) else line
        qid, run = as_id(about.get("topic_id", about.get("narrative_id"))), as_id(about.get("run_id"))
        if qid is None or run is None or not _are_sentences(sentences):
            what = "no run_id, topic_id or narrative_id, or answer with texts"
            bundle.not_understood(path, number, raw, what)
            continue
        if (run, qid) in answered:
            bundle.not_understood(path, number, raw, f"an answer of {run} to {qid} for the second time")
            continue
        answered.add((run, qid))
        topic, references = about.get("topic", about.get("narrative")), line.get("references")
        bundle.ask(Question(qid, topic if isinstance(topic, str) else "", kind="rag"))
        whole: dict[str, Any] = {"answer": line}
        for rank, sentence in enumerate(sentences, 1):
            docid = _cited(sentence.get("citations"), references if isinstance(references, list) else [])
            extra = {"sentence": {k: v for k, v in sentence.items() if k != "text"}, **whole}
            bundle.respond(RunInfo(run), Response(qid, sentence["text"], docid, rank, extra))
            whole = {}
        if whole:
            bundle.respond(RunInfo(run), Response(qid, "", extra=whole))
    return bundle


def _are_sentences(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(s, dict) and isinstance(s.get("text"), str) for s in value)


def _cited(citations: Any, references: list[Any]) -> str | None:
    """The docid of the first citation; None where it points nowhere."""
    first = next(iter(citations), None) if isinstance(citations, list | dict) else None
    if isinstance(first, int) and not isinstance(first, bool) and 0 <= first < len(references):
        first = references[first]
    return first if isinstance(first, str) else None


def answer_objects(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run as answers: those that were read from such a file as they were, others in the form of 2024."""
    grouped: dict[str, list[Response]] = {}
    for response in bundle.responses[run]:
        grouped.setdefault(response.qid, []).append(response)
    for qid, responses in grouped.items():
        answer = kept(responses[0], "answer")
        if not answer:
            yield _answer_2024(run, bundle.questions.get(qid, Question(qid, "")), responses)
            continue
        sentences = [r for r in responses if "sentence" in r.extra or r.text]
        yield {**answer, "answer": [{"text": r.text, **kept(r, "sentence")} for r in sentences]}


def _answer_2024(run: str, question: Question, responses: list[Response]) -> dict[str, Any]:
    references = list(dict.fromkeys(r.docid for r in responses if r.docid is not None))
    places = {docid: place for place, docid in enumerate(references)}
    return {
        "run_id": run,
        "topic_id": question.qid,
        "topic": question.text,
        "references": references,
        "response_length": sum(len(r.text.split()) for r in responses),
        "answer": [{"text": r.text, "citations": [] if r.docid is None else [places[r.docid]]} for r in responses],
    }
