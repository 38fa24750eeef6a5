"""The curve of the smooth model, and pairs that are alike in it.

Scores, sizes and log odds that are carried over are rounded, so that pairs of a nugget with about the same
ones have the same chance, which is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Opinions, Pairs

Matrix = Vector
BINS = 100
KNOTS = np.array([0.15, 0.3, 0.45, 0.6, 0.75])  # in √s, where the curve may bend, as sharply as a step
CURVE = 3 + len(KNOTS)  # coefficients of the curve
COEFFICIENTS = CURVE + 1  # with that of the size
GRID = np.linspace(-10.0, 8.0, 61)  # of a nugget's a
# Of a nugget's log t, in units of σ_t: the normal distribution in three points.
STEEPNESS = np.sqrt(3) * np.array([-1.0, 0.0, 1.0])
MOST = np.float32(80.0)  # of logits, whose exponential single precision can hold
# Sizes are rounded to steps, from 47 characters to 950 as in public data. The effect of other lengths is not known.
SIZE_STEP, SMALLEST, SIZES = 0.25, -0.75, 13
# Log odds that are carried over are rounded to steps, too.
CARRIED_STEP, CARRIED_MOST = 0.125, 10.0
CARRIED_LEVELS = 2 * round(CARRIED_MOST / CARRIED_STEP) + 1


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
    half = pairs.size.dtype == np.float16
    size_level = _levels_of_halves()[pairs.size.view(np.uint16)] if half else _size_levels(pairs.size)
    codes = ((cell * np.int64(BINS + 1) + level) * SIZES + size_level) * CARRIED_LEVELS + CARRIED_LEVELS // 2
    if pairs.carried is not None:
        codes += np.rint(np.clip(pairs.carried, -CARRIED_MOST, CARRIED_MOST) / CARRIED_STEP).astype(np.int64)
    if pairs.opinions is not None:
        codes = codes * len(pairs.opinions.rows) + pairs.opinions.which
    return np.asarray(codes)


def _size_levels(size: Vector) -> Ints:
    return np.asarray(np.clip(np.rint((size - SMALLEST) / SIZE_STEP), 0, SIZES - 1).astype(np.int64))


@cache
def _levels_of_halves() -> Ints:
    """The size level of every number in half precision, in which processors are slow to compute."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        return _size_levels(halves)


def kinds_of_cells(opinions: Opinions | None) -> int:
    """How many codes `encode_cells` has for a cell."""
    return (BINS + 1) * SIZES * CARRIED_LEVELS * (1 if opinions is None else len(opinions.rows))


@dataclass(frozen=True, repr=False)
class DecodedCells(Shown):
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
