"""What the spreads of k and g do to systems that nobody judged.

    python experiments/sharpness.py COLLECTION...        of ../../shared/data, or any folders

For each group of systems that is left out, the expected recall of pairs that *others* were judged on is compared: as
these others have it, and as a new system is expected to have it. They should be equal. k and g have mean 0 on the scale
of logits, but where nearly all pairs are sure to be no, more of them become a yes for a g below 0 than cease to be one
for a g above. The usual v makes up for that; the last column is without it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import read_collection
from nuggeteer.records import Ints
from nuggeteer.scoring.fitting import gather_evidence, prior_of
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.smooth import SmoothFit

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
MOST, DRAWS, AT_ONCE = 50_000, 1_000, 1_000  # pairs, and how many of these at once


def main(*names: str) -> None:
    print("# The spread of sharpness, and systems that nobody judged\n")
    print(f"Made by `python experiments/sharpness.py {' '.join(names)}`, whose head says what it is.\n")
    print("| collection | group left out | σ_v | σ_k | σ_g | usual v | share of yes | new / others | were v 0 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        folder = DATA / name
        scorer = Scorer(read_collection(folder if folder.is_dir() else Path(name)))
        evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known)
        prior = prior_of(scorer.collection, scorer.matcher)
        for out in range(min(3, len(evidence.groups))):
            seen = evidence.only(evidence.group != out)
            fit = fit_smooth(seen, prior)
            own = np.sort(np.random.default_rng(0).choice(len(seen), min(MOST, len(seen)), replace=False))
            theirs = expected(fit, seen, own, seen.group[own])
            new, at_nought = (
                expected(model, seen, own, np.full(len(own), len(seen.groups)))
                for model in (fit, replace(fit, usual=np.zeros(3)))
            )
            v, k, g = np.sqrt((fit.new_group**2).mean()), *fit.spreads[4:]
            print(
                f"| {name} | {seen.groups[out]} | {v:.3f} | {k:.3f} | {g:.3f} | {fit.usual[0]:.3f} | "
                f"{seen.yes.mean():.3f} | {new / theirs:.3f} | {at_nought / theirs:.3f} |"
            )


def expected(fit: SmoothFit, evidence: Evidence, pairs: Ints, group: Ints) -> float:
    """The expected recall, in all draws, of pairs in these groups; the group after the last one is a new system."""
    draws, groups, total = fit.draw(DRAWS, 0), (*evidence.groups, None), 0.0
    for begin in range(0, len(pairs), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        carries = -np.expm1(-draws.rates(evidence.pairs[pairs[part]], groups, group[part]))
        total += float(evidence.weight_of_nugget[evidence.nugget[pairs[part]]] @ carries.mean(axis=1))
    return total


if __name__ == "__main__":
    main(*sys.argv[1:])
