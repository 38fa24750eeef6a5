"""Analysis of variance of the scores of several runs, as Dang & Lin 2007 §3.2 use it.

No score may be NaN: callers leave questions without a score out of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from nuggeteer.fields import Count, OrNaN, Part, about
from nuggeteer.records import Vector


class Factor(Part):
    """A part of an analysis of variance."""

    squares: Annotated[OrNaN, about("The sum of squares.")]
    freedom: Count
    f: OrNaN  # NaN where there is no test, as p
    p: OrNaN


@dataclass(frozen=True)
class Variance:
    """Two-way analysis of variance without replication: each run answers each question once.

    `means` are the runs' means over `size` questions, and `mean_square` is the residual's. `judging` (runs × runs) is
    how much each difference of means varies with the guessed verdicts. It is 0 where everything is known.
    """

    questions: Factor
    runs: Factor
    mean_square: float
    freedom: int
    means: Vector
    size: int
    judging: Vector

    @property
    def error(self) -> Vector:
        """runs × runs: the standard error of a difference divided by √2, from questions and from guesses."""
        return np.asarray(np.sqrt(self.mean_square / max(self.size, 1) + self.judging / 2))


def analyse_variance(runs: Sequence[Vector]) -> Variance:
    """The table of variance of some runs. Each run has its scores by question, or draws × questions where verdicts
    are guessed.

    Draws are treated as multiple imputations (Rubin 1987; Li, Raghunathan & Rubin 1991 for F): the residual is the
    mean over draws, and the variance of a mean over the draws is added to its error.
    """
    values = [np.atleast_2d(own) for own in runs]
    draws, count, size = max(len(own) for own in values), len(values), values[0].shape[1]
    means = np.array([own.mean() if size else np.nan for own in values])
    by_run = np.empty((draws, count))
    by_question = np.zeros((draws, size))
    squares = np.zeros(draws)
    centre = means.mean()
    for run, own in enumerate(values):
        off = own - centre
        by_run[:, run] = off.mean(axis=1) if size else np.nan
        by_question += off / count
        squares += (off**2).sum(axis=1)
    freedom = max(size - 1, 0) * (count - 1)
    if not freedom:
        none = float("nan")
        questions, between_runs = (Factor(none, max(n - 1, 0), none, none) for n in (size, count))
        unknown = np.full((count, count), none)
        return Variance(questions, between_runs, none, 0, means, size, unknown)
    between, moved = _spread(by_run, size)
    across, drifted = _spread(by_question, count)
    total = float(squares.mean() - size * count * (by_run.mean(axis=1) ** 2).mean())
    rest = total - between - moved - across - drifted
    # Rounding can leave a tiny residual where the true one is 0, and then any difference would be significant.
    least = 1e-13 * float(squares.mean())
    rest, between, across = (part if part > least else 0.0 for part in (rest, between, across))
    mean_square = rest / freedom
    off = by_run - by_run.mean(axis=0)
    # Not with BLAS: its threads take longer to start than this takes, and they change the last bit.
    covariance = np.einsum("di,dj->ij", off, off) / max(draws - 1, 1) * (1 + 1 / draws)
    varies = np.diag(covariance)
    return Variance(
        _factor(across, size - 1, mean_square + drifted / (size - 1), freedom),
        _factor(between, count - 1, mean_square + moved / (count - 1), freedom),
        mean_square,
        freedom,
        means,
        size,
        (varies[:, None] + varies - 2 * covariance).clip(min=0),
    )


def _spread(means: Vector, each: int) -> tuple[float, float]:
    """Two sums of squares of means (draws × means, each over `each` values): between the expected means, and of the
    draws around their expected means, averaged over draws."""
    off = means - means.mean(axis=1, keepdims=True)
    expected = off.mean(axis=0)
    return each * float((expected**2).sum()), each * float(((off - expected) ** 2).sum(axis=1).mean())


def _factor(squares: float, freedom: int, error: float, error_freedom: int) -> Factor:
    from scipy.special import fdtrc

    if error == 0:
        return Factor(squares, freedom, *((float("inf"), 0.0) if squares else (float("nan"), float("nan"))))
    f = squares / freedom / error
    return Factor(squares, freedom, f, float(fdtrc(freedom, error_freedom, f)))


def contrast(variance: Variance) -> Vector:
    """Two-sided p of each run's difference from the first, by Student's t.

    NaN where there is no test, and where the residual is 0, because so few questions do not show how much they vary.
    """
    from scipy.special import stdtr

    if not variance.freedom or variance.mean_square == 0:
        same = variance.means[1:] == variance.means[0]
        return np.where(same & (variance.freedom > 0), 1.0, np.nan)
    t = (variance.means[1:] - variance.means[0]) / (np.sqrt(2) * variance.error[0, 1:])
    return np.asarray(2 * stdtr(variance.freedom, -np.abs(t)))
