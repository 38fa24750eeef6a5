"""What is believed before the first judgement, learned from public collections.

The curve and the spreads of two collections that humans judged whole, REALSumm and TREC 2014 Temporal
Summarization; made by `python experiments/prior.py COLLECTION...`, which prints this table. Two collections
are few: their mean is taken, with the spread between them for its uncertainty, so that an interval from
this alone is as wide as it should be.
"""

from __future__ import annotations

import numpy as np

from nuggeteer.thresholds.smooth import Prior

FITS = {
    # collection: b0, b1, b2, spread of nuggets, questions, groups
    "realsumm": (-0.35, 3.17, 4.36, 1.61, 0.55, 0.40),
    "ts2014": (-3.08, 12.57, -6.64, 1.89, 0.58, 0.06),
}


def _prior() -> Prior:
    table = np.array(list(FITS.values()))
    b = table[:, :3]
    mean = b.mean(axis=0)
    off = b - mean
    covariance = off.T @ off / (len(b) - 1) + np.diag([0.5, 0.5, 0.5]) ** 2
    nugget, question, group = np.sqrt((table[:, 3:] ** 2).mean(axis=0))
    return Prior(mean, covariance, float(nugget), float(question), 2 * float(group))


PRIOR = _prior()
