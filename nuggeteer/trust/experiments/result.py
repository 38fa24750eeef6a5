"""What an experiment found, before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nuggeteer.trust.experiments.definition import Definition

Cell = str | int | float | None  # None: undefined


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Series:
    """Points of one name; `low` and `high` are the ends of their intervals, if they have any."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Plot:
    kind: Literal["lines", "scatter", "bars"]
    x: str
    y: str
    series: tuple[Series, ...]
    ticks: tuple[str, ...] = ()  # names of the places 0, 1, ... on the x axis, where these are no numbers


@dataclass(frozen=True)
class Result:
    """A table, a plot if there is something to see, and what a reader must know of them."""

    definition: Definition
    collection: str
    table: Table
    plot: Plot | None
    notes: tuple[str, ...]
    seconds: float
