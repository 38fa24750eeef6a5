"""The prior of the smooth model, learned from public collections: what it assumes before the first judgement.

The curves and the spreads of six collections that humans judged: news summaries (REALSumm), news of events (TREC 2013
and 2014 Temporal Summarization), bullets of RAG systems (SummHay), debates (KPA) and students' short answers (SemEval);
made by `python experiments/prior.py COLLECTION...`, which prints this table. Collections differ mostly
in the level. So the prior is their mean, with the spread between them as its uncertainty. An interval from the prior
alone is then as wide as it should be.

All were matched by n-grams. High scores of ROUGE and similar matchers mean much the same, so the prior suits them as
well. Scores of other kinds may mean anything, so their prior is wider (docs/understanding/thresholds.md has the
measurements).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from nuggeteer.thresholds.curve import COEFFICIENTS, CURVE, KNOTS
from nuggeteer.thresholds.smooth import Prior

Row = tuple[float, float, float, float, float, float, float | None, float | None, float | None, float]
FITS: Final[dict[str, Row]] = {
    # collection: b0, b1, b2, d, spread of nuggets, questions, groups, their slopes, their sharpness (None where
    # the runs are no systems, but texts dealt at random), ρ
    "realsumm": (-1.28, 3.34, 4.01, 0.82, 1.75, 0.55, 0.28, 0.38, 0.27, 0.27),
    "ts2014": (-3.20, 12.19, -6.33, 0.23, 2.08, 0.59, None, None, None, 0.01),
    "ts2013": (-3.12, 13.00, -3.56, -0.15, 2.19, 0.74, None, None, None, 0.02),
    "summhay": (-3.09, 7.02, 3.37, 1.08, 0.33, 0.68, 0.21, 0.16, 0.09, 0.05),
    "kpa": (-0.03, 3.01, 4.00, 0.13, 1.87, 0.21, None, None, None, 0.00),
    "semeval": (0.65, 4.18, 1.45, 0.63, 1.10, 0.48, None, None, None, 0.00),
}

SIZE = 0.25  # further uncertainty about the effect of length, beyond the spread of these collections
# How much more a new system may differ from the others than the systems of a collection differ among themselves. With
# one run judged, and what the other collections teach, intervals then hold 97 % of REALSumm's other systems
# (experiments/next-build.md); with 1.4 they held 92 %.
UNLIKE = 1.7
# The spread of a few collections is itself uncertain: a normal distribution as wide at 95 % as Student's t. The squared
# ratio of these, by the number of collections; scipy has them, but takes a tenth of a second to import.
STUDENTS: Final = {5: 2.006697919199323, 6: 1.7201514534286646}
BEND = 4.0  # how sharply the curve may bend at a knot; on public data it does not bend, and a step has no limit


def prior_from(fits: Mapping[str, Row]) -> Prior:
    """The prior from the fits of some collections."""
    b = np.array([row[:4] for row in fits.values()])
    off = b - b.mean(axis=0)
    shown = [0, 1, 2, CURVE]
    mean = np.zeros(COEFFICIENTS)
    mean[shown] = b.mean(axis=0)
    covariance = np.diag([0.5**2] * 3 + [BEND**2] * len(KNOTS) + [SIZE**2])
    # Another collection differs from the mean of these by the spread between them and by the error of their mean.
    covariance[np.ix_(shown, shown)] += STUDENTS[len(b)] * off.T @ off / (len(b) - 1) * (1 + 1 / len(b))

    def spread(column: int) -> float:
        values = [row[column] for row in fits.values()]
        return float(np.sqrt(np.mean([value**2 for value in values if value is not None])))

    answer = float(np.mean([row[9] for row in fits.values()]))
    return Prior(mean, covariance, spread(4), spread(5), UNLIKE * spread(6), spread(7), spread(8), answer)


PRIOR = prior_from(FITS)

DOUBT = 4.0  # the factor of the curve's variance for scores of other kinds


def prior_for(scores_overlap: bool) -> Prior:
    """The prior for match scores. `scores_overlap` means that they are shares of a description's words."""
    return PRIOR if scores_overlap else replace(PRIOR, b_covariance=DOUBT * PRIOR.b_covariance)
