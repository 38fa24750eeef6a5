"""What a random sample of a run's guesses, judged, proves of its score, however wrong the guesses are.

The estimate is a difference estimator (Des Raj 1956; prediction-powered inference of Angelopoulos et al. 2023): the
score that the guesses promise, plus what the nuggets drawn say that guesses are wrong by, each counted 1 / probability
times. The interval is by bets at fair odds (`betting`) on functions that are linear in the nuggets found, one never
above the score and one never below (`envelope`); it may be looked at after any number of verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nuggeteer.formats.audits import Head
from nuggeteer.judging.audits.betting import EstimateSequence, bound_below
from nuggeteer.judging.audits.envelope import LinearBound, linear_bounds
from nuggeteer.measures import Answers, Measure
from nuggeteer.measures.composition import Composition
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.known import PARTLY
from nuggeteer.scoring.outcomes import MatchedRun

MIN_GUESS_SPREAD = 0.4  # of a guess: the surest may be wrong, and one drawn too rarely would count for too much
MIN_RELATIVE_WEIGHT = 0.1  # of the mean: what weighs nothing as yet may come to


@dataclass(frozen=True)
class DrawnAudit:
    """An audit in terms of the key: the nuggets in the order drawn, each with its guess and its size."""

    head: Head
    nugget: Ints
    guess: Vector
    size: Vector

    @property
    def probability(self) -> Vector:
        """With which each was drawn from those that were left."""
        return self.size / _left(self.size)

    def mark(self, place: int) -> Mapping[str, Any]:
        """What verdicts on the nugget at that place are marked with."""
        return {"id": self.head.audit, "place": place + 1, "probability": float(self.probability[place])}


@dataclass(frozen=True)
class AuditedMeasure:
    """What an audit proves of one measure: the `value` on these questions if all were judged, `low` to `high` with 95 %
    confidence; None where nothing is judged as yet. `expected` is what the guesses had said: value, low, high."""

    measure: Measure
    value: float | None
    low: float | None
    high: float | None
    expected: tuple[float, float, float] | None

    @property
    def disagrees(self) -> bool | None:
        """Whether the two intervals have nothing in common: the guesses, or how sure they were, are wrong."""
        if self.expected is None or self.low is None or self.high is None:
            return None
        return self.expected[2] < self.low or self.high < self.expected[1]


@dataclass(frozen=True)
class NuggetState:
    """What is known of a run's nuggets."""

    open_: Bools
    found: Bools
    partly: Bools
    length: Ints

    @classmethod
    def of(cls, matched: MatchedRun, key: AnswerKey) -> NuggetState:
        size, nugget = len(key.nuggets), matched.pairs.nugget
        found = matched.certain(size)
        open_, partly = np.zeros((2, size), dtype=bool)
        open_[nugget[matched.guessed]] = True
        partly[nugget[matched.states == PARTLY]] = True
        return cls(open_ & ~found, found, partly & ~found, matched.length)


def order_at_random(
    state: NuggetState, guess: Vector, composition: Composition, rng: np.random.Generator
) -> tuple[Ints, Vector]:
    """The open nuggets that matter, and their sizes: what each weighs in the score, times how unsure its guess is."""
    key = composition.key
    weight = np.zeros(len(key.nuggets))
    for question in range(len(key.questions)):
        own = np.arange(key.offsets[question], key.offsets[question + 1])
        low, high = _lines(composition, question, state, state.open_, guess)
        weight[own[state.open_[own]]] = np.maximum(low.slope, high.slope)
    nugget = np.flatnonzero(state.open_ & composition.matters)
    if not len(nugget):
        return nugget, np.zeros(0)
    unsure = np.maximum(np.sqrt(guess[nugget] * (1 - guess[nugget])), MIN_GUESS_SPREAD)
    size = np.maximum(weight[nugget], MIN_RELATIVE_WEIGHT * weight[nugget].mean()) * unsure
    order = np.argsort(rng.exponential(size=len(nugget)) / size, kind="stable")
    return nugget[order], size[order]


def _lines(
    composition: Composition, question: int, state: NuggetState, open_: Bools, guess: Vector
) -> tuple[LinearBound, LinearBound]:
    own = slice(int(composition.key.offsets[question]), int(composition.key.offsets[question + 1]))
    length = int(state.length[question])
    return linear_bounds(composition, question, length, open_[own], state.found[own], state.partly[own], guess[own])


