"""How well two lists of scores agree, such as ours and the official ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from nuggeteer.fields import Count, Part
from nuggeteer.records import Vector
from nuggeteer.statistics.intervals import CONFIDENCE, MIN_QUESTIONS, REACH, student_reach

CLOSE = 0.1  # apart: assessors differ by as much (Voorhees 2003)
FEWEST = 20  # scores for an interval of Kendall's τ
ONE_SIDED_REACH = NormalDist().inv_cdf(CONFIDENCE)  # standard deviations: below it lie 95 %
Span = tuple[float, float]


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

    @property
    def pearson_interval(self) -> Span | None:
        """The 95 % interval of Pearson's r by Fisher's z, for scores that are independent of each other. None with
        fewer than four."""
        return around(self.pearson, REACH / np.sqrt(self.n - 3)) if self.n > 3 else None

    @property
    def pearson_at_least(self) -> float | None:
        """What Pearson's r is above with 95 % confidence. With 1 as the other end this is Dang & Lin's interval."""
        span = around(self.pearson, ONE_SIDED_REACH / np.sqrt(self.n - 3)) if self.n > 3 else None
        return span and span[0]

    @property
    def tau_interval(self) -> Span | None:
        """The 95 % interval of Kendall's τ by Fisher's z, with the variance of Fieller, Hartley & Pearson 1957. None
        with fewer than FEWEST scores: where τ is high, such intervals are too narrow."""
        enough = self.n >= FEWEST
        return around(self.kendall_tau, REACH * np.sqrt(0.437 / (self.n - 4))) if enough else None


class Swaps(Part):
    """Pairs of runs that the two rank differently; close ones differ by less than 0.1 in the first."""

    pairs: Count  # that are level in neither
    swapped: Count
    close: Count  # by less than CLOSE
    close_swapped: Count


def around(correlation: float, reach: float) -> Span | None:
    """An interval that reaches as far on the scale of Fisher's z; None for a correlation that is NaN."""
    if np.isnan(correlation):
        return None
    with np.errstate(divide="ignore"):
        z = np.arctanh(correlation)
    return float(np.tanh(z - reach)), float(np.tanh(z + reach))


def score_agreement(a: Sequence[float] | Vector, b: Sequence[float] | Vector) -> ScoreAgreement:
    """Kendall's τ_b, Pearson's correlation and the root mean squared difference, over the scores that both lists
    have."""
    from scipy.stats import kendalltau

    x, y = _both(a, b)
    if len(x) == 0:
        return ScoreAgreement(0, *[float("nan")] * 3)
    rmse = float(np.sqrt(np.mean((x - y) ** 2)))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return ScoreAgreement(len(x), float("nan"), float("nan"), rmse)
    x_off, y_off = x - x.mean(), y - y.mean()
    pearson = float(x_off @ y_off / np.sqrt((x_off @ x_off) * (y_off @ y_off)))
    return ScoreAgreement(len(x), float(kendalltau(x, y).statistic), pearson, rmse)


def interval_by_question(x: Vector, y: Vector, resamples: Vector) -> Span | None:
    """The 95 % interval of Pearson's r over the answers of runs × questions, whose answers to one question resemble
    each other. `resamples`, draws × questions, say how often each question is in a draw.

    The spread of Fisher's z over the draws is taken, with Student's t of the number of questions."""
    both = ~(np.isnan(x) | np.isnan(y))
    questions = int(both.any(axis=0).sum())
    if questions < MIN_QUESTIONS:
        return None
    x, y = np.where(both, x, 0.0), np.where(both, y, 0.0)
    sums = np.stack([part.sum(axis=0) for part in (both.astype(float), x, y, x * x, y * y, x * y)])

    def correlation(counts: Vector) -> Vector:
        n, sum_x, sum_y, xx, yy, xy = sums @ counts.T
        with np.errstate(divide="ignore", invalid="ignore"):
            across = (n * xx - sum_x**2) * (n * yy - sum_y**2)
            return np.asarray((n * xy - sum_x * sum_y) / np.sqrt(across)).clip(-1, 1)

    value = float(correlation(np.ones(x.shape[1])))
    with np.errstate(divide="ignore"):
        z = np.arctanh(correlation(resamples))
    spread = float(np.std(z[np.isfinite(z)])) if np.isfinite(z).any() else 0.0
    return around(value, student_reach(questions) * spread)


def rank_swaps(a: Sequence[float] | Vector, b: Sequence[float] | Vector) -> Swaps:
    """How many pairs of runs the second list orders otherwise than the first."""
    x, y = _both(a, b)
    first, second = np.triu_indices(len(x), k=1)
    by_a, by_b = x[first] - x[second], y[first] - y[second]
    apart = (by_a != 0) & (by_b != 0)
    swapped = apart & (by_a * by_b < 0)
    close = apart & (np.abs(by_a) < CLOSE)
    return Swaps(int(apart.sum()), int(swapped.sum()), int(close.sum()), int((close & swapped).sum()))


def _both(a: Sequence[float] | Vector, b: Sequence[float] | Vector) -> tuple[Vector, Vector]:
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = ~(np.isnan(x) | np.isnan(y))
    return x[both], y[both]
