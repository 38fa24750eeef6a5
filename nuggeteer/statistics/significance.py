"""Whether runs differ: statistics of scores by question, on arrays.

Analysis of variance and Tukey's honestly significant difference over many runs, as Dang & Lin 2007 §3.2
use them; bootstrap and randomisation of the difference between two; Holm's correction; intervals of
ranks; agreement with official scores. Undefined questions (NaN) are left out of differences; of tables of variance, by
who makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.statistics.intervals import CONFIDENCE, bca_levels

LEVEL = 1 - CONFIDENCE
DRAWS = 10_000
_CHUNK = 2_000_000  # numbers at a time: 16 MB


@dataclass(frozen=True)
class Factor:
    """One line of a table of variance; `f` and `p` are NaN where there is no test."""

    squares: float
    freedom: int
    f: float
    p: float


@dataclass(frozen=True)
class Variance:
    """Two-way analysis of variance without replication: each run answers each question once.

    `means` are of the runs, over `size` questions; `mean_square` is the residual's. `judging`, runs × runs, is how
    much each difference of means varies with the verdicts that are guessed; 0 where all is known.
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
        """runs × runs: the standard error of a difference, over √2, from questions and from guesses."""
        return np.asarray(np.sqrt(self.mean_square / max(self.size, 1) + self.judging / 2))


def analyse_variance(runs: Sequence[Vector]) -> Variance:
    """Of the scores of each run: by question, or draws × questions where verdicts are guessed.

    Draws are taken as multiple imputations (Rubin 1987; Li, Raghunathan & Rubin 1991 for F): the residual is the
    mean over draws, and what the draws make a mean differ from draw to draw is added to its error.
    """
    values = [np.atleast_2d(own) for own in runs]
    draws, count, size = max(len(own) for own in values), len(values), values[0].shape[1]
    means = np.array([own.mean() if size else np.nan for own in values])
    by_run = np.empty((draws, count))
    by_question = np.zeros((draws, size))
    squares = np.zeros(draws)
    centre = means.mean()
    for place, own in enumerate(values):
        off = own - centre
        by_run[:, place] = off.mean(axis=1) if size else np.nan
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
    # What rounding leaves of a sum that is nothing would make any difference significant.
    least = 1e-13 * float(squares.mean())
    rest, between, across = (part if part > least else 0.0 for part in (rest, between, across))
    mean_square = rest / freedom
    off = by_run - by_run.mean(axis=0)
    # Not by linear algebra, whose threads take longer to start than this takes, and change the last bit.
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
    """The sum of squares between expected means (draws × means, of `each` values), and the mean over draws of the
    sum of squares of what they differ from these by."""
    off = means - means.mean(axis=1, keepdims=True)
    expected = off.mean(axis=0)
    return each * float((expected**2).sum()), each * float(((off - expected) ** 2).sum(axis=1).mean())


def _factor(squares: float, freedom: int, error: float, error_freedom: int) -> Factor:
    from scipy.special import fdtrc

    if error == 0:
        return Factor(squares, freedom, *((float("inf"), 0.0) if squares else (float("nan"), float("nan"))))
    f = squares / freedom / error
    return Factor(squares, freedom, f, float(fdtrc(freedom, error_freedom, f)))


@dataclass(frozen=True)
class Tukey:
    """Tukey's honestly significant difference of means.

    Two means that differ by more than `critical` (runs × runs) do so significantly; the chance that any pair of
    equal runs does is 5 %. `p` is runs × runs. NaN where there is no test."""

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
        """runs × runs: can the two be told apart."""
        return np.asarray(np.abs(self.means[:, None] - self.means) > self.critical)

    @property
    def significant(self) -> int:
        """How many pairs can be told apart."""
        return int(np.triu(self.apart, 1).sum())

    def groups(self) -> list[Ints]:
        """The largest sets of runs of which no two can be told apart; each from its highest mean down, and so are
        they."""
        order = np.argsort(-self.means, kind="stable")
        alike = ~self.apart[np.ix_(order, order)]
        near = [sum(1 << int(j) for j in np.flatnonzero(row) if j != i) for i, row in enumerate(alike)]
        found = [np.flatnonzero([members >> i & 1 for i in range(len(order))]) for members in _largest(near)]
        return [order[members] for members in sorted(found, key=lambda members: members.tolist())]


def _largest(near: Sequence[int]) -> Iterator[int]:
    """The maximal cliques of a graph, all in bits (Bron & Kerbosch 1973, with a pivot)."""
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


