"""How the smooth model of `smooth.py` is fitted to judged pairs.

(1) Newton steps on the joint posterior of b, a, c, v at t = 1, given the spreads; the spreads from
the second moments of the effects (EM). Nuggets and questions are eliminated (`curvature.py`). (2) That is too kind to
nuggets with few yes, whose posterior is far from normal: given b, c and v, each (t_j, a_j) gets its exact posterior
on a grid, and μ, σ_a, σ_t their values of highest marginal likelihood. Without this step rare nuggets were found
twice as often as they should have been (TREC TS 2014: 0.059 predicted, 0.030 true, of the answers below 0.1).
(3) The spread between groups is taken from how far each group's *score* is from what the model expects of it *without*
having seen it, since that is the question asked of a new build; nuggets count as they do in the score. On REALSumm
those displacements are 1.3 to 1.5 times those of pairs that count alike. The slopes k likewise; the spread of g is the
prior's, because runs that were judged as a whole do not show it (experiments/prior.py). What is left
of each answer, all its nuggets together, varies more than it would if they were independent: by how much tells ρ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import expit, log_expit, ndtri

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.cells import Cells, GridLikelihood, cells_of
from nuggeteer.thresholds.curvature import Curvature
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.partial import partial_support
from nuggeteer.thresholds.smooth import (
    COEFFICIENTS,
    CURVE,
    EFFECTS,
    GRID,
    SIGMAS,
    STEEPNESS,
    Prior,
    SmoothFit,
    features,
    heard,
    rise,
)

Matrix = Vector
STEEPNESS_WEIGHT = np.array([1 / 6, 2 / 3, 1 / 6])  # of the three points that stand for a normal distribution
STEEPNESS_SPREADS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # the σ_t that are tried, on this many nuggets at most:
STEEPNESS_NUGGETS = 200
ROUNDS = 40


def fit_smooth(evidence: Evidence, prior: Prior) -> SmoothFit:
    """Fit the smooth model; with no evidence at all, this is the prior."""
    from threadpoolctl import threadpool_limits

    # The matrices are small: a second thread costs twenty times what it brings, and may change the last bit.
    with threadpool_limits(1):
        return _fit(replace(evidence, opinions=heard(evidence.opinions, len(evidence), prior.b)), prior)


def _fit(evidence: Evidence, prior: Prior) -> SmoothFit:
    cells = cells_of(evidence)
    newton = _Newton(cells, evidence, prior)
    newton.run()
    base = newton.b[0] + newton.b[CURVE] * cells.size + cells.opinions @ newton.b[COEFFICIENTS:] + cells.carried
    base += newton.question[evidence.question_of_nugget[cells.nugget]]
    likelihood = GridLikelihood(cells, base, rise(cells.score, newton.b), newton.group, evidence.nuggets)
    nuggets = _Nuggets(likelihood, newton.spread_nugget, prior)
    x = rise(cells.score, newton.b) + newton.b[CURVE] * cells.size
    groups = _Groups(likelihood, nuggets, prior, evidence, x)
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
        effects=groups.effects[seen],
        effects_covariance=groups.covariance[seen],
        new_group=groups.sigmas,
        centre=groups.centre,
        level=groups.level,
        answer=groups.answer,
        partial=partial_support(evidence),
        spreads=(nuggets.sigma, nuggets.steepness, newton.spread_question, *groups.spreads),
        usual_size=float(evidence.size.mean(dtype=float)) if len(evidence) else 0.0,
        pairs=len(evidence),
        log10_evidence=(nuggets.log_marginal + newton.laplace()) / np.log(10),
    )


class _Newton:
    """Step 1: the joint mode of b, a, c and v, and the spreads."""

    def __init__(self, cells: Cells, evidence: Evidence, prior: Prior) -> None:
        self.cells, self.prior = cells, prior
        self.question_of_nugget = evidence.question_of_nugget
        self.nuggets, self.groups = evidence.nuggets, len(evidence.groups)
        self.questions = int(evidence.question_of_nugget.max(initial=-1)) + 1
        self.features = features(cells.score, cells.size, cells.opinions)
        self.b = prior.b.copy()
        self.coefficients = len(self.b)
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
        self.b_covariance = self._inverse[: self.coefficients, : self.coefficients]

    def _blocks(self) -> Curvature:
        """Curvature of the log posterior, and what is left of each pair."""
        cells, q = self.cells, self.question_of_nugget[self.cells.nugget]
        eta = self.features @ self.b + self.nugget[cells.nugget] + self.group[cells.group] + self.question[q]
        eta += cells.carried
        mean = expit(eta)
        w = cells.count * mean * (1 - mean)
        self._residual = cells.yes - cells.count * mean
        weighted = self.features * w[:, None]
        at = self.coefficients
        core = np.zeros((at + self.groups, at + self.groups))
        with_nugget = np.zeros((len(core), self.nuggets))
        core[:at, :at] = self.features.T @ weighted + self._b_precision
        for k in range(at):
            core[k, at:] = core[at:, k] = np.bincount(cells.group, weighted[:, k], self.groups)
            with_nugget[k] = np.bincount(cells.nugget, weighted[:, k], self.nuggets)
        in_group = np.arange(at, len(core))
        core[in_group, in_group] = np.bincount(cells.group, w, self.groups) + self.spread_group**-2
        table = np.bincount(cells.group * self.nuggets + cells.nugget, w, self.groups * self.nuggets)
        with_nugget[at:] = table.reshape(self.groups, self.nuggets)
        information = np.asarray(np.bincount(cells.nugget, w, self.nuggets), dtype=float)
        return Curvature.eliminated(
            core, with_nugget, information, self.question_of_nugget, self.spread_nugget**-2, self._question_precision
        )

    @property
    def _question_precision(self) -> Vector:
        return np.full(self.questions, self.spread_question**-2)

    def _step(self) -> float:
        curvature = self._blocks()
        cells, q, r = self.cells, self.question_of_nugget[self.cells.nugget], self._residual
        step, question_step, nugget_step = curvature.solve(
            np.concatenate(
                [
                    self.features.T @ r - self._b_precision @ (self.b - self.prior.b),
                    np.bincount(cells.group, r, self.groups) - self.group * self.spread_group**-2,
                ]
            ),
            np.bincount(q, r, self.questions) - self.question * self.spread_question**-2,
            np.bincount(cells.nugget, r, self.nuggets) - self.nugget * self.spread_nugget**-2,
        )
        longest = float(max(np.abs(part).max(initial=0) for part in (step, question_step, nugget_step)))
        # Far from the mode the quadratic picture overshoots.
        shorter = min(1.0, 3.0 / longest) if longest > 0 else 1.0
        self.b = self.b + step[: self.coefficients] * shorter
        self.group = self.group + step[self.coefficients :] * shorter
        self.question = self.question + question_step * shorter
        self.nugget = self.nugget + nugget_step * shorter
        return longest

    def _spread(self) -> float:
        """EM for the spreads; returns the largest relative change."""
        curvature = self._blocks()
        self._inverse, self.question_variance, nugget_variance = curvature.variances()
        self._log_determinant = curvature.log_determinant
        before = np.array([self.spread_nugget, self.spread_group, self.spread_question])
        weight, prior = self.prior.weight, self.prior

        def spread(effects: Vector, variances: Vector, at_first: float) -> float:
            seen = (effects**2 + variances).sum()
            return float(np.sqrt((weight * at_first**2 + seen) / (weight + len(effects))))

        self.spread_nugget = spread(self.nugget, nugget_variance, prior.nugget)
        self.spread_group = spread(self.group, np.diag(self._inverse)[self.coefficients :], prior.group)
        self.spread_question = spread(self.question, self.question_variance, prior.question)
        after = np.array([self.spread_nugget, self.spread_group, self.spread_question])
        return float(np.abs(np.log(after / before)).max())

    def laplace(self) -> float:
        """What integrating b, c and v around their mode adds to the log marginal likelihood."""
        off = self.b - self.prior.b
        effects = np.concatenate([self.group, self.question])
        precision = np.concatenate([np.full(self.groups, self.spread_group**-2), self._question_precision])
        log_prior = -0.5 * (off @ self._b_precision @ off + effects**2 @ precision)
        log_prior += 0.5 * (np.linalg.slogdet(self._b_precision)[1] + np.log(precision).sum())
        return float(log_prior - 0.5 * self._log_determinant)


class _Nuggets:
    """Step 2: exact posteriors of (t, a), and μ, σ_a, σ_t of highest marginal likelihood, with a weak prior."""

    def __init__(self, likelihood: GridLikelihood, start: float, prior: Prior) -> None:
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
        # A nugget without verdicts says nothing about either.
        log_likelihood = log_likelihood[log_likelihood.any(axis=1)]
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


@dataclass(frozen=True)
class _Blind:
    """What is believed of a group's cells by those who did not see the group."""

    rows: Ints
    weight: Matrix  # cells × (steepness × GRID)
    eta: Matrix  # the same: logits
    x: Vector  # of the formula
    centre: float = 0.0  # e
    level: float = 0.0  # h

    def logits(self, effects: Vector) -> Matrix:
        v, k, g = effects
        return np.asarray(self.eta + (v + k * (self.x - self.centre))[:, None] + g * (self.eta - self.level))

    def chance(self, effects: Vector) -> tuple[Vector, Matrix]:
        """P(yes), and how fast it rises with each effect: cells × EFFECTS."""
        inside = expit(self.logits(effects))
        rising = self.weight * inside * (1 - inside)
        with_v = rising.sum(axis=1)
        with_g = (rising * (self.eta - self.level)).sum(axis=1)
        return (self.weight * inside).sum(axis=1), np.stack([with_v, with_v * (self.x - self.centre), with_g], axis=1)


