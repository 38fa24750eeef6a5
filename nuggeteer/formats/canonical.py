"""The files of a collection: the keys of each line, and how lines are read and written.

    questions.jsonl     qid, text, kind?, target?, template?
    nuggets.jsonl       qid, nugget, text | descriptions | any_of | all_of, importance?, weight?, votes?, tags?
    runs.jsonl          run, group?, judged?, official?
    runs/NAME.jsonl     qid, text, docid?, rank?
    judgements/*.jsonl  qid, nugget, text, verdict, partial?, docid?, run?, assessor?, at?, reason?, span?, machine?,
                        scope?, contradicts?
    or-a-retraction     qid, nugget, text, assessor, at, run?, reason?, scope?, retracted

Other keys are kept unchanged in `extra`. A retraction has no `verdict`, so a program that does not know retractions
fails on it and does not misread it as a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from nuggeteer.errors import Problem
from nuggeteer.formats import fields
from nuggeteer.formats.fields import WrongField
from nuggeteer.formats.jsonl import read_jsonl
from nuggeteer.records import (
    NO_EXTRA,
    Importance,
    Judged,
    Judgement,
    Nugget,
    Question,
    Response,
    Retraction,
    RunInfo,
)

Record = TypeVar("Record")


class WrongLine(Exception):
    """A line with wrong fields: (what is wrong, what to do) for each of them."""


def _retraction(retracted: None, extra: Mapping[str, Any], **values: Any) -> Retraction:
    if "verdict" in extra:
        raise WrongField("a line has 'retracted' and 'verdict'", "keep only one of them")
    return Retraction(extra=extra, **values)


class Layout(Generic[Record]):
    """One kind of line: its required keys, the checks of all its keys, and the record that it becomes. A key in
    `presumed` is taken to have that value where it is missing, and a warning says on how many lines."""

    def __init__(
        self,
        make: Callable[..., Record],
        required: tuple[str, ...],
        checks: Mapping[str, Callable[[Any], Any]],
        presumed: Mapping[str, str] = NO_EXTRA,
    ) -> None:
        self.make = make
        self.required, self._required = required, frozenset(required)
        self.checks = checks
        self.presumed = presumed

    def read(
        self, path: Path, problems: list[Problem], excused: Callable[[Record], bool] = lambda record: False
    ) -> Iterator[tuple[int, Record]]:
        """(line number, record) of each good line. The others become problems. When all lines are read, `excused` says
        which records need no key in `presumed`."""
        missing: dict[str, list[tuple[int, Record]]] = {key: [] for key in self.presumed}
        for number, line in read_jsonl(path, problems, self.checks):
            record = self.checked(str(path), number, line, problems)
            if record is None:
                continue
            for key, value in self.presumed.items():
                if line.get(key) is None and getattr(record, key) == value:
                    missing[key].append((number, record))
            yield number, record
        for key, found in missing.items():
            if lines := [number for number, record in found if not excused(record)]:
                value, on = self.presumed[key], "1 line" if len(lines) == 1 else f"{len(lines):,} lines"
                what, remedy = f"no {key!r} on {on}, which is taken as {value!r}", f"add the key {key!r}"
                problems.append(Problem(str(path), lines[0], what, remedy, "warning"))

    def checked(self, file: str, number: int, line: dict[str, Any], problems: list[Problem]) -> Record | None:
        """The record of a line's object; None if it is wrong, which becomes problems."""
        try:
            return self.parse(line)
        except WrongLine as wrong:
            problems.extend(Problem(file, number, what, remedy) for what, remedy in wrong.args)
            return None

    def parse(self, line: dict[str, Any]) -> Record:
        """Make a record from a line's object; raises `WrongLine`."""
        known: dict[str, Any] = dict(self.presumed)
        extra: dict[str, Any] = {}
        wrong: list[tuple[str, str]] = []
        for key, value in line.items():
            check = self.checks.get(key)
            if check is None:
                extra[key] = value
            elif value is not None or key in self.required:
                try:
                    known[key] = check(value)
                except WrongField as error:
                    what, remedy = error.args
                    wrong.append((f"{key!r} {what}", remedy))
        if not line.keys() >= self._required:
            wrong += [(f"no {key!r}", f"add the key {key!r}") for key in self.required if key not in line]
        if not wrong:
            try:
                return self.make(**known, extra=extra or NO_EXTRA)
            except WrongField as error:
                wrong.append(error.args)
        raise WrongLine(*wrong)


