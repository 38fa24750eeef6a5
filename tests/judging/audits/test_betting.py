"""Bounds by bets: in how many made-up draws they miss, and how narrow they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit

from nuggeteer.judging.audits.estimate import EstimateSequence, bound_below

UNITS = 200


def population(kind, rng):
    """Guesses of things that are or are not, each worth as much."""
    guess = rng.random(UNITS)
    true = (rng.random(UNITS) < guess).astype(float)
    if kind == "wrong":
        return 1 - guess, true
    if kind == "rarely wrong":
        wrong = rng.random(UNITS) < 0.05
        return np.where((true == 1) != wrong, 0.99, 0.01), true
    return guess, true


def looks(guess, true, size, rng, draws=UNITS):
    """What draws in a random order tell, by the formulas as they are written."""
    left, drawn, rows = np.argsort(rng.exponential(size=UNITS) / size), 0.0, []
    for one in left[:draws]:
        total = size[left].sum()
        centre = drawn + guess[left].sum()
        errors = [(x - guess[left]) * total / size[left] for x in (0, 1)]
        estimate = centre + (true[one] - guess[one]) * total / size[one]
        rows.append((estimate, centre + errors[0].min(), centre, total, centre + errors[1].max()))
        drawn, left = drawn + true[one], left[1:]
    return np.array(rows).T / UNITS


def interval(rows, count):
    estimate, least, centre, scale, most = (row[:count] for row in rows)
    low = bound_below(EstimateSequence(estimate, least, centre, scale), 1.0, count, 0.0, 1.0)
    return low, -bound_below(EstimateSequence(-estimate, -most, -centre, scale), 1.0, count, -1.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["right", "wrong", "rarely wrong"])
def test_the_true_mean_is_inside_at_least_95_times_in_100_whatever_the_guesses(kind):
    """After 20 and after 100 draws without replacement; Student's interval misses where errors are rare."""
    rng = np.random.default_rng(0)
    misses, widths, student = {20: 0, 100: 0}, {20: [], 100: []}, 0
    for _ in range(150):
        guess, true = population(kind, rng)
        rows = looks(guess, true, np.maximum(np.sqrt(guess * (1 - guess)), 0.4), rng, 100)
        for count in misses:
            low, high = interval(rows, count)
            misses[count] += not low <= true.mean() <= high
            widths[count].append(high - low)
        few = rows[0][:20]
        half = stdtrit(19, 0.975) * few.std(ddof=1) / np.sqrt(20)
        student += abs(few.mean() - true.mean()) > half
    assert max(misses.values()) <= 0.05 * 150
    assert np.mean(widths[100]) < min(np.mean(widths[20]), 0.4)
    assert (student > 0.07 * 150) == (kind == "rarely wrong")


@pytest.mark.slow
def test_no_moment_to_stop_is_better_than_another_for_who_wants_to_be_wrong():
    """The bounds of all counts of draws together miss the truth no oftener: it is Ville's inequality."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(60):
        guess, true = population("right", rng)
        estimate, least, centre, scale, _ = looks(guess, true, np.ones(UNITS), rng)
        bounds = [
            bound_below(EstimateSequence(estimate[:n], least[:n], centre[:n], scale[:n]), 1.0, 50, 0.0, 1.0)
            for n in range(10, UNITS, 10)
        ]
        assert bounds == sorted(bounds)  # what was once refuted stays so
        missed += bounds[-1] > true.mean() + 1e-9
    assert missed <= 60 * 0.025 + 2


def test_without_a_draw_nothing_is_known():
    nothing = np.zeros(0)
    assert bound_below(EstimateSequence(nothing, nothing, nothing, nothing), 1.0, 10, 0.25, 1.0) == 0.25