def bound_measure(
    audit: DrawnAudit, state: NuggetState, judged: int, measure: Measure, key: AnswerKey
) -> AuditedMeasure | None:
    """What the first `judged` nuggets of an audit, whose verdicts are in `state`, prove of a measure. None where it is
    not made for that: a nugget that could not be drawn is open."""
    composition = measure.composition(key)
    drawable = np.zeros(len(key.nuggets), dtype=bool)
    drawable[audit.nugget] = True
    if (
        composition is None
        or not composition.defined.any()
        or bool((state.open_ & composition.matters & ~drawable).any())
    ):
        return None
    expected = audit.head.expected.get(measure.name)
    floor, ceiling = (_value(measure, key, state, state.open_ & likely) for likely in (False, True))
    if not judged:
        return AuditedMeasure(measure, None, None, None, expected)
    below, above = estimate_sequences(audit, state, judged, composition)
    low = bound_below(below.sequence, below.spread, audit.head.planned, floor, ceiling)
    high = -bound_below(above.sequence, above.spread, audit.head.planned, -ceiling, -floor)
    # Where between the two functions the guesses put the score, there we do.
    apart = -above.sequence.centre[0] - below.sequence.centre[0]
    share = min(max((expected[0] - below.sequence.centre[0]) / apart, 0.0), 1.0) if expected and apart > 1e-9 else 0.5
    value = (1 - share) * below.mean - share * above.mean
    return AuditedMeasure(measure, float(np.clip(value, low, high)), low, high, expected)


def _value(measure: Measure, key: AnswerKey, state: NuggetState, also: Bools) -> float:
    found = state.found | also
    values = measure(Answers(key, found, state.partly & ~found, state.length))
    return float(np.nanmean(values))


@dataclass(frozen=True)
class BoundEvidence:
    sequence: EstimateSequence
    spread: float

    @property
    def mean(self) -> float:
        """The mean of the estimates, each by how little was left to draw from."""
        weight = self.sequence.scale**-2
        return float(weight @ self.sequence.estimate / weight.sum())


def estimate_sequences(
    audit: DrawnAudit, state: NuggetState, judged: int, composition: Composition
) -> tuple[BoundEvidence, BoundEvidence]:
    """The estimates that the first nuggets make, of the function below, and of minus the one above. Before each, all
    that the nuggets before it settled is known, and the functions are drawn closer."""
    key, nugget, guess, size = composition.key, audit.nugget, audit.guess, audit.size
    guesses = np.zeros(len(key.nuggets))
    guesses[nugget] = guess
    open_ = np.zeros(len(key.nuggets), dtype=bool)
    open_[nugget] = True
    worth = state.found + composition.partly * state.partly
    constant = np.zeros((2, len(key.questions)))
    slope = np.zeros((2, len(key.nuggets)))
    count = int(composition.defined.sum())

    def draw_closer(question: int) -> None:
        own = np.arange(key.offsets[question], key.offsets[question + 1])
        for side, line in enumerate(_lines(composition, question, state, open_, guesses)):
            constant[side, question] = line.constant / count
            slope[side, own] = 0.0
            slope[side, own[open_[own]]] = line.slope / count

    for question in range(len(key.questions)):
        draw_closer(question)
    left = _left(size)
    rows = np.zeros((2, judged, 3))
    spread = np.zeros(2)
    for place in range(judged):
        one, rest = nugget[place], nugget[place:]
        for side, sign in enumerate((1.0, -1.0)):
            own = sign * slope[side, rest]
            centre = sign * constant[side].sum() + own @ guess[place:]
            each = own / size[place:]
            least = centre + left[place] * np.minimum(-each * guess[place:], each * (1 - guess[place:])).min()
            estimate = centre + left[place] * each[0] * (worth[one] - guess[place])
            rows[side, place] = estimate, least, centre
            if place == 0:
                spread[side] = np.sqrt((own**2 * guess * (1 - guess) / size).sum() / left[0])
        open_[one] = False
        draw_closer(int(key.question[one]))
    below, above = (
        BoundEvidence(EstimateSequence(row[:, 0], row[:, 1], row[:, 2], left[:judged]), float(spread[side]))
        for side, row in enumerate(rows)
    )
    return below, above


def _left(size: Vector) -> Vector:
    """The sizes of all that are left before each draw, together."""
    return np.cumsum(size[::-1])[::-1]
