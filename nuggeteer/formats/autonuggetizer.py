"""AutoNuggetizer's JSON Lines: nuggets, and assignments of nuggets to answers.

    {"query", "qid", "nuggets": [{"text", "importance": "vital" | "okay"}]}
    {"query", "qid", "answer_text", "response_length", "run_id",
     "nuggets": [{"text", "importance", "assignment": "support" | "partial_support" | "not_support"}]}

Nuggets have no ids in these files; their ids become 1, 2, ... in the order of the list. Assignments become a run with
one response per question, and a verdict for each nugget: support is a yes, partial_support is a partial no, and
not_assigned (which we write for a nugget that nobody judged) is no verdict.

Values that an LLM garbled ("failed" as an importance, "ming_dynasty_support" as an assignment) are kept under
`importance_as_found` or `assignment`. They are counted, and are worth nothing, as in AutoNuggetizer. Unknown keys, and
ids that are numbers, are kept under `as_found`. A line is kept aside if an id is not valid, if a text or the list of
nuggets is missing, if the question or the run's answer to it has occurred before, or if its nuggets differ from those
that the file already has for this question.

These are not written, because the files cannot hold them: ids of nuggets; votes, weights and tags; a question's kind,
target and template; docids and ranks; and who judged, when and why. Several descriptions are joined with ` / `. Several
responses to a question are joined with a space into one answer, which gets the best of their verdicts. A query, an
importance or an assignment that was missing is written as "" or null.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from nuggeteer.formats.bundle import Bundle, as_id, as_json, kept, read_objects
from nuggeteer.records import Importance, Judgement, Nugget, Pair, Question, Response, RunInfo

ASSIGNMENTS = {"support": (True, False), "partial_support": (False, True), "not_support": (False, False)}
NOT_ASSIGNED = "not_assigned"
ASSESSOR = "autonuggetizer"
_AS_FOUND = "as_found"
_IMPORTANCE_AS_FOUND = "importance_as_found"

Objects = list[dict[str, Any]]


def read_nuggets(path: Path) -> Bundle:
    """Read questions with their nuggets."""
    bundle = Bundle()
    for number, line, raw in read_objects(path, bundle, ("qid", "query", "nuggets")):
        qid, listed = as_id(line.get("qid")), line.pop("nuggets", None)
        if qid is None or not _are_nuggets(listed):
            bundle.not_understood(path, number, raw, "no qid, or no list of nuggets with texts")
        elif qid in bundle.questions:
            bundle.not_understood(path, number, raw, f"question {qid} occurs a second time")
        else:
            query = _text(line.get("query"))
            bundle.add_question(Question(qid, query, kind="rag", extra=_rest(line, qid=qid, query=query)))
            rest = [_rest(n, text=n["text"], importance=n.get("importance")) for n in listed]
            _add(bundle, path, number, _nuggets(qid, listed, rest))
    return bundle


def read_assignments(path: Path) -> Bundle:
    """Read answers with an assignment for each nugget."""
    bundle = Bundle()
    known: dict[str, list[Nugget]] = {}
    answered: set[tuple[str, str]] = set()
    for number, line, raw in read_objects(path, bundle, ("qid", "run_id", "answer_text", "nuggets")):
        aside = partial(bundle.not_understood, path, number)
        qid, run = as_id(line.get("qid")), as_id(line.get("run_id"))
        text, listed = line.pop("answer_text", None), line.pop("nuggets", None)
        if qid is None or run is None or not isinstance(text, str) or not _are_nuggets(listed):
            aside(raw, "no qid, no run_id, no answer_text, or no list of nuggets with texts")
            continue
        nuggets = _nuggets(qid, listed, [{}] * len(listed))
        if (run, qid) in answered:
            aside(raw, f"a second answer of {run} to {qid}")
            continue
        if known.get(qid, nuggets) != nuggets:
            aside(raw, f"the nuggets of {qid} differ from those on an earlier line")
            continue
        if qid not in known:
            bundle.add_question(Question(qid, _text(line.get("query")), kind="rag"))
            _add(bundle, path, number, nuggets)
        known[qid] = nuggets
        answered.add((run, qid))
        rest = _rest(line, qid=qid, run_id=run, query=bundle.questions[qid].text)
        bundle.add_response(RunInfo(run), Response(qid, text, extra=rest))
        for nugget, found in zip(nuggets, listed, strict=True):
            assignment = found.get("assignment")
            if assignment == NOT_ASSIGNED:
                continue
            extra = _rest(found, text=found["text"], importance=found.get("importance"), assignment=assignment)
            if not isinstance(assignment, str) or assignment not in ASSIGNMENTS:
                what = f"nugget {nugget.nugget} of {qid} has the assignment {assignment!r:.80}, kept as a no"
                aside(as_json(found), what)
                extra, assignment = {**extra, "assignment": assignment}, "not_support"
            verdict, partly = ASSIGNMENTS[assignment]
            bundle.judgements.append(
                Judgement(qid, nugget.nugget, text, verdict, partly, run=run, assessor=ASSESSOR, extra=extra)
            )
    return bundle


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _rest(line: dict[str, Any], **recorded: Any) -> dict[str, Any]:
    """The keys of an object that our record does not hold, as the record's extra key."""
    rest = {key: value for key, value in line.items() if key not in recorded or recorded[key] != value}
    return {_AS_FOUND: rest} if rest else {}


