"""What the nuggets of an answer have in common: a Gaussian copula with correlation ρ (`thresholds.Draws`).

Each nugget of an answer has a normal number. A share ρ of its variance is common to all nuggets of the answer. The
nugget is found if the number is below the level that its own probability sets. The copula does not change the
probability of any nugget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from nuggeteer.records import Bools, Ints, Vector

NORMAL = ndtri((np.arange(41) + 0.5) / 41)  # the normal distribution, in equally probable points
SMALLEST, LARGEST = np.float32(1e-6), np.float32(13.8)  # rates, −log of the chance of a miss, are clipped to this range
STEPS = 512  # of the tables, in 1
LEVELS = np.log([SMALLEST, LARGEST]).round(3)  # Φ⁻¹(1 − exp(−exp x)) of the logarithm x of a rate,
LEVEL = ndtri(-np.expm1(-np.exp(np.arange(LEVELS[0], LEVELS[1] + 1 / STEPS, 1 / STEPS)))).astype(np.float32)
WIDEST = 8.0  # and the rate of a level.
RATE = -log_ndtr(-np.arange(-WIDEST, WIDEST + 1 / STEPS, 1 / STEPS)).astype(np.float32)


def miss_exponent(rates: Vector, common: Vector, answer_correlation: float) -> Vector:
    """The power to which the probability of a miss is raised, given the common number of each draw; to three digits,
    which is enough for a mean over draws. `rates` are −log of that probability.

    Applied to each response, it gives the whole answer its conditional chance."""
    rates = np.clip(rates, SMALLEST, LARGEST)
    level = _nearest(LEVEL, np.log(rates), LEVELS[0])
    level += np.float32(np.sqrt(answer_correlation)) * common
    level *= np.float32(1 / np.sqrt(1 - answer_correlation))
    given = _nearest(RATE, np.clip(level, -WIDEST, WIDEST, out=level), -WIDEST)
    return np.asarray(np.divide(given, rates, out=given))


def _nearest(table: Vector, at: Vector, first: float) -> Vector:
    """The entries of a table that begins at `first`, changing `at`."""
    at -= np.float32(first)
    at *= np.float32(STEPS)
    at += np.float32(0.5)
    return np.take(table, at.astype(np.intp), mode="clip")


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
        return np.asarray(np.interp(ndtr(common), self.quantiles[self.row[question]], NORMAL))


def answer_posterior(
    chance: Vector, found: Bools, question: Ints, questions: int, correlation: float
) -> AnswerPosterior:
    """The posterior given known nuggets: the `chance` of each, whether it was `found`, and its `question`, in order."""
    above = ndtri(np.clip(chance, 1e-6, 1 - 1e-6))[:, None] + np.sqrt(correlation) * NORMAL
    log_likelihood = log_ndtr(np.where(found[:, None], above, -above) / np.sqrt(1 - correlation))
    known, start = np.unique(question, return_index=True)
    log_weight = np.add.reduceat(log_likelihood, start, axis=0)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    row = np.full(questions, -1)
    row[known] = np.arange(len(known))
    return AnswerPosterior(row, np.cumsum(weight, axis=1) - weight / 2, correlation)
