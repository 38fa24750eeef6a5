"""Which interval of a mean over questions holds the true mean 95 % of the time, however few the questions are?

    python experiments/small_samples.py COLLECTION...   > experiments/small-samples.md

Scores and differences of scores are drawn from populations like those of F: bounded, skewed, tied, with many zeros and
ones. Fully judged collections add the scores of their runs by question, from which questions are drawn. Each candidate
gets the same samples. Samples in which all scores are the same do not count: no interval can be made from them, and
the tool gives none. A second table has guessed verdicts, whose common error is part of the whole interval.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from nuggeteer.collection.folder import read_collection
from nuggeteer.records import Vector
from nuggeteer.scoring.scorer import score
from nuggeteer.settings import IntervalMethod
from nuggeteer.statistics.intervals import DIFFERENCES, MIN_QUESTIONS, SCORES, mean_interval, question_draws

QUESTIONS = (2, 3, 4, 5, 7, 10, 20, 50, 100)
POPULATION = 100_000
SAMPLES = 1000
RESAMPLES = 1000
Ends = tuple[Vector, Vector]


def f3(rng: np.random.Generator, a: float, b: float) -> Vector:
    """F(3) of answers to questions with 3 to 11 nuggets, of which an answer finds a share drawn from Beta(a, b)."""
    nuggets = rng.integers(3, 12, POPULATION)
    vital = np.maximum(1, np.round(0.4 * nuggets)).astype(int)
    easy = rng.beta(a, b, POPULATION)
    found, okay = rng.binomial(vital, easy), rng.binomial(nuggets - vital, easy)
    length, allowance = rng.integers(50, 1500, POPULATION), 100 * (found + okay)
    precision = np.where(length <= allowance, 1, allowance / length)
    recall = found / vital
    return np.asarray(10 * precision * recall / np.maximum(9 * precision + recall, 1e-9))


def vital_recall(rng: np.random.Generator, a: float, b: float) -> Vector:
    """Recall of one, two or three vital nuggets."""
    vital = rng.integers(1, 4, POPULATION)
    return np.asarray(rng.binomial(vital, rng.beta(a, b, POPULATION)) / vital)


def change(rng: np.random.Generator, same: float, better: float) -> Vector:
    """The difference in recall of two builds. A share of the questions has the same answer in both."""
    nuggets, easy = rng.integers(3, 12, POPULATION), rng.beta(1.2, 1.2, POPULATION).clip(1e-6, 1 - 1e-6)
    old, new = rng.binomial(nuggets, easy), rng.binomial(nuggets, expit(logit(easy) + better))
    return np.where(rng.random(POPULATION) < same, 0.0, (new - old) / nuggets)


def populations() -> dict[str, Vector]:
    rng = np.random.default_rng(1)
    return {
        "F(3), hard": f3(rng, 0.8, 3),
        "F(3), medium": f3(rng, 1.5, 1.5),
        "F(3), easy": f3(rng, 4, 0.8),
        "vital recall, hard": vital_recall(rng, 0.6, 2.4),
        "vital recall, medium": vital_recall(rng, 1, 1),
        "vital recall, easy": vital_recall(rng, 3, 0.6),
        "change": change(rng, 0, 0.3),
        "change, half the same": change(rng, 0.5, 0.3),
        "change, 80 % the same": change(rng, 0.8, 0.6),
    }


# Candidates: of samples (samples × questions), the ends.


def resampled(x: Vector) -> tuple[Vector, Vector]:
    """The means and standard deviations of resamples (resamples × samples)."""
    count = x.shape[1]
    counts = question_draws(count, 0, RESAMPLES)
    mean = counts @ x.T / count
    square = counts @ (x**2).T / count
    return mean, np.sqrt(np.maximum(square - mean**2, 0) * count / (count - 1))


def error(x: Vector) -> Vector:
    return np.asarray(x.std(axis=1, ddof=1) / np.sqrt(x.shape[1]))


def reach(x: Vector) -> float:
    return float(stdtrit(x.shape[1] - 1, 0.975))


def student(x: Vector, changes: bool) -> Ends:
    return x.mean(axis=1) - reach(x) * error(x), x.mean(axis=1) + reach(x) * error(x)


def ours(method: IntervalMethod) -> Callable[[Vector, bool], Ends]:
    """The package's interval by a method of `[score] interval`."""

    def ends(x: Vector, changes: bool) -> Ends:
        scale, pairs = DIFFERENCES if changes else SCORES, []
        for row in x:
            interval = mean_interval(row, certain=True, scale=scale, method=method)
            pairs.append((interval.low, interval.high))
        low, high = np.array(pairs, dtype=float).T
        return low, high

    return ends


