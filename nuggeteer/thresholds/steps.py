"""The paper's noisy threshold models (Nuggeteer §2.4, 4.4), computed exactly.

P(yes | s) = 1 − β if s > θ, else α. θ is uniform on [0, 1], and (α, β) is uniform on α + β < 1. The models differ in
which unit has its own θ: the whole data set (`global`), each question (`question`) or each nugget (`nugget`). In
`nugget-errors` each nugget also has its own α and β. The baseline `coin` ignores the score. `noisy.py` adds a model in
which the nuggets' θ come from one distribution.

Given (α, β), the integral over each θ is a finite sum, because the likelihood is constant between two neighbouring
scores. The evidence of a unit is Σ (width of the interval) · (1−β)^a β^b α^c (1−α)^d. Here a and b count yes and no
above the interval, and c and d count yes and no below it. `nugget-errors` has a closed form. In the other models
`quadrature.py` integrates the two remaining dimensions. If there are many pairs, a sample of them first shows where the
posterior is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from nuggeteer.display import Shown
from nuggeteer.records import Bools, Ints, Matrix, Vector, ragged
from nuggeteer.thresholds.model import Evidence, Units
from nuggeteer.thresholds.quadrature import WHOLE, Nodes, locate, resolve

LOG10 = math.log(10)
# Intervals of θ are left out if, wherever the posterior is, their likelihood is below e^−45 of their unit's best. Even
# a million such intervals cannot change the eighth digit.
NEGLIGIBLE = 45.0
SAMPLE = 4000  # so many pairs are enough to find where the posterior is
BEYOND = 20.0  # densities below e^−20 of the highest are not integrated
HEAVY = 1e-7  # nodes with less than this share of the heaviest node's mass are left out of means
BLOCK = 1 << 18  # numbers at a time, few enough for the processor's cache


@dataclass(frozen=True, repr=False)
class Steps(Shown):
    """All intervals of θ between distinct scores, unit by unit, with the counts of yes and no above and below."""

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

    @property
    def pairs(self) -> int:
        return int(self.counts[self.start].sum())

    def only(self, kept: Bools) -> Steps:
        unit = self.unit[kept]
        start = np.searchsorted(unit, np.arange(self.units)).astype(np.int64)
        return Steps(start, self.low[kept], self.high[kept], self.counts[kept])

    def of_units(self, some: Bools) -> Steps:
        """The intervals of some of the units, which are numbered anew."""
        unit = self.unit
        kept = some[unit]
        start = np.searchsorted(unit[kept], np.flatnonzero(some)).astype(np.int64)
        return Steps(start, self.low[kept], self.high[kept], self.counts[kept])

    def cut(self, at: Vector) -> Steps:
        """The same with each interval cut at these scores."""
        first, last = np.searchsorted(at, self.low, side="right"), np.searchsorted(at, self.high, side="left")
        count = np.maximum(last - first, 0)
        begin, place = ragged(first, count)
        interval = np.repeat(np.arange(len(self.low)), count + 1)
        begins = begin[:-1] + np.arange(len(self.low))  # of the pieces of each interval
        inner = np.ones(len(interval), dtype=bool)
        inner[begins] = False
        low, high = self.low[interval], self.high[interval]
        low[inner] = at[place]
        high[np.flatnonzero(inner) - 1] = at[place]
        return Steps(begins[self.start], low, high, self.counts[interval])


def steps_of(evidence: Evidence, unit: Ints, units: int) -> Steps:
    """The intervals of each unit's θ. A unit without data has one interval, [0, 1]."""
    # Every unit gets an empty entry at score 0, so it has at least the interval above it.
    unit = np.concatenate([np.arange(units), unit])
    scores = np.concatenate([np.zeros(units), evidence.scores])
    weight = np.concatenate([np.zeros(units), np.ones(len(evidence.scores))])
    yes = np.concatenate([np.zeros(units), evidence.yes.astype(float)])
    order = np.lexsort((scores, unit))
    unit, scores, weight, yes = unit[order], scores[order], weight[order], yes[order]
    first = np.flatnonzero(np.append(True, (np.diff(unit) != 0) | (np.diff(scores) != 0)))
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


