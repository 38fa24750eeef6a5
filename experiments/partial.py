"""Partial support of runs that nobody judged: python experiments/partial.py SUMMHAY AUTONUGGETIZER

Each run in turn is tonight's: its verdicts are hidden, and it is guessed from those on the other runs. SUMMHAY is a
collection. AUTONUGGETIZER is the folder with assignments of two runs; their labels are a machine's, used as the truth.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
from msgspec import structs

from nuggeteer.cli.main import main as nuggeteer
from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.records import Vector
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.scoring.scores import RunScore
from nuggeteer.trust.crossval import without

MEASURES = (("strict_vital_score", "vital_score"), ("strict_all_score", "all_score"))
EDGES = np.array([0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])


def converted(folder: Path, root: Path) -> Collection:
    """AutoNuggetizer's files as a collection."""
    files = sorted(map(str, folder.glob("assignments.*.jsonl")))
    with redirect_stdout(StringIO()):
        nuggeteer(["convert", "nuggetizer-nuggets", str(folder / "nuggets.jsonl"), "--into", str(root)])
        nuggeteer(["convert", "nuggetizer-assignments", *files, "--as-truth", "--into", str(root)])
    return read_collection(root)


def left_out(collection: Collection) -> Iterator[tuple[RunScore, RunScore]]:
    """Each judged run, as it is and as it is guessed."""
    names = [name for pair in MEASURES for name in pair]
    whole = Scorer(collection, names)
    for run in collection.assessed_runs:
        rest = without(collection, collection.group(run.name))
        hidden = replace(run, info=structs.replace(run.info, judged="none"))
        guessed = score(rest, [hidden], names).runs[0]
        yield whole.score(whole.read(run.name)), guessed


def calibration(pairs: list[tuple[RunScore, RunScore]]) -> Iterator[str]:
    """Of the nuggets that are not found: the share of partly, by the probability of being found."""
    chance = np.concatenate([guessed.outcome.probability for _, guessed in pairs])
    said = np.concatenate([guessed.outcome.partial for _, guessed in pairs])
    true = np.concatenate([judged.outcome.partly for judged, _ in pairs])
    lacks = np.concatenate([~judged.outcome.found for judged, _ in pairs])
    known = np.concatenate([judged.outcome.known & ~guessed.outcome.known for judged, guessed in pairs])
    yield "| P(found) | nuggets | partly, said | partly, true | of those not found, true |"
    yield "|---|--:|--:|--:|--:|"
    for low, high in pairwise(EDGES):
        own = known & (chance >= low) & ((chance < high) | (high == 1))
        if own.any():
            of_lacking: Vector = true[own & lacks]
            share = f"{of_lacking.mean():.3f}" if len(of_lacking) else ""
            yield f"| {low:g}–{high:g} | {own.sum()} | {said[own].mean():.3f} | {true[own].mean():.3f} | {share} |"


def main() -> None:
    print("# Partial support of runs that nobody judged\n")
    print("`python experiments/partial.py SUMMHAY AUTONUGGETIZER`\n")
    print("\n".join((__doc__ or "").split("\n\n")[1:]).strip())
    with tempfile.TemporaryDirectory() as folder:
        collections = {
            "SummHay": read_collection(Path(sys.argv[1])),
            "AutoNuggetizer": converted(Path(sys.argv[2]), Path(folder)),
        }
        for name, collection in collections.items():
            pairs = list(left_out(collection))
            print(f"\n## {name}\n")
            print("| run | measure | true | said | interval | as if nothing were partly |")
            print("|---|---|--:|--:|--:|--:|")
            held = total = 0
            for true, guessed in pairs:
                for strict, generous in MEASURES:
                    truth, one = true.measures[generous].value, guessed.measures[generous]
                    if truth is None or one.judging is None:
                        continue
                    held, total = held + (one.judging[0] <= truth <= one.judging[1]), total + 1
                    value = guessed.measures[strict].value
                    print(
                        f"| {true.name} | {generous} | {truth:.3f} | {one.value:.3f} | "
                        f"{one.judging[0]:.3f}–{one.judging[1]:.3f} | {value:.3f} |"
                    )
            print(f"\nThe judging part of the interval holds {held} of {total}.\n")
            print("\n".join(calibration(pairs)))


if __name__ == "__main__":
    main()
