"""The answer key of a collection: its questions and nuggets, in an order that does not depend on the order of lines."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from nuggeteer.errors import Problem, errors_in
from nuggeteer.formats import canonical
from nuggeteer.formats.jsonl import is_regular, stored
from nuggeteer.records import AnswerKey, Nugget, Question
from nuggeteer.text import words

DEEPEST = 10  # groups inside groups


def group_problems(
    path: Path, nuggets: Mapping[str, Mapping[str, Nugget]], lines: Mapping[tuple[str, str], int]
) -> Iterator[Problem]:
    """What is wrong with the groups of each question: unknown members, members of two groups, circles, and members that
    have a weight, which would count for nothing."""
    for qid, own in nuggets.items():
        groups = {name: nugget for name, nugget in own.items() if nugget.members}
        within: dict[str, str] = {}
        for name, group in groups.items():
            at = str(path), lines[qid, name]
            for member in group.members:
                if member not in own:
                    what = f"the group {name!r} of {qid!r} has the member {member!r}, which is not a nugget of {qid!r}"
                    yield Problem(*at, what, "correct the id, or add the nugget")
                elif other := within.get(member):
                    what = f"the nugget {member!r} of {qid!r} is in the groups {other!r} and {name!r}"
                    yield Problem(*at, what, "keep it in one of them")
                else:
                    within[member] = name
                    if own[member].weight is not None or own[member].votes:
                        what = f"{member!r} is in the group {name!r} of {qid!r}, so its own weight does not count"
                        yield Problem(at[0], lines[qid, member], what, "give the group a weight instead", "warning")
        for name in groups:
            above: list[str] = []
            while (name := within.get(name, "")) and len(above) < DEEPEST:
                above.append(name)
            if name:
                what = f"a group of {qid!r} contains itself, or groups are more than {DEEPEST} deep, at {name!r}"
                yield Problem(str(path), lines[qid, name], what, "take a group out of another")
                break


Nuggets = dict[str, dict[str, Nugget]]  # by question and id
Lines = dict[tuple[str, str], int]  # where each stands in its file


def read_key(root: Path, problems: list[Problem]) -> AnswerKey:
    """The key in a collection's files. `questions.jsonl` may be missing; its order is then that of the ids."""
    path = stored(root / "questions.jsonl", problems)
    listed = path.is_file()
    questions, line_of = _read_questions(path, root, problems) if listed else ({}, {})
    asked_in, path = path, stored(root / "nuggets.jsonl", problems)
    nuggets, lines = _read_nuggets(path, root, questions if listed else None, problems)
    problems.extend(_missing_votes(path, nuggets, lines))
    wrong = list(group_problems(path, nuggets, lines))
    problems.extend(wrong)
    for qid in (qid for qid, own in nuggets.items() if not own):
        what, remedy = f"the question {qid!r} has no nuggets", "it has no score; add nuggets or delete it"
        problems.append(Problem(str(asked_in), line_of[qid], what, remedy, "warning"))
    if errors_in(wrong):  # the caller stops here; until then there are no groups
        nuggets = {qid: {name: n for name, n in own.items() if not n.members} for qid, own in nuggets.items()}
    # These orders do not depend on the order of nuggets.jsonl, so the draws of intervals do not either.
    scored = [qid for qid in (nuggets if listed else sorted(nuggets, key=natural_order)) if nuggets[qid]]
    if not scored and not errors_in(problems):
        problems.append(Problem(str(path), None, "no nugget in this file", "describe at least one"))
    ordered = [nuggets[qid][name] for qid in scored for name in sorted(nuggets[qid], key=natural_order)]
    key = make_key([questions.get(qid) or Question(qid, "") for qid in scored], ordered)
    return dataclasses.replace(key, unscored=frozenset(questions.keys() - set(scored)))


def _read_questions(path: Path, root: Path, problems: list[Problem]) -> tuple[dict[str, Question], dict[str, int]]:
    """The questions by id, and the line of each."""
    questions: dict[str, Question] = {}
    line_of: dict[str, int] = {}
    for line, question in canonical.QUESTIONS.read(path, problems) if is_regular(path, problems, root) else ():
        if question.qid in questions:
            what = f"the question {question.qid!r} is listed twice"
            problems.append(Problem(str(path), line, what, "delete one of them or rename it"))
            continue
        questions[question.qid] = question
        line_of[question.qid] = line
    return questions, line_of


