"""Does an audit hold the true score 95 % of the time, however wrong the guesses are, and how wide is it?

    python experiments/audit.py [--every K] COLLECTION...   > experiments/audit.md

On a fully judged collection each run (or every K-th) in turn acts as tonight's build, with all its judgements hidden.
Its guesses are used as the model makes them, or made worse on purpose. Audits are drawn and answered with the recorded
verdicts.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from coverage import covered, hide
from scipy.special import stdtrit

from nuggeteer.collection.folder import read_collection
from nuggeteer.judging.audits.design import AuditCosts, Designs
from nuggeteer.judging.audits.estimate import BoundEvidence, NuggetState, bound_below, estimates_of
from nuggeteer.measures import Answers, Measure, parse
from nuggeteer.records import AnswerKey, Bools, Vector
from nuggeteer.scoring.scorer import Scorer

SIZES = (20, 30, 100, 300)
AUDITS = {"recall": 12, "f3": 4}  # of each run
MEASURES = tuple(map(parse, AUDITS))
SPOILT = {
    "as they are": "the model's",
    "swapped": "each nugget has the guess of another, drawn at random",
    "inverted": "1 − p for p",
    "sure, 1 in 20 wrong": "0.02 or 0.98, right but for one in twenty",
}
WAYS = {"audit": "nugget", "answers": "answer"}
METHODS = (*WAYS, "t", "whole", "model")
Pair = tuple[float, float]


def spoil(how: str, guess: Vector, truth: Bools, rng: np.random.Generator) -> Vector:
    if how == "swapped":
        return rng.permutation(guess)
    if how == "inverted":
        return 1 - guess
    if how == "as they are":
        return guess
    wrong = rng.permutation(len(guess)) < len(guess) / 20
    return np.where(truth != wrong, 0.98, 0.02)


def student(values: Vector) -> Pair:
    size = len(values)
    half = stdtrit(size - 1, 0.975) * values.std(ddof=1) / np.sqrt(size) if size > 1 else np.inf
    return float(values.mean() - half), float(values.mean() + half)


def by_question(measure: Measure, key: AnswerKey, state: NuggetState, found: Bools) -> Vector:
    return measure(Answers(key, found, np.zeros_like(found), state.length))


class Audits:
    """One run with its guesses: the truth, what the guesses predict, and what audits prove."""

    def __init__(
        self,
        key: AnswerKey,
        state: NuggetState,
        truth: Bools,
        guess: Vector,
        own: Pair | None,
        measure: Measure,
        costs: AuditCosts,
    ):
        self.key, self.state, self.truth, self.guess, self.measure = key, state, truth, guess, measure
        composition = measure.composition(key)
        assert composition is not None
        self.composition = composition
        self.values = by_question(measure, key, state, truth)
        self.true = float(np.nanmean(self.values))
        rng = np.random.default_rng(1)
        drawn = state.found | (state.open_ & (rng.random((2000, len(guess))) < guess))
        scores = by_question(measure, key, state, drawn)
        self.expected = scores.mean(axis=0)
        self.designs = Designs(state, guess, drawn, composition, measure, costs, 0)
        self.own = own or tuple(np.quantile(np.nanmean(scores, axis=1), [0.025, 0.975]).tolist())

    def intervals(self, rng: np.random.Generator) -> dict[int, dict[str, Pair]]:
        """The interval of each method, by the number of nuggets judged."""
        # The estimates take the truth of the judged nuggets from the state and see no others.
        known, sides, taken = replace(self.state, found=self.truth), {}, {}
        for by in ("nugget", "answer"):
            drawn = self.designs.draw(by, rng)
            taken[by] = [self.designs.costs.units(drawn, count) for count in SIZES]
            sides[by] = estimates_of(drawn, known, self.composition, self.measure).first(max(taken[by]))
        size, (below, above) = len(drawn.nugget), sides["nugget"]
        differences = (self.values - self.expected)[self.composition.defined]
        order = rng.permutation(len(differences))
        found: dict[int, dict[str, Pair]] = {}
        for place, count in enumerate(SIZES):
            found[count] = {name: self.bounds(sides[by], taken[by][place]) for name, by in WAYS.items()}
            middle = (below.sequence.estimate[:count] - above.sequence.estimate[:count]) / 2
            # Student's interval gets no correction for a finite population; the estimates already include it.
            asked = max(round(count / size * len(differences)), 2)
            low, high = student(differences[order[:asked]])
            few = np.sqrt(1 - asked / len(differences))
            centre, expected = (low + high) / 2, float(np.nanmean(self.expected))
            half = (high - low) / 2 * few
            found[count] |= {
                "t": student(middle),
                "whole": (expected + centre - half, expected + centre + half),
                "model": self.own,
            }
        return found

    def bounds(self, sides: tuple[BoundEvidence, BoundEvidence], units: int) -> Pair:
        below, above = sides
        low = bound_below(self.part(below, units), below.spread, units, 0.0, 1.0)
        return low, -bound_below(self.part(above, units), above.spread, units, -1.0, 0.0)

    @staticmethod
    def part(side: BoundEvidence, count: int):
        one = side.sequence
        return replace(
            one,
            estimate=one.estimate[:count],
            least=one.least[:count],
            centre=one.centre[:count],
            scale=one.scale[:count],
        )


def on_collection(folder: str, every: int) -> None:
    collection = read_collection(folder)
    names = [run.name for run in collection.judged_runs][::every]
    key = collection.key
    truths = Scorer(collection, MEASURES)
    kept: dict[tuple[str, str, int, str], list[tuple[bool, float]]] = {}
    for number, name in enumerate(names):
        hidden = hide(collection, name, 0.0, np.random.default_rng(1))
        scorer = Scorer(hidden, MEASURES)
        matched = scorer.read(name)
        score, state = scorer.score(matched), NuggetState.of(matched, key)
        truth = NuggetState.of(truths.read(name), key).found
        for how in SPOILT:
            rng = np.random.default_rng([number, list(SPOILT).index(how)])
            guess = score.outcome.probability.copy()
            guess[state.open_] = spoil(how, guess[state.open_], truth[state.open_], rng)
            for measure in MEASURES:
                own = score.measures[measure.name].judging if how == "as they are" else None
                audits = Audits(key, state, truth, guess, own, measure, AuditCosts(key, matched.run))
                for _ in range(AUDITS[measure.name]):
                    for count, intervals in audits.intervals(rng).items():
                        for method, one in intervals.items():
                            row = (covered(one, audits.true), min(one[1], 1) - max(one[0], 0))
                            kept.setdefault((measure.name, how, count, method), []).append(row)
    print(f"\n## {Path(folder).name}: {len(names)} runs, {len(key.questions)} questions, {len(key.nuggets)} nuggets")
    for measure in MEASURES:
        print(f"\n### {measure.name}, {AUDITS[measure.name]} audits of each run\n")
        print(f"| guesses | judged | {' | | '.join(METHODS)} | |\n|---|---|{'---|' * 2 * len(METHODS)}")
        for how in SPOILT:
            for count in SIZES:
                cells = []
                for method in METHODS:
                    inside, width = np.mean(kept[measure.name, how, count, method], axis=0)
                    cells.append(f"{inside:.1%} | {width:.3f}")
                print(f"| {how} | {count} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    names = " ".join(Path(name).name for name in given.collections)
    names = names if given.every == 1 else f"--every {given.every} {names}"
    print(f"# Audits\n\nMade by `python experiments/audit.py {names}`.\n")
    print("How often the interval holds the true score, and its mean width, by the number of nuggets judged.\n")
    print("- audit: what `score --audited` says after so many single nuggets")
    print("- answers: what it says after whole answers that take as many minutes to read")
    print("- t: Student's interval of the same estimates, of F by its tangent")
    print("- whole: Student's interval of whole questions, with as many nuggets in all, but at least two questions")
    print("- model: what the guesses say by themselves, without an audit; spoilt ones as if they were independent\n")
    print("Guesses:\n")
    for how, what in SPOILT.items():
        print(f"- {how}: {what}")
    for folder in given.collections:
        began = time.perf_counter()
        on_collection(folder, given.every)
        print(f"{folder}: {time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
