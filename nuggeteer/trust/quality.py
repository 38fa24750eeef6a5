"""How good guesses are, where the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.records import Bools, Vector, number_or_none
from nuggeteer.statistics.coefficients import contingency_tables, kappa
from nuggeteer.trust.reliability import reliability


@dataclass(frozen=True, repr=False)
class Guesses(Shown):
    """Truth and guess of pairs, or of answers. `chance` is NaN if the model gives none. `order` ranks the pairs."""

    true: Bools
    found: Bools
    chance: Vector
    order: Vector
    guessed: Bools

    def only(self, kept: Bools) -> Guesses:
        return Guesses(self.true[kept], self.found[kept], self.chance[kept], self.order[kept], self.guessed[kept])

    @classmethod
    def joined(cls, parts: Sequence[Guesses]) -> Guesses:
        names = ("true", "found", "chance", "order", "guessed")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Quality:
    """The quality of guesses, measured against the truth. None if undefined: precision if nothing is found, recall if
    there is no yes, calibration if the model gives no probabilities. `kappa` is Cohen's, of guesses and truth."""

    n: int
    positive: int
    precision: float | None
    recall: float | None
    f1: float | None
    kappa: float | None
    average_precision: float | None
    brier: float | None
    ece: float | None
    log_score: float | None


def quality(guesses: Guesses) -> Quality:
    """The quality of guesses, measured against the truth."""
    true, found, chance = guesses.true, guesses.found, guesses.chance
    n, positive, hits = len(true), int(true.sum()), int((true & found).sum())
    has = bool(n) and not np.isnan(chance).any()
    trust = reliability(chance, true) if has else None
    precision = hits / int(found.sum()) if found.any() else None
    recall = hits / positive if positive else None
    f1 = 2 * hits / (int(found.sum()) + positive) if positive else None
    with np.errstate(divide="ignore"):
        log_score = float(np.log(np.where(true, chance, 1 - chance)).mean()) if has else None
    return Quality(
        n,
        positive,
        precision,
        recall,
        f1,
        number_or_none(float(kappa(contingency_tables(true, found, np.zeros(n, dtype=np.int64), 1)[0]))),
        average_precision(true, guesses.order) if positive else None,
        trust.brier if trust else None,
        trust.error if trust else None,
        log_score if log_score is not None and np.isfinite(log_score) else None,
    )


def average_precision(true: Bools, order: Vector) -> float:
    """Σ (change in recall · precision) over the distinct values of `order`. Pairs with equal values count at once."""
    ranking = np.argsort(-order, kind="stable")
    hits = np.cumsum(true[ranking])
    last = np.append(np.diff(order[ranking]) != 0, True)
    precision = hits[last] / (np.flatnonzero(last) + 1)
    return float((np.diff(hits[last], prepend=0) * precision).sum() / hits[-1])
