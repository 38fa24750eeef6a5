"""How the smooth model of `smooth.py` is fitted to judged pairs.

(1) Newton steps on the joint posterior of b, a, c, v at t = 1, given the spreads; the spreads from
the second moments of the effects (EM). The nuggets' own block is diagonal and is eliminated. (2) That is too kind to
nuggets with few yes, whose posterior is far from normal: given b, c and v, each (t_j, a_j) gets its exact posterior
on a grid, and μ, σ_a, σ_t their values of highest marginal likelihood. Without this step rare nuggets were found
twice as often as they should have been (TREC TS 2014: 0.059 predicted, 0.030 true, of the answers below 0.1).
(3) The spread between groups is taken from how far each group's *score* is from what the model expects of it *without*
having seen it, since that is the question asked of a new build; nuggets count as they do in the score. On REALSumm
those displacements are 1.3 to 1.5 times those of pairs that count alike.

Pairs are counted in cells of (nugget, group, √s in steps of 0.01).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import expit, log_expit

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.smooth import BINS, CURVE, GRID, SIGMAS, STEEPNESS, Prior, SmoothFit, curve, rise

Matrix = Vector
STEEPNESS_WEIGHT = np.array([1 / 6, 2 / 3, 1 / 6])  # of the three points that stand for a normal distribution
STEEPNESS_SPREADS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # the σ_t that are tried, on this many nuggets at most:
STEEPNESS_NUGGETS = 200
ROUNDS = 40


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


def fit_smooth(evidence: Evidence, prior: Prior) -> SmoothFit:
    """Fit the smooth model; with no evidence at all, this is the prior."""
    from threadpoolctl import threadpool_limits

    # The matrices are small: a second thread costs twenty times what it brings, and may change the last bit.
    with threadpool_limits(1):
        return _fit(evidence, prior)


def _fit(evidence: Evidence, prior: Prior) -> SmoothFit:
    cells = cells_of(evidence)
    newton = _Newton(cells, evidence, prior)
    newton.run()
    base = newton.b[0] + newton.question[evidence.question_of_nugget[cells.nugget]]
    likelihood = _Likelihood(cells, base, rise(cells.score, newton.b), newton.group, evidence.nuggets)
    nuggets = _Nuggets(likelihood, newton.spread_nugget, prior)
    groups = _Groups(likelihood, nuggets, prior, evidence)
    seen = np.bincount(cells.group, weights=cells.count, minlength=len(evidence.groups)) > 0
    return SmoothFit(
        b=newton.b,
        b_covariance=newton.b_covariance,
        question=newton.question,
        question_spread=np.sqrt(newton.question_variance),
        question_of_nugget=evidence.question_of_nugget,
        steepness=np.exp(nuggets.steepness * STEEPNESS),
        nugget_weights=nuggets.posterior,
        group_names=tuple(name for name, has in zip(evidence.groups, seen, strict=True) if has),
        group=groups.mean[seen],
        group_spread=groups.spread[seen],
        new_group=groups.sigmas,
        spreads=(nuggets.sigma, nuggets.steepness, newton.spread_question, groups.sigma),
        pairs=len(evidence),
        log10_evidence=(nuggets.log_marginal + newton.laplace()) / np.log(10),
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
class _Likelihood:
    """The likelihood of each (t, a), given everything else."""

    cells: Cells
    base: Vector
    rise: Vector
    group: Vector
    nuggets: int

    def of_cells(self, rows: Ints | slice, steepness: Vector) -> Matrix:
        """cells × (steepness × GRID): log likelihoods."""
        cells = self.cells
        yes, no = cells.yes[rows, None], (cells.count - cells.yes)[rows, None]
        base = (self.base + self.group[cells.group])[rows]
        parts = []
        for t in steepness:
            eta = (base + t * self.rise[rows])[:, None] + GRID
            below = log_expit(-eta)
            parts.append(yes * (below + eta) + no * below)
        return np.concatenate(parts, axis=1)

    def of_nuggets(self, steepness: Vector, rows: Ints | slice = slice(None)) -> Matrix:
        """nuggets × (steepness × GRID), from the cells in `rows`, which are in the order of nuggets."""
        result = np.zeros((self.nuggets, len(steepness) * len(GRID)))
        asked, start = np.unique(self.cells.nugget[rows], return_index=True)
        if len(asked):
            for i, t in enumerate(steepness):
                part = slice(i * len(GRID), (i + 1) * len(GRID))
                result[asked, part] = np.add.reduceat(self.of_cells(rows, np.array([t])), start, axis=0)
        return result


class _Nuggets:
    """Step 2: exact posteriors of (t, a), and μ, σ_a, σ_t of highest marginal likelihood, with a weak prior."""

    def __init__(self, likelihood: _Likelihood, start: float, prior: Prior) -> None:
        self._start, self._prior = start, prior
        every = max(1, -(-likelihood.nuggets // STEEPNESS_NUGGETS))
        some = np.flatnonzero(likelihood.cells.nugget % every == 0)
        self.steepness = 0.0
        if len(some):
            self.steepness = max(
                STEEPNESS_SPREADS,
                key=lambda spread: self._best(likelihood.of_nuggets(np.exp(spread * STEEPNESS), some))[0],
            )
        self.log_likelihood = likelihood.of_nuggets(np.exp(self.steepness * STEEPNESS))
        _, self.log_marginal, self.sigma, self.density = self._best(self.log_likelihood)
        top = self.log_likelihood.max(axis=1, keepdims=True)
        self.posterior = np.exp(self.log_likelihood - top) * self.density
        self.posterior /= self.posterior.sum(axis=1, keepdims=True)

    def _best(self, log_likelihood: Matrix) -> tuple[float, float, float, Vector]:
        """(log marginal with prior, without, σ_a, the density over (t, a)) at the best μ and σ_a."""
        top = log_likelihood.max(axis=1, keepdims=True)
        scaled = np.exp(log_likelihood - top).reshape(-1, len(STEEPNESS), len(GRID))
        over_t = np.einsum("jtg,t->jg", scaled, STEEPNESS_WEIGHT)
        points, densities, beliefs = [], [], []
        for mu, ratio in product(np.arange(-2.0, 2.01, 0.1), np.exp(np.arange(-0.7, 1.01, 0.1))):
            sigma = self._start * ratio
            density = np.exp(-0.5 * ((GRID - mu) / sigma) ** 2)
            densities.append(density / density.sum())
            # As much as `weight` nuggets would say of the mean and of the spread.
            off = (mu / self._prior.nugget) ** 2 + np.log(sigma / self._prior.nugget) ** 2
            beliefs.append(-0.5 * self._prior.weight * off)
            points.append(sigma)
        log_marginals = np.log(over_t @ np.stack(densities, axis=1)).sum(axis=0) + top.sum()
        best = int(np.argmax(log_marginals + np.array(beliefs)))
        joint = (STEEPNESS_WEIGHT[:, None] * densities[best]).ravel()
        value = float(log_marginals[best])
        return value + beliefs[best], value, float(points[best]), joint


class _Groups:
    """Step 3: how unlike the others a group is, as seen by those who did not see it."""

    def __init__(self, likelihood: _Likelihood, nuggets: _Nuggets, prior: Prior, evidence: Evidence) -> None:
        groups, cells = len(evidence.groups), likelihood.cells
        off, information = np.zeros(groups), np.zeros(groups)
        self._steepness = np.exp(nuggets.steepness * STEEPNESS)
        for group in range(groups):
            rows = np.flatnonzero(cells.group == group)
            importance = evidence.weight_of_nugget[cells.nugget[rows]]
            if importance.any():
                others = nuggets.log_likelihood - likelihood.of_nuggets(self._steepness, rows)
                blind = nuggets.density * np.exp(others - others.max(axis=1, keepdims=True))
                blind /= blind.sum(axis=1, keepdims=True)
                off[group], information[group] = self._displacement(likelihood, rows, blind, importance)
        self.sigmas = _sigmas(off, information, prior)
        self.sigma = float(np.sqrt((self.sigmas**2).mean()))
        precision = information + self.sigma**-2
        self.mean = information * off / precision
        self.spread = 1 / np.sqrt(precision)

    def _displacement(
        self, likelihood: _Likelihood, rows: Ints, blind: Matrix, importance: Vector
    ) -> tuple[float, float]:
        """The v at which the expected weight of yes is the weight seen, and the information behind it."""
        cells = likelihood.cells
        weight, count = blind[cells.nugget[rows]], cells.count[rows]
        centre = likelihood.base[rows, None] + self._steepness * likelihood.rise[rows, None]
        eta = (centre[:, :, None] + GRID).reshape(len(rows), -1)
        seen, scale = importance @ cells.yes[rows], float(importance.max())
        v, broad = 0.0, 0.25 * scale  # a broad prior's pull keeps groups of all yes or all no finite
        slope = noise = 0.0
        for _ in range(20):
            inside = expit(eta + v)
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
