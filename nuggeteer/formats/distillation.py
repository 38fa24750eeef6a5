"""Evaluations of distillers: what each one found, sorted into nugs. JSON Lines; `type` says what a line is.

    corpus     other?, characters_per_nug?          about the whole evaluation
    query      qid, text, medium?, language?, structure?
    distiller  distiller, kind?, characters_per_nug?     kind is "machine" or "human"
    nug        qid, nug, relevance, text?, support?, tags?, proposed?
    nugget     qid, distiller, text, nugs, citations?
    answer     qid, distiller, irrelevant

`other` is the order of magnitude of all other nugs in the corpora. `characters_per_nug` says how many non-white
characters of irrelevant text hold one nug; that of a distiller counts before that of the corpus. `relevance` is a
number from 0 to 1. `text` is the nug's meaning, and `support` lists the documents that support it. `nugs` maps each nug
to the nugget's degree of membership in it; the degrees add up to at most 1. `citations` are the documents that the
distiller cites. `irrelevant` counts the non-white characters of an answer from which no nugget was taken.

The order of the lines has no meaning, and an evaluation may have several files. Other keys are kept.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard

from msgspec import Meta

from nuggeteer.errors import Problem, errors_in, stop_at_errors
from nuggeteer.fields import Id, WrongField
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.jsonl import read_jsonl, write_jsonl
from nuggeteer.records import NO_EXTRA

NO_DENSITY = (
    'say how many characters hold a nug: {"type": "corpus", "characters_per_nug": ...}, or count it: distill --density'
)
ROUNDING = 1e-9  # 0.7 + 0.2 + 0.1 counts as 1, although floating-point numbers add up to a little less or more


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _number(good: Callable[[float], bool], which: str, remedy: str) -> Callable[[Any], float]:
    """The check of a number."""

    def check(value: Any) -> float:
        if not _is_number(value) or not good(value):
            raise WrongField(f"is not a number {which}", remedy)
        return value

    return check


def _degrees(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not all(_is_number(v) and 0 <= v <= 1 for v in value.values()):
        raise WrongField("must map each nug to a degree from 0 to 1", 'write {"nug": 1.0}')
    if math.fsum(value.values()) > 1 + ROUNDING:
        what = f"has degrees of membership that add up to {math.fsum(value.values()):g}"
        raise WrongField(what, "lower them: a nugget counts at most once over all its nugs")
    return {nug: float(degree) for nug, degree in value.items()}


_WRITE = "write a number, without quotes"
_RELEVANCE = "write how relevant the nug's meaning is to the query"
Size = Annotated[float, Meta(ge=0, extra={"check": _number(lambda size: size >= 0, "from 0 up", _WRITE)})]
SizeAboveZero = Annotated[float, Meta(gt=0, extra={"check": _number(lambda size: size > 0, "above 0", _WRITE)})]
Relevance = Annotated[
    float, Meta(ge=0, le=1, extra={"check": _number(lambda share: 0 <= share <= 1, "from 0 to 1", _RELEVANCE)})
]
Degrees = Annotated[Mapping[str, float], Meta(extra={"check": _degrees})]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What holds for all queries: the number of other nugs, and how many characters of irrelevant text hold one."""

    other: Size | None = None
    characters_per_nug: SizeAboveZero | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A query that the distillers answered."""

    qid: Id
    text: str
    medium: Id | None = None
    language: Id | None = None
    structure: Id | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Distiller:
    """A system or a person that answered the queries, and how many characters of its irrelevant text hold one nug."""

    distiller: Id
    kind: Literal["machine", "human"] | None = None
    characters_per_nug: SizeAboveZero | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nug:
    """A class of nuggets with the same meaning, which is that of the most precise nugget."""

    qid: Id
    nug: Id
    relevance: Relevance
    text: str | None = None
    support: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    proposed: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DistilledNugget:
    """One nugget of a distiller's answer, with its degree of membership in each nug; None until it was sorted."""

    qid: Id
    distiller: Id
    text: str
    nugs: Degrees | None = None
    citations: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DistilledAnswer:
    """The rest of a distiller's answer: the characters of irrelevant text."""

    qid: Id
    distiller: Id
    irrelevant: Size
    extra: Mapping[str, Any] = field(default_factory=dict)


Line = Corpus | Query | Distiller | Nug | DistilledNugget | DistilledAnswer
NumberedLine = tuple[Path, int, Line]


