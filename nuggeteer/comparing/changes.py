"""What changed: a nugget that was gained or lost, and a score that rose or fell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from nuggeteer.comparing.sightings import Sighting
from nuggeteer.display import Shown
from nuggeteer.measures import Measure
from nuggeteer.records import Ints, Nugget, Question, Vector
from nuggeteer.settings import About
from nuggeteer.statistics.intervals import DIFFERENCES, ROUNDING, Interval, Scale, tail_beyond

# Less probable changes are not listed as gained or lost, so a line of the list is right more often than not.
PROBABLE = 0.5


@dataclass(frozen=True, repr=False)
class NuggetChange(Shown):
    """A nugget that was found in one run or in both.

    `probability` of this kind of change: that only new has the nugget, that only old has it, or that both do; None if
    the model gives none. `effect` is what the nugget contributes to the score of its question by the first measure."""

    kind: Literal["gained", "lost", "kept"]
    question: Question
    nugget: Nugget
    probability: float | None
    effect: float
    old: Sighting
    new: Sighting

    def _summary(self) -> str:
        sure = "" if self.probability is None else f", probability {self.probability:.2f}"
        name = f"{self.question.qid}/{self.nugget.nugget}"
        return f"{self.kind} {name}, {self.nugget.importance}{sure}, {self.nugget.descriptions[0]}"

    @property
    def known(self) -> bool:
        """Whether human verdicts decide both sides."""
        return self.old.known and self.new.known

    @property
    def probable(self) -> bool:
        """Whether the change is more probably real than not. A guess without a probability counts as decided."""
        return self.probability is None or self.probability >= PROBABLE

    @property
    def vital(self) -> bool:
        return self.nugget.importance == "vital"

    @property
    def forbidden(self) -> bool:
        """Whether answers must not claim this."""
        return self.nugget.importance == "forbidden"

    @property
    def contradicted(self) -> bool:
        """Whether the nugget is lost, and the new answer says the opposite."""
        return self.kind == "lost" and self.new.contradicted and not self.forbidden

    @property
    def worse(self) -> bool:
        """Whether a vital nugget is lost, or a forbidden one is now claimed."""
        return (self.vital and self.kind == "lost") or (self.forbidden and self.kind == "gained")

    @property
    def carrier(self) -> Sighting:
        """The side that has the nugget; the new one if both do."""
        return self.old if self.kind == "lost" else self.new


@dataclass(frozen=True, repr=False)
class Delta(Shown):
    """NEW − OLD by one measure. None stands for a value that is undefined.

    `old` and `new` come from the same draws as `interval`, whose value is their difference. `p` is two-sided, and below
    5 % where the interval does not contain 0. The other two are tests of the expected scores by question:
    `p_randomisation` flips signs, `p_bootstrap` resamples questions."""

    measure: Measure
    old: float | None
    new: float | None
    interval: Interval
    p: float | None
    p_randomisation: float | None
    p_bootstrap: float | None
    old_by_question: Vector
    new_by_question: Vector
    drawn: Vector | None = None  # the change in each draw
    scale: Scale = DIFFERENCES

    def ends(self, about: About) -> tuple[float, float] | None:
        """The ends of the interval, about these questions or about all like them."""
        if about == "these":
            return self.interval.judging
        low, high = self.interval.low, self.interval.high
        return None if low is None or high is None else (low, high)

    def chance_below(self, limit: float, about: About = "these") -> float | None:
        """How probable it is that the change is below a limit. None without an interval."""
        ends, value, limit = self.ends(about), self.interval.value, limit - ROUNDING
        if ends is None or value is None:
            return None
        if about == "these" and self.drawn is not None:
            return float((self.drawn < limit).mean())
        if ends[1] - ends[0] < ROUNDING:
            return float(value < limit)
        # A bootstrap of very few values may not reach beyond the value at all.
        tail = tail_beyond(self.interval, limit, int((~np.isnan(self.by_question)).sum()), self.scale) or 0.0
        return tail if value >= limit else 1 - tail

    @cached_property
    def by_question(self) -> Vector:
        return self.new_by_question - self.old_by_question

    @property
    def most_changed(self) -> Ints:
        """The questions whose score changed, the most changed first."""
        change = np.nan_to_num(np.abs(self.by_question))
        order = np.argsort(-change, kind="stable")
        return order[change[order] > 0]
