"""Confidence intervals of mean scores.

Two things are unknown: the guessed verdicts, and which other questions could have been asked. The *judging* part keeps
the questions and draws the verdicts from the fitted model. Its ends are quantiles of the draws. All measures and runs
share the draws, so differences between runs can be computed draw by draw.

The *sampling* part keeps the expected scores. It is Student's interval on a scale on which no score has a bound: the
logarithm of the odds for scores, which lie between 0 and 1. Few questions make it wide, it never leaves the bounds, and
where most scores are 0 it reaches further up than down, as it should. Of the intervals tried in
experiments/small-samples.md it is the one that holds the true mean in about 95 % of samples from five questions on.

Whoever wants the bootstrap of the papers' days instead, chooses it: questions are resampled, and the ends are quantiles
of the means (`percentile`), corrected for their bias and skewness (BCa, Efron 1987: `bootstrap`).

The whole interval joins the parts on the same scale, however they were made: on each side the squares of their
distances from the value add up (Zou & Donner 2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from nuggeteer.fields import Number, Part
from nuggeteer.records import Vector
from nuggeteer.settings import IntervalMethod

STEPS = 10  # each doubles the digits


@cache
def student_quantile(freedom: int, share: float) -> float:
    """The t below which Student's distribution has this share, of at least a half. For whole degrees of freedom: its
    distribution is then a finite sum (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4)."""
    odd = freedom % 2
    each = np.arange(2 + odd, freedom, 2)
    log_peak = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = NormalDist().inv_cdf(share)
    for _ in range(STEPS):  # Newton's, from below: the distribution bends down, so no step leads too far
        hypotenuse = math.sqrt(freedom + t * t)
        sine, square = t / hypotenuse, freedom / hypotenuse**2
        within = sine * (1 + float(np.cumprod((each - 1) / each * square).sum()))
        if odd:
            further = math.sqrt(square) * within if freedom > 1 else 0.0
            within = 2 / math.pi * (math.asin(sine) + further)
        t += (share - (1 + within) / 2) / math.exp(log_peak + (freedom + 1) / 2 * math.log(square))
    return t


CONFIDENCE = 0.95
ENDS = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2  # of an interval: below them lies this share
REACH = NormalDist().inv_cdf(ENDS[1])  # standard deviations to each side of a normal interval
DRAWS = 2000
MIN_QUESTIONS = 5  # with fewer, an interval holds the truth too seldom or says nothing (experiments/small-samples.md)
ROUNDING = 1e-12  # values that differ by less are equal
AT_ONCE = 4_000_000  # resampled numbers: 32 MB


class Estimate(Part):
    """A value with its 95 % interval."""

    value: Number
    low: Number = None
    high: Number = None


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


@dataclass(frozen=True)
class Scale:
    """The least and the greatest that a value can be, and a line without ends on which these bounds are infinitely
    far away."""

    low: float = -math.inf
    high: float = math.inf

    def on_line(self, value: float) -> float:
        if math.isinf(self.low):
            return value
        if value <= self.low:
            return -math.inf
        if value >= self.high:
            return math.inf
        below = math.log(value - self.low)
        return below if math.isinf(self.high) else below - math.log(self.high - value)

    def from_line(self, place: float) -> float:
        if math.isinf(self.low):
            return place
        if math.isinf(self.high):
            return self.low + math.exp(place)
        return self.low + (self.high - self.low) / (1 + math.exp(-place)) if place > -700 else self.low

    def slope(self, value: float) -> float:
        """How far the line moves with the value."""
        return 1.0 if math.isinf(self.low) else 1 / (value - self.low) + 1 / (self.high - value)


SCORES = Scale(0.0, 1.0)
DIFFERENCES = Scale(-1.0, 1.0)
RATIOS = Scale(0.0)
UNBOUNDED = Scale()


def question_draws(questions: int, seed: int, draws: int = DRAWS) -> Vector:
    """draws × questions: how often each question is in each resample."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.multinomial(questions, np.full(questions, 1 / questions), size=draws).astype(float)


def mean_interval(
    values: Vector,
    drawn: Vector | None = None,
    hard: Vector | None = None,
    certain: bool = False,
    scale: Scale = SCORES,
    method: IntervalMethod = "t",
    seed: int = 0,
) -> Interval:
    """The mean over the questions that have a value, and its interval. The `seed` is for methods that resample.

    `values` are the expected scores of the questions, and `drawn` (draws × questions) the scores under drawn verdicts.
    Without `drawn` the interval covers only the choice of questions, either because all verdicts are `certain` or
    because the model does not know how sure it is. With fewer than MIN_QUESTIONS, or if all have the same value, there
    is no whole interval, because they do not show how questions vary.
    """
    defined = ~np.isnan(values)
    own = values[defined]
    if len(own) == 0:
        return Interval(None)
    value = float(own.mean())
    decided = value if hard is None else float(hard[defined].mean())
    judging = (value, value) if certain else None
    if drawn is not None:
        low, high = np.quantile(means_by_draw(drawn, defined), ENDS)
        judging = (float(low), float(high))
    if own.min() < scale.low or own.max() > scale.high:
        scale = UNBOUNDED  # a measure of one's own
    error = float(own.std(ddof=1)) / math.sqrt(len(own)) if len(own) > 1 else 0.0
    if method == "t" or len(own) < MIN_QUESTIONS or error < ROUNDING:
        sampling = student_interval(value, error, len(own), scale)
    else:
        sampling = bootstrap_interval(own, method, seed)
    if sampling is None:
        return Interval(value, decided, None, None, judging)
    whole = sampling if drawn is None or judging is None else _joined(value, judging, sampling, scale)
    return Interval(value, decided, *whole, judging, sampling)


