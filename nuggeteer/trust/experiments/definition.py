"""An experiment: its definition, and what it found.

The definition is a TOML file: what is measured, with which matchers, at which thresholds. Those of the papers come with
the package, and are called by their names.

title = "Thresholds against Kendall's tau"
source = "Marton & Radul 2006, figure 6"
what = "thresholds"    # what kind of experiment: one of KINDS in kinds.py
measure = "f3"         # of runs
steps = 50             # thresholds are 0, 1/50, ... up to 1

[[match]]              # settings as in nuggeteer.toml; of lists, every combination
n = [1, 2, 3]
stem = [false, true]

What it found, before it is drawn, is that of one collection, or of several, such as the years of a track, with the mean
of their results. Marton & Radul's figure 6 is such a mean: each threshold's tau, averaged over three years.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import structs

from nuggeteer.errors import NuggeteerError, did_you_mean, fail
from nuggeteer.fields import Part, about
from nuggeteer.formats.toml_settings import wrong_setting
from nuggeteer.measures import parse
from nuggeteer.records import Vector
from nuggeteer.settings import Match

PAPERS = Path(__file__).parent / "definitions"


@dataclass(frozen=True)
class Definition:
    """What an experiment is. `match` holds the settings to change, one entry for each combination. `file` is what the
    user calls their own definition."""

    name: str
    title: str
    source: str
    what: str
    measure: str = "f3"
    steps: int = 50
    match: tuple[dict[str, Any], ...] = ({},)
    file: str | None = None

    @property
    def thresholds(self) -> Vector:
        return np.arange(self.steps + 1) / self.steps

    def settings(self, base: Match) -> list[Match]:
        """The collection's settings with each combination in turn."""
        return [replace(base, **changed) for changed in self.match]


def papers_definitions() -> Mapping[str, Definition]:
    """The experiments that come with the package, by name."""
    return {path.stem: read_definition(path) for path in sorted(PAPERS.glob("*.toml"))}


def find_definition(name: str) -> Definition:
    """The experiment of this name, or else the definition in this file."""
    known = papers_definitions()
    if name in known:
        return known[name]
    if Path(name).exists() or name.endswith(".toml"):
        return replace(read_definition(Path(name)), file=name)
    hint = did_you_mean(name, known).strip() or f"there are {', '.join(known)}"
    raise NuggeteerError(f"{name}: neither an experiment nor a file with a definition; {hint}")


def read_definition(path: Path) -> Definition:
    """Read a definition; an unknown key is an error."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise fail(path, f"cannot be read: {error.strerror}", "name an experiment's definition") from error
    except (ValueError, RecursionError) as error:
        raise fail(path, f"not TOML: {error}", "mend it") from error
    match = table.pop("match", [{}])
    kinds = {"title": str, "source": str, "what": str, "measure": str, "steps": int}
    for key, value in table.items():
        if type(value) is not kinds.get(key):
            known = ", ".join([*kinds, "[[match]]"])
            raise fail(path, f"{key} is {value!r:.60}", f"a definition has {known}; see nuggeteer experiment --help")
    missing = [key for key in ("title", "source", "what") if key not in table]
    if missing:
        raise fail(path, f"no {' and no '.join(missing)}", "every definition says these")
    if not 1 <= table.get("steps", 50) <= 1000:
        raise fail(path, f"steps is {table['steps']}", "write a number from 1 to 1000")
    if not isinstance(match, list) or not all(isinstance(one, dict) for one in match):
        raise fail(path, "match is not a list of tables", "write [[match]]")
    try:
        parse(table.get("measure", "f3"))
        combinations = tuple(combination for one in match for combination in _combinations(one))
    except NuggeteerError as error:
        raise fail(path, str(error), "correct it") from error
    return Definition(path.stem, **table, match=combinations)


def _combinations(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    defaults = {field.name: field.default for field in fields(Match)}
    for key, value in table.items():
        for one in value if isinstance(value, list) else [value]:
            remedy = wrong_setting(key, one, defaults[key]) if key in defaults else f"there are {', '.join(defaults)}"
            if remedy:
                raise NuggeteerError(f"[[match]] {key} is {one!r:.60}; {remedy}")
    lists = [value if isinstance(value, list) else [value] for value in table.values()]
    for values in product(*lists):
        yield dict(zip(table, values, strict=True))


Cell = str | int | float | None  # None: undefined


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Series(Part):
    """The points of one name."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: Annotated[tuple[float, ...], about("Where the points' intervals begin, if they have any.")] = ()
    high: Annotated[tuple[float, ...], about("Where they end.")] = ()


