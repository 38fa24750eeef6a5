"""Functions of logits by interpolation: they are worked out once on a fine grid, and not for every cell and state."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import scipy

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import GRID

Matrix = Vector
PARTS = 16  # of a step of GRID: the error of softplus is below 1e-11
STEP = float(GRID[1] - GRID[0]) / PARTS
FAR = 40.0  # below, softplus is 0, and above, it is a straight line, each for all of GRID
NODES_AT_ONCE = 256  # that are worked out together and kept
NODES = 8192  # of the logarithms of rates
RATES = np.log(1e-9), np.log(-np.log(1e-9))  # from 1e-9 to where 1e-9 is left


def softplus(x: Vector) -> Vector:
    """log(1 + exp x), in the precision of x."""
    result = np.abs(x)
    np.negative(result, out=result)
    np.exp(result, out=result)
    np.log1p(result, out=result)
    result += np.maximum(x, 0)
    return np.asarray(result)


def sums_of_softplus(logits: Vector, count: Vector, start: Ints) -> Matrix:
    """Σ count · softplus(logit + GRID) over the cells of each nugget: nuggets × GRID. The cells of each nugget begin at
    `start`.

    Between two nodes, softplus is taken for the cubic polynomial that has its values and slopes there (Hermite). So
    each cell adds four rows of one table, and all of them are a product of that table with a sparse matrix."""
    from scipy.sparse import csr_array

    near = np.clip(logits, -FAR, FAR) / STEP
    node = np.floor(near)
    u = near - node
    lowest = int(node.min()) // NODES_AT_ONCE * NODES_AT_ONCE
    table = _softplus_on_grid(lowest, int(node.max() - lowest + 1) // NODES_AT_ONCE + 1)
    one, other = 1 - u, u**2
    polynomials = np.stack([(1 + 2 * u) * one**2, u * one**2, (3 - 2 * u) * other, -one * other], axis=1)
    polynomials *= count[:, None]
    first = 2 * (node.astype(np.int32) - lowest)
    columns = (first[:, None] + np.arange(4, dtype=np.int32)).ravel()
    ends = np.append(start, len(logits)).astype(np.int32) * 4
    sums = csr_array((polynomials.ravel(), columns, ends), shape=(len(start), len(table))) @ table
    beyond = np.maximum(logits - FAR, 0.0)
    if beyond.any():
        sums += np.add.reduceat(count * beyond, start)[:, None]
    return np.asarray(sums)


@lru_cache(maxsize=4)
def _softplus_on_grid(lowest: int, pieces: int) -> Matrix:
    """For each node from the `lowest`, two rows: softplus(node + GRID), and STEP times its slope."""
    nodes = pieces * NODES_AT_ONCE
    x = GRID[0] + STEP * (lowest + np.arange(nodes + PARTS * (len(GRID) - 1)))
    windows = np.lib.stride_tricks.sliding_window_view
    width = PARTS * (len(GRID) - 1) + 1
    result = np.empty((nodes, 2, len(GRID)))
    result[:, 0] = windows(softplus(x), width)[:, ::PARTS]
    result[:, 1] = windows(STEP / (1 + np.exp(-x)), width)[:, ::PARTS]
    return result.reshape(-1, len(GRID))


def heights(rates: Vector) -> Vector:
    """The density of the standard normal distribution where the probability above is 1 − exp −rate: single precision,
    straight lines between nodes."""
    values, rises = _heights_at_nodes()
    with np.errstate(divide="ignore"):
        place = np.log(rates)
    place -= np.float32(RATES[0])
    place *= np.float32((NODES - 1) / (RATES[1] - RATES[0]))
    np.clip(place, 0, NODES - 1.001, out=place)
    node = place.astype(np.int32)
    place -= node
    place *= rises[node]
    place += values[node]
    return place


@cache
def _heights_at_nodes() -> tuple[Vector, Vector]:
    left = np.exp(-np.exp(np.linspace(*RATES, NODES)))
    found = np.exp(-0.5 * scipy.special.ndtri(np.clip(left, 1e-9, 1 - 1e-9)) ** 2) / np.sqrt(2 * np.pi)
    return found.astype(np.float32), np.diff(found, append=found[-1]).astype(np.float32)
