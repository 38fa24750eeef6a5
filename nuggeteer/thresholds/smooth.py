"""A smooth threshold for every nugget, learned together: the model that decides guesses by default.

    logit P(yes | s, z, nugget j of question q, group r) = η + v_r + k_r (x − e) + g_r (η − h)

    η = b₀ + t_j f(s) + d z + a_j + c_q
    f(s) = b₁(√s − ½) + b₂(s − 0.3) + Σ_k b_k max(√s − k, 0), for five knots k

The match score s has a smooth effect, not a step. A longer response (z, the logarithm of its length) may contain more
than its words show, or match by chance. Nuggets differ in how readily assessors saw them (a) and in how informative the
score is (t). Questions differ (c), and so do systems: in level (v), in how informative score and length are (k; x is
f(s) + d z), and in how far apart their likely and their unlikely pairs are (g): a_j ~ N(μ, σ_a²), log t_j ~ N(0, σ_t²),
c_q ~ N(0, σ_c²), v_r ~ N(0, σ_v²), k_r ~ N(0, σ_k²), g_r ~ N(0, σ_g²). The spreads are learned. So a nugget without a
single yes still gets a sensible threshold with an honest width, and a system that nobody judged may differ from the
others. Without g, verdicts on doubtful pairs would be taken to say as much about the likely and the unlikely ones
(docs/understanding/choosing-verdicts.md). e and h are where k and g leave the expected score of a usual system as it
is.

Judged texts that are similar to a response add log odds of their own to η (`Pairs.carried`), where somebody worked them
out (`carry_over` in scoring/outcomes.py). Judges (language models) add w · o, for the clues o of their verdicts
(`Pairs.opinions`): the weights w follow the coefficients in `b`, and are learned with them.

An answer may be better or worse as a whole than its words show. So the nuggets of an answer are correlated: their
verdicts are the signs of normal variables with correlation ρ. This is a Gaussian copula, which does not change the
probability of any nugget.

`learning.py` fits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import (
    BINS,
    COEFFICIENTS,
    CURVE,
    DecodedCells,
    decode_cells,
    encode_cells,
    features,
    rise,
)
from nuggeteer.thresholds.model import Opinions, Pairs
from nuggeteer.thresholds.rows import RandomRows, joined, key_of

Matrix = Vector
GRID = np.linspace(-10.0, 8.0, 61)  # of a nugget's a
# Of a nugget's log t, in units of σ_t: the normal distribution in three points.
STEEPNESS = np.sqrt(3) * np.array([-1.0, 0.0, 1.0])
SIGMAS = 64  # equally probable values that stand for the posterior of σ_v
EFFECTS = 3  # of a system: v, k and g
DIRECTIONS = 3  # of the uncertainty about the curve that are drawn
JUDGES = 2  # and as many more, at most, of the uncertainty about what judges are worth
JUDGED = 0.5  # about what a judge's clue is after a yes, and less after a no
BLOCK = 1024  # kinds of pairs whose probability is worked out at once
CELLS = 128  # whose chances are worked out at once: a megabyte, which the processor keeps at hand
MOST = np.float32(80.0)  # of logits, whose exponential single precision can hold
FAR = 700.0  # the same in double precision
NARROW = 0.05  # a posterior standard deviation of logits that is not worth drawing


def heard(opinions: Opinions | None, pairs: int, b: Vector) -> Opinions | None:
    """The opinions on so many pairs, for a model with the coefficients b; None if these are none of judges."""
    clues = len(b) - COEFFICIENTS
    return (Opinions.none(pairs, clues) if opinions is None else opinions) if clues else None


@dataclass(frozen=True, repr=False)
class Prior(Shown):
    """The assumptions before the first judgement. The spreads count as much as `weight` observed effects, and the
    correlation within answers as much as `answers` observed answers. After the COEFFICIENTS of the curve and the size,
    `b` has those of the judges' clues."""

    b: Vector
    b_covariance: Matrix
    nugget: float
    question: float
    group: float
    slope: float
    sharpness: float
    answer: float
    weight: float = 4.0
    answers: float = 100.0

    @property
    def signature(self) -> str:
        systems = (self.group, self.slope, self.sharpness)
        spreads = (self.nugget, self.question, *systems, self.answer, self.weight, self.answers)
        values = [*self.b, *self.b_covariance.ravel(), *spreads]
        return f"prior({','.join(f'{value:.4g}' for value in values)})"


