"""Judged pairs in cells, and their likelihood on the grid of a nugget's threshold and steepness.

Pairs are counted in cells of (nugget, group, √s in steps of 0.01, size in steps of ¼, log odds carried over in steps of
⅛, verdicts of judges). All but nugget and group is the kind of a cell. Nuggets share a few thousand kinds at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import GRID, DecodedCells, decode_cells, encode_cells, kinds_of_cells
from nuggeteer.thresholds.interpolation import sums_of_softplus
from nuggeteer.thresholds.model import Evidence

Matrix = Vector


@dataclass(frozen=True)
class Cells:
    """Judged pairs, counted: `yes` of `count` pairs of a nugget, in a group, of one kind. `weight` is how much the
    pairs tell about the system, and `weight_yes` the part of it that is a yes. The cells are in the order of nuggets.
    """

    nugget: Ints
    group: Ints
    kind: Ints  # the position in `kinds`
    kinds: DecodedCells
    count: Vector
    yes: Vector
    weight: Vector
    weight_yes: Vector

    @property
    def score(self) -> Vector:
        return self.kinds.score[self.kind]

    @property
    def size(self) -> Vector:
        return self.kinds.size[self.kind]


def cells_of(evidence: Evidence) -> Cells:
    groups = max(len(evidence.groups), 1)
    kinds = kinds_of_cells(evidence.opinions)
    codes, cell, count = np.unique(
        encode_cells(evidence.nugget * groups + evidence.group, evidence.pairs),
        return_inverse=True,
        return_counts=True,
    )
    yes = np.bincount(cell, weights=evidence.yes, minlength=len(codes))
    of_pair = _weights_for_systems(evidence)
    weight = np.asarray(np.bincount(cell, of_pair, len(codes)), dtype=float)
    weight_yes = np.asarray(np.bincount(cell, of_pair * evidence.yes, len(codes)), dtype=float)
    place, codes_of_kinds = np.divmod(codes, kinds)
    nugget, group = np.divmod(place, groups)
    different, kind = np.unique(codes_of_kinds, return_inverse=True)
    decoded = decode_cells(different, evidence.opinions)
    return Cells(nugget, group, kind, decoded, count.astype(float), yes.astype(float), weight, weight_yes)


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
    """The likelihood of each (t, a), given everything else. Of each cell, `base`, t times `rise` and the
    `group`'s effect are the logits at a = 0."""

    cells: Cells
    base: Vector
    rise: Vector
    group: Vector
    nuggets: int

    def of_nuggets(self, steepness: Vector, rows: Ints | None = None) -> tuple[Ints, Matrix]:
        """The nuggets that have cells, or cells among the `rows`, and of each the log likelihoods: nuggets ×
        (steepness × GRID). `rows` are in the order of nuggets."""
        cells, part = self.cells, slice(None) if rows is None else rows
        nugget, yes, count, rises = cells.nugget[part], cells.yes[part], cells.count[part], self.rise[part]
        base = self.base[part] + self.group[cells.group[part]]
        asked, start = np.unique(nugget, return_index=True)
        result: Matrix = np.empty((len(asked), len(steepness), len(GRID)))
        if len(asked):
            found = np.add.reduceat(yes, start)
            for i, t in enumerate(steepness.tolist()):
                logits = base + t * rises
                np.multiply(found[:, None], GRID, out=result[:, i])
                result[:, i] += np.add.reduceat(yes * logits, start)[:, None]
                result[:, i] -= sums_of_softplus(logits, count, start)
        return asked, result.reshape(len(asked), len(steepness) * len(GRID))
