"""Quantiles of Student's t. Intervals need no other special function, and importing scipy's takes a tenth of a
second."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

STEPS = 10  # each doubles the digits


@cache
def student_quantile(freedom: int, share: float) -> float:
    """The t below which Student's distribution has this share, of at least a half. For whole degrees of freedom: its
    distribution is then a finite sum (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4)."""
    odd = freedom % 2
    each = np.arange(2 + odd, freedom, 2)
    log_peak = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = NormalDist().inv_cdf(share)
    for _ in range(STEPS):  # Newton's, from below: the distribution bends down, so no step leads too far
        hypotenuse = math.sqrt(freedom + t * t)
        sine, square = t / hypotenuse, freedom / hypotenuse**2
        within = sine * (1 + float(np.cumprod((each - 1) / each * square).sum()))
        if odd:
            further = math.sqrt(square) * within if freedom > 1 else 0.0
            within = 2 / math.pi * (math.asin(sine) + further)
        t += (share - (1 + within) / 2) / math.exp(log_peak + (freedom + 1) / 2 * math.log(square))
    return t
