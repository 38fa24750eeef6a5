"""Noisy thresholds (Nuggeteer §2.4, 4.4), exactly.

P(yes | s) = 1 − β if s > θ, else α; θ uniform on [0, 1], (α, β) uniform on α + β < 1. Models differ in
what has a θ of its own: the whole data set (`global`), each question, each nugget; in `nugget-errors`
each nugget has its own α and β too; in `pooled` the nuggets' θ come from one Beta distribution whose
mean and spread are learned. The baseline `coin` does not look at the score.

Given (α, β), each θ integrates to a finite sum: between two neighbouring scores the likelihood does not
change, so a unit's evidence is Σ (width of the interval) · (1−β)^a β^b α^c (1−α)^d, with a, b the yes and no above
the interval, and c, d those below. What remains has two dimensions (four for `pooled`), in which the
integrand is smooth with one peak: a trapezoidal rule around the mode, in coordinates without borders,
converges faster than any power of its step. `nugget-errors` integrates in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Evidence

Matrix = Vector
LOG10 = math.log(10)
# Intervals of θ whose likelihood is below e^−45 of their unit's best, anywhere near the mode, are left
# out: together they cannot change the eighth digit of 10^6 intervals.
NEGLIGIBLE = 45.0
# Of the trapezoidal rule, in standard deviations: the error of a Gaussian is below 1e−9 (1e−8 by STEP, the
# rest by REACH). With little data the integrand falls off like e^−|x| instead, and STEP_LITTLE and
# REACH_LITTLE, in the coordinates themselves, keep the same accuracy.
STEP, REACH = 0.75, 6.5
STEP_LITTLE, REACH_LITTLE = 0.5, 24.0


@dataclass(frozen=True)
class Steps:
    """All intervals of θ between distinct scores, unit by unit: counts of yes and no above and below."""

    start: Ints  # where each unit's intervals begin
    low: Vector
    high: Vector
    counts: Matrix  # intervals × (yes above, no above, yes below, no below)

    @property
    def units(self) -> int:
        return len(self.start)

    @property
    def unit(self) -> Ints:
        return np.repeat(np.arange(self.units), np.diff(np.append(self.start, len(self.low))))

    def only(self, kept: npt.NDArray[np.bool_]) -> Steps:
        unit = self.unit[kept]
        start = np.searchsorted(unit, np.arange(self.units)).astype(np.int64)
        return Steps(start, self.low[kept], self.high[kept], self.counts[kept])


def steps_of(evidence: Evidence, unit: Ints, units: int) -> Steps:
    """The intervals of each unit's θ. A unit without data has one, [0, 1]."""
    # Every unit begins at score 0 with nothing there, so that each has at least the interval above it.
    unit = np.concatenate([np.arange(units), unit])
    scores = np.concatenate([np.zeros(units), evidence.scores])
    weight = np.concatenate([np.zeros(units), np.ones(len(evidence.scores))])
    yes = np.concatenate([np.zeros(units), evidence.yes.astype(float)])
    order = np.lexsort((scores, unit))
    unit, scores, weight, yes = unit[order], scores[order], weight[order], yes[order]
    fresh = np.append(True, (np.diff(unit) != 0) | (np.diff(scores) != 0))
    first = np.flatnonzero(fresh)
    unit, low = unit[first], scores[first]
    all_here, yes_here = np.add.reduceat(weight, first), np.add.reduceat(yes, first)
    start = np.searchsorted(unit, np.arange(units)).astype(np.int64)
    last = np.append(start[1:], len(unit)) - 1
    high = np.append(low[1:], 1.0)
    high[last] = 1.0

    def below(values: Vector) -> Vector:
        running = np.cumsum(values)
        before = running[start] - values[start]
        return running - before[unit]

    yes_below, all_below = below(yes_here), below(all_here)
    yes_all, all_all = yes_below[last][unit], all_below[last][unit]
    no_below = all_below - yes_below
    counts = np.stack([yes_all - yes_below, all_all - yes_all - no_below, yes_below, no_below], axis=1)
    kept = high > low
    return Steps(start, low, high, counts).only(kept) if not kept.all() else Steps(start, low, high, counts)


def _logs(alpha: float, beta: float) -> Matrix:
    """4 × 1: logarithms of the four probabilities, in the order of the counts."""
    return np.log([[1 - beta], [beta], [alpha], [1 - alpha]])


