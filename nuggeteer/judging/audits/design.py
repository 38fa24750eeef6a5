"""What an audit draws: single nuggets, or whole answers with all their open nuggets; whichever is likely to prove more
in the same minutes of reading.

To judge one nugget, somebody must read a whole answer. Its other nuggets then take little time, but they tell less than
as many nuggets of other answers: an answer that lacks one often lacks others. So both ways are rehearsed, with verdicts
drawn from the model, before anybody has judged anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from nuggeteer.formats.audits import By, Head
from nuggeteer.judging.audits.estimate import DrawnAudit, NuggetState, at_least, bound_below, estimates_of, sizes_of
from nuggeteer.judging.forecast import Pace
from nuggeteer.measures import Answers, Measure
from nuggeteer.measures.base import Composition
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector

REHEARSALS = 3


class AuditCosts:
    """How long the units of an audit take to judge, at the usual pace."""

    def __init__(self, key: AnswerKey, run: Run) -> None:
        pace = Pace()
        self._key = key
        self._reading = np.array(
            [pace.reading(question.text, run.answer(i)) for i, question in enumerate(key.questions)]
        )
        self._decision = np.array([pace.decision(nugget.descriptions[0]) for nugget in key.nuggets])

    def seconds(self, audit: DrawnAudit) -> Vector:
        """Of each unit."""
        begin = audit.begin[:-1]
        return self._reading[self._key.question[audit.nugget[begin]]] + np.add.reduceat(
            self._decision[audit.nugget], begin
        )

    def of_single(self, audit: DrawnAudit) -> float:
        """The mean of a nugget that is judged by itself."""
        return float((self._reading[self._key.question[audit.nugget]] + self._decision[audit.nugget]).mean())

    def units(self, audit: DrawnAudit, count: int) -> int:
        """How many units of an audit take as long as so many single nuggets."""
        if audit.head.by == "nugget":
            return min(count, len(audit.size))
        until = np.cumsum(self.seconds(audit)) < count * self.of_single(audit)
        return min(int(until.sum()) + 1, len(audit.size))


@dataclass(frozen=True)
class Designs:
    """The ways in which an audit of a run may be drawn. `drawn` are verdicts that the model draws: draws × nuggets."""

    state: NuggetState
    guess: Vector
    drawn: Bools
    composition: Composition
    measure: Measure
    costs: AuditCosts
    seed: int

    @cached_property
    def _sizes(self) -> tuple[Ints, Vector]:
        return sizes_of(self.state, self.guess, self.composition)

    @property
    def nuggets(self) -> Ints:
        """What can be drawn."""
        return self._sizes[0]

    @cached_property
    def _answers(self) -> tuple[Ints, Ints, Vector]:
        """The nuggets by answer, where each answer begins, and its size: how far its score may be wrong, as far as that
        is independent, divided by what reading it costs."""
        nugget, size = self._sizes
        begin = np.flatnonzero(np.diff(self.composition.key.question[nugget], prepend=-1))
        question = self.composition.key.question[nugget[begin]]
        answers = Answers(self.composition.key, self.drawn, self.state.partly & ~self.drawn, self.state.length)
        spread = np.nan_to_num(self.measure(answers)).std(axis=0)[question]
        doubt = np.maximum(np.sqrt(np.add.reduceat(size**2, begin)), spread)
        begin = np.append(begin, len(nugget))
        seconds = self.costs.seconds(DrawnAudit(_head("answer"), nugget, begin, self.guess[nugget], doubt))
        return nugget, begin, at_least(doubt / np.sqrt(seconds))

    def draw(self, by: By, rng: np.random.Generator) -> DrawnAudit:
        """The units in an order drawn at random."""
        nugget, size = self._sizes
        begin = np.arange(len(nugget) + 1)
        if by == "answer" and len(nugget):
            nugget, begin, size = self._answers
        order = np.argsort(rng.exponential(size=len(size)) / size, kind="stable")
        units = [nugget[begin[i] : begin[i + 1]] for i in order.tolist()]
        flat = np.concatenate(units) if units else nugget
        begin = np.cumsum([0, *map(len, units)])
        return DrawnAudit(_head(by), flat, begin, self.guess[flat], size[order])

    def rehearsals(self, by: By) -> Rehearsals:
        return Rehearsals(self, by)

    def best(self, count: int) -> By:
        """The way that proves more in the time of so many single nuggets."""
        return min(get_args(By), key=lambda by: self.rehearsals(by).width(count))


class Rehearsals:
    """Some audits drawn in one way, with verdicts drawn from the model."""

    def __init__(self, designs: Designs, by: By) -> None:
        rng = np.random.Generator(np.random.PCG64([designs.seed, 7]))
        rows = np.linspace(0, len(designs.drawn) - 1, REHEARSALS).astype(int)
        self.audits = [designs.draw(by, rng) for _ in rows]
        self._costs = designs.costs
        self._estimates = [
            estimates_of(audit, replace(designs.state, found=designs.drawn[row]), designs.composition, designs.measure)
            for audit, row in zip(self.audits, rows, strict=True)
        ]

    def width(self, count: int) -> float:
        """How wide the interval is, in the mean, after the time of `count` single nuggets."""
        widths = []
        for audit, estimates in zip(self.audits, self._estimates, strict=True):
            units = self._costs.units(audit, count)
            below, above = estimates.first(units)
            low = bound_below(below.sequence, below.spread, units, 0.0, 1.0)
            widths.append(-bound_below(above.sequence, above.spread, units, -1.0, 0.0) - low)
        return float(np.mean(widths))

    def minutes(self, count: int) -> float:
        """How long it takes, in the mean, to judge as many units as take as long as `count` single nuggets, or all of
        them."""
        taken = [self._costs.seconds(audit)[: self._costs.units(audit, count)].sum() for audit in self.audits]
        return float(np.mean(taken)) / 60


def _head(by: By) -> Head:
    """The head of an audit that nobody has recorded."""
    return Head("", "", "", "", "", 0, 0, "", "", {}, by)


def begins(key: AnswerKey, nugget: Sequence[int] | Ints, by: By) -> Ints:
    """Where the units of an audit begin, given its nuggets in their order."""
    if by == "nugget":
        return np.arange(len(nugget) + 1)
    question = key.question[np.asarray(nugget, dtype=np.int64)]
    return np.append(np.flatnonzero(np.diff(question, prepend=-1)), len(question))
