"""A run with what is known about it: verdicts on its pairs, match scores, and what a model is asked about the others.

Texts are compared in two forms, which are made for many at once. Most texts have only single spaces between their
words, and many have nothing that a verdict form leaves out. The bytes of all texts together show this, without a look
at each text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from string import ascii_letters, digits

import numpy as np
import numpy.typing as npt

from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Matcher
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector, ragged
from nuggeteer.scoring.known import NO, PARTLY, UNKNOWN, YES, States, VerdictIndex, settle
from nuggeteer.scoring.units import BestPairs, names_of, pieces_of
from nuggeteer.scoring.workers import can_share, copies, work_on, zeros
from nuggeteer.text import normalised_and_length, verdict_form_of_normalised
from nuggeteer.thresholds.model import AnswerSet, Build, Units, size_of
from nuggeteer.thresholds.rows import joined, key_of

TEXTS_AT_ONCE = 2048  # texts, whose bytes the processor keeps at hand
SPACE = ord(" ")
# What may change the verdict form inside a text; and what a text that keeps its form begins and ends with.
MARKS = np.isin(np.arange(256), list(b"[*_`)-"))
LETTERS, ENDS = (np.isin(np.arange(256), list(some.encode())) for some in (ascii_letters, ascii_letters + digits))


def forms_and_lengths(texts: Sequence[str]) -> tuple[list[str], list[str], Ints]:
    """The normalised form of each text, its verdict form and its length, as `nuggeteer.text` has them for one text."""
    same: list[str] = []
    forms: list[str] = []
    lengths = np.empty(len(texts), dtype=np.int64)
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        some = texts[begin : begin + TEXTS_AT_ONCE]
        squeezed, plain, lengths[begin : begin + len(some)] = _plain(some)
        same += map(str.lower, some)
        for i in (begin + np.flatnonzero(~squeezed)).tolist():
            same[i], lengths[i] = normalised_and_length(texts[i])
        forms += same[begin:]
        for i in (begin + np.flatnonzero(~plain)).tolist():
            forms[i] = verdict_form_of_normalised(same[i])
    return same, forms, lengths


def _plain(texts: Sequence[str]) -> tuple[Bools, Bools, Ints]:
    """Which texts are ASCII and have no white space but single spaces inside; which of these are sure to be their own
    verdict form; and their lengths."""
    squeezed = np.fromiter(map(str.isascii, texts), bool, len(texts))
    written = texts if squeezed.all() else [text if text.isascii() else "" for text in texts]
    ends = np.cumsum(np.fromiter(map(len, written), np.int64, len(texts)) + 1)
    letters = np.frombuffer("\n".join(["", *written, ""]).encode(), dtype=np.uint8)  # a line feed is at each end
    gap = letters <= SPACE
    squeezed[np.searchsorted(ends, np.flatnonzero(gap[1:] & gap[:-1]) + 1)] = False
    controls = np.flatnonzero(letters < SPACE)
    if len(controls) > len(texts) + 1:
        squeezed[np.searchsorted(ends, np.setdiff1d(controls[1:], ends))] = False
    spaces = np.searchsorted(np.flatnonzero(letters == SPACE), ends)
    first = np.append(0, ends[:-1]) + 1
    plain = squeezed & LETTERS[letters[first]] & ENDS[letters[ends - 1]]
    plain[np.searchsorted(ends, np.flatnonzero(MARKS[letters]))] = False
    return squeezed, plain, ends - first - np.diff(spaces, prepend=0)


MOST_PAIRS = 1_000_000_000  # of a run: what two small files can multiply to would fill any memory
PAIRS_AT_ONCE = 1_000_000  # pairs that are matched at once; also what one worker takes


@dataclass(frozen=True, repr=False)
class MatchedRun(Shown):
    """A run matched with the key. Each response has a pair with every nugget of its question. The pairs of response i
    begin at `begin[i]`.

    If all is known, the run is matched only when its `scores` or `states` are needed, because its score does not depend
    on them.

    `build` is the version of the system that returned the answers. An answer that an earlier judged build returned too
    belongs to that build: `owners` has its build by question."""

    run: Run
    build: Build
    nuggets: int  # of the key
    begin: Ints
    nugget: npt.NDArray[np.int32]  # of each pair
    match: Callable[[], Vector]
    by_response: States  # of each pair, by verdicts on responses; a response without words has no nugget
    text: Ints  # of each response as a number, by its verdict form
    characters: Ints  # of each response
    is_repeat: Bools | None  # pairs of a response that repeats an earlier one of its answer; None if there are none
    best: Ints  # of each nugget, the open pair that stands for the answer; −1 if there is none
    clues: Vector  # nuggets × clues of these, in the order of `names`
    names: tuple[str, ...]
    answers: States | None = None  # of each nugget, by verdicts on whole answers; None if there are no such verdicts
    contradicted: Mapping[int, int] = field(default_factory=dict)  # nuggets, by responses that say the opposite
    owners: Mapping[int, Build] = field(default_factory=dict)

    @cached_property
    def scores(self) -> Vector:
        """The match score of each pair."""
        return self.match()

    @cached_property
    def states(self) -> States:
        """What is known about each pair. The likeliest response of an answer with a yes is a yes."""
        if self.answers is None:
            return self.by_response
        states = self.by_response.copy()
        settle(states, self.scores, self.nugget, self.answers)
        return states

    @cached_property
    def guessed(self) -> Bools:
        """The pairs without a verdict, on the response or on the whole answer."""
        unknown = np.asarray(self.by_response == UNKNOWN)
        return unknown if self.answers is None else unknown & (self.answers == UNKNOWN)[self.nugget]

    @cached_property
    def judged(self) -> Bools:
        """The pairs that people decided. A response without words needs nobody to read it."""
        return ~self.guessed & np.repeat(self.run.speaks, np.diff(self.begin))

    @cached_property
    def decided(self) -> bool:
        """Whether all is known, so that there is nothing to guess."""
        return not self.guessed.any()

    @property
    def undecided(self) -> Bools:
        """The pairs to guess. A text that an answer repeats is guessed only once."""
        return self.guessed if self.is_repeat is None else np.asarray(self.guessed & ~self.is_repeat)

    @cached_property
    def certain(self) -> Bools:
        """The nuggets that some response is known to carry."""
        found = any_of(self.by_response == YES, self.nugget, self.nuggets)
        return found if self.answers is None else found | (self.answers == YES)

    @cached_property
    def open_nuggets(self) -> Bools:
        """The nuggets that are not settled: some response is to be guessed, and none is known to carry it."""
        return np.asarray((self.best >= 0) & ~self.certain)

    @cached_property
    def partly(self) -> Bools:
        """The nuggets that some response is known to support in part."""
        found = any_of(self.by_response == PARTLY, self.nugget, self.nuggets)
        return found if self.answers is None else found | (self.answers == PARTLY)

    @cached_property
    def length(self) -> Ints:
        """The characters of each answer."""
        sums = np.bincount(self.run.question, weights=self.characters, minlength=len(self.run.offsets) - 1)
        return np.asarray(sums, dtype=np.int64)

    def response_of(self, pairs: Ints) -> Ints:
        return np.searchsorted(self.begin, pairs, side="right") - 1

    def units(self, key: AnswerKey, nuggets: Ints) -> Units:
        """What a model is asked about these open nuggets."""
        questions, answer = np.unique(key.question[nuggets], return_inverse=True)
        pair = self.best[nuggets]
        response = self.response_of(pair)
        return Units(
            nuggets,
            answer,
            self.answers_to(key, questions),
            self.scores[pair],
            size_of(self.characters[response]),
            self.clues[nuggets],
            self.text[response].astype(np.uint64),
        )

    def answers_to(self, key: AnswerKey, questions: Ints) -> AnswerSet:
        """The run's answers to some questions."""
        builds = [self.owners.get(question, self.build) for question in questions.tolist()]
        number = {build: i for i, build in enumerate(dict.fromkeys(builds))}
        pieces = [pieces_of(self.run.texts[self.run.own(q)]) for q in questions.tolist()]
        return AnswerSet(
            questions,
            np.array([number[build] for build in builds], dtype=np.int64),
            tuple(number),
            np.array([answer_key(key, q, b) for q, b in zip(questions.tolist(), builds, strict=True)], dtype=np.uint64),
            np.cumsum([0, *map(len, pieces)]),
            np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.uint64),
        )


