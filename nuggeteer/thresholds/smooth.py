"""A smooth threshold for every nugget, learned together: the model that decides guesses by default.

    logit P(yes | s, z, nugget j of question q, group r) = b₀ + t_j f(s) + d z + a_j + c_q + v_r + k_r (x − e)

    f(s) = b₁(√s − ½) + b₂(s − 0.3) + Σ_k b_k max(√s − k, 0), for five knots k

The match score s has a smooth effect, not a step. A longer response (z, the logarithm of its length) may contain more
than its words show, or match by chance. Nuggets differ in how readily assessors saw them (a) and in how informative the
score is (t). Questions differ (c), and so do systems: in level (v), and in how informative score and length are (k; x
is f(s) + d z, and e its mean): a_j ~ N(μ, σ_a²), log t_j ~ N(0, σ_t²), c_q ~ N(0, σ_c²), v_r ~ N(0, σ_v²), k_r ~ N(0,
σ_k²). The spreads are learned. So a nugget without a single yes still gets a sensible threshold with an honest width,
and a system that nobody judged may differ from the others.

Judged texts that are similar to a response add log odds of their own (`Pairs.carried`), where somebody worked them out
(`carry_over` in scoring/outcomes.py). Judges (language models) add w · o, for the clues o of their verdicts
(`Pairs.opinions`): the weights w follow the coefficients in `b`, and are learned with them.

An answer may be better or worse as a whole than its words show. So the nuggets of an answer are correlated: their
verdicts are the signs of normal variables with correlation ρ. This is a Gaussian copula, which does not change the
probability of any nugget.

`learning.py` fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, ndtri

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Opinions, Pairs, random_orders

Matrix = Vector
BINS = 100
GRID = np.linspace(-10.0, 8.0, 61)  # of a nugget's a
# Of a nugget's log t, in units of σ_t: the normal distribution in three points.
STEEPNESS = np.sqrt(3) * np.array([-1.0, 0.0, 1.0])
KNOTS = np.array([0.15, 0.3, 0.45, 0.6, 0.75])  # in √s, where the curve may bend, as sharply as a step
CURVE = 3 + len(KNOTS)  # coefficients of the curve
COEFFICIENTS = CURVE + 1  # with that of the size
# Sizes are rounded to steps, from 47 characters to 950 as in public data. The effect of other lengths is not known.
SIZE_STEP, SMALLEST, SIZES = 0.25, -0.75, 13
# Log odds that are carried over are rounded to steps, too.
CARRIED_STEP, CARRIED_MOST = 0.125, 10.0
CARRIED_LEVELS = 2 * round(CARRIED_MOST / CARRIED_STEP) + 1
SIGMAS = 64  # equally probable values that stand for the posterior of σ_v
SLOPES = np.array([-1.3998, -0.5320, 0.0, 0.5320, 1.3998])  # the normal distribution in five points, alike in weight

SHIFT_STEP = 0.25
SHIFTS = np.arange(-16.0, 16.0 + SHIFT_STEP / 2, SHIFT_STEP)
DIRECTIONS = 3  # of the uncertainty about the curve that are drawn
JUDGES = 2  # and as many more, at most, of the uncertainty about what judges are worth
JUDGED = 0.5  # about what a judge's clue is after a yes, and less after a no
SLICE = 1 << 20  # pairs whose levels are worked out at once
NUGGETS = 1024  # whose states are drawn at once
BLOCK = 8192  # (cell, score, size) whose tables are held at once
STEP = 0.125  # between the logits at which log P(no) is worked out
LOGITS = np.arange(-40.0, 40.0 + STEP / 2, STEP)
NOT_YET = log_expit(-(LOGITS[:, None] + SHIFTS))  # log P(no), by logit and shift
NARROW = 0.05  # a posterior standard deviation of logits that is not worth drawing


def curve(scores: Vector) -> Matrix:
    """pairs × CURVE: what the coefficients b multiply."""
    root = np.sqrt(scores)
    smooth = np.stack([np.ones_like(scores), root - 0.5, scores - 0.3], axis=1)
    return np.concatenate([smooth, np.maximum(root[:, None] - KNOTS, 0)], axis=1)


def features(scores: Vector, size: Vector, opinions: Matrix | None = None) -> Matrix:
    """pairs × coefficients: what b multiplies, at t = 1. `opinions` are pairs × clues of judges."""
    parts = [curve(scores), np.asarray(size, dtype=float)[:, None]]
    return np.concatenate(parts if opinions is None else [*parts, opinions], axis=1)


def rise(scores: Vector, b: Vector) -> Vector:
    """The effect of the score, without the intercept b₀."""
    return np.asarray(curve(scores)[:, 1:] @ b[1:CURVE])


def encode_cells(cell: Ints, pairs: Pairs) -> Ints:
    """One number for all pairs of a cell that have the same score, size, carried-over log odds and verdicts of judges,
    after rounding."""
    level = np.rint(np.sqrt(pairs.scores) * BINS).astype(np.int64)
    size_level = np.clip(np.rint((pairs.size - SMALLEST) / SIZE_STEP), 0, SIZES - 1).astype(np.int64)
    codes = ((cell * np.int64(BINS + 1) + level) * SIZES + size_level) * CARRIED_LEVELS + CARRIED_LEVELS // 2
    if pairs.carried is not None:
        codes += np.rint(np.clip(pairs.carried, -CARRIED_MOST, CARRIED_MOST) / CARRIED_STEP).astype(np.int64)
    if pairs.opinions is not None:
        codes = codes * len(pairs.opinions.rows) + pairs.opinions.which
    return np.asarray(codes)


@dataclass(frozen=True)
class DecodedCells:
    """What `encode_cells` made into codes: for each code the cell, the score, the size, the log odds that are carried
    over, and codes × clues of judges."""

    cell: Ints
    score: Vector
    size: Vector
    carried: Vector
    opinions: Matrix


def decode_cells(codes: Ints, opinions: Opinions | None = None) -> DecodedCells:
    """`opinions` are those of the pairs that were encoded."""
    clues: Matrix = np.zeros((len(codes), 0))
    if opinions is not None:
        codes, which = np.divmod(codes, len(opinions.rows))
        clues = opinions.rows[which]
    rest, carried_level = np.divmod(codes, CARRIED_LEVELS)
    rest, size_level = np.divmod(rest, SIZES)
    cell, level = np.divmod(rest, BINS + 1)
    carried = (carried_level - CARRIED_LEVELS // 2) * CARRIED_STEP
    return DecodedCells(cell, (level / BINS) ** 2, SMALLEST + SIZE_STEP * size_level, carried, clues)


def heard(opinions: Opinions | None, pairs: int, b: Vector) -> Opinions | None:
    """The opinions on so many pairs, for a model with the coefficients b; None if these are none of judges."""
    clues = len(b) - COEFFICIENTS
    return (Opinions.none(pairs, clues) if opinions is None else opinions) if clues else None


@dataclass(frozen=True)
class Prior:
    """The assumptions before the first judgement. The spreads count as much as `weight` observed effects, and the
    correlation within answers as much as `answers` observed answers. After the COEFFICIENTS of the curve and the size,
    `b` has those of the judges' clues."""

    b: Vector
    b_covariance: Matrix
    nugget: float
    question: float
    group: float
    slope: float
    answer: float
    weight: float = 4.0
    answers: float = 100.0

    @property
    def signature(self) -> str:
        spreads = (self.nugget, self.question, self.group, self.slope, self.answer, self.weight, self.answers)
        values = [*self.b, *self.b_covariance.ravel(), *spreads]
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
    slope: Vector  # k of the groups with judgements
    slope_spread: Vector
    centre: float  # e
    answer: float  # ρ
    spreads: tuple[float, float, float, float, float]  # σ_a, σ_t, σ_c, σ_v, σ_k
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
            "group": (groups,),
            "group_spread": (groups,),
            "new_group": (SIGMAS,),
            "slope": (groups,),
            "slope_spread": (groups,),
            "spreads": (5,),
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
            "answer": float(values["answer"]),
            "pairs": int(values["pairs"]),
            "log10_evidence": float(values["log10_evidence"]),
        }
        return cls(**typed)

    @property
    def signature(self) -> str:
        a, t, c, v, k = self.spreads
        b = ",".join(f"{value:.3g}" for value in self.b[:COEFFICIENTS])
        if len(self.b) > COEFFICIENTS:
            b += ",judges=" + ",".join(f"{value:.3g}" for value in self.b[COEFFICIENTS:])
        spreads = f"nugget={a:.3g},steepness={t:.3g},question={c:.3g},group={v:.3g},slope={k:.3g}"
        return f"smooth(b={b},{spreads},answer={self.answer:.3g},pairs={self.pairs})"

    def effect_of_group(self, name: str | None) -> tuple[float, Vector]:
        """The mean of a group's v, and equally probable values of its standard deviation."""
        if name in self.group_names:
            at = self.group_names.index(name)
            return float(self.group[at]), self.group_spread[at : at + 1]
        return 0.0, self.new_group

    def slope_of_group(self, name: str | None) -> tuple[float, float]:
        """The mean and the standard deviation of a group's k."""
        if name in self.group_names:
            at = self.group_names.index(name)
            return float(self.slope[at]), float(self.slope_spread[at])
        return 0.0, self.spreads[4]

    def probability(self, pairs: Pairs, group: str | None = None) -> Vector:
        """P(yes) of each pair, with all unknowns integrated out."""
        pairs = self.heard(pairs)
        codes, place = np.unique(encode_cells(pairs.nugget, pairs), return_inverse=True)
        blocks = [decode_cells(codes[i : i + BLOCK], pairs.opinions) for i in range(0, len(codes), BLOCK)]
        chance = np.concatenate([self._probability(block, group) for block in blocks] or [np.zeros(0)])
        return np.asarray(chance[place])

    def heard(self, pairs: Pairs) -> Pairs:
        """The pairs with the opinions of the judges whose worth this fit knows."""
        return replace(pairs, opinions=heard(pairs.opinions, len(pairs), self.b))

    def _probability(self, cells: DecodedCells, group: str | None) -> Vector:
        mean, spread = self.effect_of_group(group)
        slope, slope_spread = self.slope_of_group(group)
        nugget, scores, size = cells.cell, cells.score, cells.size
        question = self.question_of_nugget[nugget]
        given = features(scores, size, cells.opinions)
        # A normal mean of logits, by the probit approximation (MacKay 1992), over the grid of a.
        noise = np.einsum("pk,km,pm->p", given, self.b_covariance, given) + self.question_spread[question] ** 2
        rises = rise(scores, self.b)
        x = rises + self.b[CURVE] * size - self.centre
        scale = 1 / np.sqrt(1 + np.pi * (noise + (spread**2).mean() + (slope_spread * x) ** 2) / 8)
        shift = self.b[0] + self.b[CURVE] * size + self.question[question] + mean + slope * x
        shift += cells.carried + cells.opinions @ self.b[COEFFICIENTS:]
        result = np.zeros(len(nugget))
        for i, t in enumerate(self.steepness):
            own = self.nugget_weights[nugget, i * len(GRID) : (i + 1) * len(GRID)]
            result += (own * expit(((shift + t * rises)[:, None] + GRID) * scale[:, None])).sum(axis=1)
        return result

    def threshold(self, nugget: Ints) -> Vector:
        """The lowest match score at which a response of the usual size is a yes with a probability of at least ½; NaN
        if there is none."""
        return np.asarray(self._thresholds[nugget])

    @cached_property
    def _thresholds(self) -> Vector:
        nuggets, levels = len(self.nugget_weights), (np.arange(BINS + 1) / BINS) ** 2
        pairs = Pairs(
            np.tile(levels, nuggets),
            np.repeat(np.arange(nuggets), len(levels)),
            np.full(nuggets * len(levels), self.usual_size),
        )
        likely = self.probability(pairs).reshape(nuggets, len(levels)) >= 0.5
        return np.asarray(np.where(likely.any(axis=1), levels[likely.argmax(axis=1)], np.nan))

    def draw(self, count: int, seed: int) -> SmoothDraws:
        """Draws from the posterior, which give chances."""
        return SmoothDraws(self, count, seed)


