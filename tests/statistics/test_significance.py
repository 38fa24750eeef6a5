"""Tests of paired differences and intervals of ranks, against other libraries, brute force and simulations."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nuggeteer.statistics.significance import bootstrap_p, holm, randomisation, rank_intervals


def every_sign(differences):
    total = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return np.mean([s >= total - 1e-9 for s in sums])


@settings(max_examples=60)
@given(differences=st.lists(st.integers(-4, 4).map(lambda d: d / 10), min_size=1, max_size=9))
def test_few_differences_are_randomised_exactly(differences):
    assert randomisation(np.array(differences)[:, None])[0] == pytest.approx(every_sign(differences))


def test_randomisation_is_scipys_permutation_test():
    differences = np.random.default_rng(6).normal(0.3, 1, 11)
    expected = stats.permutation_test(
        (differences, np.zeros(11)), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples", vectorized=True
    )
    assert randomisation(differences[:, None])[0] == pytest.approx(expected.pvalue)


def test_many_differences_are_sampled_about_the_exact_value():
    """16 differences: 65,536 patterns, of which 10,000 are drawn; p is within four standard errors."""
    differences = np.random.default_rng(7).normal(0.35, 1, 16)
    sums = np.array([differences @ signs for signs in product((1, -1), repeat=16)])
    exact = np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9)
    found = randomisation(differences[:, None])[0]
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 10_000) + 1e-4)
    assert found != exact


def test_pairs_are_tested_apart_from_each_other():
    """Few non-zero differences are exact, many are sampled, in one call as in several."""
    rng = np.random.default_rng(8)
    many = rng.normal(0.2, 1, (40, 2))
    few = np.where(np.arange(40) < 5, 0.3, 0.0)[:, None]
    together = randomisation(np.hstack([many[:, :1], few, many[:, 1:]]))
    assert together[1] == 2 / 2**5
    assert together[[0, 2]].tolist() == randomisation(many).tolist()


def test_p_of_no_true_difference_is_under_5_percent_one_time_in_twenty():
    rng = np.random.default_rng(9)
    differences = rng.standard_t(3, size=(25, 1000))
    assert 29 <= (randomisation(differences, draws=2000) <= 0.05).sum() <= 71  # 50 ± 3 standard deviations


def test_the_bootstraps_p_is_that_of_all_resamples():
    """Of five differences all 3,125 resamples can be listed."""
    differences = np.array([0.5, -0.1, 0.2, 0.4, -0.3])
    means = np.array([np.mean(some) for some in product(differences, repeat=5)])
    exact = np.mean(np.abs(means - differences.mean()) >= differences.mean() - 1e-9)
    assert bootstrap_p(differences) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 10_000))


def test_identical_runs_do_not_differ_at_all():
    assert bootstrap_p(np.zeros(20)) == 1.0
    assert randomisation(np.zeros((20, 2))).tolist() == [1.0, 1.0]


def test_one_question_tells_nothing_of_others():
    assert np.isnan(bootstrap_p(np.array([np.nan, 0.4])))
    assert randomisation(np.array([[np.nan], [0.4]])).tolist() == [1.0]


def test_no_question_at_all_has_no_difference():
    assert np.isnan(bootstrap_p(np.array([np.nan])))
    assert np.isnan(randomisation(np.full((3, 2), np.nan))).all()


def test_undefined_questions_take_no_part_in_the_difference():
    differences = np.random.default_rng(11).normal(0.1, 1, 30)
    gap = np.insert(differences, 4, np.nan)
    assert bootstrap_p(gap) == bootstrap_p(differences)
    assert randomisation(gap[:, None]) == randomisation(differences[:, None])


def test_holm_of_an_example():
    """R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") is 0.05 0.08 0.09 0.09 0.09."""
    assert holm(np.array([0.03, 0.01, 0.05, 0.02, 0.04])).tolist() == pytest.approx([0.09, 0.05, 0.09, 0.08, 0.09])


@settings(max_examples=100)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_bonferroni_in_every_set_of_hypotheses_that_has_one(p):
    """The closed test: a hypothesis falls when each set that holds it falls by Bonferroni."""
    places = range(len(p))
    sets = [some for size in range(1, len(p) + 1) for some in combinations(places, size)]
    expected = [max(min(len(some) * min(p[i] for i in some), 1) for some in sets if one in some) for one in places]
    assert holm(np.array(p)).tolist() == pytest.approx(expected)


def test_holm_does_not_count_what_was_not_tested():
    assert holm(np.array([[0.01, np.nan], [0.04, np.nan]]))[:, 0].tolist() == [0.02, 0.04]


def test_ranks_of_draws_are_counted():
    rng = np.random.default_rng(13)
    means = rng.integers(0, 6, size=(500, 5)) / 10
    best = 1 + (means[:, None, :] > means[:, :, None]).sum(axis=2)
    worst = (means[:, None, :] >= means[:, :, None]).sum(axis=2)
    low, high = np.sort(best, axis=0)[12], np.sort(worst, axis=0)[487]  # the 2.5 % and 97.5 % points of 500
    assert rank_intervals(means).tolist() == np.stack([low, high], axis=1).tolist()


def test_equal_runs_share_their_ranks():
    rng = np.random.default_rng(14)
    one = rng.normal(size=1000)
    ranks = rank_intervals(np.stack([one, one - 9, one], axis=1))
    assert ranks.tolist() == [[1, 2], [3, 3], [1, 2]]


def test_rank_intervals_hold_the_true_ranks():
    """Six runs of known order, 0.6 standard errors apart: at least 95 % of the intervals hold the rank."""
    rng = np.random.default_rng(15)
    hits = 0
    for _ in range(100):
        values = rng.normal(size=(40, 6)) + 0.6 * np.arange(6)[::-1] / np.sqrt(40)
        counts = rng.multinomial(40, np.full(40, 1 / 40), size=400)
        ranks = rank_intervals(counts @ values / 40)
        hits += sum(low <= rank <= high for rank, (low, high) in enumerate(ranks, 1))
    assert hits >= 0.95 * 600
