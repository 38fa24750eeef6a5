"""The first night, before any verdict: python experiments/cold.py COLLECTION... > experiments/cold.md

Every verdict of each collection is hidden, and its runs are scored with the prior of the *other* collections. Are the
scores near the truth, and do the judging intervals hold it?
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.prior import FITS, prior_from

MEASURES = ("f3", "recall")


def without_verdicts(collection: Collection) -> Collection:
    manifest = {name: replace(info, judged="none") for name, info in collection.manifest.items()}
    result = replace(collection, judgements=(), manifest=manifest)
    result._runs.update(collection._runs)
    return result


def main() -> None:
    print("# The first night\n")
    print("`python experiments/cold.py COLLECTION...`: no verdicts, the prior of the other collections.\n")
    print("| collection | measure | runs | truth | guess | rmse | truth within | mean width |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in map(Path, sys.argv[1:]):
        collection = read_collection(folder)
        truth = score(collection, collection.run_names, MEASURES)
        cold = without_verdicts(collection)
        prior = prior_from({name: row for name, row in FITS.items() if name != folder.name})
        scorer = Scorer(cold, MEASURES)
        model = fit_smooth(gather_evidence(cold, scorer.matcher, scorer.known), prior)
        scorer = Scorer(cold, MEASURES, model)
        guessed = {run: scorer.score(scorer.read(run)) for run in cold.run_names}
        for measure in MEASURES:
            true = np.array([run.measures[measure].value for run in truth.runs])
            intervals = [guessed[run.name].measures[measure] for run in truth.runs]
            value = np.array([interval.value for interval in intervals])
            low, high = np.array([interval.judging for interval in intervals]).T
            held = (low - 1e-9 <= true) & (true <= high + 1e-9)
            figures = f"{true.mean():.3f} | {value.mean():.3f} | {np.sqrt(((value - true) ** 2).mean()):.3f}"
            holds = f"{held.mean():.0%} | {(high - low).mean():.3f}"
            print(f"| {folder.name} | {measure} | {len(true)} | {figures} | {holds} |", flush=True)


if __name__ == "__main__":
    main()
