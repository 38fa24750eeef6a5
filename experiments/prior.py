"""What the smooth model learns from whole collections, for `nuggeteer/thresholds/prior.py`.

    python experiments/prior.py COLLECTION...

Each is fitted with a prior so weak that it says nothing: the curve b, what length says (d), and the spreads of
nuggets, steepness, questions and groups.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nuggeteer.collection import read_collection
from nuggeteer.fitting import gather
from nuggeteer.idf import background
from nuggeteer.judging import Known
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.smooth import KNOTS, Prior

# No bends, so that the three coefficients say all.
SPREAD = np.array([100.0] * 3 + [1e-3] * len(KNOTS) + [100.0])
WEAK = Prior(
    np.array([-2.0, 8.0, 0.0] + [0.0] * len(KNOTS) + [0.0]),
    np.diag(SPREAD**2),
    1.5,
    0.5,
    1.0,
    1.0,
    0.0,
    weight=0.01,
    answers=0.01,
)


def main() -> None:
    for name in sys.argv[1:]:
        collection = read_collection(name)
        known = Known(collection.key, collection.judgements, collection.judged_runs)
        matcher = NgramMatcher(collection.key, collection.settings.match, background())
        fit = fit_smooth(gather(collection, matcher, known), WEAK)
        nugget, steepness, question, group, slope = fit.spreads
        values = [*fit.b[:3], fit.b[-1], nugget, question, group, slope, fit.answer]
        print(f'    "{Path(name).name}": ({", ".join(f"{value:.2f}" for value in values)}),  # steepness {steepness}')


if __name__ == "__main__":
    main()
