"""The paper's noisy threshold models, deciding guesses (Nuggeteer §2.4, 4.4), with draws from their posteriors.

A draw has error rates α and β and a θ for each unit, with the joint probability that `steps` finds. α and β come from
the density that `steps` integrates. First a node of its quadrature is taken, with the probability of its mass. Then a
place is drawn in the part of the plane that the node stands for. It is kept with a probability: the density there over
the density where it is highest. Given α and β, θ falls into an interval between two scores with the probability of its
share, and anywhere within it. In `nugget-errors` the intervals come first, by their shares, and then α and β of each
nugget from their beta distributions below α + β = 1.

In these models all systems are alike, and given θ, α and β verdicts are independent. Systems are not alike, so the
intervals are too narrow.

`pooled` is ours: a hard step for every nugget, and the thresholds of all nuggets come from one learned Beta
distribution. In the paper's per-nugget model θ is uniform, so the threshold of a nugget without a yes may be anywhere.
Here θ ~ Beta(mκ, (1 − m)κ), with m uniform on [0, 1] and log κ ~ N(log 4, 1.5²). Given m and κ everything is exact, as
in `steps`. Laplace's method around their mode integrates over m and κ.

What the posterior says about each parameter by itself is computed, not drawn. θ of a unit lies in each interval between
two scores with the probability that `steps` finds, and anywhere within it, so its distribution function is piecewise
linear. A common α or β is what `quadrature` integrates: α is the first axis of its square, and for β the square is laid
out the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from nuggeteer.records import Ints, Matrix, Vector
from nuggeteer.thresholds.model import LEVELS, Evidence, Units, lowest_level
from nuggeteer.thresholds.quadrature import Marginal, Nodes, locate, resolve, spread_nodes
from nuggeteer.thresholds.rows import RandomRows, joined, random_rows
from nuggeteer.thresholds.steps import (
    BEYOND,
    LOG10,
    Likelihood,
    StepFit,
    Steps,
    coin_evidence,
    fit_given,
    fit_step_errors,
    fit_steps,
    steps_of,
    sum_by_unit,
)

PRIOR_LOG_KAPPA = (math.log(4), 1.5)
PLACES = np.arange(1, 32) / 32  # of θ, at which its intervals are cut
TINY = 1e-290


def fit_pooled(evidence: Evidence, uniform: StepFit | None = None) -> StepFit:
    """Fit the model. Its α, β and θ are those at the best m and κ. `uniform` is the fit of `nugget` to this evidence,
    if there is one already."""
    from scipy.optimize import minimize  # a quarter of a second, for this only

    own = np.arange(evidence.nuggets)
    # Between two scores, and for a nugget without any, θ follows the distribution.
    steps = steps_of(evidence, evidence.nugget, evidence.nuggets).cut(PLACES)
    uniform = uniform or fit_steps("nugget", evidence)
    log_width = np.log(uniform.steps.high - uniform.steps.low)

    def log_prior(point: Vector) -> float:
        mean, (centre, spread) = float(scipy.special.expit(point[0])), PRIOR_LOG_KAPPA
        normal = -0.5 * ((point[1] - centre) / spread) ** 2 - math.log(spread * math.sqrt(2 * math.pi))
        return float(math.log(mean * (1 - mean)) + normal)

    def log_posterior(point: Vector) -> float:
        """Relative to the uniform model: the expected ratio of the two priors under its posterior of each θ."""
        ratio = np.exp(_log_mass(uniform.steps, *point) - log_width) * uniform.share
        return float(np.log(np.maximum(np.add.reduceat(ratio, uniform.steps.start), TINY)).sum()) + log_prior(point)

    low, high = np.array([-6.0, -2.0]), np.array([6.0, 8.0])
    best = minimize(
        lambda point: -log_posterior(np.clip(point, low, high)),
        np.array([-0.5, PRIOR_LOG_KAPPA[0]]),
        method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 0.001},
    )
    mode = np.clip(best.x, low, high)
    fit = fit_given("pooled", steps, _log_mass(steps, *mode), own, uniform.cells)
    volume = math.log(2 * math.pi) - 0.5 * math.log(_curvature(log_posterior, mode))
    log_evidence = fit.log10_evidence * LOG10 + log_prior(mode) + volume
    return replace(fit, log10_evidence=log_evidence / LOG10)


def _log_mass(steps: Steps, logit_mean: float, log_kappa: float) -> Vector:
    """The log probability of each interval of θ under the Beta distribution."""
    mean, kappa = float(scipy.special.expit(logit_mean)), math.exp(log_kappa)
    ends, position = np.unique(np.concatenate([steps.low, steps.high]), return_inverse=True)
    below = scipy.special.betainc(mean * kappa, (1 - mean) * kappa, ends)[position]
    half = len(steps.low)
    return np.asarray(np.log(np.maximum(below[half:] - below[:half], TINY)))


def _curvature(log_posterior: Callable[[Vector], float], mode: Vector) -> float:
    """The determinant of the curvature at the mode, by finite differences."""
    h = 0.1
    f = {(i, j): log_posterior(mode + h * np.array([i, j])) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    xx = (f[1, 0] + f[-1, 0] - 2 * f[0, 0]) / h**2
    yy = (f[0, 1] + f[0, -1] - 2 * f[0, 0]) / h**2
    xy = (f[1, 1] + f[-1, -1] - f[1, -1] - f[-1, 1]) / (4 * h**2)
    return float(max(xx * yy - xy**2, 1e-6))


RATES = 250  # pairs of α and β to draw at least; each then serves several draws of the thresholds
WORK = 4_000_000  # intervals of θ, times pairs of α and β, for which more are drawn
TRIED_AGAIN, SWEEPS = 12, 6  # to draw α + β < 1
TRIES = 4  # places that are looked at for each pair that is wanted
VERSION = 2  # of the draws and of the fits
NAMES = ("coin", "global", "question", "nugget", "nugget-errors", "pooled")


@dataclass(frozen=True)
class Coin:
    """The baseline: one unknown bias for all pairs, whatever their scores. How probable a yes is comes from `yes` of
    `pairs`."""

    log10_evidence: float
    yes: int
    pairs: int

    @property
    def bias(self) -> float:
        return (self.yes + 1) / (self.pairs + 2)

    def probability(self, units: Units) -> Vector:
        return np.full(len(units), self.bias)


def fit_coin(evidence: Evidence) -> Coin:
    return Coin(coin_evidence(evidence), int(evidence.yes.sum()), len(evidence))


@dataclass(frozen=True)
class NoisyThreshold:
    """A fit of one of the models as a threshold model."""

    name: str
    fit: StepFit | Coin
    nuggets: int

    @property
    def signature(self) -> str:
        if isinstance(self.fit, Coin):
            return f"coin(bias={self.fit.bias:.3g},pairs={self.fit.pairs})"
        alpha, beta = self.fit.errors
        return f"{self.name}(alpha={alpha:.3g},beta={beta:.3g},log10_evidence={self.fit.log10_evidence:.6g})"

    @property
    def pairs(self) -> int:
        """How many judged pairs it has learned from."""
        return self.fit.pairs if isinstance(self.fit, Coin) else self.fit.steps.pairs

    def threshold(self, nugget: Ints) -> Vector:
        """The lowest match score at which a yes is more probable than a no, NaN if there is none."""
        asked, position = np.unique(nugget, return_inverse=True)
        units = Units.of_scores(np.tile(LEVELS, len(asked)), np.repeat(asked, len(LEVELS)))
        likely = self.fit.probability(units).reshape(len(asked), len(LEVELS)) >= 0.5
        return np.asarray(lowest_level(likely)[position])

    def probability(self, units: Units) -> Vector:
        """P(yes) of each unit, exactly."""
        return self.fit.probability(units)

    def draw(self, count: int, seed: int) -> NoisyDraws:
        rng = np.random.Generator(np.random.PCG64([seed, 1]))
        if isinstance(self.fit, Coin):
            bias = rng.beta(self.fit.yes + 1, self.fit.pairs - self.fit.yes + 1, count)[None]
            unit = np.zeros(self.nuggets, dtype=np.int64)
            return NoisyDraws(unit, np.zeros((1, count)), bias, 1 - bias)
        rows = random_rows(count, seed)
        if self.fit.nodes is None:
            return _with_own_errors(self.fit, rows, rng)
        return _with_common_errors(self.fit, rows, rng)


def fit(name: str, evidence: Evidence) -> StepFit | Coin:
    """Fit the model of this name."""
    if name == "coin":
        return fit_coin(evidence)
    if name == "pooled":
        return fit_pooled(evidence)
    return fit_step_errors(evidence) if name == "nugget-errors" else fit_steps(name, evidence)


@dataclass(frozen=True)
class NoisyDraws:
    """Draws of θ (units × draws), and of α and β (units × draws, or one row for all units)."""

    unit_of_nugget: Ints
    theta: Matrix
    alpha: Matrix
    beta: Matrix

    @property
    def count(self) -> int:
        return int(self.theta.shape[1])

    def chances(self, units: Units) -> Matrix:
        """units × draws: an answer has the nugget if its best response has (`model.Draws`). All systems are alike."""
        unit = self.unit_of_nugget[units.nugget]
        rates = unit if len(self.alpha) > 1 else np.zeros_like(unit)
        return np.where(units.scores[:, None] > self.theta[unit], 1 - self.beta[rates], self.alpha[rates])


def _with_common_errors(fit: StepFit, rows: RandomRows, rng: np.random.Generator) -> NoisyDraws:
    likelihood = Likelihood(fit.steps, fit.log_width)
    u, v = _rates(fit, likelihood, min(max(WORK // len(fit.steps.low), RATES), rows.count), rng)
    repeated = np.arange(rows.count) * len(u) // rows.count
    ends = np.searchsorted(repeated, np.arange(len(u) + 1))
    uniform = rows.uniform(joined(np.arange(fit.steps.units), 9)).astype(float)
    theta = np.empty((fit.steps.units, rows.count), dtype=np.float32)
    for block in likelihood.blocks(len(u)):
        _, shares = sum_by_unit(likelihood.terms(u[block], v[block]), fit.steps.start)
        for i, share in zip(range(len(u))[block], shares, strict=True):
            own = slice(ends[i], ends[i + 1])
            theta[:, own] = _placed(fit, np.cumsum(share), uniform[:, own])
    alpha, beta = u[repeated], ((1 - u) * v)[repeated]
    return NoisyDraws(fit.unit_of_nugget, theta, alpha[None], beta[None])


def _placed(fit: StepFit, upto: Vector, uniform: Matrix) -> Matrix:
    """units × draws: θ where each unit's shares reach these numbers; `upto` has the sums of shares."""
    steps = fit.steps
    ends = np.append(steps.start[1:], len(steps.low)) - 1
    before = np.append(0.0, upto[ends])[: steps.units, None]
    wanted = before + uniform * (upto[ends][:, None] - before)
    interval = np.clip(np.searchsorted(upto, wanted), steps.start[:, None], ends[:, None])
    low = np.append(0.0, upto)[interval]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num((wanted - low) / (upto[interval] - low)).clip(0, 1)
    return np.asarray(steps.low[interval] + part * (steps.high - steps.low)[interval])


