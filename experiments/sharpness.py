"""What the spread of g, how far apart a system's likely and unlikely pairs are, does to systems that nobody judged.

    python experiments/sharpness.py COLLECTION...        of ../../shared/data, or any folders

For each group of systems that is left out, the expected recall of the pairs that *others* were judged on is compared:
as these others have it, and as a new system is expected to have it. They should be equal. g has mean 0 on the scale of
logits, but where nearly all pairs are sure to be no, more of them become a yes for a g below 0 than cease to be one for
a g above.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import read_collection
from nuggeteer.scoring.fitting import gather_evidence, prior_of
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.learning import fit_smooth

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
MOST = 100_000  # pairs


def main(*names: str) -> None:
    print("# The spread of sharpness, and systems that nobody judged\n")
    print(f"Made by `python experiments/sharpness.py {' '.join(names)}`, whose head says what it is.\n")
    print("| collection | group left out | σ_v | σ_k | σ_g | share of yes | new / others |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        folder = DATA / name
        scorer = Scorer(read_collection(folder if folder.is_dir() else Path(name)))
        evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known)
        prior = prior_of(scorer.collection, scorer.matcher)
        for out in range(min(3, len(evidence.groups))):
            seen = evidence.only(evidence.group != out)
            fit = fit_smooth(seen, prior)
            rng = np.random.default_rng(0)
            own = np.sort(rng.choice(len(seen), min(MOST, len(seen)), replace=False))
            weight = seen.weight_of_nugget[seen.nugget[own]]
            theirs = 0.0
            for group, called in enumerate(seen.groups):
                pairs = np.flatnonzero(seen.group[own] == group)
                if len(pairs):
                    theirs += float(fit.probability(seen.pairs[own[pairs]], called) @ weight[pairs])
            new = float(fit.probability(seen.pairs[own], None) @ weight)
            v, k, g = np.sqrt((fit.new_group**2).mean()), *fit.spreads[4:]
            share = seen.yes.mean()
            print(f"| {name} | {seen.groups[out]} | {v:.3f} | {k:.3f} | {g:.3f} | {share:.3f} | {new / theirs:.3f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
