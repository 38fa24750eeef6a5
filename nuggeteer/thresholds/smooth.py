"""A smooth threshold for every nugget, learned together: the model that decides guesses by default.

    logit P(yes | s, z, nugget j of question q, group r) = η + v_r + k_r (x − e) + g_r (η − h)

    η = b₀ + t_j f(s) + d z + a_j + c_q
    f(s) = b₁(√s − ½) + b₂(s − 0.3) + Σ_k b_k max(√s − k, 0), for five knots k

The match score s has a smooth effect, not a step. A longer response (z, the logarithm of its length) may contain more
than its words show, or match by chance. Nuggets differ in how readily assessors saw them (a) and in how informative the
score is (t). Questions differ (c), and so do systems: in level (v), in how informative score and length are (k; x is
f(s) + d z), and in how far apart their likely and their unlikely pairs are (g): a_j ~ N(μ, σ_a²), log t_j ~ N(0, σ_t²),
c_q ~ N(0, σ_c²), v_r ~ N(m, σ_v²), k_r ~ N(0, σ_k²), g_r ~ N(0, σ_g²). The spreads are learned. So a nugget without a
single yes still gets a sensible threshold with an honest width, and a system that nobody judged may differ from the
others. Without g, verdicts on doubtful pairs would be taken to say as much about the likely and the unlikely ones
(docs/understanding/choosing-verdicts.md). e and h are where k and g leave the expected score of a usual system as it
is, and m is where their spreads do: without it, 5 % too many nuggets were expected where 99 % of pairs are a no
(experiments/sharpness.md).

Judged texts that are similar to a response add log odds of their own to η (`Pairs.carried`), where somebody worked them
out (`carry_over` in scoring/matched_run.py), as far as these are worth it (`carrying`). Judges (language models) add
w · o, for the clues o of their verdicts (`Pairs.opinions`): the weights w follow the coefficients in `b`, and are
learned with them.

An answer may be better or worse as a whole than its words show. So the nuggets of an answer are correlated: their
verdicts are the signs of normal variables with correlation ρ. This is a Gaussian copula, which does not change the
probability of any nugget.

`learning.py` fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import (
    BINS,
    COEFFICIENTS,
    CURVE,
    GRID,
    STEEPNESS,
    DecodedCells,
    decode_cells,
    encode_cells,
    features,
    rise,
)
from nuggeteer.thresholds.model import CarryOver, Opinions, Pairs
from nuggeteer.thresholds.smooth_draws import SmoothDraws

Matrix = Vector
SIGMAS = 64  # equally probable values that stand for the posterior of σ_v
EFFECTS = 3  # of a system: v, k and g
BLOCK = 1024  # kinds of pairs whose probability is worked out at once
FAR = 700.0  # of logits, whose exponential double precision can hold


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
    usual: Vector  # v, k and g of a usual group
    new_group: Vector  # equally probable values of σ_v, for groups without judgements
    centre: float  # e
    level: float  # h
    answer: float  # ρ
    spreads: tuple[float, ...]  # σ_a, σ_t, σ_c, σ_v, σ_k, σ_g
    partial: Vector  # of partial support: the mean of log K, and the standard deviation for a system (`partial`)
    carry_over: CarryOver
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
            "usual": (EFFECTS,),
            "new_group": (SIGMAS,),
            "spreads": (6,),
            "partial": (2,),
            "carry_over": (2,),
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
            "carry_over": CarryOver(*values["carry_over"].tolist()),
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
        carried = "carried={:.3g},{:.3g}".format(*self.carry_over)
        return f"smooth(b={b},{spreads},answer={self.answer:.3g},{partial}{carried},pairs={self.pairs})"

    def effects_of_group(self, name: str | None) -> list[Effects]:
        """The effects of a group: of the usual kind, and if it may be unlike all others, also of that kind."""
        if name not in self.group_names:
            spreads = np.array([(self.new_group**2).mean(), self.spreads[4] ** 2, self.spreads[5] ** 2])
            return [Effects(1.0, self.usual, np.diag(spreads))]
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
