"""What a foreign file has no place for: the difference between a collection and what is read back from the written
file. So nothing is lost silently, in any format.

Records are compared in their order within a question: the questions and nuggets of a key; of a run its responses, its
questions and, if the file has any, the verdicts that were given on it. If a file has one answer to a question and the
run has several responses, the file has joined them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nuggeteer.collection.foreign import format_of
from nuggeteer.formats.bundle import Bundle, read_bundle
from nuggeteer.records import Judgement, Nugget, Question, Response

# The fields of a record, with their names here.
QUESTION = {"kind": "kinds", "target": "targets", "template": "templates", "extra": "other keys"}
NUGGET = {"nugget": "ids", "descriptions": "descriptions", "importance": "importances", "weight": "weights"}
NUGGET |= {"votes": "votes", "tags": "tags", "extra": "other keys"}
RESPONSE = {"docid": "docids", "rank": "ranks", "extra": "other keys"}
JUDGEMENT = {
    "assessor": "assessors",
    "at": "times",
    "reason": "reasons",
    "span": "marked words",
    "partial": "partial support",
}


def losses(name: str, folder: Path, target: Path, run: str | None = None) -> Counter[str]:
    """How many of what a collection has are not in the file that its key, or this run, was written to."""
    format_ = format_of(name)
    before = read_bundle(folder)
    if format_.read_together:
        after = format_.read_together([target], ())[0]
    else:
        after = format_.read(target, run=run) if format_.dataset else format_.read(target)
    found = Counter[str]()
    groups = _groups(before) - _groups(after)
    if run is None or after.nuggets:
        found["groups of nuggets"] = max(0, groups)
    if run is None:
        _compare(found, "questions", QUESTION, before.questions.values(), after.questions.values(), lambda q: q.qid)
        _texts(found, before, after, before.questions)
        _nuggets(found, before, after)
        return found
    asked = {
        response.qid: before.questions[response.qid]
        for response in before.responses[run]
        if response.qid in before.questions
    }
    _compare(found, "questions", QUESTION, asked.values(), after.questions.values(), lambda q: q.qid)
    _texts(found, before, after, asked)
    _responses(found, before.responses[run], next(iter(after.responses.values()), []))
    if after.nuggets:
        _nuggets(found, before, after, set(asked))
    _verdicts(found, before, after, run)
    return found


def _groups(bundle: Bundle) -> int:
    """How many groups there are. They are taken out, and compared by their number alone."""
    nuggets = [nugget for nugget in bundle.nuggets if not nugget.members]
    count = len(bundle.nuggets) - len(nuggets)
    bundle.nuggets = nuggets
    return count


def _compare(
    found: Counter[str], what: str, fields: dict[str, str], before: Iterable[Any], after: Iterable[Any], key: Any
) -> None:
    """Count the fields that records of `before` have, but records of `after` with the same key do not."""
    other = {key(record): record for record in after}
    for record in before:
        same = other.get(key(record))
        if same is None:
            found[what] += 1
            continue
        for field, called in fields.items():
            value = getattr(record, field)
            if value not in (None, "", (), False) and value and getattr(same, field) != value:
                found[f"{called} of {what}"] += 1


def _texts(found: Counter[str], before: Bundle, after: Bundle, asked: Iterable[str]) -> None:
    for qid in asked:
        if qid in after.questions and after.questions[qid].text != before.questions[qid].text:
            found["texts of questions"] += 1


def _nuggets(found: Counter[str], before: Bundle, after: Bundle, qids: set[str] | None = None) -> None:
    own = [nugget for nugget in before.nuggets if qids is None or nugget.qid in qids]
    pairs = zip(_placed(own), own, strict=True), zip(_placed(after.nuggets), after.nuggets, strict=True)
    first, second = (dict(pair) for pair in pairs)
    places = {id(nugget): place for group in (first, second) for place, nugget in group.items()}
    _compare(found, "nuggets", NUGGET, first.values(), second.values(), lambda nugget: places[id(nugget)])


def _responses(found: Counter[str], before: Sequence[Response], after: Sequence[Response]) -> None:
    first, second = (dict(zip(_placed(some), some, strict=True)) for some in (before, after))
    several = {qid for qid, place in first if place and (qid, place) not in second}
    found["questions whose responses are joined into one answer"] += len(several)
    alone = {place: one for place, one in first.items() if place[0] not in several}
    places = {id(one): place for group in (alone, second) for place, one in group.items()}
    _compare(found, "responses", RESPONSE, alone.values(), second.values(), lambda one: places.get(id(one)))
    for place, response in alone.items():
        if place in second and second[place].text != response.text:
            same = second[place].text.split() == response.text.split()
            found["white space of texts" if same else "texts of responses"] += 1
    for field, called in RESPONSE.items():
        lost = sum(bool(getattr(one, field)) for place, one in first.items() if place[0] in several and place[1])
        found[f"{called} of responses"] += lost


def _verdicts(found: Counter[str], before: Bundle, after: Bundle, run: str) -> None:
    """Verdicts given on the run, by nugget: a file without any has no place for them."""
    own = [judgement for judgement in before.judgements if judgement.run == run]
    if not after.judgements:
        found["verdicts"] += len(own)
        return
    before_ids, after_ids = _numbers(before.nuggets), _numbers(after.nuggets)
    whose = {id(judgement): before_ids for judgement in own}

    def content(one: Judgement) -> tuple[str, int | str, bool]:
        """The question, the place of the nugget in it (or, in a file without a key, its number) and the verdict."""
        ids = whose.get(id(one), after_ids)
        return one.qid, ids.get((one.qid, one.nugget), one.nugget) if after_ids else one.nugget, one.verdict

    _compare(found, "verdicts", JUDGEMENT, own, after.judgements, content)


def _numbers(nuggets: Sequence[Nugget]) -> dict[tuple[str, str], int]:
    return {(n.qid, n.nugget): place for n, (_, place) in zip(nuggets, _placed(nuggets), strict=True)}


def _placed(records: Sequence[Nugget | Response | Question]) -> list[tuple[str, int]]:
    """Each record's question, and its place within it."""
    count = Counter[str]()
    places = []
    for record in records:
        places.append((record.qid, count[record.qid]))
        count[record.qid] += 1
    return places
