"""Lower and upper bounds on a measure that are linear in the nuggets found and hold whatever is found.

Recall is linear itself. Precision and F are not, but they are concave in the weight R and the number c of the nuggets
found, because F(β) is a weighted harmonic mean of recall and of min(1, 100 c / length). So a tangent at any point is an
upper bound. A linear function that is not above the measure at the corners of the possible (R, c) is a lower bound. The
upper bound is the tangent at the point that the guesses expect. The lower bound is the one that is highest there.

A nugget of world knowledge enters the denominator of recall only if it is found, which is not concave. Until it is
judged, the lower bound assumes that no such nugget is found, and the upper bound that all are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.measures.composition import Composition
from nuggeteer.measures.f import ALLOWANCE
from nuggeteer.records import Bools, Vector


@dataclass(frozen=True)
class LinearBound:
    """constant + Σ slope · found, over the open nuggets of a question."""

    constant: float
    slope: Vector


def linear_bounds(
    composition: Composition, question: int, length: int, open_: Bools, found: Bools, partly: Bools, chance: Vector
) -> tuple[LinearBound, LinearBound]:
    """A lower and an upper bound on the value of a question. Its `open_` nuggets are each found with a `chance`. Of the
    others it is known which were `found` and which `partly`."""
    if not composition.asks[question]:
        return (LinearBound(0.0, np.zeros(int(open_.sum()))),) * 2
    own = slice(int(composition.key.offsets[question]), int(composition.key.offsets[question + 1]))
    weight, worldly, count = (
        composition.weight[own],
        composition.key.world_knowledge[own],
        composition.count[own][open_].astype(float),
    )
    earned = weight * np.where(open_, 0.0, found + composition.partly * (partly & ~found))
    counted = float((composition.count[own] & found & ~open_).sum())
    both = []
    for unearned in (0.0, float(weight[worldly & open_].sum())):
        known_world = float(earned[worldly].sum()) + unearned
        scale = 1 / (float(weight[~worldly].sum()) + known_world or 1.0)
        base = scale * (float(earned[~worldly].sum()) + known_world)
        both.append((base, scale * np.where(worldly, 0.0, weight)[open_]))
    if composition.kind == "linear":
        return LinearBound(*both[0]), LinearBound(*both[1])
    (low, low_weight), (high, high_weight) = both
    likely = chance[open_]
    curve = _Curve(composition, length)
    return (
        _lower_bound(curve, low, counted, low_weight, count, likely),
        _upper_bound(curve, high, counted, high_weight, count, likely),
    )


@dataclass(frozen=True)
class _Curve:
    """The value of an answer as a function of its recall and its number of nuggets."""

    composition: Composition
    length: int

    def __call__(self, recall: Vector, count: Vector) -> Vector:
        allowed = ALLOWANCE * count
        precision = np.minimum(allowed / self.length, 1.0) if self.length else np.zeros_like(allowed)
        if self.composition.kind == "precision":
            return precision
        square = self.composition.beta**2
        below = square * precision + recall
        return np.asarray((square + 1) * precision * recall / np.where(below > 0, below, 1.0))

    def gradient(self, recall: float, count: float) -> tuple[float, float]:
        """The derivatives by recall and by count. At a kink, those of one of the tangents."""
        if not self.length:
            return 0.0, 0.0
        precision = min(ALLOWANCE * count / self.length, 1.0)
        more = ALLOWANCE / self.length if precision < 1 else 0.0
        if self.composition.kind == "precision":
            return 0.0, more
        square = self.composition.beta**2
        below = square * precision + recall
        if below == 0:  # the limit for equally small values
            precision = recall = 1.0
            below = square + 1
        by_recall = (square + 1) * square * precision**2 / below**2
        return by_recall, (square + 1) * recall**2 / below**2 * more


def _upper_bound(
    curve: _Curve, recall: float, counted: float, weight: Vector, count: Vector, likely: Vector
) -> LinearBound:
    more, others = float(weight @ likely), float(count @ likely)
    by_recall, by_count = curve.gradient(recall + more, counted + others)
    value = float(curve(np.array(recall + more), np.array(counted + others)))
    return LinearBound(value - by_recall * more - by_count * others, by_recall * weight + by_count * count)


def _lower_bound(
    curve: _Curve, recall: float, counted: float, weight: Vector, count: Vector, likely: Vector
) -> LinearBound:
    corner = _corners(weight, count)
    value = curve(recall + corner[:, 0], counted + corner[:, 1])
    plane = _highest_plane(corner, value, np.array([weight @ likely, count @ likely]))
    # Move it below every corner, whatever the rounding.
    plane[0] -= max(float((plane[0] + corner @ plane[1:] - value).max()), 0.0)
    return LinearBound(float(plane[0]), plane[1] * weight + plane[2] * count)


def _highest_plane(corner: Vector, value: Vector, here: Vector) -> Vector:
    """The plane that is highest `here` among those not above the values at the corners.

    It passes through three corners that have the point between them. Starting from any such three, the corner furthest
    below the plane replaces one of them until none is below."""
    if len(corner) < 3:
        along = corner[-1] - corner[0]
        slope = (value[-1] - value[0]) / max(float(along @ along), 1e-300) * along
        return np.array([value[0], *slope])
    rows = np.column_stack([np.ones(len(corner)), corner])
    point = np.array([1.0, *here])
    fans = np.array([[0, i, i + 1] for i in range(1, len(corner) - 1)])
    three = fans[np.argmax([_barycentric(rows[fan], point).min() for fan in fans])]
    for _ in range(10 * len(corner)):
        plane = np.linalg.solve(rows[three], value[three])
        under = value - rows @ plane
        lowest = int(under.argmin())
        if under[lowest] >= -1e-12:
            break
        swaps = [np.where(np.arange(3) == i, lowest, three) for i in range(3)]
        three = swaps[int(np.argmax([_barycentric(rows[swap], point).min() for swap in swaps]))]
    return np.asarray(plane)


def _barycentric(rows: Vector, point: Vector) -> Vector:
    """The barycentric coordinates of the point in three corners; all are positive if it is between them."""
    if abs(np.linalg.det(rows)) < 1e-12:
        return np.full(3, -np.inf)
    return np.linalg.solve(rows.T, point)


def _corners(weight: Vector, count: Vector) -> Vector:
    """The corners, in order, of the polygon of all sums of some (weight, count): its edges are these pairs."""
    edge, often = np.unique(weight + 1j * count, return_counts=True)
    edge = (edge * often)[edge != 0]
    edge = edge[np.argsort(np.angle(edge), kind="stable")]
    around = np.cumsum(np.concatenate([[0], edge, -edge]))[:-1] if len(edge) > 1 else np.concatenate([[0], edge])
    return np.column_stack([around.real, around.imag])
