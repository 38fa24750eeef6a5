"""Answers of TREC RAG, one JSON object a line, sentences with citations.

2024 {"run_id", "topic_id", "topic", "references": [docid, ...], "response_length",
      "answer": [{"text", "citations": [0, 3]}]}
2025 {"metadata": {"team_id", "run_id", "type", "narrative_id", "narrative"},
      "references": [docid, ...], "answer": [{"text", "citations": [0, 3]}]}

A sentence is a response; its docid is its first citation, a place in `references` or a docid itself. All
else of the object is kept with the answer's first sentence, under `answer`, so that it can be written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import read_jsonl
from nuggeteer.records import Question, Response, RunInfo


def read_answers(path: Path) -> Bundle:
    """Read answers of either year, of one or several runs."""
    bundle = Bundle()
    for number, line in read_jsonl(path, bundle.problems, ("run_id", "topic_id", "metadata", "answer")):
        raw = orjson.dumps(line).decode()
        sentences = line.pop("answer", None)
        about = line["metadata"] if isinstance(line.get("metadata"), dict) else line
        qid = about.get("topic_id", about.get("narrative_id"))
        qid = str(qid) if isinstance(qid, int) else qid
        run, topic = about.get("run_id"), about.get("topic", about.get("narrative", ""))
        if not isinstance(qid, str) or not isinstance(run, str) or not _are_sentences(sentences):
            what = "no run_id, topic_id or narrative_id, or answer with texts"
            bundle.not_understood(path, number, raw, what)
            continue
        bundle.ask(Question(qid, topic if isinstance(topic, str) else "", kind="rag"))
        references = line.get("references")
        references = references if isinstance(references, list) else []
        for rank, sentence in enumerate(sentences, 1):
            extra = {k: v for k, v in sentence.items() if k != "text"}
            if rank == 1:
                extra["answer"] = line
            docid = _cited(sentence.get("citations"), references)
            bundle.respond(RunInfo(run), Response(qid, sentence["text"], docid, rank, extra))
        if not sentences:
            bundle.respond(RunInfo(run), Response(qid, "", extra={"answer": line, "empty": True}))
    return bundle


def _are_sentences(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(s, dict) and isinstance(s.get("text"), str) for s in value
    )


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
        answer = responses[0].extra.get("answer")
        if not isinstance(answer, dict):
            yield _answer_2024(run, bundle.questions.get(qid, Question(qid, "")), responses)
            continue
        kept = [response for response in responses if not response.extra.get("empty")]
        yield {**answer, "answer": [{"text": r.text, **_without_answer(r)} for r in kept]}


def _without_answer(response: Response) -> dict[str, Any]:
    return {k: v for k, v in response.extra.items() if k != "answer"}


def _answer_2024(run: str, question: Question, responses: list[Response]) -> dict[str, Any]:
    references = list(dict.fromkeys(r.docid for r in responses if r.docid))
    return {
        "run_id": run,
        "topic_id": question.qid,
        "topic": question.text,
        "references": references,
        "response_length": sum(len(r.text.split()) for r in responses),
        "answer": [
            {"text": r.text, "citations": [references.index(r.docid)] if r.docid else []} for r in responses
        ],
    }
