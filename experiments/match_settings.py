"""How well do match scores separate yes from no, with each setting of the n-gram matcher and each source of idf?

    python experiments/match_settings.py COLLECTION... > experiments/match-settings.md

Pairs are those of the judged runs with a known verdict. Nothing is fitted to them, so nothing is left out. `pool`
counts idf in the same responses, without their verdicts. Answers are (run, nugget): the highest match score of the
run's responses is compared with whether the run has the nugget.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching import idf as idf_tables
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.records import Bools, Vector
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.settings import Match
from nuggeteer.text import normalised
from nuggeteer.trust.reliability import average_precision


def best_f1(truth: Bools, scores: Vector) -> tuple[float, float]:
    """The threshold (score > θ) of the highest F1, and that F1."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(truth[order])
    last = np.append(np.diff(scores[order]) != 0, True)
    taken = np.flatnonzero(last) + 1
    f1 = 2 * hits[last] / (taken + truth.sum())
    k = int(f1.argmax())
    values = scores[order][last]
    below = values[k + 1] if k + 1 < len(values) else 0.0
    return float((values[k] + below) / 2), float(f1[k])


def pooled(collection: Collection, matcher: NgramMatcher, known: VerdictIndex) -> tuple[Bools, Vector, Bools, Vector]:
    """(truth, score) of all pairs, and of all answers."""
    truths, scores, found, best = [], [], [], []
    for run in collection.judged_runs:
        texts = [normalised(text) for text in run.texts]
        matches, states = matcher.score(texts, run.question), known(texts, run.question)
        _, nugget = collection.key.pairs(run.question)
        judged = states != UNKNOWN
        truths.append(states[judged] == YES)
        scores.append(matches[judged])
        has = np.zeros(len(collection.key.nuggets), dtype=bool)
        has[nugget[states == YES]] = True
        most = np.zeros(len(collection.key.nuggets))
        np.maximum.at(most, nugget, matches)
        present = np.unique(nugget)
        found.append(has[present])
        best.append(most[present])
    return np.concatenate(truths), np.concatenate(scores), np.concatenate(found), np.concatenate(best)


def rows(collection: Collection) -> list[tuple[str, float, float, float, float, float]]:
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    texts = [text for run in collection.judged_runs for text in run.texts]
    tables: dict[tuple[str, bool], Idf] = {}
    for stem in (False, True):
        tables["wordfreq", stem] = idf_tables.background(stems=stem)
        tables["pool", stem] = idf_tables.pool(texts, stems=stem)
    result = []
    for n, stem, stop, source in product((1, 2, 3), (False, True), ("keep", "remove"), ("wordfreq", "pool", "")):
        settings = replace(Match(), n=n, stem=stem, stopwords=stop, weights="idf" if source else "unit")
        matcher = NgramMatcher(collection.key, settings, tables.get((source, stem)))
        truth, scores, found, best = pooled(collection, matcher, known)
        name = f"{settings}".removeprefix("ngram(").removesuffix(")") + (f" {source}" if source else "")
        theta, f1 = best_f1(found, best)
        result.append(
            (
                name,
                average_precision(truth, scores),
                best_f1(truth, scores)[1],
                average_precision(found, best),
                f1,
                theta,
            )
        )
        print(".", end="", file=sys.stderr, flush=True)
    return result


def variants(collection: Collection) -> list[tuple[str, float, float]]:
    """The paper's default with other document lengths behind the idf."""
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)

    def measure(name: str) -> tuple[str, float, float]:
        matcher = NgramMatcher(collection.key, Match(), idf_tables.background())
        truth, scores, found, best = pooled(collection, matcher, known)
        return name, average_precision(truth, scores), average_precision(found, best)

    result = []
    usual = idf_tables.DOCUMENT
    for words in (1, usual, 400, 1000):
        idf_tables.DOCUMENT = words
        result.append(measure(f"idf of documents of {words} words"))
    idf_tables.DOCUMENT = usual
    return result


def main() -> None:
    names = sys.argv[1:]
    print("# Settings of the n-gram matcher, and where its idf comes from\n")
    print("Made by `python experiments/match_settings.py " + " ".join(Path(n).name for n in names) + "`.")
    print("AP: average precision. F1: the best that any one threshold θ reaches.")
    print("The paper's default is `n=2,stem=no,weights=idf,stopwords=keep`.\n")
    for name in names:
        table = rows(read_collection(name))
        print(f"## {Path(name).name}\n")
        print("| settings and idf | AP pairs | F1 pairs | AP answers | F1 answers | θ answers |")
        print("|---|---|---|---|---|---|")
        for row in sorted(table, key=lambda row: -row[3]):
            print(f"| {row[0]} | " + " | ".join(f"{value:.3f}" for value in row[1:]) + " |")
        print("\n| default settings, but | AP pairs | AP answers |\n|---|---|---|")
        for variant, pairs, answers in variants(read_collection(name)):
            print(f"| {variant} | {pairs:.3f} | {answers:.3f} |")
        print()


if __name__ == "__main__":
    main()
