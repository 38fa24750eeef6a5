"""Guessed partial support: in each draw, which of the nuggets that an answer lacks it supports in part.

How often that is, is learned for whole runs (thresholds/partial.py): a run's odds are K times the share that it has.
The odds of a single nugget are proportional to the probability that the answer has it, which is about right for
people's labels and a machine's (experiments/partial.md). Partial support of the odds o adds log(1 + o) to −log P(no),
like one more response would, so that what is drawn is ordered: no, partly, yes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.thresholds.smooth_draws import SmoothDraws


@dataclass(frozen=True)
class PartialSupport:
    """The odds of partial support of each nugget, and by how much they are larger in each draw."""

    odds: Vector
    factor: Vector

    def added(self, nuggets: Ints) -> Vector:
        """nuggets × draws: what partial support adds to −log P(no)."""
        return np.log1p(self.odds[nuggets, None] * self.factor)

    @classmethod
    def of(cls, draws: SmoothDraws, group: str, open_: Bools, chance: Vector) -> PartialSupport | None:
        """For the `open_` nuggets of a run of a system, and the `chance` of each. None where nobody says partly."""
        log_k = draws.partial_support(group)
        if log_k is None:
            return None
        p = np.clip(chance[open_], 1e-6, 1 - 1e-6)
        share = scipy.special.expit(log_k.mean() + np.log(p.mean()))
        low, high, middle = -20.0, 20.0, 0.0
        for _ in range(40):
            middle = (low + high) / 2
            more = ((1 - p) * (scipy.special.expit(middle + np.log(p)) - share)).sum() < 0
            low, high = (middle, high) if more else (low, middle)
        odds = np.zeros(len(chance), dtype=np.float32)
        odds[open_] = np.exp(middle) * p
        # In a draw in which the system has more, it has more in part.
        level = draws.effects(group)[0].astype(float)
        rise = float((p * (1 - p)).sum() / p.sum())
        factor = log_k - log_k.mean() + rise * (level - level.mean())
        return cls(odds, np.exp(factor).astype(np.float32))
