"""What distillers found, sorted into nugs: one object a line, whose `type` says what it is.

    corpus     other?, characters_per_nug?          of the whole evaluation
    query      qid, text
    distiller  distiller, kind?                     "machine" or "human"
    nug        qid, nug, relevance, text?, support?, tags?, proposed?
    nugget     qid, distiller, text, nugs, citations?
    answer     qid, distiller, irrelevant

`other` is the order of magnitude of all other nugs in the corpora; `characters_per_nug` how many non-white characters
of irrelevant text hold one. `relevance` is a number from 0 to 1; `text` is the nug's meaning; `support` lists the
documents that support it. `nugs` maps a nug to the nugget's degree of membership in it, at most 1 in sum; `citations`
are the documents that the distiller cites. `irrelevant` counts the non-white characters of an answer from which no
nugget was taken.

The order of lines means nothing, and an evaluation may lie in several files. Keys that are not listed are kept.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from nuggeteer.errors import InputError, Problem
from nuggeteer.formats.canonical import NUGGETS, Layout, WrongLine
from nuggeteer.formats.jsonl import read_jsonl, write_jsonl
from nuggeteer.records import NO_EXTRA

ROUNDING = 1e-9  # 0.7 + 0.2 + 0.1 is 1, whatever a computer says


@dataclass(frozen=True, slots=True)
class Corpus:
    """What all queries have in common: how many other nugs there are, and how densely irrelevant text holds them."""

    other: float | None = None
    characters_per_nug: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """What the distillers were asked."""

    qid: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Distiller:
    """Who answered: a system or a person."""

    distiller: str
    kind: Literal["machine", "human"] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nug:
    """A class of nuggets that mean the same, more or less precisely; it means what the most precise of them means."""

    qid: str
    nug: str
    relevance: float
    text: str | None = None
    support: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    proposed: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DistilledNugget:
    """One nugget of a distiller's answer, and how far it belongs to which nugs; None before it was sorted."""

    qid: str
    distiller: str
    text: str
    nugs: Mapping[str, float] | None = None
    citations: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DistilledAnswer:
    """What of a distiller's answer is no nugget: characters of irrelevant text."""

    qid: str
    distiller: str
    irrelevant: float
    extra: Mapping[str, Any] = field(default_factory=dict)


Line = Corpus | Query | Distiller | Nug | DistilledNugget | DistilledAnswer


@dataclass(frozen=True)
class Distillation:
    """An evaluation: queries, distillers, their nuggets, and the nugs these were sorted into."""

    corpus: Corpus
    queries: tuple[Query, ...]
    distillers: tuple[Distiller, ...]
    nugs: tuple[Nug, ...]
    nuggets: tuple[DistilledNugget, ...]
    answers: tuple[DistilledAnswer, ...]
    problems: tuple[Problem, ...] = ()


def read_distillation(paths: Sequence[Path], ready: bool = True) -> Distillation:
    """Read an evaluation; everything wrong with it is one error.

    To be `ready` every nugget must be in a nug, and every nug accepted: what is only proposed counts for nothing.
    """
    problems: list[Problem] = []
    lines = [placed for path in paths for placed in _read(path, problems)]
    result = _assemble(lines, problems)
    if not any(problem.severity == "error" for problem in problems):
        if not result.queries:
            what = "no query, and nothing else"
            problems.append(Problem(str(paths[0]), None, what, "see docs/reference/files.md for what belongs here"))
        elif ready:
            problems += list(_unready(lines)) or list(_imprecise(lines))
    if any(problem.severity == "error" for problem in problems):
        raise InputError(problems)
    return replace(result, problems=tuple(problems))


def write_distillation(path: Path, distillation: Distillation) -> int:
    """Write it as one file; returns how many lines."""
    one = distillation
    lines: list[Line] = [] if one.corpus == Corpus() else [one.corpus]
    lines += one.distillers
    for query in one.queries:  # what a person reads together stands together
        lines.append(query)
        for group in (one.answers, one.nugs, one.nuggets):
            lines += [line for line in group if line.qid == query.qid]
    return write_jsonl(path, map(_as_line, lines))


