"""Whether two runs differ: bootstrap and randomisation of paired differences, Holm's correction, intervals of ranks.

Questions without a score (NaN) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.statistics.intervals import CONFIDENCE

LEVEL = 1 - CONFIDENCE
DRAWS = 10_000
CHUNK = 2_000_000  # numbers at a time: 16 MB


def bootstrap_p(differences: Vector, seed: int = 0, draws: int = DRAWS) -> float:
    """Two-sided p of the mean of paired differences: how often the means of resampled questions, shifted to be centred
    on 0, lie at least as far out as this one (Efron & Tibshirani 1993, §16.4). NaN with fewer than two questions."""
    own = differences[~np.isnan(differences)]
    if len(own) < 2:
        return float("nan")
    value = float(own.mean())
    rng = np.random.default_rng([seed, 5])
    means = np.concatenate(
        [own[rng.integers(len(own), size=(rows, len(own)))].mean(axis=1) for rows in _chunks(draws, len(own))]
    )
    far = np.abs(means - value) >= abs(value) - _rounding(own)
    return (int(far.sum()) + 1) / (draws + 1)


def randomisation(differences: Vector, seed: int = 0, draws: int = DRAWS) -> Vector:
    """Two-sided p of the mean differences of pairs of runs (questions × pairs), if each question's difference could
    as well have the opposite sign (Fisher 1935, §21).

    It is exact for a pair with at most `draws` patterns of signs. Otherwise it is (k + 1) / (draws + 1) from random
    patterns, the same for all pairs. Identical runs have p = 1.
    """
    own = differences[~np.isnan(differences).any(axis=1)]
    result = np.full(own.shape[1], np.nan)
    if len(own) == 0:
        return result
    few = 2.0 ** (own != 0).sum(axis=0) <= draws
    for pair in np.flatnonzero(few):
        some = own[own[:, pair] != 0, pair]
        sums = np.zeros(1)
        for difference in some:
            sums = np.concatenate([sums + difference, sums - difference])
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
    rows = max(1, CHUNK // width)
    yield from (min(rows, draws - begin) for begin in range(0, draws, rows))


def _rounding(differences: Vector) -> Vector:
    """How much a sum may change with the order of its terms. Ties must be recognised in spite of it."""
    return np.asarray(1e-12 * np.abs(differences).sum(axis=0))


def holm(p: Vector) -> Vector:
    """p-values corrected for several tests (Holm 1979). NaN means that there was no test, and does not count."""
    flat = np.ravel(p)
    result = np.full(flat.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    steps = flat[order] * np.arange(len(order), 0, -1)
    result[order] = np.maximum.accumulate(steps).clip(max=1.0)
    return result.reshape(np.shape(p))


def rank_intervals(means: Vector) -> Ints:
    """runs × (low, high): the ranks that each run takes in 95 % of the draws (draws × runs). 1 is the highest mean.

    Tied runs share their ranks: the low end counts the runs above, the high end those above or level."""
    from scipy.stats import rankdata

    best, worst = (rankdata(-means, method=tied, axis=1) for tied in ("min", "max"))
    low = np.quantile(best, LEVEL / 2, axis=0, method="inverted_cdf")
    high = np.quantile(worst, 1 - LEVEL / 2, axis=0, method="inverted_cdf")
    return np.stack([low, high], axis=1).astype(np.int64)
