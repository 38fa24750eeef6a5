"""What the threshold models learn from: the units that humans judged.

An answer means the same whichever build returns it, so it must have one guess. It belongs to the build for which it
was judged; else to the first judged build whose file has it, by name; else to the build that is asked about (`Owners`).

A run may keep its name from night to night. Its name alone is then the build that its file has now, and NAME/HASH is
an earlier build, by the hash of its answers that verdicts have. Where they have none, and the file does not have all
texts that they are about, they are about NAME/earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import Literal

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.collection.runs import run_hash
from nuggeteer.matching.base import Judged, MarkedSpan, Matcher
from nuggeteer.records import AnswerKey, Bools, Ints, Run
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.matched_run import MatchedRun, answer_key, forms_and_lengths
from nuggeteer.scoring.units import BestPairs, names_of
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.model import AnswerSet, Build, Evidence, Keys, Units, size_of
from nuggeteer.thresholds.prior import Prior, prior_for
from nuggeteer.thresholds.rows import joined, key_of

EARLIER = "earlier"


def builds_of(collection: Collection, known: VerdictIndex) -> tuple[tuple[Build, ...], Ints]:
    """The builds that were judged, and the number of each judged text's build. A text that several builds returned
    belongs to the first judged run that has it, or else to the run that a verdict names."""
    key, group = collection.key, collection.group
    runs = [
        run or collection.returned_by(key.questions[question].qid, text)
        for run, question, text in zip(known.runs, known.question.tolist(), known.texts, strict=True)
    ]
    has_now, hashed = dict[str, str](), {run for run, hash_ in zip(runs, known.hashes, strict=True) if hash_}
    for name in set(runs).intersection(collection.run_names):
        has_now[name] = run_hash(collection.any_run(name), key) if name in hashed else ""

    def name_of(run: str, hash_: str | None) -> str:
        if run in has_now:
            same = hash_ == has_now[run] if hash_ else run not in collection.changed_runs
            return run if same else _earlier(run, hash_)
        return _earlier(run, hash_) if hash_ else run

    names = list(map(name_of, runs, known.hashes))
    builds = tuple(sorted({Build(group(run), name) for run, name in zip(runs, names, strict=True)}))
    number = {build.run: i for i, build in enumerate(builds)}
    return builds, np.array([number[name] for name in names], dtype=np.int64)


def _earlier(run: str, hash_: str | None) -> str:
    return f"{run}/{hash_ or EARLIER}"


def earlier_builds(collection: Collection, known: VerdictIndex) -> str:
    """A hash of which texts are of builds whose names other builds have now; "" if there are none. It changes with the
    files, and the verdicts do not."""
    builds, build = builds_of(collection, known)
    rows = np.flatnonzero(_are_earlier(builds, collection, known)[build])
    lines = [f"{builds[build[row]].run}\t{row}" for row in rows.tolist()]
    return blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest() if lines else ""


def _are_earlier(builds: Sequence[Build], collection: Collection, known: VerdictIndex) -> Bools:
    """Which builds' names other builds have now."""
    names = {*known.runs, *collection.run_names}
    return np.array([build.run not in names for build in builds], dtype=bool)


def build_of(collection: Collection, known: VerdictIndex, run: Run) -> Build:
    """The build that a run is."""
    name, key = run.name, collection.key
    if name in collection.run_names:
        file = collection.any_run(name)
        same = run is file or run_hash(run, key) == run_hash(file, key)
    else:
        hashes = [hash_ for own, hash_ in zip(known.runs, known.hashes, strict=True) if own == name]
        same = not any(hashes) and (run.recorded is None or bool(hashes))
    return Build(collection.group(name), name if same else _earlier(name, run_hash(run, key)))


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
    begin, nugget = key.pairs(known.question)
    row = np.repeat(np.arange(len(known.texts)), np.diff(begin))
    matches = matcher.match_judged(judged_texts(collection, known), jobs)
    pair = np.flatnonzero((known.asked if by == "answer" else known.taught != UNKNOWN) & ~np.isnan(matches.scores))
    # Whose answer each text belongs to, in the order of builds and questions.
    own_answer = _answers_of_unknown_builds(builds, build, collection, known)
    of_text = (build * len(key.questions) + known.question) * (own_answer.max(initial=0) + 1) + own_answer
    answer = np.unique(of_text if by == "answer" else np.arange(len(known.texts)), return_inverse=True)[1]
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
            key,
            builds,
            known.question[first].astype(np.int64),
            build[first],
            own_answer[first] if by == "answer" else None,
            first,
        ),
        matches.scores[own.pair],
        size,
        own.clues(matches.clues[own.pair], size) if len(own.cell) else np.zeros((0, len(names)), dtype=np.float32),
        np.array([key_of(verdict_form(known.texts[i])) for i in shown.tolist()], dtype=np.uint64)[place],
    )
    said = (partly & ~yes) if known.partly is not None else None
    return Evidence(units, yes, key.question, *keys_of(key), said)


