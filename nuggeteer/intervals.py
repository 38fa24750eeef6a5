"""Confidence intervals of mean scores: which questions could have been asked.

Questions are resampled with replacement, the same draws for every measure and every run, so that
differences between runs can be taken draw by draw. The interval is BCa (Efron 1987): bias-corrected and
accelerated, since F over questions is skewed and often 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector

CONFIDENCE = 0.95
DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A value and where it lies with 95 % confidence. None stands for what cannot be said.

    `judging` is the part that comes of guessed verdicts, `sampling` the part that comes of the choice of
    questions; `low` and `high` are of both.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    judging: tuple[float, float] | None = None
    sampling: tuple[float, float] | None = None


def question_draws(questions: int, seed: int, draws: int = DRAWS) -> Vector:
    """draws × questions: how often each question is in each resample."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.multinomial(questions, np.full(questions, 1 / questions), size=draws).astype(float)


def mean_interval(values: Vector, resamples: Vector) -> Interval:
    """The mean over the questions that have a value, and its BCa interval.

    One question tells nothing of others: then there is a value and no interval.
    """
    defined = ~np.isnan(values)
    own = values[defined]
    if len(own) == 0:
        return Interval(None)
    value = float(own.mean())
    if len(own) == 1:
        return Interval(value)
    if np.ptp(own) == 0:
        return Interval(value, value, value, None, (value, value))
    counts = resamples[:, defined]
    drawn = counts.sum(axis=1)
    means = (counts[drawn > 0] @ own) / drawn[drawn > 0]
    low, high = bca(own, means)
    return Interval(value, low, high, None, (low, high))


def bca(values: Vector, means: Vector) -> tuple[float, float]:
    """The BCa interval of a mean from its bootstrap means (Efron & Tibshirani 1993, §14.3)."""
    from scipy.special import ndtr, ndtri

    value = values.mean()
    # Half of the ties count as below (as in scipy.stats.bootstrap): scores of few questions are lumpy.
    below = (np.mean(means < value) + np.mean(means <= value)) / 2
    bias = ndtri(below)
    # The jackknife's skewness; leaving one out moves a mean by a multiple of its own deviation.
    deviation = values - value
    acceleration = (deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5)
    z = ndtri(np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    levels = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
    low, high = np.quantile(means, levels)
    return float(low), float(high)
