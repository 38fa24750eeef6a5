"""What is believed before the first judgement, learned from public collections.

The curve and the spreads of two collections that humans judged whole, REALSumm and TREC 2014 Temporal
Summarization; made by `python experiments/prior.py COLLECTION...`, which prints this table. Two collections
are few: their mean is taken, with the spread between them for its uncertainty, so that an interval from
this alone is as wide as it should be.

Both were matched by n-grams. What ROUGE and the like call a high score is much the same, and the prior is as good for
them; scores of others may mean anything, and of those less is believed (the measurements are in
docs/understanding/thresholds.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nuggeteer.thresholds.smooth import COEFFICIENTS, CURVE, KNOTS, Prior

FITS = {
    # collection: b0, b1, b2, d, spread of nuggets, questions, groups, their slopes, ρ
    "realsumm": (-1.28, 3.34, 4.01, 0.82, 1.75, 0.55, 0.28, 0.38, 0.27),
    "ts2014": (-3.20, 12.19, -6.33, 0.23, 2.08, 0.59, 0.04, 0.05, 0.01),
}

SIZE = 0.25  # how much what length says may differ, beyond what these two show
BEND = 4.0  # how sharply the curve bends at a knot: not at all on public data, without end at a step


def _prior() -> Prior:
    table = np.array(list(FITS.values()))
    b = table[:, :4]
    off = b - b.mean(axis=0)
    told = [0, 1, 2, CURVE]
    mean = np.zeros(COEFFICIENTS)
    mean[told] = b.mean(axis=0)
    covariance = np.diag([0.5**2] * 3 + [BEND**2] * len(KNOTS) + [SIZE**2])
    covariance[np.ix_(told, told)] += off.T @ off / (len(b) - 1)
    nugget, question, group, slope = map(float, np.sqrt((table[:, 4:8] ** 2).mean(axis=0)))
    return Prior(mean, covariance, nugget, question, 2 * group, slope, float(table[:, 8].mean()))


PRIOR = _prior()

DOUBT = 4.0  # by how much the curve's variance is larger for scores of other kinds


def prior_for(scores_overlap: bool) -> Prior:
    """The prior for scores that are the share of a description that a response has, or for scores of another kind."""
    return PRIOR if scores_overlap else replace(PRIOR, b_covariance=DOUBT * PRIOR.b_covariance)
