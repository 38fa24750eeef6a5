"""What the nuggets of an answer have in common: a Gaussian copula with correlation ρ (`thresholds.Draws`).

Each nugget of an answer has a normal number. A share ρ of its variance is common to all nuggets of the answer. The
nugget is found if the number is below the level that its own probability sets. The copula does not change the
probability of any nugget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.thresholds import random_orders

LEAST, ALMOST = np.float32(1e-6), np.float32(1 - 1e-6)  # chances are clipped to this range
NORMAL = ndtri((np.arange(41) + 0.5) / 41)  # the normal distribution, in equally probable points


class VerdictNoise:
    """Normal numbers that turn chances into verdicts: one for each nugget, `own`, and one for each question, `common`.

    All runs share them, so runs with equal chances get equal verdicts. The numbers of a nugget come one from each of
    equally probable strata, so it is found as often as its probability says, whatever the seed."""

    def __init__(self, key: AnswerKey, draws: int, seed: int, answer_correlation: float) -> None:
        rng = np.random.Generator(np.random.PCG64([seed, 2]))
        strata = ndtri((np.arange(draws) + 0.5) / draws).astype(np.float32)
        self.question, self.answer_correlation = key.question, answer_correlation
        self.own = strata[random_orders(rng, len(key.nuggets), draws)].T
        self.common = strata[random_orders(rng, len(key.questions), draws)].T

    @cached_property
    def copula_uniforms(self) -> Vector:
        """draws × nuggets: uniform numbers. A nugget is found where its chance is above."""
        return copula_uniforms(self.own, self.common[:, self.question], self.answer_correlation)


def copula_uniforms(own: Vector, common: Vector, answer_correlation: float) -> Vector:
    """Uniform numbers from normal ones, of which a part is common."""
    if not answer_correlation:
        return np.asarray(ndtr(own))
    return np.asarray(
        ndtr(np.float32(np.sqrt(1 - answer_correlation)) * own - np.float32(np.sqrt(answer_correlation)) * common)
    )


def conditional_chances(chances: Vector, common: Vector, answer_correlation: float) -> Vector:
    """The chances given the common number of each draw, in the precision of `common`."""
    share, rest = (np.sqrt(part).astype(common.dtype) for part in (answer_correlation, 1 - answer_correlation))
    return np.asarray(ndtr((ndtri(np.clip(chances, LEAST, ALMOST)) + share * common) / rest))


def miss_exponent(chances: Vector, common: Vector, answer_correlation: float) -> Vector:
    """The power to which the probability of a miss is raised, given the common number of each draw.

    Applied to each response, it gives the whole answer its conditional chance."""
    given = conditional_chances(chances, common, answer_correlation)
    return np.asarray(np.log1p(-np.minimum(given, ALMOST)) / np.log1p(-np.clip(chances, LEAST, ALMOST)))


@dataclass(frozen=True)
class AnswerPosterior:
    """The common number of each answer, given its known nuggets. An answer that has more of these than expected is
    likely to have more of the others, too.

    `row` is the row of `quantiles` for each question, −1 where nothing is known."""

    row: Ints
    quantiles: Vector
    answer_correlation: float

    def common(self, question: Ints, common: Vector) -> Vector:
        """The common numbers (draws × columns) moved to this posterior. `question` is that of each column."""
        result = common.copy()
        for column in np.flatnonzero(self.row[question] >= 0):
            level = ndtr(common[:, column])
            result[:, column] = np.interp(level, self.quantiles[self.row[question[column]]], NORMAL)
        return result

    def chance(self, chances: Vector, common: Vector) -> Vector:
        """The mean chance of each column under these common numbers."""
        return np.asarray(conditional_chances(chances, common.astype(float), self.answer_correlation).mean(axis=0))


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
