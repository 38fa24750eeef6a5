"""How often does the trend's alarm err in a year, and how soon does it notice a drop?

    python experiments/alarm.py > experiments/alarm.md

Builds of a simulated system answer 50 questions every night. Without a change, fewer than 5 % of years (365 builds)
should have any alarm. With a change, what counts is the number of nights until the alarm. Two other alarms serve as
comparison. They compare answers question by question with a paired t-test: tonight against last night; and tonight
against the mean of all earlier nights, with the 5 % spread over the nights (α_t = 0.05 · 6 / (π t)²), which is valid if
the noise of different questions is independent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.special import stdtr

from nuggeteer.collection.answer_key import make_key
from nuggeteer.measures import Answers, parse
from nuggeteer.records import Nugget, Question, Vector
from nuggeteer.statistics.alarm import ALARM, DIGITS, e_value, watch_trend

YEAR = 365
YEARS = 500
TRIALS = 200
QUESTIONS = 50
NUGGETS = 8
NOISE = 0.1  # the standard deviation of a question's normal noise
Nights = Callable[[np.random.Generator, int], Vector]

_KEY = make_key(
    [Question(f"q{q}", "") for q in range(QUESTIONS)],
    [Nugget(f"q{q}", str(n), ("x",), "vital" if n < 3 else "okay") for q in range(QUESTIONS) for n in range(NUGGETS)],
)


def sampled(rng: np.random.Generator, nights: int, night: float = 0.0, flaky: float = 1.0) -> Vector:
    """F(3) of sampled answers. A nugget is found each night with a probability given by its own ease and that of its
    question, which stay the same. `night` is the spread of what all questions of a night share. Only a share `flaky` of
    the nuggets changes at all."""
    ease = np.repeat(rng.normal(-0.5, 1.0, QUESTIONS), NUGGETS) + rng.normal(0, 1.0, QUESTIONS * NUGGETS)
    certain = rng.random(len(ease)) >= flaky
    ease[certain] = np.where(rng.random(int(certain.sum())) < 0.4, np.inf, -np.inf)
    chance = 1 / (1 + np.exp(-(ease + rng.normal(0, night, (nights, 1)))))
    found = rng.random(chance.shape) < chance
    length = rng.integers(200, 900, QUESTIONS)
    return parse("f3")(Answers(_KEY, found, np.zeros_like(found), length))


def noisy(rng: np.random.Generator, nights: int, freedom: float = np.inf, memory: float = 0.0) -> Vector:
    """A fixed score for each question plus its own noise each night, normal or Student's. With `memory`, that share of
    the previous night's noise remains."""
    shape = (nights, QUESTIONS)
    noise = NOISE * (rng.normal(size=shape) if np.isinf(freedom) else rng.standard_t(freedom, shape))
    for i in range(1, nights):
        noise[i] = memory * noise[i - 1] + np.sqrt(1 - memory**2) * noise[i]
    return rng.beta(1, 2, QUESTIONS) + noise


def identical(rng: np.random.Generator, nights: int) -> Vector:
    return np.tile(rng.beta(1, 2, QUESTIONS), (nights, 1))


UNCHANGED: dict[str, Nights] = {
    "identical builds": identical,
    "independent normal noise": noisy,
    "sampled answers, questions unlike": sampled,
    "the same, 1 % of nuggets flaky (ties)": partial(sampled, flaky=0.01),
    "the same, nights unlike too": partial(sampled, night=0.5),
    "heavy tails (Student, 1.5)": partial(noisy, freedom=1.5),
}
# Here a night resembles the one before it, so the order of builds matters, and the guarantee does not hold.
OUTSIDE: dict[str, Nights] = {
    "noise with memory 0.2": partial(noisy, memory=0.2),
    "noise with memory 0.5": partial(noisy, memory=0.5),
}


def paired_p(now: Vector, before: Vector) -> float:
    """The p-value of a drop, by a paired t-test over questions."""
    difference = now - before
    spread = difference.std(ddof=1)
    if spread == 0:
        return 1.0 if difference[0] >= 0 else 0.0
    return float(stdtr(len(difference) - 1, difference.mean() / spread * np.sqrt(len(difference))))


