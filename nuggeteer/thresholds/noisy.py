"""The paper's noisy threshold models in the seat that decides guesses (Nuggeteer §2.4, 4.4), with draws from their
posteriors.

A draw has error rates α and β and a θ for each unit, together as probable as `steps` says they are. α and β come from
the density that `steps` integrates. First a node of its quadrature is taken, with the probability of its mass. Then a
place is drawn in the part of the plane that the node stands for. It is kept with a probability: the density there over
the density where it is highest. Given α and β, θ is in an interval between two scores by its share, and anywhere within
it. In `nugget-errors` the intervals come first, by their shares, and then α and β of each nugget from their beta
distributions below α + β = 1.

All systems are alike to these models, and given θ, α and β verdicts are independent. Systems are not alike, so the
intervals are too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Evidence, Units
from nuggeteer.thresholds.pooled import fit_pooled
from nuggeteer.thresholds.quadrature import spread_nodes
from nuggeteer.thresholds.rows import RandomRows, joined, random_rows
from nuggeteer.thresholds.sampled import LEVELS
from nuggeteer.thresholds.steps import Likelihood, StepFit, coin_evidence, fit_step_errors, fit_steps, sum_by_unit

Matrix = Vector
RATES = 250  # pairs of α and β that are drawn at least; each then stands for several draws of the thresholds
WORK = 4_000_000  # intervals of θ, times pairs of α and β, for which more are drawn
TRIED_AGAIN, SWEEPS = 12, 6  # to draw α + β < 1
TRIES = 4  # places that are looked at for each pair that is wanted
VERSION = 1  # of the draws
NAMES = ("coin", "global", "question", "nugget", "nugget-errors", "pooled")


@dataclass(frozen=True)
class Coin:
    """The baseline: one unknown bias for all pairs, whatever their scores; a yes is as probable as `yes` of `pairs`
    say."""

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
        return np.asarray(np.where(likely.any(axis=1), LEVELS[likely.argmax(axis=1)], np.nan)[position])

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
