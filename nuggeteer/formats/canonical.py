"""The lines of a collection's files: how each record of `records` is read, and written.

Keys that no field has are kept unchanged in `extra`. A retraction has no `verdict`, so a program that does not know
retractions fails on it and does not misread it as a verdict.

A retraction undoes its assessor's verdicts on that nugget and text (`text.normalised`) with an earlier `at`, in any
file of `judgements/`. The order of files and lines means nothing. A verdict whose time is missing or unreadable counts
as earlier than every retraction. Nothing else undoes a verdict: an opposite verdict by the same assessor is a
contradiction.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Generic, TypeGuard, TypeVar, cast, get_type_hints

import numpy as np
from msgspec import NODEFAULT, Struct, ValidationError, convert, structs
from msgspec.structs import force_setattr

from nuggeteer import fields
from nuggeteer.errors import Problem
from nuggeteer.fields import WrongField, about, check_of, moment
from nuggeteer.formats.append import read_appended
from nuggeteer.formats.jsonl import is_regular, json_lines_in, read_jsonl
from nuggeteer.records import NO_EXTRA, Judgement, Nugget, Question, Response, Retraction, RunInfo

Record = TypeVar("Record")
Content = TypeVar("Content", covariant=True)
_SHAPES = 1000  # sequences of keys that are remembered


class WrongLine(Exception):
    """A line with wrong fields: (what is wrong, what to do) for each of them."""


class Layout(Generic[Record]):
    """One kind of line, as its record declares it: the record's fields, and in their place or beside them `also` the
    keys that `make` turns into fields. A field that has no default is required.

    A key in `presumed` is taken to have that value where it is missing, and a warning says on how many lines. `rules`
    say in JSON Schema what holds between the fields."""

    def __init__(
        self,
        declared: type[Any],
        make: Callable[..., Record] | None = None,
        also: Mapping[str, Any] = NO_EXTRA,
        optional: Collection[str] = (),
        presumed: Mapping[str, str] = NO_EXTRA,
        rules: Mapping[str, Any] = NO_EXTRA,
    ) -> None:
        hints = get_type_hints(declared, include_extras=True)
        defaults = {name: one.default for name, one in signature(declared).parameters.items()}
        own = {key: hints[key] for key in defaults if key != "extra"}
        first = {key: kind for key, kind in own.items() if defaults[key] is Parameter.empty and key not in optional}
        self.declared: Mapping[str, Any] = {**first, **also, **own}
        self.checks = {key: check_of(kind) for key, kind in self.declared.items()}
        self.make: Callable[..., Record] = make or declared
        self.presumed, self.rules = presumed, rules
        known = {*optional, *presumed}
        self.required = tuple(
            key for key in self.declared if defaults.get(key, Parameter.empty) is Parameter.empty and key not in known
        )
        self._ids = [key for key in self.required if self.checks[key] is fields.identifier]
        self._others: dict[tuple[str, ...], list[str]] = {}
        self._whole: Any = declared if make is None and issubclass(declared, Struct) else None

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
        if self._whole is not None:
            try:
                return self._at_once(line)
            except (ValidationError, KeyError, TypeError, WrongField):
                pass
        return self._by_fields(line)

    def _at_once(self, line: dict[str, Any]) -> Record:
        """The record of a good line. Raises an error for any other, and for some that `_by_fields` understands."""
        for key in self._ids:
            line[key] = fields.known_identifier(line[key])
        record = convert(line, self._whole)
        names = tuple(line)  # the lines of a file have the same, mostly
        if (others := self._others.get(names)) is None:
            if len(self._others) > _SHAPES:
                self._others.clear()
            others = self._others[names] = [key for key in names if key not in self.checks]
        if others:
            force_setattr(record, "extra", _shared([(key, line[key]) for key in others]))
        return cast(Record, record)

    def _by_fields(self, line: dict[str, Any]) -> Record:
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
        wrong += [(f"no {key!r}", f"add the key {key!r}") for key in self.required if key not in line]
        if not wrong:
            try:
                return self.make(**known, extra=extra or NO_EXTRA)
            except WrongField as error:
                wrong.append(error.args)
        raise WrongLine(*wrong)


def _shared(extra: list[tuple[str, Any]]) -> Mapping[str, Any]:
    """One object for all equal ones, if they hold only texts: a million verdicts were written by the same version."""
    for _, value in extra:
        if type(value) is not str:
            return dict(extra)
    return _once(*extra)


@lru_cache(maxsize=256)
def _once(*items: tuple[str, str]) -> Mapping[str, Any]:
    return dict(items)


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


def _retraction(retracted: bool, extra: Mapping[str, Any], **values: Any) -> Retraction:
    if "verdict" in extra:
        raise WrongField("a line has 'retracted' and 'verdict'", "keep only one of them")
    return Retraction(extra=extra, **values)


# What a nugget has exactly one of, and what it has of the others.
_SOME = {"type": "array", "minItems": 1}
_DESCRIBED = {"text": {"type": "string"}, "descriptions": _SOME, "any_of": _SOME, "all_of": _SOME}
_NOTHING = {"anyOf": [{"type": "null"}, {"maxItems": 0}]}
_NEGATIVE = {"type": "number", "exclusiveMaximum": 0}

QUESTIONS = Layout[Question](Question)
NUGGETS = Layout(
    Nugget,
    _nugget,
    {"text": Annotated[str, about("The fact in words.")]},
    optional=("text", "descriptions"),
    presumed={"importance": "vital"},
    rules={
        "oneOf": [
            {
                "properties": {**dict.fromkeys(_DESCRIBED, _NOTHING), "text": {"type": "null"}, key: value},
                "required": [key],
            }
            for key, value in _DESCRIBED.items()
        ],
        "if": {
            "anyOf": [
                {"properties": {"weight": _NEGATIVE}, "required": ["weight"]},
                {"properties": {"importance": {"const": "forbidden"}}, "required": ["importance"]},
            ]
        },
        "then": {"properties": {"weight": {"exclusiveMaximum": 0}, "votes": {"maxProperties": 0}}},
    },
)
MANIFEST = Layout[RunInfo](RunInfo)
RESPONSES = Layout[Response](Response)
JUDGEMENTS = Layout[Judgement](
    Judgement,
    rules={
        "not": {
            "anyOf": [
                {"properties": {key: {"const": True} for key in two}, "required": two}
                for two in (["verdict", "partial"], ["verdict", "contradicts"], ["partial", "contradicts"])
            ]
        }
    },
)
RETRACTIONS = Layout(
    Retraction,
    _retraction,
    {"retracted": Annotated[fields.Yes, about("Makes the line a retraction, which has no `verdict`.")]},
    rules={"not": {"required": ["verdict"]}},
)
VERDICT_KEYS = (*JUDGEMENTS.checks, "retracted")


def as_line(record: Question | Nugget | RunInfo | Response | Judgement | Retraction) -> dict[str, Any]:
    """A record as the object of its line, without keys that have their default value."""
    line: dict[str, Any] = {}
    for key, default in _DEFAULTS[type(record)].items():
        value = getattr(record, key)
        if value == default and type(value) is type(default):
            continue
        if key == "descriptions" and len(value) == 1:
            key, value = "text", value[0]
        line[key] = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    if isinstance(record, Retraction):
        line["retracted"] = True
    return {**line, **record.extra}


def _defaults(declared: type[Any]) -> dict[str, Any]:
    found = {one.name: one for one in structs.fields(declared) if one.name != "extra"}
    return {name: {} if one.default_factory is not NODEFAULT else one.default for name, one in found.items()}


_DEFAULTS = {kind: _defaults(kind) for kind in (Question, Nugget, RunInfo, Response, Judgement, Retraction)}
_DEFAULTS[Nugget]["descriptions"] = ()  # of a group


class Entry(Struct, Generic[Content], frozen=True, gc=False):
    """A record with its file and line."""

    file: str
    line: int
    record: Content

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}"


Anything = Entry[Judgement | Retraction]
Verdict = Entry[Judgement]


def counts_as_known(judgement: Judgement, as_truth: Collection[str]) -> bool:
    """Whether a verdict is a human's, or of a machine whose verdicts are the standard (`[judgements] as_truth`)."""
    return not judgement.machine or judgement.assessor in as_truth