def _nugget(text: str | None = None, descriptions: tuple[str, ...] | None = None, **values: Any) -> Nugget:
    groups = [values[key] for key in ("any_of", "all_of") if values.get(key)]
    if groups and (len(groups) > 1 or text is not None or descriptions):
        raise WrongField("a group has 'any_of' or 'all_of', and no description of its own", "keep one of them")
    if not groups and (text is None) == (not descriptions):
        raise WrongField("a nugget has either 'text' or 'descriptions'", "keep one of them")
    weight = values.get("weight")
    if values["importance"] == "forbidden" and weight is None:
        values["weight"] = weight = -1.0
    if weight is not None and weight < 0:
        values["importance"] = "forbidden"
        if values.get("votes"):
            raise WrongField("a nugget with a negative 'weight' has 'votes'", "keep one of them")
    elif values["importance"] == "forbidden":
        raise WrongField(f"a forbidden nugget has the 'weight' {weight:g}", "write a negative weight, or leave it out")
    return Nugget(descriptions=() if groups else descriptions or (text or "",), **values)


QUESTIONS = Layout(
    Question,
    ("qid", "text"),
    {
        "qid": fields.identifier,
        "text": fields.string,
        "kind": fields.string,
        "target": fields.string,
        "template": fields.string,
    },
)
NUGGETS = Layout(
    _nugget,
    ("qid", "nugget"),
    {
        "qid": fields.identifier,
        "nugget": fields.identifier,
        "text": fields.string,
        "descriptions": fields.strings,
        "any_of": fields.identifiers,
        "all_of": fields.identifiers,
        "importance": fields.one_of(*get_args(Importance)),
        "weight": fields.weight,
        "votes": fields.votes,
        "tags": fields.strings,
    },
    {"importance": "vital"},
)
MANIFEST = Layout(
    RunInfo,
    ("run",),
    {
        "run": fields.identifier,
        "group": fields.string,
        "judged": fields.one_of(*get_args(Judged)),
        "official": fields.scores,
    },
)
RESPONSES = Layout(
    Response,
    ("qid", "text"),
    {"qid": fields.identifier, "text": fields.string, "docid": fields.string, "rank": fields.whole_number},
)
JUDGEMENTS = Layout(
    Judgement,
    ("qid", "nugget", "text", "verdict"),
    {
        "qid": fields.identifier,
        "nugget": fields.identifier,
        "text": fields.string,
        "verdict": fields.boolean,
        "partial": fields.boolean,
        "docid": fields.string,
        "run": fields.string,
        "assessor": fields.string,
        "at": fields.string,
        "reason": fields.string,
        "span": fields.anything,
        "machine": fields.boolean,
        "scope": fields.one_of("response", "answer"),
        "contradicts": fields.boolean,
    },
)
RETRACTIONS = Layout(
    _retraction,
    ("qid", "nugget", "text", "assessor", "at", "retracted"),
    {
        "qid": fields.identifier,
        "nugget": fields.identifier,
        "text": fields.string,
        "assessor": fields.string,
        "at": fields.time,
        "run": fields.string,
        "reason": fields.string,
        "scope": fields.one_of("response", "answer"),
        "retracted": fields.true,
    },
)


_DEFAULTS = (("partial", False), ("contradicts", False), ("machine", False), ("scope", "response"), ("judged", "none"))


def as_line(record: Question | Nugget | RunInfo | Response | Judgement | Retraction) -> dict[str, Any]:
    """A record as the object of its line, without keys that have their default value."""
    line: dict[str, Any] = {}
    for key in record.__match_args__:
        value = getattr(record, key)
        if key == "extra" or value is None or (key, value) in _DEFAULTS:
            continue
        if key == "descriptions" and not value:
            continue
        if key == "descriptions":
            key, value = ("text", value[0]) if len(value) == 1 else (key, list(value))
        elif key in ("tags", "votes", "official", "any_of", "all_of"):
            if not value:
                continue
            value = dict(value) if key in ("votes", "official") else list(value)
        line[key] = value
    if isinstance(record, Retraction):
        line["retracted"] = True
    return {**line, **record.extra}
