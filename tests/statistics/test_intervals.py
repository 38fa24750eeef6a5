"""Intervals: against scipy's, against the formula written otherwise, and how often they hold the truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit, ndtr, ndtri

from nuggeteer.statistics.intervals import (
    DIFFERENCES,
    MIN_QUESTIONS,
    RATIOS,
    SCORES,
    UNBOUNDED,
    Interval,
    jackknife_interval,
    mean_interval,
    p_of_no_difference,
    tail_beyond,
)

SAMPLES = st.lists(st.floats(0, 1), min_size=MIN_QUESTIONS, max_size=30).map(np.array)


@settings(max_examples=60)
@given(SAMPLES)
def test_the_sampling_part_is_students_on_the_line_of_log_odds(own):
    """By the delta method, with the slope of the log odds measured and not derived."""
    assume(np.ptp(own) > 1e-3)
    mean, step = own.mean(), 1e-6
    slope = (logit(mean + step) - logit(mean - step)) / (2 * step)
    low, high = stats.t.interval(0.95, len(own) - 1, logit(mean), stats.sem(own) * slope)
    interval = mean_interval(own, certain=True)
    assert (interval.low, interval.high) == pytest.approx((expit(low), expit(high)), rel=1e-4)
    assert interval.sampling == (interval.low, interval.high)
    assert interval.judging == (mean, mean)
    assert 0 <= interval.low < mean < interval.high <= 1


@settings(max_examples=60)
@given(SAMPLES)
def test_swapping_two_runs_mirrors_the_interval_and_leaves_p(own):
    change = 2 * own - 1
    assume(np.ptp(change) > 1e-3)
    one, other = (mean_interval(sign * change, certain=True, scale=DIFFERENCES) for sign in (1, -1))
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert p_of_no_difference(one, len(own)) == pytest.approx(p_of_no_difference(other, len(own)))


def test_values_beyond_the_bounds_have_students_own_interval_and_test():
    """A measure of one's own may have any values."""
    own = np.array([2.0, 3.5, -1.0, 4.0, 2.5, 0.5])
    interval = mean_interval(own, certain=True, scale=DIFFERENCES)
    expected = stats.t.interval(0.95, 5, own.mean(), stats.sem(own))
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert p_of_no_difference(interval, 6) == pytest.approx(stats.ttest_1samp(own, 0).pvalue)


@settings(max_examples=100)
@given(
    st.integers(0, 10_000),
    st.floats(-0.3, 0.3),
    st.floats(0.001, 0.3),
    st.sampled_from(["t", "bootstrap", "percentile"]),
)
def test_p_is_below_5_percent_exactly_where_the_interval_leaves_out_0(seed, centre, guessing, method):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.normal(centre, 0.2, 12), -0.99, 0.99)
    drawn = np.clip(values + rng.normal(0, guessing, (300, 1)), -1, 1)
    interval = mean_interval(drawn.mean(axis=0), drawn, scale=DIFFERENCES, method=method)
    p = p_of_no_difference(interval, 12)
    assert 0 <= p <= 1
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (interval.low > 0 or interval.high < 0)


@pytest.mark.parametrize("end", ["low", "high"])
def test_beyond_each_end_lies_a_fortieth(end):
    """Also where guesses reach further to one side than to the other."""
    rng = np.random.default_rng(5)
    values = rng.normal(0.1, 0.1, 30)
    drawn = np.clip(values - 0.3 + 0.3 * rng.gamma(1.0, 1.0, (500, 1)), -1, 1)
    interval = mean_interval(drawn.mean(axis=0), drawn, scale=DIFFERENCES)
    assert interval.high - interval.value > 1.5 * (interval.value - interval.low)
    assert tail_beyond(interval, getattr(interval, end), 30) == pytest.approx(0.025)


