"""How similar are proposed nugs to a person's? Writes experiments/nugs.md.

    python experiments/nugs.py SAMPLE TS2014

A person's classes come from three sources: the nugs of the paper's example; the responses to a question that carry the
same nugget, if each carries only one; and the descriptions of the sample's nuggets, if a nugget has two or more.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.formats.distillation import read_distillation
from nuggeteer.gale.distillation import EXAMPLE
from nuggeteer.gale.nugs import LEAST_LIKENESS, classes, containment
from nuggeteer.text import normalised

MOST = 40  # texts per question
Classes = list[tuple[list[str], list[str]]]  # for each question, texts and their classes


def example() -> Classes:
    distillation = read_distillation([EXAMPLE])
    return [
        split(
            {
                normalised(n.text): max(n.nugs, key=n.nugs.get)
                for n in distillation.nuggets
                if n.qid == q.qid and len(n.nugs) == 1
            }
        )
        for q in distillation.queries
    ]


def responses(collection: Collection) -> Classes:
    carried: dict[tuple[str, str], set[str]] = defaultdict(set)
    for judgement in collection.judgements:
        if judgement.verdict:
            carried[judgement.qid, normalised(judgement.text)].add(judgement.nugget)
    by_question: dict[str, dict[str, str]] = defaultdict(dict)
    for (qid, text), nuggets in sorted(carried.items()):
        if len(nuggets) == 1:
            by_question[qid][text] = min(nuggets)
    rng = np.random.default_rng(0)
    kept = []
    for own in by_question.values():
        texts = list(own)
        if len(texts) > MOST:
            texts = [texts[i] for i in sorted(rng.choice(len(texts), MOST, replace=False))]
        if len(texts) >= 5 and len({own[text] for text in texts}) > 1:
            kept.append(split({text: own[text] for text in texts}))
    return kept


def descriptions(collection: Collection) -> Classes:
    result = []
    for _, nuggets in collection.key:
        if any(len(nugget.descriptions) > 1 for nugget in nuggets):
            result.append(split({normalised(d): nugget.nugget for nugget in nuggets for d in nugget.descriptions}))
    return result


def split(own: dict[str, str]) -> tuple[list[str], list[str]]:
    return list(own), list(own.values())


def rows(data: Classes) -> Iterator[str]:
    shares = [containment(texts) for texts, _ in data]
    for least in (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5):
        right = ours = theirs = 0
        rand = []
        for share, (texts, truth) in zip(shares, data, strict=True):
            labels, true = classes((share + share.T) / 2, least), np.unique(truth, return_inverse=True)[1]
            i, j = np.triu_indices(len(texts), 1)
            together, same = labels[i] == labels[j], true[i] == true[j]
            right, ours, theirs = right + (together & same).sum(), ours + together.sum(), theirs + same.sum()
            rand.append(adjusted_rand_score(true, labels))
        precision = "–" if ours == 0 else f"{right / ours:.3f}"
        mark = " (default)" if least == LEAST_LIKENESS else ""
        yield f"| {least:g}{mark} | {ours} | {precision} | {right / theirs:.3f} | {np.mean(rand):.3f} |"


def main() -> None:
    sample, ts2014 = map(read_collection, sys.argv[1:3])
    out = [
        "# Proposed nugs against a person's",
        "",
        "Made by `python experiments/nugs.py sample ts2014`.",
        "Pairs: texts put into one class; their precision and recall. ARI: adjusted Rand index, mean over questions.",
    ]
    for name, data in (
        ("the paper's example, but for the nugget in two nugs", example()),
        ("sample, responses that carry one nugget", responses(sample)),
        ("sample, descriptions of nuggets", descriptions(sample)),
        ("TREC TS 2014, responses that carry one nugget", responses(ts2014)),
    ):
        out += [
            "",
            f"## {name}",
            "",
            f"{len(data)} questions, {sum(len(texts) for texts, _ in data)} different texts.",
            "",
        ]
        out += ["| alike | pairs | precision | recall | ARI |", "|---|---|---|---|---|", *rows(data)]
    Path(__file__).with_suffix(".md").write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