class Plot(Part):
    """What the figure shows."""

    kind: Literal["lines", "scatter", "bars"]
    x: Annotated[str, about("The title of the axis.")]
    y: Annotated[str, about("The title of the axis.")]
    series: tuple[Series, ...]
    ticks: Annotated[tuple[str, ...], about("Names of the positions 0, 1, ... on the x axis.")] = ()


@dataclass(frozen=True)
class Result:
    """A table, a plot if there is something to see, and what a reader must know about them."""

    definition: Definition
    collection: str
    table: Table
    plot: Plot | None
    notes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Averaged:
    """The results of an experiment on one or several collections. `mean` is None for one collection, and if the
    collections' tables have different rows, such as a row for each run."""

    results: tuple[Result, ...]
    mean: Result | None


def average(results: Sequence[Result]) -> Averaged:
    """The mean of each number, and of each point of a curve."""
    first = results[0]
    if len(results) == 1 or not _comparable([result.table for result in results]):
        return Averaged(tuple(results), None)
    rows = tuple(
        tuple(_mean([result.table.rows[i][k] for result in results]) for k in range(len(first.table.columns)))
        for i in range(len(first.table.rows))
    )
    names = ", ".join(result.collection for result in results)
    note = f"Each number is the mean over {names}. What was chosen was chosen for each of them by itself."
    return Averaged(
        tuple(results),
        replace(
            first,
            collection="mean",
            table=Table(first.table.columns, rows),
            plot=_mean_plot([result.plot for result in results]),
            notes=(note,),
            seconds=sum(result.seconds for result in results),
        ),
    )


def _comparable(tables: Sequence[Table]) -> bool:
    """Whether the tables have the same rows: the same first column, unless it holds numbers."""
    labels = {(t.columns, tuple(row[0] if isinstance(row[0], str) else None for row in t.rows)) for t in tables}
    return len(labels) == 1


def _mean(cells: Sequence[Cell]) -> Cell:
    """The mean of numbers. For words, what they have in common, such as "above" in "above 0.2" and "above 0.3".
    Undefined if one is undefined."""
    numbers = [cell for cell in cells if isinstance(cell, int | float)]
    if len(numbers) == len(cells):
        return sum(numbers) / len(numbers)
    words = [cell for cell in cells if isinstance(cell, str)]
    if len(words) < len(cells):
        return None
    if len(set(words)) == 1:
        return words[0]
    beginning = takewhile(lambda letters: len(set(letters)) == 1, zip(*words, strict=False))
    return "".join(letters[0] for letters in beginning).rstrip(" ,.0123456789") or None


def _mean_plot(plots: Sequence[Plot | None]) -> Plot | None:
    """The mean of curves or bars at each x that all collections have. Points of runs have no mean."""
    given = [plot for plot in plots if plot is not None]
    if len(given) < len(plots) or given[0].kind == "scatter":
        return None
    series = []
    for same in zip(*(plot.series for plot in given), strict=True):
        points = [dict(zip(one.x, one.y, strict=True)) for one in same]
        shared = tuple(x for x in same[0].x if all(x in own for own in points))
        series.append(Series(same[0].name, shared, tuple(sum(own[x] for own in points) / len(points) for x in shared)))
    return structs.replace(given[0], series=tuple(series))
