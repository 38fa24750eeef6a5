"""What does the smooth model learn from whole collections? Prints the numbers for `nuggeteer/thresholds/prior.py`.

    python experiments/prior.py COLLECTION...

The model is fitted to each collection with a very weak prior. Printed are the curve b, the coefficient of length d, and
the spreads of nuggets, steepness, questions and groups. The spread of the groups' sharpness g is that of runs that are
hidden in turn and guessed with all that the default matcher carries over: how far apart their likely and their unlikely
pairs are, less what chance would do.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

sys.path.insert(0, str(Path(__file__).parent))
from coverage import hide

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.idf import background
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.known import YES, VerdictIndex
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.curve import KNOTS
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.smooth import Prior, SmoothFit

LEAST = 2e-3  # of a chance
# No bends, so that the three coefficients describe the whole curve.
SPREAD = np.array([100.0] * 3 + [1e-3] * len(KNOTS) + [100.0])
WEAK = Prior(
    np.array([-2.0, 8.0, 0.0] + [0.0] * len(KNOTS) + [0.0]),
    np.diag(SPREAD**2),
    1.5,
    0.5,
    1.0,
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
    variance = fit.effects_covariance[:, 0, 0]
    information = 1 / variance - fit.spreads[3] ** -2
    effect, noise = fit.effects[:, 0] / variance / information, (1 / information).mean()
    names = np.array(["_".join(name.split("_")[:2]) for name in fit.group_names])
    families = [effect[names == name] for name in np.unique(names)]
    freedom = sum(len(own) - 1 for own in families)
    if not freedom:
        return None
    within = sum(((own - own.mean()) ** 2).sum() for own in families) / freedom
    return float((within - noise) / (effect.var(ddof=1) - noise))


def sharpness(collection: Collection) -> float:
    """The spread of g. Each hidden run's verdicts are regressed on the logits of its guesses; the spread of the slopes
    is the square root of their mean square, less the mean variance of the estimates."""
    whole = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    squares = []
    for run in collection.judged_runs:
        scorer = Scorer(hide(collection, run.name, 0.0, np.random.default_rng(1)))
        matched = scorer.read(run.name)
        open_ = matched.undecided & ~matched.certain[matched.pairs.nugget]
        yes = whole(run.normalised_texts, run.question)[open_] == YES
        chance = scorer.model.probability(matched.pairs[open_], matched.group)
        given = logit(np.clip(chance, LEAST, 1 - LEAST))
        columns, effects = np.stack([np.ones(len(given)), given], axis=1), np.zeros(2)
        for _ in range(50):
            p = expit(given + columns @ effects)
            curvature = (columns.T * (p * (1 - p))) @ columns + LEAST * np.eye(2)
            effects += np.linalg.solve(curvature, columns.T @ (yes - p) - LEAST * effects)
        squares.append(effects[1] ** 2 - np.linalg.inv(curvature)[1, 1])
    return float(np.sqrt(max(np.mean(squares), 0.0)))


def main() -> None:
    for name in sys.argv[1:]:
        collection = read_collection(name)
        known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
        matcher = NgramMatcher(collection.key, collection.settings.match, background())
        fit = fit_smooth(gather_evidence(collection, matcher, known), WEAK)
        nugget, steepness, question, group, slope, _ = fit.spreads
        values = [*fit.b[:3], fit.b[-1], nugget, question, group, slope, sharpness(collection), fit.answer]
        families = variants(fit)
        if families is not None:
            print(f"    # of the variance between systems, {families:.2f} is between variants of one system")
        print(f'    "{Path(name).name}": ({", ".join(f"{value:.2f}" for value in values)}),  # steepness {steepness}')


if __name__ == "__main__":
    main()