# Lines.


def _wrong(key: str, what: str, remedy: str) -> WrongLine:
    return WrongLine((f"{key!r} {what}", remedy))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _size(key: str, above: bool = False) -> Callable[[Any], float]:
    """A number from 0, or above 0."""

    def check(value: Any) -> float:
        if not _is_number(value) or value < 0 or (above and value == 0):
            raise _wrong(key, f"is no number {'above' if above else 'from'} 0", "write a number, without quotes")
        return value  # type: ignore[no-any-return]

    return check


def _relevance(value: Any) -> float:
    if not _is_number(value) or not 0 <= value <= 1:
        raise _wrong("relevance", "is no number from 0 to 1", "say how relevant the nug's meaning is to the query")
    return float(value)


def _degrees(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not all(_is_number(v) and 0 <= v <= 1 for v in value.values()):
        raise _wrong("nugs", "must map each nug to a degree from 0 to 1", 'write {"nug": 1.0}')
    if math.fsum(value.values()) > 1 + ROUNDING:
        what = f"has degrees of membership that sum to {math.fsum(value.values()):g}"
        raise _wrong("nugs", what, "lower them: in all its nugs a nugget counts at most once")
    return {nug: float(degree) for nug, degree in value.items()}


def _kind(value: Any) -> str:
    if value not in ("machine", "human"):
        raise _wrong("kind", "is neither machine nor human", "write one of the two")
    return str(value)


def _proposed(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong("proposed", "is not true or false", "write true or false, without quotes")
    return value


_id, _string, _strings = (NUGGETS.checks[key] for key in ("nugget", "text", "tags"))
LAYOUTS: dict[str, Layout[Any]] = {
    "corpus": Layout(
        Corpus, (), {"other": _size("other"), "characters_per_nug": _size("characters_per_nug", above=True)}
    ),
    "query": Layout(Query, ("qid", "text"), {"qid": _id, "text": _string}),
    "distiller": Layout(Distiller, ("distiller",), {"distiller": _id, "kind": _kind}),
    "nug": Layout(
        Nug,
        ("qid", "nug", "relevance"),
        {
            "qid": _id,
            "nug": _id,
            "relevance": _relevance,
            "text": _string,
            "support": _strings,
            "tags": _strings,
            "proposed": _proposed,
        },
    ),
    "nugget": Layout(
        DistilledNugget,
        ("qid", "distiller", "text"),
        {"qid": _id, "distiller": _id, "text": _string, "nugs": _degrees, "citations": _strings},
    ),
    "answer": Layout(
        DistilledAnswer,
        ("qid", "distiller", "irrelevant"),
        {"qid": _id, "distiller": _id, "irrelevant": _size("irrelevant")},
    ),
}
_KEYS = {"type", *(key for layout in LAYOUTS.values() for key in layout.checks)}
_TYPE = {layout.make: name for name, layout in LAYOUTS.items()}

Placed = tuple[Path, int, Line]


def _read(path: Path, problems: list[Problem]) -> Iterator[Placed]:
    strange = []
    for number, line in read_jsonl(path, problems, _KEYS):
        said = line.pop("type", None)
        layout = LAYOUTS.get(said) if isinstance(said, str) else None
        if layout is None:
            strange.append(number)
            continue
        try:
            yield path, number, layout.parse(line)
        except WrongLine as wrong:
            problems.extend(Problem(str(path), number, what, remedy) for what, remedy in wrong.args)
    if strange:
        what = f"no 'type' that is one of {', '.join(LAYOUTS)}"
        more = f", and in {len(strange) - 1} lines after it" if len(strange) > 1 else ""
        problems.append(Problem(str(path), strange[0], what + more, "say what a line is (docs/reference/files.md)"))


def _as_line(line: Line) -> dict[str, Any]:
    """A line's object; keys that say nothing are left out."""
    said = {one.name: getattr(line, one.name) for one in fields(line) if one.name != "extra"}
    silent = {"tags": (), "proposed": False}
    kept = {key: value for key, value in said.items() if value is not None and value != silent.get(key)}
    return {"type": _TYPE[type(line)], **kept, **(line.extra or NO_EXTRA)}


# What lines say of each other.


def _identity(line: Line) -> tuple[str, ...] | None:
    """What may be said once only; a nugget may be given twice, which is what redundancy is."""
    match line:
        case Corpus():
            return ("corpus",)
        case Query():
            return ("query", line.qid)
        case Distiller():
            return ("distiller", line.distiller)
        case Nug():
            return ("nug", line.qid, line.nug)
        case DistilledAnswer():
            return ("answer", line.qid, line.distiller)
        case DistilledNugget():
            return None


def _assemble(lines: Sequence[Placed], problems: list[Problem]) -> Distillation:
    first: dict[tuple[str, ...], tuple[Path, int]] = {}
    kept: dict[type, list[Any]] = defaultdict(list)
    for path, number, line in lines:
        said = _identity(line)
        if said is not None and said in first:
            where = "{}:{}".format(*first[said])
            what = f"{' '.join(said)} is there already, in {where}"
            problems.append(Problem(str(path), number, what, "keep one of them"))
            continue
        if said is not None:
            first[said] = path, number
        kept[type(line)].append(line)
    corpus = kept[Corpus][0] if kept[Corpus] else Corpus()
    for path, number, line in lines:
        qid = getattr(line, "qid", None)
        if qid is not None and ("query", qid) not in first:
            remedy = f'add {{"type": "query", "qid": "{qid}", "text": ...}}, or mend the qid'
            problems.append(Problem(str(path), number, f"no query has the qid {qid!r}", remedy))
        elif isinstance(line, DistilledNugget):
            for nug in line.nugs or ():
                if ("nug", line.qid, nug) not in first:
                    what = f"no nug of {line.qid} is called {nug!r}"
                    problems.append(Problem(str(path), number, what, "add the nug, or mend the name"))
        elif isinstance(line, DistilledAnswer) and line.irrelevant and corpus.characters_per_nug is None:
            remedy = 'add {"type": "corpus", "characters_per_nug": ...}: how many characters hold a nug'
            problems.append(Problem(str(path), number, "irrelevant text, but of unknown density", remedy))
    named = {line.distiller: line for line in kept[Distiller]}
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


def _imprecise(lines: Sequence[Placed]) -> Iterator[Problem]:
    """A nug means what its most precise nugget means, whose degree is therefore 1."""
    best: dict[tuple[str, str], float] = defaultdict(float)
    for *_, line in lines:
        if isinstance(line, DistilledNugget):
            for nug, degree in (line.nugs or {}).items():
                best[line.qid, nug] = max(best[line.qid, nug], degree)
    for path, number, line in lines:
        if isinstance(line, Nug):
            most = best[line.qid, line.nug]
            if most == 0:
                what = f"no nugget is in nug {line.nug} of {line.qid}"
                yield Problem(str(path), number, what, "delete it: a nug is a class of nuggets")
            elif most < 1 - ROUNDING:
                what = f"no nugget of degree 1 in nug {line.nug} of {line.qid}"
                remedy = "a nug means what its most precise nugget means; see whether the degrees are right"
                yield Problem(str(path), number, what, remedy, "warning")


def _unready(lines: Sequence[Placed]) -> Iterator[Problem]:
    """What keeps an evaluation from being scored, each thing said once."""
    waiting = [(path, number) for path, number, line in lines if isinstance(line, Nug) and line.proposed]
    unsorted = [(path, number) for path, number, line in lines if isinstance(line, DistilledNugget) and not line.nugs]
    for places, what, remedy in (
        (waiting, "only proposed", 'see whether each is right, then delete "proposed": true from its line'),
        (unsorted, "in no nug", "sort them by hand, or have nugs proposed: nuggeteer distill FILE --propose NEW"),
    ):
        if places:
            path, number = places[0]
            kind = "nug" if places is waiting else "nugget"
            count = f"1 {kind} is" if len(places) == 1 else f"{len(places)} {kind}s are"
            yield Problem(str(path), number, f"{count} {what}, the first here", remedy)
