"""Tukey's test of honestly significant differences between the means of several runs.

The test needs the distribution of the studentized range, which is computed here because scipy's takes much longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.statistics.significance import CHUNK, LEVEL


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


def studentized_range_critical(runs: int, freedom: int, level: float = LEVEL) -> float:
    """The q that the range exceeds with probability `level`, by bisection."""
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
