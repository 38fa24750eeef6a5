"""Draws from the posterior of the smooth model: joint draws of everything unknown, and what they make of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import (
    BINS,
    COEFFICIENTS,
    CURVE,
    GRID,
    MOST,
    STEEPNESS,
    decode_cells,
    encode_cells,
    features,
    rise,
)
from nuggeteer.thresholds.model import Pairs
from nuggeteer.thresholds.rows import joined, key_of, random_rows

if TYPE_CHECKING:
    from nuggeteer.thresholds.smooth import SmoothFit

Matrix = Vector
DIRECTIONS = 3  # of the uncertainty about the curve that are drawn
JUDGES = 2  # and as many more, at most, of the uncertainty about what judges are worth
JUDGED = 0.5  # about what a judge's clue is after a yes, and less after a no
CELLS = 128  # whose chances are worked out at once: a megabyte, which the processor keeps at hand
NARROW = 0.05  # a posterior standard deviation of logits that is not worth drawing


class SmoothDraws:
    """Joint draws of everything unknown. The same draws serve all runs, so that runs can be compared.

    The numbers of a nugget, a question or a group depend on nothing else that is drawn (`rows`). They are worked out
    when they are needed, in single precision, so that nothing is kept for each nugget and draw."""

    def __init__(self, fit: SmoothFit, count: int, seed: int) -> None:
        self.fit, self.count = fit, count
        self.answer_correlation = fit.answer
        self.b = self._curves(fit)
        levels = (np.arange(BINS + 1) / BINS) ** 2
        self._curve = np.arange(count) * len(self.b) // count  # of each draw
        rises = np.stack([rise(levels, b) for b in self.b], axis=1).astype(np.float32)[:, self._curve]
        self._rises = np.ascontiguousarray(rises)  # rows are read
        self._weights = [np.float32(1), *self.b[self._curve, COEFFICIENTS:].T.astype(np.float32)]
        self._rows = random_rows(count, seed)
        self._groups: dict[str | None, Matrix] = {}

    def effects(self, group: str | None) -> tuple[Vector, Vector, Vector]:
        """Draws of a group's v, k and g. Each group has its own, the same at every call.

        v is stratified, because it affects a score more than anything else, and the score must not depend on the
        seed."""
        name = key_of(group or "")
        usual, *odd = self.fit.effects_of_group(group)
        normal = np.concatenate([self._rows.normal(joined(name, which)) for which in (1, 3, 8)])
        drawn = usual.mean[:, None] + np.linalg.cholesky(usual.covariance) @ normal
        if odd:
            other = odd[0].mean[:, None] + np.linalg.cholesky(odd[0].covariance) @ normal
            drawn = np.where(self._rows.uniform(joined(name, 9)) < odd[0].probability, other, drawn)
        if group not in self.fit.group_names:  # σ_v is itself uncertain
            spread = self.fit.new_group
            which = self._rows.strata(joined(name, 2))[0].astype(np.int64) * len(spread) // self.count
            drawn[0] = usual.mean[0] + spread[which] * normal[0]
        v, k, g = drawn.astype(np.float32)
        return v, k, g

    def partial_support(self, group: str) -> Vector | None:
        """log K of partial support in each draw; None where nobody says partly."""
        mean, deviation = self.fit.partial.tolist()
        if np.isnan(mean):
            return None
        return np.asarray(mean + deviation * self._rows.normal(joined(key_of(group), 9))[0].astype(float))

    def of_nuggets(self, nuggets: Ints) -> tuple[Vector, Vector]:
        """nuggets × draws, twice: a + c, and t. Each (t, a) occurs as often as its weight says, up to one draw."""
        fit = self.fit
        rounding = (joined(nuggets, 4) >> np.uint64(11)).astype(float) / 2**53
        ends = np.floor(np.cumsum(fit.nugget_weights[nuggets], axis=1) * self.count + rounding[:, None])
        ends[:, -1] = self.count
        order = self._rows.strata(joined(nuggets, 6))
        ends = np.minimum(ends, self.count).astype(order.dtype)
        # Between the points of the grid.
        shift = (self._rows.uniform(joined(nuggets, 5)) - np.float32(0.5)) * np.float32(GRID[1] - GRID[0])
        points = np.tile(GRID.astype(np.float32), len(nuggets) * len(STEEPNESS))
        shift += np.repeat(points, np.diff(ends, prepend=0, axis=1).ravel()).reshape(shift.shape)
        shift = np.take(shift, order + np.arange(0, shift.size, self.count)[:, None])
        question = fit.question_of_nugget[nuggets]
        asked, row = np.unique(question, return_inverse=True)
        spread = fit.question_spread[asked, None].astype(np.float32)
        shift += fit.question[question, None].astype(np.float32)
        shift += (self._rows.normal(joined(asked, 7)) * spread)[row]
        of_steepness = ends[:, len(GRID) - 1 : -1 : len(GRID), None]  # where each value of t ends, but the last
        which = sum((order >= end).view(np.int8) for end in of_steepness.swapaxes(0, 1))
        return shift, np.take(fit.steepness.astype(np.float32), which)

    def kinds(self, pairs: Pairs) -> Ints:
        """Pairs of one nugget with the same rounded score, size and carried-over log odds have the same chance."""
        return encode_cells(pairs.nugget, self.fit.heard(pairs))

    def chances(self, pairs: Pairs, group: str | None, cell: Ints | None = None) -> Matrix:
        """draws × cells: the probability that at least one of a cell's responses carries its nugget (`model.Draws`).

        All responses of a group share its v, and all responses to a nugget its a and t."""
        cells = len(self.fit.nugget_weights) if cell is None else int(cell.max(initial=-1)) + 1
        cell = pairs.nugget if cell is None else cell
        codes, first, count = np.unique(
            encode_cells(cell, self.fit.heard(pairs)), return_index=True, return_counts=True
        )
        missed = np.zeros((cells, self.count), dtype=np.float32)
        for begin in range(0, len(codes), CELLS):
            part = first[begin : begin + CELLS]
            rates = self.rates(pairs[part], (group,), np.zeros(len(part), dtype=np.int64))
            np.add.at(missed, cell[part], rates * count[begin : begin + CELLS, None].astype(np.float32))
        return -np.expm1(-missed).T

    def rates(self, pairs: Pairs, groups: Sequence[str | None], group: Ints) -> Matrix:
        """pairs × draws: −log of the probability that a response does not carry its nugget. `group` has the number of
        each pair's in `groups`.

        The logit is linear in what a pair has of its own, so what its nugget and its group contribute is worked out
        once for all their pairs."""
        pairs = self.fit.heard(pairs)
        kinds = decode_cells(encode_cells(pairs.nugget, pairs), pairs.opinions)
        used, of_pair = np.unique(group, return_inverse=True)
        sharpness, level, rising, of_size = np.stack([self._of_group(groups[i]) for i in used.tolist()], axis=1)
        owner, row = np.unique(pairs.nugget * len(used) + of_pair, return_inverse=True)
        nugget, by = np.divmod(owner, len(used))
        asked, place = np.unique(nugget, return_inverse=True)
        shift, steepness = self.of_nuggets(asked)
        rises = self._rises[np.rint(np.sqrt(kinds.score) * BINS).astype(np.int64)]
        logits = (steepness[place] * sharpness[by] + rising[by])[row]
        logits *= rises
        logits += (shift[place] * sharpness[by] + level[by])[row]
        longer = of_size[of_pair]
        longer *= kinds.size[:, None].astype(np.float32)
        logits += longer
        # Not as a product of matrices: its last bits would depend on the other pairs.
        for clue, weight in zip([kinds.carried, *kinds.opinions.T], self._weights, strict=True):
            if clue.any():
                logits += clue[:, None].astype(np.float32) * (sharpness * weight)[of_pair]
        np.clip(logits, -MOST, MOST, out=logits)  # which is sure enough
        np.exp(logits, out=logits)
        return np.asarray(np.log1p(logits, out=logits))

    def _of_group(self, group: str | None) -> Matrix:
        """In each draw of a group, what its effects make of the logit: the factor 1 + g of what nugget and question
        contribute, what is added to all, what is added per unit of the rise, and what a unit of size adds."""
        if group not in self._groups:
            v, k, g = self.effects(group)
            intercept, size = (self.b[self._curve, which].astype(np.float32) for which in (0, CURVE))
            level = v - np.float32(self.fit.level) * g - np.float32(self.fit.centre) * k + (1 + g) * intercept
            self._groups[group] = np.stack([1 + g, level, k, size * (1 + g + k)])
        return self._groups[group]

    @staticmethod
    def _curves(fit: SmoothFit) -> Matrix:
        """Curves that represent the posterior of b. If it is narrow, this is one curve. Otherwise these are the points
        of the spherical cubature rule, which have its mean and covariance, in the directions that change the curve
        most."""
        clues = len(fit.b) - COEFFICIENTS
        x = features((np.arange(BINS + 1) / BINS) ** 2, np.full(BINS + 1, fit.usual_size), np.zeros((BINS + 1, clues)))
        one = np.eye(len(fit.b))
        changes = [one[CURVE], *(JUDGED * clue for clue in one[COEFFICIENTS:])]
        if clues > 1:  # where judges agree
            changes.append(JUDGED * one[COEFFICIENTS:].sum(axis=0))
        # Longer and shorter; of each judge, a yes and a no.
        x = np.concatenate([x, *(x + sign * change for change in changes for sign in (1, -1))])
        widest = np.einsum("lk,km,lm->l", x, fit.b_covariance, x).max()
        if widest < NARROW**2:
            return fit.b[None, :]
        root = np.linalg.cholesky(fit.b_covariance)
        _, _, directions = np.linalg.svd(x @ root, full_matrices=False)
        wanted = DIRECTIONS + min(clues, JUDGES)
        axes = np.sqrt(wanted) * directions[:wanted]
        return np.asarray(fit.b + np.concatenate([axes, -axes]) @ root.T)
