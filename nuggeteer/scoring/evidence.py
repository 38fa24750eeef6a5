"""What the threshold models learn from: the units that humans judged.

An answer means the same whichever build returns it, so it must have one guess. It belongs to the first judged build
that returned it, by name, otherwise to the build that is asked about (`Owners`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.matching.base import Judged, MarkedSpan, Matcher
from nuggeteer.records import AnswerKey, Ints, Run, ragged
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.matched_run import MatchedRun, answer_key, forms_and_lengths
from nuggeteer.scoring.units import BestPairs, names_of
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.model import AnswerSet, Build, Evidence, Keys, Units, size_of
from nuggeteer.thresholds.prior import Prior, prior_for
from nuggeteer.thresholds.rows import joined, key_of


def builds_of(collection: Collection, known: VerdictIndex) -> tuple[tuple[Build, ...], Ints]:
    """The builds that were judged, and the number of each judged text's build. A text that several builds returned
    belongs to the first judged run that has it, or else to the run that a verdict names."""
    questions, group = collection.key.questions, collection.group
    runs = [
        run or collection.returned_by(questions[question].qid, text)
        for run, question, text in zip(known.runs, known.question.tolist(), known.texts, strict=True)
    ]
    builds = tuple(sorted({Build(group(run), run) for run in runs}))
    number = {build.run: i for i, build in enumerate(builds)}
    return builds, np.array([number[run] for run in runs], dtype=np.int64)


def judged_texts(collection: Collection, known: VerdictIndex) -> Judged:
    """The human verdicts, in the form in which matchers learn from them."""
    builds, build = builds_of(collection, known)
    systems = sorted({own.system for own in builds})
    group = np.array([systems.index(own.system) for own in builds], dtype=np.int64)
    return Judged(known.texts, known.question, group[build], known.taught != UNKNOWN, known.taught == YES)


def marked(collection: Collection, known: VerdictIndex) -> tuple[MarkedSpan, ...]:
    """The words that assessors marked with a yes. `span` is [start, end) in characters of the text."""
    group = judged_texts(collection, known).group
    found = []
    for judgement in collection.judgements:
        if judgement.scope == "answer":
            continue
        match judgement.span:
            case [int(start), int(end)] if judgement.verdict and 0 <= start < end <= len(judgement.text):
                nugget = collection.key.nugget_position[judgement.qid, judgement.nugget]
                question = np.array([collection.key.position[judgement.qid]])
                row = int(known.rows([verdict_form(judgement.text)], question)[0])
                found.append(MarkedSpan(nugget, int(group[row]), judgement.text[start:end]))
    return tuple(found)


def gather_evidence(
    collection: Collection,
    matcher: Matcher,
    known: VerdictIndex,
    jobs: int = 1,
    by: Literal["answer", "response"] = "answer",
    carried_over: bool = True,
) -> Evidence:
    """All that humans decided. What was judged of an answer is one unit, which has the nugget if some of its responses
    do: a yes settles a nugget and a no does not, so settled nuggets alone would mostly be those that were found. By
    response, each judged text is a separate unit, as in the paper.

    Verdicts on other systems' texts are carried over to each unit, as they will be to the answers of a build that
    nobody read. If systems are left out afterwards, nothing must be carried over: it might come from them."""
    key = collection.key
    builds, build = builds_of(collection, known)
    begin, nugget = ragged(key.offsets[known.question], key.counts[known.question])
    row = np.repeat(np.arange(len(known.texts)), np.diff(begin))
    matches = matcher.match_judged(judged_texts(collection, known), jobs)
    pair = np.flatnonzero((known.asked if by == "answer" else known.taught != UNKNOWN) & ~np.isnan(matches.scores))
    # Whose answer each text belongs to, in the order of builds and questions.
    of_text = build * len(key.questions) + known.question if by == "answer" else np.arange(len(known.texts))
    answer = np.unique(of_text, return_inverse=True)[1]
    carried = None
    if matcher.uses_judgements and carried_over:
        runs = [builds[number].run for number in build.tolist()]
        carried = matcher.left_out(known.texts, known.question, runs)
        carried = None if carried is None else np.nan_to_num(carried)
    names = names_of(matches.names, matcher.judges)
    cell = answer[row[pair]] * len(key.nuggets) + nugget[pair]
    own = BestPairs.of(cell, pair, matches.scores, carried, matcher.opinions(known.texts, known.question))
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], own.cell)
    flags = known.taught == YES, np.zeros(len(nugget), dtype=bool) if known.partly is None else known.partly
    yes, partly = (
        np.logical_or.reduceat(flag[pair[order]], starts) if len(starts) else np.zeros(0, dtype=bool) for flag in flags
    )
    text = row[own.pair]
    shown, place = np.unique(text, return_inverse=True)  # a text has as many units as its question has nuggets
    # The texts are normalised: no other white space than single spaces.
    lengths = np.array(
        [len(known.texts[i]) - known.texts[i].count(" ") for i in range(len(known.texts))], dtype=np.int64
    )
    size = size_of(lengths[text])
    first = np.unique(answer, return_index=True)[1]  # a text of each answer
    units = Units(
        (own.cell % max(len(key.nuggets), 1)).astype(np.int64),
        own.cell // max(len(key.nuggets), 1),
        _answers(
            key, builds, known.question[first].astype(np.int64), build[first], first if by == "response" else None
        ),
        matches.scores[own.pair],
        size,
        own.clues(matches.clues[own.pair], size) if len(own.cell) else np.zeros((0, len(names)), dtype=np.float32),
        np.array([key_of(verdict_form(known.texts[i])) for i in shown.tolist()], dtype=np.uint64)[place],
    )
    said = (partly & ~yes) if known.partly is not None else None
    return Evidence(units, yes, key.question, *keys_of(key), said)


def _answers(key: AnswerKey, builds: tuple[Build, ...], question: Ints, build: Ints, text: Ints | None) -> AnswerSet:
    numbers = [answer_key(key, q, builds[b]) for q, b in zip(question.tolist(), build.tolist(), strict=True)]
    keys = np.array(numbers, dtype=np.uint64)
    return AnswerSet.without_pieces(question, build, builds, keys if text is None else joined(keys, text))


def keys_of(key: AnswerKey) -> tuple[Keys, Keys]:
    """Numbers of the nuggets and of the questions, by their names."""
    nuggets = [key_of(f"{nugget.qid}\0{nugget.nugget}") for nugget in key.nuggets]
    return np.array(nuggets, dtype=np.uint64), np.array([key_of(q.qid) for q in key.questions], dtype=np.uint64)


def prior_of(matcher: Matcher) -> Prior:
    """What is believed before the first human verdict about the matcher's clues and any judges."""
    empty = matcher.match([], np.zeros(0, dtype=np.int32)).names
    return prior_for(names_of(empty, matcher.judges), matcher.scores_overlap)


