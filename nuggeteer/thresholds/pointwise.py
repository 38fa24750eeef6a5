"""A threshold model from a fit that only gives each pair a probability.

The fits of the paper's models (`steps`), `pooled` and the coin give the probability of a yes with all unknowns
integrated out. Verdicts drawn from it are independent. Such a model does not know how sure it is of its probabilities
or what the nuggets of an answer have in common, so its intervals are too narrow. It exists for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Pairs
from nuggeteer.thresholds.sampled import LEVELS
from nuggeteer.thresholds.selection import Fit


@dataclass
class Pointwise:
    """A fit as a threshold model, which also serves as its own draws."""

    name: str
    fit: Fit
    nuggets: int
    count: int = 1
    answer_correlation: float = 0.0

    @property
    def signature(self) -> str:
        return f"{self.name}(log10_evidence={self.fit.log10_evidence:.6g})"

    def threshold(self, nugget: Ints) -> Vector:
        """The lowest match score at which a yes is more probable than a no, NaN if there is none."""
        asked, position = np.unique(nugget, return_inverse=True)
        pairs = Pairs.of_usual_size(np.tile(LEVELS, len(asked)), np.repeat(asked, len(LEVELS)))
        likely = self.fit.probability(pairs).reshape(len(asked), len(LEVELS)) >= 0.5
        return np.asarray(np.where(likely.any(axis=1), LEVELS[likely.argmax(axis=1)], np.nan)[position])

    def draw(self, count: int, seed: int) -> Pointwise:
        return Pointwise(self.name, self.fit, self.nuggets, count)

    def kinds(self, pairs: Pairs) -> Ints:
        """All pairs are of kinds of their own, in the order of nuggets (`model.Draws`)."""
        result = np.empty(len(pairs), dtype=np.int64)
        result[np.argsort(pairs.nugget, kind="stable")] = np.arange(len(pairs))
        return result

    def chances(self, pairs: Pairs, group: str | None, cell: Ints | None = None) -> Vector:
        """draws × cells (`model.Draws`). All draws are the same."""
        cells = self.nuggets if cell is None else int(cell.max(initial=-1)) + 1
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(self.fit.probability(pairs), 1.0))
        log_none = np.bincount(pairs.nugget if cell is None else cell, weights=missed, minlength=cells)
        return np.broadcast_to(0.0 - np.expm1(log_none), (self.count, cells))
