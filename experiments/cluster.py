"""Parts of a run scored on a Dask cluster: what a million pairs cost, and what a billion would.

    python experiments/cluster.py [PARTS]

Simulates parts of 50 questions × 2,000 responses × 10 nuggets without verdicts, and scores each by itself: in this
process, and by joblib's Dask backend on a LocalCluster of two worker processes. The mean over all questions is that of
the parts' questions together. Writes experiments/cluster.md. Times are those of the thread that scores, because a
machine may be shared, and the median of the parts, because the first part of a process imports everything.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster
from joblib import Parallel, delayed, parallel_config

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.scoring.scorer import Scorer

HERE = Path(__file__).parent
SHAPE = Shape(questions=50, systems=1, judged=0, responses=2000)
PAIRS = SHAPE.questions * SHAPE.responses * SHAPE.nuggets
Part = tuple[list[float], float, float]  # F(3) of each question, seconds of the processor, peak MB of the process


def scored(job: tuple[str]) -> Part:
    """In a tuple, because the Dask backend sends other large arguments in advance."""
    begin = time.thread_time()
    collection = read_collection(job[0])
    scorer = Scorer(collection, ["f3"])
    values = scorer.score(scorer.read("s1")).by_question["f3"].tolist()
    return values, time.thread_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    parts = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    with tempfile.TemporaryDirectory() as work:
        folders = [f"{work}/{part}" for part in range(parts)]
        for part, folder in enumerate(folders):
            simulate(folder, SHAPE, seed=part)
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster),
            parallel_config(backend="dask"),
        ):
            there: list[Part] = Parallel()(delayed(scored)((folder,)) for folder in folders)
        here = [scored((folder,)) for folder in folders]
    same = [values for values, *_ in here] == [values for values, *_ in there]
    seconds = float(np.median([seconds for _, seconds, _ in there]))
    million = seconds / (PAIRS / 1e6)
    mean = float(np.mean([value for values, *_ in there for value in values]))
    lines = [
        "# Parts of a run on a cluster",
        "",
        f"Made by `python experiments/cluster.py {parts}`: {parts} parts of {PAIRS:,} pairs each, without verdicts.",
        "",
        "| what | measured |",
        "|---|---|",
        f"| seconds of the processor for a million pairs, on a Dask worker | {million:.2f} |",
        f"| the same in one process | {np.median([part[1] for part in here]) / (PAIRS / 1e6):.2f} |",
        f"| peak of a worker's memory | {max(part[2] for part in there):.0f} MB |",
        f"| the same numbers in both, bit for bit | {same} |",
        f"| mean F(3) of all {parts * SHAPE.questions} questions | {mean:.3f} |",
        f"| a billion pairs, extrapolated: hours of one processor | {million * 1000 / 3600:.2f} |",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    (HERE / "cluster.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