def sum_by_unit(log_terms: Matrix, start: Ints) -> tuple[Matrix, Matrix]:
    """log Σ exp over each unit's intervals (rows × units), and each interval's share of it (rows × intervals)."""
    top = np.maximum.reduceat(log_terms, start, axis=1)
    sizes = np.diff(np.append(start, log_terms.shape[1]))
    shares = log_terms - np.repeat(top, sizes, axis=1)
    np.exp(shares, out=shares)
    total = np.add.reduceat(shares, start, axis=1)
    shares /= np.repeat(total, sizes, axis=1)
    return np.asarray(top + np.log(total)), shares


class Likelihood:
    """The posterior density of (α, β) at α = u, β = (1 − u) v, with every θ summed out."""

    def __init__(self, steps: Steps, log_width: Vector) -> None:
        self.steps, self.log_width = steps, log_width
        self._sizes = np.diff(np.append(steps.start, len(log_width)))
        self._table = np.concatenate([steps.counts.T, log_width[None]])

    def blocks(self, nodes: int) -> list[slice]:
        """Slices of the nodes, each small enough for the processor's cache."""
        size = max(BLOCK // len(self.log_width), 1)
        return [slice(begin, begin + size) for begin in range(0, nodes, size)]

    def terms(self, u: Vector, v: Vector) -> Matrix:
        """nodes × intervals: the logarithms of the terms of the sum over θ."""
        probabilities = [u + (1 - u) * (1 - v), (1 - u) * v, u, 1 - u]
        logs = np.stack([*np.log(probabilities), np.ones_like(u)])
        # Not a matrix product, because in products as small as these BLAS's threads wait for one another.
        return np.asarray(np.einsum("kn,ki->ni", logs, self._table))

    def __call__(self, u: Vector, v: Vector) -> Vector:
        """The logarithm of the density."""
        result = np.log(2 * (1 - u))  # the prior, and the Jacobian of the map from the square
        for rows in self.blocks(len(u)):
            terms = self.terms(u[rows], v[rows])
            top = np.maximum.reduceat(terms, self.steps.start, axis=1)
            terms -= np.repeat(top, self._sizes, axis=1)
            np.exp(terms, out=terms)
            result[rows] += (top + np.log(np.add.reduceat(terms, self.steps.start, axis=1))).sum(axis=1)
        return result

    def near(self, corners: Matrix) -> Likelihood:
        """The same density without the intervals that are negligible everywhere in these cells."""
        low, high = corners.min(axis=0), corners.max(axis=0)
        inside = np.array([0.001, 0.333, 0.667, 0.999])
        across = low[0] + (high[1] - low[0]) * inside, low[2] + (high[3] - low[2]) * inside
        u, v = (axis.ravel() for axis in np.meshgrid(*across))
        u = np.append(u, corners[:, :2].mean(axis=1))
        v = np.append(v, corners[:, 2:].mean(axis=1))
        kept = np.zeros(len(self.log_width), dtype=bool)
        for rows in self.blocks(len(u)):
            terms = self.terms(u[rows], v[rows])
            best = np.repeat(np.maximum.reduceat(terms, self.steps.start, axis=1), self._sizes, axis=1)
            kept |= (terms > best - NEGLIGIBLE).any(axis=0)
        return Likelihood(self.steps.only(kept), self.log_width[kept])


@dataclass(frozen=True, repr=False)
class StepFit(Shown):
    """The posterior of a step model: each unit's expected α and β, and the probability of each interval of θ."""

    name: str
    log10_evidence: float
    unit_of_nugget: Ints
    steps: Steps
    alpha: Vector
    beta: Vector
    share: Vector  # P(θ in the interval)
    rise: Vector  # the expectation of 1 − α − β where θ is in the interval, counting 0 elsewhere
    cells: Matrix  # the cells that contain the posterior of a common α and β
    log_width: Vector  # the log prior probability of each interval
    nodes: Nodes | None = None  # of a common α and β; None if each unit has its own

    def probability(self, units: Units) -> Vector:
        """P(yes | score), with θ, α and β integrated out."""
        steps, unit, scores = self.steps, self.unit_of_nugget[units.nugget], units.scores
        ends = np.append(steps.start[1:], len(steps.low))
        interval = np.searchsorted(steps.unit * 2.0 + steps.low, unit * 2.0 + scores, side="right") - 1
        interval = np.clip(interval, steps.start[unit], ends[unit] - 1)
        before = np.cumsum(self.rise) - self.rise
        part = np.clip((scores - steps.low[interval]) / (steps.high[interval] - steps.low[interval]), 0, 1)
        risen = before[interval] - before[steps.start][unit] + part * self.rise[interval]
        return np.asarray(self.alpha[unit] + risen)

    @property
    def mean_theta(self) -> Vector:
        """The posterior mean of each unit's θ."""
        middle = (self.steps.low + self.steps.high) / 2
        return np.asarray(np.add.reduceat(self.share * middle, self.steps.start))

    def threshold(self, nugget: Ints) -> Vector:
        """The posterior mean of each nugget's θ."""
        return np.asarray(self.mean_theta[self.unit_of_nugget[nugget]])

    @property
    def errors(self) -> tuple[float, float]:
        """Posterior means of α and β. If each nugget has its own, the mean over nuggets."""
        return float(self.alpha.mean()), float(self.beta.mean())


def units_of(name: str, evidence: Evidence) -> Ints:
    """The unit whose θ each nugget shares, in the model of this name."""
    if name in ("coin", "global"):
        return np.zeros(evidence.nuggets, dtype=np.int64)
    if name == "question":
        return evidence.question_of_nugget
    if name in ("nugget", "nugget-errors", "pooled"):
        return np.arange(evidence.nuggets)
    raise ValueError(f"no step model {name!r}: there are global, question, nugget, nugget-errors and pooled")


def fit_steps(name: str, evidence: Evidence) -> StepFit:
    """Fit `global`, `question` or `nugget`: a θ for each unit, and one α and β for all."""
    unit_of_nugget = units_of(name, evidence)
    steps = steps_of(evidence, unit_of_nugget[evidence.nugget], int(unit_of_nugget.max(initial=0)) + 1)
    return fit_given(name, steps, np.log(steps.high - steps.low), unit_of_nugget)


def fit_given(name: str, steps: Steps, log_width: Vector, unit_of_nugget: Ints, cells: Matrix = WHOLE) -> StepFit:
    """Fit with `log_width`, the log prior probability of each interval of θ: the log of its width if θ is uniform.

    The `cells` of a similar fit save the search for the posterior. Units without pairs tell nothing: their θ stays as
    it was."""
    told: Bools = np.asarray(steps.counts[steps.start].any(axis=1))
    if told.all() or not told.any():
        return _fit_all(name, steps, log_width, unit_of_nugget, cells)
    fit = _fit_all(name, steps.of_units(told), log_width[told[steps.unit]], unit_of_nugget, cells)
    at = np.flatnonzero(~told[steps.unit])  # the intervals of the others
    unit = np.concatenate([np.flatnonzero(told)[fit.steps.unit], steps.unit[at]])
    order, share = np.argsort(unit, kind="stable"), np.exp(log_width[at])

    def beside(own: Vector, others: Vector | float) -> Vector:
        return np.concatenate([own, np.broadcast_to(others, (len(at), *own.shape[1:]))])[order]

    start = np.searchsorted(unit[order], np.arange(steps.units)).astype(np.int64)
    low, high = beside(fit.steps.low, steps.low[at]), beside(fit.steps.high, steps.high[at])
    alpha, beta = float(fit.alpha[0]), float(fit.beta[0])
    return replace(
        fit,
        steps=Steps(start, low, high, beside(fit.steps.counts, 0.0)),
        alpha=np.full(steps.units, alpha),
        beta=np.full(steps.units, beta),
        share=beside(fit.share, share),
        rise=beside(fit.rise, (1 - alpha - beta) * share),
        log_width=beside(fit.log_width, log_width[at]),
    )


def _fit_all(name: str, steps: Steps, log_width: Vector, unit_of_nugget: Ints, cells: Matrix) -> StepFit:
    whole = Likelihood(steps, log_width)
    if cells is WHOLE:
        for part in (512, 64, 8):
            if steps.pairs >= part * SAMPLE:
                sample = Likelihood(*_thinned(steps, log_width, part))
                cells = locate(sample if cells is WHOLE else sample.near(cells), cells, BEYOND)
    near = whole if cells is WHOLE else whole.near(cells)
    found = locate(near, cells, BEYOND)
    if _at_border(found, cells):  # the posterior continues outside the cells
        near, found = whole, locate(whole, WHOLE, BEYOND)
    if near is whole:
        near = whole.near(found)
    nodes = resolve(near, found)
    heavy = nodes.log_mass > nodes.log_mass.max() + math.log(HEAVY)
    u, v, weight = nodes.u[heavy], nodes.v[heavy], np.exp(nodes.log_mass[heavy] - nodes.log_total)
    weight /= weight.sum()
    alpha, beta = float(u @ weight), float(((1 - u) * v) @ weight)
    share, rise = np.zeros(len(near.log_width)), np.zeros(len(near.log_width))
    for rows in near.blocks(len(u)):
        _, shares = sum_by_unit(near.terms(u[rows], v[rows]), near.steps.start)
        share += np.einsum("n,ni->i", weight[rows], shares)
        rise += np.einsum("n,ni->i", (weight * (1 - u) * (1 - v))[rows], shares)
    alike = np.ones(steps.units)
    log10_evidence = nodes.log_total / LOG10
    return StepFit(
        name,
        log10_evidence,
        unit_of_nugget,
        near.steps,
        alpha * alike,
        beta * alike,
        share,
        rise,
        found,
        near.log_width,
        nodes,
    )


def _at_border(inner: Matrix, outer: Matrix) -> bool:
    """Whether the inner cells reach an edge of the outer cells that is not an edge of the square."""
    for low, high in ((0, 1), (2, 3)):
        first, last = outer[:, low].min(), outer[:, high].max()
        if (first > 0 and inner[:, low].min() <= first) or (last < 1 and inner[:, high].max() >= last):
            return True
    return False


def _thinned(steps: Steps, log_width: Vector, part: int) -> tuple[Steps, Vector]:
    """The intervals of a random sample of the pairs, one in `part`."""
    rng = np.random.default_rng(part)
    unit = steps.unit
    last = np.append(steps.start[1:], len(unit)) - 1
    pairs = np.diff(steps.counts[:, 2:], axis=0, prepend=0)
    pairs[steps.start] = steps.counts[steps.start, 2:]
    here = rng.binomial(pairs.astype(np.int64), 1 / part)
    highest = rng.binomial(steps.counts[last, :2].astype(np.int64), 1 / part)
    running = np.cumsum(here, axis=0)
    below = running - (running - here)[steps.start][unit]
    above = (below[last] + highest)[unit] - below
    at = np.flatnonzero(np.append(True, (np.diff(unit) != 0) | here[1:].any(axis=1)))
    start = np.searchsorted(unit[at], np.arange(steps.units)).astype(np.int64)
    high = steps.high[np.append(at[1:], len(unit)) - 1]
    counts = np.concatenate([above, below], axis=1).astype(float)[at]
    return Steps(start, steps.low[at], high, counts), np.logaddexp.reduceat(log_width, at)


def coin_evidence(evidence: Evidence) -> float:
    """log₁₀ of the evidence of a coin whose unknown bias is uniform on [0, 1]."""
    yes = float(evidence.yes.sum())
    return float(scipy.special.betaln(yes + 1, len(evidence.yes) - yes + 1)) / LOG10


def _log_below(counts: Matrix) -> Vector:
    """log P(α < γ) for each row (a, b, c, d), where γ ~ Beta(a+1, b+1) and α ~ Beta(c+1, d+1).

    It is a finite sum of min(a, d) + 1 positive terms. Each term is the previous one times a fraction."""
    a, b, c, d = counts.T
    n, m, p, q = np.where(d < a, [d, c, b, a], [a, b, c, d])
    order = np.argsort(-n)
    n, m, p, q = n[order], m[order], p[order], q[order]
    log_first = scipy.special.betaln(p + 1, q + m + 2) - scipy.special.betaln(p + 1, q + 1)
    term, total = np.ones(len(n)), np.ones(len(n))
    for i in range(int(n.max(initial=0))):
        k = int(np.searchsorted(-n, -i))  # rows that have a next term
        term[:k] *= (p[:k] + 1 + i) * (m[:k] + 1 + i) / ((p[:k] + q[:k] + m[:k] + 3 + i) * (i + 1))
        total[:k] += term[:k]
        if i % 8 == 0:
            large = np.where(total[:k] > 1e100, 1e-100, 1.0)
            term[:k] *= large
            total[:k] *= large
            log_first[:k] -= np.log(large)
    result = np.zeros(len(n))
    result[order] = log_first + np.log(total)
    return result


def _log_wedge(counts: Matrix) -> Vector:
    """log ∫∫ 2 (1−β)^a β^b α^c (1−α)^d over α + β < 1, for each row (a, b, c, d) of whole numbers.

    With γ = 1 − β this is 2 B(c+1, d+1) B(a+1, b+1) P(α < γ), with beta-distributed α and γ. P(α > γ) may be a shorter
    sum. It is used unless it is close to 1.
    """
    a, b, c, d = counts.T
    chance = np.zeros(len(counts))
    shorter = np.minimum(b, c) < np.minimum(a, d)
    complement = _log_below(counts[shorter][:, [2, 3, 0, 1]])
    shorter[shorter] = complement < -1e-3
    chance[shorter] = np.log(-np.expm1(complement[complement < -1e-3]))
    chance[~shorter] = _log_below(counts[~shorter])
    return np.asarray(math.log(2) + scipy.special.betaln(c + 1, d + 1) + scipy.special.betaln(a + 1, b + 1) + chance)


def fit_step_errors(evidence: Evidence) -> StepFit:
    """Fit θ, α and β separately for each nugget."""
    steps = steps_of(evidence, evidence.nugget, evidence.nuggets)
    log_width = np.log(steps.high - steps.low)
    a, b, c, d = steps.counts.T
    # Without the condition α + β < 1 each integral is a product of beta functions, which is an upper bound. An interval
    # is left out if its bound is negligible beside the exact value of the best of three intervals of its unit.
    bound = math.log(2) + scipy.special.betaln(c + 1, d + 1) + scipy.special.betaln(a + 1, b + 1) + log_width
    sizes = np.diff(np.append(steps.start, len(bound)))
    rank = np.lexsort((-bound, steps.unit))
    three = np.stack([rank[steps.start], steps.start, np.append(steps.start[1:], len(bound)) - 1])
    best = (_log_wedge(steps.counts[three.ravel()]) + log_width[three.ravel()]).reshape(three.shape).max(axis=0)
    near = bound > np.repeat(best, sizes) - NEGLIGIBLE
    kept, log_width = steps.only(near), log_width[near]
    wedge = _log_wedge(kept.counts)
    units, shares = sum_by_unit((wedge + log_width)[None], kept.start)
    share = shares[0]
    above = share * np.exp(_log_wedge(kept.counts + np.array([1, 0, 0, 0])) - wedge)  # the expected 1 − β
    below = share * np.exp(_log_wedge(kept.counts + np.array([0, 0, 1, 0])) - wedge)  # and α
    alpha, beta = np.add.reduceat(below, kept.start), 1 - np.add.reduceat(above, kept.start)
    own = np.arange(evidence.nuggets)
    log10_evidence = float(units.sum()) / LOG10
    return StepFit("nugget-errors", log10_evidence, own, kept, alpha, beta, share, above - below, WHOLE, log_width)
