"""Integrals over the triangle α + β < 1 of the error rates α (false yes) and β (missed yes), of log densities.

The triangle is mapped to the unit square by α = u and β = (1 − u) v. The density of a threshold model may have one
narrow peak, several peaks, or a ridge along α + β = 1 (if scores carry little information), so a rule around one mode
is not enough. The square is halved into cells until the density is known wherever it could matter. There are two
passes, both with Gauss-Legendre nodes:

- `locate` uses few nodes and finds where the density is. It assumes that between two nodes the logarithm rises at most
  as much as it differs between any two neighbours in the cell, so it also looks for a peak between nodes.
- `resolve` uses more nodes and halves cells until the coefficients of the highest Legendre polynomials are small. The
  error of the integral is close to their square.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Bools, Matrix, Vector

Density = Callable[[Vector, Vector], Vector]
WHOLE = np.array([[0.0, 1.0, 0.0, 1.0]])  # cells × (from u, to u, from v, to v)
DEPTH = 200  # halvings at most, more than doubles can resolve
LOCATE_NODES, RESOLVE_NODES = 4, 12
SLOPE = 8.0  # `locate` halves a cell if the logarithm differs by more between two nodes
TOLERANCE = 1e-6  # the relative error of the integral


def _rule(nodes: int) -> tuple[Vector, Vector]:
    """Gauss-Legendre nodes on [−1, 1], and weights that sum to 1."""
    at, weight = np.polynomial.legendre.leggauss(nodes)
    return at, weight / 2


def _grid(corners: Matrix, nodes: int) -> tuple[Matrix, Matrix]:
    """cells × nodes × nodes: u and v of every node."""
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
    """Cells that contain all points with more than e^−beyond of the highest density, and little else."""
    values = _values(log_density, corners, LOCATE_NODES)
    for _ in range(DEPTH):
        slope_u, slope_v = (np.abs(np.diff(values, axis=axis)).max(axis=(1, 2)) for axis in (1, 2))
        slope = np.maximum(slope_u, slope_v)
        matters = values.max(axis=(1, 2)) + slope > values.max() - beyond
        halve = matters & (slope > SLOPE)
        if not halve.any():
            break
        new = _halved(corners[halve], (slope_v > slope_u)[halve])
        corners = np.concatenate([corners[matters & ~halve], new])
        values = np.concatenate([values[matters & ~halve], _values(log_density, new, LOCATE_NODES)])
    return np.asarray(corners[matters])


@dataclass(frozen=True)
class Nodes:
    """The nodes of an integral, and the logarithm of each node's part of it."""

    u: Vector
    v: Vector
    log_mass: Vector
    log_total: float
    corners: Matrix  # of the cells, each with as many nodes, in order


class Marginal:
    """The distribution of u, with v integrated out. In each cell the density is the polynomial in u that the nodes
    determine."""

    def __init__(self, nodes: Nodes) -> None:
        at, _ = _rule(RESOLVE_NODES)
        mass = np.exp(nodes.log_mass - nodes.log_total).reshape(-1, RESOLVE_NODES, RESOLVE_NODES).sum(axis=2)
        self.mean = float(np.exp(nodes.log_mass - nodes.log_total) @ nodes.u)
        self._low, self._high = nodes.corners[:, 0], nodes.corners[:, 1]
        legendre = np.polynomial.legendre
        series = (mass @ legendre.legvander(at, RESOLVE_NODES - 1)).T * (2 * np.arange(RESOLVE_NODES) + 1)[:, None]
        self._integral = legendre.legint(series, lbnd=-1) / 2

    def below(self, u: float) -> float:
        """P(it is below u)."""
        place = ((2 * u - self._low - self._high) / (self._high - self._low)).clip(-1, 1)
        return float(np.polynomial.legendre.legval(place, self._integral, tensor=False).sum())

    def quantile(self, level: float) -> float:
        """The u below which this share of the distribution lies."""
        from scipy.optimize import brentq

        low, high = float(self._low.min()), float(self._high.max())
        if self.below(low) >= level or self.below(high) <= level:  # but for rounding
            return low if self.below(low) >= level else high
        return float(brentq(lambda u: self.below(u) - level, low, high, xtol=1e-9))


def spread_nodes(nodes: Nodes, count: int, rng: np.random.Generator) -> tuple[Vector, Vector, Vector]:
    """Random u and v, and the log density that they have: of a node by its mass, and then anywhere in the rectangle
    that it stands for."""
    _, weight = _rule(RESOLVE_NODES)
    ends = np.append(0.0, np.cumsum(weight))
    mass = np.exp(nodes.log_mass - nodes.log_total)
    node = np.searchsorted(np.cumsum(mass) / mass.sum(), rng.random(count)).clip(max=len(mass) - 1)
    cell, place = np.divmod(node, RESOLVE_NODES**2)
    u_from, u_to, v_from, v_to = nodes.corners[cell].T
    places = np.divmod(place, RESOLVE_NODES)
    at_u, at_v = (ends[i] + rng.random(count) * weight[i] for i in places)
    area = weight[places[0]] * (u_to - u_from) * weight[places[1]] * (v_to - v_from)
    return u_from + at_u * (u_to - u_from), v_from + at_v * (v_to - v_from), nodes.log_mass[node] - np.log(area)


def resolve(log_density: Density, corners: Matrix) -> Nodes:
    """Integrate over the cells that `locate` found."""
    at, weight = _rule(RESOLVE_NODES)
    polynomials = (
        np.polynomial.legendre.legvander(at, RESOLVE_NODES - 1) * weight[:, None] * (2 * np.arange(RESOLVE_NODES) + 1)
    )
    highest = polynomials[:, -2:]
    log_weight = np.log(weight[:, None] * weight)
    values = _values(log_density, corners, RESOLVE_NODES)
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
        values = np.concatenate([values[~halve], _values(log_density, new, RESOLVE_NODES)])
    u, v = _grid(corners, RESOLVE_NODES)
    return Nodes(u.ravel(), v.ravel(), log_mass.ravel(), log_total, corners)
