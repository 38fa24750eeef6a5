"""Which nuggets each answer has. They are known where a human decided, and guessed with a probability elsewhere.

A run is read and matched once (`matched_run.read`) and then decided (`find`), by itself: the random numbers of its
drawn verdicts belong to nuggets and texts (`drawing`). So its outcome is the same whatever other runs are in a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.measures import Answers
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.copula import AnswerPosterior, answer_posterior
from nuggeteer.scoring.drawing import Guesses, VerdictNoise, draw_verdicts, mean_chances, slices
from nuggeteer.scoring.known import UNKNOWN, YES
from nuggeteer.scoring.matched_run import MatchedRun, any_of
from nuggeteer.scoring.partly import PartialSupport
from nuggeteer.scoring.workers import can_share, work_on, zeros
from nuggeteer.thresholds import Draws, ThresholdModel
from nuggeteer.thresholds.smooth import SmoothFit
from nuggeteer.thresholds.smooth_draws import SmoothDraws

PAIRS = 1 << 18  # that are drawn at once


@dataclass(frozen=True, repr=False)
class Credit(Shown):
    """Of each nugget of the key, `response` is the position in the run of the response that gets the credit: the first
    one that carries the nugget or, if none does by itself, the likeliest; −1 if there is none. `best` is the highest
    match score of any response, NaN without an answer."""

    response: Ints
    best: Vector


@dataclass(frozen=True, repr=False)
class Outcome(Shown):
    """The result for one run: an entry for each nugget of the key.

    `probability` is the probability that the answer has the nugget, or NaN if the model gives none. The nugget is
    `found` if it is at least ½. An outcome is `known` if no guess could change it. Where all is known, the run is
    matched only when somebody asks for the `credit`.

    `partly` marks nuggets that are not found and are supported in part: more probably that or found than neither.
    `partial` is the probability of it. `contradicted` are nuggets that are not found and that some response, by a
    verdict, says the opposite of: this response, or −1 where the verdict is on the whole answer.
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


def condition_on_verdicts(matched: MatchedRun, key: AnswerKey, draws: Draws, open_: Bools) -> AnswerPosterior | None:
    """What the known pairs of answers with open nuggets show about the rest of these answers. None if there are none.

    For each nugget, whether some known pair is a yes is compared with the chance that some of *these* pairs is. Using
    only settled nuggets would mostly select those that were found, because a single yes settles a nugget and a single
    no does not."""
    decided = ~matched.guessed
    if not draws.answer_correlation or not decided.any():
        return None
    decided &= any_of(open_, key.question, len(key.questions))[key.question][matched.nugget]
    decided[decided] = ~np.isnan(matched.pairs.scores[decided])
    if not decided.any():
        return None
    where = np.flatnonzero(decided)
    asked, chance = mean_chances(Guesses.of(matched.pairs[where], *matched.groups_of(where), draws), draws)
    found = matched.certain[asked]
    return answer_posterior(chance, found, key.question[asked], len(key.questions), draws.answer_correlation)


def find(
    matched: MatchedRun,
    key: AnswerKey,
    model: ThresholdModel | None,
    draws: Draws | None,
    noise: VerdictNoise | None,
    posterior: Callable[[], AnswerPosterior | None] | None = None,
    jobs: int = 1,
) -> Outcome:
    """Decide which nuggets each answer of a run has. `noise` turns chances into drawn verdicts, given what the known
    ones show: a `posterior` that somebody has already, or else that of `condition_on_verdicts`. Where all is known, no
    model is needed."""
    size = len(key.nuggets)
    certain, guessed = matched.certain, matched.guessed
    partly = matched.partly
    if model is None or matched.decided:
        return Outcome(
            found=certain,
            partly=partly & ~certain,
            known=np.ones(size, dtype=bool),
            probability=certain.astype(float),
            credited=lambda: _credit_of_known(matched, size),
            length=matched.length,
            answered=np.diff(matched.run.offsets) > 0,
            pairs_known=len(guessed),
            pairs_guessed=0,
            drawn=None,
            partial=(partly & ~certain).astype(float),
            drawn_partly=None,
            contradicted=_not_found(matched.contradicted, certain),
        )
    run, pairs, states, begin = matched.run, matched.pairs, matched.states, matched.begin
    matches, nugget = pairs.scores, matched.nugget
    open_ = matched.open_nuggets
    carries = states == YES
    strength = matches  # credit goes to the guess with the most
    if pairs.carried is not None and isinstance(model, SmoothFit):
        strength = np.where(carries, 1.0, 0.0)
        strength[guessed] = matched.probability(model, np.flatnonzero(guessed))
        carries |= guessed & (strength >= 0.5)
    else:
        threshold = model.threshold(np.arange(size))
        likely = np.flatnonzero(guessed & (matches > np.nanmin(threshold, initial=1.0)))
        carries[likely] = matches[likely] > threshold[nugget[likely]]
    first = _first(carries, nugget, begin, size)
    found, chance, drawn = first >= 0, np.where(certain, 1.0, np.where(open_, np.nan, 0.0)), None
    in_part, drawn_partly = partly.astype(float), None
    if draws is not None and noise is not None and open_.any():
        given = posterior() if posterior else condition_on_verdicts(matched, key, draws, open_)
        has, supports, chance = _drawn(matched, key, model, draws, noise, given, open_, jobs)
        drawn = has.T
        # One row of nothing for all draws, where nobody says partly: draws of a large key take much memory.
        drawn_partly = (supports & ~has).T if supports.any() else np.zeros((1, size), dtype=bool)
        found = chance >= 0.5
        in_part = drawn_partly.mean(axis=0)
        partly = chance + in_part >= 0.5
        # Where only several responses together make a nugget probable, the likeliest gets the credit.
        alone = np.flatnonzero(guessed & (found & (first < 0))[nugget])
        likeliest = np.zeros(len(nugget), dtype=bool)
        strongest = np.zeros(size)
        np.fmax.at(strongest, nugget[alone], strength[alone])
        likeliest[alone] = strength[alone] == strongest[nugget[alone]]
        first = np.where(found, np.maximum(first, _first(likeliest, nugget, begin, size)), -1)
    elif draws is not None:
        found = certain
    credit = Credit(first, _best(matched, size))
    return Outcome(
        found=found,
        partly=partly & ~found,
        known=~open_,
        probability=chance,
        credited=lambda: credit,
        length=matched.length,
        answered=np.diff(run.offsets) > 0,
        pairs_known=int((~guessed).sum()),
        pairs_guessed=int(guessed.sum()),
        drawn=drawn,
        partial=np.where(found & ~open_, 0.0, in_part),
        drawn_partly=drawn_partly,
        contradicted=_not_found(matched.contradicted, found),
    )


