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

LEAST, ALMOST = np.float32(1e-6), np.float32(1 - 1e-6)  # chances are clipped to this range
NORMAL = ndtri((np.arange(41) + 0.5) / 41)  # the normal distribution, in equally probable points


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