def tukey(means: Vector, error: Vector | float, freedom: int) -> Tukey:
    """From means, their differences' standard error over √2 (one, or runs × runs), and its degrees of freedom."""
    runs = len(means)
    distance = np.abs(means[:, None] - means)
    error = np.broadcast_to(np.asarray(error, dtype=float), distance.shape)
    if not freedom:
        return Tukey(means, np.full((runs, runs), np.nan), np.full((runs, runs), np.nan))
    # Less than rounding is no difference.
    error = np.maximum(error, 1e-12 * float(np.abs(means).max()))
    p = np.ones((runs, runs))
    upper = np.triu_indices(runs, 1)
    q = np.divide(distance, error, out=np.zeros_like(distance), where=distance > 0)[upper]
    p[upper] = np.where(q == 0, 1.0, studentized_range_sf(q, runs, freedom))
    p.T[upper] = p[upper]
    return Tukey(means, studentized_range_critical(runs, freedom) * error, p)


def contrast(variance: Variance) -> Vector:
    """Two-sided p of each run's difference from the first, by Student's t; NaN where there is no test, and where
    the residual is nothing: so few questions do not show how much they vary."""
    from scipy.special import stdtr

    if not variance.freedom or variance.mean_square == 0:
        same = variance.means[1:] == variance.means[0]
        return np.where(same & (variance.freedom > 0), 1.0, np.nan)
    t = (variance.means[1:] - variance.means[0]) / (np.sqrt(2) * variance.error[0, 1:])
    return np.asarray(2 * stdtr(variance.freedom, -np.abs(t)))


@lru_cache(maxsize=8)
def _range_sf(runs: int) -> tuple[Vector, Vector]:
    """log P(the range of as many standard normal numbers > w), on a grid of w.

    With the largest number at z, one of the others lies below z − w:
    k ∫ φ(z) (Φ(z)^(k−1) − (Φ(z) − Φ(z − w))^(k−1)) dz, in a form that keeps small probabilities precise.
    """
    from scipy.special import log_ndtr

    w = np.linspace(0, 16, 8001)
    z = np.arange(-9, 9.01, 0.125)  # the trapezoidal rule converges fast on what falls off like a normal density
    weight = runs * 0.125 * np.exp(-z * z / 2 + (runs - 1) * log_ndtr(z)) / np.sqrt(2 * np.pi)
    below = np.exp(log_ndtr(z - w[:, None]) - log_ndtr(z))
    with np.errstate(divide="ignore"):
        some = -np.expm1((runs - 1) * np.log1p(-below))
    return w, np.log(some @ weight)


