"""AutoNuggetizer's JSON Lines: nuggets, and assignments of nuggets to answers.

    {"query", "qid", "nuggets": [{"text", "importance": "vital" | "okay"}]}
    {"query", "qid", "answer_text", "response_length", "run_id",
     "nuggets": [{"text", "importance", "assignment": "support" | "partial_support" | "not_support"}]}

A nugget has no id there; ours is its place in the list, from 1. An assignment becomes a run of one
response a question, and a verdict for each nugget: support is a yes, partial_support a partial no.
What an LLM garbled ("failed" as an importance, "ming_dynasty_support" as an assignment) is kept under
`importance_as_found` or `assignment`, counted, and worth what AutoNuggetizer makes of it: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import read_jsonl
from nuggeteer.records import Importance, Judgement, Nugget, Question, Response, RunInfo

ASSIGNMENTS = {"support": (True, False), "partial_support": (False, True), "not_support": (False, False)}
ASSESSOR = "autonuggetizer"


def read_nuggets(path: Path) -> Bundle:
    """Read questions with their nuggets."""
    bundle = Bundle()
    for number, line in read_jsonl(path, bundle.problems, ("qid", "query", "nuggets")):
        qid, listed = line.pop("qid", None), line.pop("nuggets", None)
        if not isinstance(qid, str) or not _are_nuggets(listed):
            bundle.not_understood(path, number, _raw(line), "no qid, or no list of nuggets with texts")
            continue
        if qid in bundle.questions:
            bundle.not_understood(path, number, _raw(line), f"question {qid} for the second time")
            continue
        query = line.pop("query", "")
        bundle.ask(Question(qid, query if isinstance(query, str) else "", kind="rag", extra=line))
        _add_nuggets(bundle, path, number, qid, listed)
    return bundle


def read_assignments(path: Path) -> Bundle:
    """Read answers with an assignment for each nugget."""
    bundle = Bundle()
    for number, line in read_jsonl(path, bundle.problems, ("qid", "run_id", "answer_text", "nuggets")):
        raw = _raw(line)
        qid, run, text, listed = (line.pop(key, None) for key in ("qid", "run_id", "answer_text", "nuggets"))
        if not all(isinstance(value, str) for value in (qid, run, text)) or not _are_nuggets(listed):
            bundle.not_understood(
                path, number, raw, "no qid, run_id, answer_text, or list of nuggets with texts"
            )
            continue
        query = line.pop("query", "")
        if qid not in bundle.questions:
            bundle.ask(Question(qid, query if isinstance(query, str) else "", kind="rag"))
            _add_nuggets(bundle, path, number, qid, [{**n, "assignment": None} for n in listed])
        bundle.respond(RunInfo(run), Response(qid, text, extra=line))
        for place, nugget in enumerate(listed, 1):
            assignment = nugget.get("assignment")
            verdict, partial = ASSIGNMENTS.get(assignment, (False, False))
            extra = {}
            if assignment not in ASSIGNMENTS:
                extra = {"assignment": assignment}
                what = f"nugget {place} of {qid} has the assignment {assignment!r}"
                bundle.not_understood(path, number, _raw(nugget), f"{what}, kept as a no")
            bundle.judgements.append(
                Judgement(qid, str(place), text, verdict, partial, run=run, assessor=ASSESSOR, extra=extra)
            )
    return bundle


def _are_nuggets(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(n, dict) and isinstance(n.get("text"), str) for n in value
    )


def _add_nuggets(bundle: Bundle, path: Path, number: int, qid: str, listed: list[dict[str, Any]]) -> None:
    for place, nugget in enumerate(listed, 1):
        found = nugget.get("importance")
        extra = {k: v for k, v in nugget.items() if k not in ("text", "importance", "assignment")}
        importance: Importance = found if found in ("vital", "okay") else "unrated"
        if importance == "unrated":
            extra["importance_as_found"] = found
            what = f"nugget {place} of {qid} has the importance {found!r}"
            bundle.not_understood(path, number, _raw(nugget), f"{what}, kept as unrated")
        bundle.nuggets.append(Nugget(qid, str(place), (nugget["text"],), importance, extra=extra))


def _raw(value: Any) -> str:
    return orjson.dumps(value).decode()


def nugget_objects(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Questions with their nuggets, one object a question."""
    for question, nuggets in _by_question(bundle):
        listed = [_nugget_object(nugget) for nugget in nuggets]
        yield {"query": question.text, "qid": question.qid, "nuggets": listed, **question.extra}


def assignment_objects(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run's answers with what was judged of each nugget; what was not judged is `not_assigned`."""
    names = {verdict: name for name, verdict in ASSIGNMENTS.items()}
    said: dict[tuple[str, str, str], object] = {}
    for j in bundle.judgements:
        place = (j.qid, j.nugget, j.text)
        if said.get(place) != "support":
            said[place] = j.extra.get("assignment", names[j.verdict, j.partial])
    responses: dict[str, list[Response]] = {}
    for response in bundle.responses[run]:
        responses.setdefault(response.qid, []).append(response)
    for question, nuggets in _by_question(bundle):
        own = responses.get(question.qid, [])
        if not own:
            continue
        listed = []
        for nugget in nuggets:
            verdicts = [said.get((question.qid, nugget.nugget, response.text)) for response in own]
            listed.append({**_nugget_object(nugget), "assignment": _best(verdicts)})
        text = " ".join(response.text for response in own)
        extra = own[0].extra if len(own) == 1 else {}
        head = {"query": question.text, "qid": question.qid, "answer_text": text, **extra}
        yield {**head, "run_id": run, "nuggets": listed}


def _best(verdicts: list[object]) -> object:
    """The strongest of several responses' verdicts."""
    for name in ("support", "partial_support"):
        if name in verdicts:
            return name
    return next((v for v in verdicts if v is not None), "not_assigned")


def _nugget_object(nugget: Nugget) -> dict[str, Any]:
    extra = dict(nugget.extra)
    importance = extra.pop("importance_as_found", nugget.importance)
    return {"text": " / ".join(nugget.descriptions), "importance": importance, **extra}


def _by_question(bundle: Bundle) -> Iterator[tuple[Question, list[Nugget]]]:
    grouped: dict[str, list[Nugget]] = {}
    for nugget in bundle.nuggets:
        grouped.setdefault(nugget.qid, []).append(nugget)
    for qid in dict.fromkeys([*bundle.questions, *grouped]):
        yield bundle.questions.get(qid, Question(qid, "")), grouped.get(qid, [])