Answer = tuple[int, tuple[int, ...]]  # a question, and the numbers of its responses' texts


class Owners:
    """Which judged builds returned which answers. Their runs are read when needed."""

    def __init__(self, collection: Collection, known: VerdictIndex) -> None:
        builds, _ = builds_of(collection, known)
        there = set(collection.run_names)
        self._collection, self._left = collection, [build for build in builds if build.run in there]
        self._first: dict[Answer, Build] = {}

    def assign(self, matched: MatchedRun) -> MatchedRun:
        """The same run. An answer that another build returned first gets that build."""
        for build in self._left:
            if build.run != matched.run.name:
                run = self._collection.run(build.run)
                numbers = list(map(key_of, forms_and_lengths(run.texts)[1]))
                for question, texts in _answers_of(run, numbers):
                    self._first.setdefault((question, texts), build)
            else:
                for question, texts in _answers_of(matched.run, matched.text.tolist()):
                    self._first.setdefault((question, texts), build)
        self._left = []
        found = {
            question: self._first[question, texts]
            for question, texts in _answers_of(matched.run, matched.text.tolist())
            if (question, texts) in self._first
        }
        return replace(matched, owners=found)


def _answers_of(run: Run, numbers: list[int] | Ints) -> list[Answer]:
    offsets = run.offsets.tolist()
    return [
        (question, tuple(numbers[begin:end])) for question, (begin, end) in enumerate(pairwise(offsets)) if begin < end
    ]
