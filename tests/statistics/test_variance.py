"""Analysis of variance and Tukey's test, against printed tables, other libraries, brute force and simulations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nuggeteer.statistics.variance import (
    Tukey,
    analyse_variance,
    contrast,
    studentized_range_critical,
    studentized_range_sf,
    tukey_test,
)

# Montgomery, Design and Analysis of Experiments, §4.1: yield of vascular grafts, by batch of resin (rows) and
# extrusion pressure (columns 8500, 8700, 8900, 9100).
GRAFTS = np.array(
    [
        [90.3, 92.5, 85.5, 82.5],
        [89.2, 89.5, 90.8, 89.5],
        [98.2, 90.6, 89.6, 85.6],
        [93.9, 94.7, 86.2, 87.4],
        [87.4, 87.0, 88.0, 78.9],
        [97.9, 95.8, 93.4, 90.7],
    ]
)


def test_a_textbooks_randomised_block_has_its_table_of_variance():
    """The table as printed: pressures 178.17 on 3, batches 192.25 on 5, error 109.89 on 15, F 8.11, p 0.0019."""
    table = analyse_variance(GRAFTS.T)
    assert (table.runs.squares, table.questions.squares) == pytest.approx((178.17, 192.25), abs=0.005)
    assert (table.mean_square * 15, table.mean_square) == pytest.approx((109.89, 7.33), abs=0.005)
    assert (table.runs.freedom, table.questions.freedom, table.freedom) == (3, 5, 15)
    assert (table.runs.f, table.runs.p) == (pytest.approx(8.11, abs=0.005), pytest.approx(0.0019, abs=0.00005))


def test_variance_is_that_of_least_squares_with_dummy_variables():
    rng = np.random.default_rng(1)
    values = rng.random((7, 4)) + rng.random(4) + rng.random((7, 1))
    question, run = (grid.ravel() for grid in np.indices(values.shape))
    one = np.ones((values.size, 1))
    by_question, by_run = np.eye(7)[question], np.eye(4)[run]

    def rest(*columns):
        design = np.hstack(columns)
        fitted = design @ np.linalg.lstsq(design, values.ravel(), rcond=None)[0]
        return ((values.ravel() - fitted) ** 2).sum()

    full = rest(one, by_question, by_run)
    table = analyse_variance(values.T)
    assert table.mean_square == pytest.approx(full / 18)
    assert table.runs.squares == pytest.approx(rest(one, by_question) - full)
    assert table.questions.squares == pytest.approx(rest(one, by_run) - full)
    assert table.runs.p == pytest.approx(stats.f.sf(table.runs.squares / 3 / (full / 18), 3, 18))


def test_equal_runs_have_no_variance_between_them_and_no_test():
    table = analyse_variance(np.tile([0.1, 0.7, 0.3], (5, 1)))
    assert table.runs.squares == table.mean_square == 0
    assert np.isnan(table.runs.p)


def test_means_are_exact():
    """A run that finds nothing has 0, and not what rounding leaves of it."""
    values = np.random.default_rng(19).random((4, 7))
    values[1] = 0
    assert analyse_variance(values).means.tolist() == [own.mean() for own in values]


def test_runs_a_constant_apart_are_certainly_different():
    table = analyse_variance(np.array([0.1, 0.7, 0.3]) + np.array([[0.0], [0.1], [0.2]]))
    result = tukey_test(table.means, table.error, table.freedom)
    assert table.runs.p == 0
    assert result.p.tolist() == np.eye(3).tolist()
    assert result.significant == 3


@pytest.mark.parametrize(
    ("runs", "freedom", "printed"),
    [
        (2, 1, 17.97),
        (10, 1, 49.07),
        (6, 5, 6.03),
        (3, 10, 3.88),
        (5, 12, 4.51),
        (10, 20, 5.01),
        (4, 20, 3.96),
        (2, 60, 2.83),
        (20, 120, 5.13),
    ],
)
def test_critical_values_are_those_of_printed_tables(runs, freedom, printed):
    """Harter 1960, the upper 5 % points of the studentized range."""
    assert studentized_range_critical(runs, freedom) == pytest.approx(printed, abs=0.005)


@pytest.mark.parametrize(
    ("runs", "freedom"), [(2, 1), (2, 7), (3, 2), (4, 15), (10, 200), (59, 58), (59, 4292), (200, 199)]
)
def test_the_studentized_range_is_scipys(runs, freedom):
    q = np.array([0.5, 2.0, 3.5, 5.0, 6.0, 7.0])
    expected = stats.studentized_range.sf(q, runs, freedom)
    assert studentized_range_sf(q, runs, freedom) == pytest.approx(expected, rel=2e-6, abs=2e-7)


def test_small_probabilities_keep_their_precision():
    """The range of two is √2 times a t value, whose tail is known far out."""
    t = np.array([5.0, 8.0, 10.0])
    expected = 2 * stats.t.sf(t, 120)
    assert expected.min() < 1e-16
    assert studentized_range_sf(t * np.sqrt(2), 2, 120) == pytest.approx(expected, rel=1e-5)


def test_tukeys_intervals_and_p_are_those_of_rs_own_example():
    """TukeyHSD(aov(breaks ~ wool + tension, warpbreaks), "tension"), R's manual: M−L, H−L, H−M."""
    means = np.array([36.38889, 26.38889, 21.66667])  # L, M, H, of 18 looms each
    result = tukey_test(means, np.sqrt(6747.9 / 50 / 18), 50)
    assert result.critical[0, 1] == pytest.approx(9.353420726, rel=1e-5)
    assert result.p[[1, 2, 2], [0, 0, 1]] == pytest.approx([0.0336262, 0.0011218, 0.4474210], abs=2e-6)
    assert result.significant == 2


