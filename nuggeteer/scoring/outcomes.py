"""Which nuggets each answer has. They are known where a human decided, and guessed with a probability elsewhere.

A run is read and matched once (`matched_run.read`) and then decided (`find`), by itself. In each draw an answer has a
nugget if a random number is below the chance. The number belongs to the nugget and to the text of the answer's best
response, so the outcome is the same whatever other runs are in a call, and equal texts get equal verdicts in all runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.measures import Answers
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.known import YES
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.workers import can_share, work_on, zeros
from nuggeteer.thresholds import Draws, ThresholdModel
from nuggeteer.thresholds.model import SupportsPartly
from nuggeteer.thresholds.rows import joined, key_of, random_rows

UNITS = 512  # drawn at once


@dataclass(frozen=True, repr=False)
class Credit(Shown):
    """For each nugget of the key, `response` is the position in the run of the response that gets the credit: the first
    that is known to carry it or, if none is, the best one; −1 if there is none. `best` is the highest match score of
    any response, NaN without an answer."""

    response: Ints
    best: Vector


@dataclass(frozen=True, repr=False)
class Outcome(Shown):
    """The result for one run: an entry for each nugget of the key.

    `probability` is the probability that the answer has the nugget, or NaN if the model gives none. The nugget is
    `found` if it is at least ½. An outcome is `known` if no guess could change it. If all is known, the run is matched
    only when the `credit` is needed.

    `partly` marks nuggets that are not found but supported in part: more probably that or found than neither. `partial`
    is the probability of partial support. `contradicted` has the nuggets that are not found and whose opposite, by a
    verdict, some response says: this response, or −1 if the verdict is on the whole answer.
    """

    found: Bools
    partly: Bools
    known: Bools
    probability: Vector
    credited: Callable[[], Credit]
    length: Ints
    answered: Bools
    pairs_known: int
    pairs_guessed: int
    drawn: Bools | None  # draws × nuggets: found, with drawn verdicts; None if there is nothing to draw
    partial: Vector
    drawn_partly: Bools | None  # draws × nuggets, or one row for all draws: supported in part and not found
    by_text: Mapping[str, Vector] = field(default_factory=dict)  # of measures that compare texts, by question
    contradicted: Mapping[int, int] = field(default_factory=dict)

    def answers(self, key: AnswerKey) -> Answers:
        """As decided."""
        return Answers(key, self.found, self.partly, self.length, self.by_text)

    def drawn_answers(self, key: AnswerKey) -> Answers | None:
        """As drawn."""
        if self.drawn is None or self.drawn_partly is None:
            return None
        return Answers(key, self.drawn, self.drawn_partly, self.length, self.by_text)

    @cached_property
    def credit(self) -> Credit:
        return self.credited()

    @property
    def response(self) -> Ints:
        return self.credit.response

    @property
    def best(self) -> Vector:
        return self.credit.best


class VerdictNoise:
    """The random numbers that turn chances into verdicts."""

    def __init__(self, key: AnswerKey, draws: int, seed: int) -> None:
        self._rows = random_rows(draws, seed)
        self._nugget = np.array([key_of(f"{n.qid}\0{n.nugget}") for n in key.nuggets], dtype=np.uint64)

    def __call__(self, nugget: Ints, text: Ints) -> Vector:
        """pairs × draws: numbers between 0 and 1."""
        return self._rows.uniform(joined(self._nugget[nugget], text))


def find(
    matched: MatchedRun,
    key: AnswerKey,
    model: ThresholdModel | None,
    draws: Draws | None,
    noise: VerdictNoise | None,
    jobs: int = 1,
) -> Outcome:
    """Decide which nuggets each answer of a run has. `noise` turns chances into drawn verdicts. If all is known, no
    model is needed."""
    certain, open_, partly = matched.certain, matched.open_nuggets, matched.partly
    probability, drawn, drawn_partly = certain.astype(float), None, None
    in_part = (partly & ~certain).astype(float)
    if model is not None and open_.any():
        where = np.flatnonzero(open_)
        if draws is None or noise is None:
            probability[open_] = np.nan
            found = certain.copy()
            found[where] = matched.scores[matched.best[where]] > model.threshold(where)
        else:
            drawn, supported = _drawn(matched, key, draws, noise, where, probability, jobs)
            found = probability >= 0.5
            drawn_partly = np.zeros((1, len(certain)), dtype=bool)
            if supported is not None:
                drawn_partly = supported & ~drawn
                in_part = drawn_partly.mean(axis=0)
                partly = probability + in_part >= 0.5
    else:
        found = certain
    return Outcome(
        found=found,
        partly=partly & ~found,
        known=~open_,
        probability=probability,
        credited=lambda: _credit(matched, found),
        length=matched.length,
        answered=matched.run.answered,
        pairs_known=int(matched.judged.sum()),
        pairs_guessed=int(matched.guessed.sum()),
        drawn=drawn,
        partial=np.where(found & ~open_, 0.0, in_part),
        drawn_partly=drawn_partly,
        contradicted={nugget: at for nugget, at in matched.contradicted.items() if not found[nugget]},
    )


def _drawn(
    matched: MatchedRun,
    key: AnswerKey,
    draws: Draws,
    noise: VerdictNoise,
    open_: Ints,
    probability: Vector,
    jobs: int,
) -> tuple[Bools, Bools | None]:
    """Draws × nuggets: found, and at least supported in part, None where nobody says partly. Fills in the probability
    of the open nuggets. Takes some questions at a time, so that a million responses need little memory."""
    size, parts = len(probability), list(_by_questions(key.question[open_]))
    partial = draws if isinstance(draws, SupportsPartly) and draws.odds_in_part is not None else None
    workers = can_share(jobs, len(parts))
    has, chance = zeros((size, draws.count), bool, workers), zeros(size, float, workers)
    has[:] = matched.certain[:, None]
    supports = zeros((size if partial else 1, draws.count), bool, workers)
    if partial:
        supports[:] = (matched.certain | matched.partly)[:, None]

    def draw_part(part: slice) -> None:
        units = matched.units(key, open_[part])
        own, number = draws.chances(units), noise(units.nugget, units.text.astype(np.int64))
        chance[units.nugget] = own.mean(axis=1, dtype=float)
        has[units.nugget] = number < own
        if partial is not None and partial.odds_in_part is not None:
            more = own * partial.odds_in_part
            supports[units.nugget] |= number < more / (1 - own + more)

    work_on(parts, draw_part, workers)
    probability[open_] = chance[open_]
    return has.T, supports.T if partial else None


def _by_questions(question: Ints) -> list[slice]:
    """The units of whole questions, a few questions at a time."""
    ends = np.append(np.flatnonzero(np.diff(question)) + 1, len(question)).tolist()
    parts, first = [], 0
    for end, following in zip(ends, [*ends[1:], ends[-1]], strict=True):
        if following - first > UNITS or end == len(question):
            parts.append(slice(first, end))
            first = end
    return parts


def _credit(matched: MatchedRun, found: Bools) -> Credit:
    """For each found nugget, the first response that is known to carry it, or else the best one."""
    size = len(found)
    response, best = np.full(size, -1, dtype=np.int64), np.full(size, np.nan)
    np.fmax.at(best, matched.nugget, matched.scores)
    hits = np.flatnonzero(matched.states == YES)[::-1]  # the last written is the first in run order
    response[matched.nugget[hits]] = matched.response_of(hits)
    guessed = np.flatnonzero(found & (response < 0) & (matched.best >= 0))
    response[guessed] = matched.response_of(matched.best[guessed])
    return Credit(np.where(found, response, -1), best)


def by_group(key: AnswerKey, outcome: Outcome) -> Outcome:
    """The outcome in which each nugget of a group has the group's. A group is known if no guess could change it, and
    found if its probability is at least ½; without probabilities, if its decided nuggets say so."""
    if not key.groups:
        return outcome
    spread = key.grouping.spread
    inside = np.zeros(len(key.nuggets), dtype=bool)
    for at in key.grouping.inside:
        inside[at] = True
    worst, best = (np.where(outcome.known, outcome.found, other) for other in (False, True))
    known = spread(worst) == spread(best)
    decided = spread(outcome.found)
    drawn = None if outcome.drawn is None else spread(outcome.drawn)
    chance = np.where(known, decided.astype(float), np.nan) if drawn is None else drawn.mean(axis=0)
    chance = np.where(inside, chance, outcome.probability)
    found = np.where(inside & ~np.isnan(chance), chance >= 0.5, decided)
    return replace(
        outcome,
        found=found,
        known=known,
        probability=chance,
        drawn=drawn,
        contradicted={i: at for i, at in outcome.contradicted.items() if not found[i]},
    )
