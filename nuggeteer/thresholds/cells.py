"""Integrals over the triangle of false yes α and missed yes β, α + β < 1, of densities known by their logarithm.

The triangle is the unit square, α = u and β = (1 − u) v. A threshold model's density there may be one narrow peak,
several, or a ridge along α + β = 1 (where scores tell little), so a rule around one mode is not enough. Cells of the
square are halved until the density is known wherever it could matter, in two passes, each with Gauss-Legendre nodes:

- `locate`, with few nodes, finds where the density is. Between two nodes its logarithm is taken to rise at most as much
  as it differs between any two neighbours in the cell, so that a peak that fell between nodes is looked for.
- `resolve`, with more, halves cells until the parts of the density in their highest Legendre polynomials are small.
  The error of the integral is near the square of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Bools, Vector

Matrix = Vector
Density = Callable[[Vector, Vector], Vector]
WHOLE = np.array([[0.0, 1.0, 0.0, 1.0]])  # cells × (from u, to u, from v, to v)
DEPTH = 200  # halvings: beyond what doubles can tell apart
FEW, NODES = 4, 12
SLOPE = 8.0  # of the logarithm, between nodes of a cell that `locate` is done with
TOLERANCE = 1e-6  # of the integral


def _rule(nodes: int) -> tuple[Vector, Vector]:
    at, weight = np.polynomial.legendre.leggauss(nodes)
    return at, weight / 2


def _grid(corners: Matrix, nodes: int) -> tuple[Matrix, Matrix]:
    """cells × nodes × nodes: u and v."""
    low, high = corners[:, [0, 2], None], corners[:, [1, 3], None]
    u, v = np.moveaxis((low + high) / 2 + (high - low) / 2 * _rule(nodes)[0], 1, 0)
    shape = (len(corners), nodes, nodes)
    return np.broadcast_to(u[:, :, None], shape), np.broadcast_to(v[:, None, :], shape)


def _values(log_density: Density, corners: Matrix, nodes: int) -> Matrix:
    u, v = _grid(corners, nodes)
    return np.asarray(log_density(u.ravel(), v.ravel()).reshape(u.shape))


def _halved(corners: Matrix, in_v: Bools) -> Matrix:
    lower, upper = corners.copy(), corners.copy()
    row, axis = np.arange(len(corners)), 2 * in_v
    lower[row, axis + 1] = upper[row, axis] = (corners[row, axis] + corners[row, axis + 1]) / 2
    return np.concatenate([lower, upper])


def locate(log_density: Density, corners: Matrix, beyond: float) -> Matrix:
    """Cells that hold everything that is more than e^−beyond of the highest density, and not much else."""
    values = _values(log_density, corners, FEW)
    for _ in range(DEPTH):
        slope_u, slope_v = (np.abs(np.diff(values, axis=axis)).max(axis=(1, 2)) for axis in (1, 2))
        slope = np.maximum(slope_u, slope_v)
        matters = values.max(axis=(1, 2)) + slope > values.max() - beyond
        halve = matters & (slope > SLOPE)
        if not halve.any():
            break
        new = _halved(corners[halve], (slope_v > slope_u)[halve])
        corners = np.concatenate([corners[matters & ~halve], new])
        values = np.concatenate([values[matters & ~halve], _values(log_density, new, FEW)])
    return np.asarray(corners[matters])


@dataclass(frozen=True)
class Nodes:
    """Nodes of an integral: where they are, and the logarithm of each one's part."""

    u: Vector
    v: Vector
    log_mass: Vector
    log_total: float


def resolve(log_density: Density, corners: Matrix) -> Nodes:
    """Integrate over cells, from `locate`."""
    at, weight = _rule(NODES)
    polynomials = np.polynomial.legendre.legvander(at, NODES - 1) * weight[:, None] * (2 * np.arange(NODES) + 1)
    highest = polynomials[:, -2:]
    log_weight = np.log(weight[:, None] * weight)
    values = _values(log_density, corners, NODES)
    for _ in range(DEPTH):
        log_area = np.log((corners[:, 1] - corners[:, 0]) * (corners[:, 3] - corners[:, 2]))
        top = values.max(axis=(1, 2))
        density = np.exp(values - top[:, None, None])
        in_u = np.abs(np.einsum("nd,cnk->cdk", highest, density)).max(axis=1) @ weight
        in_v = np.abs(np.einsum("nd,ckn->cdk", highest, density)).max(axis=1) @ weight
        log_mass = values + log_weight + log_area[:, None, None]
        log_total = float(log_mass.max() + math.log(np.exp(log_mass - log_mass.max()).sum()))
        error = np.maximum(np.maximum(in_u, in_v), 1e-300) ** 2
        halve = np.log(error) + top + log_area > log_total + math.log(TOLERANCE)
        if not halve.any():
            break
        new = _halved(corners[halve], (in_v > in_u)[halve])
        corners = np.concatenate([corners[~halve], new])
        values = np.concatenate([values[~halve], _values(log_density, new, NODES)])
    u, v = _grid(corners, NODES)
    return Nodes(u.ravel(), v.ravel(), log_mass.ravel(), log_total)
