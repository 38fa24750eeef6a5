"""The canonical files of a collection: what each line may say, how it is read, how it is written.

    questions.jsonl     qid, text, kind?, target?, template?
    nuggets.jsonl       qid, nugget, text | descriptions, importance, weight?, votes?, tags?
    runs.jsonl          run, group?, judged?, official?
    runs/NAME.jsonl     qid, text, docid?, rank?
    judgements/*.jsonl  qid, nugget, text, verdict, partial?, docid?, run?, assessor?, at?, reason?, span?, machine?
    or-a-retraction     qid, nugget, text, assessor, at, run?, reason?, retracted

Keys that are not listed are kept as they are, in `extra`. A retraction has no `verdict`, so that a reader who knows
nothing of retractions stumbles over it and does not take it for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from reprlib import Repr
from typing import Any, Generic, TypeVar, get_args

from nuggeteer.errors import Problem
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
_KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


_shorten = Repr()
_shorten.maxstring = 60


class _Wrong(Exception):
    """A value that does not belong: what, and what to do."""


class WrongLine(Exception):
    """A line that cannot be read: (what, what to do) of everything wrong in it."""


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "null")


def _shown(value: Any) -> str:
    return _shorten.repr(value) if type(value) in (str, int, float) else _kind(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"is {_kind(value)}, not a string", "put it in quotes")
    return value


def _name(value: Any) -> str:
    """An id: some visible text without control characters."""
    if not isinstance(value, str):
        raise _Wrong(f"is {_kind(value)}, not a string", "put it in quotes")
    if not value or value != value.strip() or not value.isprintable():
        what = f"is {_shown(value)}, which no id can be"
        raise _Wrong(what, "use printable characters without spaces at the ends")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f"is {_kind(value)}, not true or false", "write true or false, without quotes")
    return value


def _rank(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Wrong(f"is {_kind(value)}, not a whole number", "write a whole number")
    return value


def _weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        what = f"is {_shown(value)}, not a number from 0 to 1"
        raise _Wrong(what, "write the share of assessors who want it")
    return float(value)


def _one_of(*allowed: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in allowed:
            what = f"is {_shown(value)}, not one of {', '.join(allowed)}"
            raise _Wrong(what, f"write {' or '.join(allowed)}")
        return value

    return check


def _votes(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or any(v not in ("vital", "okay") for v in value.values()):
        raise _Wrong("must map each assessor to vital or okay", 'write {"assessor": "vital", ...}')
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise _Wrong("is not a list of strings", 'write ["...", ...]')
    return tuple(value)


def _scores(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in value.values()
    ):
        raise _Wrong("must map each measure to a number", 'write {"f3": 0.299, ...}')
    return value


def _anything(value: Any) -> Any:
    return value


def moment(at: str) -> datetime | None:
    """When that was, if it says so as ISO 8601 does; without a zone it is UTC."""
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _moment(value: Any) -> str:
    if moment(_text(value)) is None:
        raise _Wrong(f"is {_shown(value)}, not a time", "write it like 2026-01-31T09:30:00.000000Z")
    return str(value)


def _true(value: Any) -> None:
    if value is not True:
        raise _Wrong(f"is {_shown(value) if value is not False else 'false'}, not true", "write true, or leave it out")


def _retraction(retracted: None, extra: Mapping[str, Any], **fields: Any) -> Retraction:
    if "verdict" in extra:
        raise _Wrong("a retraction has no 'verdict'", "keep 'retracted' or 'verdict'")
    return Retraction(extra=extra, **fields)


class Layout(Generic[Record]):
    """One kind of line: its keys, those it cannot do without, and what becomes of it."""

    def __init__(
        self,
        make: Callable[..., Record],
        required: tuple[str, ...],
        checks: Mapping[str, Callable[[Any], Any]],
    ) -> None:
        self.make = make
        self.required = required
        self.checks = checks

    def read(self, path: Path, problems: list[Problem]) -> Iterator[tuple[int, Record]]:
        """(line number, record) of each good line; problems of the others."""
        for number, line in read_jsonl(path, problems, self.checks):
            try:
                yield number, self.parse(line)
            except WrongLine as wrong:
                problems.extend(Problem(str(path), number, what, remedy) for what, remedy in wrong.args)

    def parse(self, line: dict[str, Any]) -> Record:
        """The record that a line's object says; raises `WrongLine`."""
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        wrong: list[tuple[str, str]] = []
        for key, value in line.items():
            check = self.checks.get(key)
            if check is None:
                extra[key] = value
            elif value is not None or key in self.required:
                try:
                    fields[key] = check(value)
                except _Wrong as one:
                    wrong.append((f"{key!r} {one.args[0]}", one.args[1]))
        wrong += [(f"no {key!r}", f"add the key {key!r}") for key in self.required if key not in line]
        if not wrong:
            try:
                return self.make(**fields, extra=extra or NO_EXTRA)
            except _Wrong as one:
                wrong.append(one.args)
        raise WrongLine(*wrong)


def _nugget(text: str | None = None, descriptions: tuple[str, ...] | None = None, **fields: Any) -> Nugget:
    if (text is None) == (not descriptions):
        raise _Wrong("a nugget has either 'text' or 'descriptions'", "keep one of them")
    return Nugget(descriptions=descriptions or (text or "",), **fields)


QUESTIONS = Layout(
    Question,
    ("qid", "text"),
    {"qid": _name, "text": _text, "kind": _text, "target": _text, "template": _text},
)
NUGGETS = Layout(
    _nugget,
    ("qid", "nugget", "importance"),
    {
        "qid": _name,
        "nugget": _name,
        "text": _text,
        "descriptions": _texts,
        "importance": _one_of(*get_args(Importance)),
        "weight": _weight,
        "votes": _votes,
        "tags": _texts,
    },
)
MANIFEST = Layout(
    RunInfo,
    ("run",),
    {"run": _name, "group": _text, "judged": _one_of(*get_args(Judged)), "official": _scores},
)
RESPONSES = Layout(Response, ("qid", "text"), {"qid": _name, "text": _text, "docid": _text, "rank": _rank})
JUDGEMENTS = Layout(
    Judgement,
    ("qid", "nugget", "text", "verdict"),
    {
        "qid": _name,
        "nugget": _name,
        "text": _text,
        "verdict": _boolean,
        "partial": _boolean,
        "docid": _text,
        "run": _text,
        "assessor": _text,
        "at": _text,
        "reason": _text,
        "span": _anything,
        "machine": _boolean,
    },
)
RETRACTIONS = Layout(
    _retraction,
    ("qid", "nugget", "text", "assessor", "at", "retracted"),
    {
        "qid": _name,
        "nugget": _name,
        "text": _text,
        "assessor": _text,
        "at": _moment,
        "run": _text,
        "reason": _text,
        "retracted": _true,
    },
)


_SILENT = (("partial", False), ("machine", False), ("judged", "none"))


def as_line(record: Question | Nugget | RunInfo | Response | Judgement | Retraction) -> dict[str, Any]:
    """A record as the object of its line; keys that say nothing are left out."""
    line: dict[str, Any] = {}
    for key in record.__slots__:
        value = getattr(record, key)
        if key == "extra" or value is None or (key, value) in _SILENT:
            continue
        if key == "descriptions":
            key, value = ("text", value[0]) if len(value) == 1 else (key, list(value))
        elif key in ("tags", "votes", "official"):
            if not value:
                continue
            value = list(value) if key == "tags" else dict(value)
        line[key] = value
    if isinstance(record, Retraction):
        line["retracted"] = True
    return {**line, **record.extra}