def answer_key(key: AnswerKey, question: int, build: Build) -> int:
    """A number for the answer of a build to a question."""
    return int(joined(np.array([key_of(key.questions[question].qid)]), key_of("\0".join(build)))[0])


def read(run: Run, build: Build, key: AnswerKey, matcher: Matcher, known: VerdictIndex, jobs: int = 1) -> MatchedRun:
    """Human verdicts on all pairs of a run, and its match with the key."""
    count = int(key.counts[run.question].sum())
    if count > MOST_PAIRS:
        what = f"{count:,} pairs of a response and a nugget of its question, and {MOST_PAIRS:,} can be scored"
        raise NuggeteerError(f"{run.name}: has {what}; shorten the key or the run")
    begin = np.append(0, np.cumsum(key.counts[run.question]))
    parts = list(slices(run.offsets, begin, PAIRS_AT_ONCE))
    workers = can_share(jobs, len(parts))
    answers = known.answers.of_run(run)
    texts_of_part = [run.texts[slice(*part)] for part in parts] if workers > 1 else []
    nugget = zeros(count, np.int32, workers)
    states, scores = zeros(count, np.int8, workers), zeros(count, float, workers)
    numbers, counts = zeros(len(run), np.int64, workers), zeros(len(run), np.int64, workers)
    repeats, matched = zeros(len(run), bool, workers), zeros(len(parts), bool, workers)
    names = names_of(matcher.match([], run.question[:0]).names, matcher.judges)
    best = zeros(len(key.nuggets), np.int64, workers)
    best[:] = -1
    clues = zeros((len(key.nuggets), len(names)), np.float32, workers)

    def read_part(number: int) -> None:
        first, last = parts[number]
        own, pairs, question = slice(first, last), slice(int(begin[first]), int(begin[last])), run.question[first:last]
        nugget[pairs] = key.pairs(question)[1]
        texts = run.texts[own] if workers == 1 else copies(texts_of_part[number])
        texts, forms, counts[own] = forms_and_lengths(texts)
        numbers[own] = list(map(key_of, forms))
        repeats[own] = _repeats(forms, question)
        states[pairs] = known.of_forms(forms, question)
        states[pairs][np.repeat(~run.speaks[own], key.counts[question]) & (states[pairs] == UNKNOWN)] = NO
        open_ = states[pairs] == UNKNOWN
        if answers is not None:
            open_ &= (answers == UNKNOWN)[nugget[pairs]]
        if open_.any():
            match_part(number, texts, open_ & ~np.repeat(repeats[own], key.counts[question]))

    def match_part(number: int, texts: Sequence[str], open_: Bools) -> None:
        first, last = parts[number]
        question, pairs = run.question[first:last], slice(int(begin[first]), int(begin[last]))
        found = matcher.match(texts, question, jobs if workers == 1 else 1)
        scores[pairs], matched[number] = found.scores, True
        where = np.flatnonzero(open_ & ~np.isnan(found.scores))
        if not len(where):
            return
        carried = None
        if matcher.uses_judgements and known.texts:
            row = np.repeat(np.arange(last - first), key.counts[question])[where]
            carried = _of_rows(np.unique(row), texts, question, key, matcher)
        own = BestPairs.of(nugget[pairs][where], where, found.scores, carried, matcher.opinions(texts, question))
        response = np.repeat(np.arange(first, last), key.counts[question])[own.pair]
        best[own.cell] = pairs.start + own.pair
        clues[own.cell] = own.clues(found.clues[own.pair], size_of(counts[response]))

    def match() -> Vector:
        for number in np.flatnonzero(~matched).tolist():
            texts = run.normalised_texts[slice(*parts[number])]
            match_part(number, texts, np.zeros(int(begin[parts[number][1]] - begin[parts[number][0]]), dtype=bool))
        return scores

    work_on(range(len(parts)), read_part, workers)
    later = MatchedRun(
        run,
        build,
        len(key.nuggets),
        begin,
        nugget,
        match,
        states,
        numbers,
        counts,
        np.repeat(repeats, np.diff(begin)) if repeats.any() else None,
        best,
        clues,
        names,
        answers,
        known.contradicted.of_run(run),
    )
    if not later.decided and np.isnan(later.scores.sum()):  # which takes no memory of its own
        missing = np.flatnonzero(np.isnan(later.scores) & later.guessed)
        if len(missing):
            raise _unscored(run, key, matcher, missing)
    return later


