"""A smooth threshold for every nugget, learned together: the model that decides guesses by default.

    logit P(yes | s, nugget j of question q, group r) = b₀ + b₁(√s − ½) + b₂(s − 0.3) + a_j + c_q + v_r

The match score speaks through a smooth curve, not a step; nuggets differ in how readily assessors saw them (a),
so do questions (c) and systems (v): a_j ~ N(μ, σ_a²), c_q ~ N(0, σ_c²), v_r ~ N(0, σ_v²). The spreads are
learned, so a nugget without a single yes still gets a sensible threshold with an honest width, and a system that
nobody judged is allowed to be unlike the others.

How it is fitted. (1) Newton steps on the joint posterior of b, a, c, v, given the spreads; the spreads from the
second moments of the effects (EM). The nuggets' own block is diagonal and is eliminated. (2) That is too kind to
nuggets with few yes, whose posterior is far from normal: given b, c and v, each a_j gets its exact posterior on a
grid, and μ, σ_a their values of highest marginal likelihood. Without this step rare nuggets were found twice as
often as they should have been (TREC TS 2014: 0.059 predicted, 0.030 true, of the answers below 0.1). (3) The
spread between groups is taken from how far each group's *score* is from what the model expects of it *without*
having seen it, since that is the question asked of a new build; nuggets count as they do in the score. On REALSumm
those displacements are 1.3 to 1.5 times those of pairs that count alike.

Pairs are counted in cells of (nugget, group, √s in steps of 0.01), which no figure above notices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, ndtri

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Evidence

Matrix = Vector
BINS = 100
GRID = np.linspace(-10.0, 8.0, 61)  # of a nugget's a
CURVE = 3  # coefficients of the curve
ROUNDS = 40
SIGMAS = 64  # equally probable values that stand for the posterior of σ_v
SCENARIOS = 2 * CURVE  # curves from the posterior, among the draws


def curve(scores: Vector) -> Matrix:
    """pairs × 3: what the coefficients b multiply."""
    return np.stack([np.ones_like(scores), np.sqrt(scores) - 0.5, scores - 0.3], axis=1)


@dataclass(frozen=True)
class Prior:
    """What is believed before the first judgement. The spreads weigh as much as `weight` effects seen."""

    b: Vector
    b_covariance: Matrix
    nugget: float
    question: float
    group: float
    weight: float = 4.0

    @property
    def signature(self) -> str:
        values = [*self.b, *self.b_covariance.ravel(), self.nugget, self.question, self.group, self.weight]
        return f"prior({','.join(f'{value:.4g}' for value in values)})"


@dataclass(frozen=True)
class Cells:
    """Judged pairs, counted: `yes` of `count` pairs of a nugget, in a group, at about one score."""

    nugget: Ints
    group: Ints
    score: Vector
    count: Vector
    yes: Vector


def cells_of(evidence: Evidence) -> Cells:
    level = np.rint(np.sqrt(evidence.scores) * BINS).astype(np.int64)
    groups = max(len(evidence.groups), 1)
    code = (evidence.nugget * groups + evidence.group) * (BINS + 1) + level
    codes, cell, count = np.unique(code, return_inverse=True, return_counts=True)
    yes = np.bincount(cell, weights=evidence.yes, minlength=len(codes))
    rest, level = np.divmod(codes, BINS + 1)
    nugget, group = np.divmod(rest, groups)
    return Cells(nugget, group, (level / BINS) ** 2, count.astype(float), yes.astype(float))


@dataclass(frozen=True)
class SmoothFit:
    """The fitted model."""

    b: Vector
    b_covariance: Matrix
    question: Vector  # c
    question_spread: Vector  # posterior standard deviation of each c
    question_of_nugget: Ints
    nugget_weights: Matrix  # nuggets × GRID, the posterior of each a
    group_names: tuple[str, ...]
    group: Vector  # v of the groups with judgements
    group_spread: Vector
    new_group: Vector  # equally probable values of σ_v, for groups without judgements
    spreads: tuple[float, float, float]  # σ_a, σ_c, σ_v
    pairs: int
    log10_evidence: float

    @classmethod
    def from_arrays(cls, values: Mapping[str, Any]) -> SmoothFit:
        """A fit from its fields as arrays, of the shapes that belong together."""
        nuggets, groups = len(values["question_of_nugget"]), len(values["group_names"])
        shapes = {
            "b": (CURVE,),
            "b_covariance": (CURVE, CURVE),
            "question_spread": values["question"].shape,
            "nugget_weights": (nuggets, len(GRID)),
            "group": (groups,),
            "group_spread": (groups,),
            "new_group": (SIGMAS,),
            "spreads": (3,),
        }
        if any(values[name].shape != shape for name, shape in shapes.items()):
            raise ValueError("arrays of other shapes")
        typed: dict[str, Any] = {
            **values,
            "group_names": tuple(map(str, values["group_names"])),
            "spreads": tuple(map(float, values["spreads"])),
            "pairs": int(values["pairs"]),
            "log10_evidence": float(values["log10_evidence"]),
        }
        return cls(**typed)

    @property
    def signature(self) -> str:
        a, c, v = self.spreads
        b = ",".join(f"{value:.3g}" for value in self.b)
        return f"smooth(b={b},nugget={a:.3g},question={c:.3g},group={v:.3g},pairs={self.pairs})"

    def effect_of_group(self, name: str | None) -> tuple[float, Vector]:
        """The mean of a group's v, and equally probable values of its standard deviation."""
        if name in self.group_names:
            at = self.group_names.index(name)
            return float(self.group[at]), self.group_spread[at : at + 1]
        return 0.0, self.new_group

    def probability(self, scores: Vector, nugget: Ints, group: str | None = None) -> Vector:
        """P(yes) of each pair, with all that is unknown integrated out."""
        table = self._by_level(group)
        level = np.rint(np.sqrt(scores) * BINS).astype(np.int64)
        return np.asarray(table[nugget, level])

    def threshold(self, nugget: Ints) -> Vector:
        """The least match score at which a response is more probably a yes than not; NaN where none is."""
        likely = self._by_level(None) >= 0.5
        first = np.where(likely.any(axis=1), (likely.argmax(axis=1) / BINS) ** 2, np.nan)
        return np.asarray(first[nugget])

    def _by_level(self, group: str | None) -> Matrix:
        """nuggets × levels of √s: the probability of a yes."""
        if group not in self._tables:
            mean, spread = self.effect_of_group(group)
            levels = curve((np.arange(BINS + 1) / BINS) ** 2)
            noise = np.einsum("lk,km,lm->l", levels, self.b_covariance, levels)
            shift = self.question[self.question_of_nugget] + mean
            spread_of = self.question_spread[self.question_of_nugget] ** 2 + (spread**2).mean()
            table = np.zeros((len(shift), BINS + 1))
            for level in range(BINS + 1):
                centre = levels[level] @ self.b + shift
                scale = 1 / np.sqrt(1 + np.pi * (spread_of + noise[level]) / 8)
                # A normal mean of logits, by the probit approximation (MacKay 1992), over the grid of a.
                inside = expit((centre[:, None] + GRID) * scale[:, None])
                table[:, level] = (self.nugget_weights * inside).sum(axis=1)
            self._tables[group] = table
        return self._tables[group]

    @cached_property
    def _tables(self) -> dict[str | None, Matrix]:
        return {}

    def draw(self, count: int, seed: int) -> SmoothDraws:
        """Draws from the posterior, to ask for chances in."""
        return SmoothDraws(self, count, seed)


