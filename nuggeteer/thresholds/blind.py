"""What is believed of a group's verdicts by those who did not see them (step 3 of the fit, `effects.py`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import GRID, MOST
from nuggeteer.thresholds.smooth import EFFECTS

Matrix = Vector
BLOCK = 512  # chances at once, whose numbers the processor keeps at hand


@dataclass(frozen=True)
class Blind:
    """What is believed of a group's cells by those who did not see the group. Cells of one kind have the same chance
    where the same is believed of their nuggets and questions, and it is worked out once for all of them: for each
    chance there is a row of `belief`, `eta` and `x`.

    Beliefs are in single precision, because they are read a few dozen times."""

    rows: Ints
    beliefs: Matrix  # different ones × (steepness × GRID)
    of_nugget: Ints  # the belief of each nugget that has cells
    place: Ints  # of each cell: its chance
    belief: Ints
    eta: Matrix  # chances × steepness: logits at a = 0
    x: Vector  # of the formula
    centre: float = 0.0  # e
    level: float = 0.0  # h
    at_rest: tuple[Vector, ...] = ()  # what `_sums` gives without effects

    def logits(self, effects: Vector) -> Matrix:
        """(1 + g) η + v + k(x − e) − gh at a = 0: chances × steepness."""
        v, k, g = effects
        shift = v + k * (self.x - self.centre) - g * self.level
        return np.asarray((1 + g) * self.eta + shift[:, None])

    def chance(self, effects: Vector) -> tuple[Vector, Matrix]:
        """Each chance P(yes), and how fast it rises with each effect: chances × EFFECTS."""
        chance, slope, slope_of_g = self._sums(effects) if effects.any() or not self.at_rest else self.at_rest
        return chance, np.stack([slope, slope * (self.x - self.centre), slope_of_g - self.level * slope], axis=1)

    def total(self, values: Vector) -> Vector:
        """Of the cells that have each chance."""
        return np.asarray(np.bincount(self.place, values, len(self.x)), dtype=float)

    def seeing_effects(self, importance: Vector) -> Blind:
        """With the centre and the level at which k and g leave the expected score as it is, so that v can be told apart
        from both. `importance` is that of the cells."""
        at_rest = _, slope, slope_of_g = self._sums(np.zeros(EFFECTS))
        pull = self.total(importance)
        of_v = float(pull @ slope)
        centre, level = float(pull @ (slope * self.x)) / of_v, float(pull @ slope_of_g) / of_v
        return replace(self, centre=centre, level=level, at_rest=at_rest)

    def _sums(self, effects: Vector) -> tuple[Vector, Vector, Vector]:
        """The mean of p, of p(1 − p), and of p(1 − p) times η."""
        steepness = self.eta.shape[1]
        # exp −(logit + (1 + g) a) is a product of one factor for the chance and one for a.
        of_logit = np.exp(-np.clip(self.logits(effects), -MOST, MOST)).astype(np.float32).reshape(-1, 1)
        ones = np.ones_like(GRID, dtype=np.float32)
        with np.errstate(over="ignore", under="ignore"):
            of_grid = np.exp(-(1 + effects[2]) * GRID).astype(np.float32)
        odds_against, with_one = np.stack([of_grid, ones]), np.concatenate([of_logit, np.ones_like(of_logit)], axis=1)
        with_a = np.stack([ones, GRID.astype(np.float32)], axis=1)
        beliefs = self.beliefs.reshape(-1, steepness, len(GRID))
        means, squares = np.empty((2, len(of_logit), 2), dtype=np.float32)
        for begin in range(0, len(self.belief), BLOCK):
            own = slice(begin * steepness, (begin + BLOCK) * steepness)
            with np.errstate(over="ignore"):
                against = with_one[own] @ odds_against  # 1 / p
            weighed = beliefs[self.belief[begin : begin + BLOCK]].reshape(len(against), -1)
            weighed /= against
            means[own] = weighed @ with_a
            weighed /= against
            squares[own] = weighed @ with_a
        chance, slope, slope_of_a = means[:, 0], means[:, 0] - squares[:, 0], means[:, 1] - squares[:, 1]
        slope_of_g = slope * self.eta.ravel() + slope_of_a
        over_steepness = [slice(i, None, steepness) for i in range(steepness)]
        sums = (
            np.sum([part[own] for own in over_steepness], axis=0, dtype=float) for part in (chance, slope, slope_of_g)
        )
        return next(sums), next(sums), next(sums)
