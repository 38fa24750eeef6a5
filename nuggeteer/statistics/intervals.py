"""Confidence intervals of mean scores.

Two things are unknown: the guessed verdicts, and which other questions could have been asked. Verdicts are drawn from
the fitted model, and questions are resampled with replacement. All measures and runs share the same draws, so
differences between runs can be computed draw by draw. The *judging* part keeps the questions and draws the verdicts.
The *sampling* part keeps the expected scores and draws the questions. The whole interval draws both.

The ends of an interval are quantiles of the draws, at the levels of BCa (bias-corrected and accelerated, Efron 1987),
because F over questions is skewed and often 0. The levels are computed from the questions alone, which nearly always
contribute most of the width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector

CONFIDENCE = 0.95
DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % confidence interval. None stands for unknown.

    `value` is the expected score over all possible verdicts on the guessed pairs. `hard` is the score if every nugget
    that is more probable than not counts as found. `judging` is the part of the interval that comes from guessed
    verdicts, and `sampling` the part that comes from the choice of questions. `low` and `high` include both.
    """

    value: float | None
    hard: float | None = None
    low: float | None = None
    high: float | None = None
    judging: tuple[float, float] | None = None
    sampling: tuple[float, float] | None = None

    @property
    def judging_share(self) -> float | None:
        """The width of the judging part divided by the whole width. None without such a part or without a width."""
        if self.judging is None or self.low is None or self.high is None:
            return None
        whole, part = self.high - self.low, self.judging[1] - self.judging[0]
        return 0.0 if part == 0 else part / whole if whole else None


def question_draws(questions: int, seed: int, draws: int = DRAWS) -> Vector:
    """draws × questions: how often each question is in each resample."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.multinomial(questions, np.full(questions, 1 / questions), size=draws).astype(float)


def mean_interval(
    values: Vector,
    resamples: Vector,
    drawn: Vector | None = None,
    hard: Vector | None = None,
    certain: bool = False,
) -> Interval:
    """The mean over the questions that have a value, and its interval.

    `values` are the expected scores of the questions, and `drawn` (draws × questions) the scores under drawn verdicts.
    Without `drawn` the interval covers only the choice of questions, either because all verdicts are `certain` or
    because the model does not know how sure it is. With one question there is a value and no whole interval, because
    one question does not show how questions vary.
    """
    defined = ~np.isnan(values)
    own = values[defined]
    if len(own) == 0:
        return Interval(None)
    value = float(own.mean())
    decided = value if hard is None else float(hard[defined].mean())
    judging = (value, value) if certain else None
    if drawn is not None:
        by_draw = drawn[:, defined].mean(axis=1)
        low, high = np.quantile(by_draw, _tails())
        judging = (float(low), float(high))
    if len(own) == 1:
        return Interval(value, decided, None, None, judging)
    counts = resamples[:, defined]
    size = counts.sum(axis=1)
    some = size > 0
    means = (counts[some] @ own) / size[some]
    if np.ptp(own) == 0:
        levels, sampling = _tails(), (value, value)
    else:
        levels = bca_levels(own, means)
        sampling = _cut(means, levels)
    if drawn is None:
        return Interval(value, decided, *sampling, judging, sampling)
    both = (counts[some] * drawn[some][:, defined]).sum(axis=1) / size[some]
    return Interval(value, decided, *_cut(both, levels), judging, sampling)


def _tails() -> Vector:
    return np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])


def _cut(draws: Vector, levels: Vector) -> tuple[float, float]:
    low, high = np.quantile(draws, levels)
    return float(low), float(high)


def bca_levels(values: Vector, means: Vector) -> Vector:
    """The levels of the bootstrap quantiles that bound the BCa interval of a mean (Efron & Tibshirani 1993, §14.3)."""
    from scipy.special import ndtr, ndtri

    value = values.mean()
    # Half of the ties count as below (as in scipy.stats.bootstrap), because means over few questions are often tied.
    below = (np.mean(means < value) + np.mean(means <= value)) / 2
    bias = ndtri(below)
    # The jackknife's skewness: leaving out a value moves the mean by a multiple of the value's deviation.
    deviation = values - value
    acceleration = (deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5)
    z = ndtri(_tails())
    return np.asarray(ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))))
