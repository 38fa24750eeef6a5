"""How right are guesses on near-copies of judged texts, by what the verdicts on these are?

    python experiments/near_copies.py COLLECTION... > experiments/near-copies.md

Runs are hidden in turn and guessed from all others. A near-copy of a text has a cosine above 0.9 with it, over stems
and pairs of stems. Pairs of a hidden text and a nugget are sorted by the verdicts on its near-copies: all no, some of
each, all yes; and by the guess. `worth` is what the true share in place of the guess would add to the log score, in sum
over the pairs of a row. A correction by these two cannot add more, because it would have to be learned first. Only for
collections in which every text was judged for every nugget.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from judging import hidden
from scipy.special import rel_entr

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.clues import GramReader
from nuggeteer.matching.idf import background
from nuggeteer.records import Vector
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import normalised

ALIKE = 0.9
BINS = np.array([0.0, 0.2, 0.5, 0.8, 1.01])


def near_copies(collection: Collection, name: str) -> tuple[Vector, int]:
    """For each guessed pair of a hidden run whose text has a near-copy: the guess, the verdict, and the share of yes
    among the near-copies; and how many pairs were guessed."""
    key, read = collection.key, GramReader(background())
    vectors: dict[str, dict[str, float]] = {}
    run, scorer = collection.run(name), Scorer(hidden(collection, name, False), ["recall"])
    matched = scorer.read(name)
    guessed, guess = np.flatnonzero(matched.undecided), np.full(len(matched.pairs), np.nan)
    guess[guessed] = matched.probability(scorer.model, guessed)
    texts: dict[int, set[str]] = {}
    for other in collection.judged_runs:
        if other.name != name:
            for question, text in zip(other.question.tolist(), other.normalised_texts, strict=True):
                texts.setdefault(question, set()).add(text)
    verdicts = {(j.qid, j.nugget, normalised(j.text)): j.verdict for j in collection.judgements}

    def vector(text: str) -> dict[str, float]:
        if text not in vectors:
            grams = read(text).grams
            length = sum(weight**2 for weight in grams.values()) ** 0.5 or 1.0
            vectors[text] = {gram: weight / length for gram, weight in grams.items()}
        return vectors[text]

    rows = []
    for i, (question, text) in enumerate(zip(run.question.tolist(), run.normalised_texts, strict=True)):
        pairs = np.arange(matched.begin[i], matched.begin[i + 1])
        if np.isnan(guess[pairs]).all():
            continue
        own = vector(text)
        near = []
        for other in texts.get(question, ()):
            theirs = vector(other)
            if sum(weight * theirs.get(gram, 0.0) for gram, weight in own.items()) > ALIKE:
                near.append(other)
        for pair in pairs[~np.isnan(guess[pairs])].tolist() if near else []:
            nugget = key.nuggets[matched.nugget[pair]]
            said = [verdicts.get((nugget.qid, nugget.nugget, one), False) for one in (text, *near)]
            rows.append((guess[pair], said[0], np.mean(said[1:])))
    return np.array(rows).reshape(-1, 3), len(guessed)


def on_collection(folder: str) -> None:
    collection = read_collection(folder)
    parts, guessed = [], 0
    for run in collection.judged_runs:
        rows, count = near_copies(collection, run.name)
        parts.append(rows)
        guessed += count
    guess, yes, share = np.concatenate(parts).T
    print(f"## {Path(folder).name}: {len(guess):,} of {guessed:,} guessed pairs have near-copies\n")
    print("| near-copies | guess | pairs | said | true | worth |\n|---|---|---|---|---|---|")
    total = 0.0
    for name, kind in (("no", share == 0), ("some of each", (share > 0) & (share < 1)), ("yes", share == 1)):
        for low, high in pairwise(BINS):
            own = kind & (guess >= low) & (guess < high)
            if own.any():
                said, true = guess[own].mean(), yes[own].mean()
                worth = own.sum() * float(rel_entr(true, said) + rel_entr(1 - true, 1 - said))
                total += worth
                between = f"{low:.1f} to {min(high, 1):.1f}"
                print(f"| {name} | {between} | {own.sum():,} | {said:.3f} | {true:.3f} | {worth:.1f} |")
    print(f"\nIn all {total:.0f}: {total / guessed:.4f} for each guessed pair.\n", flush=True)


def main() -> None:
    names = " ".join(Path(name).name for name in sys.argv[1:])
    print("# How right are guesses on near-copies of judged texts?\n")
    print(f"Made by `python experiments/near_copies.py {names}`.\n")
    print((__doc__ or "").split("\n\n", 2)[2])
    for folder in sys.argv[1:]:
        on_collection(folder)


if __name__ == "__main__":
    main()
