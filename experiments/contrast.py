"""Are the answers of a system as unlike each other as their words?

    python experiments/contrast.py COLLECTION... > experiments/contrast.md

Each judged run is hidden in turn and guessed from all others. Of each of its answers, so many nuggets are expected (m)
and so many are there. `sd` is the spread of both over the answers. `u` says how much more (or less) unlike each other
the answers are than their words: in the copula that draws verdicts, the normal level of each nugget of an answer is
moved by u z, where z is log(1 + m) less its mean. It is the value of highest likelihood, with ρ as the model has it;
`gain` is the logarithm of how much likelier the verdicts are than with u = 0. Last, the true precision, that of the
score, and by how many standard deviations of its interval they differ.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from coverage import hide
from scipy.special import log_ndtr, ndtri
from scipy.stats import norm

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.scoring.scorer import Scorer

CONTRASTS = np.linspace(-2.5, 2.5, 51)
COMMON = norm.ppf((np.arange(21) + 0.5) / 21)  # the normal distribution, in equally probable points
SPREADS = (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5)  # of u between systems, of which the likeliest is named


def likelihoods(question: Ints, chance: Vector, found: Bools, correlation: float) -> Vector:
    """The log likelihood of the verdicts on one run for each of CONTRASTS."""
    level = ndtri(np.clip(chance, 1e-4, 1 - 1e-4))
    _, answer = np.unique(question, return_inverse=True)
    slope, expected = np.bincount(answer, norm.pdf(level)), np.bincount(answer, chance)
    z = np.log1p(expected) - np.average(np.log1p(expected), weights=slope)
    result = []
    for contrast in CONTRASTS:
        above = (level + contrast * z[answer])[:, None] + np.sqrt(correlation) * COMMON
        one = log_ndtr(np.where(found[:, None], above, -above) / np.sqrt(1 - correlation))
        total = np.stack([np.bincount(answer, column) for column in one.T], axis=1)
        top = total.max(axis=1, keepdims=True)
        result.append((np.log(np.exp(total - top).mean(axis=1)) + top[:, 0]).sum())
    return np.array(result)


def row_of(collection: Collection, name: str, truth: Scorer) -> tuple[str, Vector]:
    """A run's row of the table, and its log likelihoods less that of u = 0."""
    scorer = Scorer(hide(collection, name, 0.0, np.random.default_rng(1)), ["recall", "precision"])
    result, known = scorer.score(scorer.read(name)), truth.score(truth.read(name))
    question = scorer.key.question
    open_ = ~result.outcome.known & result.outcome.answered[question]
    asked, found = question[open_], known.outcome.found[open_]
    chance = result.outcome.probability[open_]
    said, true = (np.bincount(asked, part)[np.unique(asked)] for part in (chance, found))
    logs = likelihoods(asked, chance, found, scorer.model.answer)
    best = int(logs.argmax())
    none = int(np.abs(CONTRASTS).argmin())
    interval = result.measures["precision"]
    spread = max((interval.judging[1] - interval.judging[0]) / 3.92, 1e-9)
    value = known.measures["precision"].value
    cells = [
        name,
        f"{len(said)}",
        f"{said.mean():.2f}",
        f"{true.mean():.2f}",
        f"{said.std():.2f}",
        f"{true.std():.2f}",
        f"{CONTRASTS[best]:+.1f}",
        f"{logs[best] - logs[none]:.1f}",
        f"{value:.3f}",
        f"{interval.value:.3f}",
        f"{(interval.value - value) / spread:+.1f}",
    ]
    return f"| {' | '.join(cells)} |", logs - logs[none]


def on_collection(folder: str) -> None:
    collection = read_collection(folder)
    truth = Scorer(collection, ["recall", "precision"])
    names = [run.name for run in collection.judged_runs]
    print(f"## {Path(folder).name}: {len(names)} runs\n")
    print("| run | answers | mean said | mean true | sd said | sd true | u | gain | precision | said | z |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    logs = []
    for name in names:
        row, gained = row_of(collection, name, truth)
        print(row, flush=True)
        logs.append(gained)
    table = np.array(logs)
    top = table.max(axis=1, keepdims=True)
    evidence = []
    for spread in SPREADS:
        weight = np.exp(-0.5 * (CONTRASTS / spread) ** 2)
        evidence.append(float((np.log(np.exp(table - top) @ (weight / weight.sum())) + top[:, 0]).sum()))
    best = int(np.argmax(evidence))
    print(
        f"\nThe likeliest spread of u between systems is {SPREADS[best]:g}: verdicts are e^{evidence[best]:.1f} times"
    )
    print(f"as likely as with u = 0; with a spread of {SPREADS[-1]:g}, e^{evidence[-1]:.1f} times.\n", flush=True)


def main() -> None:
    names = " ".join(Path(name).name for name in sys.argv[1:])
    print("# Are the answers of a system as unlike each other as their words?\n")
    print(f"Made by `python experiments/contrast.py {names}`.\n")
    print((__doc__ or "").split("\n\n", 2)[2])
    for folder in sys.argv[1:]:
        on_collection(folder)


if __name__ == "__main__":
    main()