def by_last_night(scores: Vector, now: int) -> bool:
    """The 95 % interval of the paired difference to last night lies below 0."""
    return paired_p(scores[now], scores[now - 1]) < 0.025


def by_spending(scores: Vector, now: int) -> bool:
    return paired_p(scores[now], scores[:now].mean(axis=0)) < 0.05 * 6 / (np.pi * now) ** 2


def a_year(name: str, seed: int) -> tuple[bool, ...]:
    """Whether there was an alarm, an alarm for worse, two or more alarms, and an alarm by each of the other rules."""
    scores = (UNCHANGED | OUTSIDE)[name](np.random.default_rng([seed, len(name)]), YEAR)
    changes = watch_trend(scores.mean(axis=1)).changes
    others = (any(rule(scores, now) for now in range(1, YEAR)) for rule in (by_last_night, by_spending))
    return bool(changes), any(change.worse for change in changes), len(changes) > 1, *others


def nights_until(nights: Nights, drop: float, before: int, seed: int) -> list[float]:
    """Nights from a drop to each kind of alarm, ∞ if later than `MOST`. Trials with an alarm before the drop are
    skipped."""
    rng = np.random.default_rng([seed, before, int(10000 * drop)])
    while True:
        scores = nights(rng, before + MOST)
        scores[before:] -= drop
        mean = scores.mean(axis=1)
        if not watch_trend(mean[:before]).changes:
            break
    rules: list[Callable[[int], bool]] = [
        lambda now: e_value(np.round(mean[: now + 1], DIGITS))[0] >= ALARM,
        lambda now: by_last_night(scores, now),
        lambda now: by_spending(scores, now),
    ]
    return [next((now + 1.0 - before for now in range(before, before + MOST) if rule(now)), np.inf) for rule in rules]


DROPS = [("sd", 0.5), ("sd", 1.0), ("sd", 2.0), ("sd", 8.0), ("F", 0.02), ("F", 0.05)]
BEFORE = (5, 10, 30, 100)
MOST = 120


def power(drop: tuple[str, float], before: int, seed: int) -> list[float]:
    unit, size = drop
    if unit == "sd":
        return nights_until(noisy, size * NOISE / np.sqrt(QUESTIONS), before, seed)
    return nights_until(sampled, size, before, seed)


def median(values: list[float]) -> str:
    middle = float(np.median(values))
    return f"{middle:.0f}" if np.isfinite(middle) else f">{MOST}"


def main() -> None:
    years = int(sys.argv[1]) if len(sys.argv) > 1 else YEARS
    trials = min(TRIALS, years)
    print("# The trend's alarm\n\n`python experiments/alarm.py > experiments/alarm.md`\n")
    print("`alarm` is that of `history`. Two others compare answers question by question, by a paired t-test:")
    print("tonight's with last night's, every night at 2.5 %; and tonight's with the mean of all nights before, the")
    print("5 % spread over the nights.\n")
    print(f"{QUESTIONS} questions, {YEAR} nights, {years} years of each kind without a change. Years with an alarm:\n")
    print("| nothing changes | alarm | for worse | two or more | paired, last night | paired, spread |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(2) as pool:
        for name in [*UNCHANGED, *OUTSIDE]:
            seen = np.array(list(pool.map(partial(a_year, name), range(years), chunksize=8)))
            mark = " *" if name in OUTSIDE else ""
            print(f"| {name}{mark} | " + " | ".join(f"{share:.1%}" for share in seen.mean(axis=0)) + " |", flush=True)
        print("\n\\* outside the guarantee: builds could not have come in any order.\n")
        spread = np.mean([sampled(np.random.default_rng(i), 200).mean(axis=1).std() for i in range(20)])
        print(
            f"Median nights until a drop is noticed, of {trials}; sd: standard deviation of the nights' mean F(3) under"
        )
        print(f"normal noise; F: sampled answers, where that standard deviation is {spread:.3f}.\n")
        print("| drop | builds before | alarm | paired, last night | paired, spread |\n|---|---|---|---|---|")
        for drop in DROPS:
            for before in BEFORE:
                waits = np.array(list(pool.map(partial(power, drop, before), range(trials), chunksize=4)))
                cells = " | ".join(median(list(wait)) for wait in waits.T)
                print(f"| {drop[1]} {drop[0]} | {before} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
