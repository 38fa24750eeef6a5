"""How often do the tests of `compare` find a difference between equal runs? It should be one time in twenty.

    python experiments/equal_runs.py COLLECTION...   > experiments/equal-runs.md

The scores are real: F(3) of the runs that humans judged. Each of 1,000 experiments draws some questions and shuffles
the scores of each question over the runs. All runs are then equal, whatever the distribution of scores.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import read_collection
from nuggeteer.records import Vector
from nuggeteer.scoring.scorer import score
from nuggeteer.statistics.significance import LEVEL, holm, randomisation
from nuggeteer.statistics.variance import analyse_variance, contrast, tukey_test

TRIALS = 1000


def alarms(values: Vector, rng: np.random.Generator) -> list[bool]:
    """Whether each test finds a difference in one experiment."""
    table = analyse_variance(rng.permuted(values, axis=0))
    pairs = tukey_test(table.means, table.error, table.freedom)
    return [table.runs.p < LEVEL, pairs.significant > 0, bool((holm(contrast(table)) < LEVEL).any())]


def main(folders: list[str]) -> None:
    print("# Tests of equal runs\n")
    print(f"Made by `python experiments/equal_runs.py {' '.join(Path(f).name for f in folders)}`.\n")
    print("| collection | runs | questions | F of runs | Tukey, any pair | slices' contrasts, any | randomisation |")
    print("|---|---|---|---|---|---|---|")
    for folder in folders:
        collection = read_collection(folder)
        names = [run.name for run in collection.judged_runs]
        values = np.array([run.by_question["f3"] for run in score(collection, names, ["f3"]).runs])
        values = values[:, ~np.isnan(values).any(axis=0)]
        for size in sorted({values.shape[1], min(20, values.shape[1]), 6}, reverse=True):
            rng = np.random.default_rng(0)
            found = []
            for _ in range(TRIALS):
                own = values[:, rng.permutation(values.shape[1])[:size]]
                two = own[rng.permutation(len(own))[:2]]
                signs = randomisation((rng.choice([-1, 1], size) * (two[0] - two[1]))[:, None], draws=1000)
                found.append([*alarms(own, rng), signs[0] <= LEVEL])
            shares = " | ".join(f"{share:.1%}" for share in np.mean(found, axis=0))
            print(f"| {Path(folder).name} | {len(values)} | {size} | {shares} |")


if __name__ == "__main__":
    main(sys.argv[1:])
