"""Whether several runs differ: analysis of variance of their scores, as Dang & Lin 2007 §3.2 use it, and Tukey's test
of honestly significant differences between their means.

No score may be NaN: callers leave questions without a score out of the table. Tukey's test needs the distribution of
the studentized range, which is computed here because scipy's takes much longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np

from nuggeteer.fields import Count, OrNaN, Part, about
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.statistics.significance import CHUNK, LEVEL


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


@dataclass(frozen=True)
class Tukey:
    """Tukey's honestly significant difference of means.

    Two means differ significantly if they differ by more than `critical` (runs × runs). If all runs are equal, the
    probability that any pair does is 5 %. `p` is runs × runs. Both are NaN where there is no test."""

    means: Vector
    critical: Vector
    p: Vector

    @property
    def tested(self) -> bool:
        return not bool(np.isnan(self.critical).any())

    @property
    def pairs(self) -> int:
        return len(self.means) * (len(self.means) - 1) // 2

    @property
    def apart(self) -> Bools:
        """runs × runs: whether two runs differ significantly."""
        return np.asarray(np.abs(self.means[:, None] - self.means) > self.critical)

    @property
    def significant(self) -> int:
        """How many pairs differ significantly."""
        return int(np.triu(self.apart, 1).sum())

    def groups(self) -> list[Ints]:
        """The largest sets of runs in which no two differ significantly. Runs within a set, and the sets, are
        ordered from the highest mean down."""
        order = np.argsort(-self.means, kind="stable")
        alike = ~self.apart[np.ix_(order, order)]
        near = [sum(1 << int(j) for j in np.flatnonzero(row) if j != i) for i, row in enumerate(alike)]
        found = [np.flatnonzero([members >> i & 1 for i in range(len(order))]) for members in _largest(near)]
        return [order[members] for members in sorted(found, key=lambda members: members.tolist())]


def _largest(near: Sequence[int]) -> Iterator[int]:
    """The maximal cliques of a graph, as bit sets (Bron & Kerbosch 1973, with a pivot)."""
    waiting = [(0, (1 << len(near)) - 1, 0)]
    while waiting:
        clique, candidates, done = waiting.pop()
        if not candidates | done:
            yield clique
            continue
        pivot = max(_bits(candidates | done), key=lambda i: (candidates & near[i]).bit_count())
        for i in _bits(candidates & ~near[pivot]):
            waiting.append((clique | 1 << i, candidates & near[i], done & near[i]))
            candidates ^= 1 << i
            done |= 1 << i


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def tukey_test(means: Vector, error: Vector | float, freedom: int) -> Tukey:
    """Test all pairs of means. `error` is the standard error of a difference divided by √2, one number or runs × runs,
    and `freedom` its degrees of freedom."""
    runs = len(means)
    distance = np.abs(means[:, None] - means)
    error = np.broadcast_to(np.asarray(error, dtype=float), distance.shape)
    if not freedom:
        return Tukey(means, np.full((runs, runs), np.nan), np.full((runs, runs), np.nan))
    # A difference smaller than the rounding error counts as none.
    error = np.maximum(error, 1e-12 * float(np.abs(means).max()))
    p = np.ones((runs, runs))
    upper = np.triu_indices(runs, 1)
    q = np.divide(distance, error, out=np.zeros_like(distance), where=distance > 0)[upper]
    p[upper] = np.where(q == 0, 1.0, studentized_range_sf(q, runs, freedom))
    p.T[upper] = p[upper]
    return Tukey(means, studentized_range_critical(runs, freedom) * error, p)


@lru_cache(maxsize=8)
def _range_sf(runs: int) -> tuple[Vector, Vector]:
    """log P(the range of as many standard normal numbers > w), on a grid of w.

    If the largest number is z, at least one of the others lies below z − w. The probability is
    k ∫ φ(z) (Φ(z)^(k−1) − (Φ(z) − Φ(z − w))^(k−1)) dz, computed in a form that keeps small probabilities precise.
    """
    from scipy.special import log_ndtr

    w = np.linspace(0, 16, 8001)
    z = np.arange(-9, 9.01, 0.125)  # the trapezoidal rule converges fast on a density with normal tails
    weight = runs * 0.125 * np.exp(-z * z / 2 + (runs - 1) * log_ndtr(z)) / np.sqrt(2 * np.pi)
    below = np.exp(log_ndtr(z - w[:, None]) - log_ndtr(z))
    with np.errstate(divide="ignore"):
        some = -np.expm1((runs - 1) * np.log1p(-below))
    return w, np.log(some @ weight)


def studentized_range_sf(q: Vector, runs: int, freedom: int) -> Vector:
    """P(studentized range > q), for all q at once.

    The tail probability of the range is averaged over the logarithm x of the estimated standard deviation, whose
    density is proportional to exp(ν (x − e^2x / 2)). The step of the trapezoidal rule is half the density's width.
    Tests compare the result with scipy.stats.studentized_range, which takes twenty times as long and warns about its
    own integrals.
    """
    from scipy.special import gammaln

    w, tail = _range_sf(runs)
    half = freedom / 2
    reach = np.sqrt(40 / freedom)
    step = min(0.04, 0.5 / np.sqrt(2 * freedom))
    x = np.arange(-reach - 40.5 / freedom, reach, step)
    density = np.exp(np.log(2) + half * np.log(half) - gammaln(half) + freedom * (x - np.exp(2 * x) / 2))
    q = np.asarray(q, dtype=float)
    result = np.empty(q.shape)
    flat, out = q.reshape(-1), result.reshape(-1)
    rows = max(1, CHUNK // len(x))
    for begin in range(0, len(flat), rows):
        own = slice(begin, begin + rows)
        out[own] = np.exp(np.interp(flat[own, None] * np.exp(x), w, tail, right=-np.inf)) @ density * step
    return np.asarray(result.clip(max=1.0))


def studentized_range_critical(runs: int, freedom: int) -> float:
    """The q that the range exceeds with probability `LEVEL`, by bisection."""
    low, high = 0.0, 4.0
    while studentized_range_sf(np.array(high), runs, freedom) > LEVEL:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        if studentized_range_sf(np.array(middle), runs, freedom) > LEVEL:
            low = middle
        else:
            high = middle
    return (low + high) / 2