def _read_nuggets(
    path: Path, root: Path, questions: Iterable[str] | None, problems: list[Problem]
) -> tuple[Nuggets, Lines]:
    """The nuggets of the listed questions, if any are listed, and of the others."""
    nuggets: Nuggets = {qid: {} for qid in questions or ()}
    lines: Lines = {}
    members: set[tuple[str, str]] = set()  # of groups, whose importance is the group's
    read = canonical.NUGGETS.read(path, problems, lambda nugget: (nugget.qid, nugget.nugget) in members)
    for line, nugget in read if is_regular(path, problems, root) else ():
        if questions is not None and nugget.qid not in nuggets:
            what, remedy = f"unknown question {nugget.qid!r}", "add it to questions.jsonl"
            problems.append(Problem(str(path), line, what, remedy, "warning"))
        own = nuggets.setdefault(nugget.qid, {})
        if nugget.nugget in own:
            what = f"the nugget {nugget.nugget!r} of {nugget.qid!r} is listed twice"
            problems.append(Problem(str(path), line, what, "delete one of them or rename it"))
            continue
        own[nugget.nugget] = nugget
        lines[nugget.qid, nugget.nugget] = line
        members.update((nugget.qid, member) for member in nugget.members)
        problems.extend(Problem(str(path), line, what, remedy, "warning") for what, remedy in _doubts(nugget))
    return nuggets, lines


def _doubts(nugget: Nugget) -> Iterator[tuple[str, str]]:
    """What is strange about a nugget, and what to do."""
    if not all(map(words, nugget.descriptions)):
        yield f"a description of {nugget.nugget!r} has no word", "describe the fact, or no guess can find it"
    if nugget.importance == "unrated":
        yield f"the importance of {nugget.nugget!r} is unrated", "write vital or okay, or it hardly counts"
    if nugget.votes and nugget.weight is not None:
        yield f"{nugget.nugget!r} has votes and a weight", "delete the weight: the votes count"


def _missing_votes(path: Path, nuggets: Mapping[str, Mapping[str, Nugget]], lines: Lines) -> Iterator[Problem]:
    """Assessors who voted on only some nuggets of a question."""
    for qid, own in nuggets.items():
        members = {member for nugget in own.values() for member in nugget.members}
        rated = {name: n for name, n in own.items() if name not in members and n.importance != "forbidden"}
        assessors = {assessor for nugget in rated.values() for assessor in nugget.votes}
        missing = {name: assessors - nugget.votes.keys() for name, nugget in rated.items()}
        names = sorted(set().union(*missing.values()))
        if names:
            line = next(lines[qid, name] for name, who in missing.items() if who)
            what = f"question {qid!r}: {', '.join(names)} voted on some nuggets only"
            remedy = "add the missing votes; until then macro F takes them as okay"
            yield Problem(str(path), line, what, remedy, "warning")


def make_key(questions: Sequence[Question], nuggets: Iterable[Nugget]) -> AnswerKey:
    """An answer key from questions and their nuggets, in any order. A nugget in a group has the importance of the
    outermost group."""
    own: dict[str, list[Nugget]] = {question.qid: [] for question in questions}
    groups: list[Nugget] = []
    for nugget in nuggets:
        (groups if nugget.members else own[nugget.qid]).append(nugget)
    outer = {(group.qid, member): group for group in groups for member in group.members}

    def rated(nugget: Nugget) -> Nugget:
        group = nugget
        while above := outer.get((group.qid, group.nugget)):
            group = above
        return nugget if group is nugget else replace(nugget, importance=group.importance)

    offsets = np.cumsum([0, *map(len, own.values())], dtype=np.int64)
    kept = tuple(rated(nugget) for nuggets in own.values() for nugget in nuggets)
    return AnswerKey(tuple(questions), kept, offsets, tuple(groups))


def natural_order(name: str) -> list[tuple[bool, int, str]]:
    """Sorts names with numbers in them as people do: q2 before q10."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
