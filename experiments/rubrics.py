"""How right are guessed scores of a rubric, whose points are above 1 and below 0?

    python experiments/rubrics.py COLLECTION...   > experiments/rubrics.md

The verdicts are people's. The points are not: each nugget gets some at random, the first of a question positive ones.
Each system is left out in turn, and scored from the guesses on its answers and from the verdicts on them. Without
points it is recall, for comparison.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import read_collection
from nuggeteer.trust.crossval import crossval

POINTS = (5, 3, 2, 1, -2, -4)
SEEDS = (0, 1, 2)


def with_points(source: Path, target: Path, seed: int) -> float:
    """Copy a collection, with points. Returns the share of the nuggets that are forbidden now."""
    rng, first, forbidden, lines = np.random.default_rng(seed), set[str](), 0, []
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".nuggeteer"))
    for line in map(json.loads, (source / "nuggets.jsonl").read_text(encoding="utf-8").splitlines()):
        points = int(rng.choice(POINTS)) if line["qid"] in first else POINTS[0]
        first.add(line["qid"])
        forbidden += points < 0
        line.pop("votes", None)
        lines.append({**line, "weight": points})
    content = "".join(f"{json.dumps(line)}\n" for line in lines)
    (target / "nuggets.jsonl").write_text(content, encoding="utf-8")
    return forbidden / len(lines)


def main(folders: list[str]) -> None:
    print("# Guessed scores of rubrics\n")
    print(f"Made by `python experiments/rubrics.py {' '.join(Path(f).name for f in folders)}`.\n")
    print("| collection | points | forbidden | systems | Kendall's τ | Pearson's r | RMSE | truth in the interval |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in folders:
        for seed in (None, *SEEDS):
            with tempfile.TemporaryDirectory() as copy:
                share = 0.0 if seed is None else with_points(Path(folder), Path(copy) / "c", seed)
                where, measure = (folder, "recall") if seed is None else (Path(copy) / "c", "rubric")
                result = crossval(read_collection(where), measure=measure)
            found, held = result.runs, result.coverage95 or 0.0
            figures = f"{found.kendall_tau:.2f} | {found.pearson:.2f} | {found.rmse:.3f} | {held:.0%}"
            print(
                f"| {Path(folder).name} | {'none' if seed is None else seed} | {share:.0%} | {found.n} | {figures} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
