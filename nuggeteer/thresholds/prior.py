"""What is believed before the first judgement, learned from public collections.

The curve and the spreads of two collections that humans judged whole, REALSumm and TREC 2014 Temporal
Summarization; made by `python experiments/prior.py COLLECTION...`, which prints this table. Two collections
are few: their mean is taken, with the spread between them for its uncertainty, so that an interval from
this alone is as wide as it should be.
"""

from __future__ import annotations

import numpy as np

from nuggeteer.thresholds.smooth import KNOTS, Prior

FITS = {
    # collection: b0, b1, b2, spread of nuggets, questions, groups
    "realsumm": (-0.37, 3.57, 3.95, 1.74, 0.55, 0.35),
    "ts2014": (-3.11, 12.51, -6.58, 2.08, 0.59, 0.05),
}


BEND = 4.0  # how sharply the curve bends at a knot: not at all on public data, without end at a step


def _prior() -> Prior:
    table = np.array(list(FITS.values()))
    b = table[:, :3]
    mean = b.mean(axis=0)
    off = b - mean
    covariance = np.diag([0.5**2] * 3 + [BEND**2] * len(KNOTS))
    covariance[:3, :3] += off.T @ off / (len(b) - 1)
    mean = np.concatenate([mean, np.zeros(len(KNOTS))])
    nugget, question, group = np.sqrt((table[:, 3:] ** 2).mean(axis=0))
    return Prior(mean, covariance, float(nugget), float(question), 2 * float(group))


PRIOR = _prior()