def _answers_of_unknown_builds(
    builds: Sequence[Build], build: Ints, collection: Collection, known: VerdictIndex
) -> Ints:
    """A number for each judged text: 0, but where nobody knows the build, one for each judged answer to a question.
    Otherwise the answers of many builds would be one answer, which has all that any of them has. What the run's file
    has is one answer in any case."""
    result = np.zeros(len(build), dtype=np.int64)
    for number, one in enumerate(builds):
        name, _, earlier = one.run.rpartition("/")
        has_file = earlier == EARLIER and name in collection.run_names
        if one.run and not has_file:
            continue
        rows = np.flatnonzero(build == number)
        if has_file:
            file = collection.any_run(name)
            rows = np.setdiff1d(rows, known.rows(forms_and_lengths(file.texts)[1], file.question))
        for question in np.unique(known.question[rows]).tolist():
            own = rows[known.question[rows] == question]
            result[own] = np.unique(known.answer_of[own], return_inverse=True)[1] + has_file
    return result


def _answers(
    key: AnswerKey, builds: tuple[Build, ...], question: Ints, build: Ints, number: Ints | None, text: Ints
) -> AnswerSet:
    """`number` tells answers of one build to a question apart, 0 being the first; without it, each text is one."""
    numbers = [answer_key(key, q, builds[b]) for q, b in zip(question.tolist(), build.tolist(), strict=True)]
    keys = np.array(numbers, dtype=np.uint64)
    keys = joined(keys, text) if number is None else np.where(number > 0, joined(keys, number), keys)
    return AnswerSet.without_pieces(question, build, builds, keys)


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
    """Which judged builds returned which answers: those that were judged, and all others of their runs, which are read
    when needed. Of a build whose name another build has now, only judged answers are known."""

    def __init__(self, collection: Collection, known: VerdictIndex) -> None:
        builds, build = builds_of(collection, known)
        files = set(collection.run_names)
        self._collection, self._left = collection, [one for one in builds if one.run in files]
        self._first: dict[Answer, Build] = {}
        self._judged = {
            (question, key_of(form)): builds[build[row]]
            for question, rows in enumerate(known.rows_of_forms)
            for form, row in rows.items()
        }

    def assign(self, matched: MatchedRun) -> MatchedRun:
        """The same run. An answer that another build returned first gets that build."""
        for build in self._left:
            run, numbers = matched.run, matched.text.tolist()
            if build != matched.build:
                run = self._collection.any_run(build.run)
                numbers = list(map(key_of, forms_and_lengths(run.texts)[1]))
            for question, texts in _answers_of(run, numbers):
                self._first.setdefault((question, texts), build)
        self._left = []
        owners = dict[int, Build]()
        for question, texts in _answers_of(matched.run, matched.text.tolist()):
            judged = {self._judged.get((question, text)) for text in texts}  # one of several may be in any answer
            owner = (judged.pop() if len(judged) == 1 else None) or self._first.get((question, texts))
            if owner is not None:
                owners[question] = owner
        return replace(matched, owners=owners)


def _answers_of(run: Run, numbers: list[int] | Ints) -> list[Answer]:
    offsets = run.offsets.tolist()
    return [
        (question, tuple(numbers[begin:end])) for question, (begin, end) in enumerate(pairwise(offsets)) if begin < end
    ]