def _rates(fit: StepFit, likelihood: Likelihood, count: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Draws of (u, v), of which α and β are made (`steps.Likelihood`)."""
    assert fit.nodes is not None
    u, v, log_density = spread_nodes(fit.nodes, count * TRIES, rng)
    log_ratio = likelihood(u, v) - log_density
    # Resampling by the ratio is exact in the limit; the ratios differ little, because the nodes are close.
    weight = np.exp(log_ratio - log_ratio.max())
    chosen = np.searchsorted(np.cumsum(weight) / weight.sum(), (np.arange(count) + rng.random()) / count)
    chosen = rng.permutation(chosen.clip(max=len(u) - 1))
    return u[chosen], v[chosen]


def _with_own_errors(fit: StepFit, rows: RandomRows, rng: np.random.Generator) -> NoisyDraws:
    units = fit.steps.units
    upto = np.cumsum(fit.share)
    uniform = rows.uniform(joined(np.arange(units), 9)).astype(float)
    theta = _placed(fit, upto, uniform)
    at = np.searchsorted(fit.steps.unit * 2.0 + fit.steps.low, np.arange(units)[:, None] * 2.0 + theta, "right") - 1
    above_yes, above_no, below_yes, below_no = np.moveaxis(fit.steps.counts[at.clip(0)], 2, 0)
    alpha, beta = np.empty(theta.shape), np.empty(theta.shape)
    left = np.ones(theta.shape, dtype=bool)
    for _ in range(TRIED_AGAIN):
        alpha[left] = rng.beta(below_yes[left] + 1, below_no[left] + 1)
        beta[left] = rng.beta(above_no[left] + 1, above_yes[left] + 1)
        left &= alpha + beta >= 1
    if left.any():
        counts = (below_yes[left] + 1, below_no[left] + 1, above_no[left] + 1, above_yes[left] + 1)
        alpha[left], beta[left] = _below_the_line(*counts, rng)
    return NoisyDraws(fit.unit_of_nugget, theta.astype(np.float32), alpha, beta)


def _below_the_line(a: Vector, b: Vector, c: Vector, d: Vector, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """α ~ Beta(a, b) and β ~ Beta(c, d), given α + β < 1, where that is improbable: by turns (Gibbs sampling), from
    where the line is crossed."""
    alpha, beta = a / (a + b), c / (c + d)
    alpha, beta = alpha / (alpha + beta + 1e-9), beta / (alpha + beta + 1e-9)
    for _ in range(SWEEPS):
        alpha = scipy.special.betaincinv(a, b, rng.random(len(a)) * scipy.special.betainc(a, b, 1 - beta))
        beta = scipy.special.betaincinv(c, d, rng.random(len(a)) * scipy.special.betainc(c, d, 1 - alpha))
    return alpha, beta


def fit_noise_model(name: str, evidence: Evidence) -> NoisyThreshold:
    """The model of this name, fitted."""
    return NoisyThreshold(name, fit(name, evidence), evidence.nuggets)


ROOM = 0.05  # of the box in which the density lies, on each side
WITHIN = 30.0  # nodes below e^−30 of the heaviest are not in the box


def theta_quantiles(fit: StepFit, level: float) -> Vector:
    """The θ of each unit below which this share of its posterior lies."""
    steps = fit.steps
    ends = np.append(steps.start[1:], len(steps.low)) - 1
    upto = np.cumsum(fit.share)
    before = np.append(0.0, upto)[steps.start]
    wanted = before + level * (upto[ends] - before)
    interval = np.clip(np.searchsorted(upto, wanted), steps.start, ends)
    share = fit.share[interval]
    part = np.divide(wanted - (upto[interval] - share), share, out=np.zeros_like(wanted), where=share > 0)
    return np.asarray(steps.low[interval] + part.clip(0, 1) * (steps.high - steps.low)[interval])


def common_rates(fit: StepFit) -> tuple[Marginal, Marginal]:
    """The posteriors of α and β that all units share."""
    assert fit.nodes is not None
    return Marginal(fit.nodes), Marginal(_other_way_round(fit, fit.nodes))


def _other_way_round(fit: StepFit, nodes: Nodes) -> Nodes:
    """The same posterior with β = u and α = (1 − u) v."""
    likelihood = Likelihood(fit.steps, fit.log_width)

    def log_density(u: Vector, v: Vector) -> Vector:
        alpha = (1 - u) * v
        # The density of (α, β) itself, then that of (u, v): the squares are stretched by 1 − α and by 1 − u.
        return likelihood(alpha, (u / (1 - alpha)).clip(max=1.0)) - np.log1p(-alpha) + np.log1p(-u)

    heavy = nodes.log_mass > nodes.log_mass.max() - WITHIN
    alpha, beta = nodes.u[heavy], ((1 - nodes.u) * nodes.v)[heavy]
    box = []
    for own in (beta, alpha / (1 - beta)):
        room = ROOM * np.ptp(own) + 1e-9
        box += [max(own.min() - room, 0.0), min(own.max() + room, 1.0)]
    return resolve(log_density, locate(log_density, np.array([box]), BEYOND))
