"""Coefficients of agreement between raters who answer yes or no, and their intervals.

A table has four counts: yes from both raters, from the first only, from the second only, and from neither. The tables
of several questions add up. The pairs (or characters) of one question have something in common and are not independent,
so intervals come from the questions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.statistics.intervals import DIFFERENCES, SCORES, Estimate, jackknife_interval


def percent(tables: Vector) -> Vector:
    """The share of the pairs on which both raters agree."""
    return _ratio(tables[..., 0] + tables[..., 3], tables.sum(axis=-1))


def positive(tables: Vector) -> Vector:
    """Positive agreement, which is the F1 of yes: 2 both / (2 both + only one). The papers' overlap,
    both / (½ only one + both), is the same."""
    twice = 2 * tables[..., 0]
    return _ratio(twice, twice + tables[..., 1] + tables[..., 2])


def kappa(tables: Vector) -> Vector:
    """Cohen's κ (1960): agreement beyond what two raters with these shares of yes reach by chance."""
    both, first, second, neither = np.moveaxis(tables, -1, 0)
    whole = both + first + second + neither
    chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    return _ratio((both + neither) * whole - chance, whole**2 - chance)


def alpha(tables: Vector) -> Vector:
    """Krippendorff's α (2011) from coincidences (`coincidences` or `two_rater_coincidences`)."""
    yes, no = tables[..., 0] + tables[..., 1], tables[..., 2] + tables[..., 3]
    expected = yes * no
    return _ratio(expected - (yes + no - 1) * tables[..., 1], expected)


def precision(tables: Vector) -> Vector:
    """The share of the first rater's yes on which the second says yes, too. Recall is `sensitivity`."""
    return _ratio(tables[..., 0], tables[..., 0] + tables[..., 1])


def sensitivity(tables: Vector) -> Vector:
    """The share of the second rater's yes on which the first says yes."""
    return _ratio(tables[..., 0], tables[..., 0] + tables[..., 2])


def specificity(tables: Vector) -> Vector:
    """The share of the second rater's no on which the first says no."""
    return _ratio(tables[..., 3], tables[..., 1] + tables[..., 3])


def balanced_error(tables: Vector) -> Vector:
    """The mean of the first rater's error rates where the second says yes and where it says no."""
    return np.asarray(1 - (sensitivity(tables) + specificity(tables)) / 2)


def bias_of_errors(tables: Vector) -> Vector:
    """The share of the first rater's errors that goes one way, and so does not cancel out in a mean."""
    return _ratio(abs(tables[..., 1] - tables[..., 2]), tables[..., 1] + tables[..., 2])


def contingency_tables(first: Bools, second: Bools, question: Ints, questions: int) -> Vector:
    """questions × 4: how two raters judged the same items. `question` is the question of each item."""
    cell = 3 - 2 * first.astype(np.int64) - second
    return np.bincount(4 * question + cell, minlength=4 * questions).reshape(questions, 4).astype(float)


def two_rater_coincidences(tables: Vector) -> Vector:
    """The coincidences of two raters, from their table: each verdict is counted against the other rater's."""
    return tables + tables[..., [0, 2, 1, 3]]


def coincidences(yes: Ints, raters: Ints, question: Ints, questions: int) -> Vector:
    """questions × 4: each verdict on an item counted against each other verdict on it. `raters` is how many judged
    each item and `yes` how many of them answered yes. A verdict weighs the same however many others the item has.
    Items with one verdict do not count."""
    several = raters > 1
    yes, question = yes[several], question[several]
    no, others = raters[several] - yes, raters[several] - 1
    cells = (yes * (yes - 1), yes * no, yes * no, no * (no - 1))
    return np.stack([np.bincount(question, cell / others, minlength=questions) for cell in cells], axis=-1)


def estimate(coefficient: Callable[[Vector], Vector], tables: Vector) -> Estimate:
    """The coefficient of all questions together, and its interval from its values without each question.

    There is a value without an interval if there are few questions, if one question decides whether the coefficient is
    defined, or if it is the same without any of them, because that shows nothing about how raters vary."""
    tables = tables[tables.any(axis=-1)]
    whole = tables.sum(axis=0)
    value = float(coefficient(whole))
    if np.isnan(value):
        return Estimate(None)
    scale = DIFFERENCES if coefficient in (kappa, alpha) else SCORES
    return Estimate(value, *(jackknife_interval(value, coefficient(whole - tables), scale) or (None, None)))


def _ratio(part: Vector, whole: Vector) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