def test_with_one_ways_residual_it_is_scipys_tukey_hsd():
    rng = np.random.default_rng(2)
    samples = rng.normal(size=(5, 12)) + np.arange(5)[:, None] * 0.5
    within = samples.var(axis=1, ddof=1).mean()
    expected = stats.tukey_hsd(*samples)
    result = tukey_test(samples.mean(axis=1), np.sqrt(within / 12), 55)
    assert result.p == pytest.approx(expected.pvalue, abs=1e-6)
    low = expected.confidence_interval(0.95).low
    assert result.means[0] - result.means[3] - result.critical[0, 3] == pytest.approx(low[0, 3], abs=1e-5)


def test_of_two_runs_it_is_the_paired_t_test():
    rng = np.random.default_rng(3)
    values = rng.random((20, 1)) + 0.2 * rng.random((20, 2)) + [0, 0.04]
    table = analyse_variance(values.T)
    result = tukey_test(table.means, table.error, table.freedom)
    assert contrast(table) == pytest.approx(stats.ttest_rel(*values.T).pvalue)
    assert result.p[0, 1] == pytest.approx(stats.ttest_rel(*values.T).pvalue, rel=1e-5)
    assert table.runs.p == pytest.approx(stats.ttest_rel(*values.T).pvalue)


def test_of_equal_runs_one_experiment_in_twenty_finds_a_difference():
    """400 experiments with 8 equal runs: some pair is told apart in about 5 % of them."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(400):
        table = analyse_variance(rng.normal(size=(8, 15)) + rng.normal(size=15))
        wrong += tukey_test(table.means, table.error, table.freedom).significant > 0
    assert 8 <= wrong <= 34  # 20 ± 3 standard deviations


def guessed_experiment(rng, runs=6, questions=20, draws=100):
    """Equal runs, half of them seen through guesses that are off, each run's together and each answer's by itself;
    draws are off by as much, as those of a model that is right."""
    truth = rng.normal(size=(runs, questions)) + rng.normal(size=questions)
    off = [0.6 * rng.normal(size=(draws + 1, 1)) + 0.5 * rng.normal(size=(draws + 1, questions)) for _ in range(runs)]
    return [
        own + error[0] - error[1:] if place % 2 else own
        for place, (own, error) in enumerate(zip(truth, off, strict=True))
    ]


@pytest.mark.slow
def test_guesses_that_may_be_wrong_are_not_taken_for_differences():
    """300 experiments with equal runs: some pair is told apart in at most about 5 %. Expected scores alone would tell
    most of them apart."""
    rng = np.random.default_rng(17)
    wrong = naive = by_f = 0
    for _ in range(300):
        runs = guessed_experiment(rng)
        table = analyse_variance(runs)
        wrong += tukey_test(table.means, table.error, table.freedom).significant > 0
        by_f += table.runs.p < 0.05
        expected = analyse_variance([np.atleast_2d(own).mean(axis=0) for own in runs])
        naive += tukey_test(expected.means, expected.error, expected.freedom).significant > 0
    assert wrong <= 26  # 15 + 3 standard deviations
    assert by_f <= 26
    assert naive > 100


def test_what_is_guessed_is_added_to_the_error_as_rubin_says():
    """Pooled by hand: the mean of the residuals, and the variance over draws of each difference of means."""
    rng = np.random.default_rng(18)
    runs = [rng.random((1, 9)), rng.random((50, 9)), rng.random((50, 9))]
    table = analyse_variance(runs)
    each = [analyse_variance([own[draw % len(own)] for own in runs]) for draw in range(50)]
    means = np.array([one.means for one in each])
    assert table.mean_square == pytest.approx(np.mean([one.mean_square for one in each]))
    assert table.means == pytest.approx(means.mean(axis=0))
    for a, b in combinations(range(3), 2):
        variance = (1 + 1 / 50) * np.var(means[:, a] - means[:, b], ddof=1)
        assert table.judging[a, b] == pytest.approx(variance)
        assert table.error[a, b] == pytest.approx(np.sqrt(table.mean_square / 9 + variance / 2))
    off = means - means.mean(axis=1, keepdims=True)
    added = 9 * ((off - off.mean(axis=0)) ** 2).sum(axis=1).mean() / 2
    squares = 9 * (off.mean(axis=0) ** 2).sum()
    assert table.runs.f == pytest.approx(squares / 2 / (table.mean_square + added))


def test_draws_that_do_not_differ_are_as_if_known():
    known = GRAFTS.T
    drawn = [np.tile(own, (40, 1)) for own in known]
    a, b = analyse_variance(known), analyse_variance(drawn)
    assert (a.runs.f, a.runs.p) == pytest.approx((b.runs.f, b.runs.p))
    assert b.judging.max() < 1e-20
    assert contrast(a) == pytest.approx(contrast(b))


def test_a_contrast_without_residual_has_no_test():
    """Two questions with the same difference do not show how much differences vary."""
    assert np.isnan(contrast(analyse_variance(np.array([[0.0, 0.5], [0.5, 1.0]]))))
    assert np.isnan(contrast(analyse_variance(np.array([[0.5], [0.7]]))))
    assert contrast(analyse_variance(np.array([[0.5, 0.7], [0.5, 0.7]]))).tolist() == [1.0]


@settings(max_examples=200)
@given(steps=st.lists(st.integers(0, 12), min_size=1, max_size=8), data=st.data())
def test_groups_are_the_largest_sets_without_a_significant_pair(steps, data):
    """By brute force over all sets, with a critical difference for each pair."""
    means = np.array(steps, dtype=float)
    runs = range(len(means))
    critical = np.zeros((len(means), len(means)))
    for a, b in combinations(runs, 2):
        critical[a, b] = critical[b, a] = data.draw(st.integers(0, 12)) + 0.5
    result = Tukey(means, critical, np.ones_like(critical))
    alike = {
        frozenset(some)
        for size in range(1, len(means) + 1)
        for some in combinations(runs, size)
        if all(abs(means[a] - means[b]) <= critical[a, b] for a, b in combinations(some, 2))
    }
    found = [group.tolist() for group in result.groups()]
    assert {frozenset(group) for group in found} == {s for s in alike if not any(s < other for other in alike)}
    assert len({frozenset(group) for group in found}) == len(found)
    assert all(means[group].tolist() == sorted(means[group], reverse=True) for group in found)


def test_without_a_test_all_runs_are_one_group():
    table = analyse_variance(np.array([[0.1], [0.9], [0.5]]))
    result = tukey_test(table.means, table.error, table.freedom)
    assert not result.tested
    assert result.significant == 0
    assert [group.tolist() for group in result.groups()] == [[1, 2, 0]]
