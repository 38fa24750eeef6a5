"""Random numbers by key: each row is stratified, and no row tells of another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from nuggeteer.thresholds.rows import RandomRows, joined, key_of, random_rows


def test_rows_are_orders_and_are_not_alike():
    """Each row has every stratum once. Rank correlations of rows are those of independent orders, and no place in a row
    tells of another's."""
    rows = RandomRows(2000, 1).strata(joined(np.arange(300), 5))
    assert (np.sort(rows, axis=1) == np.arange(2000)).all()
    correlations = np.corrcoef(rows)[np.triu_indices(300, 1)]
    assert correlations.mean() == pytest.approx(0, abs=5 / np.sqrt(1999 * len(correlations)))
    assert correlations.std() == pytest.approx(1 / np.sqrt(1999), rel=0.05)
    places = np.corrcoef(rows[:, :300].T)[np.triu_indices(300, 1)]
    assert places.std() == pytest.approx(1 / np.sqrt(299), rel=0.05)


def test_a_row_depends_on_its_key_and_the_seed_only():
    keys = joined(np.arange(50))
    rows = RandomRows(100, 3)
    assert (rows.normal(keys)[7] == RandomRows(100, 3).normal(keys[7:8])[0]).all()
    assert (rows.normal(keys)[7] != RandomRows(100, 4).normal(keys[7:8])[0]).any()


def test_draws_of_a_command_share_their_tables():
    assert random_rows(100, 3) is random_rows(100, 3)
    assert random_rows(100, 4) is not random_rows(100, 3)


def test_the_three_kinds_of_numbers_are_one_in_three_forms():
    rows, key = RandomRows(1000, 0), joined(key_of("a nugget"))
    uniform = (rows.strata(key)[0] + 0.5) / 1000
    assert rows.uniform(key)[0] == pytest.approx(uniform)
    assert rows.normal(key)[0] == pytest.approx(norm.ppf(uniform), abs=1e-5)


def test_keys_that_differ_little_are_spread_evenly():
    """Numbers one after the other, in either place of a key: none twice, and uniform."""
    one, other = joined(np.arange(100_000), 3), joined(7_000_000, np.arange(100_000))
    assert len(np.unique(np.concatenate([one, other]))) == 200_000
    for keys in (one, other):
        assert kstest(keys / 2.0**64, "uniform").pvalue > 0.001


def test_a_key_of_several_numbers_is_joined_number_by_number():
    both = joined(np.array([4, 5]), np.array([6, 7]))
    assert both[1] == joined(5, 7)[0]
    assert both[1] != joined(7, 5)[0]


def test_names_with_lone_surrogates_have_keys():
    assert key_of("a\ud800b") != key_of("ab")