def _sum_by_unit(log_terms: Matrix, start: Ints) -> tuple[Matrix, Matrix]:
    """log Σ exp over each unit's intervals, and each interval's share of it."""
    top = np.maximum.reduceat(log_terms, start, axis=0)
    sizes = np.diff(np.append(start, len(log_terms)))
    shares = np.exp(log_terms - np.repeat(top, sizes, axis=0))
    total = np.add.reduceat(shares, start, axis=0)
    shares /= np.repeat(total, sizes, axis=0)
    return top + np.log(total), shares


def _from_plane(x: Vector, y: Vector) -> tuple[Matrix, Vector]:
    """The logarithms as in `_logs` for (α, β) = the first two of softmax(x, y, 0), and the logarithm of the
    volume that these coordinates take."""
    total = np.logaddexp(np.logaddexp(x, y), 0)
    log_alpha, log_beta, log_rest = x - total, y - total, -total
    logs = np.stack([np.logaddexp(x, 0) - total, log_beta, log_alpha, np.logaddexp(y, 0) - total])
    return logs, log_alpha + log_beta + log_rest


def _mode(steps: Steps, log_width: Vector) -> tuple[float, float]:
    """(α, β) near the posterior mode, by EM: thresholds are the hidden data, errors are counted.

    Only intervals that matter at the last estimate are looked at; which ones do is found anew until it
    makes no difference."""
    alpha, beta = 0.05, 0.3
    for _ in range(20):
        begin = alpha, beta
        near = _matter(steps, log_width, _logs(alpha, beta))
        kept, width = steps.only(near), log_width[near]
        for _ in range(100):
            before = alpha, beta
            _, shares = _sum_by_unit(kept.counts @ _logs(alpha, beta) + width[:, None], kept.start)
            a, b, c, d = shares[:, 0] @ kept.counts
            # One of each outcome is added, which is the mode in the coordinates of `_from_plane`.
            alpha, beta = float((c + 1) / (c + d + 2)), float((b + 1) / (a + b + 2))
            if alpha + beta >= 0.99:
                alpha, beta = 0.99 * alpha / (alpha + beta), 0.99 * beta / (alpha + beta)
            if abs(alpha - before[0]) + abs(beta - before[1]) < 1e-6:
                break
        if abs(alpha - begin[0]) + abs(beta - begin[1]) < 1e-4:
            break
    return alpha, beta


def _matter(steps: Steps, log_width: Vector, logs: Matrix) -> npt.NDArray[np.bool_]:
    """Intervals whose likelihood is not negligible in their unit, at some of the (α, β)."""
    terms = steps.counts @ logs + log_width[:, None]
    best = np.maximum.reduceat(terms, steps.start, axis=0)
    sizes = np.diff(np.append(steps.start, len(terms)))
    return np.asarray((terms > np.repeat(best, sizes, axis=0) - NEGLIGIBLE).any(axis=1))


@dataclass(frozen=True)
class StepFit:
    """The posterior of a step model, as weighted nodes of (α, β) with each interval's share at each."""

    name: str
    log10_evidence: float
    unit_of_nugget: Ints
    steps: Steps
    alpha: Vector
    beta: Vector
    weight: Vector
    shares: Matrix

    def probability(self, scores: Vector, nugget: Ints) -> Vector:
        """P(yes | score), with θ, α and β integrated out."""
        unit = self.unit_of_nugget[nugget]
        below = self._threshold_below(scores, unit)
        return np.asarray((self.alpha + (1 - self.alpha - self.beta) * below) @ self.weight)

    def _threshold_below(self, scores: Vector, unit: Ints) -> Matrix:
        """scores × nodes: the probability that the unit's θ lies below the score."""
        steps = self.steps
        ends = np.append(steps.start[1:], len(steps.low))
        place = np.searchsorted(steps.unit * 2.0 + steps.low, unit * 2.0 + scores, side="right") - 1
        place = np.clip(place, steps.start[unit], ends[unit] - 1)
        running = np.cumsum(self.shares, axis=0)
        before = running - self.shares
        first = before[steps.start][unit]
        part = np.clip((scores - steps.low[place]) / (steps.high[place] - steps.low[place]), 0, 1)
        return np.asarray(before[place] - first + part[:, None] * self.shares[place])

    def threshold(self, nugget: Ints) -> Vector:
        """The posterior mean of each nugget's θ."""
        middle = (self.steps.low + self.steps.high) / 2
        mean = np.add.reduceat((self.shares @ self.weight) * middle, self.steps.start)
        return np.asarray(mean[self.unit_of_nugget[nugget]])

    @property
    def errors(self) -> tuple[float, float]:
        """Posterior means of α and β."""
        return float(self.alpha @ self.weight), float(self.beta @ self.weight)


