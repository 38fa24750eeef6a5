"""Lower and upper bounds on a measure that are linear in the nuggets found and hold whatever is found.

Recall is linear itself. Precision and F are not, but they are concave in the weight R and the number c of the nuggets
found, because F(β) is a weighted harmonic mean of recall and of min(1, 100 c / length). So a tangent at any point is an
upper bound. A linear function that is not above the measure at the corners of the possible (R, c) is a lower bound. The
upper bound is the tangent at the point that the guesses expect. The lower bound is the one that is highest there.

A nugget of world knowledge enters the denominator of recall only if it is found, which is not concave. Until it is
judged, the lower bound assumes that no such nugget is found, and the upper bound that all are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from nuggeteer.measures.base import Composition
from nuggeteer.measures.kinds import ALLOWANCE
from nuggeteer.records import Bools, Vector

Point = tuple[float, float]
Three = tuple[int, int, int]


@dataclass(frozen=True)
class LinearBound:
    """constant + Σ slope · found, over the open nuggets of a question."""

    constant: float
    slope: Vector


def linear_bounds(
    composition: Composition, question: int, length: int, open_: Bools, found: Bools, partly: Bools, chance: Vector
) -> tuple[LinearBound, LinearBound]:
    """A lower and an upper bound on the value of a question. Each of its `open_` nuggets is found with a `chance`. The
    others are known: which were `found`, and which `partly`."""
    if not composition.asks[question]:
        return (LinearBound(0.0, np.zeros(int(open_.sum()))),) * 2
    own = composition.key.own(question)
    weight, worldly, count = (
        composition.weight[own],
        composition.key.world_knowledge[own],
        composition.count[own][open_].astype(float),
    )
    earned = weight * np.where(open_, 0.0, found + composition.partly * (partly & ~found))
    counted = float((composition.count[own] & found & ~open_).sum())
    earned_of_world, earned_of_others = float(earned[worldly].sum()), float(earned[~worldly].sum())
    others, open_weight = float(weight[~worldly].sum()), np.where(worldly, 0.0, weight)[open_]

    def recall(unearned: float) -> tuple[float, Vector]:
        """What is certain, and what each open nugget adds."""
        of_world = earned_of_world + unearned
        scale = 1 / (others + of_world or 1.0)
        return scale * (earned_of_others + of_world), scale * open_weight

    (low, low_weight), (high, high_weight) = recall(0.0), recall(float(weight[worldly & open_].sum()))
    if composition.kind == "linear":
        return LinearBound(low, low_weight), LinearBound(high, high_weight)
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

    def __call__(self, recall: float, count: float) -> float:
        precision = min(ALLOWANCE * count / self.length, 1.0) if self.length else 0.0
        if self.composition.kind == "precision":
            return precision
        square = self.composition.beta**2
        below = square * precision + recall
        return (square + 1) * precision * recall / (below if below > 0 else 1.0)

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
    value = curve(recall + more, counted + others)
    return LinearBound(value - by_recall * more - by_count * others, by_recall * weight + by_count * count)


def _lower_bound(
    curve: _Curve, recall: float, counted: float, weight: Vector, count: Vector, likely: Vector
) -> LinearBound:
    corners = _corners(weight.tolist(), count.tolist())
    values = [curve(recall + x, counted + y) for x, y in corners]
    constant, by_weight, by_count = _highest_plane(corners, values, (float(weight @ likely), float(count @ likely)))
    # Move it below every corner, whatever the rounding.
    above = (constant + by_weight * x + by_count * y - value for (x, y), value in zip(corners, values, strict=True))
    return LinearBound(constant - max(max(above), 0.0), by_weight * weight + by_count * count)


# There are few corners, mostly four: plain numbers take a quarter of the time of arrays.


def _highest_plane(corners: Sequence[Point], values: Sequence[float], here: Point) -> tuple[float, float, float]:
    """The plane that is highest `here`, of those that are above no value at a corner: its value at the origin, and how
    fast it rises.

    It passes through three corners around the point. Starting from any such three, the corner furthest below the plane
    replaces one of them, until none is below."""
    fans = [(0, i, i + 1) for i in range(1, len(corners) - 1)]
    three = max(fans, key=lambda fan: _inside(corners, fan, here), default=None)
    if three is None or _inside(corners, three, here) == -math.inf:  # all on one line, from the origin
        last = max(range(len(corners)), key=lambda i: math.hypot(*corners[i]))
        (x, y), rise = corners[last], values[last] - values[0]
        square = max(x * x + y * y, 1e-300)
        return values[0], rise * x / square, rise * y / square
    for _ in range(10 * len(corners)):
        plane = _plane(corners, values, three)
        under = [
            value - (plane[0] + plane[1] * x + plane[2] * y) for (x, y), value in zip(corners, values, strict=True)
        ]
        lowest = under.index(min(under))
        if under[lowest] >= -1e-12:
            break
        a, b, c = three
        swaps = [(lowest, b, c), (a, lowest, c), (a, b, lowest)]
        three = max(swaps, key=lambda swap: _inside(corners, swap, here))
    return plane


def _plane(corners: Sequence[Point], values: Sequence[float], three: Three) -> tuple[float, float, float]:
    """The plane with the values of three corners."""
    i, j, k = three
    (x, y), value = corners[i], values[i]
    (x1, y1), (x2, y2) = ((corners[other][0] - x, corners[other][1] - y) for other in (j, k))
    rise1, rise2, area = values[j] - value, values[k] - value, x1 * y2 - x2 * y1
    by_x, by_y = (rise1 * y2 - rise2 * y1) / area, (x1 * rise2 - x2 * rise1) / area
    return value - by_x * x - by_y * y, by_x, by_y


def _inside(corners: Sequence[Point], three: Three, here: Point) -> float:
    """How far the point is inside of three corners: the least of its barycentric coordinates; negative outside."""
    (x0, y0), (x1, y1), (x2, y2) = (corners[i] for i in three)
    x, y = here
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if abs(area) < 1e-12:
        return -math.inf
    first = (x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)
    second = (x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)
    return min(first / area, second / area, (area - first - second) / area)


def _corners(weight: Sequence[float], count: Sequence[float]) -> list[Point]:
    """The corners, in order, of the polygon of all sums of some (weight, count), from the origin on: its edges are
    these pairs, those that are alike together."""
    often = Counter(edge for edge in zip(weight, count, strict=True) if any(edge))
    edges = [(x * times, y * times) for (x, y), times in sorted(often.items())]
    edges.sort(key=lambda edge: math.atan2(edge[1], edge[0]))
    back = [(-x, -y) for x, y in edges] if len(edges) > 1 else []
    around = accumulate([*edges, *back], lambda at, edge: (at[0] + edge[0], at[1] + edge[1]), initial=(0.0, 0.0))
    return list(around)[: 2 * len(edges) if back else None]
