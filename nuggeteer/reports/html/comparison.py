"""Compared runs on a page: the ranking, and scatter plots of two measures (Dang & Lin 2007, figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from markupsafe import Markup

from nuggeteer.comparing.comparison import Comparison
from nuggeteer.comparing.correlations import Correlation
from nuggeteer.formats.jsonl import write_file
from nuggeteer.measures import Measure
from nuggeteer.records import Vector
from nuggeteer.reports import charts
from nuggeteer.reports.formatting import between, number, percent
from nuggeteer.reports.html import render
from nuggeteer.statistics.correlation import CLOSE


@dataclass(frozen=True)
class PlotWithLines:
    """Two measures: over runs, over answers, and a few sentences on them."""

    title: str
    charts: tuple[tuple[Markup, str], ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonPage:
    result: Comparison
    collection: str

    @property
    def title(self) -> str:
        return self.result.standings[0].measure.title

    @property
    def signature(self) -> str:
        return self.result.scores.signature

    @property
    def columns(self) -> list[str]:
        measures = [standing.measure.title for standing in self.result.standings]
        return ["run", measures[0], "95 % interval", *measures[1:]]

    @property
    def runs(self) -> list[list[str]]:
        rows = []
        for i in self.result.standings[0].order.tolist():
            run = self.result.scores.runs[i]
            own = [run.measures[standing.measure.name] for standing in self.result.standings]
            rows.append([run.name, number(own[0].value), between(own[0]), *(number(one.value) for one in own[1:])])
        return rows

    @property
    def apart(self) -> str:
        found = [
            f"{standing.tukey.significant:,} by {standing.measure.title}"
            for standing in self.result.standings
            if standing.tukey.tested
        ]
        pairs = self.result.standings[0].tukey.pairs
        told = ", ".join(found) or "not tested, for want of questions"
        return f"Pairs of runs that can be told apart, of {pairs:,}: {told}."

    @cached_property
    def parts(self) -> list[PlotWithLines]:
        return [self._part(correlation) for correlation in self.result.correlations]

    def _part(self, one: Correlation) -> PlotWithLines:
        a, b = one.measures
        drawn = (
            (_chart(one.measures, self._means(a), self._means(b)), f"Each point is a run. {_words(one, 'runs')}"),
            (_chart(one.measures, *one.points), f"Each point is an answer. {_words(one, 'answers')}"),
        )
        return PlotWithLines(f"{a.title} and {b.title}", drawn, tuple(_lines(one)))

    def _means(self, measure: Measure) -> Vector:
        return np.array([run.measures[measure.name].value for run in self.result.scores.runs], dtype=float)


def _chart(measures: tuple[Measure, Measure], x: Vector, y: Vector) -> Markup:
    return Markup(charts.agreement(x.tolist(), y.tolist(), measures[0].title, measures[1].title))


def _words(one: Correlation, over: str) -> str:
    agreement = one.runs if over == "runs" else one.answers
    span = agreement.pearson_interval if over == "runs" else one.by_question
    ends = f" (95 % interval {number(span[0])} to {number(span[1])})" if span else ""
    return f"Pearson's r is {number(agreement.pearson)}{ends}, Kendall's τ_b {number(agreement.kendall_tau)}."


def _lines(one: Correlation) -> Iterator[str]:
    a, b = one.measures
    yield (
        f"Of {one.zeros.answers:,} answers, {percent(one.zeros.first)} score 0 by {a.title}; "
        f"{percent(one.zeros.rescued)} score 0 by it, and not by {b.title}."
    )
    swaps = one.swaps
    yield (
        f"The two measures rank {swaps.swapped:,} of {swaps.pairs:,} pairs of runs differently; "
        f"{swaps.close_swapped:,} of these differ by less than {CLOSE} in {a.title}."
    )


def write(path: Path, result: Comparison, collection: str) -> None:
    """The page as a file, whole or not at all."""
    write_file(path, render("comparison.html", "style.css", page=ComparisonPage(result, collection)).encode())