@dataclass(frozen=True)
class Effects:
    """What v, k and g of a group may be: a normal distribution, with the probability that it is the right one."""

    probability: float
    mean: Vector
    covariance: Matrix


@dataclass(frozen=True, repr=False)
class SmoothFit(Shown):
    """The fitted model."""

    b: Vector
    b_covariance: Matrix
    question: Vector  # c
    question_spread: Vector  # posterior standard deviation of each c
    question_of_nugget: Ints
    steepness: Vector  # the values of t
    nugget_weights: Matrix  # nuggets × (steepness × GRID), the posterior of each (t, a)
    group_names: tuple[str, ...]
    effects: Matrix  # v, k and g of the groups with judgements
    effects_covariance: Vector  # groups × EFFECTS × EFFECTS
    odd: Vector  # the probability that each of these groups is unlike all others
    odd_effects: Matrix  # and v, k and g if it is
    odd_covariance: Vector
    new_group: Vector  # equally probable values of σ_v, for groups without judgements
    centre: float  # e
    level: float  # h
    answer: float  # ρ
    spreads: tuple[float, ...]  # σ_a, σ_t, σ_c, σ_v, σ_k, σ_g
    partial: Vector  # of partial support: the mean of log K, and the standard deviation for a system (`partial`)
    usual_size: float  # of the judged responses; thresholds are for this size
    pairs: int
    log10_evidence: float

    @classmethod
    def from_arrays(cls, values: Mapping[str, Any]) -> SmoothFit:
        """A fit from its fields as arrays, of the shapes that belong together."""
        nuggets, groups = len(values["question_of_nugget"]), len(values["group_names"])
        shapes = {
            "b_covariance": (len(values["b"]), len(values["b"])),
            "question_spread": values["question"].shape,
            "steepness": (len(STEEPNESS),),
            "nugget_weights": (nuggets, len(STEEPNESS) * len(GRID)),
            "effects": (groups, EFFECTS),
            "effects_covariance": (groups, EFFECTS, EFFECTS),
            "odd": (groups,),
            "odd_effects": (groups, EFFECTS),
            "odd_covariance": (groups, EFFECTS, EFFECTS),
            "new_group": (SIGMAS,),
            "spreads": (6,),
            "partial": (2,),
        }
        known = values["b"].ndim == 1 and len(values["b"]) >= COEFFICIENTS
        if not known or any(values[name].shape != shape for name, shape in shapes.items()):
            raise ValueError("arrays of other shapes")
        typed: dict[str, Any] = {
            **values,
            "group_names": tuple(map(str, values["group_names"])),
            "spreads": tuple(map(float, values["spreads"])),
            "usual_size": float(values["usual_size"]),
            "centre": float(values["centre"]),
            "level": float(values["level"]),
            "answer": float(values["answer"]),
            "pairs": int(values["pairs"]),
            "log10_evidence": float(values["log10_evidence"]),
        }
        return cls(**typed)

    @property
    def signature(self) -> str:
        a, t, c, v, k, g = self.spreads
        b = ",".join(f"{value:.3g}" for value in self.b[:COEFFICIENTS])
        if len(self.b) > COEFFICIENTS:
            b += ",judges=" + ",".join(f"{value:.3g}" for value in self.b[COEFFICIENTS:])
        spreads = f"nugget={a:.3g},steepness={t:.3g},question={c:.3g},group={v:.3g},slope={k:.3g},sharpness={g:.3g}"
        partial = "" if np.isnan(self.partial).any() else f"partial={self.partial[0]:.3g},"
        return f"smooth(b={b},{spreads},answer={self.answer:.3g},{partial}pairs={self.pairs})"

    def effects_of_group(self, name: str | None) -> list[Effects]:
        """The effects of a group: of the usual kind, and if it may be unlike all others, also of that kind."""
        if name not in self.group_names:
            spreads = np.array([(self.new_group**2).mean(), self.spreads[4] ** 2, self.spreads[5] ** 2])
            return [Effects(1.0, np.zeros(EFFECTS), np.diag(spreads))]
        at = self.group_names.index(name)
        usual = Effects(1 - float(self.odd[at]), self.effects[at], self.effects_covariance[at])
        odd = Effects(float(self.odd[at]), self.odd_effects[at], self.odd_covariance[at])
        return [kind for kind in (usual, odd) if kind.probability > 0]

    def probability(self, pairs: Pairs, group: str | None = None) -> Vector:
        """P(yes) of each pair, with all unknowns integrated out."""
        pairs = self.heard(pairs)
        codes, place = np.unique(encode_cells(pairs.nugget, pairs), return_inverse=True)
        blocks = [decode_cells(codes[i : i + BLOCK], pairs.opinions) for i in range(0, len(codes), BLOCK)]
        chance = np.concatenate([self._probability(block, group) for block in blocks] or [np.zeros(0)])
        return np.asarray(chance[place])

    @property
    def hears_judges(self) -> bool:
        return len(self.b) > COEFFICIENTS

    def heard(self, pairs: Pairs) -> Pairs:
        """The pairs with the opinions of the judges whose worth this fit knows."""
        return replace(pairs, opinions=heard(pairs.opinions, len(pairs), self.b))

    def _probability(self, cells: DecodedCells, group: str | None) -> Vector:
        kinds = self.effects_of_group(group)
        return np.asarray(sum(kind.probability * self._given_effects(cells, kind) for kind in kinds))

    def _given_effects(self, cells: DecodedCells, effects: Effects) -> Vector:
        (v, k, g), covariance = effects.mean, effects.covariance
        nugget, scores, size = cells.cell, cells.score, cells.size
        question = self.question_of_nugget[nugget]
        given = features(scores, size, cells.opinions)
        # A normal mean of logits, by the probit approximation (MacKay 1992), over the grid of a.
        noise = np.einsum("pk,km,pm->p", given, self.b_covariance, given) + self.question_spread[question] ** 2
        noise *= (1 + g) ** 2
        rises = rise(scores, self.b)
        x = rises + self.b[CURVE] * size - self.centre
        shift = self.b[0] + self.b[CURVE] * size + self.question[question]
        shift += cells.carried + cells.opinions @ self.b[COEFFICIENTS:]
        noise += covariance[0, 0] + (2 * covariance[0, 1] + covariance[1, 1] * x) * x
        with_g = 2 * (covariance[0, 2] + covariance[1, 2] * x)
        result = np.zeros(len(nugget))
        for i, t in enumerate(self.steepness):
            own = self.nugget_weights[nugget, i * len(GRID) : (i + 1) * len(GRID)]
            away = (shift + t * rises - self.level)[:, None] + GRID
            scale = 1 / np.sqrt(1 + np.pi * (noise[:, None] + (with_g[:, None] + covariance[2, 2] * away) * away) / 8)
            logit = self.level + (v + k * x)[:, None] + (1 + g) * away
            logit *= scale
            result += _mean_chance(own, logit)
        return result

    def threshold(self, nugget: Ints) -> Vector:
        """The lowest match score at which a response of the usual size is a yes with a probability of at least ½; NaN
        if there is none."""
        nuggets, own = np.unique(nugget, return_inverse=True)
        question = np.stack([self.question, self.question_spread], axis=1)[self.question_of_nugget[nuggets]]
        first: dict[bytes, int] = {}  # nuggets without evidence are alike, and one stands for all
        known = zip(self.nugget_weights[nuggets], question, nuggets.tolist(), strict=True)
        alike = [first.setdefault(weights.tobytes() + about.tobytes(), i) for weights, about, i in known]
        asked, place = np.unique(np.array(alike, dtype=np.int64), return_inverse=True)
        parts = [self._lowest_likely(asked[i : i + BLOCK]) for i in range(0, len(asked), BLOCK)]
        return np.concatenate([*parts, np.zeros(0)])[place][own]

    def _lowest_likely(self, nuggets: Ints) -> Vector:
        levels = (np.arange(BINS + 1) / BINS) ** 2
        pairs = Pairs(
            np.tile(levels, len(nuggets)),
            np.repeat(nuggets, len(levels)),
            np.full(len(nuggets) * len(levels), self.usual_size),
        )
        likely = self.probability(pairs).reshape(len(nuggets), len(levels)) >= 0.5
        return np.where(likely.any(axis=1), levels[likely.argmax(axis=1)], np.nan)

    def draw(self, count: int, seed: int) -> SmoothDraws:
        """Draws from the posterior, which give chances."""
        return SmoothDraws(self, count, seed)


