"""Which nuggets each answer has. They are known where a human decided, and guessed with a probability elsewhere.

A run is read once (`read`) and then decided (`find`), by itself: the random numbers of its drawn verdicts belong to
nuggets and texts (`drawing`). So its outcome is the same whatever other runs are in a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Matcher
from nuggeteer.measures import Answers
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector
from nuggeteer.scoring.answers import settle
from nuggeteer.scoring.copula import AnswerPosterior, answer_posterior
from nuggeteer.scoring.drawing import Guesses, VerdictNoise, draw_verdicts, mean_chances, slices
from nuggeteer.scoring.known import PARTLY, UNKNOWN, YES, States, VerdictIndex
from nuggeteer.scoring.partly import PartialSupport
from nuggeteer.text import normalised_and_length, verdict_form, verdict_form_of_normalised
from nuggeteer.thresholds import Draws, Pairs, ThresholdModel, size_of
from nuggeteer.thresholds.rows import key_of
from nuggeteer.thresholds.smooth import SmoothDraws, SmoothFit

MOST_PAIRS = 1_000_000_000  # of a run: what two small files can multiply to would fill any memory


@dataclass(frozen=True, repr=False)
class MatchedRun(Shown):
    """A run matched with the key. Each response has a pair with every nugget of its question. The pairs of response i
    begin at `begin[i]`.

    Where all is known, the run is matched when somebody asks for its `pairs` or `states`, because its score does not
    depend on them.

    `group` is the group of the run's system. A text that other systems return too may count as one of theirs
    (`owners`): then `owner` has the number of the group of each response, in `groups`."""

    run: Run
    group: str
    begin: Ints
    nugget: npt.NDArray[np.int32]  # of each pair
    match: Callable[[], Pairs]
    by_response: States  # of each pair, by verdicts on responses
    text: Ints  # of each response as a number, by its verdict form
    length: Ints  # of each answer
    is_repeat: Bools | None  # pairs of a response that repeats an earlier one of its answer; None if there are none
    answers: States | None = None  # of each nugget, by verdicts on whole answers; None if there are no such verdicts
    groups: tuple[str, ...] = ()
    owner: Ints | None = None
    contradicted: Mapping[int, int] = field(default_factory=dict)  # nuggets, by responses that say the opposite

    @cached_property
    def pairs(self) -> Pairs:
        return self.match()

    @cached_property
    def states(self) -> States:
        """What is known of each pair. The likeliest response of an answer with a yes is a yes."""
        if self.answers is None:
            return self.by_response
        states = self.by_response.copy()
        settle(states, self.pairs.scores, self.nugget, self.answers)
        return states

    @cached_property
    def guessed(self) -> Bools:
        """The pairs without a verdict, on the response or on the whole answer."""
        unknown = np.asarray(self.by_response == UNKNOWN)
        return unknown if self.answers is None else unknown & (self.answers == UNKNOWN)[self.nugget]

    @cached_property
    def decided(self) -> bool:
        """Whether all is known, so that there is nothing to guess."""
        return not self.guessed.any()

    @property
    def undecided(self) -> Bools:
        """The pairs to guess. A text that an answer repeats is guessed only once."""
        return self.guessed if self.is_repeat is None else np.asarray(self.guessed & ~self.is_repeat)

    def texts_of(self, question: int) -> Ints:
        """The different texts of an answer, as numbers."""
        return np.unique(self.text[self.run.offsets[question] : self.run.offsets[question + 1]])

    def groups_of(self, pairs: Ints) -> tuple[tuple[str, ...], Ints]:
        """The groups as whose texts pairs count, and the number of the group of each of these pairs."""
        if self.owner is None:
            return (self.group,), np.zeros(len(pairs), dtype=np.int64)
        return self.groups, self.owner[np.searchsorted(self.begin, pairs, side="right") - 1]

    def rates(self, draws: Draws, pairs: Ints, cell: Ints) -> Vector:
        """cells × draws: −log of the probability that no pair of a cell is a yes. Each cell, from 0, has pairs."""
        guesses = Guesses.of(self.pairs[pairs], *self.groups_of(pairs), draws, cell=cell)
        return np.concatenate([guesses.draw(*block, draws)[0] for block in guesses.blocks()])

    def probability(self, model: SmoothFit, pairs: Ints) -> Vector:
        """The probability that each of these pairs is a yes."""
        groups, number = self.groups_of(pairs)
        result = np.zeros(len(pairs))
        for i in np.unique(number).tolist():
            own = np.flatnonzero(number == i)
            result[own] = model.probability(self.pairs[pairs[own]], groups[i])
        return result

    def certain(self, nuggets: int) -> Bools:
        """The nuggets that some response is known to carry."""
        found = _any(self.by_response == YES, self.nugget, nuggets)
        return found if self.answers is None else found | (self.answers == YES)

    def open_nuggets(self, nuggets: int) -> Bools:
        """The nuggets that are not settled: some response is to be guessed, and none is known to carry it."""
        return np.asarray(_any(self.guessed, self.nugget, nuggets) & ~self.certain(nuggets))

    def partly(self, nuggets: int) -> Bools:
        """The nuggets that some response is known to support in part."""
        found = _any(self.by_response == PARTLY, self.nugget, nuggets)
        return found if self.answers is None else found | (self.answers == PARTLY)


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


def read(run: Run, group: str, key: AnswerKey, matcher: Matcher, known: VerdictIndex, jobs: int = 1) -> MatchedRun:
    """Human verdicts on all pairs of a run, and match scores."""
    count = int(key.counts[run.question].sum())
    if count > MOST_PAIRS:
        what = f"{count:,} pairs of a response and a nugget of its question, and {MOST_PAIRS:,} can be scored"
        raise NuggeteerError(f"{run.name}: has {what}; shorten the key or the run")
    texts, counts = [], []
    for text in run.texts:
        same, characters = normalised_and_length(text)
        texts.append(same)
        counts.append(characters)
    length = np.bincount(run.question, weights=counts, minlength=len(key.questions)).astype(np.int64)
    size = size_of(np.array(counts, dtype=np.int64))
    forms = list(map(verdict_form_of_normalised, texts))
    states = known.of_forms(forms, run.question)
    begin, where = ragged(key.offsets[run.question], key.counts[run.question])
    nugget = where.astype(np.int32)
    del where
    repeats = _repeats(forms, run.offsets)
    numbers = np.array(list(map(key_of, forms)), dtype=np.int64)
    contradicted = known.contradicted.of_run(run, forms)
    del forms, counts
    is_repeat = np.repeat(repeats, np.diff(begin)) if repeats is not None else None

    def match(texts: Sequence[str]) -> Pairs:
        return Pairs(matcher.score(texts, run.question, jobs), nugget, np.repeat(size, np.diff(begin)))

    answers = known.answers.of_run(run)
    later = MatchedRun(
        run,
        group,
        begin,
        nugget,
        lambda: match(run.normalised_texts),
        states,
        numbers,
        length,
        is_repeat,
        answers,
        contradicted=contradicted,
    )
    if later.decided:
        return later
    pairs = match(texts)
    if np.isnan(pairs.scores.sum()):  # which takes no memory of its own
        missing = np.flatnonzero(np.isnan(pairs.scores) & later.guessed)
        if len(missing):
            raise _unscored(run, key, matcher, missing)
    return replace(later, match=lambda: pairs)


def carry_over(matched: MatchedRun, matcher: Matcher, model: ThresholdModel) -> MatchedRun:
    """The same run, with the log odds that similar judged texts add to each guess, and with what judges say. Known
    pairs get both too, for what they say of the other pairs of their answers, unless the run was judged as a whole."""
    if not isinstance(model, SmoothFit) or not matcher.uses_judgements:
        return matched
    if model.hears_judges:
        opinions = matcher.opinions(matched.run.normalised_texts, matched.run.question)
        matched = _with_pairs(matched, replace(matched.pairs, opinions=opinions))
    if not model.pairs:  # nothing was judged
        return matched
    run, pairs, guessed = matched.run, matched.pairs, matched.guessed
    rows = np.flatnonzero(np.diff(np.append(0, np.cumsum(guessed))[matched.begin]))  # with anything to guess
    if not len(rows):
        return matched
    carried = matcher.carried([run.normalised_texts[row] for row in rows.tolist()], run.question[rows])
    if carried is None or not carried.any():
        return matched
    added = np.zeros(len(pairs), dtype=np.float32)
    added[ragged(matched.begin[rows], np.diff(matched.begin)[rows])[1]] = carried
    if run.info.judged != "none":
        added[~guessed] = 0.0
    return _with_pairs(matched, replace(pairs, carried=added))


def _with_pairs(matched: MatchedRun, pairs: Pairs) -> MatchedRun:
    return replace(matched, match=lambda: pairs)


def _unscored(run: Run, key: AnswerKey, matcher: Matcher, missing: Ints) -> NuggeteerError:
    begin, nugget = ragged(key.offsets[run.question], key.counts[run.question])
    response = int(np.searchsorted(begin, missing[0], side="right")) - 1
    first = key.nuggets[nugget[missing[0]]]
    return NuggeteerError(
        f"{run.name}: {len(missing):,} of {len(nugget):,} pairs have neither a verdict nor a score of the matcher "
        f"{matcher.signature}; the first is nugget {first.nugget!r} of {first.qid!r} in {run.texts[response]!r:.80}; "
        "score them, or choose another matcher"
    )


def _repeats(texts: Sequence[str], offsets: Ints) -> Bools | None:
    """Which responses repeat an earlier response to their question. `texts` are verdict forms."""
    result = None
    for begin, end in pairwise(offsets.tolist()):
        if len(set(texts[begin:end])) < end - begin:
            result = np.zeros(len(texts), dtype=bool) if result is None else result
            first: set[str] = set()
            for i in range(begin, end):
                result[i] = texts[i] in first
                first.add(texts[i])
    return result


def condition_on_verdicts(matched: MatchedRun, key: AnswerKey, draws: Draws, open_: Bools) -> AnswerPosterior | None:
    """What the known pairs of answers with open nuggets show about the rest of these answers. None if there are none.

    For each nugget, whether some known pair is a yes is compared with the chance that some of *these* pairs is. Using
    only settled nuggets would mostly select those that were found, because a single yes settles a nugget and a single
    no does not."""
    nugget, size = matched.pairs.nugget, len(open_)
    decided = ~matched.guessed & _any(open_, key.question, len(key.questions))[key.question][nugget]
    decided[decided] = ~np.isnan(matched.pairs.scores[decided])
    if not draws.answer_correlation or not decided.any():
        return None
    where = np.flatnonzero(decided)
    asked, chance = mean_chances(Guesses.of(matched.pairs[where], *matched.groups_of(where), draws), draws)
    found = matched.certain(size)[asked]
    return answer_posterior(chance, found, key.question[asked], len(key.questions), draws.answer_correlation)


def find(
    matched: MatchedRun,
    key: AnswerKey,
    model: ThresholdModel | None,
    draws: Draws | None,
    noise: VerdictNoise | None,
    posterior: Callable[[], AnswerPosterior | None] | None = None,
) -> Outcome:
    """Decide which nuggets each answer of a run has. `noise` turns chances into drawn verdicts, given what the known
    ones show: a `posterior` that somebody has already, or else that of `condition_on_verdicts`. Where all is known, no
    model is needed."""
    size = len(key.nuggets)
    certain, guessed = matched.certain(size), matched.guessed
    partly = matched.partly(size)
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
    open_ = matched.open_nuggets(size)
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
        has = certain[:, None].repeat(noise.count, axis=1)
        given = posterior() if posterior else condition_on_verdicts(matched, key, draws, open_)
        partial = _partial_support(matched, model, draws, open_)
        supports = partly[:, None] if partial is None else (certain | partly)[:, None].repeat(noise.count, axis=1)
        for guesses in _guesses(matched, draws, open_):
            decided = draw_verdicts(guesses, key, draws, noise, matched.texts_of, given, partial)
            for own, found_now, supported_now, mean in decided:
                has[own], chance[own] = found_now, mean
                if supported_now is not None:
                    supports[own] |= supported_now
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


def _guesses(matched: MatchedRun, draws: Draws, open_: Bools) -> Iterator[Guesses]:
    """The pairs to guess, some answers at a time, so that those of a million responses take little memory."""
    for first, last in slices(matched.run.offsets, matched.begin):
        part = slice(int(matched.begin[first]), int(matched.begin[last]))
        wanted = (matched.states[part] == UNKNOWN) & open_[matched.pairs.nugget[part]]
        if matched.answers is not None:
            wanted &= (matched.answers == UNKNOWN)[matched.pairs.nugget[part]]
        if matched.is_repeat is not None:
            wanted &= ~matched.is_repeat[part]
        if wanted.any():
            where = part.start + np.flatnonzero(wanted)
            text = matched.text[np.searchsorted(matched.begin, where, side="right") - 1]
            yield Guesses.of(matched.pairs[where], *matched.groups_of(where), draws, text)


def shared_texts(matched_runs: Sequence[MatchedRun]) -> list[tuple[Ints, list[int]]]:
    """For each run, the responses whose text is in no earlier run and in no earlier response of the answer; and the
    runs that return the text, as bits."""
    runs_of: dict[tuple[int, str], int] = {}
    new: list[dict[tuple[int, str], int]] = []
    for number, matched in enumerate(matched_runs):
        new.append({})
        questions = matched.run.question.tolist()
        for response, text in enumerate(zip(questions, map(verdict_form, matched.run.texts), strict=True)):
            if text not in runs_of:
                new[-1][text] = response
            runs_of[text] = runs_of.get(text, 0) | 1 << number
    return [(np.array(list(own.values()), dtype=np.int64), [runs_of[text] for text in own]) for own in new]


def _any(flags: Bools, nugget: npt.NDArray[np.signedinteger], size: int) -> Bools:
    result = np.zeros(size, dtype=bool)
    result[nugget[flags]] = True
    return result


def _first(flags: Bools, nugget: Ints, begin: Ints, size: int) -> Ints:
    """For each nugget, the first response of the run with a flagged pair; −1 if there is none."""
    result = np.full(size, -1, dtype=np.int64)
    hits = np.flatnonzero(flags)[::-1]  # the last written is the first in run order
    result[nugget[hits]] = np.searchsorted(begin, hits, side="right") - 1
    return result