@dataclass(frozen=True)
class Distillation:
    """An evaluation: queries, distillers, their nuggets, and the nugs that the nuggets were sorted into."""

    corpus: Corpus
    queries: tuple[Query, ...]
    distillers: tuple[Distiller, ...]
    nugs: tuple[Nug, ...]
    nuggets: tuple[DistilledNugget, ...]
    answers: tuple[DistilledAnswer, ...]
    problems: tuple[Problem, ...] = ()


def read_distillation(
    paths: Sequence[Path], ready: bool = True, annotated: Sequence[NumberedLine] = ()
) -> Distillation:
    """Read an evaluation. One error lists everything that is wrong with it.

    `annotated` are lines from annotations. Lines of a file on the same query or distiller come before theirs. With
    `ready`, every nugget must be in a nug, and a person must have accepted every nug.
    """
    problems: list[Problem] = []
    lines = _with_annotated([line for path in paths for line in _read(path, problems)], annotated)
    result = _assemble(lines, problems)
    if not errors_in(problems):
        if not result.queries:
            file, remedy = paths[0] if paths else annotated[0][0], "see docs/reference/files.md for the format"
            problems.append(Problem(str(file), None, "no query in it", remedy))
        elif ready:
            problems += list(_unready(lines)) or list(_imprecise(lines))
    stop_at_errors(problems)
    return replace(result, problems=tuple(problems))


def write_distillation(path: Path, distillation: Distillation) -> int:
    """Write it as one file; returns how many lines."""
    lines: list[Line] = [] if distillation.corpus == Corpus() else [distillation.corpus]
    lines += distillation.distillers
    for query in distillation.queries:  # all lines of a query follow it, because people read them together
        lines.append(query)
        for group in (distillation.answers, distillation.nugs, distillation.nuggets):
            lines += [line for line in group if line.qid == query.qid]
    return write_jsonl(path, map(_as_line, lines))


# Lines.


LAYOUTS: dict[str, Layout[Any]] = {
    "corpus": Layout(Corpus),
    "query": Layout(Query),
    "distiller": Layout(Distiller),
    "nug": Layout(Nug),
    "nugget": Layout(DistilledNugget),
    "answer": Layout(DistilledAnswer),
}
_KEYS = {"type", *(key for layout in LAYOUTS.values() for key in layout.checks)}
_TYPE = {layout.make: name for name, layout in LAYOUTS.items()}
# The keys that make a line of each type the only one; a nugget may occur twice.
_IDENTITY = {
    **{"corpus": (), "query": ("qid",), "distiller": ("distiller",)},
    **{"nug": ("qid", "nug"), "answer": ("qid", "distiller")},
}


def _with_annotated(lines: list[NumberedLine], annotated: Sequence[NumberedLine]) -> list[NumberedLine]:
    """All lines. Those on one query or distiller become one, which keeps what the first of them says."""
    position = {_identity(line): i for i, (_, _, line) in enumerate(lines) if isinstance(line, Query | Distiller)}
    for path, number, line in annotated:
        known = position.get(_identity(line)) if isinstance(line, Query | Distiller) else None
        if known is None:
            if isinstance(line, Query | Distiller):
                position[_identity(line)] = len(lines)
            lines.append((path, number, line))
            continue
        first = lines[known]
        own = {key.name: value for key in fields(first[2]) if (value := getattr(first[2], key.name)) is not None}
        added = {key.name: value for key in fields(line) if (value := getattr(line, key.name)) is not None}
        lines[known] = (*first[:2], replace(line, **{**added, **own}))
    return lines


def _read(path: Path, problems: list[Problem]) -> Iterator[NumberedLine]:
    unknown = []
    for number, line in read_jsonl(path, problems, _KEYS):
        type_ = line.pop("type", None)
        layout = LAYOUTS.get(type_) if isinstance(type_, str) else None
        if layout is None:
            unknown.append(number)
            continue
        if (record := layout.checked(str(path), number, line, problems)) is not None:
            yield path, number, record
    if unknown:
        what = f"'type' is not one of {', '.join(LAYOUTS)}"
        more = f", here and on {len(unknown) - 1} lines after this one" if len(unknown) > 1 else ""
        problems.append(Problem(str(path), unknown[0], what + more, "write the type (docs/reference/files.md)"))


def _as_line(line: Line) -> dict[str, Any]:
    """A line's object, without the keys that have their default value."""
    values = {key.name: getattr(line, key.name) for key in fields(line) if key.name != "extra"}
    defaults = {"tags": (), "proposed": False}
    kept = {key: value for key, value in values.items() if value is not None and value != defaults.get(key)}
    return {"type": _TYPE[type(line)], **kept, **(line.extra or NO_EXTRA)}


