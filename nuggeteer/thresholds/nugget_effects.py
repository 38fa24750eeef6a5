"""The effects of nuggets in the smooth model: step 2 of the fit (`learning.py`)."""

from __future__ import annotations

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.cells import GridLikelihood
from nuggeteer.thresholds.curve import GRID, STEEPNESS
from nuggeteer.thresholds.smooth import Prior

Matrix = Vector
STEEPNESS_WEIGHT = np.array([1 / 6, 2 / 3, 1 / 6])  # of the three points that stand for a normal distribution
SHARES = STEEPNESS_WEIGHT.sum() / STEEPNESS_WEIGHT[0]  # the multiples of the first that all of them are
STEEPNESS_SPREADS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # the σ_t that are tried, on this many nuggets at most:
STEEPNESS_NUGGETS = 200
# The μ that are tried, and the σ_a as multiples of that of step 1; those that are tried first, and how far beside the
# best one others are.
MEANS, RATIOS = np.arange(-2.0, 2.01, 0.1), np.exp(np.arange(-0.7, 1.01, 0.1))
FIRST = np.arange(0, len(MEANS), 4)[:, None], np.array([0, 3, 6, 9, 12, 15, 17])
BESIDE = 4, 3
KEPT = 1 << 23  # log likelihoods of groups; more are worked out when they are needed


