"""What verdicts on a random sample of guesses prove about the score of a run, however wrong the guesses are.

The estimate is a difference estimator (Des Raj 1956; prediction-powered inference, Angelopoulos et al. 2023). It is the
score that the guesses predict, plus the errors of the guesses on the drawn nuggets, each weighted by 1 / probability.
The interval comes from bets at fair odds on linear functions of the nuggets found, one a lower and one an upper bound
on the score (`envelope`). It is valid after any number of verdicts.

The bets: units are drawn one after another without replacement. Each draw gives an estimate of the total, and its mean,
given all earlier draws, is the total. Anyone who claims that the total is at most m must offer fair odds on estimates
above m. The probability that capital bet against a true claim ever grows to 1/p times its size is at most p (Ville
1939). So a claim against which capital has grown to 1/p is refuted, whatever draw one stops at. The bound is the
smallest m that is not refuted (Waudby-Smith & Ramdas 2024; for draws with unequal probabilities and without
replacement: Shekhar, Xu, Lipton, Liang & Ramdas 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nuggeteer.formats.audits import Head
from nuggeteer.judging.audits.envelope import LinearBound, linear_bounds
from nuggeteer.measures import Answers, Measure
from nuggeteer.measures.base import Composition
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.matched_run import MatchedRun

LOG_CAPITAL = float(np.log(40))  # refutes at 2.5 % on each side
MAX_STAKE = 0.75  # the largest share of the capital in one bet
PRIOR_DRAWS = 4.0  # how many draws the expected spread counts for


@dataclass(frozen=True)
class EstimateSequence:
    """Estimates of a total, one entry for each draw.

    `estimate` is the estimate of the draw, `least` the smallest it could have been, and `centre` its value if the guess
    is right. `scale` is proportional to the spread around the centre, which falls as fewer units are left. All but
    `estimate` are known before the draw."""

    estimate: Vector
    least: Vector
    centre: Vector
    scale: Vector


def bound_below(sequence: EstimateSequence, spread: float, planned: int, floor: float, ceiling: float) -> float:
    """A lower bound on the total with 97.5 % confidence, between `floor` and `ceiling`, its certain limits.

    The bets are the best ones for `planned` draws with the spread seen so far; at the start that is `spread`."""
    size = len(sequence.estimate)
    if not size:
        return floor
    error = (sequence.estimate - sequence.centre) / sequence.scale
    draw = np.arange(size)
    away = (error - np.cumsum(error) / (PRIOR_DRAWS + draw + 1)) ** 2
    variance = (PRIOR_DRAWS * spread**2 + np.cumsum(away) - away) / (PRIOR_DRAWS + draw)
    with np.errstate(divide="ignore"):
        bet = np.sqrt(2 * LOG_CAPITAL / (np.maximum(planned, draw + 1) * variance)) / sequence.scale

    def refuted(claim: float) -> bool:
        room = claim - sequence.least
        if (room <= 0).any():
            return True
        stake = np.minimum(bet * room, MAX_STAKE)
        capital = np.cumsum(np.log1p(stake * ((sequence.estimate - sequence.least) / room - 1)))
        return bool(capital.max() >= LOG_CAPITAL)

    low, high = floor, ceiling
    for _ in range(50):
        middle = (low + high) / 2
        if refuted(middle):
            low = middle
        else:
            high = middle
    return low


MIN_GUESS_SPREAD = 0.4  # of a guess. Even a certain one may be wrong, and a unit drawn too rarely counts for too much
DRAWS = 100  # of verdicts by the guesses
MIN_RELATIVE_WEIGHT = 0.1  # relative to the mean, because a nugget that weighs nothing now may weigh something later


@dataclass(frozen=True)
class DrawnAudit:
    """An audit in terms of the key: its units in the order drawn. Unit i has the nuggets from `begin[i]` to `begin[i +
    1]`: one, or all that are open in an answer (`head.by`). Each nugget has a guess, each unit its size. `planned` is
    the number of units to judge."""

    head: Head
    nugget: Ints
    begin: Ints
    guess: Vector
    size: Vector
    planned: int = 0

    @property
    def probability(self) -> Vector:
        """The probability with which each unit was drawn from those left."""
        return self.size / _left(self.size)

    def unit(self, index: int) -> Ints:
        return self.nugget[slice(*self.begin[index : index + 2])]

    def mark(self, index: int) -> Mapping[str, Any]:
        """What verdicts on the unit at this index are marked with."""
        return {"id": self.head.audit, "place": index + 1, "probability": float(self.probability[index])}


@dataclass(frozen=True)
class AuditedMeasure:
    """What an audit proves about one measure.

    `value` estimates the measure on these questions if all pairs were judged, with the 95 % interval `low` to `high`;
    None before the first verdict. `expected` is what the guesses predicted: value, low, high."""

    measure: Measure
    value: float | None
    low: float | None
    high: float | None
    expected: tuple[float, float, float] | None

    @property
    def disagrees(self) -> bool | None:
        """Whether the two intervals are disjoint: then the guesses, or their probabilities, are wrong."""
        if self.expected is None or self.low is None or self.high is None:
            return None
        return self.expected[2] < self.low or self.high < self.expected[1]


@dataclass(frozen=True)
class NuggetState:
    """What is known about the nuggets in the answers of a run."""

    open_: Bools
    found: Bools
    partly: Bools
    length: Ints

    @classmethod
    def of(cls, matched: MatchedRun, key: AnswerKey) -> NuggetState:
        found, open_ = matched.certain, np.zeros(len(key.nuggets), dtype=bool)
        open_[matched.nugget[matched.guessed]] = True
        return cls(open_ & ~found, found, matched.partly & ~found, matched.length)


def sizes_of(state: NuggetState, guess: Vector, composition: Composition) -> tuple[Ints, Vector]:
    """The open nuggets that matter, and the size of each: its weight in the score × the doubt about its guess."""
    key = composition.key
    weight = np.zeros(len(key.nuggets))
    for question in range(len(key.questions)):
        own = np.arange(key.offsets[question], key.offsets[question + 1])
        low, high = _lines(composition, question, state, state.open_, guess)
        weight[own[state.open_[own]]] = np.maximum(low.slope, high.slope)
    nugget = np.flatnonzero(state.open_ & composition.matters)
    unsure = np.maximum(np.sqrt(guess[nugget] * (1 - guess[nugget])), MIN_GUESS_SPREAD)
    return nugget, at_least(weight[nugget]) * unsure


def at_least(size: Vector) -> Vector:
    """The sizes, with none far below the mean."""
    return np.maximum(size, MIN_RELATIVE_WEIGHT * size.mean()) if len(size) else size


def _lines(
    composition: Composition, question: int, state: NuggetState, open_: Bools, guess: Vector
) -> tuple[LinearBound, LinearBound]:
    own = composition.key.own(question)
    length = int(state.length[question])
    return linear_bounds(composition, question, length, open_[own], state.found[own], state.partly[own], guess[own])


def bound_measure(
    audit: DrawnAudit, state: NuggetState, judged: int, measure: Measure, key: AnswerKey
) -> AuditedMeasure | None:
    """What the first `judged` units of an audit prove about a measure, with their verdicts in `state`.

    None if the measure cannot be audited, or if a nugget is open that could not be drawn."""
    composition = measure.auditable(key)
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
    below, above = estimates_of(audit, state, composition, measure).first(judged)
    low = bound_below(below.sequence, below.spread, audit.planned, floor, ceiling)
    high = -bound_below(above.sequence, above.spread, audit.planned, -ceiling, -floor)
    # The guesses put the score at a point between the two functions. The estimate is at the same point.
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
        """The mean of the estimates. Those drawn from fewer units are more exact and weigh more."""
        weight = self.sequence.scale**-2
        return float(weight @ self.sequence.estimate / weight.sum())


class Sequences(Protocol):
    """The estimates from the units of an audit, of the lower bound and of minus the upper bound."""

    def first(self, judged: int) -> tuple[BoundEvidence, BoundEvidence]:
        """From the first `judged` units."""
        ...


def estimates_of(audit: DrawnAudit, state: NuggetState, composition: Composition, measure: Measure) -> Sequences:
    """The estimates of a measure from the units of an audit, with the verdicts in `state`."""
    if audit.head.by == "answer":
        return AnswerEstimates(audit, state, composition, measure)
    return NuggetEstimates(audit, state, composition)


class AnswerEstimates:
    """The estimates from whole answers. The value of an answer that was read is known exactly, so both bounds are the
    same. What the guesses expect of it may be any number: here, the mean of verdicts drawn by the guesses."""

    def __init__(self, audit: DrawnAudit, state: NuggetState, composition: Composition, measure: Measure) -> None:
        key = composition.key
        drawable, guess = np.zeros(len(key.nuggets), dtype=bool), np.zeros(len(key.nuggets))
        drawable[audit.nugget], guess[audit.nugget] = True, audit.guess
        known, partly = state.found & ~drawable, state.partly & ~drawable

        def values(found: Bools, partly: Bools) -> Vector:
            of_questions = measure(Answers(key, found, partly & ~found, state.length))
            return np.where(composition.defined, of_questions, 0.0) / int(composition.defined.sum())

        drawn = values(known | (np.random.Generator(np.random.PCG64(0)).random((DRAWS, len(guess))) < guess), partly)
        question = key.question[audit.nugget[audit.begin[:-1]]]
        centre = drawn.mean(axis=0)
        ends = [values(known, partly), values(known | drawable, partly)]
        least, most = (((end - centre)[question] / audit.size) for end in ends)
        error = (values(state.found, state.partly) - centre)[question]
        self._left = _left(audit.size)
        self._expected = centre.sum() + np.cumsum(error) - error
        self._estimate = self._expected + self._left * error / audit.size
        self._least = self._expected + self._left * _least(least)
        self._most = self._expected - self._left * _least(-most)
        self._spread = float(np.sqrt((drawn.var(axis=0)[question] / audit.size).sum() / self._left[0]))

    def first(self, judged: int) -> tuple[BoundEvidence, BoundEvidence]:
        own = slice(judged)
        estimate, expected, left = self._estimate[own], self._expected[own], self._left[own]
        below = EstimateSequence(estimate, self._least[own], expected, left)
        above = EstimateSequence(-estimate, -self._most[own], -expected, left)
        return BoundEvidence(below, self._spread), BoundEvidence(above, self._spread)


class NuggetEstimates:
    """The estimates from single nuggets, one after the other, as far as somebody asks for them.

    Before each draw the verdicts on the nuggets before it are known, and the bounds are tightened."""

    def __init__(self, audit: DrawnAudit, state: NuggetState, composition: Composition) -> None:
        self._audit, self._state, self._composition, self._key = audit, state, composition, composition.key
        nuggets, questions = len(self._key.nuggets), len(self._key.questions)
        self._guess, self._size = np.zeros((2, nuggets))
        self._guess[audit.nugget], self._size[audit.nugget] = audit.guess, audit.size
        self._open = np.zeros(nuggets, dtype=bool)
        self._open[audit.nugget] = True
        self._worth = state.found + composition.partly * state.partly
        self._count = int(composition.defined.sum())
        self._slope = np.zeros((2, nuggets))
        # For each question: what the guesses expect, and the least that the draw of one of its nuggets may add.
        self._centre, self._least = np.zeros((2, 2, questions))
        for question in range(questions):
            self._tighten(question)
        self._left, slope = _left(audit.size), self._slope[:, audit.nugget]
        variance = (slope**2 * audit.guess * (1 - audit.guess) / audit.size).sum(axis=1)
        self._spread = np.sqrt(variance / self._left[0])
        self._rows, self._done = np.zeros((2, len(audit.nugget), 3)), 0

    def first(self, judged: int) -> tuple[BoundEvidence, BoundEvidence]:
        """Of the lower bound and of minus the upper bound, from the first `judged` nuggets."""
        for i in range(self._done, judged):
            self._draw(i)
        self._done = max(self._done, judged)
        below, above = (
            BoundEvidence(EstimateSequence(row[:, 0], row[:, 1], row[:, 2], self._left[:judged]), float(spread))
            for row, spread in zip(self._rows[:, :judged], self._spread, strict=True)
        )
        return below, above

    def _draw(self, i: int) -> None:
        drawn, left, size = int(self._audit.nugget[i]), self._left[i], self._audit.size[i]
        expected = self._centre.sum(axis=1)
        estimate = expected + left * self._slope[:, drawn] / size * (self._worth[drawn] - self._guess[drawn])
        self._rows[:, i] = np.stack([estimate, expected + left * self._least.min(axis=1), expected], axis=1)
        self._open[drawn] = False
        self._tighten(int(self._key.question[drawn]))

    def _tighten(self, question: int) -> None:
        nuggets = self._key.own(question)
        own = nuggets.start + np.flatnonzero(self._open[nuggets])
        guess, lines = self._guess[own], _lines(self._composition, question, self._state, self._open, self._guess)
        for side, (sign, line) in enumerate(zip((1, -1), lines, strict=True)):
            slope = sign * line.slope / self._count
            self._slope[side, own] = slope
            self._centre[side, question] = sign * line.constant / self._count + slope @ guess
            each = slope / self._size[own]
            self._least[side, question] = np.minimum(-each * guess, each * (1 - guess)).min(initial=np.inf)


def _left(size: Vector) -> Vector:
    """The total size of the units left before each draw."""
    return np.cumsum(size[::-1])[::-1]


def _least(values: Vector) -> Vector:
    """The least value of the units left before each draw."""
    return np.minimum.accumulate(values[::-1])[::-1]