def test_small_changes_have_about_the_p_of_the_paired_t_test():
    own = np.random.default_rng(3).normal(0.01, 0.03, 25)
    interval = mean_interval(own, certain=True, scale=DIFFERENCES)
    assert p_of_no_difference(interval, 25) == pytest.approx(stats.ttest_1samp(own, 0).pvalue, rel=0.02)


@settings(max_examples=60)
@given(SAMPLES, st.floats(0.01, 2), st.integers(0, 1000))
@example(np.array([1.0] * 6 + [0.9905]), 1.0, 0)  # alike once they are drawn
def test_the_whole_interval_holds_both_parts_and_is_no_wider_than_both(own, doubt, seed):
    """Questions that are all alike do not show how they vary: then there is only the judging part."""
    rng = np.random.default_rng(seed)
    drawn = expit(logit(np.clip(own, 0.01, 0.99)) + rng.normal(0, doubt, (400, 1)))
    values = drawn.mean(axis=0)
    assume(not 0 < np.ptp(values) < 1e-3)
    whole = mean_interval(values, drawn)
    if not np.ptp(values):
        assert (whole.low, whole.high, whole.sampling) == (None, None, None)
        assert whole.judging[0] < whole.value < whole.judging[1]
        return
    assert whole.sampling == mean_interval(values, certain=True).sampling
    by_draw = drawn.mean(axis=1)
    assert whole.judging == pytest.approx(np.quantile(by_draw, [0.025, 0.975]))
    assert whole.low <= min(whole.judging[0], whole.sampling[0]) + 1e-12
    assert whole.high >= max(whole.judging[1], whole.sampling[1]) - 1e-12
    reach = [abs(logit(part[0]) - logit(whole.value)) for part in (whole.judging, whole.sampling)]
    assert logit(whole.value) - logit(whole.low) == pytest.approx(np.sqrt(np.sum(np.square(reach))), rel=1e-6)


SKEWED = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.9])


def all_resamples(own):
    """The means of all samples that can be drawn from these values, each as probable as any other."""
    return np.array([np.mean(sample) for sample in product(own, repeat=len(own))])


def test_the_percentile_bootstrap_is_the_middle_of_all_resamples():
    """Of all 6⁶ of them, where the package draws 2,000."""
    interval = mean_interval(SKEWED, certain=True, method="percentile")
    assert interval.sampling == pytest.approx(np.quantile(all_resamples(SKEWED), [0.025, 0.975]), abs=0.015)
    assert (interval.low, interval.high) == interval.sampling


def test_the_bootstrap_is_bca_by_its_formula():
    """Efron 1987 with all 6⁶ resamples: bias from the share below the mean, acceleration from the skewness."""
    means, value = all_resamples(SKEWED), SKEWED.mean()
    bias = ndtri(((means < value - 1e-9).mean() + (means < value + 1e-9).mean()) / 2)
    off = SKEWED - value
    acceleration = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    reach = bias + np.array([-1.959964, 1.959964])
    expected = np.quantile(means, ndtr(bias + reach / (1 - acceleration * reach)))
    interval = mean_interval(SKEWED, certain=True, method="bootstrap")
    assert interval.sampling == pytest.approx(expected, abs=0.02)
    assert interval.high > mean_interval(SKEWED, certain=True, method="percentile").high + 0.02


@pytest.mark.parametrize("doubt", [0.02, 0.1, 0.4])
def test_the_whole_percentile_interval_is_about_that_of_resampled_draws(doubt):
    """Each resample takes the verdicts of one draw, and then questions: what the joined parts stand for."""
    rng = np.random.default_rng(5)
    own = rng.beta(2, 2, 40)
    drawn = expit(logit(own) + rng.normal(0, doubt, (4000, 1)) + rng.normal(0, 0.3, (4000, 40)))
    resampled = rng.integers(40, size=(4000, 40))
    means = np.take_along_axis(drawn, resampled, axis=1).mean(axis=1)
    whole = mean_interval(drawn.mean(axis=0), drawn, method="percentile")
    low, high = np.quantile(means, [0.025, 0.975])
    assert (whole.low, whole.high) == pytest.approx((low, high), abs=0.1 * (high - low))