def _drawn(
    matched: MatchedRun,
    key: AnswerKey,
    model: ThresholdModel,
    draws: Draws,
    noise: VerdictNoise,
    posterior: AnswerPosterior | None,
    open_: Bools,
    jobs: int,
) -> tuple[Bools, Bools, Vector]:
    """Nuggets × draws: found, and supported at least in part (one column, where nobody says partly); and the chance of
    each nugget to be found. Some answers at a time, so that those of a million responses take little memory."""
    size, parts = len(open_), list(slices(matched.run.offsets, matched.begin, PAIRS))
    certain, partly = matched.certain, matched.partly
    partial = _partial_support(matched, model, draws, open_)
    workers = can_share(jobs, len(parts))
    chance, has = zeros(size, float, workers), zeros((size, noise.count), bool, workers)
    supports = zeros((size, 1 if partial is None else noise.count), bool, workers)
    chance[:], has[:] = np.where(open_, np.nan, certain), certain[:, None]
    supports[:] = (partly if partial is None else certain | partly)[:, None]

    def draw_part(part: tuple[int, int]) -> None:
        guesses = _guesses(matched, draws, open_, *part)
        if guesses is None:
            return
        for own, found, supported, mean in draw_verdicts(
            guesses, key, draws, noise, matched.texts_of, posterior, partial
        ):
            has[own], chance[own] = found, mean
            if supported is not None:
                supports[own] |= supported

    work_on(parts, draw_part, workers)
    return has, supports, chance


def _not_found(contradicted: Mapping[int, int], found: Bools) -> dict[int, int]:
    return {nugget: response for nugget, response in contradicted.items() if not found[nugget]}


def _partial_support(matched: MatchedRun, model: ThresholdModel, draws: Draws, open_: Bools) -> PartialSupport | None:
    """How often the open nuggets of a run are supported in part; None where nobody says partly."""
    if not isinstance(model, SmoothFit) or not isinstance(draws, SmoothDraws) or np.isnan(model.partial).any():
        return None
    where = np.flatnonzero(matched.undecided)
    missed = np.log1p(-np.minimum(matched.probability(model, where), 1 - 1e-9))
    chance = -np.expm1(np.bincount(matched.pairs.nugget[where], missed, len(open_)))
    return PartialSupport.of(draws, matched.group, open_, chance)


def _credit_of_known(matched: MatchedRun, size: int) -> Credit:
    first = _first(matched.states == YES, matched.nugget, matched.begin, size)
    return Credit(first, _best(matched, size))


def _best(matched: MatchedRun, size: int) -> Vector:
    best = np.full(size, np.nan)
    np.fmax.at(best, matched.nugget, matched.pairs.scores)
    return best


def _guesses(matched: MatchedRun, draws: Draws, open_: Bools, first: int, last: int) -> Guesses | None:
    """The pairs to guess of these responses, from and to; None if there are none."""
    part = slice(int(matched.begin[first]), int(matched.begin[last]))
    wanted = (matched.states[part] == UNKNOWN) & open_[matched.pairs.nugget[part]]
    if matched.answers is not None:
        wanted &= (matched.answers == UNKNOWN)[matched.pairs.nugget[part]]
    if matched.is_repeat is not None:
        wanted &= ~matched.is_repeat[part]
    if not wanted.any():
        return None
    where = part.start + np.flatnonzero(wanted)
    text = matched.text[np.searchsorted(matched.begin, where, side="right") - 1]
    groups, group = matched.groups_of(where)
    return Guesses.of(matched.pairs[where], groups, group, draws, text)


def _first(flags: Bools, nugget: Ints, begin: Ints, size: int) -> Ints:
    """For each nugget, the first response of the run with a flagged pair; −1 if there is none."""
    result = np.full(size, -1, dtype=np.int64)
    hits = np.flatnonzero(flags)[::-1]  # the last written is the first in run order
    result[nugget[hits]] = np.searchsorted(begin, hits, side="right") - 1
    return result
