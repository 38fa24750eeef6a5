"""What an experiment found, before it is drawn: on one collection, or on several, such as the years of a track, with
the mean of their results.

Marton & Radul's figure 6 is such a mean: each threshold's tau, averaged over three years.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Annotated, Literal

from msgspec import structs

from nuggeteer.fields import Part, about
from nuggeteer.trust.experiments.definition import Definition

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
