"""The effects of systems in the smooth model: step 3 of the fit (`learning.py`).

The effects v, k and g of a system are learned from the verdicts on its texts, weighed. Nuggets count as they do in the
score. Of the pairs that `judge` drew at random, each stands for the open pairs of its run (`Evidence.represents`): it
is chosen where its verdict narrows the score, and without that weight the system would be taken to be everywhere as it
is among the doubtful pairs. Verdicts that nobody drew stand for themselves.

A system may also be unlike all others. Then its effects have the wide spreads `ODD`. That is believed beforehand with
the probability `ODDITY`, and afterwards as far as the system's own verdicts say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.blind import Blind
from nuggeteer.thresholds.cells import GridLikelihood
from nuggeteer.thresholds.interpolation import heights, sums_of_softplus
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.nugget_effects import NuggetEffects
from nuggeteer.thresholds.smooth import EFFECTS, SIGMAS, Prior

Matrix = Vector
# Of v, k and g. A g of −2 turns all guesses around, a v of 2 makes a doubtful guess almost sure.
ODD = np.array([2.0, 1.0, 1.5])
ODDITY, HARDLY = 0.03, 0.005  # a smaller probability afterwards is none
EIGHT = 8  # digits of log likelihoods that are taken to be the same


@dataclass(frozen=True)
class _Likelihood:
    """What the verdicts on each group say of its effects, near the likeliest ones: log L = log + pull·θ − θᵀCθ / 2 for
    the effects θ and the curvature C."""

    curvature: Matrix  # groups × EFFECTS × EFFECTS
    pull: Matrix
    log: Vector

    @classmethod
    def of_none(cls, groups: int) -> _Likelihood:
        return cls(np.zeros((groups, EFFECTS, EFFECTS)), np.zeros((groups, EFFECTS)), np.zeros(groups))

    def learn(self, group: int, found: tuple[Matrix, Vector, float]) -> None:
        self.curvature[group], self.pull[group], self.log[group] = found

    def posterior(self, own: Matrix, inflation: float, usual: Vector, spreads: Vector) -> tuple[Matrix, Matrix, Vector]:
        """The means and the covariances of the effects, and the logarithm of the evidence for the belief that they are
        `usual` with these spreads. `own` turns common effects into those of each group. Verdicts say less by the factor
        `inflation`."""
        turned = own.transpose(0, 2, 1)
        pull = (turned @ self.pull[:, :, None])[:, :, 0] / inflation + usual * spreads**-2
        covariance = np.linalg.inv(turned @ (self.curvature / inflation) @ own + np.diag(spreads**-2))
        mean = (covariance @ pull[:, :, None])[:, :, 0]
        shrunk = 0.5 * (np.linalg.slogdet(covariance)[1] - 2 * np.log(spreads).sum() - ((usual / spreads) ** 2).sum())
        return mean, covariance, self.log / inflation + 0.5 * (pull * mean).sum(axis=1) + shrunk


class SystemEffects:
    """Step 3: how unlike the others a group is, as seen by those who did not see it; and how much the nuggets of an
    answer go together."""

    def __init__(
        self, likelihood: GridLikelihood, nuggets: NuggetEffects, prior: Prior, evidence: Evidence, x: Vector
    ) -> None:
        self._likelihood, self._cells = likelihood, likelihood.cells
        groups, cells = len(evidence.groups), likelihood.cells
        self._question = evidence.question_of_nugget
        self._x = x
        displacement, information = np.zeros((groups, EFFECTS)), np.zeros((groups, 2))
        excess = np.zeros(3)  # over answers: squares of what is left, what independence expects, and a ρ of 1 more
        usual, odd = _Likelihood.of_none(groups), _Likelihood.of_none(groups)
        centre, level = np.zeros((2, groups))
        gain = np.zeros((groups, EFFECTS))
        scales = np.array([prior.group, prior.slope, prior.sharpness])
        for group in range(groups):
            rows = np.flatnonzero(cells.group == group)
            importance = evidence.weight_of_nugget[cells.nugget[rows]]
            if importance.any():
                blind = self._blind(group, rows, nuggets, importance)
                displacement[group], information[group] = self._displacement(blind, importance)
                excess += self._excess(blind, displacement[group])
                likeliest, found = self._likelihood_of_effects(blind, scales, np.zeros(EFFECTS))
                usual.learn(group, found)
                odd.learn(group, self._likelihood_of_effects(blind, ODD, likeliest)[1])
                centre[group], level[group] = blind.centre, blind.level
                gain[group] = self._gain(blind, importance, scales)
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
        share = information[:, 0] / max(information[:, 0].sum(), 1e-12)
        self.centre, self.level = float(share @ centre), float(share @ level)
        # And the usual v: where the spreads of k and g leave the expected score. Verdicts on several groups together
        # show what these spreads add already, and those on one group do not.
        several = 1 - float(share @ share)
        self.usual = np.array([-several * float(share @ gain @ np.array(self.spreads) ** 2), 0.0, 0.0])
        own = np.repeat(np.eye(EFFECTS)[None], groups, axis=0)
        own[:, 0, 1], own[:, 0, 2] = centre - self.centre, level - self.level
        self.effects, self.covariance, for_usual = usual.posterior(own, inflation, self.usual, np.array(self.spreads))
        self.odd_effects, self.odd_covariance, for_odd = odd.posterior(own, inflation, np.zeros(EFFECTS), ODD)
        odds = ODDITY / (1 - ODDITY) * np.exp(np.clip(for_odd - for_usual, -50, 50))
        self.odd = np.where(odds > HARDLY, odds / (1 + odds), 0.0)

    def _blind(self, group: int, rows: Ints, nuggets: NuggetEffects, importance: Vector) -> Blind:
        likelihood, cells = self._likelihood, self._cells
        asked, own = nuggets.of_groups[group] if nuggets.of_groups else likelihood.of_nuggets(nuggets.points, rows)
        others = nuggets.log_likelihood[np.searchsorted(nuggets.asked, asked)] - own
        others -= others.max(axis=1, keepdims=True)
        kept, of_nugget = _different(others)
        beliefs = np.exp(others[kept].astype(np.float32))
        beliefs *= nuggets.density.astype(np.float32)
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        # Cells of one kind whose nuggets have one belief, in questions with one effect.
        belief, kinds = of_nugget[np.searchsorted(asked, cells.nugget[rows])], len(cells.kinds.cell)
        bases, base = np.unique(np.round(likelihood.base[rows], EIGHT), return_inverse=True)
        codes = (belief * np.int64(len(bases)) + base) * kinds + cells.kind[rows]
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        row = rows[first]
        eta = likelihood.base[row, None] + nuggets.points * likelihood.rise[row, None]
        blind = Blind(rows, beliefs, of_nugget, place, belief[first], eta, self._x[row])
        return blind.seeing_effects(importance * cells.count[rows])

    def _displacement(self, blind: Blind, importance: Vector) -> tuple[Vector, Vector]:
        """The v and k at which the expected weight of yes is the weight seen, and so is its slope over x; and the
        information behind each. g is 0."""
        cell_yes, cell_count = self._cells.yes[blind.rows], self._cells.count[blind.rows]
        count = blind.total(cell_count)
        # Equation 0 weighs pairs by their importance, equation 1 by x.
        x, of_importance = blind.x - blind.centre, blind.total(importance * cell_count)
        weights = np.stack([of_importance, x * count])
        seen = np.array([importance @ cell_yes, x @ blind.total(cell_yes)])
        products = np.stack([blind.total(importance**2 * cell_count), x * of_importance, x**2 * count])
        broad = np.diag([0.25 * float(importance.max()), 4.0])  # keeps groups of all yes or all no finite
        effects, slope, noise = np.zeros(EFFECTS), broad, broad
        for _ in range(20):
            p, rising = blind.chance(effects)
            slope = weights @ rising[:, :2]
            noise = (products @ (p * (1 - p)))[[[0, 1], [1, 2]]]
            step = np.linalg.solve(slope + broad, seen - weights @ p - broad @ effects[:2])
            effects[:2] += np.clip(step, (-1, -0.5), (1, 0.5))
            if np.abs(step).max() < 1e-3:
                break
        back = np.linalg.inv(slope + 1e-6 * broad)  # of fewer verdicts than effects, next to nothing is known
        return effects, 1 / np.maximum(np.diag(back @ noise @ back.T), 1e-12)

    def _gain(self, blind: Blind, importance: Vector, scales: Vector) -> Vector:
        """The v that changes the expected score as a variance of 1 of k and of g does. (v has no such effect on the
        judged groups: step 1 knows theirs.)"""
        weight = blind.total(importance * self._cells.count[blind.rows])
        p, rising = blind.chance(np.zeros(EFFECTS))
        gain = np.zeros(EFFECTS)
        for effect in (1, 2):
            # The mean over a normal distribution from three points, by Gauss and Hermite.
            step = np.sqrt(3) * scales[effect] * np.eye(EFFECTS)[effect]
            more = blind.chance(step)[0] + blind.chance(-step)[0] - 2 * p
            gain[effect] = float(weight @ more) / 6 / scales[effect] ** 2
        return gain / float(weight @ rising[:, 0])

    def _likelihood_of_effects(
        self, blind: Blind, scales: Vector, effects: Vector
    ) -> tuple[Vector, tuple[Matrix, Vector, float]]:
        """The likeliest effects of a group with these spreads, sought from `effects` on; and what its verdicts say of
        its effects near these: the curvature, the pull and the log of `_Likelihood`. It is a quasi-likelihood with the
        weights of the cells."""
        yes, count = blind.total(self._cells.weight_yes[blind.rows]), blind.total(self._cells.weight[blind.rows])
        curvature, p = np.zeros((EFFECTS, EFFECTS)), count
        for _ in range(30):
            p, rising = blind.chance(effects)
            per_pair = 1 / np.maximum(p * (1 - p), 1e-6)
            curvature = (rising * (per_pair * count)[:, None]).T @ rising
            slope = rising.T @ (per_pair * (yes - count * p)) - effects / scales**2
            step = np.linalg.solve(curvature + np.diag(scales**-2), slope)
            effects = effects + step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
            if np.abs(step).max() < 1e-6:
                break
        p = np.clip(p, 1e-6, 1 - 1e-6)
        log = float(yes @ np.log(p) + (count - yes) @ np.log1p(-p))
        pull = curvature @ effects + effects / scales**2
        return effects, (curvature, pull, log - float(pull @ effects - effects @ curvature @ effects / 2))

    def _excess(self, blind: Blind, effects: Vector) -> Vector:
        """Of a group's answers, in sum: the squares of nuggets found less expected, what these would be were nuggets
        independent, and what a ρ of 1 would add to it."""
        cells, rows = self._cells, blind.rows
        nugget, start = np.unique(cells.nugget[rows], return_index=True)  # cells are in the order of nuggets
        logits, count = blind.logits(effects)[blind.place], cells.count[rows]
        missed = np.concatenate([sums_of_softplus(own, count, start) for own in logits.T], axis=1)
        rates = missed.astype(np.float32)
        weight = blind.beliefs[blind.of_nugget]
        p = -(weight * np.expm1(-rates)).sum(axis=1, dtype=float)
        found = np.add.reduceat(cells.yes[rows], start) > 0
        question = self._question[nugget]
        height = (weight * heights(rates)).sum(axis=1, dtype=float)
        shared = np.bincount(question, height) ** 2 - np.bincount(question, height**2)
        return np.array([(np.bincount(question, found - p) ** 2).sum(), (p * (1 - p)).sum(), shared.sum()])


def _different(log_likelihood: Matrix) -> tuple[Ints, Ints]:
    """The first of each different row, to eight digits, and of each row, which of these is like it."""
    rounded = np.round(log_likelihood, EIGHT) + 0.0  # no −0
    first: dict[bytes, int] = {}
    which = np.array([first.setdefault(row.tobytes(), len(first)) for row in rounded], dtype=np.int64)
    _, kept = np.unique(which, return_index=True)
    return kept, which


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
