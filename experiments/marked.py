"""Do marked words help to find nuggets? python experiments/marked.py COLLECTION... > experiments/marked.md

Public data has no marked words, so marking is simulated. In a text judged yes, the mark goes from two words before the
first word that matches the nugget to two words after the last, if that makes 6 to 40 words. Systems are left out in
turn. The marks in the other systems' texts become additional descriptions of the nuggets, one or three per nugget. How
well do match scores then rank the pairs of the systems left out?
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.marks import Marker, words_at
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.scorer import material

GROUPS, AROUND, LEAST, MOST = 6, 2, 6, 40


def marked(marker: Marker, text: str, nugget: int) -> str | None:
    """The words that a person might mark, or None."""
    words, marks = words_at(text), marker(text, nugget)
    inside = [i for i, (_, a, b) in enumerate(words) if any(x <= a and b <= y for x, y in marks)]
    if not inside:
        return None
    first, last = max(inside[0] - AROUND, 0), min(inside[-1] + AROUND, len(words) - 1)
    return text[words[first][1] : words[last][2]] if LEAST <= last - first + 1 <= MOST else None


def main(folders: list[str]) -> None:
    print("# Marked words as further descriptions\n")
    print("`python experiments/marked.py COLLECTION...`: average precision over the pairs")
    print("of systems left out, of n-gram scores by the key's descriptions alone, and with words marked (simulated) in")
    print("texts of the other systems.\n")
    print(
        "| collection | systems left out | pairs | key alone | one mark a nugget | three |\n|---|---|---|---|---|---|"
    )
    for folder in folders:
        collection = read_collection(folder)
        key = collection.key
        known = VerdictIndex(key, collection.judgements, collection.judged_runs)
        made = material(collection, known)
        matcher = NgramMatcher(key, made.settings, made.idf)
        marker = Marker(matcher)
        begin, nugget = ragged(key.offsets[known.question], key.counts[known.question])
        text_of = np.repeat(np.arange(len(known.texts)), np.diff(begin))
        yes = np.flatnonzero(known.states == YES)
        group = made.judged.group
        rng = np.random.default_rng(0)
        truth, scores = [], {0: [], 1: [], 3: []}
        left_out = rng.permutation(np.unique(group))[:GROUPS]
        for system in left_out:
            own = np.flatnonzero(group == system)
            texts, question = [known.texts[i] for i in own], known.question[own]
            _, pairs = ragged(begin[own], np.diff(begin)[own])
            decided = known.states[pairs] != UNKNOWN
            truth.append(known.states[pairs][decided] == YES)
            others = rng.permutation(yes[group[text_of[yes]] != system])
            for most, found in scores.items():
                more: dict[int, list[str]] = {}
                for pair in others if most else ():
                    own_marks = more.setdefault(int(nugget[pair]), [])
                    text = known.texts[text_of[pair]]
                    if len(own_marks) < most and (words := marked(marker, text, int(nugget[pair]))):
                        own_marks.append(words)
                nuggets = tuple(
                    replace(n, descriptions=(*n.descriptions, *more.get(i, ()))) for i, n in enumerate(key.nuggets)
                )
                described = NgramMatcher(AnswerKey(key.questions, nuggets, key.offsets), made.settings, made.idf)
                found.append(described.score(texts, question)[decided])
        all_true = np.concatenate(truth)
        shown = [f"{average_precision_score(all_true, np.concatenate(found)):.3f}" for found in scores.values()]
        print(
            f"| {Path(folder).resolve().name} | {len(left_out)} | {len(all_true):,} | {' | '.join(shown)} |", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
