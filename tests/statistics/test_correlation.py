"""Agreement of two lists of scores, against scipy and brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from nuggeteer.statistics.correlation import ScoreAgreement, Swaps, interval_by_question, rank_swaps, score_agreement


def test_agreement_is_scipys_and_brute_force():
    rng = np.random.default_rng(16)
    official = rng.integers(0, 6, 30) / 10
    ours = official + rng.integers(-2, 3, 30) / 10
    result = score_agreement(official, ours)
    pairs = list(combinations(range(30), 2))
    signs = [(np.sign(official[i] - official[j]), np.sign(ours[i] - ours[j])) for i, j in pairs]
    tau_b = sum(a * b for a, b in signs) / np.sqrt(sum(a * a for a, _ in signs) * sum(b * b for _, b in signs))
    assert result.kendall_tau == pytest.approx(tau_b)
    assert result.pearson == pytest.approx(stats.pearsonr(official, ours).statistic)
    assert result.r_squared == pytest.approx(stats.linregress(official, ours).rvalue ** 2)
    assert result.rmse == pytest.approx(np.sqrt(np.mean((official - ours) ** 2)))


def test_two_runs_have_an_error_and_no_correlation():
    result = score_agreement([0.2, 0.4], [0.3, 0.3])
    assert np.isnan([result.kendall_tau, result.r_squared]).all()
    assert result.rmse == pytest.approx(0.1)
    assert score_agreement([np.nan, 0.1], [0.2, 0.2]).n == 1


def test_equal_scores_have_no_correlation():
    assert np.isnan(score_agreement([0.1, 0.2, 0.3], [0.5, 0.5, 0.5]).pearson)


def test_the_intervals_that_dang_and_lin_print():
    """§3.2: .987 of 59 runs is in [0.980, 1.00], and .870 of 59 runs × 75 questions in [0.863, 1.00]."""
    assert ScoreAgreement(59, np.nan, 0.987, 0).pearson_at_least == pytest.approx(0.980, abs=5e-4)
    low, high = (ScoreAgreement(59 * 75, np.nan, r, 0).pearson_at_least for r in (0.8695, 0.8705))
    assert low < 0.8635 < high


def test_the_intervals_of_r_are_scipys():
    rng = np.random.default_rng(18)
    x = rng.normal(size=20)
    y = x + rng.normal(size=20)
    result = score_agreement(x, y)
    assert result.pearson_interval == pytest.approx(tuple(stats.pearsonr(x, y).confidence_interval()))
    at_least = stats.pearsonr(x, y, alternative="greater").confidence_interval().low
    assert result.pearson_at_least == pytest.approx(at_least)


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "n"), [(0.0, 20), (0.5, 20), (0.9, 20), (0.9, 40)])
def test_the_interval_of_tau_holds_the_truth(rho, n):
    """A bivariate normal distribution has τ = 2/π arcsin ρ."""
    rng = np.random.default_rng(7)
    truth, held, samples = 2 / np.pi * np.arcsin(rho), 0, 1000
    for _ in range(samples):
        x = rng.normal(size=n)
        found = score_agreement(x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)).tau_interval
        held += found[0] <= truth <= found[1]
    assert held / samples >= 0.925


def test_few_scores_and_equal_ones_have_no_interval():
    assert score_agreement([0.1, 0.2, 0.4], [0.2, 0.1, 0.3]).pearson_interval is None
    equal = score_agreement([0.1, 0.2, 0.3, 0.4], [0.5] * 4)
    assert (equal.pearson_interval, equal.pearson_at_least, equal.tau_interval) == (None, None, None)
    perfect = score_agreement([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4])
    assert perfect.pearson_interval[1] == 1


@pytest.mark.slow
def test_the_interval_by_question_holds_the_truth_where_answers_to_a_question_are_alike():
    """Half of each score is the question's: the truth is .5 · .8 + .5 · .2. Fisher's interval of as many independent
    answers is far too narrow here."""
    rng = np.random.default_rng(3)
    held = independent = 0
    samples, runs, questions = 300, 20, 30

    def pair(size, rho):
        x = rng.normal(size=size)
        return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=size)

    resamples = rng.multinomial(questions, np.full(questions, 1 / questions), size=1000).astype(float)
    for _ in range(samples):
        own, shared = pair((runs, questions), 0.2), pair((1, questions), 0.8)
        x, y = (np.sqrt(0.5) * (a + b) for a, b in zip(own, shared, strict=True))
        low, high = interval_by_question(x, y, resamples)
        held += low <= 0.5 <= high
        naive = score_agreement(x.ravel(), y.ravel()).pearson_interval
        independent += naive[0] <= 0.5 <= naive[1]
    assert held / samples >= 0.91
    assert independent / samples < 0.8


def test_swaps_counted_by_hand():
    """b is above a by .05 and swaps; d is above c by .3 and swaps; b and c are level in the second list."""
    assert rank_swaps([0.10, 0.15, 0.30, 0.60], [0.4, 0.3, 0.3, 0.2]) == Swaps(5, 5, 1, 1)
    assert rank_swaps([0.1, 0.2, 0.9], [0.1, 0.2, 0.9]) == Swaps(3, 0, 0, 0)
