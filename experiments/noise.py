"""How well can any matcher do if humans disagree? python experiments/noise.py COLLECTION > experiments/noise.md

Systems sometimes return the same text. If each system's answer was read separately (judged `every`, with verdicts that
name their run), the same (nugget, text) was judged several times, and the assessors did not know it. How often do they
disagree, and how well can a guesser do then?

The model is that each pair has a probability p of a yes, independently for each verdict. Two verdicts disagree with
probability D = E[2p(1 − p)]. A guesser that knows p errs with probability e = E[min(p, 1 − p)]. Because
min(p, 1 − p) ≤ 2p(1 − p), which is concave,

    (1 − √(1 − 2D)) / 2 ≤ e ≤ D.

If π is the share of yes, no guesser's F1 is above 2π / (2π + e). Within these bounds, the beta distribution of p that
fits the counts of yes best gives e and the best F1. D and π count each pair of verdicts, while the beta distribution
counts each text and nugget once. The intervals are from a bootstrap over questions.

Texts that have nearly all of a description's words are nearly always judged yes, and those with hardly any, no. The
last table has both shares by system: where they are far from those of other systems, verdicts and texts do not belong
together.
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
from nuggeteer.scoring.evidence import gather_evidence
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import normalised

RESAMPLES = 200
MUCH, LITTLE = 0.9, 0.1  # of a description's words
GRID = np.linspace(0, 1, 4001)[1:-1]


Counts = tuple[int, int]


@dataclass(frozen=True)
class Repeated:
    """(nugget, text) pairs that were judged for several systems: how many times, how many times with yes, and the
    question. `of_run` is how often a run's verdict is compared with another one, and how often they differ."""

    times: Ints
    yes: Ints
    question: Ints
    of_run: dict[str, tuple[int, int]]

    @property
    def weight(self) -> Vector:
        """The number of ordered pairs of verdicts of each (nugget, text) pair."""
        return (self.times * (self.times - 1)).astype(float)


def repeated(collection: Collection) -> Repeated:
    key = collection.key
    yes_verdicts = {
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
                    verdicts = [(name, asked.qid, text, nugget.nugget) in yes_verdicts for name in names]
                    found, times = sum(verdicts), len(names)
                    rows.append((times, found, question))
                    for name, yes in zip(names, verdicts, strict=True):
                        against, unlike = of_run.get(name, (0, 0))
                        of_run[name] = against + times - 1, unlike + (times - found if yes else found)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Repeated(columns[0], columns[1], columns[2], of_run)


def of_words(collection: Collection) -> dict[str, list[Counts]]:
    """Of each system's responses: how many have more than 0.9 of a description's words, and how many of these were
    judged yes; and the same for less than 0.1."""
    scorer = Scorer(collection)
    evidence = gather_evidence(collection, scorer.matcher, scorer.known, carried_over=False)
    answers, score = evidence.units.answers, evidence.units.scores
    run = np.array([build.run for build in answers.builds])[answers.build[evidence.units.answer]]
    ends = score > MUCH, score < LITTLE
    return {
        name: [(int(own.sum()), int((own & evidence.yes).sum())) for own in (end & (run == name) for end in ends)]
        for name in dict.fromkeys(run.tolist())
    }


def figures(pairs: Repeated, counted: Vector) -> dict[str, float]:
    """All figures of the table. `counted` is how often each pair counts."""
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
    """The parameters of a beta-binomial distribution, by maximum likelihood."""
    cells, cell = np.unique(np.stack([n, k]), axis=1, return_inverse=True)
    count = np.bincount(cell.ravel(), weights=counted)

    def loss(logs: Vector) -> float:
        a, b = np.exp(logs)
        return -float(count @ (betaln(cells[1] + a, cells[0] - cells[1] + b) - betaln(a, b)))

    a, b = np.exp(minimize(loss, np.zeros(2), method="Nelder-Mead").x)
    return float(a), float(b)


def main(folder: str) -> None:
    collection = read_collection(folder)
    pairs = repeated(collection)
    ones = np.ones(len(pairs.times))
    point = figures(pairs, ones)
    rng = np.random.default_rng(0)
    questions, row = np.unique(pairs.question, return_inverse=True)
    drawn = [
        figures(
            pairs, np.bincount(rng.integers(0, len(questions), len(questions)), minlength=len(questions))[row] * ones
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
        low, high = np.quantile([resample[name] for resample in drawn], [0.025, 0.975])
        print(f"| {what} | {point[name]:.3f} | [{low:.3f}, {high:.3f}] |")
    most = int(pairs.times.max())
    print(f"\n| judged so often | {' | '.join(f'{yes} yes' for yes in range(most + 1))} |\n{'|---' * (most + 2)}|")
    for times in np.unique(pairs.times).tolist():
        counts = np.bincount(pairs.yes[pairs.times == times], minlength=times + 1).tolist()
        print(f"| {times} | {' | '.join([*map(str, counts), *[''] * (most - times)])} |")
    print("\n| system | pairs of verdicts | unlike |\n|---|---|---|")
    for name, (against, unlike) in sorted(pairs.of_run.items(), key=lambda item: -item[1][0]):
        print(f"| {name} | {against:,} | {unlike / against:.1%} |")
    print(f"\n| system | over {MUCH} of the words | judged yes | under {LITTLE} | judged yes |\n|---|---|---|---|---|")
    for name, ends in sorted(of_words(collection).items()):
        shares = (f"{count} | {yes / count:.2f}" if count else "0 | –" for count, yes in ends)
        print(f"| {name} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main(sys.argv[1])
