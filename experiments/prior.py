"""What does the smooth model learn from whole collections? Prints the numbers for `nuggeteer/thresholds/prior.py`.

    python experiments/prior.py COLLECTION...

The model is fitted to each collection with a very weak prior. Printed are the curve b, the coefficient of length d, and
the spreads of nuggets, steepness, questions and groups.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.idf import background
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.smooth import KNOTS, Prior, SmoothFit

# No bends, so that the three coefficients describe the whole curve.
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


def variants(fit: SmoothFit) -> float | None:
    """The share of the variance between systems that is between variants of the same system, with the noise of each
    effect subtracted. Variants are recognised by the first two parts of their names (`abs_t5_out_base`,
    `abs_t5_out_large`). None if there are no variants."""
    information = fit.group_spread**-2 - fit.spreads[3] ** -2
    effect, noise = fit.group * fit.group_spread**-2 / information, (1 / information).mean()
    names = np.array(["_".join(name.split("_")[:2]) for name in fit.group_names])
    families = [effect[names == name] for name in np.unique(names)]
    freedom = sum(len(own) - 1 for own in families)
    if not freedom:
        return None
    within = sum(((own - own.mean()) ** 2).sum() for own in families) / freedom
    return float((within - noise) / (effect.var(ddof=1) - noise))


def main() -> None:
    for name in sys.argv[1:]:
        collection = read_collection(name)
        known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
        matcher = NgramMatcher(collection.key, collection.settings.match, background())
        fit = fit_smooth(gather_evidence(collection, matcher, known), WEAK)
        nugget, steepness, question, group, slope = fit.spreads
        values = [*fit.b[:3], fit.b[-1], nugget, question, group, slope, fit.answer]
        families = variants(fit)
        if families is not None:
            print(f"    # of the variance between systems, {families:.2f} is between variants of one system")
        print(f'    "{Path(name).name}": ({", ".join(f"{value:.2f}" for value in values)}),  # steepness {steepness}')


if __name__ == "__main__":
    main()