def arcsine(x: Vector, changes: bool) -> Ends:
    value, spread = ((x.mean(axis=1) + 1) / 2, error(x) / 2) if changes else (x.mean(axis=1), error(x))
    value = value.clip(1e-9, 1 - 1e-9)
    centre, arm = np.arcsin(np.sqrt(value)), reach(x) * spread / (2 * np.sqrt(value * (1 - value)))
    low, high = (np.sin((centre + side).clip(0, np.pi / 2)) ** 2 for side in (-arm, arm))
    return (2 * low - 1, 2 * high - 1) if changes else (low, high)


def widened_bca(x: Vector, changes: bool) -> Ends:
    """BCa at the levels of Student's t, corrected for the variance of resamples (Hesterberg 2015)."""
    at = reach(x) * np.sqrt(x.shape[1] / (x.shape[1] - 1))
    means, value = np.sort(resampled(x)[0], axis=0), x.mean(axis=1)
    below = ((means < value - 1e-12).mean(axis=0) + (means <= value + 1e-12).mean(axis=0)) / 2
    bias, off = ndtri(below.clip(1e-6, 1 - 1e-6)), x - value[:, None]
    acceleration = (off**3).sum(axis=1) / (6 * np.maximum((off**2).sum(axis=1), 1e-30) ** 1.5)
    low, high = (
        np.take_along_axis(means, np.round(level * (RESAMPLES - 1)).astype(int)[None, :], axis=0)[0]
        for level in (ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in (-at, at))
    )
    return low, high


def bootstrap_t(x: Vector, changes: bool) -> Ends:
    mean, spread = resampled(x)
    value, off = x.mean(axis=1), 1e3 * np.sign(mean - x.mean(axis=1))
    t = np.divide(mean - value, spread / np.sqrt(x.shape[1]), out=off, where=spread > 1e-12)
    low, high = np.quantile(t, [0.975, 0.025], axis=0)
    least = -1.0 if changes else 0.0
    return (value - low * error(x)).clip(least, 1), (value - high * error(x)).clip(least, 1)


def hall(x: Vector, changes: bool) -> Ends:
    """Student's t with its skewness removed by a cubic (Hall 1992)."""
    value, spread = x.mean(axis=1), x.std(axis=1, ddof=1)
    skew = ((x - value[:, None]) ** 3).mean(axis=1) / np.maximum(spread, 1e-12) ** 3 / np.sqrt(x.shape[1])
    some = np.abs(skew) > 1e-9
    bent = np.where(some, skew, 1.0)
    low, high = (
        value - error(x) * np.where(some, 3 / bent * (np.cbrt(1 + bent * (t - bent / 6)) - 1), t)
        for t in (reach(x), -reach(x))
    )
    return low, high


CANDIDATES: dict[str, Callable[[Vector, bool], Ends]] = {
    "**percentile**": ours("percentile"),
    "**bootstrap**": ours("bootstrap"),
    "BCa, t levels": widened_bca,
    "Student's t": student,
    "Hall's t": hall,
    "bootstrap-t": bootstrap_t,
    "t of arcsine": arcsine,
    "**t**": ours("t"),
}


