"""What is believed before the first judgement."""

from __future__ import annotations

import pytest
from scipy.special import ndtri, stdtrit

from nuggeteer.thresholds.prior import FITS, STUDENTS


@pytest.mark.parametrize("collections", STUDENTS)
def test_the_spread_of_few_collections_is_widened_as_students_t_is(collections):
    assert STUDENTS[collections] == pytest.approx((stdtrit(collections - 1, 0.975) / ndtri(0.975)) ** 2, rel=1e-15)


def test_all_collections_and_all_but_one_can_make_a_prior():
    assert {len(FITS), len(FITS) - 1} <= set(STUDENTS)
