"""A model that gives each pair a probability and no more, made to decide guesses.

The paper's models (`steps`), `pooled` and the coin say how probable a yes is, all unknowns integrated out. Verdicts
drawn from that are independent: such a model does not say how sure it is of its probabilities, nor what the nuggets of
an answer have in common, and its intervals are too narrow. It is there to be compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Pairs
from nuggeteer.thresholds.selection import Fit

LEVELS = (np.arange(101) / 100) ** 2  # the scores among which a threshold is looked for


@dataclass
class Pointwise:
    """A fit as a threshold model, and as its own draws."""

    name: str
    fit: Fit
    nuggets: int
    count: int = 1
    answer_correlation: float = 0.0

    @property
    def signature(self) -> str:
        return f"{self.name}(log10_evidence={self.fit.log10_evidence:.6g})"

    def threshold(self, nugget: Ints) -> Vector:
        """The least match score at which a yes is more probable than not; NaN where none is."""
        asked, place = np.unique(nugget, return_inverse=True)
        pairs = Pairs.of_usual_size(np.tile(LEVELS, len(asked)), np.repeat(asked, len(LEVELS)))
        likely = self.fit.probability(pairs).reshape(len(asked), len(LEVELS)) >= 0.5
        return np.asarray(np.where(likely.any(axis=1), LEVELS[likely.argmax(axis=1)], np.nan)[place])

    def draw(self, count: int, seed: int) -> Pointwise:
        return Pointwise(self.name, self.fit, self.nuggets, count)

    def chances(self, pairs: Pairs, group: str | None, cell: Ints | None = None) -> Vector:
        """draws × cells, all draws alike (`model.Draws`)."""
        cells = self.nuggets if cell is None else int(cell.max(initial=-1)) + 1
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(self.fit.probability(pairs), 1.0))
        none = np.bincount(pairs.nugget if cell is None else cell, weights=missed, minlength=cells)
        return np.broadcast_to(0.0 - np.expm1(none), (self.count, cells))
