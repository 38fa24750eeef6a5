"""Are changes as probable as `diff` says, and is its interval of the difference right?

    python experiments/changes.py COLLECTION...   > experiments/changes.md

On fully judged collections, each run in turn acts as the old build and the next one as tonight's. The judgements of
both runs are hidden except for a share of their pairs. The result of `diff` is compared with its result from all
judgements. Questions stay the same, so the *judging* part should contain the true difference 95 % of the time.
Different systems, as here, share few texts, which makes guesses harder than between builds of one system. Where the
verdicts are on whole answers, as in AutoNuggetizer's files (`nuggeteer convert --as-truth`), a share of those is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from coverage import calibration, covered, hide

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.comparing.diff import Diff, diff

SHARES = (0.0, 0.1, 0.5)
MEASURES = ("f3", "recall")


def on_collection(folder: str) -> None:
    collection = read_collection(folder)
    names = [run.name for run in collection.judged_runs] or collection.run_names
    pairs = list(zip(names, names[1:] + names[:1], strict=True))
    pairs = pairs[: len(pairs) if len(pairs) > 2 else 1]
    truth = [diff(collection, old, new, MEASURES) for old, new in pairs]
    print(f"## {Path(folder).name}: {len(pairs)} pairs of runs\n")
    print("| judged | measure | judging holds truth | whole holds it | width | rmse |\n|---|---|---|---|---|---|")
    lists = {}
    for share in SHARES:
        rng = np.random.default_rng(1)
        results = []
        for old, new in pairs:
            results.append(diff(hidden(collection, (old, new), share, rng), old, new, MEASURES))
        for measure in MEASURES:
            rows = []
            for result, true in zip(results, truth, strict=True):
                interval, value = result.deltas[measure].interval, true.deltas[measure].interval.value
                inside = covered(interval.judging, value), covered((interval.low, interval.high), value)
                rows.append((*inside, interval.judging[1] - interval.judging[0], (interval.value - value) ** 2))
            inside, whole, width, error = np.mean(rows, axis=0)
            print(f"| {share:.0%} | {measure} | {inside:.0%} | {whole:.0%} | {width:.3f} | {error**0.5:.4f} |")
        lists[share] = [np.concatenate(rows) for rows in zip(*map(changes, results, truth), strict=True)]
    print("\nNuggets by the probability that they were gained or lost. Listed are those of ½ and more:\n")
    print("| judged | | nuggets | predicted | true | ECE | Brier |\n|---|---|---|---|---|---|---|")
    for share, (chance, real, listed) in lists.items():
        for what, own in (("all", np.ones(len(chance), dtype=bool)), ("listed", listed)):
            if own.any():
                error, brier, _ = calibration(chance[own], real[own])
                mean = f"{chance[own].mean():.3f} | {real[own].mean():.3f}"
                print(f"| {share:.0%} | {what} | {own.sum():,} | {mean} | {error:.4f} | {brier:.4f} |")
    print("\nTenth by tenth, with the difference in points:\n")
    print("| judged | nuggets | predicted | true | points |\n|---|---|---|---|---|")
    for share, (chance, real, _) in lists.items():
        for size, predicted, true in calibration(chance, real)[2]:
            print(f"| {share:.0%} | {size:,} | {predicted:.3f} | {true:.3f} | {100 * (predicted - true):+.1f} |")
    print(flush=True)


def hidden(collection: Collection, names: tuple[str, str], share: float, rng: np.random.Generator) -> Collection:
    """The collection without the judgements of two runs, except for a share."""
    if all(judgement.scope == "answer" for judgement in collection.judgements):
        kept = tuple(j for j in collection.judgements if j.run not in names or rng.random() < share)
        return Collection(collection.root, collection.key, kept, collection.manifest, collection.settings)
    for name in names:
        collection = hide(collection, name, share, rng)
    return collection


def changes(result: Diff, true: Diff) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every nugget, gained and then lost: the probability, whether it is true, and whether it is listed."""
    old, new = true.old.found, true.new.found
    guessed = ~(result.old.known & result.new.known)
    chance = np.concatenate([result.gain[guessed], result.loss[guessed]])
    real = np.concatenate([(new & ~old)[guessed], (old & ~new)[guessed]])
    places = [np.isin(np.arange(len(old)), list(own)) for own in (result.gained_places, result.lost_places)]
    return chance, real, np.concatenate([own[guessed] for own in places])


if __name__ == "__main__":
    print("# Changes: are they as probable as predicted?\n\nMade by `python experiments/changes.py COLLECTION...`.\n")
    for folder in sys.argv[1:]:
        on_collection(folder)
