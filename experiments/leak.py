"""How a held-out label leaks through a base rate: python experiments/leak.py COLLECTION > experiments/leak.md

Each system is left out in turn. Gradient boosting guesses the nuggets of its answers from the n-gram match score, three
numbers that only identify the nugget, and the share of other systems that have the nugget. The system left out never
counts in its own share. It may count in the shares of the training systems. Then all shares are (all − own) / (n − 1),
so each nugget has only two values, and the lower one goes with a yes. The model learns this from the training systems,
and it holds for the system left out too.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, f1_score
from threadpoolctl import threadpool_limits

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.known import YES, VerdictIndex
from nuggeteer.scoring.scorer import material

SIZES = ((100, 31), (300, 63))  # trees and leaves; the first are scikit-learn's defaults


def main(folder: str) -> None:
    collection = read_collection(folder)
    key, runs = collection.key, collection.judged_runs
    known = VerdictIndex(key, collection.judgements, runs)
    made_from = material(collection, known)
    matcher = NgramMatcher(key, made_from.settings, made_from.idf)
    match = np.zeros((len(runs), len(key.nuggets)))
    yes = np.zeros(match.shape, dtype=bool)
    for i, run in enumerate(runs):
        nugget = np.concatenate([np.arange(key.offsets[q], key.offsets[q + 1]) for q in run.question])
        np.maximum.at(match[i], nugget, matcher.score(run.normalised_texts, run.question))
        yes[i, nugget[known(run.normalised_texts, run.question) == YES]] = True
    described = [nugget.descriptions[0] for nugget in key.nuggets]
    fixed = [match.mean(axis=0), [len(text) for text in described], [len(text.split()) for text in described]]

    def clues(system: int, counted: np.ndarray) -> np.ndarray:
        share = yes[counted[counted != system]].mean(axis=0)
        return np.stack([match[system], *fixed, share], axis=1)

    everybody = np.arange(len(runs))
    print("# A held-out label in a base rate\n")
    print(
        "`python experiments/leak.py COLLECTION`: gradient boosting, each system left out in turn. The only difference:"
    )
    print("whether the system left out counts in the shares of those that are trained on.\n")
    print(
        f"| {Path(folder).resolve().name}: trees of leaves | the system left out | accuracy | F1 |\n|---|---|---|---|"
    )
    for (trees, leaves), leaks in product(SIZES, (True, False)):
        guess = np.zeros_like(yes)
        for out in everybody.tolist():
            others = everybody[everybody != out]
            x = np.concatenate([clues(i, everybody if leaks else others) for i in others.tolist()])
            with threadpool_limits(1):
                model = HistGradientBoostingClassifier(max_iter=trees, max_leaf_nodes=leaves, random_state=0).fit(
                    x, yes[others].ravel()
                )
                guess[out] = model.predict(clues(out, others))
        name = "counts in them" if leaks else "does not"
        accuracy, f1 = accuracy_score(yes.ravel(), guess.ravel()), f1_score(yes.ravel(), guess.ravel())
        print(f"| {trees} × {leaves} | {name} | {accuracy:.3f} | {f1:.3f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
