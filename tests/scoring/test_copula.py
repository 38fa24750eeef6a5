"""What the nuggets of an answer have in common, against scipy's functions and by drawing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri

from nuggeteer.scoring.copula import miss_exponent

RATES = np.repeat(np.geomspace(1e-5, 12, 60)[:, None], 4000, axis=1).astype(np.float32)
COMMON = ndtri((np.arange(4000) + 0.5) / 4000).astype(np.float32)


@pytest.mark.parametrize("correlation", [0.02, 0.15, 0.5])
def test_the_tables_give_what_the_functions_give(correlation):
    level = ndtri(-np.expm1(-RATES.astype(float)))
    exact = -log_ndtr(-(level + np.sqrt(correlation) * COMMON) / np.sqrt(1 - correlation))
    rates = RATES * miss_exponent(RATES, COMMON, correlation)
    likely = (exact > 1e-9) & (exact < 30)  # beyond that the table ends
    assert rates[likely] == pytest.approx(exact[likely], rel=0.02)
    assert (rates / exact)[likely].mean() == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize("correlation", [0.02, 0.15, 0.5])
def test_the_mean_chance_of_a_nugget_stays_the_same(correlation):
    rates = RATES[20:]  # of rarer ones, too few draws decide
    given = -np.expm1(-rates * miss_exponent(rates, COMMON, correlation))
    assert given.mean(axis=1, dtype=float) == pytest.approx(-np.expm1(-rates[:, 0]), rel=0.01)


def test_two_nuggets_are_both_found_as_often_as_normal_numbers_with_that_correlation_say():
    """Against a million pairs of correlated normal numbers."""
    correlation, chance = 0.3, np.array([0.2, 0.6])
    rates = np.repeat(-np.log1p(-chance)[:, None], len(COMMON), axis=1).astype(np.float32)
    given = -np.expm1(-rates * miss_exponent(rates, COMMON, correlation))
    rng = np.random.default_rng(0)
    shared, own = rng.standard_normal(1_000_000), rng.standard_normal((2, 1_000_000))
    number = np.sqrt(1 - correlation) * own - np.sqrt(correlation) * shared
    both = (ndtr(number) < chance[:, None]).all(axis=0).mean()
    assert given.prod(axis=0).mean() == pytest.approx(both, abs=0.002)
