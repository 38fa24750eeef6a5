"""A smooth threshold for every nugget, learned together: the model that decides guesses by default.

    logit P(yes | s, nugget j of question q, group r) = b₀ + t_j f(s) + a_j + c_q + v_r

    f(s) = b₁(√s − ½) + b₂(s − 0.3) + Σ_k b_k max(√s − k, 0), for five knots k

The match score speaks through a smooth curve, not a step; nuggets differ in how readily assessors saw them (a) and
in how much the score says of them (t), questions differ (c), and so do systems (v): a_j ~ N(μ, σ_a²),
log t_j ~ N(0, σ_t²), c_q ~ N(0, σ_c²), v_r ~ N(0, σ_v²). The spreads are learned, so a nugget without a single
yes still gets a sensible threshold with an honest width, and a system that nobody judged may be unlike the others.

`learning.py` fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, ndtri

from nuggeteer.records import Ints, Vector

Matrix = Vector
BINS = 100
GRID = np.linspace(-10.0, 8.0, 61)  # of a nugget's a
# Of a nugget's log t, in units of σ_t: the normal distribution in three points.
STEEPNESS = np.sqrt(3) * np.array([-1.0, 0.0, 1.0])
KNOTS = np.array([0.15, 0.3, 0.45, 0.6, 0.75])  # in √s, where the curve may bend, as sharply as a step
CURVE = 3 + len(KNOTS)  # coefficients of the curve
SIGMAS = 64  # equally probable values that stand for the posterior of σ_v

SHIFT_STEP = 0.25
SHIFTS = np.arange(-16.0, 16.0 + SHIFT_STEP / 2, SHIFT_STEP)
DIRECTIONS = 3  # of the uncertainty about the curve that are drawn
SLICE = 1 << 20  # pairs whose levels are worked out at once
BLOCK = 8192  # cells whose tables are held at once
NARROW = 0.05  # a posterior standard deviation of logits that is not worth drawing


def curve(scores: Vector) -> Matrix:
    """pairs × CURVE: what the coefficients b multiply."""
    root = np.sqrt(scores)
    smooth = np.stack([np.ones_like(scores), root - 0.5, scores - 0.3], axis=1)
    return np.concatenate([smooth, np.maximum(root[:, None] - KNOTS, 0)], axis=1)


def rise(scores: Vector, b: Vector) -> Vector:
    """What the score says, above the intercept b₀."""
    return np.asarray(curve(scores)[:, 1:] @ b[1:])


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
class SmoothFit:
    """The fitted model."""

    b: Vector
    b_covariance: Matrix
    question: Vector  # c
    question_spread: Vector  # posterior standard deviation of each c
    question_of_nugget: Ints
    steepness: Vector  # the values of t
    nugget_weights: Matrix  # nuggets × (steepness × GRID), the posterior of each (t, a)
    group_names: tuple[str, ...]
    group: Vector  # v of the groups with judgements
    group_spread: Vector
    new_group: Vector  # equally probable values of σ_v, for groups without judgements
    spreads: tuple[float, float, float, float]  # σ_a, σ_t, σ_c, σ_v
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
            "steepness": (len(STEEPNESS),),
            "nugget_weights": (nuggets, len(STEEPNESS) * len(GRID)),
            "group": (groups,),
            "group_spread": (groups,),
            "new_group": (SIGMAS,),
            "spreads": (4,),
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
        a, t, c, v = self.spreads
        b = ",".join(f"{value:.3g}" for value in self.b)
        spreads = f"nugget={a:.3g},steepness={t:.3g},question={c:.3g},group={v:.3g}"
        return f"smooth(b={b},{spreads},pairs={self.pairs})"

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
            scores = (np.arange(BINS + 1) / BINS) ** 2
            features, rises = curve(scores), rise(scores, self.b)
            noise = np.einsum("lk,km,lm->l", features, self.b_covariance, features)
            shift = self.b[0] + self.question[self.question_of_nugget] + mean
            spread_of = self.question_spread[self.question_of_nugget] ** 2 + (spread**2).mean()
            table = np.zeros((len(shift), BINS + 1))
            for level in range(BINS + 1):
                # A normal mean of logits, by the probit approximation (MacKay 1992), over the grid of a.
                scale = 1 / np.sqrt(1 + np.pi * (spread_of + noise[level]) / 8)
                for i, t in enumerate(self.steepness):
                    centre = shift + t * rises[level]
                    inside = expit((centre[:, None] + GRID) * scale[:, None])
                    own = self.nugget_weights[:, i * len(GRID) : (i + 1) * len(GRID)]
                    table[:, level] += (own * inside).sum(axis=1)
            self._tables[group] = table
        return self._tables[group]

    @cached_property
    def _tables(self) -> dict[str | None, Matrix]:
        return {}

    def draw(self, count: int, seed: int) -> SmoothDraws:
        """Draws from the posterior, to ask for chances in."""
        return SmoothDraws(self, count, seed)


class SmoothDraws:
    """Joint draws of everything unknown. The same draws serve all runs, so that runs can be compared.

    Kept as nuggets × draws in single precision, which halves the time and moves no third digit.
    """

    def __init__(self, fit: SmoothFit, count: int, seed: int) -> None:
        rng = np.random.Generator(np.random.PCG64([seed, 1]))
        self.fit, self.count, self._seed = fit, count, seed
        self.b = self._curves(fit)
        noise = rng.standard_normal((len(fit.question), count), dtype=np.float32)
        question = (fit.question[:, None] + fit.question_spread[:, None] * noise).astype(np.float32)
        state = np.empty((len(fit.nugget_weights), count), dtype=np.int16)
        uniform = rng.random(state.shape, dtype=np.float32)
        for nugget, cumulative in enumerate(np.cumsum(fit.nugget_weights, axis=1).astype(np.float32)):
            state[nugget] = np.searchsorted(cumulative[:-1], uniform[nugget])
        within = (rng.random(state.shape, dtype=np.float32) - np.float32(0.5)) * np.float32(GRID[1] - GRID[0])
        within += np.tile(GRID, len(STEEPNESS)).astype(np.float32)[state]
        within += question[fit.question_of_nugget]
        self.shift, self.steepness = within, (state // len(GRID)).astype(np.int8)

    def _effect(self, group: str | None, mean: float, spread: Vector) -> Vector:
        """Draws of a group's v: of each group its own, and the same whenever it is asked for.

        They are stratified, for v moves a score more than all else, and the score must not move with the seed."""
        name = int.from_bytes(blake2b((group or "").encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        rng = np.random.Generator(np.random.PCG64([self._seed, 3, name]))
        strata = (rng.permutation(self.count) + rng.random(self.count)) / self.count
        which = (rng.permutation(self.count) * len(spread)) // self.count
        return np.asarray(mean + spread[which] * ndtri(strata), dtype=np.float32)

    def chances(self, scores: Vector, nugget: Ints, group: str | None) -> Matrix:
        """draws × nuggets: the probability that some of these responses carries the nugget.

        All responses of a group share its v, and all responses to a nugget its a and t."""
        effect = self._effect(group, *self.fit.effect_of_group(group))
        size = len(self.fit.nugget_weights)
        pairs = np.zeros(size * (BINS + 1), dtype=np.int64)
        for i in range(0, len(scores), SLICE):
            level = np.rint(np.sqrt(scores[i : i + SLICE]) * BINS).astype(np.int64)
            pairs += np.bincount(nugget[i : i + SLICE] * np.int64(BINS + 1) + level, minlength=len(pairs))
        codes = np.flatnonzero(pairs)
        result = np.zeros((size, self.count), dtype=np.float32)
        # A block of nuggets at a time, so that the tables of a million responses stay small.
        ends = np.append(np.flatnonzero(np.diff(codes // (BINS + 1))) + 1, len(codes))
        begin = 0
        while begin < len(codes):
            end = int(
                ends[max(np.searchsorted(ends, begin + BLOCK, side="right") - 1, np.searchsorted(ends, begin + 1))]
            )
            self._fill(result, codes[begin:end], pairs[codes[begin:end]], effect)
            begin = end
        return result.T

    def _fill(self, result: Matrix, codes: Ints, pairs: Ints, effect: Vector) -> None:
        """The rows of some nuggets, from how many of their pairs have each level of match score."""
        owner, level = np.divmod(codes, BINS + 1)
        asked = np.unique(owner)
        start, row = np.searchsorted(owner, asked), np.arange(len(asked), dtype=np.int32)[:, None]
        scores, many = (level / BINS) ** 2, pairs[:, None]
        for scenario, b in enumerate(self.b):
            columns = slice(*(self.count * (scenario + end) // len(self.b) for end in (0, 1)))
            # log P(no response carries it), on a grid of shifts for each t, then looked up between its points.
            rises = rise(scores, b)[:, None]
            tables = [
                np.add.reduceat(log_expit(-(b[0] + t * rises + SHIFTS)) * many, start, axis=0)
                for t in self.fit.steepness
            ]
            table = np.stack(tables).astype(np.float32).ravel()
            place = self.shift[asked, columns] + effect[columns]
            place -= np.float32(SHIFTS[0])
            place /= np.float32(SHIFT_STEP)
            np.clip(place, 0, len(SHIFTS) - 1.001, out=place)
            left = place.astype(np.int32)
            place -= left
            left += (self.steepness[asked, columns].astype(np.int32) * len(asked) + row) * len(SHIFTS)
            none = table[left]
            none += (table[left + 1] - none) * place
            result[asked, columns] = -np.expm1(none)

    @staticmethod
    def _curves(fit: SmoothFit) -> Matrix:
        """Curves that stand for the posterior of b: one, where it is narrow; else the points of the spherical
        cubature rule, which have its mean and its covariance, in the directions that move the curve most."""
        features = curve((np.arange(BINS + 1) / BINS) ** 2)
        widest = np.einsum("lk,km,lm->l", features, fit.b_covariance, features).max()
        if widest < NARROW**2:
            return fit.b[None, :]
        root = np.linalg.cholesky(fit.b_covariance)
        _, _, directions = np.linalg.svd(features @ root, full_matrices=False)
        axes = np.sqrt(DIRECTIONS) * directions[:DIRECTIONS]
        return np.asarray(fit.b + np.concatenate([axes, -axes]) @ root.T)
