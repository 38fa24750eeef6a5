"""AutoNuggetizer's JSON Lines: nuggets, and assignments of nuggets to answers.

    {"query", "qid", "nuggets": [{"text", "importance": "vital" | "okay"}]}
    {"query", "qid", "answer_text", "response_length", "run_id",
     "nuggets": [{"text", "importance", "assignment": "support" | "partial_support" | "not_support"}]}

Nuggets have no ids in these files; their ids become 1, 2, ... in the order of the list. Assignments become a run with
one response per question, and a machine's verdict for each nugget: support is a yes, partial_support is a partial no,
and not_assigned (which we write for a nugget that nobody judged) is no verdict.

Several files of one key go together: a nugget is recognised by its text (`bundle.places`). If the collection has
nuggets for the question, these are its key, and other texts are kept aside. Otherwise the key is the longest list of
the question in all files, and the nuggets that only other lists have follow it. Nuggets that a list lacks get no
verdict for this answer. All of this is reported.

Values that an LLM garbled ("failed" as an importance, "ming_dynasty_support" as an assignment) are kept under
`importance_as_found` or `assignment`. They are counted, and are worth nothing, as in AutoNuggetizer. Unknown keys, and
ids that are numbers, are kept under `as_found`. A line is kept aside if an id is not valid, if a text or the list of
nuggets is missing, or if the question or the run's answer to it has occurred before in the file.

These are not written, because the files cannot hold them: ids of nuggets; votes, weights, tags and groups; a question's
kind, target and template; docids and ranks; and who judged, when and why. Several descriptions are joined with ` / `.
Several responses to a question are joined with a space into one answer, which gets the best of their verdicts. A query,
an importance or an assignment that was missing is written as "" or null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from nuggeteer.errors import Problem
from nuggeteer.formats.bundle import (
    BETWEEN,
    NOT_ASSIGNED,
    USED,
    Bundle,
    are_texts,
    as_id,
    as_json,
    by_question,
    kept,
    places,
)
from nuggeteer.formats.objects import Opening, read_objects
from nuggeteer.records import Importance, Judgement, Nugget, Pair, Question, Response, RunInfo

ASSIGNMENTS = {"support": (True, False), "partial_support": (False, True), "not_support": (False, False)}
ASSESSOR = "autonuggetizer"
_AS_FOUND = "as_found"
_IMPORTANCE_AS_FOUND = "importance_as_found"

Objects = list[dict[str, Any]]


def recognises_nuggets(opening: Opening) -> bool:
    """Whether a file begins as one of nuggets does."""
    return opening.every("qid", "nuggets") and not recognises_assignments(opening)


def recognises_assignments(opening: Opening) -> bool:
    """Whether a file begins as one of assignments does."""
    return opening.every("qid", "nuggets", "answer_text")


def read_nuggets(path: Path) -> Bundle:
    """Read questions with their nuggets."""
    bundle = Bundle()
    for number, line, raw in read_objects(path, bundle, ("qid", "query", "nuggets")):
        qid, listed = as_id(line.get("qid")), line.pop("nuggets", None)
        if qid is None or not are_texts(listed):
            bundle.not_understood(path, number, raw, "no qid, or no list of nuggets with texts")
        elif qid in bundle.questions:
            bundle.not_understood(path, number, raw, f"question {qid} occurs a second time")
        else:
            query = _text(line.get("query"))
            bundle.add_question(Question(qid, query, kind="rag", extra=_rest(line, qid=qid, query=query)))
            rest = [_rest(n, text=n["text"], importance=n.get("importance")) for n in listed]
            nuggets = _nuggets(qid, listed, rest)
            bundle.nuggets += nuggets
            _report_garbled(bundle, path, number, nuggets)
    return bundle


@dataclass(frozen=True)
class _Answer:
    """A line of assignments that can be used."""

    path: Path
    number: int
    qid: str
    run: str
    text: str
    listed: Objects
    rest: dict[str, Any]

    @property
    def nuggets(self) -> list[Nugget]:
        """Its list as nuggets, with their places as ids."""
        return _nuggets(self.qid, self.listed, [{}] * len(self.listed))

    @property
    def texts(self) -> list[str]:
        return [found["text"] for found in self.listed]


def read_assignments(paths: Sequence[Path], present: Iterable[Nugget] = ()) -> list[Bundle]:
    """Read files of answers with an assignment for each nugget. `present` are the nuggets that are known already."""
    bundles = [Bundle() for _ in paths]
    answers = [_answers(path, bundle) for path, bundle in zip(paths, bundles, strict=True)]
    key = by_question(present)
    fixed = set(key)
    own = {id(answer): bundle for bundle, some in zip(bundles, answers, strict=True) for answer in some}
    for answer in sorted((a for some in answers for a in some if a.qid not in fixed), key=lambda a: -len(a.listed)):
        _complete(key, answer, own[id(answer)])
    for bundle, some in zip(bundles, answers, strict=True):
        for answer in some:
            _add_answer(bundle, answer, key[answer.qid])
    return bundles


def _answers(path: Path, bundle: Bundle) -> list[_Answer]:
    """The usable lines of a file. The others are kept aside."""
    answers: dict[tuple[str, str], _Answer] = {}
    for number, line, raw in read_objects(path, bundle, ("qid", "run_id", "answer_text", "nuggets")):
        qid, run = as_id(line.get("qid")), as_id(line.get("run_id"))
        text, listed = line.pop("answer_text", None), line.pop("nuggets", None)
        if qid is None or run is None or not isinstance(text, str) or not are_texts(listed):
            what = "no qid, no run_id, no answer_text, or no list of nuggets with texts"
            bundle.not_understood(path, number, raw, what)
        elif (run, qid) in answers:
            bundle.not_understood(path, number, raw, f"a second answer of {run} to {qid}")
        else:
            answers[run, qid] = _Answer(path, number, qid, run, text, listed, line)
    return list(answers.values())


def _complete(key: dict[str, list[Nugget]], answer: _Answer, bundle: Bundle) -> None:
    """Add the nuggets of a list that the key of its question does not have yet."""
    own = key.get(answer.qid)
    if own is None:
        key[answer.qid] = answer.nuggets
        return
    for nugget, place in zip(answer.nuggets, places(answer.texts, own), strict=True):
        if place is None:
            name = str(len(own) + 1)
            own.append(structs.replace(nugget, nugget=name))
            what = f"{nugget.descriptions[0]!r:.80} is not in the longest list of {answer.qid}; it is nugget {name} now"
            remedy = "fine if lists lack nuggets; if not, convert the file of nuggets first, into a new collection"
            bundle.problems.append(Problem(str(answer.path), answer.number, what, remedy, "warning"))


def _add_answer(bundle: Bundle, answer: _Answer, key: Sequence[Nugget]) -> None:
    aside = partial(bundle.not_understood, answer.path, answer.number)
    qid, run = answer.qid, answer.run
    if qid not in bundle.questions:
        bundle.add_question(Question(qid, _text(answer.rest.get("query")), kind="rag"))
        bundle.nuggets += key
        _report_garbled(bundle, answer.path, answer.number, answer.nuggets)
    bundle.worded(answer.path, answer.number, qid, answer.rest.get("query"))
    rest = _rest(answer.rest, qid=qid, run_id=run, query=bundle.questions[qid].text)
    bundle.add_response(RunInfo(run), Response(qid, answer.text, extra=rest))
    where = places(answer.texts, key)
    for found, nugget, place in zip(answer.listed, answer.nuggets, where, strict=True):
        assignment = found.get("assignment")
        if place is None:
            bundle.unmatched += 1
            aside(as_json(found), f"{qid} has no nugget {found['text']!r:.80}, so its assignment has no place")
            continue
        own = key[place]
        if _importance(nugget) != _importance(own):
            here, before = _importance(nugget), _importance(own)
            what = f"nugget {own.nugget} of {qid} is {here!r:.40} here and {before!r:.40} before, which counts"
            aside(as_json(found), what, USED)
        if assignment == NOT_ASSIGNED:
            continue
        extra = _rest(found, text=BETWEEN.join(own.descriptions), importance=_importance(own), assignment=assignment)
        if not isinstance(assignment, str) or assignment not in ASSIGNMENTS:
            what = f"nugget {own.nugget} of {qid} has the assignment {assignment!r:.80}, kept as a no"
            aside(as_json(found), what, USED)
            extra, assignment = {**extra, "assignment": assignment}, "not_support"
        verdict, partly = ASSIGNMENTS[assignment]
        said = qid, own.nugget, answer.text, verdict, partly
        bundle.judgements.append(Judgement(*said, run=run, assessor=ASSESSOR, machine=True, extra=extra))
    if missing := [key[i].nugget for i in sorted(set(range(len(key))).difference(where))]:
        bundle.unassigned += len(missing)
        what = f"{run} has no assignment of {len(missing)} of the {len(key)} nuggets of {qid}: {', '.join(missing[:9])}"
        problem = Problem(str(answer.path), answer.number, what, "they are guessed in this answer", "warning")
        bundle.problems.append(problem)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _rest(line: dict[str, Any], **recorded: Any) -> dict[str, Any]:
    """The keys of an object that our record does not hold, as the record's extra key."""
    rest = {key: value for key, value in line.items() if key not in recorded or recorded[key] != value}
    return {_AS_FOUND: rest} if rest else {}


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


