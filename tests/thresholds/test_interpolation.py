"""Interpolated functions of logits, against the functions themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from nuggeteer.thresholds.curve import GRID
from nuggeteer.thresholds.interpolation import FAR, heights, sums_of_softplus


@pytest.mark.parametrize("spread", [0.1, 3.0, 60.0])
def test_sums_of_softplus_are_sums_of_softplus(spread):
    """Over the cells of each nugget, also for logits far from where anything is undecided."""
    rng = np.random.default_rng(int(spread))
    logits, count = spread * rng.standard_normal(500), rng.integers(1, 9, 500).astype(float)
    start = np.concatenate([[0], np.sort(rng.choice(np.arange(1, 500), 60, replace=False))])
    expected = np.add.reduceat(count[:, None] * np.logaddexp(0, logits[:, None] + GRID), start)
    assert sums_of_softplus(logits, count, start) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("logit", [-1e6, -FAR, 0.0, FAR, 1e6])
def test_a_logit_may_be_anywhere(logit):
    found = sums_of_softplus(np.array([logit]), np.ones(1), np.array([0]))[0]
    assert found == pytest.approx(np.logaddexp(0, logit + GRID), rel=1e-9, abs=1e-9)


def test_heights_are_those_of_the_normal_density():
    chance = np.concatenate([np.linspace(1e-4, 0.9999, 999), [1e-6, 1 - 1e-6]])
    found = heights((-np.log1p(-chance)).astype(np.float32))
    assert found == pytest.approx(norm.pdf(norm.ppf(chance)), rel=1e-4, abs=1e-6)


def test_what_never_and_always_happens_has_next_to_no_height():
    assert heights(np.array([0.0, 1e-30, 100.0, np.inf], dtype=np.float32)) == pytest.approx(0, abs=1e-7)