class NuggetEffects:
    """Step 2: exact posteriors of (t, a), and μ, σ_a, σ_t of highest marginal likelihood, with a weak prior.

    Where σ_t is 0, there is one t, and its likelihood is worked out once."""

    def __init__(self, likelihood: GridLikelihood, start: float, prior: Prior) -> None:
        self._start, self._prior = start, prior
        every = max(1, -(-likelihood.nuggets // STEEPNESS_NUGGETS))
        some = np.flatnonzero(likelihood.cells.nugget % every == 0)
        self.steepness = 0.0
        if len(some):
            self.steepness = max(STEEPNESS_SPREADS, key=lambda spread: self._value(likelihood, spread, some))
        steepness, of_steepness = _points(self.steepness)
        self.of_groups = _of_groups(likelihood, steepness)
        self.asked, log_likelihood = _summed(self.of_groups) or likelihood.of_nuggets(steepness)
        scaled = _Scaled(log_likelihood, of_steepness)
        (mean, self.sigma), self.log_marginal = self._best(scaled)
        density = _densities(np.array([mean]), np.array([self.sigma]))[:, 0]
        self.log_likelihood, self.points = log_likelihood, steepness
        self.density = (of_steepness[:, None] * density).ravel()
        known = scaled.values * self.density
        known /= known.sum(axis=1, keepdims=True)
        # A nugget without verdicts has the density that they all have beforehand.
        posterior = np.tile(self.density / self.density.sum(), (likelihood.nuggets, 1))
        posterior[self.asked] = known
        self.posterior = _for_all_steepness(_rounded(posterior) if len(steepness) > 1 else _rounded(posterior / SHARES))

    def _value(self, likelihood: GridLikelihood, spread: float, some: Ints) -> float:
        """The log marginal likelihood of some nuggets with this σ_t, and its prior, at the best μ and σ_a."""
        steepness, of_steepness = _points(spread)
        scaled = _Scaled(likelihood.of_nuggets(steepness, some)[1], of_steepness)
        (mean, sigma), value = self._best(scaled)
        return value + float(self._belief(np.array(mean), np.array(sigma)))

    def _best(self, scaled: _Scaled) -> tuple[tuple[float, float], float]:
        """The best μ and σ_a, and their log marginal likelihood.

        Of all that may be tried, every few are, and then those beside the best one, until it is better than all
        around it."""
        value = np.full((len(MEANS), len(RATIOS)), -np.inf)
        marginal = value.copy()
        wanted = np.zeros(value.shape, dtype=bool)
        wanted[FIRST] = True
        while wanted.any():
            at, ratio = np.nonzero(wanted)
            mean, sigma = MEANS[at], self._start * RATIOS[ratio]
            marginal[wanted] = scaled.log_marginals(_densities(mean, sigma))
            value[wanted] = marginal[wanted] + self._belief(mean, sigma)
            best, best_ratio = np.unravel_index(int(np.argmax(value)), value.shape)
            beside = slice(max(best - BESIDE[0], 0), best + BESIDE[0] + 1)
            wanted[:] = False
            wanted[beside, max(best_ratio - BESIDE[1], 0) : best_ratio + BESIDE[1] + 1] = True
            wanted &= np.isneginf(value)
        return (float(MEANS[best]), float(self._start * RATIOS[best_ratio])), float(marginal[best, best_ratio])

    def _belief(self, mean: Vector, sigma: Vector) -> Vector:
        """As much as `weight` nuggets would say of the mean and of the spread."""
        off = (mean / self._prior.nugget) ** 2 + np.log(sigma / self._prior.nugget) ** 2
        return np.asarray(-0.5 * self._prior.weight * off)


def _of_groups(likelihood: GridLikelihood, steepness: Vector) -> list[tuple[Ints, Matrix]]:
    """Of each group, the nuggets that it has verdicts on and their log likelihoods; none if that would be too much."""
    cells, groups = likelihood.cells, range(len(likelihood.group))
    if len(groups) * likelihood.nuggets * len(steepness) * len(GRID) > KEPT:
        return []
    return [likelihood.of_nuggets(steepness, np.flatnonzero(cells.group == group)) for group in groups]


def _summed(of_groups: list[tuple[Ints, Matrix]]) -> tuple[Ints, Matrix] | None:
    if not of_groups:
        return None
    asked = np.unique(np.concatenate([nuggets for nuggets, _ in of_groups]))
    result = np.zeros((len(asked), of_groups[0][1].shape[1]))
    for nuggets, own in of_groups:
        result[np.searchsorted(asked, nuggets)] += own
    return asked, result


def _rounded(weights: Matrix) -> Matrix:
    """To numbers that single precision holds, so that they take half of the space in a file."""
    return np.asarray(weights.astype(np.float32), dtype=float)


def _for_all_steepness(weights: Matrix) -> Matrix:
    """nuggets × (steepness × GRID), where the `weights` may be those of the first t only, and those of the others
    multiples of them."""
    if weights.shape[1:] != GRID.shape:
        return weights
    return np.concatenate([weights * share for share in STEEPNESS_WEIGHT / STEEPNESS_WEIGHT[0]], axis=1)


def packed_weights(posterior: Matrix) -> Matrix:
    """The posterior of each (t, a) for a file: exact, in as little space as it takes."""
    first = posterior[:, : len(GRID)]
    alike = np.array_equal(_for_all_steepness(first), posterior)
    return (first if alike else posterior).astype(np.float32)


def unpacked_weights(packed: Matrix) -> Matrix:
    """What `packed_weights` packed."""
    return _for_all_steepness(packed.astype(float))


def _points(spread: float) -> tuple[Vector, Vector]:
    """The t that stand for a σ_t, and their weights."""
    return (np.exp(spread * STEEPNESS), STEEPNESS_WEIGHT) if spread else (np.ones(1), np.ones(1))


def _densities(mean: Vector, sigma: Vector) -> Matrix:
    """GRID × normal densities."""
    density = np.exp(-0.5 * ((GRID[:, None] - mean) / sigma) ** 2)
    return np.asarray(density / density.sum(axis=0))


class _Scaled:
    """Likelihoods of nuggets with verdicts, each as a share of its highest."""

    def __init__(self, log_likelihood: Matrix, of_steepness: Vector) -> None:
        top = log_likelihood.max(axis=1, keepdims=True)
        self.values = np.exp(log_likelihood - top)
        self._top = float(top.sum())
        self._over_steepness = of_steepness @ self.values.reshape(len(top), len(of_steepness), len(GRID))

    def log_marginals(self, densities: Matrix) -> Vector:
        """With each density of a, over all nuggets."""
        return np.asarray(np.log(self._over_steepness @ densities).sum(axis=0) + self._top)
