"""How many verdicts, and how many questions, an interval of a given width takes.

The interval of a score has two parts, whose squares add up. The judging part shrinks with verdicts. The sampling part
does not; it shrinks as 1 / √questions. Audits are rehearsed, with verdicts drawn from the model, in random orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.audits import By
from nuggeteer.judging.audits.design import AuditCosts, Designs, Rehearsals
from nuggeteer.judging.audits.estimate import NuggetState
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.measures import Measure
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.scores import RunScore
from nuggeteer.statistics.intervals import REACH, Interval

FIRST = 128  # nuggets that are rehearsed first; as long as they are too few, twice as many


@dataclass(frozen=True)
class Plan:
    """What it takes to narrow the whole interval of a score to `width`.

    `sampling` is the width with every verdict known. If that is too wide, `questions_needed` is the number of questions
    it takes; otherwise None. `part` is the width allowed for the judging part: what `sampling` leaves of `width`. If it
    leaves nothing, `part` is all of `width`, for a score that holds for these questions only.

    `minutes` of reading, with `guided` verdicts, are expected to be enough in the order of `judge`; `audited` is the
    number of nuggets in a random order, or what takes as long as these: `audit_minutes`. None if not even all are
    enough, or if the measure cannot be audited. `open_nuggets` are not judged yet."""

    run: str
    measure: Measure
    width: float
    now: Interval
    sampling: float
    questions: int
    questions_needed: int | None
    part: float
    minutes: float | None
    guided: int | None
    audited: int | None
    audit_minutes: float | None
    open_nuggets: int


def plan(scorer: Scorer, matched: MatchedRun, measure: Measure, width: float) -> Plan:
    """What a whole interval of this width takes."""
    if scorer.draws is None:
        raise NuggeteerError("a fixed threshold gives no probabilities, so it cannot say how wide the interval will be")
    ahead = ReadingOrder(scorer, matched, measure).forecast()
    composition = measure.auditable(scorer.key)
    run, open_ = scorer.score(matched), NuggetState.of(matched, scorer.key).open_
    values = np.atleast_2d(measure(run.outcome.drawn_answers(scorer.key) or run.outcome.answers(scorer.key)))
    values = values[:, ~np.isnan(values).any(axis=0)]
    count = values.shape[1]
    if count < 2:
        raise NuggeteerError(
            f"{measure.name} is defined for {count} question: that is too few to estimate how questions differ"
        )
    sampling = float(2 * REACH * values.std(axis=1, ddof=1).mean() / np.sqrt(count))
    enough = sampling < width
    part = math.sqrt(width**2 - sampling**2) if enough else width
    interval, minutes = run.measures[measure.name], ahead.minutes_for(part)
    audited, audit_minutes = _audited(scorer, matched, run, measure, part)
    return Plan(
        matched.run.name,
        measure,
        width,
        interval,
        sampling,
        count,
        None if enough else math.ceil(count * (sampling / width) ** 2),
        part,
        minutes,
        None if minutes is None else ahead.verdicts_after(minutes),
        audited,
        audit_minutes,
        int((open_ & composition.matters if composition else open_).sum()),
    )


def _audited(
    scorer: Scorer, matched: MatchedRun, run: RunScore, measure: Measure, part: float
) -> tuple[int, float] | tuple[None, None]:
    """How large an audit must be to narrow its interval to a width, by the mean of the rehearsals: in single nuggets,
    or in what takes as long; and the minutes that it takes."""
    composition = measure.auditable(scorer.key)
    if composition is None:
        return None, None
    outcome, state = run.outcome, NuggetState.of(matched, scorer.key)
    drawn = outcome.found[None, :] if outcome.drawn is None else outcome.drawn
    costs = AuditCosts(scorer.key, matched.run)
    designs = Designs(state, outcome.probability, drawn, composition, measure, costs, scorer.seed)
    if not len(designs.nuggets):
        return 0, 0.0
    ways = [designs.rehearsals(by) for by in get_args(By)]
    found = [(_enough(way, len(designs.nuggets), part), way) for way in ways]
    enough = [(count, way.minutes(count)) for count, way in found if count is not None]
    return min(enough, default=(None, None))


def _enough(rehearsals: Rehearsals, size: int, part: float) -> int | None:
    few, many = 0, min(FIRST, size)
    while rehearsals.width(many) > part:
        if many == size:
            return None
        few, many = many, min(2 * many, size)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if rehearsals.width(middle) <= part else (middle, many)
    return many
