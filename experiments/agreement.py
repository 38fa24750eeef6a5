"""Do the intervals of agreement contain the true value?

    python experiments/agreement.py > experiments/agreement.md

Two simulated assessors judge ten pairs of each question. Questions differ in their share of yes, and each assessor
makes more errors in some questions than in others. The true coefficients are computed from 400,000 questions.
`estimate` computes its interval from a few questions, 1,000 times. For comparison it also does so as if every pair were
a question of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nuggeteer.records import Vector
from nuggeteer.statistics.coefficients import (
    alpha,
    contingency_tables,
    estimate,
    kappa,
    percent,
    positive,
    two_rater_coincidences,
)
from nuggeteer.statistics.intervals import MIN_QUESTIONS

QUESTIONS = (5, 7, 10, 20, 50)
PAIRS = 10
TIMES = 1000
COEFFICIENTS: dict[str, Callable[[Vector], Vector]] = {
    "percent": percent,
    "κ": kappa,
    "α": lambda table: alpha(two_rater_coincidences(table)),
    "F1 of yes": positive,
}


def judged(rng: np.random.Generator, questions: int) -> Vector:
    """pairs × 4, question by question: the verdicts of two assessors as a table of each pair."""
    yes = np.repeat(rng.beta(1.5, 2.5, questions), PAIRS)
    error = np.repeat(rng.beta(1, 6, (2, questions)), PAIRS, axis=1)
    truth = rng.random(len(yes)) < yes
    first, second = truth ^ (rng.random(error.shape) < error)
    return contingency_tables(first, second, np.arange(len(truth)), len(truth))


def by_question(pairs: Vector) -> Vector:
    return np.asarray(pairs.reshape(-1, PAIRS, 4).sum(axis=1))


def main() -> None:
    whole = judged(np.random.default_rng(0), 400_000).sum(axis=0)
    print("# Intervals of agreement\n\n`python experiments/agreement.py > experiments/agreement.md`\n")
    truth = {name: float(coefficient(whole)) for name, coefficient in COEFFICIENTS.items()}
    true = ", ".join(f"{name} {value:.3f}" for name, value in truth.items())
    print(
        f"Two simulated assessors, {PAIRS} pairs a question; true values: {true}. How often the 95 % interval holds the"
    )
    print(f"true value, of {TIMES:,} times; `agree` gives none for fewer than {MIN_QUESTIONS} questions.\n")
    print(f"| taken as independent | number | {' | '.join(COEFFICIENTS)} |\n|---|---|{'---|' * len(COEFFICIENTS)}")
    for what, cut in (("questions", by_question), ("pairs", np.asarray)):
        for questions in QUESTIONS:
            cells = []
            for name, coefficient in COEFFICIENTS.items():
                rng = np.random.default_rng(questions)
                found = [estimate(coefficient, cut(judged(rng, questions))) for _ in range(TIMES)]
                held = [e.low <= truth[name] <= e.high for e in found if e.low is not None and e.high is not None]
                cells.append(f"{np.mean(held):.1%}")
            print(f"| {what} | {questions} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
