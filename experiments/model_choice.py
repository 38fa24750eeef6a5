"""What does it cost to let another threshold model decide? Each group of systems is left out in turn.

python experiments/model_choice.py COLLECTION... > experiments/model-choice.md

The models are matched by the n-gram matcher; `smooth` also by `learned`, and both also blind to the length of
responses, as if each had a hundred characters. The sample's runs are too few for a correlation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.records import Ints, Vector
from nuggeteer.scoring import fitting, outcomes
from nuggeteer.trust.crossval import crossval


@contextmanager
def blind_to_length() -> Iterator[None]:
    def usual(characters: Ints) -> Vector:
        return np.zeros(len(characters), dtype=np.float16)

    with mock.patch.object(fitting, "size_of", usual), mock.patch.object(outcomes, "size_of", usual):
        yield


def row(collection: Collection, model: str, matcher: str, name: str) -> str:
    match = replace(collection.settings.match, matcher=matcher)
    found = crossval(replace(collection, settings=replace(collection.settings, match=match)), model)
    runs, pairs = found.runs, found.guessed
    width = np.mean([one.judging[1] - one.judging[0] for one in found.scores if one.judging])
    numbers = (runs.kendall_tau, runs.pearson, runs.rmse, found.coverage95, width, pairs.log_score, pairs.f1)
    return f"| {name} | {' | '.join('–' if n is None else f'{n:.3f}' for n in numbers)} |"


def main() -> None:
    names = sys.argv[1:]
    print("# The choice of the threshold model\n")
    print(f"Made by `python experiments/model_choice.py {' '.join(Path(name).name for name in names)}`.\n")
    print("Groups of systems left out in turn. Runs: Kendall's τ_b, Pearson's r and root mean squared error of mean")
    print(
        "recall; the share of judging intervals that hold the true one, and their mean width. Guessed pairs: log score"
    )
    print("(nats) and F1.\n")
    for name in names:
        collection = read_collection(name)
        print(f"## {Path(name).name}\n")
        print("| model | τ | r | error | held | width | log score | F1 |\n|---|---|---|---|---|---|---|---|")
        for model in ("nugget", "smooth"):
            print(row(collection, model, "ngram", f"`{model}`"), flush=True)
        print(row(collection, "smooth", "learned", "`smooth`, matched by `learned`"), flush=True)
        with blind_to_length():
            print(row(collection, "smooth", "ngram", "`smooth`, blind to length"), flush=True)
            print(row(collection, "smooth", "learned", "`smooth`, `learned`, blind to length"), flush=True)
        print()


if __name__ == "__main__":
    main()