def units_of_pairs(matched: MatchedRun, key: AnswerKey, matcher: Matcher, pairs: Ints) -> Units:
    """What a model is asked about single responses: each pair is a unit, as if its response were the whole answer."""
    run = matched.run
    response = matched.response_of(pairs)
    rows, row = np.unique(response, return_inverse=True)
    texts, question = [run.normalised_texts[i] for i in rows.tolist()], run.question[rows]
    begin, _ = key.pairs(question)
    place = begin[row] + matched.nugget[pairs] - key.offsets[question[row]]
    found, carried = matcher.match(texts, question), matcher.carried(texts, question)
    carried = None if carried is None else np.nan_to_num(carried)
    own = BestPairs.of(np.arange(len(pairs)), place, found.scores, carried, matcher.opinions(texts, question))
    size = size_of(matched.characters[response])
    questions, answer = np.unique(question[row], return_inverse=True)
    return Units(
        matched.nugget[pairs].astype(np.int64),
        answer,
        matched.answers_to(key, questions.astype(np.int64)),
        found.scores[place],
        size,
        own.clues(found.clues[place], size),
        matched.text[response].astype(np.uint64),
    )


def _of_rows(
    rows: Ints, texts: Sequence[str], question: npt.NDArray[np.int32], key: AnswerKey, matcher: Matcher
) -> Vector | None:
    """What is carried over to the pairs of some texts; 0 for the pairs of the others."""
    own = matcher.carried([texts[row] for row in rows.tolist()], question[rows])
    if own is None:
        return None
    begin, _ = key.pairs(question)
    result = np.zeros(int(begin[-1]))
    result[ragged(begin[rows], np.diff(begin)[rows])[1]] = np.nan_to_num(own)
    return result


def slices(offsets: Ints, begin: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Responses, from and to, of whole answers that together have at most so many pairs. A single answer may have
    more."""
    first, sizes = 0, begin[offsets]
    for question in range(1, len(offsets) - 1):
        if sizes[question + 1] - sizes[first] > most:
            yield int(offsets[first]), int(offsets[question])
            first = question
    yield int(offsets[first]), int(offsets[-1])


def _unscored(run: Run, key: AnswerKey, matcher: Matcher, missing: Ints) -> NuggeteerError:
    begin, nugget = key.pairs(run.question)
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


def any_of(flags: Bools, nugget: npt.NDArray[np.signedinteger], size: int) -> Bools:
    result = np.zeros(size, dtype=bool)
    result[nugget[flags]] = True
    return result
