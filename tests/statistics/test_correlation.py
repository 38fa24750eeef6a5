"""Agreement of two lists of scores, against scipy and brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from nuggeteer.statistics.correlation import score_agreement


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