# Checks across lines.


def _identity(line: Line) -> tuple[str, ...] | None:
    """What may occur only once. None for a nugget, which may occur twice: that is redundancy."""
    kind = _TYPE[type(line)]
    return None if kind == "nugget" else (kind, *(getattr(line, key) for key in _IDENTITY[kind]))


def _assemble(lines: Sequence[NumberedLine], problems: list[Problem]) -> Distillation:
    first: dict[tuple[str, ...], tuple[Path, int]] = {}
    kept: dict[type, list[Any]] = defaultdict(list)
    for path, number, line in lines:
        identity = _identity(line)
        if identity is not None and identity in first:
            where = "{}:{}".format(*first[identity])
            what = f"{' '.join(identity)} is already in {where}"
            problems.append(Problem(str(path), number, what, "keep one of them"))
            continue
        if identity is not None:
            first[identity] = path, number
        kept[type(line)].append(line)
    corpus = kept[Corpus][0] if kept[Corpus] else Corpus()
    named = {line.distiller: line for line in kept[Distiller]}
    for path, number, line in lines:
        qid = getattr(line, "qid", None)
        if qid is not None and ("query", qid) not in first:
            remedy = f'add {{"type": "query", "qid": "{qid}", "text": ...}}, or correct the qid'
            problems.append(Problem(str(path), number, f"no query has the qid {qid!r}", remedy))
        elif isinstance(line, DistilledNugget):
            for nug in line.nugs or ():
                if ("nug", line.qid, nug) not in first:
                    what = f"no nug of {line.qid} is called {nug!r}"
                    problems.append(Problem(str(path), number, what, "add the nug, or correct the name"))
        elif isinstance(line, DistilledAnswer) and line.irrelevant:
            own = named.get(line.distiller, Distiller("")).characters_per_nug
            if own is None and corpus.characters_per_nug is None:
                problems.append(Problem(str(path), number, "irrelevant text, but no characters_per_nug", NO_DENSITY))
    for line in (*kept[DistilledNugget], *kept[DistilledAnswer]):
        named.setdefault(line.distiller, Distiller(line.distiller))
    distillers = tuple(named[name] for name in sorted(named))
    return Distillation(
        corpus,
        tuple(kept[Query]),
        distillers,
        tuple(kept[Nug]),
        tuple(kept[DistilledNugget]),
        tuple(kept[DistilledAnswer]),
    )


def _imprecise(lines: Sequence[NumberedLine]) -> Iterator[Problem]:
    """Warnings for nugs without a nugget of degree 1, which the nugget with the nug's own meaning has."""
    best: dict[tuple[str, str], float] = defaultdict(float)
    for *_, line in lines:
        if isinstance(line, DistilledNugget):
            for nug, degree in (line.nugs or {}).items():
                best[line.qid, nug] = max(best[line.qid, nug], degree)
    for path, number, line in lines:
        if isinstance(line, Nug):
            most = best[line.qid, line.nug]
            if most == 0:
                what = f"nug {line.nug} of {line.qid} has no nugget"
                yield Problem(str(path), number, what, "delete it: a nug is a class of nuggets")
            elif most < 1 - ROUNDING:
                what = f"nug {line.nug} of {line.qid} has no nugget of degree 1"
                remedy = "check the degrees: a nug means what its most precise nugget means"
                yield Problem(str(path), number, what, remedy, "warning")


def _unready(lines: Sequence[NumberedLine]) -> Iterator[Problem]:
    """What prevents an evaluation from being scored: one problem for all nugs, one for all nuggets."""
    proposed = [(path, number) for path, number, line in lines if isinstance(line, Nug) and line.proposed]
    unsorted = [(path, number) for path, number, line in lines if isinstance(line, DistilledNugget) and not line.nugs]
    for kind, found, what, remedy in (
        ("nug", proposed, "only proposed", 'check each one, then delete "proposed": true from its line'),
        ("nugget", unsorted, "in no nug", "sort by hand, or get proposals: nuggeteer distill FILE --propose NEW"),
    ):
        if found:
            path, number = found[0]
            count = f"1 {kind} is" if len(found) == 1 else f"{len(found)} {kind}s are"
            yield Problem(str(path), number, f"{count} {what}, the first one here", remedy)
