"""Coefficients of agreement between raters who say yes or no, and how sure they are.

A table has four numbers: both said yes, only the first, only the second, both said no. Tables of several questions
lie beside each other, and add up. What a question's pairs, or its characters, have in common makes them less than so
many independent ones, so that intervals resample questions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.statistics.intervals import bca_levels, question_draws

FEWEST = 10  # questions that have an interval; of fewer it holds the truth too seldom (experiments/agreement.md)
DEFINED = 0.95  # of the resamples, or there is no interval
SAME = 1e-12


class CoefficientEstimate(NamedTuple):
    """A coefficient and its 95 % interval; None where it is undefined or nothing can be said."""

    value: float | None
    low: float | None = None
    high: float | None = None


def percent(tables: Vector) -> Vector:
    """The share on which both say the same."""
    return _ratio(tables[..., 0] + tables[..., 3], tables.sum(axis=-1))


def positive(tables: Vector) -> Vector:
    """F1 of the yes: 2 both / (2 both + only one). The papers' overlap, both / (½ only one + both), is the same."""
    twice = 2 * tables[..., 0]
    return _ratio(twice, twice + tables[..., 1] + tables[..., 2])


def kappa(tables: Vector) -> Vector:
    """Cohen's κ (1960): agreement beyond what two raters with these shares of yes have by chance."""
    both, first, second, neither = np.moveaxis(tables, -1, 0)
    whole = both + first + second + neither
    chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    return _ratio((both + neither) * whole - chance, whole**2 - chance)


def alpha(tables: Vector) -> Vector:
    """Krippendorff's α (2011) from coincidences (`coincidences`, or those of two raters)."""
    yes, no = tables[..., 0] + tables[..., 1], tables[..., 2] + tables[..., 3]
    expected = yes * no
    return _ratio(expected - (yes + no - 1) * tables[..., 1], expected)


def tables(first: Bools, second: Bools, question: Ints, questions: int) -> Vector:
    """questions × 4: what two raters said of the same things, each of which is of a question."""
    cell = 3 - 2 * first.astype(np.int64) - second
    return np.bincount(4 * question + cell, minlength=4 * questions).reshape(questions, 4).astype(float)


def both_ways(tables: Vector) -> Vector:
    """The coincidences of two raters: each verdict against the other."""
    return tables + tables[..., [0, 2, 1, 3]]


def coincidences(yes: Ints, raters: Ints, question: Ints, questions: int) -> Vector:
    """questions × 4: of things that `raters` judged, of whom so many said `yes`, each verdict against each other one,
    so that a verdict weighs the same however many there are beside it. Things with one verdict say nothing."""
    several = raters > 1
    yes, question = yes[several], question[several]
    no, others = raters[several] - yes, raters[several] - 1
    cells = (yes * (yes - 1), yes * no, yes * no, no * (no - 1))
    return np.stack([np.bincount(question, cell / others, minlength=questions) for cell in cells], axis=-1)


def estimate(coefficient: Callable[[Vector], Vector], tables: Vector, seed: int) -> CoefficientEstimate:
    """The coefficient of all questions together, and BCa's interval over resampled questions.

    There is a value and no interval where there are few questions, where one of them decides whether there is a
    value, and where all resamples are the same, which says more of resampling than of the raters."""
    tables = tables[tables.any(axis=-1)]
    whole = tables.sum(axis=0)
    value = float(coefficient(whole))
    if np.isnan(value):
        return CoefficientEstimate(None)
    if len(tables) < FEWEST:
        return CoefficientEstimate(value)
    draws = coefficient(question_draws(len(tables), seed) @ tables)
    without = coefficient(whole - tables)
    defined = ~np.isnan(draws)
    draws = draws[defined]
    if np.isnan(without).any() or defined.mean() < DEFINED or np.ptp(draws) < SAME or np.ptp(without) < SAME:
        return CoefficientEstimate(value)
    jackknife = value + without.mean() - without
    draws = np.where(abs(draws - value) < SAME, jackknife.mean(), draws)  # so that ties are ties
    levels = bca_levels(jackknife, draws)
    if np.isnan(levels).any():
        return CoefficientEstimate(value)
    low, high = np.quantile(draws, levels)
    return CoefficientEstimate(value, float(low), float(high))


def _ratio(part: Vector, whole: Vector) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