class _Groups:
    """Step 3: how unlike the others a group is, as seen by those who did not see it; and how much the nuggets of an
    answer go together."""

    def __init__(
        self, likelihood: GridLikelihood, nuggets: _Nuggets, prior: Prior, evidence: Evidence, x: Vector
    ) -> None:
        self._likelihood, self._cells = likelihood, likelihood.cells
        groups, cells = len(evidence.groups), likelihood.cells
        self._steepness = np.exp(nuggets.steepness * STEEPNESS)
        self._question = evidence.question_of_nugget
        self._x = x
        displacement, information = np.zeros((groups, EFFECTS)), np.zeros((groups, 2))
        excess = np.zeros(3)  # over answers: squares of what is left, what independence expects, and a ρ of 1 more
        curvature, pull = np.zeros((groups, EFFECTS, EFFECTS)), np.zeros((groups, EFFECTS))
        centre, level = np.zeros((2, groups))
        scales = np.array([prior.group, prior.slope, prior.sharpness])
        for group in range(groups):
            rows = np.flatnonzero(cells.group == group)
            importance = evidence.weight_of_nugget[cells.nugget[rows]]
            if importance.any():
                blind = self._blind(rows, nuggets, importance)
                displacement[group], information[group] = self._displacement(blind, importance)
                excess += self._excess(blind, displacement[group])
                curvature[group], pull[group] = self._likelihood_of_effects(blind, importance, scales)
                centre[group], level[group] = blind.centre, blind.level
        answers = len(
            np.unique(cells.group * np.int64(self._question.max(initial=0) + 1) + self._question[cells.nugget])
        )
        seen = (excess[0] - excess[1]) / excess[2] if excess[2] > 0 else 0.0
        self.answer = float(
            np.clip((answers * seen + prior.answers * prior.answer) / (answers + prior.answers), 0, 0.9)
        )
        # Where nuggets go together, an answer says less than as many nuggets apart.
        inflation = max(excess[0] / excess[1], 1.0) if excess[1] > 0 else 1.0
        information /= inflation
        of_v, of_k = (_sigmas(displacement[:, i], information[:, i], scales[i]) for i in range(2))
        self.sigmas = of_v
        self.spreads = (*(float(np.sqrt((sigmas**2).mean())) for sigmas in (of_v, of_k)), prior.sharpness)
        # Where a usual group's k and g leave its expected score as it is. That of each group is elsewhere.
        usual = information[:, 0] / max(information[:, 0].sum(), 1e-12)
        self.centre, self.level = float(usual @ centre), float(usual @ level)
        own = np.repeat(np.eye(EFFECTS)[None], groups, axis=0)
        own[:, 0, 1], own[:, 0, 2] = centre - self.centre, level - self.level
        turned = own.transpose(0, 2, 1)
        self.covariance = np.linalg.inv(turned @ (curvature / inflation) @ own + np.diag(np.array(self.spreads) ** -2))
        self.effects = (self.covariance @ turned @ pull[:, :, None])[:, :, 0] / inflation

    def _blind(self, rows: Ints, nuggets: _Nuggets, importance: Vector) -> _Blind:
        likelihood = self._likelihood
        asked, of_cell = np.unique(self._cells.nugget[rows], return_inverse=True)
        own = likelihood.of_nuggets(self._steepness, rows)[asked]
        others = nuggets.log_likelihood[asked] - own
        belief = nuggets.density * np.exp(others - others.max(axis=1, keepdims=True))
        belief /= belief.sum(axis=1, keepdims=True)
        shift = likelihood.base[rows, None] + self._steepness * likelihood.rise[rows, None]
        eta = (shift[:, :, None] + GRID).reshape(len(rows), -1)
        blind = _Blind(rows, belief[of_cell], eta, self._x[rows])
        # Where k and g leave the expected score as it is, so that v can be told apart from both.
        _, rising = blind.chance(np.zeros(EFFECTS))
        pull = importance * self._cells.count[rows]
        of_v, of_k, of_g = pull @ rising
        return replace(blind, centre=float(of_k / of_v), level=float(of_g / of_v))

    def _displacement(self, blind: _Blind, importance: Vector) -> tuple[Vector, Vector]:
        """The v and k at which the expected weight of yes is the weight seen, and so is its slope over x; and the
        information behind each. g is 0."""
        yes, count = self._cells.yes[blind.rows], self._cells.count[blind.rows]
        broad = np.diag([0.25 * float(importance.max()), 4.0])  # keeps groups of all yes or all no finite
        equations = np.stack([importance, blind.x - blind.centre], axis=1)
        effects, slope, noise = np.zeros(EFFECTS), broad, broad
        for _ in range(20):
            p, rising = blind.chance(effects)
            slope = (equations * count[:, None]).T @ rising[:, :2]
            noise = (equations * (count * p * (1 - p))[:, None]).T @ equations
            step = np.linalg.solve(slope + broad, equations.T @ (yes - count * p) - broad @ effects[:2])
            effects[:2] += np.clip(step, (-1, -0.5), (1, 0.5))
            if np.abs(step).max() < 1e-3:
                break
        back = np.linalg.inv(slope + 1e-6 * broad)  # of fewer verdicts than effects, next to nothing is known
        return effects, 1 / np.maximum(np.diag(back @ noise @ back.T), 1e-12)

    def _likelihood_of_effects(self, blind: _Blind, importance: Vector, scales: Vector) -> tuple[Matrix, Vector]:
        """What a group's verdicts say of its effects, as a normal likelihood: its precision, and that times its mean.
        It is a quasi-likelihood in which nuggets count as they do in the score, and in sum as much as they tell."""
        yes, count = self._cells.yes[blind.rows], self._cells.count[blind.rows]
        weight = importance * (importance @ count) / (importance**2 @ count)
        effects, curvature = np.zeros(EFFECTS), np.zeros((EFFECTS, EFFECTS))
        for _ in range(30):
            p, rising = blind.chance(effects)
            per_pair = weight / np.maximum(p * (1 - p), 1e-6)
            curvature = (rising * (per_pair * count)[:, None]).T @ rising
            slope = rising.T @ (per_pair * (yes - count * p)) - effects / scales**2
            step = np.linalg.solve(curvature + np.diag(scales**-2), slope)
            effects = effects + step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
            if np.abs(step).max() < 1e-4:
                break
        return curvature, curvature @ effects + effects / scales**2

    def _excess(self, blind: _Blind, effects: Vector) -> Vector:
        """Of a group's answers, in sum: the squares of nuggets found less expected, what these would be were nuggets
        independent, and what a ρ of 1 would add to it."""
        cells, rows = self._cells, blind.rows
        nugget, start = np.unique(cells.nugget[rows], return_index=True)  # cells are in the order of nuggets
        missed = log_expit(-blind.logits(effects)) * cells.count[rows, None]
        by_state = -np.expm1(np.add.reduceat(missed, start, axis=0))
        p = (blind.weight[start] * by_state).sum(axis=1)
        found = np.add.reduceat(cells.yes[rows], start) > 0
        question = self._question[nugget]
        height = np.exp(-0.5 * ndtri(np.clip(by_state, 1e-9, 1 - 1e-9)) ** 2) / np.sqrt(2 * np.pi)
        height = (blind.weight[start] * height).sum(axis=1)
        shared = np.bincount(question, height) ** 2 - np.bincount(question, height**2)
        return np.array([(np.bincount(question, found - p) ** 2).sum(), (p * (1 - p)).sum(), shared.sum()])


def _sigmas(off: Vector, information: Vector, scale: float) -> Vector:
    """The posterior of σ_v as equally probable values: displacements are N(0, σ_v² + their own variance), and
    σ_v is half-normal beforehand. Keeping all of it, not a best value, is what makes few groups say little."""
    sigma = np.linspace(0.002, 8 * scale, 2000)
    log_posterior = -0.5 * (sigma / scale) ** 2
    for displacement, known in zip(off, information, strict=True):
        if known > 0:
            variance = sigma**2 + 1 / known
            log_posterior -= 0.5 * (np.log(variance) + displacement**2 / variance)
    cumulative = np.cumsum(np.exp(log_posterior - log_posterior.max()))
    levels = (np.arange(SIGMAS) + 0.5) / SIGMAS
    return np.asarray(np.interp(levels, cumulative / cumulative[-1], sigma))