def studentized_range_sf(q: Vector, runs: int, freedom: int) -> Vector:
    """P(studentized range > q), for all q at once.

    The mean of the range's own, over the logarithm x of the estimated deviation s, whose density is
    proportional to exp(ν (x − e^2x / 2)). A trapezoid's step is half the density's width; held to
    scipy.stats.studentized_range, which takes twenty times as long and warns of its own integrals.
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
    rows = max(1, _CHUNK // len(x))
    for begin in range(0, len(flat), rows):
        own = slice(begin, begin + rows)
        out[own] = np.exp(np.interp(flat[own, None] * np.exp(x), w, tail, right=-np.inf)) @ density * step
    return np.asarray(result.clip(max=1.0))


def studentized_range_critical(runs: int, freedom: int, level: float = LEVEL) -> float:
    """The q that is exceeded with probability `level`, by bisection."""
    low, high = 0.0, 4.0
    while studentized_range_sf(np.array(high), runs, freedom) > level:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        if studentized_range_sf(np.array(middle), runs, freedom) > level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@dataclass(frozen=True)
class Difference:
    """A mean difference over questions, with its 95 % interval and two-sided p; NaN for what cannot be said."""

    value: float
    low: float
    high: float
    p: float


def bootstrap_difference(differences: Vector, seed: int = 0, draws: int = DRAWS) -> Difference:
    """The mean of paired differences, questions resampled: a BCa interval, and as p how often means around no
    difference lie as far out (Efron & Tibshirani 1993, §16.4). One question tells nothing of others."""
    own = differences[~np.isnan(differences)]
    if len(own) == 0:
        return Difference(*[float("nan")] * 4)
    value = float(own.mean())
    if len(own) == 1:
        return Difference(value, float("nan"), float("nan"), float("nan"))
    rng = np.random.default_rng([seed, 5])
    means = np.concatenate(
        [own[rng.integers(len(own), size=(rows, len(own)))].mean(axis=1) for rows in _chunks(draws, len(own))]
    )
    far = np.abs(means - value) >= abs(value) - _rounding(own)
    p = (int(far.sum()) + 1) / (draws + 1)
    if np.ptp(own) == 0:
        return Difference(value, value, value, p)
    low, high = np.quantile(means, bca_levels(own, means))
    return Difference(value, float(low), float(high), p)


def randomisation(differences: Vector, seed: int = 0, draws: int = DRAWS) -> Vector:
    """Two-sided p of mean differences, questions × pairs, if the sign of each question's could as well be the
    other (Fisher 1935, §21).

    Exact where a pair has no more patterns of signs than `draws`; else (k + 1) / (draws + 1) of random
    ones, which all pairs share. No difference at all has p = 1.
    """
    own = differences[~np.isnan(differences).any(axis=1)]
    result = np.full(own.shape[1], np.nan)
    if len(own) == 0:
        return result
    few = 2.0 ** (own != 0).sum(axis=0) <= draws
    for pair in np.flatnonzero(few):
        some = own[own[:, pair] != 0, pair]
        sums = np.zeros(1)
        for one in some:
            sums = np.concatenate([sums + one, sums - one])
        result[pair] = np.mean(np.abs(sums) >= abs(some.sum()) - _rounding(some))
    many = own[:, ~few]
    if many.shape[1]:
        rng = np.random.default_rng([seed, 6])
        total = many.sum(axis=0)
        far = np.zeros(many.shape[1], dtype=np.int64)
        for rows in _chunks(draws, max(many.shape)):
            turned = rng.integers(0, 2, size=(rows, len(many)), dtype=np.int8).astype(float)
            far += (np.abs(total - 2 * (turned @ many)) >= np.abs(total) - _rounding(many)).sum(axis=0)
        result[~few] = (far + 1) / (draws + 1)
    return result


def _chunks(draws: int, width: int) -> Iterator[int]:
    rows = max(1, _CHUNK // width)
    yield from (min(rows, draws - begin) for begin in range(0, draws, rows))


def _rounding(differences: Vector) -> Vector:
    """What sums in another order may differ by: a tie must count as one."""
    return np.asarray(1e-12 * np.abs(differences).sum(axis=0))


def holm(p: Vector) -> Vector:
    """p corrected for being one of several (Holm 1979); NaN is no test, and does not count."""
    flat = np.ravel(p)
    result = np.full(flat.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    steps = flat[order] * np.arange(len(order), 0, -1)
    result[order] = np.maximum.accumulate(steps).clip(max=1.0)
    return result.reshape(np.shape(p))


def rank_intervals(means: Vector) -> Ints:
    """runs × (low, high): where 95 % of draws (draws × runs) rank each run, 1 being the highest mean.

    Ties share their ranks: the low end counts the runs above, the high end those above or level."""
    from scipy.stats import rankdata

    best, worst = (rankdata(-means, method=tied, axis=1) for tied in ("min", "max"))
    low = np.quantile(best, LEVEL / 2, axis=0, method="inverted_cdf")
    high = np.quantile(worst, 1 - LEVEL / 2, axis=0, method="inverted_cdf")
    return np.stack([low, high], axis=1).astype(np.int64)


@dataclass(frozen=True)
class Agreement:
    """How two lists of scores agree. NaN with fewer than three, or where all in a list are equal: nothing is
    said of an order then."""

    n: int
    kendall_tau: float
    pearson: float
    rmse: float

    @property
    def r_squared(self) -> float:
        return self.pearson**2


def agreement(a: Sequence[float] | Vector, b: Sequence[float] | Vector) -> Agreement:
    """Kendall's τ_b, Pearson's correlation and the root mean squared difference, where both are defined."""
    from scipy.stats import kendalltau

    one, other = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    if len(one) == 0:
        return Agreement(0, *[float("nan")] * 3)
    rmse = float(np.sqrt(np.mean((one - other) ** 2)))
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return Agreement(len(one), float("nan"), float("nan"), rmse)
    one_off, other_off = one - one.mean(), other - other.mean()
    pearson = float(one_off @ other_off / np.sqrt((one_off @ one_off) * (other_off @ other_off)))
    return Agreement(len(one), float(kendalltau(one, other).statistic), pearson, rmse)