def fit_steps(name: str, evidence: Evidence) -> StepFit:
    """Fit `global`, `question` or `nugget`: θ by data set, question or nugget, α and β for all."""
    unit_of_nugget = {
        "global": np.zeros(evidence.nuggets, dtype=np.int64),
        "question": evidence.question_of_nugget,
        "nugget": np.arange(evidence.nuggets),
    }[name]
    steps = steps_of(evidence, unit_of_nugget[evidence.nugget], int(unit_of_nugget.max(initial=0)) + 1)
    log_width = np.log(steps.high - steps.low)
    grid = _Plane(steps, log_width)
    near = steps.only(grid.kept)
    log_width = log_width[grid.kept]
    logs, volume = _from_plane(grid.x, grid.y)
    units, shares = _sum_by_unit(near.counts @ logs + log_width[:, None], near.start)
    log_nodes = units.sum(axis=0) + volume + math.log(2) + math.log(grid.cell)
    top = log_nodes.max()
    weight = np.exp(log_nodes - top)
    total = weight.sum()
    evidence10 = (top + math.log(total)) / LOG10
    heavy = weight > 1e-8 * weight.max()
    beta, alpha = np.exp(logs[1:3, heavy])
    share_of_node = weight[heavy] / weight[heavy].sum()
    return StepFit(name, evidence10, unit_of_nugget, near, alpha, beta, share_of_node, shares[:, heavy])


class _Plane:
    """Nodes of the trapezoidal rule around the mode, and the intervals of θ that matter there."""

    def __init__(self, steps: Steps, log_width: Vector) -> None:
        alpha, beta = _mode(steps, log_width)
        rest = 1 - alpha - beta
        centre = np.log([alpha / rest, beta / rest])
        kept = _matter(steps, log_width, _logs(alpha, beta))
        near, width = steps.only(kept), log_width[kept]

        def log_posterior(x: Vector, y: Vector) -> Vector:
            logs, volume = _from_plane(x, y)
            units, _ = _sum_by_unit(near.counts @ logs + width[:, None], near.start)
            return np.asarray(units.sum(axis=0) + volume)

        spread = _spread(log_posterior, centre)
        scale = [float(np.linalg.norm(spread[:, i])) for i in (0, 1)]
        step = [min(STEP, STEP_LITTLE / sd) for sd in scale]
        reach = [max(REACH, REACH_LITTLE * sd) for sd in scale]
        ticks = [h * np.arange(-round(r / h), round(r / h) + 1) for h, r in zip(step, reach, strict=True)]
        nodes = centre[:, None] + spread @ np.stack([m.ravel() for m in np.meshgrid(*ticks)])
        self.x, self.y = nodes
        self.cell = step[0] * step[1] * abs(float(np.linalg.det(spread)))
        corners = centre[:, None] + spread @ (REACH / 2 * np.array([[1, 1, -1, -1], [1, -1, 1, -1]]))
        self.kept = kept | _matter(steps, log_width, _from_plane(*corners)[0])


def _spread(log_posterior: object, centre: Vector) -> Matrix:
    """A square root of the inverse curvature at the mode: what one standard deviation is, in each direction."""
    assert callable(log_posterior)
    h = 0.05
    offsets = np.array([[0, 0], [h, 0], [-h, 0], [0, h], [0, -h], [h, h], [-h, -h]])
    f = log_posterior(*(centre[:, None] + offsets.T))
    xx, yy = (f[1] + f[2] - 2 * f[0]) / h**2, (f[3] + f[4] - 2 * f[0]) / h**2
    xy = (f[5] + f[6] - 2 * f[0]) / (2 * h**2) - (xx + yy) / 2
    curvature = -np.array([[xx, xy], [xy, yy]])
    values, vectors = np.linalg.eigh(curvature)
    # A posterior with little data falls off like e^−|x| and not faster: never narrower nodes than 3.
    return np.asarray(vectors / np.sqrt(np.clip(values, 1 / 9, None)))


