"""The fields of records and results: the types that they are declared with, and what is wrong with a value that does
not fit.

A record declares each of its fields once, with a type and a description. Reading a line, its JSON Schema and the table
of its file in docs/reference follow from that. A check takes a value from JSON, and returns it or raises `WrongField`.

A result that `--json` prints is a `Part`, or is copied to one. Its schema and its table in docs/reference/json.md
follow from its declaration, too. docs/generate.py writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from reprlib import Repr
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import UNSET, Meta, Struct, UnsetType, field

_KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


LARGEST_WEIGHT = 1_000_000
LAST_YEAR = 8999  # of a retraction: a later verdict must be possible
_shorten = Repr()
_shorten.maxstring = 60


class WrongField(Exception):
    """A value that does not belong in its field: (what is wrong, what to do)."""


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "null")


def _shown(value: Any) -> str:
    return _shorten.repr(value) if type(value) in (str, int, float) else _kind(value)


def string(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongField(f"is {_kind(value)}, not a string", "write a text" if value is None else "put it in quotes")
    return value


def answer(value: Any) -> str:
    """What a system said, which may be nothing. In quotes, null would be a word of its answer."""
    if value is None:
        raise WrongField("is null, not a string", 'write "" or delete the line if the system said nothing')
    return string(value)


def identifier(value: Any) -> str:
    """An id: visible text without control characters, or a whole number, which is the same id as its
    digits."""
    if type(value) is int or (type(value) is float and value.is_integer()):
        return str(int(value))
    if not isinstance(value, str):
        raise WrongField(f"is {_kind(value)}, not a string", "write an id" if value is None else "put it in quotes")
    if not value or value != value.strip() or not value.isprintable():
        what = f"is {_shown(value)}, which is not a valid id"
        raise WrongField(what, "use printable characters without spaces at the ends")
    return value


# The same for ids that were seen before: quicker, and equal ids are one string in memory.
known_identifier = lru_cache(maxsize=1 << 16, typed=True)(identifier)


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongField(f"is {_kind(value)}, not true or false", "write true or false, without quotes")
    return value


def whole_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongField(f"is {_kind(value)}, not a whole number", "write a whole number")
    return value


def weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST_WEIGHT <= value <= LARGEST_WEIGHT:
        what = f"is {_shown(value)}, not a number from -{LARGEST_WEIGHT:,} to {LARGEST_WEIGHT:,}"
        raise WrongField(what, "write the points of a rubric, or the share of assessors who voted vital")
    return float(value)


def one_of(*allowed: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in allowed:
            what = f"is {_shown(value)}, not one of {', '.join(allowed)}"
            raise WrongField(what, f"write {' or '.join(allowed)}")
        return value

    return check


def votes(value: Any) -> dict[str, str | float]:
    if not isinstance(value, dict) or not all(map(_is_vote, value.values())):
        what = "must map each assessor to vital, okay or a number from 0 to 1"
        raise WrongField(what, 'write {"assessor": "vital", ...}')
    return value


def _is_vote(value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0 <= value <= 1
    return value in ("vital", "okay")


def strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise WrongField("is not a list of strings", 'write ["...", ...]')
    return tuple(value)


def identifiers(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise WrongField(f"is {_kind(value)}, not a list of ids", 'write ["1", "2", ...]')
    names = tuple(map(identifier, value))
    if len(set(names)) < len(names):
        raise WrongField("names a nugget twice", "name it once")
    return names


def scores(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in value.values()
    ):
        raise WrongField("must map each measure to a number", 'write {"f3": 0.299, ...}')
    return value


def number_from(low: float, high: float) -> Callable[[Any], Any]:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise WrongField(f"is {_shown(value)}, not a number from {low:g} to {high:g}", "write such a number")
        return float(value)

    return check


def anything(value: Any) -> Any:
    return value


def moment(at: str) -> datetime | None:
    """A time in ISO 8601, as UTC if it has no zone; None if it is not a time."""
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return None
    if not 1 < when.year < 9999:  # at the ends of the calendar, another zone or a moment later may be outside of it
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def as_written(when: datetime) -> str:
    """A time as our files have it."""
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def time(value: Any) -> str:
    if (when := moment(string(value))) is None or when.year > LAST_YEAR:
        raise WrongField(f"is {_shown(value)}, not a time", "write it like 2026-01-31T09:30:00.000000Z")
    return str(value)


def true(value: Any) -> bool:
    if value is not True:
        raise WrongField(
            f"is {_shown(value) if value is not False else 'false'}, not true", "write true, or leave it out"
        )
    return True


# Types of fields. Where the type itself does not say all about a value, its check and its schema do.

_CONTROL = r"\u0000-\u001f\u007f-\u009f"
_ID_SCHEMA = {
    "type": ["string", "integer"],
    "pattern": rf"^[^\s{_CONTROL}]([^{_CONTROL}\u2028\u2029]*[^\s{_CONTROL}])?$(?!\n)",
}
_TIME_SCHEMA = {
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$",
}

Id = Annotated[str, Meta(extra={"check": identifier}, extra_json_schema=_ID_SCHEMA)]
Ids = Annotated[
    tuple[str, ...],
    Meta(extra={"check": identifiers}, extra_json_schema={"items": _ID_SCHEMA, "uniqueItems": True}),
]
Share = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=-LARGEST_WEIGHT, le=LARGEST_WEIGHT, extra={"check": weight})]
Votes = Annotated[Mapping[str, Literal["vital", "okay"] | Share], Meta(extra={"check": votes})]
Scores = Annotated[Mapping[str, float], Meta(extra={"check": scores})]
Answer = Annotated[str, Meta(extra={"check": answer})]
Time = Annotated[str, Meta(extra={"check": time}, extra_json_schema=_TIME_SCHEMA)]
Yes = Annotated[bool, Meta(extra={"check": true}, extra_json_schema={"const": True})]


def about(description: str) -> Meta:
    """What a field means: in JSON Schemas and in the tables of docs/reference."""
    return Meta(description=description)


_CHECKS: Mapping[Any, Callable[[Any], Any]] = {
    str: string,
    bool: boolean,
    int: whole_number,
    tuple[str, ...]: strings,
    Any: anything,
}


def check_of(declared: Any) -> Callable[[Any], Any]:
    """The check of a field's values, which are never null, by the type that the field is declared with."""
    if get_origin(declared) is Annotated:
        for meta in declared.__metadata__:
            if meta.extra:
                return cast(Callable[[Any], Any], meta.extra["check"])
            if meta.ge is not None and meta.le is not None:
                return number_from(meta.ge, meta.le)
        return check_of(declared.__origin__)
    if get_origin(declared) in (Union, UnionType):
        (one,) = (part for part in get_args(declared) if part is not NoneType)
        return check_of(one)
    return one_of(*get_args(declared)) if get_origin(declared) is Literal else _CHECKS[declared]


# Results.

Count = Annotated[int, Meta(ge=0)]
Number = float | None  # null where it is undefined or cannot be said
if TYPE_CHECKING:
    OrNaN = float
else:
    OrNaN = Number  # NaN to those who compute with it, and null in JSON, which has none
Ends = Annotated[Sequence[float], Meta(min_length=2, max_length=2)]
Of = Annotated[Sequence[Count], Meta(min_length=2, max_length=2)]

P = TypeVar("P", bound="Part")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Part(Struct, frozen=True):
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
    """A value of a part as JSON has it: NaN is null, and every text is valid Unicode."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, Part):
        return value.as_data()
    if hasattr(value, "tolist"):  # of NumPy, which is not loaded for this
        value = value.tolist()
    if isinstance(value, Mapping):
        return {data(key): data(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [data(one) for one in value]
    return None if isinstance(value, float) and value != value else value


def valid_unicode(text: str) -> str:
    """The text as JSON can hold it: bytes of a file's name that are not UTF-8 and half surrogates are written out."""
    if text.isascii():
        return text
    try:
        encoded = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        encoded = text.encode("utf-8", "surrogatepass")
    return encoded.decode("utf-8", "backslashreplace")


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
