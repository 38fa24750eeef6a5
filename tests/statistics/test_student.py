"""Quantiles of Student's t."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from nuggeteer.statistics.intervals import student_quantile


@given(st.integers(1, 3000), st.floats(0.55, 0.9995))
def test_the_quantile_is_scipys(freedom, share):
    assert student_quantile(freedom, share) == pytest.approx(stdtrit(freedom, share), rel=1e-11)


@pytest.mark.parametrize(("freedom", "error"), [(4, 1e-13), (5, 1e-13), (299, 1e-13), (300, 1e-13), (1_000_000, 1e-10)])
def test_the_quantile_of_intervals_is_scipys(freedom, error):
    assert student_quantile(freedom, 0.975) == pytest.approx(stdtrit(freedom, 0.975), rel=error)


@pytest.mark.parametrize(("freedom", "printed"), [(4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)])
def test_the_quantile_is_that_of_printed_tables(freedom, printed):
    assert student_quantile(freedom, 0.975) == pytest.approx(printed, abs=5e-4)
