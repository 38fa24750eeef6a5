"""What the log odds that are carried over from judged texts are worth on this collection: step 0 of the fit
(`learning.py`).

The clues of `matching/clues.py` have the weights of six public collections. How much they deserve differs between
collections by a factor of four: by how many texts were judged, and by whether the same thing is said in the same words.
So two numbers are learned from judged texts as they would be guessed had nobody judged their systems (`LeftOut`):

    log odds added to η = level + weight · carried

The weight is that of a logistic regression beside what else is known of a pair: its match score, and how often other
systems have its nugget. The level makes the expected number of nuggets the true one, by a fit that has not seen these
pairs. What is added differs from pair to pair, and on the scale of chances that is not nothing on average: where nearly
all pairs are a no, there would be too many yes. Beforehand the weight is 1 ± ½ and the level 0 ± ¼: as far as they
differ between six public collections.

Left out one system at a time, F1 of pairs rose from 0.73 to 0.79 (debates), from 0.58 to 0.63 and from 0.63 to 0.67
(TREC TS 2014 and 2013), and stayed within 0.01 on three other collections (experiments/carrying.md).
"""

from __future__ import annotations

import numpy as np

from nuggeteer.records import Bools, Vector
from nuggeteer.thresholds.model import Evidence, Pairs
from nuggeteer.thresholds.smooth import SmoothFit

Matrix = Vector
OF_WEIGHT, OF_LEVEL = 0.5, 0.25  # their spreads, before anything is known
DIGITS = 2  # of both, so that the last bits of other numbers do not matter
DRAWS = 64
AT_ONCE = 1024  # pairs that are drawn
FARTHEST = 2.0  # of levels
STEPS, SHORTEST = 50, 2**-20  # of Newton's method


def learn_weight(sample: Evidence) -> float:
    """The weight, by pairs with a `LeftOut`. What judges say of the pairs is known beside it, too."""
    assert sample.left_out is not None
    carried, share = sample.left_out.carried, sample.left_out.share
    known = [np.ones(len(sample)), np.sqrt(sample.scores), sample.scores, np.log(share / (1 - share))]
    if sample.opinions is not None:
        known += list(sample.opinions.rows[sample.opinions.which].T)
    x = np.column_stack([*known, carried])
    usual, precision = np.zeros(x.shape[1]), np.full(x.shape[1], 0.01)
    usual[3] = usual[-1] = 1.0
    precision[3], precision[-1] = 0.1, OF_WEIGHT**-2
    return round(max(float(_logistic(x, sample.yes, usual, precision)[-1]), 0.0), DIGITS)


def _logistic(x: Matrix, yes: Bools, usual: Vector, precision: Vector) -> Vector:
    """The coefficients of a logistic regression that are believed beforehand to be `usual`. By Newton's method, with
    shorter steps where whole ones go beyond the best. (scikit-learn's penalty draws all to 0 alike, and importing
    scipy.optimize takes longer than this.)"""
    found, size = usual, 1.0

    def loss(at: Vector) -> float:
        logits = x @ at
        return float(np.logaddexp(0, logits).sum() - logits @ yes + precision @ (at - usual) ** 2 / 2)

    best = loss(found)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
        step = np.linalg.solve(curvature, x.T @ (yes - p) - precision * (found - usual))
        size = min(2 * size, 1.0)
        while (value := loss(found + size * step)) > best and size > SHORTEST:
            size /= 2
        found, best = found + size * step, min(value, best)
        if np.abs(step).max() < 1e-4:
            break
    return found


def learn_level(sample: Evidence, weight: float, fit: SmoothFit) -> float:
    """The level, by pairs with a `LeftOut` and a fit without them. The nuggets that a system has count, not its pairs,
    because several texts may have one nugget; and all are drawn together, because nuggets that hang together are fewer
    than nuggets apart."""
    assert sample.left_out is not None
    groups = len(sample.groups)
    order = np.argsort(sample.nugget * groups + sample.group, kind="stable")
    sample = sample.only(order)
    assert sample.left_out is not None
    start = np.flatnonzero(np.diff(sample.nugget * groups + sample.group, prepend=-1))
    has = np.logical_or.reduceat(sample.yes, start)
    worth = sample.weight_of_nugget[sample.nugget[start]]
    if not worth.any():
        return 0.0
    worth = worth / worth.mean()
    pairs = Pairs(sample.scores, sample.nugget, sample.size, weight * sample.left_out.carried, sample.opinions)
    odds = _odds(fit, pairs)

    def excess(level: float) -> float:
        missed = np.add.reduceat(np.log1p(odds * np.float32(np.exp(level))), start, axis=0)
        return float(worth @ (-np.expm1(-missed).mean(axis=1) - has)) + level / OF_LEVEL**2

    low, high = -FARTHEST, FARTHEST  # the excess rises with the level
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return round((low + high) / 2, DIGITS)


def _odds(fit: SmoothFit, pairs: Pairs) -> Vector:
    """The odds of each pair in each draw, of a system that nobody judged."""
    draws, result = fit.draw(DRAWS, 0), np.empty((len(pairs), DRAWS), dtype=np.float32)
    for begin in range(0, len(pairs), AT_ONCE):
        part = pairs[begin : begin + AT_ONCE]
        result[begin : begin + AT_ONCE] = draws.rates(part, (None,), np.zeros(len(part), dtype=np.int64))
    return np.asarray(np.expm1(result, out=result))
