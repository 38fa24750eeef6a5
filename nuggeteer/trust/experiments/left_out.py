"""Runs as they are when their group is left out, and their scores at every fixed threshold.

What is known about a run without its group depends on neither matcher nor threshold, so it is computed once. The match
scores of a setting, which all folds and thresholds share, are also computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from nuggeteer.collection.folder import Collection
from nuggeteer.measures import Answers, Measure
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector, ragged
from nuggeteer.scoring.known import UNKNOWN, YES, States, known_in
from nuggeteer.text import length, verdict_form
from nuggeteer.trust.crossval import of_each_run, pair_truth


@dataclass(frozen=True)
class HiddenRun:
    """A judged run: the rows of its responses' texts among all judged texts, and for each pair of a response and a
    nugget what is true, and what is known when its group is left out. `length` is of each answer."""

    name: str
    rows: Ints
    nugget: Ints
    true: States
    known: States
    has: Bools  # the nuggets that its answers have
    certain: Bools  # those that they are known to have when its group is left out
    length: Ints
    is_repeat: Bools  # pairs of a response that repeats an earlier one
    has_score: bool  # from judgements: the manifest says that the run was judged, or every nugget is settled

    @property
    def guessed(self) -> Bools:
        return np.asarray(self.known == UNKNOWN)


@dataclass(frozen=True)
class HiddenRuns:
    """All runs left out in turn, and the texts to match for this."""

    key: AnswerKey
    texts: Sequence[str]
    question: npt.NDArray[np.int32]
    runs: tuple[HiddenRun, ...]

    @property
    def with_scores(self) -> HiddenRuns:
        """Only the runs that have a true score. A run with only some nuggets judged has none."""
        return replace(self, runs=tuple(run for run in self.runs if run.has_score))

    def scores_of(self, run: HiddenRun, scores: Vector) -> Vector:
        """A run's match scores, from those of all texts."""
        begin, _ = self.key.pairs(self.question)
        _, place = ragged(begin[run.rows], self.key.counts[self.question[run.rows]])
        return scores[place]

    def true_scores(self, measure: Measure) -> list[float]:
        """Each run's score from all judgements."""
        return [float(_mean(measure, self.key, run.has, run.length)[0]) for run in self.runs]

    def at_thresholds(self, scores: Sequence[Vector], thresholds: Vector, measure: Measure, credit: bool) -> Vector:
        """runs × thresholds: each run's score from its match scores, if a guess is a yes above the threshold. With
        `credit` it then counts as much as its match score (Pourpre)."""
        rows = []
        for run, own in zip(self.runs, scores, strict=True):
            best = np.full(len(self.key.nuggets), -1.0)
            np.maximum.at(best, run.nugget[run.guessed], own[run.guessed])
            found = best > thresholds[:, None]
            # With credit a nugget is found in part. Measures treat it like a whole one.
            share = np.maximum(found * best, run.certain) if credit else found | run.certain
            rows.append(_mean(measure, self.key, cast(Bools, share), run.length))
        return np.array(rows)


def leave_out_groups(collection: Collection, jobs: int = 1) -> HiddenRuns:
    """Leave out each group, and see what stays known."""
    key, truth = collection.key, known_in(collection)
    known = of_each_run(collection, _known, jobs)
    runs = []
    texts, question, unjudged = list(truth.texts), truth.question.tolist(), dict[tuple[int, str], int]()
    for run in collection.assessed_runs:
        forms = list(map(verdict_form, run.texts))
        rows = truth.rows(forms, run.question)
        for response in np.flatnonzero(rows < 0).tolist():  # a text of a run with only some texts judged
            own = int(run.question[response])
            rows[response] = unjudged.setdefault((own, forms[response]), len(texts))
            if rows[response] == len(texts):
                texts.append(run.normalised_texts[response])
                question.append(own)
        begin, nugget = key.pairs(run.question)
        counts = np.array([length(text) for text in run.texts])
        of_answer = np.bincount(run.question, weights=counts, minlength=len(key.questions)).astype(np.int64)
        _, first = np.unique(rows, return_index=True)
        is_repeat = np.ones(len(rows), dtype=bool)
        is_repeat[first] = False
        true, has = pair_truth(truth, run, nugget), truth.of_run(run)
        repeated = np.repeat(is_repeat, np.diff(begin))
        scored = run.info.judged != "none" or bool((has != UNKNOWN).all())
        of_pairs, certain = known[run.name]
        states = true, of_pairs, has == YES, certain
        runs.append(HiddenRun(run.name, rows, nugget, *states, of_answer, repeated, scored))
    return HiddenRuns(key, texts, np.array(question, dtype=np.int32), tuple(runs))


def _known(collection: Collection, runs: Sequence[Run]) -> list[tuple[States, Bools]]:
    known = known_in(collection)
    return [(known(run.normalised_texts, run.question), known.of_run(run) == YES) for run in runs]


def _mean(measure: Measure, key: AnswerKey, found: Bools, lengths: Ints) -> Vector:
    """Means over the questions that have a value: one, or one for each row of `found`."""
    values = np.atleast_2d(measure(Answers(key, found, np.zeros(len(key.nuggets), dtype=bool), lengths)))
    defined = ~np.isnan(values[0])  # that depends on the key alone
    return np.asarray(values[:, defined].mean(axis=1) if defined.any() else np.full(len(values), np.nan))