class SmoothDraws:
    """Joint draws of everything unknown. The same draws serve all runs, so that runs can be compared.

    Kept as nuggets × draws in single precision, which halves the time and moves no third digit.
    """

    def __init__(self, fit: SmoothFit, count: int, seed: int) -> None:
        rng = np.random.Generator(np.random.PCG64([seed, 1]))
        self.fit, self.count, self._seed = fit, count, seed
        self.answer_correlation = fit.answer
        self.b = self._curves(fit)
        noise = rng.standard_normal((len(fit.question), count), dtype=np.float32)
        question = (fit.question[:, None] + fit.question_spread[:, None] * noise).astype(np.float32)
        # Each (t, a) occurs as often as its weight says, up to one draw. The order is random.
        nuggets, states = fit.nugget_weights.shape
        rounding, orders = rng.random((nuggets, 1)), random_orders(rng, nuggets, count)
        value_of_state = np.tile(GRID, len(STEEPNESS)).astype(np.float32)
        self.shift = np.empty((nuggets, count), dtype=np.float32)
        self.steepness = np.empty((nuggets, count), dtype=np.int8)
        for begin in range(0, nuggets, NUGGETS):  # a block at a time, which takes little memory
            rows = slice(begin, begin + NUGGETS)
            ends = np.floor(np.cumsum(fit.nugget_weights[rows], axis=1) * count + rounding[rows])
            ends[:, -1] = count
            often = np.diff(np.minimum(ends, count), prepend=0, axis=1).ravel().astype(np.int64)
            in_order = np.repeat(np.tile(np.arange(states, dtype=np.int16), len(ends)), often).reshape(-1, count)
            state = np.take_along_axis(in_order, orders[rows], axis=1)
            within = (rng.random(state.shape, dtype=np.float32) - np.float32(0.5)) * np.float32(GRID[1] - GRID[0])
            within += value_of_state[state]
            within += question[fit.question_of_nugget[rows]]
            self.shift[rows], self.steepness[rows] = within, state // len(GRID)

    def _effect(self, group: str | None) -> tuple[Vector, Ints]:
        """Draws of a group's v, and the index in SLOPES of its k. Each group has its own draws, the same at every call.

        They are stratified, because v affects a score more than anything else, and the score must not depend on the
        seed."""
        name = int.from_bytes(blake2b((group or "").encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        rng = np.random.Generator(np.random.PCG64([self._seed, 3, name]))
        mean, spread = self.fit.effect_of_group(group)
        strata = (rng.permutation(self.count) + rng.random(self.count)) / self.count
        which = (rng.permutation(self.count) * len(spread)) // self.count
        effect = np.asarray(mean + spread[which] * ndtri(strata), dtype=np.float32)
        return effect, (rng.permutation(self.count) * len(SLOPES)) // self.count

    def chances(self, pairs: Pairs, group: str | None, cell: Ints | None = None) -> Matrix:
        """draws × cells: the probability that at least one of a cell's responses carries its nugget (`model.Draws`).

        All responses of a group share its v, and all responses to a nugget its a and t."""
        effect, slope = self._effect(group)
        pairs = self.fit.heard(pairs)
        if cell is None:
            cell, nugget_of_cell = pairs.nugget, np.arange(len(self.fit.nugget_weights))
        else:
            nugget_of_cell = np.zeros(int(cell.max(initial=-1)) + 1, dtype=np.int64)
            nugget_of_cell[cell] = pairs.nugget
        mean, spread = self.fit.slope_of_group(group)
        slopes = mean + spread * SLOPES
        parts = [
            np.unique(encode_cells(cell[part], pairs[part]), return_counts=True)
            for part in (slice(i, i + SLICE) for i in range(0, len(pairs), SLICE))
        ]
        result = np.zeros((len(nugget_of_cell), self.count), dtype=np.float32)
        if parts:
            codes, place = np.unique(np.concatenate([codes for codes, _ in parts]), return_inverse=True)
            counts = np.bincount(place, weights=np.concatenate([counts for _, counts in parts])).astype(float)
            # A block of cells at a time, so that the tables of a million responses stay small.
            ends = np.append(np.flatnonzero(np.diff(decode_cells(codes, pairs.opinions).cell)) + 1, len(codes))
            begin = 0
            while begin < len(codes):
                at = max(np.searchsorted(ends, begin + BLOCK, side="right") - 1, np.searchsorted(ends, begin + 1))
                end = int(ends[at])
                cells = decode_cells(codes[begin:end], pairs.opinions)
                self._fill_chances(result, cells, counts[begin:end], nugget_of_cell, effect, slope, slopes)
                begin = end
        return result.T

    def _fill_chances(
        self,
        result: Matrix,
        cells: DecodedCells,
        counts: Vector,
        nugget_of_cell: Ints,
        effect: Vector,
        slope: Ints,
        slopes: Vector,
    ) -> None:
        """Fill the rows of some cells. `counts` says how many of their pairs have each score and size."""
        from scipy.sparse import csr_array

        owner = cells.cell
        asked = np.unique(owner)
        start = np.append(np.searchsorted(owner, asked), len(owner)) * 2
        nugget = nugget_of_cell[asked]
        rows = np.arange(len(asked), dtype=np.int32)[:, None]
        scenario = np.arange(self.count) * len(self.b) // self.count
        for which, b in enumerate(self.b):
            rises, of_size = rise(cells.score, b), b[CURVE] * cells.size
            heard = cells.carried + cells.opinions @ b[COEFFICIENTS:]
            for kind, k in enumerate(slopes):
                columns = np.flatnonzero((scenario == which) & (slope == kind))
                if not len(columns):
                    continue
                # log P(no response carries it), on a grid of shifts for each t, then looked up between its points.
                # A response counts at the two logits next to its own.
                shift = b[0] + of_size + k * (rises + of_size - self.fit.centre) + heard
                table = np.zeros((len(self.fit.steepness), len(asked), len(SHIFTS)), dtype=np.float32)
                for i, t in enumerate(self.fit.steepness):
                    at = np.clip((shift + t * rises - LOGITS[0]) / STEP, 0, len(LOGITS) - 1.001)
                    left = at.astype(np.int32)
                    share = (at - left) * counts
                    weights = np.stack([counts - share, share], axis=1).ravel()
                    near = np.stack([left, left + 1], axis=1).ravel()
                    table[i] = csr_array((weights, near, start), shape=(len(asked), len(LOGITS))) @ NOT_YET
                flat = table.ravel()
                place = self.shift.take(columns, axis=1).take(nugget, axis=0) + effect[columns]
                place -= np.float32(SHIFTS[0])
                place /= np.float32(SHIFT_STEP)
                np.clip(place, 0, len(SHIFTS) - 1.001, out=place)
                low = place.astype(np.int32)
                place -= low
                steepness = self.steepness.take(columns, axis=1).take(nugget, axis=0)
                low += (steepness.astype(np.int32) * len(asked) + rows) * len(SHIFTS)
                none = flat[low]
                none += (flat[low + 1] - none) * place
                result[asked[:, None], columns] = -np.expm1(none)

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
