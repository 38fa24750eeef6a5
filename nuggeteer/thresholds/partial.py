"""Partial support: how often nuggets that are not found are supported in part, where assessors say so.

    odds(partly | not found) = K · share found

A run that has more nuggets has more of the others in part. K is counted in the verdicts, and differs between systems.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from nuggeteer.records import Vector
from nuggeteer.thresholds.model import Evidence

# What is believed of log K before any verdict, and its spread between systems (experiments/partial.md).
MEAN, DEVIATION, BETWEEN_SYSTEMS = 0.4, 1.0, 0.25
NONE: Final = np.full(2, np.nan)


def partial_support(evidence: Evidence) -> Vector:
    """The mean of log K, and its standard deviation for another system; `NONE` if no verdict says partly."""
    if evidence.partly is None or evidence.whole is None or not evidence.partly.any():
        return NONE
    codes = evidence.whole.astype(np.int64) * evidence.nuggets + evidence.nugget  # what one verdict was about
    units, unit = np.unique(codes, return_inverse=True)
    is_yes = np.bincount(unit, evidence.yes) > 0
    is_partly = ~is_yes & (np.bincount(unit, evidence.partly) > 0)
    yes, partly = is_yes.sum() + 0.5, is_partly.sum() + 0.5
    no = len(units) + 1.5 - yes - partly
    seen = np.log(partly / no) - np.log(yes / (yes + partly + no))
    variance = 1 / yes + 1 / partly + 1 / no
    precision = 1 / variance + DEVIATION**-2
    mean = (seen / variance + MEAN / DEVIATION**2) / precision
    return np.array([mean, np.sqrt(1 / precision + BETWEEN_SYSTEMS**2)])
