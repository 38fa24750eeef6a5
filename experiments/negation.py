"""How is a negated statement scored? python experiments/negation.py COLLECTION > experiments/negation.md

`learned` is fitted to a collection. Then a nugget of a new question gets yes verdicts on zero to four texts that carry
it, each from a group of its own, and no verdicts on four unrelated texts. In the last columns it also gets no verdicts
on as many texts that say the same with `cannot`. Two new texts are scored, one with `can` and one with `cannot`.
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
STATEMENTS = (
    "The vaccine {} be given to children, doctors said.",
    "Doctors said that children {} be given the vaccine.",
    "It {} be given to children, the new vaccine.",
    "Children {} get the vaccine, the agency says.",
)
NEW = "Officials said the vaccine {} be given to children."
UNRELATED = (
    "The agency met in Geneva on Monday.",
    "Prices rose by a tenth last year.",
    "Doctors are on strike.",
    "The company has new owners.",
)


def scores(fitted: LearnedMatcher, made_from: Material, can: int, cannot: int) -> list[float]:
    """The scores of the two new texts, after so many judged texts with `can` and with `cannot`."""
    texts = [text.format("can") for text in STATEMENTS[:can]] + [text.format("cannot") for text in STATEMENTS[:cannot]]
    texts += UNRELATED
    key = make_key([Question("q", "?")], [Nugget("q", "1", (DESCRIPTION,), "vital")])
    judged = Judged(
        list(map(normalised, texts)),
        np.zeros(len(texts), dtype=np.int32),
        np.arange(len(texts)),
        np.ones(len(texts), dtype=bool),
        np.arange(len(texts)) < can,
    )
    matcher = LearnedMatcher(replace(made_from, key=key, judged=judged))
    matcher.learns = True  # from the fit to the collection
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
    for count in range(len(STATEMENTS) + 1):
        only_yes, both = scores(fitted, made_from, count, 0), scores(fitted, made_from, count, count)
        print(f"| {count} | {only_yes[0]:.2f} | {only_yes[1]:.2f} | {count} | {both[0]:.2f} | {both[1]:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1])