def coin_evidence(evidence: Evidence) -> float:
    """A coin of unknown bias, uniform on [0, 1]."""
    yes = float(evidence.yes.sum())
    return float(betaln(yes + 1, len(evidence.yes) - yes + 1)) / LOG10


def _log_wedge(counts: Matrix) -> Vector:
    """log ∫∫ 2 (1−β)^a β^b α^c (1−α)^d over α + β < 1, for each row (a, b, c, d) of whole numbers.

    With γ = 1 − β this is 2 B(c+1, d+1) B(a+1, b+1) P(α < γ), α and γ beta-distributed; that probability
    is a finite sum over any one of the four counts, and the smallest is taken.
    """
    a, b, c, d = counts.T
    free = math.log(2) + betaln(c + 1, d + 1) + betaln(a + 1, b + 1)
    # P(α < γ) as a sum of a+1 terms; by symmetry of d+1; its complement of c+1, or of b+1.
    forms = [(a, b, c, d), (d, c, b, a), (c, d, a, b), (b, a, d, c)]
    smallest = np.argmin(np.stack([a, d, c, b]), axis=0)
    chance = np.zeros(len(counts))
    for form, (n, m, p, q) in enumerate(forms):
        rows = np.flatnonzero(smallest == form)
        total = np.zeros(len(rows))
        n_, m_, p_, q_ = n[rows], m[rows], p[rows], q[rows]
        for i in range(int(n_.max(initial=-1)) + 1):
            term = (
                betaln(p_ + 1 + i, q_ + m_ + 2)
                - np.log(m_ + 1 + i)
                - betaln(1 + i, m_ + 1)
                - betaln(p_ + 1, q_ + 1)
            )
            total += np.where(i <= n_, np.exp(term), 0.0)
        chance[rows] = total if form < 2 else 1 - total
    return np.asarray(free + np.log(np.maximum(chance, 1e-300)))


@dataclass(frozen=True)
class StepErrorsFit:
    """The posterior of `nugget-errors`: every nugget has a θ, α and β of its own."""

    log10_evidence: float
    steps: Steps
    share: Vector
    above: Vector  # of each interval: the expected 1 − β, and α
    below: Vector
    name: str = "nugget-errors"

    def probability(self, scores: Vector, nugget: Ints) -> Vector:
        steps, share = self.steps, self.share
        ends = np.append(steps.start[1:], len(steps.low))
        place = np.searchsorted(steps.unit * 2.0 + steps.low, nugget * 2.0 + scores, side="right") - 1
        place = np.clip(place, steps.start[nugget], ends[nugget] - 1)
        part = np.clip((scores - steps.low[place]) / (steps.high[place] - steps.low[place]), 0, 1)

        def up_to(values: Vector) -> tuple[Vector, Vector]:
            running = np.cumsum(values)
            first = (running - values)[steps.start]
            whole = np.append(first[1:], running[-1]) - first
            return running[place] - values[place] - first[nugget] + part * values[place], whole[nugget]

        with_yes, _ = up_to(share * self.above)
        lower, all_lower = up_to(share * self.below)
        return np.asarray(with_yes + all_lower - lower)

    def threshold(self, nugget: Ints) -> Vector:
        middle = (self.steps.low + self.steps.high) / 2
        return np.asarray(np.add.reduceat(self.share * middle, self.steps.start)[nugget])


def fit_step_errors(evidence: Evidence) -> StepErrorsFit:
    """Fit θ, α and β for each nugget by itself."""
    steps = steps_of(evidence, evidence.nugget, evidence.nuggets)
    log_width = np.log(steps.high - steps.low)
    a, b, c, d = steps.counts.T
    # Without α + β < 1 each integral is a product of beta functions, and at most that much larger.
    bound = math.log(2) + betaln(c + 1, d + 1) + betaln(a + 1, b + 1) + log_width
    sizes = np.diff(np.append(steps.start, len(bound)))
    best = np.repeat(np.maximum.reduceat(bound, steps.start), sizes)
    near = bound > best - NEGLIGIBLE
    kept, log_width = steps.only(near), log_width[near]
    wedge = _log_wedge(kept.counts)
    units, shares = _sum_by_unit((wedge + log_width)[:, None], kept.start)
    above = np.exp(_log_wedge(kept.counts + [1, 0, 0, 0]) - wedge)
    below = np.exp(_log_wedge(kept.counts + [0, 0, 1, 0]) - wedge)
    return StepErrorsFit(float(units.sum()) / LOG10, kept, shares[:, 0], above, below)
