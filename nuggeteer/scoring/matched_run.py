"""A run with what is known of it: verdicts on its pairs, and match scores of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Matcher
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector
from nuggeteer.scoring.answers import settle
from nuggeteer.scoring.drawing import Guesses, slices
from nuggeteer.scoring.known import PARTLY, UNKNOWN, YES, States, VerdictIndex
from nuggeteer.scoring.normalising import forms_and_lengths
from nuggeteer.scoring.workers import can_share, copies, work_on, zeros
from nuggeteer.text import verdict_form
from nuggeteer.thresholds import Draws, Pairs, ThresholdModel, size_of
from nuggeteer.thresholds.rows import key_of
from nuggeteer.thresholds.smooth import SmoothFit

MOST_PAIRS = 1_000_000_000  # of a run: what two small files can multiply to would fill any memory
AT_ONCE = 1_000_000  # pairs that are matched at once; also what one worker takes


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
    nuggets: int  # of the key
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

    @cached_property
    def certain(self) -> Bools:
        """The nuggets that some response is known to carry."""
        found = any_of(self.by_response == YES, self.nugget, self.nuggets)
        return found if self.answers is None else found | (self.answers == YES)

    @cached_property
    def open_nuggets(self) -> Bools:
        """The nuggets that are not settled: some response is to be guessed, and none is known to carry it."""
        return np.asarray(any_of(self.guessed, self.nugget, self.nuggets) & ~self.certain)

    @cached_property
    def partly(self) -> Bools:
        """The nuggets that some response is known to support in part."""
        found = any_of(self.by_response == PARTLY, self.nugget, self.nuggets)
        return found if self.answers is None else found | (self.answers == PARTLY)


def read(run: Run, group: str, key: AnswerKey, matcher: Matcher, known: VerdictIndex, jobs: int = 1) -> MatchedRun:
    """Human verdicts on all pairs of a run, and match scores."""
    count = int(key.counts[run.question].sum())
    if count > MOST_PAIRS:
        what = f"{count:,} pairs of a response and a nugget of its question, and {MOST_PAIRS:,} can be scored"
        raise NuggeteerError(f"{run.name}: has {what}; shorten the key or the run")
    begin = np.append(0, np.cumsum(key.counts[run.question]))
    parts = list(slices(run.offsets, begin, AT_ONCE))
    workers = can_share(jobs, len(parts))
    answers = known.answers.of_run(run)
    texts_of_part = [run.texts[slice(*part)] for part in parts] if workers > 1 else []
    nugget = zeros(count, np.int32, workers)
    states, scores = zeros(count, np.int8, workers), zeros(count, float, workers)
    numbers, counts = zeros(len(run), np.int64, workers), zeros(len(run), np.int64, workers)
    repeats, matched = zeros(len(run), bool, workers), zeros(len(parts), bool, workers)

    def read_part(number: int) -> None:
        first, last = parts[number]
        own, pairs, question = slice(first, last), slice(int(begin[first]), int(begin[last])), run.question[first:last]
        nugget[pairs] = ragged(key.offsets[question], key.counts[question])[1]
        texts = run.texts[own] if workers == 1 else copies(texts_of_part[number])
        texts, forms, counts[own] = forms_and_lengths(texts)
        numbers[own] = list(map(key_of, forms))
        repeats[own] = _repeats(forms, question)
        states[pairs] = known.of_forms(forms, question)
        open_ = states[pairs] == UNKNOWN
        if answers is not None:
            open_ &= (answers == UNKNOWN)[nugget[pairs]]
        if open_.any():
            match_part(number, texts)

    def match_part(number: int, texts: Sequence[str]) -> None:
        first, last = parts[number]
        jobs_left = jobs if workers == 1 else 1
        scores[int(begin[first]) : int(begin[last])] = matcher.score(texts, run.question[first:last], jobs_left)
        matched[number] = True

    def match() -> Pairs:
        for number in np.flatnonzero(~matched).tolist():
            match_part(number, run.normalised_texts[slice(*parts[number])])
        return Pairs(scores, nugget, np.repeat(size_of(counts), np.diff(begin)))

    work_on(range(len(parts)), read_part, workers)
    later = MatchedRun(
        run,
        group,
        len(key.nuggets),
        begin,
        nugget,
        match,
        states,
        numbers,
        np.bincount(run.question, weights=counts, minlength=len(key.questions)).astype(np.int64),
        np.repeat(repeats, np.diff(begin)) if repeats.any() else None,
        answers,
        contradicted=known.contradicted.of_run(run),
    )
    if not later.decided and np.isnan(later.pairs.scores.sum()):  # which takes no memory of its own
        missing = np.flatnonzero(np.isnan(later.pairs.scores) & later.guessed)
        if len(missing):
            raise _unscored(run, key, matcher, missing)
    return later


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
    if carried is None or not np.nan_to_num(carried).any():
        return matched
    added = np.zeros(len(pairs), dtype=np.float32)
    added[ragged(matched.begin[rows], np.diff(matched.begin)[rows])[1]] = model.carry_over(carried)
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


def _repeats(texts: Sequence[str], question: npt.NDArray[np.int32]) -> Bools:
    """Which responses repeat an earlier response to their question. `texts` are verdict forms."""
    result = np.zeros(len(texts), dtype=bool)
    if len(set(texts)) < len(texts):
        seen = set[tuple[int, str]]()
        for i, text in enumerate(zip(question.tolist(), texts, strict=True)):
            result[i] = text in seen
            seen.add(text)
    return result


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


def any_of(flags: Bools, nugget: npt.NDArray[np.signedinteger], size: int) -> Bools:
    result = np.zeros(size, dtype=bool)
    result[nugget[flags]] = True
    return result
