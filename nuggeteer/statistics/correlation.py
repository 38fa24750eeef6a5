"""How well two lists of scores agree, such as ours and the official ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector


@dataclass(frozen=True)
class ScoreAgreement:
    """How well two lists of scores agree. The correlations are NaN with fewer than three scores, or if all scores of
    a list are equal."""

    n: int
    kendall_tau: float
    pearson: float
    rmse: float

    @property
    def r_squared(self) -> float:
        return self.pearson**2


def score_agreement(a: Sequence[float] | Vector, b: Sequence[float] | Vector) -> ScoreAgreement:
    """Kendall's τ_b, Pearson's correlation and the root mean squared difference, over the scores that both lists
    have."""
    from scipy.stats import kendalltau

    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(x) == 0:
        return ScoreAgreement(0, *[float("nan")] * 3)
    rmse = float(np.sqrt(np.mean((x - y) ** 2)))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return ScoreAgreement(len(x), float("nan"), float("nan"), rmse)
    x_off, y_off = x - x.mean(), y - y.mean()
    pearson = float(x_off @ y_off / np.sqrt((x_off @ x_off) * (y_off @ y_off)))
    return ScoreAgreement(len(x), float(kendalltau(x, y).statistic), pearson, rmse)