class SmoothDraws:
    """Joint draws of everything unknown. The same draws serve all runs, so that runs can be compared."""

    def __init__(self, fit: SmoothFit, count: int, seed: int) -> None:
        rng = np.random.Generator(np.random.PCG64([seed, 1]))
        self.fit, self.count = fit, count
        self.scenario = np.arange(count) % SCENARIOS
        root = np.linalg.cholesky(fit.b_covariance + 1e-12 * np.eye(CURVE))
        # The points of the spherical cubature rule: few, and of exactly the posterior's mean and covariance.
        axes = np.sqrt(CURVE) * np.eye(CURVE)
        self.b = fit.b + np.concatenate([axes, -axes]) @ root.T
        spread = fit.question_spread * rng.standard_normal((count, len(fit.question)))
        shift = (fit.question + spread)[:, fit.question_of_nugget]
        cumulative = np.cumsum(fit.nugget_weights, axis=1)
        uniform = rng.random((count, len(fit.nugget_weights)))
        edges = GRID + (GRID[1] - GRID[0]) / 2
        for nugget, cum in enumerate(cumulative):
            shift[:, nugget] += np.interp(uniform[:, nugget], cum, edges)
        self.shift = shift
        self._seed = seed

    def _effect(self, group: str | None, mean: float, spread: Vector) -> Vector:
        """Draws of a group's v: of each group its own, and the same whenever it is asked for.

        They are stratified, for v moves a score more than all else, and the score must not move with the seed."""
        name = int.from_bytes(
            blake2b((group or "").encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
        )
        rng = np.random.Generator(np.random.PCG64([self._seed, 3, name]))
        strata = (rng.permutation(self.count) + rng.random(self.count)) / self.count
        which = (rng.permutation(self.count) * len(spread)) // self.count
        return np.asarray(mean + spread[which] * ndtri(strata))

    def chances(self, scores: Vector, nugget: Ints, group: str | None) -> Matrix:
        """draws × nuggets: the probability that some of these responses carries the nugget.

        All responses of a group share its v, and all responses to a nugget its a."""
        mean, spread = self.fit.effect_of_group(group)
        effect = self._effect(group, mean, spread)
        levels = np.rint(np.sqrt(scores) * BINS).astype(np.int64)
        codes, pairs = np.unique(nugget * (BINS + 1) + levels, return_counts=True)
        owner, level = np.divmod(codes, BINS + 1)
        result = np.zeros((self.count, len(self.fit.nugget_weights)))
        asked = np.unique(owner)
        if not len(asked):
            return result
        start = np.searchsorted(owner, asked)
        features = curve((level / BINS) ** 2)
        for scenario in range(SCENARIOS):
            rows = np.flatnonzero(self.scenario == scenario)
            base = features @ self.b[scenario]
            delta = self.shift[np.ix_(rows, asked)] + effect[rows, None]
            # log P(no response carries it), on a grid of shifts, then looked up between its points.
            none = log_expit(-(base[:, None] + SHIFTS)) * pairs[:, None]
            table = np.add.reduceat(none, start, axis=0)
            place = np.clip((delta - SHIFTS[0]) / SHIFT_STEP, 0, len(SHIFTS) - 1.001)
            left = place.astype(np.int64)
            part = place - left
            column = np.arange(len(asked))
            survive = table[column, left] * (1 - part) + table[column, left + 1] * part
            result[np.ix_(rows, asked)] = -np.expm1(survive)
        return result


SHIFT_STEP = 0.25
SHIFTS = np.arange(-20.0, 20.0 + SHIFT_STEP / 2, SHIFT_STEP)


def fit_smooth(evidence: Evidence, prior: Prior) -> SmoothFit:
    """Fit the smooth model; with no evidence at all, this is the prior."""
    cells = cells_of(evidence)
    newton = _Newton(cells, evidence, prior)
    newton.run()
    base = curve(cells.score) @ newton.b + newton.question[evidence.question_of_nugget[cells.nugget]]
    likelihood, mine = _nugget_likelihood(cells, base + newton.group[cells.group], evidence.nuggets)
    weights, log_marginal, sigma = _nugget_prior(likelihood, newton.spread_nugget, prior)
    groups = _Groups(cells, base, mine, likelihood, weights, prior, evidence)
    seen = np.bincount(cells.group, weights=cells.count, minlength=len(evidence.groups)) > 0
    return SmoothFit(
        b=newton.b,
        b_covariance=newton.b_covariance,
        question=newton.question,
        question_spread=np.sqrt(newton.question_variance),
        question_of_nugget=evidence.question_of_nugget,
        nugget_weights=weights.posterior,
        group_names=tuple(name for name, has in zip(evidence.groups, seen, strict=True) if has),
        group=groups.mean[seen],
        group_spread=groups.spread[seen],
        new_group=groups.sigmas,
        spreads=(sigma, newton.spread_question, groups.sigma),
        pairs=len(evidence),
        log10_evidence=(log_marginal + newton.laplace()) / np.log(10),
    )


class _Newton:
    """Step 1: the joint mode of b, a, c and v, and the spreads, with the nuggets' block eliminated."""

    def __init__(self, cells: Cells, evidence: Evidence, prior: Prior) -> None:
        self.cells, self.prior = cells, prior
        self.question_of_nugget = evidence.question_of_nugget
        self.nuggets, self.groups = evidence.nuggets, len(evidence.groups)
        self.questions = int(evidence.question_of_nugget.max(initial=-1)) + 1
        self.features = curve(cells.score)
        self.b = prior.b.copy()
        self.nugget = np.zeros(self.nuggets)
        self.group = np.zeros(self.groups)
        self.question = np.zeros(self.questions)
        self.spread_nugget, self.spread_question, self.spread_group = (
            prior.nugget,
            prior.question,
            prior.group,
        )
        self._b_precision = np.linalg.inv(prior.b_covariance)

    def run(self) -> None:
        for outer in range(ROUNDS):
            for _ in range(20 if outer == 0 else 3):
                if self._step() < 1e-4:
                    break
            if self._spread() < 0.01:
                break
        self.b_covariance = self._inverse[:CURVE, :CURVE]
        self.question_variance = np.diag(self._inverse)[CURVE + self.groups :].copy()

    def _blocks(self) -> tuple[Vector, Matrix, Matrix]:
        """Curvature: of the nuggets (a diagonal), of the rest, and across."""
        cells, q = self.cells, self.question_of_nugget[self.cells.nugget]
        eta = self.features @ self.b + self.nugget[cells.nugget] + self.group[cells.group] + self.question[q]
        mean = expit(eta)
        w = cells.count * mean * (1 - mean)
        self._residual = cells.yes - cells.count * mean
        size, at_group, at_question = CURVE + self.groups + self.questions, CURVE, CURVE + self.groups
        rest = np.zeros((size, size))
        across = np.zeros((size, self.nuggets))
        own = np.bincount(cells.nugget, w, self.nuggets)
        weighted = self.features * w[:, None]
        rest[:CURVE, :CURVE] = self.features.T @ weighted
        for k in range(CURVE):
            rest[k, at_group:at_question] = np.bincount(cells.group, weighted[:, k], self.groups)
            rest[k, at_question:] = np.bincount(q, weighted[:, k], self.questions)
            across[k] = np.bincount(cells.nugget, weighted[:, k], self.nuggets)
        both = np.bincount(cells.group * self.questions + q, w, self.groups * self.questions)
        rest[at_group:at_question, at_question:] = both.reshape(self.groups, self.questions)
        rest = np.triu(rest) + np.triu(rest, 1).T
        i = np.arange(size)
        rest[i[at_group:], i[at_group:]] += np.concatenate(
            [np.bincount(cells.group, w, self.groups), np.bincount(q, w, self.questions)]
        )
        table = np.bincount(cells.group * self.nuggets + cells.nugget, w, self.groups * self.nuggets)
        across[at_group:at_question] = table.reshape(self.groups, self.nuggets)
        across[at_question + self.question_of_nugget, np.arange(self.nuggets)] = own
        rest[:CURVE, :CURVE] += self._b_precision
        rest[i[at_group:], i[at_group:]] += self._rest_penalty()
        return own + self.spread_nugget**-2, rest, across

    def _rest_penalty(self) -> Vector:
        return np.concatenate(
            [np.full(self.groups, self.spread_group**-2), np.full(self.questions, self.spread_question**-2)]
        )

    def _step(self) -> float:
        own, rest, across = self._blocks()
        cells, q, r = self.cells, self.question_of_nugget[self.cells.nugget], self._residual
        of_nugget = np.bincount(cells.nugget, r, self.nuggets) - self.nugget * self.spread_nugget**-2
        of_rest = np.concatenate(
            [
                self.features.T @ r - self._b_precision @ (self.b - self.prior.b),
                np.bincount(cells.group, r, self.groups) - self.group * self.spread_group**-2,
                np.bincount(q, r, self.questions) - self.question * self.spread_question**-2,
            ]
        )
        reduced = rest - (across / own) @ across.T
        step = np.linalg.solve(reduced, of_rest - across @ (of_nugget / own))
        nugget_step = (of_nugget - across.T @ step) / own
        longest = float(max(np.abs(step).max(), np.abs(nugget_step).max(initial=0)))
        # Far from the mode the quadratic picture overshoots.
        shorter = min(1.0, 3.0 / longest) if longest > 0 else 1.0
        step, nugget_step = step * shorter, nugget_step * shorter
        self.b = self.b + step[:CURVE]
        self.group = self.group + step[CURVE : CURVE + self.groups]
        self.question = self.question + step[CURVE + self.groups :]
        self.nugget = self.nugget + nugget_step
        return longest

    def _spread(self) -> float:
        """EM for the spreads; returns the largest relative change."""
        own, rest, across = self._blocks()
        self._reduced = rest - (across / own) @ across.T
        self._inverse = np.linalg.inv(self._reduced)
        variance = np.diag(self._inverse)
        nugget_variance = 1 / own + (across * (self._inverse @ across)).sum(axis=0) / own**2
        before = np.array([self.spread_nugget, self.spread_group, self.spread_question])
        weight, prior = self.prior.weight, self.prior

        def spread(effects: Vector, variances: Vector, at_first: float) -> float:
            seen = (effects**2 + variances).sum()
            return float(np.sqrt((weight * at_first**2 + seen) / (weight + len(effects))))

        self.spread_nugget = spread(self.nugget, nugget_variance, prior.nugget)
        self.spread_group = spread(self.group, variance[CURVE : CURVE + self.groups], prior.group)
        self.spread_question = spread(self.question, variance[CURVE + self.groups :], prior.question)
        after = np.array([self.spread_nugget, self.spread_group, self.spread_question])
        return float(np.abs(np.log(after / before)).max())

    def laplace(self) -> float:
        """What integrating b, c and v around their mode adds to the log marginal likelihood."""
        off = self.b - self.prior.b
        effects = np.concatenate([self.group, self.question])
        precision = self._rest_penalty()
        log_prior = -0.5 * (off @ self._b_precision @ off + effects**2 @ precision)
        log_prior += 0.5 * (np.linalg.slogdet(self._b_precision)[1] + np.log(precision).sum())
        return float(log_prior - 0.5 * np.linalg.slogdet(self._reduced)[1])


@dataclass(frozen=True)
class _Weights:
    prior: Vector  # over GRID
    posterior: Matrix  # nuggets × GRID


def _log_bernoulli(cells: Cells, base: Vector, rows: npt.NDArray[np.int64] | slice) -> Matrix:
    """cells × GRID: the log likelihood of each cell at each a."""
    eta = base[rows, None] + GRID
    yes, count = cells.yes[rows, None], cells.count[rows, None]
    return np.asarray(yes * log_expit(eta) + (count - yes) * log_expit(-eta))


def _nugget_likelihood(cells: Cells, base: Vector, nuggets: int) -> tuple[Matrix, Matrix]:
    """nuggets × GRID: the log likelihood of each a; and the same cell by cell. Cells are in nugget order."""
    mine = _log_bernoulli(cells, base, slice(None))
    result = np.zeros((nuggets, len(GRID)))
    asked, start = np.unique(cells.nugget, return_index=True)
    if len(asked):
        result[asked] = np.add.reduceat(mine, start, axis=0)
    return result, mine


def _nugget_prior(likelihood: Matrix, start: float, prior: Prior) -> tuple[_Weights, float, float]:
    """Step 2: the exact posterior of each a, and N(μ, σ_a²) of highest marginal likelihood (with a weak prior)."""
    top = likelihood.max(axis=1, keepdims=True)
    scaled = np.exp(likelihood - top)
    best = (-np.inf, np.zeros(0), 0.0, 0.0)
    for mu, ratio in product(np.arange(-2.0, 2.01, 0.1), np.exp(np.arange(-0.7, 1.01, 0.1))):
        sigma = start * ratio
        density = np.exp(-0.5 * ((GRID - mu) / sigma) ** 2)
        density /= density.sum()
        log_marginal = float((np.log(scaled @ density) + top[:, 0]).sum())
        # As much as `weight` nuggets would say of the spread, and of the mean.
        belief = -0.5 * prior.weight * ((mu / prior.nugget) ** 2 + np.log(sigma / prior.nugget) ** 2)
        if log_marginal + belief > best[0]:
            best = (log_marginal + belief, density, sigma, log_marginal)
    _, density, sigma, log_marginal = best
    posterior = scaled * density
    posterior /= posterior.sum(axis=1, keepdims=True)
    return _Weights(density, posterior), log_marginal, sigma


class _Groups:
    """Step 3: how unlike the others a group is, as seen by those who did not see it."""

    def __init__(
        self,
        cells: Cells,
        base: Vector,
        mine: Matrix,
        likelihood: Matrix,
        weights: _Weights,
        prior: Prior,
        evidence: Evidence,
    ) -> None:
        groups, weight_of_nugget = len(evidence.groups), evidence.weight_of_nugget
        off, information = np.zeros(groups), np.zeros(groups)
        for group in range(groups):
            rows = np.flatnonzero(cells.group == group)
            if weight_of_nugget[cells.nugget[rows]].any():
                own = np.zeros_like(likelihood)
                np.add.at(own, cells.nugget[rows], mine[rows])
                others = likelihood - own
                blind = weights.prior * np.exp(others - others.max(axis=1, keepdims=True))
                blind /= blind.sum(axis=1, keepdims=True)
                off[group], information[group] = self._displacement(
                    cells, base, rows, blind, weight_of_nugget[cells.nugget[rows]]
                )
        self.sigmas = _sigmas(off, information, prior)
        self.sigma = float(np.sqrt((self.sigmas**2).mean()))
        precision = information + self.sigma**-2
        self.mean = information * off / precision
        self.spread = 1 / np.sqrt(precision)

    @staticmethod
    def _displacement(
        cells: Cells, base: Vector, rows: Ints, blind: Matrix, importance: Vector
    ) -> tuple[float, float]:
        """The v at which the expected weight of yes is the weight seen, and the information behind it."""
        weight, count = blind[cells.nugget[rows]], cells.count[rows]
        seen, scale = importance @ cells.yes[rows], float(importance.max())
        v, broad = 0.0, 0.25 * scale  # a broad prior's pull keeps groups of all yes or all no finite
        slope = noise = 0.0
        for _ in range(20):
            inside = expit(base[rows, None] + GRID + v)
            p = (weight * inside).sum(axis=1)
            slope = float((importance * count) @ (weight * inside * (1 - inside)).sum(axis=1))
            noise = float((importance**2 * count) @ (p * (1 - p)))
            step = (seen - float((importance * count) @ p) - broad * v) / (slope + broad)
            v += float(np.clip(step, -1, 1))
            if abs(step) < 1e-4:
                break
        return v, slope**2 / noise if noise > 0 else 0.0


def _sigmas(off: Vector, information: Vector, prior: Prior) -> Vector:
    """The posterior of σ_v as equally probable values: displacements are N(0, σ_v² + their own variance), and
    σ_v is half-normal beforehand. Keeping all of it, not a best value, is what makes few groups say little."""
    sigma = np.linspace(0.002, 8 * prior.group, 2000)
    log_posterior = -0.5 * (sigma / prior.group) ** 2
    for displacement, known in zip(off, information, strict=True):
        if known > 0:
            variance = sigma**2 + 1 / known
            log_posterior -= 0.5 * (np.log(variance) + displacement**2 / variance)
    cumulative = np.cumsum(np.exp(log_posterior - log_posterior.max()))
    levels = (np.arange(SIGMAS) + 0.5) / SIGMAS
    return np.asarray(np.interp(levels, cumulative / cumulative[-1], sigma))
