"""How much judging, and how many questions, an interval of a given width takes.

The interval of a score has two parts, which add as squares. What guesses leave open shrinks with judging; what the
choice of questions leaves open does not, and shrinks as 1 / √questions. Audits are rehearsed: verdicts as the model
draws them, in orders that might be drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.audits import Head
from nuggeteer.judging.audits.betting import bound_below
from nuggeteer.judging.audits.estimate import (
    BoundEvidence,
    DrawnAudit,
    NuggetState,
    estimate_sequences,
    order_at_random,
)
from nuggeteer.judging.suggest import forecast
from nuggeteer.measures import Answers, Measure
from nuggeteer.measures.composition import Composition
from nuggeteer.records import Bools, Vector
from nuggeteer.scoring.outcomes import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import Interval

REHEARSALS = 3
INTERVAL_SDS = 2 * 1.959964  # standard deviations in a 95 % interval


@dataclass(frozen=True)
class Plan:
    """What it takes to get the whole interval of a score down to `width`.

    `sampling` is how wide it would be with every verdict known. Where that is too wide, `questions_needed` are more
    than the `questions` there are; else it is None. `part` is how wide the judging part may be: what `sampling` leaves
    of the `width`, or all of it where it leaves nothing and the score can be for these questions only. `guided`
    judgements of pairs, the best next one each time, or `audited` nuggets, drawn at random, bring it there; None where
    not even all would, or the measure cannot be audited. `open_nuggets` are left to judge."""

    run: str
    measure: Measure
    width: float
    now: Interval
    sampling: float
    questions: int
    questions_needed: int | None
    part: float
    guided: int | None
    audited: int | None
    open_nuggets: int


def plan(scorer: Scorer, matched: MatchedRun, measure: Measure, width: float) -> Plan:
    """What a whole interval of that width takes."""
    ahead = forecast(scorer, matched, measure)
    composition = measure.composition(scorer.key)
    run, state = scorer.score(matched), NuggetState.of(matched, scorer.key)
    drawn = run.outcome.drawn if run.outcome.drawn is not None else run.outcome.found[None, :]
    partly = np.broadcast_to(state.partly, drawn.shape) & ~drawn
    values = measure(Answers(scorer.key, drawn, partly, state.length))
    values = values[:, ~np.isnan(values).any(axis=0)]
    count = values.shape[1]
    if count < 2:
        raise NuggeteerError(
            f"{measure.name} is defined for {count} question: there is no telling how questions differ"
        )
    sampling = float(INTERVAL_SDS * values.std(axis=1, ddof=1).mean() / np.sqrt(count))
    enough = sampling < width
    part = math.sqrt(width**2 - sampling**2) if enough else width
    interval = run.measures[measure.name]
    return Plan(
        matched.run.name,
        measure,
        width,
        interval,
        sampling,
        count,
        None if enough else math.ceil(count * (sampling / width) ** 2),
        part,
        ahead.needed(part),
        _audited(scorer, state, run.outcome.probability, drawn, composition, part) if composition else None,
        int((state.open_ & composition.matters if composition else state.open_).sum()),
    )


def _audited(
    scorer: Scorer, state: NuggetState, guess: Vector, drawn: Bools, composition: Composition, part: float
) -> int | None:
    """How many nuggets of an audit bring its interval to a width: the mean over rehearsals."""
    rng = np.random.Generator(np.random.PCG64([scorer.seed, 7]))
    rehearsals = []
    for row in np.linspace(0, len(drawn) - 1, REHEARSALS).astype(int):
        nugget, size = order_at_random(state, guess, composition, rng)
        if not len(nugget):
            return 0
        audit = DrawnAudit(Head("", "", "", "", "", 0, 0, "", "", {}), nugget, guess[nugget], size)
        rehearsals.append(estimate_sequences(audit, replace(state, found=drawn[row]), len(nugget), composition))

    def wide(count: int) -> float:
        sides = [(_bound(below, count, 0.0), _bound(above, count, -1.0)) for below, above in rehearsals]
        return float(np.mean([-high - low for low, high in sides]))

    few, many = 0, len(rehearsals[0][0].sequence.estimate)
    if wide(many) > part:
        return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if wide(middle) <= part else (middle, many)
    return many


def _bound(side: BoundEvidence, count: int, floor: float) -> float:
    return bound_below(side.sequence.first(count), side.spread, count, floor, floor + 1)
