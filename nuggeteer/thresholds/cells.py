"""Judged pairs in cells, and their likelihood on the grid of a nugget's threshold and steepness.

Pairs are counted in cells of (nugget, group, √s in steps of 0.01, size in steps of ¼, verdicts of judges).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import decode_cells, encode_cells
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.smooth import GRID

Matrix = Vector
BLOCK = 512  # cells at once, whose numbers the processor keeps at hand


@dataclass(frozen=True)
class Cells:
    """Judged pairs, counted: `yes` of `count` pairs of a nugget, in a group, of about one score, size and log odds
    carried over, and with the same verdicts of judges. `weight` is how much the pairs tell about the system, and
    `weight_yes` the part of it that is a yes."""

    nugget: Ints
    group: Ints
    score: Vector
    size: Vector
    carried: Vector
    count: Vector
    yes: Vector
    weight: Vector
    weight_yes: Vector
    opinions: Matrix  # cells × clues of judges


def cells_of(evidence: Evidence) -> Cells:
    groups = max(len(evidence.groups), 1)
    codes, cell, count = np.unique(
        encode_cells(evidence.nugget * groups + evidence.group, evidence.pairs),
        return_inverse=True,
        return_counts=True,
    )
    yes = np.bincount(cell, weights=evidence.yes, minlength=len(codes))
    of_pair = _weights_for_systems(evidence)
    weight = np.asarray(np.bincount(cell, of_pair, len(codes)), dtype=float)
    weight_yes = np.asarray(np.bincount(cell, of_pair * evidence.yes, len(codes)), dtype=float)
    found = decode_cells(codes, evidence.opinions)
    nugget, group = np.divmod(found.cell, groups)
    counts = count.astype(float), yes.astype(float), weight, weight_yes
    return Cells(nugget, group, found.score, found.size, found.carried, *counts, found.opinions)


def _weights_for_systems(evidence: Evidence) -> Vector:
    """How much each pair tells about its system. Nuggets count as they do in the score. Pairs that were drawn count by
    the root of how many open pairs they represent: the whole number is right on average but leaves half of what the
    verdicts tell, none at all is misled by what was chosen, and both were further from the truth
    (docs/understanding/choosing-verdicts.md). In sum, the drawn pairs of a group tell as much as unequal weights allow
    (Kish's effective number), and so do those that nobody drew."""
    weight = evidence.weight_of_nugget[evidence.nugget]
    drawn = np.zeros(len(weight), dtype=bool)
    if evidence.represents is not None:
        drawn = evidence.represents > 0
        weight = np.where(drawn, weight * np.sqrt(evidence.represents), weight)
    part = evidence.group * 2 + drawn
    total, squares = (np.bincount(part, power) for power in (weight, weight**2))
    return np.asarray(weight * (total / np.maximum(squares, 1e-300))[part])


@dataclass(frozen=True)
class GridLikelihood:
    """The likelihood of each (t, a), given everything else."""

    cells: Cells
    base: Vector
    rise: Vector
    group: Vector
    nuggets: int

    def of_cells(self, rows: Ints | slice, steepness: Vector) -> Matrix:
        """cells × (steepness × GRID): log likelihoods."""
        cells = self.cells
        yes, count = cells.yes[rows, None], cells.count[rows, None]
        base = (self.base + self.group[cells.group])[rows]
        parts = []
        for t in steepness:
            eta = (base + t * self.rise[rows])[:, None] + GRID
            missed = softplus(eta)
            missed *= count
            eta *= yes
            parts.append(np.subtract(eta, missed, out=eta))
        return np.concatenate(parts, axis=1)

    def of_nuggets(self, steepness: Vector, rows: Ints | slice = slice(None)) -> Matrix:
        """nuggets × (steepness × GRID), from the cells in `rows`, which are in the order of nuggets."""
        result = np.zeros((self.nuggets, len(steepness) * len(GRID)))
        rows = np.arange(len(self.cells.nugget))[rows] if isinstance(rows, slice) else rows
        asked, start = np.unique(self.cells.nugget[rows], return_index=True)
        # Some nuggets at a time, whose numbers the processor keeps at hand.
        first = np.flatnonzero(np.diff(start // BLOCK, prepend=-1)).tolist()
        for begin, end in pairwise([*first, len(asked)]):
            own = start[begin:end]
            stop = int(start[end]) if end < len(asked) else len(rows)
            sums = np.add.reduceat(self.of_cells(rows[own[0] : stop], steepness), own - own[0], axis=0)
            result[asked[begin:end]] = sums
        return result


def softplus(x: Vector) -> Vector:
    """log(1 + exp x), in the precision of x."""
    result = np.abs(x)
    np.negative(result, out=result)
    np.exp(result, out=result)
    np.log1p(result, out=result)
    result += np.maximum(x, 0)
    return np.asarray(result)