def _mean_chance(weights: Matrix, logit: Matrix) -> Vector:
    """The mean of 1 / (1 + exp −logit) in each row; changes `logit`."""
    np.negative(np.maximum(logit, -FAR, out=logit), out=logit)
    np.exp(logit, out=logit)
    logit += 1
    return np.asarray(np.divide(weights, logit, out=logit).sum(axis=1))


class SmoothDraws:
    """Joint draws of everything unknown. The same draws serve all runs, so that runs can be compared.

    The numbers of a nugget, a question or a group depend on nothing else that is drawn (`rows`). They are worked out
    when they are needed, in single precision, so that nothing is kept for each nugget and draw."""

    def __init__(self, fit: SmoothFit, count: int, seed: int) -> None:
        self.fit, self.count = fit, count
        self.answer_correlation = fit.answer
        self.b = self._curves(fit)
        levels = (np.arange(BINS + 1) / BINS) ** 2
        self._curve = np.arange(count) * len(self.b) // count  # of each draw
        self._rises = np.stack([rise(levels, b) for b in self.b], axis=1).astype(np.float32)[:, self._curve]
        self._weights = [np.float32(1), *self.b[self._curve, COEFFICIENTS:].T.astype(np.float32)]
        self._rows = RandomRows(count, seed)
        self._groups: dict[str | None, Matrix] = {}

    def effects(self, group: str | None) -> tuple[Vector, Vector, Vector]:
        """Draws of a group's v, k and g. Each group has its own, the same at every call.

        v is stratified, because it affects a score more than anything else, and the score must not depend on the
        seed."""
        name = key_of(group or "")
        usual, *odd = self.fit.effects_of_group(group)
        normal = np.concatenate([self._rows.normal(joined(name, which)) for which in (1, 3, 8)])
        drawn = usual.mean[:, None] + np.linalg.cholesky(usual.covariance) @ normal
        if odd:
            other = odd[0].mean[:, None] + np.linalg.cholesky(odd[0].covariance) @ normal
            drawn = np.where(self._rows.uniform(joined(name, 9)) < odd[0].probability, other, drawn)
        if group not in self.fit.group_names:  # σ_v is itself uncertain
            spread = self.fit.new_group
            which = self._rows.strata(joined(name, 2))[0].astype(np.int64) * len(spread) // self.count
            drawn[0] = spread[which] * normal[0]
        v, k, g = drawn.astype(np.float32)
        return v, k, g

    def partial_support(self, group: str) -> Vector | None:
        """log K of partial support in each draw; None where nobody says partly."""
        mean, deviation = self.fit.partial.tolist()
        if np.isnan(mean):
            return None
        return np.asarray(mean + deviation * self._rows.normal(joined(key_of(group), 9))[0].astype(float))

    def of_nuggets(self, nuggets: Ints) -> tuple[Vector, Vector]:
        """nuggets × draws, twice: a + c, and t. Each (t, a) occurs as often as its weight says, up to one draw."""
        fit = self.fit
        rounding = (joined(nuggets, 4) >> np.uint64(11)).astype(float) / 2**53
        ends = np.floor(np.cumsum(fit.nugget_weights[nuggets], axis=1) * self.count + rounding[:, None])
        ends[:, -1] = self.count
        order = self._rows.strata(joined(nuggets, 6))
        ends = np.minimum(ends, self.count).astype(order.dtype)
        # Between the points of the grid.
        shift = (self._rows.uniform(joined(nuggets, 5)) - np.float32(0.5)) * np.float32(GRID[1] - GRID[0])
        points = np.tile(GRID.astype(np.float32), len(nuggets) * len(STEEPNESS))
        shift += np.repeat(points, np.diff(ends, prepend=0, axis=1).ravel()).reshape(shift.shape)
        shift = np.take(shift, order + np.arange(0, shift.size, self.count)[:, None])
        question = fit.question_of_nugget[nuggets]
        asked, row = np.unique(question, return_inverse=True)
        spread = fit.question_spread[asked, None].astype(np.float32)
        shift += fit.question[question, None].astype(np.float32)
        shift += (self._rows.normal(joined(asked, 7)) * spread)[row]
        of_steepness = ends[:, len(GRID) - 1 : -1 : len(GRID), None]  # where each value of t ends, but the last
        which = sum((order >= end).view(np.int8) for end in of_steepness.swapaxes(0, 1))
        return shift, np.take(fit.steepness.astype(np.float32), which)

    def kinds(self, pairs: Pairs) -> Ints:
        """Pairs of one nugget with the same rounded score, size and carried-over log odds have the same chance."""
        return encode_cells(pairs.nugget, self.fit.heard(pairs))

    def chances(self, pairs: Pairs, group: str | None, cell: Ints | None = None) -> Matrix:
        """draws × cells: the probability that at least one of a cell's responses carries its nugget (`model.Draws`).

        All responses of a group share its v, and all responses to a nugget its a and t."""
        cells = len(self.fit.nugget_weights) if cell is None else int(cell.max(initial=-1)) + 1
        cell = pairs.nugget if cell is None else cell
        codes, first, count = np.unique(
            encode_cells(cell, self.fit.heard(pairs)), return_index=True, return_counts=True
        )
        missed = np.zeros((cells, self.count), dtype=np.float32)
        for begin in range(0, len(codes), CELLS):
            part = first[begin : begin + CELLS]
            rates = self.rates(pairs[part], (group,), np.zeros(len(part), dtype=np.int64))
            np.add.at(missed, cell[part], rates * count[begin : begin + CELLS, None].astype(np.float32))
        return -np.expm1(-missed).T

    def rates(self, pairs: Pairs, groups: Sequence[str | None], group: Ints) -> Matrix:
        """pairs × draws: −log of the probability that a response does not carry its nugget. `group` has the number of
        each pair's in `groups`.

        The logit is linear in what a pair has of its own, so what its nugget and its group contribute is worked out
        once for all their pairs."""
        pairs = self.fit.heard(pairs)
        kinds = decode_cells(encode_cells(pairs.nugget, pairs), pairs.opinions)
        used, of_pair = np.unique(group, return_inverse=True)
        sharpness, level, rising, of_size = np.stack([self._of_group(groups[i]) for i in used.tolist()], axis=1)
        owner, row = np.unique(pairs.nugget * len(used) + of_pair, return_inverse=True)
        nugget, by = np.divmod(owner, len(used))
        asked, place = np.unique(nugget, return_inverse=True)
        shift, steepness = self.of_nuggets(asked)
        rises = self._rises[np.rint(np.sqrt(kinds.score) * BINS).astype(np.int64)]
        logits = (steepness[place] * sharpness[by] + rising[by])[row]
        logits *= rises
        logits += (shift[place] * sharpness[by] + level[by])[row]
        logits += kinds.size[:, None].astype(np.float32) * of_size[of_pair]
        # Not as a product of matrices: its last bits would depend on the other pairs.
        for clue, weight in zip([kinds.carried, *kinds.opinions.T], self._weights, strict=True):
            if clue.any():
                logits += clue[:, None].astype(np.float32) * (sharpness * weight)[of_pair]
        np.clip(logits, -MOST, MOST, out=logits)  # which is sure enough
        np.exp(logits, out=logits)
        return np.asarray(np.log1p(logits, out=logits))

    def _of_group(self, group: str | None) -> Matrix:
        """In each draw of a group, what its effects make of the logit: the factor 1 + g of what nugget and question
        contribute, what is added to all, what is added per unit of the rise, and what a unit of size adds."""
        if group not in self._groups:
            v, k, g = self.effects(group)
            intercept, size = (self.b[self._curve, which].astype(np.float32) for which in (0, CURVE))
            level = v - np.float32(self.fit.level) * g - np.float32(self.fit.centre) * k + (1 + g) * intercept
            self._groups[group] = np.stack([1 + g, level, k, size * (1 + g + k)])
        return self._groups[group]

    @staticmethod
    def _curves(fit: SmoothFit) -> Matrix:
        """Curves that represent the posterior of b. If it is narrow, this is one curve. Otherwise these are the points
        of the spherical cubature rule, which have its mean and covariance, in the directions that change the curve
        most."""
        clues = len(fit.b) - COEFFICIENTS
        x = features((np.arange(BINS + 1) / BINS) ** 2, np.full(BINS + 1, fit.usual_size), np.zeros((BINS + 1, clues)))
        one = np.eye(len(fit.b))
        changes = [one[CURVE], *(JUDGED * clue for clue in one[COEFFICIENTS:])]
        if clues > 1:  # where judges agree
            changes.append(JUDGED * one[COEFFICIENTS:].sum(axis=0))
        # Longer and shorter; of each judge, a yes and a no.
        x = np.concatenate([x, *(x + sign * change for change in changes for sign in (1, -1))])
        widest = np.einsum("lk,km,lm->l", x, fit.b_covariance, x).max()
        if widest < NARROW**2:
            return fit.b[None, :]
        root = np.linalg.cholesky(fit.b_covariance)
        _, _, directions = np.linalg.svd(x @ root, full_matrices=False)
        wanted = DIRECTIONS + min(clues, JUDGES)
        axes = np.sqrt(wanted) * directions[:wanted]
        return np.asarray(fit.b + np.concatenate([axes, -axes]) @ root.T)
