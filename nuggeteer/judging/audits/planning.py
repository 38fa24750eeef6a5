"""How many verdicts, and how many questions, an interval of a given width takes.

The interval of a score has two parts, whose squares add up. The judging part shrinks with verdicts. The sampling part
does not; it shrinks as 1 / √questions. Audits are rehearsed, with verdicts drawn from the model, in random orders.
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
    Estimates,
    NuggetState,
    order_at_random,
)
from nuggeteer.judging.suggest import forecast
from nuggeteer.measures import Measure
from nuggeteer.measures.composition import Composition
from nuggeteer.records import Bools, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import Interval

REHEARSALS = 3
FIRST = 128  # nuggets that are rehearsed first; as long as they are too few, twice as many
INTERVAL_SDS = 2 * 1.959964  # standard deviations in a 95 % interval


@dataclass(frozen=True)
class Plan:
    """What it takes to narrow the whole interval of a score to `width`.

    `sampling` is the width with every verdict known. If that is too wide, `questions_needed` is the number of questions
    it takes; otherwise None. `part` is the width allowed for the judging part: what `sampling` leaves of `width`. If it
    leaves nothing, `part` is all of `width`, for a score that holds for these questions only.

    `guided` is the number of verdicts if the best next pair is judged each time, `audited` the number of nuggets in a
    random order; None if not even all are enough, or if the measure cannot be audited. `open_nuggets` are not judged
    yet."""

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
    """What a whole interval of this width takes."""
    ahead = forecast(scorer, matched, measure)
    composition = measure.auditable(scorer.key)
    run, state = scorer.score(matched), NuggetState.of(matched, scorer.key)
    drawn = run.outcome.drawn if run.outcome.drawn is not None else run.outcome.found[None, :]
    values = np.atleast_2d(measure(run.outcome.drawn_answers(scorer.key) or run.outcome.answers(scorer.key)))
    values = values[:, ~np.isnan(values).any(axis=0)]
    count = values.shape[1]
    if count < 2:
        raise NuggeteerError(
            f"{measure.name} is defined for {count} question: that is too few to estimate how questions differ"
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
    """How many nuggets of an audit narrow its interval to a width, by the mean of the rehearsals."""
    rng = np.random.Generator(np.random.PCG64([scorer.seed, 7]))
    rehearsals = []
    for row in np.linspace(0, len(drawn) - 1, REHEARSALS).astype(int):
        nugget, size = order_at_random(state, guess, composition, rng)
        if not len(nugget):
            return 0
        audit = DrawnAudit(Head("", "", "", "", "", 0, 0, "", "", {}), nugget, guess[nugget], size)
        rehearsals.append(Estimates(audit, replace(state, found=drawn[row]), composition))

    def wide(count: int) -> float:
        pairs = [rehearsal.first(count) for rehearsal in rehearsals]
        sides = [(_bound(below, count, 0.0), _bound(above, count, -1.0)) for below, above in pairs]
        return float(np.mean([-high - low for low, high in sides]))

    few, many = 0, min(FIRST, len(nugget))
    while wide(many) > part:
        if many == len(nugget):
            return None
        few, many = many, min(2 * many, len(nugget))
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if wide(middle) <= part else (middle, many)
    return many


def _bound(side: BoundEvidence, count: int, floor: float) -> float:
    return bound_below(side.sequence, side.spread, count, floor, floor + 1)