def _are_nuggets(value: Any) -> TypeGuard[Objects]:
    return isinstance(value, list) and all(isinstance(n, dict) and isinstance(n.get("text"), str) for n in value)


def _nuggets(qid: str, listed: Objects, rest: Objects) -> list[Nugget]:
    nuggets = []
    for number, (found, extra) in enumerate(zip(listed, rest, strict=True), 1):
        importance: Importance = "unrated"
        if found.get("importance") in ("vital", "okay", "unrated"):
            importance = found["importance"]
        else:
            extra = {**extra, _IMPORTANCE_AS_FOUND: found.get("importance")}
        nuggets.append(Nugget(qid, str(number), (found["text"],), importance, extra=extra))
    return nuggets


def _add(bundle: Bundle, path: Path, number: int, nuggets: list[Nugget]) -> None:
    bundle.nuggets += nuggets
    for nugget in nuggets:
        if _IMPORTANCE_AS_FOUND in nugget.extra:
            found = nugget.extra[_IMPORTANCE_AS_FOUND]
            what = f"nugget {nugget.nugget} of {nugget.qid} has the importance {found!r:.80}, kept as unrated"
            bundle.not_understood(path, number, as_json(_nugget_object(nugget)), what)


def nugget_objects(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Questions with their nuggets, one object per question."""
    grouped = _by_question(bundle)
    for qid in dict.fromkeys([*bundle.questions, *grouped]):
        question = bundle.questions.get(qid, Question(qid, ""))
        listed = [{**_nugget_object(n), **kept(n, _AS_FOUND)} for n in grouped.get(qid, [])]
        head = {"query": question.text, "qid": qid, "nuggets": listed}
        yield {**head, **kept(question, _AS_FOUND)}


def assignment_objects(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run's answers with an assignment for each nugget, from verdicts on this run or else on any run."""
    own: dict[Pair, list[Judgement]] = {}
    others: dict[Pair, list[Judgement]] = {}
    for j in bundle.judgements:
        (own if j.run == run else others).setdefault(j.pair, []).append(j)
    answers: dict[str, list[Response]] = {}
    for response in bundle.responses[run]:
        answers.setdefault(response.qid, []).append(response)
    grouped = _by_question(bundle)
    for qid, responses in answers.items():
        listed = []
        for nugget in grouped.get(qid, []):
            pairs = [Judgement(qid, nugget.nugget, response.text, True).pair for response in responses]
            whole = "\n".join(response.text for response in responses)
            pairs.append(Judgement(qid, nugget.nugget, whole, True, scope="answer").pair)
            found = [j for pair in pairs for j in own.get(pair) or others.get(pair, [])]
            listed.append({**_nugget_object(nugget), **_assignment(found)})
        question = bundle.questions.get(qid, Question(qid, ""))
        text = " ".join(response.text for response in responses)
        head = {"query": question.text, "qid": qid, "answer_text": text, "run_id": run, "nuggets": listed}
        yield {**head, **(kept(responses[0], _AS_FOUND) if len(responses) == 1 else {})}


def _assignment(judgements: list[Judgement]) -> dict[str, Any]:
    """The strongest of several verdicts, in its original form."""
    if not judgements:
        return {"assignment": NOT_ASSIGNED}
    best = max(judgements, key=lambda j: (j.verdict, j.partial))
    name = "support" if best.verdict else "partial_support" if best.partial else "not_support"
    garbled = {} if best.verdict or best.partial else best.extra
    return {"assignment": garbled.get("assignment", name), **kept(best, _AS_FOUND)}


def _nugget_object(nugget: Nugget) -> dict[str, Any]:
    importance: Any = nugget.importance
    if importance == "unrated":
        importance = nugget.extra.get(_IMPORTANCE_AS_FOUND, importance)
    return {"text": " / ".join(nugget.descriptions), "importance": importance}


def _by_question(bundle: Bundle) -> dict[str, list[Nugget]]:
    grouped: dict[str, list[Nugget]] = {}
    for nugget in bundle.nuggets:
        grouped.setdefault(nugget.qid, []).append(nugget)
    return grouped