def means_by_draw(drawn: Vector, defined: Vector) -> Vector:
    """The mean over these questions, draw by draw."""
    return np.asarray((drawn if defined.all() else drawn[:, defined]).mean(axis=1))  # a copy may take gigabytes


def student_interval(value: float, error: float, questions: int, scale: Scale) -> tuple[float, float] | None:
    """Student's interval of a value with this standard error, on the line of its scale. None for fewer than
    MIN_QUESTIONS, and if there is no error, because then the questions do not show how much they vary."""
    if questions < MIN_QUESTIONS or error < ROUNDING or not scale.low < value < scale.high:
        return None
    place, reach = scale.on_line(value), student_reach(questions) * error * scale.slope(value)
    return scale.from_line(place - reach), scale.from_line(place + reach)


def bootstrap_interval(values: Vector, method: IntervalMethod, seed: int) -> tuple[float, float]:
    """The interval of the mean from resamples of its values: their quantiles, or BCa's."""
    from scipy.stats import bootstrap

    found = bootstrap(
        (values,),
        np.mean,
        n_resamples=DRAWS,
        batch=max(AT_ONCE // len(values), 1),
        confidence_level=CONFIDENCE,
        method="percentile" if method == "percentile" else "BCa",
        random_state=np.random.default_rng([seed, 8]),
    ).confidence_interval
    value = float(values.mean())
    # the mean of equal values, as it is rounded, may lie outside them
    return float(np.clip(found.low, values.min(), value)), float(np.clip(found.high, value, values.max()))


def student_reach(questions: int) -> float:
    """How many standard errors the interval reaches on each side."""
    return student_quantile(questions - 1, ENDS[1])


def jackknife_interval(value: float, left_out: Vector, scale: Scale) -> tuple[float, float] | None:
    """The interval of a statistic of all questions together, from its values without each question (Efron & Tibshirani
    1993, §11.5). For a mean it is `student_interval`. None also where it is undefined without some question."""
    if np.isnan(left_out).any() or len(left_out) < MIN_QUESTIONS:
        return None
    squares = float(((left_out - left_out.mean()) ** 2).sum())
    count = len(left_out)
    return student_interval(value, math.sqrt((count - 1) / count * squares), count, scale)


def _joined(
    value: float, judging: tuple[float, float], sampling: tuple[float, float], scale: Scale
) -> tuple[float, float]:
    """The interval that has both parts."""
    place = scale.on_line(value)
    low, high = (math.hypot(*(scale.on_line(part[side]) - place for part in (judging, sampling))) for side in (0, 1))
    return scale.from_line(place - low), scale.from_line(place + high)


def p_of_no_difference(interval: Interval, questions: int, scale: Scale = DIFFERENCES) -> float | None:
    """The two-sided p of a value of 0: below 5 % exactly where the interval does not contain 0. None without an
    interval."""
    tail = tail_beyond(interval, 0.0, questions, scale)
    return None if tail is None else 2 * tail


def tail_beyond(interval: Interval, limit: float, questions: int, scale: Scale = DIFFERENCES) -> float | None:
    """How probable it is that the truth lies beyond a limit, on the side where the value does not lie: at most ½. None
    without an interval.

    The reach of the interval towards the limit is that of Student's t. Its degrees of freedom are those of the
    questions, and more if guesses make most of the width (Satterthwaite 1946)."""
    from scipy.special import stdtr, stdtrit

    if interval.value is None or interval.low is None or interval.high is None or interval.sampling is None:
        return None
    if not (scale.low < interval.low and interval.high < scale.high):
        scale = UNBOUNDED
    place, side = scale.on_line(interval.value) - scale.on_line(limit), int(interval.value < limit)
    whole, sampling = (
        abs(scale.on_line(ends[side]) - scale.on_line(interval.value))
        for ends in ((interval.low, interval.high), interval.sampling)
    )
    if whole < ROUNDING:  # a bootstrap of very few values may not reach beyond the value
        return None
    freedom = min((questions - 1) * (whole / max(sampling, ROUNDING)) ** 4, 1e6)
    return float(stdtr(freedom, -abs(place) / whole * stdtrit(freedom, ENDS[1])))
