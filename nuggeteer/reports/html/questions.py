"""The table of questions on the page: what was asked, the score, and a cell for each nugget. Links to a question and to
a nugget stay the same from build to build."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

import numpy as np

from nuggeteer.history.briefing import Briefing
from nuggeteer.reports.formatting import expected_count, number, signed
from nuggeteer.reports.html.evidence import status, turn
from nuggeteer.reports.passages import beginning

RANKS = {"vital": 0, "forbidden": 2}  # the vital nuggets come first, and what is forbidden last


@dataclass(frozen=True)
class Cell:
    """A nugget: what is written in its cell, what a screen reader says, how it looks."""

    position: int
    mark: str
    label: str
    look: str


@dataclass(frozen=True)
class Figure:
    """A number of a question: as written, and as a key for sorting rows; None if it is undefined."""

    name: str
    written: str
    value: float | None
    total: int | None = None


@dataclass(frozen=True)
class Row:
    """A question."""

    position: int
    qid: str
    place: str
    text: str
    figures: tuple[Figure, ...]
    changed: bool
    cells: tuple[Cell, ...]


class Questions:
    """Every question and every nugget of the key, as the build has them. The questions that lost most come first or, if
    there is nothing to compare with, those with the lowest score."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing, self.key, self.diff = briefing, briefing.key, briefing.diff

    @property
    def columns(self) -> list[str]:
        return [figure.name for figure in self._figures(0)] if self.key.questions else []

    @property
    def sorted_by(self) -> str:
        """The column that sorts the rows at first, in ascending order."""
        return "change" if self.diff else self.briefing.headline.title

    @cached_property
    def rows(self) -> list[Row]:
        def order(row: Row) -> tuple[bool, float]:
            value = next(figure.value for figure in row.figures if figure.name == self.sorted_by)
            return value is None, value or 0.0

        return sorted((self._row(q) for q in range(len(self.key.questions))), key=order)

    def _row(self, q: int) -> Row:
        question = self.key.questions[q]
        nuggets = range(int(self.key.offsets[q]), int(self.key.offsets[q + 1]))
        order = sorted(nuggets, key=lambda i: RANKS.get(self.key.nuggets[i].importance, 1))
        cells = tuple(map(self._cell, order))
        return Row(
            q,
            question.qid,
            of_question(question.qid),
            beginning(question.text),
            self._figures(q),
            any(cell.look.endswith(("gained", "lost")) for cell in cells),
            cells,
        )

    def _figures(self, q: int) -> tuple[Figure, ...]:
        score, outcome = self.briefing.score, self.briefing.score.counted
        value = float(score.by_question[self.briefing.headline.name][q])
        own = self.key.own(q)
        vital, forbidden = self.key.vital[own], self.key.forbidden[own]
        own_places = np.arange(own.start, own.stop)
        figures = [_figure(self.briefing.headline.title, number(value), value)]
        if self.diff:
            moved = float(self.diff.headline.by_question[q])
            figures.append(_figure("change", "" if not round(moved, 3) else signed(moved), round(moved, 3)))
        kinds = [("vital", vital), ("others", ~vital & ~forbidden & self.key.counted[own])]
        if self.key.forbidden.any():
            kinds.append(("forbidden", forbidden))
        for name, which in kinds:
            total = int(which.sum())
            written = expected_count(outcome, own_places[which]) if total else "–"
            figures.append(Figure(name, written, float(written) if total else None, total or None))
        return (*figures, _figure("length", f"{int(outcome.length[q]):,}", float(outcome.length[q])))

    def _cell(self, position: int) -> Cell:
        sighting, nugget = self.briefing.sightings[position], self.key.nuggets[position]
        turned = turn(self.diff, position)
        if sighting.contradicted:
            mark, look = "≠", "no contradicted"
        elif sighting.known:
            mark, look = ("✓", "yes") if sighting.found else ("×", "no")
        elif sighting.probability is None:
            mark, look = ("y?", "g4") if sighting.found else ("n?", "g1")
        else:
            mark = f"{min(max(round(100 * sighting.probability), 1), 99)}"
            look = f"g{min(int(5 * sighting.probability), 4)}"
        sign = {"gained": "+", "lost": "−", "": ""}[turned]
        label = f"nugget {nugget.nugget}, {nugget.importance}: {status(sighting)}"
        if nugget.importance in ("vital", "forbidden"):
            look += f" {nugget.importance}"
        return Cell(position, sign + mark, label + (f", {turned}" if turned else ""), f"{look} {turned}".strip())


def _figure(name: str, written: str, value: float) -> Figure:
    return Figure(name, written, None if np.isnan(value) else value)


def of_question(qid: str) -> str:
    """The id of its element; after a `#`, the link to it."""
    return f"question/{quote(qid, safe='')}"


def of_nugget(qid: str, nugget: str) -> str:
    return f"nugget/{quote(qid, safe='')}/{quote(nugget, safe='')}"