@settings(max_examples=30)
@given(SAMPLES, st.sampled_from(["bootstrap", "percentile"]))
@example(np.array([0.67386449, 0.17775287, 0.67386449, 0.17775287, 0.17775287]), "bootstrap")
def test_a_bootstrap_holds_the_mean_stays_among_the_values_and_is_the_same_again(own, method):
    assume(np.ptp(own) > 1e-3)
    interval = mean_interval(own, certain=True, method=method, seed=3)
    assert own.min() <= interval.low <= own.mean() <= interval.high <= own.max()
    assert interval == mean_interval(own, certain=True, method=method, seed=3)


def test_undefined_questions_are_left_out():
    own = np.array([0.2, 0.9, 0.4, 0.7, 0.1])
    assert mean_interval(np.insert(own, 2, np.nan)) == mean_interval(own)


@pytest.mark.parametrize("method", ["t", "bootstrap", "percentile"])
@pytest.mark.parametrize("own", [[0.3], [0.1, 0.9], [0.1, 0.2, 0.3, 0.9], [0.4] * 6, [0.0] * 30, [0.1 + 0.2, 0.3] * 4])
def test_few_or_equal_values_have_a_mean_and_no_interval(own, method):
    interval = mean_interval(np.array(own), method=method)
    assert interval.value == pytest.approx(np.mean(own))
    assert (interval.low, interval.high, interval.sampling) == (None, None, None)
    assert p_of_no_difference(interval, len(own)) is None


def test_few_questions_still_have_a_judging_part():
    interval = mean_interval(np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]))
    assert interval.judging == pytest.approx(np.quantile([0.5, 1.0, 0.0], [0.025, 0.975]))
    assert interval.low is None


def test_no_defined_question_has_no_value():
    assert mean_interval(np.array([np.nan, np.nan])).value is None


@settings(max_examples=40)
@given(SAMPLES)
def test_the_jackknife_of_a_mean_is_the_interval_of_the_mean(own):
    assume(np.ptp(own) > 1e-3)
    left_out = (own.sum() - own) / (len(own) - 1)
    assert jackknife_interval(own.mean(), left_out, SCORES) == pytest.approx(mean_interval(own).sampling)


def test_ratios_reach_as_many_times_up_as_down():
    low, high = jackknife_interval(1.5, np.array([1.4, 1.5, 1.6, 1.7, 1.3]), RATIOS)
    assert high / 1.5 == pytest.approx(1.5 / low)


def test_what_is_undefined_without_some_question_has_no_interval():
    assert jackknife_interval(0.5, np.array([0.4, 0.5, 0.6, np.nan, 0.5, 0.4]), UNBOUNDED) is None


@pytest.mark.slow
@pytest.mark.parametrize("questions", [5, 10, 40])
def test_the_interval_holds_the_true_mean_about_as_often_as_it_says(questions):
    """3,000 samples of skewed, often zero scores, as F is. experiments/small-samples.md has more kinds."""
    rng = np.random.default_rng(7)
    truth = 0.7 * 2 / 5
    hits = []
    for _ in range(3000):
        values = np.where(rng.random(questions) < 0.7, rng.beta(2, 3, questions), 0.0)
        interval = mean_interval(values)
        if interval.low is not None:
            hits.append(interval.low <= truth <= interval.high)
    assert 0.93 <= np.mean(hits) <= 0.98
    assert len(hits) > 2950


def test_the_judging_share_is_the_judging_part_over_the_whole():
    assert Interval(0.5, low=0.2, high=0.6, judging=(0.4, 0.5)).judging_share == pytest.approx(0.25)
    assert Interval(0.5, low=0.2, high=0.6, judging=(0.5, 0.5)).judging_share == 0
    assert Interval(0.5, low=0.2, high=0.6).judging_share is None
