"""What the nuggets of an answer have in common: a Gaussian copula with correlation ρ (`thresholds.Draws`).

Each nugget of an answer has a normal number. A share ρ of its variance is common to all nuggets of the answer. The
nugget is found if the number is below the level that its own probability sets. The copula does not change the
probability of any nugget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from nuggeteer.records import Bools, Ints, Vector

SMALLEST, LARGEST = np.float32(1e-6), np.float32(13.8)  # rates, −log of the chance of a miss, are clipped to this range
STEPS, FINE = 512, 4096  # in 1
LOWEST, HIGHEST, WIDEST = -16.0, 4.0, 8.0


@cache
def _normal() -> Vector:
    """The normal distribution, in equally probable points."""
    return np.asarray(scipy.special.ndtri((np.arange(41) + 0.5) / 41))


# Tables, because scipy's functions take fifty times as long.


@cache
def _levels() -> Vector:
    """The level Φ⁻¹(1 − exp(−exp x)) of the logarithm x of a rate."""
    log_rate = np.arange(LOWEST, HIGHEST + 1 / STEPS, 1 / STEPS)
    chance = np.clip(-np.expm1(-np.exp(log_rate)), 1e-7, 1 - 1e-7)
    return np.asarray(scipy.special.ndtri(chance), dtype=np.float32)


@cache
def _rates() -> Vector:
    """The rate of a level."""
    return -np.asarray(scipy.special.log_ndtr(-np.arange(-WIDEST, WIDEST + 1 / STEPS, 1 / STEPS)), dtype=np.float32)


@cache
def _chances() -> Vector:
    """The chance of a level."""
    return np.asarray(scipy.special.ndtr(np.arange(-WIDEST, WIDEST + 1 / FINE, 1 / FINE)), dtype=np.float32)


def miss_exponent(rates: Vector, common: Vector, answer_correlation: float) -> Vector:
    """The power to which the probability of a miss is raised, given the common number of each draw; to three digits,
    which is enough for a mean over draws. `rates` are −log of that probability.

    Applied to each response, it gives the whole answer its conditional chance."""
    rates = np.clip(rates, SMALLEST, LARGEST)
    level = level_of(np.log(rates))
    level += np.float32(np.sqrt(answer_correlation)) * common
    level *= np.float32(1 / np.sqrt(1 - answer_correlation))
    given = _nearest(_rates(), level, -WIDEST, WIDEST)
    return np.asarray(np.divide(given, rates, out=given))


def level_of(log_rate: Vector) -> Vector:
    """The level that a chance sets, of the logarithm of its rate. Changes that."""
    return _nearest(_levels(), log_rate, LOWEST, HIGHEST)


def mean_chance(level: Vector) -> Vector:
    """The mean chance of the levels in each row. Changes them. Rounding takes nothing from a mean."""
    return np.asarray(_nearest(_chances(), level, -WIDEST, WIDEST, FINE).mean(axis=1, dtype=float))


def _nearest(table: Vector, at: Vector, first: float, last: float, steps: int = STEPS) -> Vector:
    """The entries of a table from `first` to `last`, changing `at`."""
    np.clip(at, first, last, out=at)
    at -= np.float32(first)
    at *= np.float32(steps)
    at += np.float32(0.5)
    return np.asarray(np.take(table, at.astype(np.intp)))


@dataclass(frozen=True)
class AnswerPosterior:
    """The common number of each answer, given its known nuggets. An answer that has more of these than expected is
    likely to have more of the others, too.

    `row` is the row of `quantiles` for each question, −1 where nothing is known."""

    row: Ints
    quantiles: Vector
    answer_correlation: float

    def common(self, question: int, common: Vector) -> Vector:
        """The common numbers of a question's draws moved to this posterior; unchanged if nothing is known of it."""
        if self.row[question] < 0:
            return common
        return np.asarray(np.interp(scipy.special.ndtr(common), self.quantiles[self.row[question]], _normal()))


def answer_posterior(
    chance: Vector, found: Bools, question: Ints, questions: int, correlation: float
) -> AnswerPosterior:
    """The posterior given known nuggets: the `chance` of each, whether it was `found`, and its `question`, in order."""
    above = scipy.special.ndtri(np.clip(chance, 1e-6, 1 - 1e-6))[:, None] + np.sqrt(correlation) * _normal()
    log_likelihood = scipy.special.log_ndtr(np.where(found[:, None], above, -above) / np.sqrt(1 - correlation))
    known, start = np.unique(question, return_index=True)
    log_weight = np.add.reduceat(log_likelihood, start, axis=0)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    row = np.full(questions, -1)
    row[known] = np.arange(len(known))
    return AnswerPosterior(row, np.cumsum(weight, axis=1) - weight / 2, correlation)