def _report_garbled(bundle: Bundle, path: Path, number: int, nuggets: list[Nugget]) -> None:
    for nugget in nuggets:
        if _IMPORTANCE_AS_FOUND in nugget.extra:
            found = nugget.extra[_IMPORTANCE_AS_FOUND]
            what = f"nugget {nugget.nugget} of {nugget.qid} has the importance {found!r:.80}, kept as unrated"
            bundle.not_understood(path, number, as_json(_nugget_object(nugget)), what, USED)


def nugget_objects(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Questions with their nuggets, one object per question."""
    for qid, nuggets in bundle.nuggets_by_question().items():
        question = bundle.question(qid)
        listed = [{**_nugget_object(n), **kept(n, _AS_FOUND)} for n in nuggets]
        head = {"query": question.text, "qid": qid, "nuggets": listed}
        yield {**head, **kept(question, _AS_FOUND)}


def assignment_objects(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run's answers with an assignment for each nugget, from verdicts on this run or else on any run."""
    own: dict[Pair, list[Judgement]] = {}
    others: dict[Pair, list[Judgement]] = {}
    for j in bundle.judgements:
        (own if j.run == run else others).setdefault(j.pair, []).append(j)
    grouped = by_question(bundle.nuggets)
    for qid, responses in by_question(bundle.responses[run]).items():
        listed = []
        for nugget in grouped.get(qid, []):
            pairs = [Judgement(qid, nugget.nugget, response.text, True).pair for response in responses]
            whole = "\n".join(response.text for response in responses)
            pairs.append(Judgement(qid, nugget.nugget, whole, True, scope="answer").pair)
            found = [j for pair in pairs for j in own.get(pair) or others.get(pair, [])]
            listed.append({**_nugget_object(nugget), **_assignment(found)})
        question = bundle.question(qid)
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
    return {"text": BETWEEN.join(nugget.descriptions), "importance": _importance(nugget)}


def _importance(nugget: Nugget) -> Any:
    """The importance as the file has it."""
    return nugget.extra.get(_IMPORTANCE_AS_FOUND, "unrated") if nugget.importance == "unrated" else nugget.importance
