"""What becomes of a negated statement: python experiments/negation.py COLLECTION > experiments/negation.md

`learned` is fitted on a collection. A nugget of a question that nobody asked there is then judged in none to four texts
that carry it, each from a group of its own, beside four about other things; and, in the last columns, also in as many
that say the same with `cannot`. Two new texts are scored, of which one says `can` and one `cannot`.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from nuggeteer.collection.folder import make_key, read_collection
from nuggeteer.matching.base import Judged, Material
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.records import Nugget, Question
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.scorer import material
from nuggeteer.text import normalised

DESCRIPTION = "the vaccine can be given to children"
SAID = (
    "The vaccine {} be given to children, doctors said.",
    "Doctors said that children {} be given the vaccine.",
    "It {} be given to children, the new vaccine.",
    "Children {} get the vaccine, the agency says.",
)
NEW = "Officials said the vaccine {} be given to children."
OTHER = (
    "The agency met in Geneva on Monday.",
    "Prices rose by a tenth last year.",
    "Doctors are on strike.",
    "The company has new owners.",
)


def scores(fitted: LearnedMatcher, made_from: Material, can: int, cannot: int) -> list[float]:
    """Of the two new texts, with so many judged texts that say `can`, and `cannot`."""
    texts = [said.format("can") for said in SAID[:can]] + [said.format("cannot") for said in SAID[:cannot]]
    texts += OTHER
    key = make_key([Question("q", "?")], [Nugget("q", "1", (DESCRIPTION,), "vital")])
    judged = Judged(
        list(map(normalised, texts)),
        np.zeros(len(texts), dtype=np.int32),
        np.arange(len(texts)),
        np.ones(len(texts), dtype=bool),
        np.arange(len(texts)) < can,
    )
    matcher = LearnedMatcher(replace(made_from, key=key, judged=judged))
    matcher.learns = True  # by what was learned elsewhere
    matcher.restore(fitted.state())
    asked = [normalised(NEW.format(word)) for word in ("can", "cannot")]
    return matcher.score(asked, np.zeros(2, dtype=np.int32)).tolist()


def main(folder: str) -> None:
    collection = read_collection(folder)
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    made_from = material(collection, known)
    fitted = LearnedMatcher(made_from)
    print(f"# Negation\n\nMade by `python experiments/negation.py`, on {collection.root.name}: scores of `learned`.\n")
    print("| yes texts | can | cannot | no texts with `cannot` | can | cannot |\n|---|---|---|---|---|---|")
    for count in range(len(SAID) + 1):
        one, both = scores(fitted, made_from, count, 0), scores(fitted, made_from, count, count)
        print(f"| {count} | {one[0]:.2f} | {one[1]:.2f} | {count} | {both[0]:.2f} | {both[1]:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1])
