"""What results are as JSON: each part declares its keys once, with their types and what they mean.

The JSON Schemas and the tables of docs/reference/json.md are made of these declarations by docs/generate.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from nuggeteer.fields import about

if TYPE_CHECKING:  # `check` needs neither, and they take a quarter of a second
    from nuggeteer.comparing.gate import Gate
    from nuggeteer.history.baseline import BriefedRun
    from nuggeteer.measures import Measure
    from nuggeteer.statistics import intervals

Count = Annotated[int, Meta(ge=0)]
Number = float | None  # null where it is undefined or cannot be said
Ends = Annotated[Sequence[float], Meta(min_length=2, max_length=2)]
Of = Annotated[Sequence[Count], Meta(min_length=2, max_length=2)]
Source = Annotated[Literal["known", "guessed"], about("A human verdict, or a guess.")]
Contradicted = Annotated[bool, about("By a verdict, the answer says the opposite. Otherwise left out.")]
Decision = Literal["PASS", "FAIL", "UNDECIDED"]
Basis = Annotated[
    Literal["read", "guessed", "nobody"] | None,
    about(
        "What people have read: some of the new answers, only earlier ones, or nothing; null where no gate was applied."
    ),
]
Signature = Annotated[str, about("Version, hashes and settings that made the numbers.")]
Notes = Annotated[Sequence[str], about("Remarks that a reader of the numbers should know.")]
AsTruth = Annotated[Sequence[str], about("Machines whose verdicts count as a human's.")]
# Fields whose own keys stand beside the others: the names of measures, and whatever keys a line has.
BY_MEASURE = Meta(description="By the name of the measure.", extra={"spread": "MEASURE"})
OTHER_KEYS = Meta(description="The other keys of the line.", extra={"spread": "..."})


P = TypeVar("P", bound="Part")


class Part(Struct, kw_only=True):
    """An object of a result. What is unset is left out."""

    def as_data(self) -> dict[str, Any]:
        """This and all parts within, as JSON has them."""
        return {key: data(value) for key, value in self._items()}

    def _items(self) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        spread = spread_fields(type(self))
        for name, key in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            value = getattr(self, name)
            if name in spread:
                found += value.items()
            elif value is not UNSET:
                found.append((key, value))
        return found


@cache
def hints_of(part: type[Part]) -> dict[str, Any]:
    """The type of each field, with what is said of it."""
    return get_type_hints(part, include_extras=True)


@cache
def spread_fields(part: type[Part]) -> Mapping[str, str]:
    """The fields whose own keys stand beside the others, and what stands for these keys in tables."""
    metas = ((name, meta) for name, kind in hints_of(part).items() for meta in getattr(kind, "__metadata__", ()))
    return {name: meta.extra["spread"] for name, meta in metas if "spread" in (meta.extra or {})}


def data(value: Any) -> Any:
    """A value of a part as JSON has it: NaN is null."""
    if isinstance(value, Part):
        return value.as_data()
    if isinstance(value, Mapping):
        return {key: data(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [data(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value != value else value


class ReportedRun(Part):
    """A run, and its recorded build."""

    run: str
    build: Annotated[Count | None, about("Its number in the history; null if it is not recorded.")]
    label: str | None
    time: Annotated[str | None, about("When it was recorded, in UTC.")]

    @classmethod
    def of(cls, found: BriefedRun) -> ReportedRun:
        scoring = found.build.scoring if found.build else None
        own = (scoring.build, scoring.time) if scoring else (None, None)
        return cls(run=file_name(found.run.name), build=own[0], label=found.label, time=own[1])


class Pairs(Part):
    """How many (response, nugget) pairs have a human verdict, and how many are guessed."""

    known: Count
    guessed: Count


class Interval(Part):
    """A score with its 95 % interval."""

    value: Annotated[Number, about("The expected score; null where it is undefined.")]
    hard: Annotated[Number, about("The score that takes each nugget of probability ½ or more as found.")]
    low: Annotated[Number, about("Where the 95 % interval begins.")]
    high: Annotated[Number, about("Where it ends.")]
    judging: Annotated[Ends | None, about("The interval if only guesses were uncertain.")]
    sampling: Annotated[Ends | None, about("The interval if only the choice of questions was uncertain.")]
    calibrated: Annotated[
        Literal[False] | UnsetType,
        about("false where the interval is too narrow: of precision, where much is guessed."),
    ] = UNSET

    @classmethod
    def of(cls, interval: intervals.Interval, measure: Measure, **more: Any) -> Self:
        return copied(cls, interval, calibrated=False if measure.promises_too_much(interval) else UNSET, **more)


class Estimate(Part):
    """A value with its 95 % interval."""

    value: Number
    low: Number
    high: Number


class CalibrationBin(Part):
    """Pairs whose chances lie between `low` and `high`."""

    low: float
    high: float
    pairs: Count
    chance: Annotated[Number, about("Their mean.")]
    yes: Annotated[Number, about("The share that people call a yes.")]


class NuggetId(Part):
    """A nugget, or a group in place of its nuggets."""

    qid: str
    nugget: str


class GateResult(Part):
    """A gate and its decision."""

    rule: Annotated[str, about("What it demands.")]
    decision: Decision
    passed: Annotated[bool, about("false if it failed; an undecided gate did not.")]
    why: Annotated[str, about("The numbers that decided.")]
    beyond: Annotated[
        str | None,
        about("What it means for other questions; null if the gate is about them, or if nothing can be said."),
    ]
    lost: Annotated[Sequence[NuggetId], about("The nuggets that it counted.")]

    @classmethod
    def of(cls, gate: Gate) -> GateResult:
        lost = [NuggetId(qid=change.question.qid, nugget=change.nugget.nugget) for change in gate.lost]
        return copied(cls, gate, passed=gate.decision != "FAIL", beyond=gate.beyond or None, lost=lost)


def copied(part: type[P], source: Any, /, **own: Any) -> P:
    """A part whose keys are the attributes of what it is made from, other than those that are given. Parts within it
    are made in the same way."""
    given = {name: own[name] if name in own else getattr(source, name) for name in part.__struct_fields__}
    return part(**{name: _made(hints_of(part)[name], value) for name, value in given.items()})


def _made(kind: Any, value: Any) -> Any:
    """A value of a field of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if value is None or value is UNSET:
        return value
    if origin is Annotated:
        return _made(inner[0], value)
    if origin in (Union, UnionType):
        return _made(next(one for one in inner if one not in (NoneType, UnsetType)), value)
    if origin is Sequence:
        return [_made(inner[0], one) for one in value]
    if isinstance(kind, type) and issubclass(kind, Part) and not isinstance(value, Part):
        return copied(kind, value)
    return value


def file_name(name: str) -> str:
    """A file's name. Bytes that are not UTF-8 are written out, because JSON cannot hold them."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