def read_folder(folder: Path, problems: list[Problem]) -> list[Anything]:
    """Every good line of every file, by file and line. Repeated lines count once, because a merge may repeat them."""
    found: list[Anything] = []
    shared: dict[str, str] = {}
    marks = array("q")  # equal for equal records; a set of a million records would take as much room as they do
    for path in json_lines_in(folder):
        for entry in read_file(path, problems, shared) if is_regular(path, problems, folder.parent) else ():
            record = entry.record
            marks.append(hash((record.assessor, record.at, record.run, record.qid, record.nugget, record.text)))
            found.append(entry)
    order = np.argsort(marks, kind="stable")
    ordered = np.asarray(marks, dtype=np.int64)[order]
    again = set[int]()
    for end in np.flatnonzero(ordered[1:] == ordered[:-1]).tolist():
        first = int(np.searchsorted(ordered, ordered[end]))
        if any(found[order[end + 1]].record == found[i].record for i in order[first : end + 1].tolist()):
            again.add(int(order[end + 1]))
    return [entry for i, entry in enumerate(found) if i not in again] if again else found


def read_file(path: Path, problems: list[Problem], shared: dict[str, str] | None = None) -> Iterator[Anything]:
    """Every good line.

    An answer is judged for each nugget, and its text is on as many lines. It is kept once, in `shared`; so are names
    and times."""
    shared = {} if shared is None else shared
    file = str(path)
    verdict, retraction = JUDGEMENTS.parse, RETRACTIONS.parse
    for number, line in read_appended(path, problems, VERDICT_KEYS):
        for key in ("text", "run", "assessor", "at"):
            if type(value := line.get(key)) is str:
                line[key] = shared.setdefault(value, value)
        try:
            yield Entry(file, number, retraction(line) if "retracted" in line else verdict(line))
        except WrongLine as wrong:
            problems.extend(Problem(file, number, what, remedy) for what, remedy in wrong.args)


def unretracted(entries: Sequence[Anything]) -> list[Verdict]:
    """The verdicts that were not retracted."""
    undone: dict[tuple[str | None, str, str], dict[str, datetime]] = {}
    for entry in entries:
        record = entry.record
        if isinstance(record, Retraction) and (when := moment(record.at)):
            latest = undone.setdefault((record.assessor, record.qid, record.nugget), {})
            same = record.pair[2]
            latest[same] = max(when, latest.get(same, when))
    return [entry for entry in entries if _stands(entry, undone)]


def _stands(entry: Anything, undone: Mapping[tuple[str | None, str, str], dict[str, datetime]]) -> TypeGuard[Verdict]:
    record = entry.record
    if isinstance(record, Retraction):
        return False
    latest = undone.get((record.assessor, record.qid, record.nugget)) if undone else None
    end = latest.get(record.pair[2]) if latest else None
    return end is None or not (record.at is None or (when := moment(record.at)) is None or when < end)
