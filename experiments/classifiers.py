"""What is a classifier that learns from the collection itself worth, beside the default matcher?

    python experiments/classifiers.py COLLECTION...   > experiments/classifiers.md

The regularised logistic regression of the guide, over what the default matcher sees of each pair
(docs/guides/matchers.md). Each group of runs is left out in turn, as by `nuggeteer crossval`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nuggeteer.collection.folder import read_collection
from nuggeteer.settings import ALLOWED_MATCHERS, allow
from nuggeteer.trust.crossval import crossval


def linear(material: object) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


MATCHERS = {"`learned`, the default": "learned", "logistic regression": "classifiers:linear"}


def main() -> None:
    print("# Classifiers of the collection's own\n\n`python experiments/classifiers.py COLLECTION...`\n")
    print("Each group of runs left out in turn, decided by `smooth`.\n")
    for matcher in MATCHERS.values():
        allow(ALLOWED_MATCHERS, matcher)
    for folder in sys.argv[1:]:
        collection = read_collection(folder)
        print(f"## {Path(folder).name}\n")
        print("| matcher | F1 of answers | average precision | Brier | ECE | τ of runs | rmse | coverage |")
        print("|---|---|---|---|---|---|---|---|")
        for name, matcher in MATCHERS.items():
            match = replace(collection.settings.match, matcher=matcher)
            found = crossval(replace(collection, settings=replace(collection.settings, match=match)), "smooth", 0, 1)
            answers, runs = found.answers, found.runs
            cells = (answers.f1, answers.average_precision, answers.brier, answers.ece, runs.kendall_tau, runs.rmse)
            shown = " | ".join("–" if cell is None else f"{cell:.3f}" for cell in cells)
            covered = "–" if found.coverage95 is None else f"{found.coverage95:.0%}"
            print(f"| {name} | {shown} | {covered} |", flush=True)
        print()


if __name__ == "__main__":
    main()
