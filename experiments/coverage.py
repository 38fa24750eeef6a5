"""Do the intervals hold the truth, for runs that play tonight's build?

    python experiments/coverage.py COLLECTION...   > experiments/coverage.md

On fully judged collections, each run in turn acts as tonight's build. Its judgements are hidden except for a share of
its pairs, and its score is compared with the one from all judgements. Questions stay the same, so the *judging* part
should hold the true score 95 % of the time. The prior is made without the collection (`prior.py`).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import prior
from msgspec import structs

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.records import Bools, Judgement, Vector
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.scorer import score
from nuggeteer.text import normalised

SHARES = (0.0, 0.1, 0.5)
MEASURES = ("f3", "recall", "precision")


def hide(collection: Collection, name: str, share: float, rng: np.random.Generator) -> Collection:
    """The collection without the judgements of this run, except for a share of its pairs. Texts that other runs return
    too stay known, as they would be in real use."""
    key, run = collection.key, collection.run(name)
    others = {
        (q, normalised(text))
        for other in collection.judged_runs
        if other.name != name
        for q, text in zip(other.question.tolist(), other.texts, strict=True)
    }
    texts = [normalised(text) for text in run.texts]
    own = set(zip(run.question.tolist(), texts, strict=True)) - others
    states = VerdictIndex(key, collection.judgements, collection.judged_runs)(texts, run.question)
    begin, nugget = key.pairs(run.question)
    response = np.repeat(np.arange(len(texts)), np.diff(begin))
    shown = [
        Judgement(key.nuggets[nugget[i]].qid, key.nuggets[nugget[i]].nugget, texts[response[i]], yes, run=name)
        for i in np.flatnonzero((rng.random(len(states)) < share) & (states != UNKNOWN))
        for yes in [bool(states[i] == YES)]
    ]
    kept = [j for j in collection.judgements if (key.position[j.qid], normalised(j.text)) not in own]
    manifest = {**collection.manifest, name: structs.replace(collection.manifest[name], judged="none")}
    return replace(collection, judgements=(*kept, *shown), manifest=manifest)


def covered(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def calibration_error(chance: Vector, truth: Bools) -> float:
    """The expected calibration error, in ten bins."""
    tenth = np.clip((chance * 10).astype(int), 0, 9)
    bins = [tenth == k for k in range(10) if (tenth == k).any()]
    return float(sum(own.sum() * abs(chance[own].mean() - truth[own].mean()) for own in bins) / len(chance))


def on_collection(folder: Path) -> None:
    collection = read_collection(folder)
    names = [run.name for run in collection.judged_runs]
    truth = score(collection, names, MEASURES)
    for share in SHARES:
        rng = np.random.default_rng(1)
        results = {name: score(hide(collection, name, share, rng), [name], MEASURES)[name] for name in names}
        guesses = [(results[n].outcome, truth[n].outcome.found) for n in names]
        chance = np.concatenate([o.probability[~o.known] for o, _ in guesses])
        error = calibration_error(chance, np.concatenate([found[~o.known] for o, found in guesses]))
        line = f"| {folder.name} | {len(names)} | {share:.0%} | {error:.3f} |"
        for measure in MEASURES:
            pairs = [(results[name].measures[measure], truth[name].measures[measure].value) for name in names]
            held = np.mean([covered(one.judging, value) for one, value in pairs])
            width = np.mean([one.judging[1] - one.judging[0] for one, _ in pairs])
            off = np.sqrt(np.mean([(one.value - value) ** 2 for one, value in pairs]))
            line += f" {held:.0%} | {width:.3f} | {off:.3f} |"
        print(line, flush=True)


def main() -> None:
    folders = [Path(name) for name in sys.argv[1:]]
    print("# Coverage\n")
    print(f"Made by `python experiments/coverage.py {' '.join(folder.name for folder in folders)}`.\n")
    print("Each run in turn plays tonight's build, with a share of its pairs judged. Held: runs whose judging")
    print("interval holds the true score (95 % should). Width: of the interval. Error: the root of the mean squared")
    print("error of the score. ECE: expected calibration error of the guessed (answer, nugget) probabilities.\n")
    heads = [f"{measure}: held | width | error" for measure in MEASURES]
    print(f"| collection | runs | judged | ECE | {' | '.join(heads)} |\n|---|---|---|---|{'---|' * 3 * len(heads)}")
    for folder in folders:
        prior.leave_out(folder.name)
        on_collection(folder)


if __name__ == "__main__":
    main()
