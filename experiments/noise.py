"""How well can any matcher do, when humans disagree? python experiments/noise.py COLLECTION > experiments/noise.md

Systems sometimes return the same text. Where each system's answer was read by itself (judged `every`, verdicts naming
their run), the same (nugget, text) was judged several times, by assessors who did not know. How often do they disagree,
and what does that leave for a guesser?

A pair is taken to have a chance p of a yes, from any assessor, independently. Two verdicts disagree with chance
D = E[2p(1 − p)]; who knows p errs with chance e = E[min(p, 1 − p)]. As min(p, 1 − p) ≤ 2p(1 − p), which is concave,

    (1 − √(1 − 2D)) / 2 ≤ e ≤ D,

and with a share π of yes no guesser's F1 is above 2π / (2π + e). The beta distribution of p that makes the counts of
yes likeliest gives e and the best F1 within these. (D and π count each pair of verdicts, the beta distribution each
text and nugget once.) Intervals: bootstrap over questions.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln
from scipy.stats import beta

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.records import Ints, Vector
from nuggeteer.text import normalised

RESAMPLES = 200
GRID = np.linspace(0, 1, 4001)[1:-1]


@dataclass(frozen=True)
class Repeated:
    """(nugget, text) pairs that several systems' assessors judged: how many did, how many said yes, which question.
    `of_run`: how often a run's verdict stands against another's, and is unlike it."""

    times: Ints
    yes: Ints
    question: Ints
    of_run: dict[str, tuple[int, int]]

    @property
    def weight(self) -> Vector:
        """Of each pair: its ordered pairs of verdicts."""
        return (self.times * (self.times - 1)).astype(float)


def repeated(collection: Collection) -> Repeated:
    key = collection.key
    said = {
        (j.run, j.qid, normalised(j.text), j.nugget) for j in collection.judgements if j.verdict and j.run is not None
    }
    rows = []
    of_run: dict[str, tuple[int, int]] = {}
    for question, asked in enumerate(key.questions):
        runs: dict[str, list[str]] = defaultdict(list)
        for run in collection.judged_runs:
            if run.info.judged == "every":
                begin, end = run.offsets[question : question + 2].tolist()
                for text in dict.fromkeys(run.normalised_texts[begin:end]):
                    runs[text].append(run.name)
        own = key.nuggets[key.offsets[question] : key.offsets[question + 1]]
        for text, names in runs.items():
            if len(names) > 1:
                for nugget in own:
                    verdicts = [(name, asked.qid, text, nugget.nugget) in said for name in names]
                    found, times = sum(verdicts), len(names)
                    rows.append((times, found, question))
                    for name, yes in zip(names, verdicts, strict=True):
                        against, unlike = of_run.get(name, (0, 0))
                        of_run[name] = against + times - 1, unlike + (times - found if yes else found)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Repeated(columns[0], columns[1], columns[2], of_run)


def figures(pairs: Repeated, counted: Vector) -> dict[str, float]:
    """All that the table says, each pair counted so often."""
    n, k = pairs.times, pairs.yes
    ordered = float(counted @ pairs.weight)
    both = float(counted @ (k * (k - 1)))
    unlike = float(counted @ (2 * k * (n - k)))
    positive = (both + unlike / 2) / ordered
    disagreement = unlike / ordered
    lowest = (1 - np.sqrt(max(0.0, 1 - 2 * disagreement))) / 2
    a, b = _beta(n, k, counted)
    mass = np.diff(beta.cdf(np.append(0, (GRID[:-1] + GRID[1:]) / 2), a, b), append=np.nan)
    mass[-1] = 1 - np.nansum(mass[:-1])
    likeliest = float(mass @ np.minimum(GRID, 1 - GRID))
    # The best F1 says yes to all pairs above some p.
    hits, found = np.cumsum((mass * GRID)[::-1]), np.cumsum(mass[::-1])
    best = float((2 * hits / (found + mass @ GRID)).max())
    return {
        "agree": 1 - disagreement,
        "f1": both / (both + unlike / 2),
        "positive": positive,
        "lowest": float(lowest),
        "highest": disagreement,
        "bound": 2 * positive / (2 * positive + float(lowest)),
        "beta": likeliest,
        "beta f1": best,
    }


def _beta(n: Ints, k: Ints, counted: Vector) -> tuple[float, float]:
    """Beta-binomial, by maximum likelihood."""
    cells, place = np.unique(np.stack([n, k]), axis=1, return_inverse=True)
    count = np.bincount(place.ravel(), weights=counted)

    def loss(logs: Vector) -> float:
        a, b = np.exp(logs)
        return -float(count @ (betaln(cells[1] + a, cells[0] - cells[1] + b) - betaln(a, b)))

    a, b = np.exp(minimize(loss, np.zeros(2), method="Nelder-Mead").x)
    return float(a), float(b)


def main(folder: str) -> None:
    pairs = repeated(read_collection(folder))
    ones = np.ones(len(pairs.times))
    point = figures(pairs, ones)
    rng = np.random.default_rng(0)
    questions, place = np.unique(pairs.question, return_inverse=True)
    drawn = [
        figures(
            pairs, np.bincount(rng.integers(0, len(questions), len(questions)), minlength=len(questions))[place] * ones
        )
        for _ in range(RESAMPLES)
    ]
    print("# What disagreement among humans leaves for a guesser\n")
    print(
        "`python experiments/noise.py COLLECTION`: the same texts, returned by several systems and judged for each by"
    )
    print(f"itself. {Path(folder).resolve().name}: {len(pairs.times):,} (nugget, text) pairs of {len(questions)}")
    print(
        f"questions, {int(pairs.weight.sum()):,} ordered pairs of verdicts. In brackets 95 % of {RESAMPLES} resamples"
    )
    print("of the questions. The assumptions are in the program.\n")
    print("| | | |\n|---|---|---|")
    for name, what in (
        ("agree", "two verdicts agree"),
        ("f1", "F1 of one verdict against another"),
        ("positive", "share of yes"),
        ("lowest", "errors of the best guesser, at least"),
        ("highest", "at most"),
        ("bound", "F1 of any guesser, at most"),
        ("beta", "errors of the best guesser, p from a beta distribution"),
        ("beta f1", "its best F1"),
    ):
        low, high = np.quantile([one[name] for one in drawn], [0.025, 0.975])
        print(f"| {what} | {point[name]:.3f} | [{low:.3f}, {high:.3f}] |")
    most = int(pairs.times.max())
    print(f"\n| judged so often | {' | '.join(f'{yes} yes' for yes in range(most + 1))} |\n{'|---' * (most + 2)}|")
    for times in np.unique(pairs.times).tolist():
        counts = np.bincount(pairs.yes[pairs.times == times], minlength=times + 1).tolist()
        print(f"| {times} | {' | '.join([*map(str, counts), *[''] * (most - times)])} |")
    print("\n| system | pairs of verdicts | unlike |\n|---|---|---|")
    for name, (against, unlike) in sorted(pairs.of_run.items(), key=lambda item: -item[1][0]):
        print(f"| {name} | {against:,} | {unlike / against:.1%} |")


if __name__ == "__main__":
    main(sys.argv[1])
