"""How the smooth model of `smooth.py` is fitted to judged pairs.

(0) What carried-over log odds are worth on this collection (`carrying.py`): from a sample of pairs, and a fit without
them. (1) Newton steps on the joint posterior of b, a, c, v at t = 1, given the spreads; the spreads from the second
moments of the effects (EM), in rounds that begin with the prior's. An earlier fit is no beginning, because the rounds
end before the spreads settle, where they may drift far (the level of systems and the intercept can stand for each
other). Nuggets and questions are eliminated (`curvature.py`). (2) That is too kind to nuggets with few yes, whose
posterior is far from normal: given b, c and v, each (t_j, a_j) gets its exact posterior on a grid, and μ, σ_a, σ_t
their values of highest marginal likelihood. Without this step rare nuggets were found twice as often as they should
have been (TREC TS 2014: 0.059 predicted, 0.030 true, of the answers below 0.1). (3) The spread between groups is taken
from how far each group's *score* is from what the model expects of it *without* having seen it, since that is the
question asked of a new build; nuggets count as they do in the score. On REALSumm those displacements are 1.3 to 1.5
times those of pairs that count alike. The slopes k likewise; the spread of g is the prior's, because runs that were
judged as a whole do not show it (experiments/prior.py). What is left of each answer, all its nuggets together, varies
more than it would if they were independent: by how much tells ρ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nuggeteer.records import Vector
from nuggeteer.thresholds.carrying import learn_level, learn_weight
from nuggeteer.thresholds.cells import Cells, GridLikelihood, cells_of
from nuggeteer.thresholds.curvature import Curvature
from nuggeteer.thresholds.curve import COEFFICIENTS, CURVE, STEEPNESS, features, rise
from nuggeteer.thresholds.effects import SystemEffects
from nuggeteer.thresholds.model import CarryOver, Evidence
from nuggeteer.thresholds.nugget_effects import NuggetEffects
from nuggeteer.thresholds.partial import partial_support
from nuggeteer.thresholds.smooth import FAR, Prior, SmoothFit, heard

Matrix = Vector
ROUNDS = 40


def fit_smooth(evidence: Evidence, prior: Prior) -> SmoothFit:
    """Fit the smooth model; with no evidence at all, this is the prior."""
    from threadpoolctl import threadpool_limits

    # The matrices are small: a second thread costs twenty times what it brings, and may change the last bit.
    with threadpool_limits(1):
        evidence = replace(evidence, opinions=heard(evidence.opinions, len(evidence), prior.b))
        return _fit(evidence, prior, _learn_carry_over(evidence, prior))


def _learn_carry_over(evidence: Evidence, prior: Prior) -> CarryOver:
    if evidence.left_out is None:
        return CarryOver()
    told = ~np.isnan(evidence.left_out.carried)
    sample = evidence.only(told)
    if not sample.yes.any() or sample.yes.all():
        return CarryOver()
    weight = learn_weight(sample)
    return CarryOver(learn_level(sample, weight, _fit(evidence.only(~told), prior, CarryOver(0.0, weight))), weight)


def _fit(evidence: Evidence, prior: Prior, carry_over: CarryOver) -> SmoothFit:
    if evidence.carried is not None:
        evidence = replace(evidence, carried=carry_over(evidence.carried))
    cells = cells_of(evidence)
    newton = _Newton(cells, evidence, prior)
    newton.run()
    kinds, b = cells.kinds, newton.b
    of_size, rises = b[CURVE] * kinds.size, rise(kinds.score, b)
    of_kind = b[0] + of_size + kinds.opinions @ b[COEFFICIENTS:] + kinds.carried
    base = of_kind[cells.kind] + newton.question[evidence.question_of_nugget][cells.nugget]
    likelihood = GridLikelihood(cells, base, rises[cells.kind], newton.group, evidence.nuggets)
    nuggets = NuggetEffects(likelihood, newton.spread_nugget, prior)
    groups = SystemEffects(likelihood, nuggets, prior, evidence, (rises + of_size)[cells.kind])
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
        odd=groups.odd[seen],
        odd_effects=groups.odd_effects[seen],
        odd_covariance=groups.odd_covariance[seen],
        usual=groups.usual,
        new_group=groups.sigmas,
        centre=groups.centre,
        level=groups.level,
        answer=groups.answer,
        partial=partial_support(evidence),
        carry_over=carry_over,
        spreads=(nuggets.sigma, nuggets.steepness, newton.spread_question, *groups.spreads),
        usual_size=float(evidence.size.mean(dtype=float)) if len(evidence) else 0.0,
        pairs=len(evidence),
        log10_evidence=(nuggets.log_marginal + newton.laplace()) / np.log(10),
    )


@dataclass(frozen=True)
class _Moments:
    """What the cells say at one point: sums over them of their information times what they depend on, and of what is
    left of their verdicts."""

    core: Matrix  # of b and v
    core_nugget: Matrix  # core × nuggets
    information: Vector  # of each nugget
    left_of_b: Vector
    left_of_group: Vector
    left_of_nugget: Vector


class _Newton:
    """Step 1: the joint mode of b, a, c and v, and the spreads."""

    def __init__(self, cells: Cells, evidence: Evidence, prior: Prior) -> None:
        from scipy.sparse import csr_array

        self.cells, self.prior = cells, prior
        self.question_of_nugget = evidence.question_of_nugget
        self.nuggets, self.groups = evidence.nuggets, len(evidence.groups)
        self.questions = int(evidence.question_of_nugget.max(initial=-1)) + 1
        self.features = features(cells.kinds.score, cells.kinds.size, cells.kinds.opinions)
        # Sums over the cells of a nugget are a product with this matrix, whose numbers are those of the cells.
        begin = np.searchsorted(cells.nugget, np.arange(self.nuggets + 1))
        self._by_kind = csr_array(
            (np.zeros(len(cells.nugget)), cells.kind, begin), shape=(self.nuggets, len(self.features))
        )
        # Of each group, its kinds of cells.
        codes, self._kind_in_group = np.unique(
            cells.group * np.int64(max(len(self.features), 1)) + cells.kind, return_inverse=True
        )
        self._group_of_kind, self._kind = np.divmod(codes, max(len(self.features), 1))
        self._nugget_in_group = cells.group * self.nuggets + cells.nugget
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
        self._moments = self._moments_here()

    def run(self) -> None:
        for outer in range(ROUNDS):
            before = 0.0
            for _ in range(20 if outer == 0 else 3):
                longest = self._step()
                # Steps shrink by the square. So two of them say how long the next one would be.
                if longest < 1e-4 or longest**3 < 1e-6 * before**2:
                    break
                before = longest
            if self._spread() < 0.01:
                break
        self.b_covariance = self._inverse[: self.coefficients, : self.coefficients]

    def _moments_here(self) -> _Moments:
        cells, at = self.cells, self.coefficients
        of_kind = self.features @ self.b + cells.kinds.carried
        eta = of_kind[cells.kind] + (self.nugget + self.question[self.question_of_nugget])[cells.nugget]
        eta += self.group[cells.group]
        np.negative(eta, out=eta)
        np.clip(eta, -FAR, FAR, out=eta)
        mean = 1 / (1 + np.exp(eta, out=eta))
        expected = cells.count * mean
        w = expected * (1 - mean)
        residual = cells.yes - expected

        known, group = self.features[self._kind], self._group_of_kind
        w_of_kind, left_of_kind = (np.bincount(self._kind_in_group, values, len(group)) for values in (w, residual))
        weighted = known * w_of_kind[:, None]
        core = np.zeros((at + self.groups, at + self.groups))
        core[:at, :at] = known.T @ weighted
        for k in range(at):
            core[k, at:] = core[at:, k] = np.bincount(group, weighted[:, k], self.groups)
        in_group = np.arange(at, len(core))
        core[in_group, in_group] = np.bincount(group, w_of_kind, self.groups)
        core_nugget = np.empty((len(core), self.nuggets))
        self._by_kind.data = w
        core_nugget[:at] = (self._by_kind @ self.features).T
        table = np.bincount(self._nugget_in_group, w, self.groups * self.nuggets)
        core_nugget[at:] = table.reshape(self.groups, self.nuggets)
        return _Moments(
            core,
            core_nugget,
            core_nugget[at:].sum(axis=0),
            left_of_kind @ known,
            np.asarray(np.bincount(group, left_of_kind, self.groups), dtype=float),
            np.asarray(np.bincount(cells.nugget, residual, self.nuggets), dtype=float),
        )

    def _curvature(self) -> Curvature:
        """Of the log posterior."""
        core, at = self._moments.core.copy(), self.coefficients
        core[:at, :at] += self._b_precision
        in_group = np.arange(at, len(core))
        core[in_group, in_group] += self.spread_group**-2
        return Curvature.eliminated(
            core,
            self._moments.core_nugget,
            self._moments.information,
            self.question_of_nugget,
            self.spread_nugget**-2,
            self._question_precision,
        )

    @property
    def _question_precision(self) -> Vector:
        return np.full(self.questions, self.spread_question**-2)

    def _step(self) -> float:
        moments = self._moments
        of_question = np.bincount(self.question_of_nugget, moments.left_of_nugget, self.questions)
        step, question_step, nugget_step = self._curvature().solve(
            np.concatenate(
                [
                    moments.left_of_b - self._b_precision @ (self.b - self.prior.b),
                    moments.left_of_group - self.group * self.spread_group**-2,
                ]
            ),
            of_question - self.question * self.spread_question**-2,
            moments.left_of_nugget - self.nugget * self.spread_nugget**-2,
        )
        longest = float(max(np.abs(part).max(initial=0) for part in (step, question_step, nugget_step)))
        # Far from the mode the quadratic picture overshoots.
        shorter = min(1.0, 3.0 / longest) if longest > 0 else 1.0
        self.b = self.b + step[: self.coefficients] * shorter
        self.group = self.group + step[self.coefficients :] * shorter
        self.question = self.question + question_step * shorter
        self.nugget = self.nugget + nugget_step * shorter
        self._moments = self._moments_here()
        return longest

    def _spread(self) -> float:
        """EM for the spreads; returns the largest relative change."""
        curvature = self._curvature()
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