def of_candidates(cases: dict[str, list[Vector]]) -> None:
    """A line for each population and size: how often each candidate holds the mean, and how wide it is."""
    worst: dict[str, list[float]] = {name: [] for name in CANDIDATES}
    print(
        f"| population | questions | all the same | {' | '.join(CANDIDATES)} |\n|---|---|---|{'---|' * len(CANDIDATES)}"
    )
    for name, members in cases.items():
        changes = name.startswith("change")
        for questions in QUESTIONS:
            rng = np.random.default_rng(questions)
            samples, truth = [], []
            for population in members:
                drawn = population[rng.integers(len(population), size=(SAMPLES // len(members), questions))]
                samples.append(drawn)
                truth.append(np.full(len(drawn), population.mean()))
            x, mean = np.concatenate(samples), np.concatenate(truth)
            varied = np.ptp(x, axis=1) > 1e-12
            cells = []
            for candidate, ends in CANDIDATES.items():
                if candidate.startswith("**") and questions < MIN_QUESTIONS:
                    cells.append("none")
                    continue
                low, high = ends(x[varied], changes)
                held = float(np.mean((low - 1e-9 <= mean[varied]) & (mean[varied] <= high + 1e-9)))
                cells.append(f"{held:.1%} ({np.mean(high - low):.2f})")
                if questions >= MIN_QUESTIONS:
                    worst[candidate].append(held)
            print(f"| {name} | {questions} | {1 - varied.mean():.1%} | {' | '.join(cells)} |", flush=True)
    print(f"\nFrom {MIN_QUESTIONS} questions on, over these lines:\n")
    print("| | mean | lowest | highest | lines in 93–97 % |\n|---|---|---|---|---|")
    for name, held_of in worst.items():
        inside = np.mean([0.93 <= held <= 0.97 for held in held_of])
        print(f"| {name} | {np.mean(held_of):.1%} | {min(held_of):.1%} | {max(held_of):.1%} | {inside:.0%} |")
    print(flush=True)


# Guessed verdicts: nuggets differ, and a build has an effect that all its answers share.

EFFECT, DRAWN, TIMES = 0.4, 500, 300
METHODS = get_args(IntervalMethod)


def with_guesses(questions: int, known: float, level: float) -> dict[str, tuple[float, float]]:
    """How often the whole interval of each method holds the mean recall of all questions, if a share of the verdicts is
    known, and how wide it is.

    The draws are from the true posterior: of the build's effect given the known verdicts, and then of the others."""
    rng = np.random.default_rng([questions, round(100 * known)])
    normal = np.random.default_rng(2).normal(size=20_000) * np.hypot(1.0, 1.5)
    rows: dict[str, list[tuple[bool, float]]] = {method: [] for method in METHODS}
    for _ in range(TIMES):
        nuggets = rng.integers(3, 10, questions)
        question = np.repeat(np.arange(questions), nuggets)
        base = level + rng.normal(0, 1.0, questions)[question] + rng.normal(0, 1.5, len(question))
        effect = rng.normal(0, EFFECT)
        truth = rng.random(len(base)) < expit(base + effect)
        given = rng.random(len(base)) < known
        effects = rng.normal(0, EFFECT, DRAWN)
        sign = np.where(truth, 1, -1)[given]
        weight = np.exp(-np.logaddexp(0, -sign * (base[given] + effects[:, None])).sum(axis=1))
        effects = rng.choice(effects, DRAWN, p=weight / weight.sum())
        drawn = np.where(given, truth, rng.random((DRAWN, len(base))) < expit(base + effects[:, None]))
        by_question = np.add.reduceat(drawn, np.append(0, np.cumsum(nuggets)[:-1]), axis=1) / nuggets
        mean = expit(level + effect + normal).mean()
        for method, own in rows.items():
            interval = mean_interval(by_question.mean(axis=0), by_question, method=method)
            if interval.low is not None and interval.high is not None:
                own.append((interval.low <= mean <= interval.high, interval.high - interval.low))
    return {method: tuple(np.mean(own, axis=0)) for method, own in rows.items()}


def main() -> None:
    print("# Few questions\n\n`python experiments/small_samples.py COLLECTION... > experiments/small-samples.md`\n")
    print(f"How often the 95 % interval holds the true mean, of {SAMPLES:,} samples without those whose scores are all")
    print("the same; in brackets its mean width. All verdicts are known. In bold: what `[score] interval` can be. `t`")
    print("is Student's t of log odds, and `bootstrap` is BCa.\n")
    of_candidates({name: [population] for name, population in populations().items()})
    for folder in sys.argv[1:]:
        collection = read_collection(folder)
        names = [run.name for run in collection.judged_runs]
        values = [run.by_question["f3"] for run in score(collection, names, ["f3"]).runs]
        values = [own[~np.isnan(own)] for own in values]
        pairs = zip(values, [*values[1:], values[0]], strict=True)
        cases = {"F(3) of its runs": values, "change from run to run": [new - old for old, new in pairs]}
        print(f"## {Path(folder).name}: questions drawn from {len(values[0])}\n")
        of_candidates(cases)
    print("## Guessed verdicts\n\nThe whole interval, with guesses that are as sure as they say:\n")
    print("| mean logit | questions | interval | none known | half known | 90 % known |\n|---|---|---|---|---|---|")
    for level in (-2.0, 0.0, 2.0):
        for questions in (5, 10, 30, 100):
            cells = [with_guesses(questions, known, level) for known in (0.0, 0.5, 0.9)]
            for method in METHODS:
                shown = " | ".join("{:.1%} ({:.2f})".format(*cell[method]) for cell in cells)
                print(f"| {level:+.0f} | {questions} | {method} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
