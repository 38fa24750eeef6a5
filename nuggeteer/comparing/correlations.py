"""How the measures of compared runs agree with each other and with official scores (Dang & Lin 2007, §3.2 and 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from nuggeteer.fields import Count, OrNaN, Part, about
from nuggeteer.measures import Answers, Measure
from nuggeteer.measures.base import Composition
from nuggeteer.measures.kinds import ALLOWANCE, combine
from nuggeteer.records import Vector
from nuggeteer.scoring.scores import Scores
from nuggeteer.statistics.correlation import (
    ScoreAgreement,
    Span,
    Swaps,
    interval_by_question,
    rank_swaps,
    score_agreement,
)


class Zeros(Part):
    """Answers that score 0."""

    # Of the answers of all runs for which both measures are defined; where verdicts are guessed, means over draws.
    answers: Count
    first: Annotated[OrNaN, about("The share of answers that score 0 by the first measure.")]
    second: Annotated[OrNaN, about("By the second.")]
    rescued: Annotated[OrNaN, about("The share that scores 0 by the first measure and not by the second.")]


@dataclass(frozen=True)
class Correlation:
    """How two measures agree: on single answers, and on the means of runs. `by_question` is the interval of Pearson's r
    over answers. It allows for answers to one question being alike."""

    measures: tuple[Measure, Measure]
    answers: ScoreAgreement
    by_question: Span | None
    runs: ScoreAgreement
    swaps: Swaps
    zeros: Zeros
    points: tuple[Vector, Vector]  # of answers, for a plot


@dataclass(frozen=True)
class Official:
    """How the manifest's scores by the measure `name` agree with ours by `measure`. If that is another measure, because
    `name` has not been computed or does not exist, the numbers differ: `rmse` is NaN. `pooled` compares with our scores
    when all questions are taken as one."""

    name: str
    measure: Measure
    agreement: ScoreAgreement
    swaps: Swaps
    pooled: ScoreAgreement | None

    @property
    def same(self) -> bool:
        return self.measure.name == self.name


def answers_of(scores: Scores) -> Iterator[Answers]:
    """The answers of each run: in draws that the runs share if something is guessed and the model gives
    probabilities."""
    for run in scores.runs:
        yield run.outcome.drawn_answers(scores.key) or run.outcome.answers(scores.key)


def correlate(
    scores: Scores, pair: tuple[Measure, Measure], values: Mapping[str, Sequence[Vector]], resamples: Vector
) -> Correlation:
    """`values` are draws × questions by measure and run."""
    one, other = (np.array([run.by_question[measure.name] for run in scores.runs]) for measure in pair)
    means = [np.array([run.measures[m.name].value for run in scores.runs], dtype=float) for m in pair]
    return Correlation(
        pair,
        score_agreement(one.ravel(), other.ravel()),
        interval_by_question(one, other, resamples),
        score_agreement(*means),
        rank_swaps(*means),
        _zeros(values[pair[0].name], values[pair[1].name]),
        (one.ravel(), other.ravel()),
    )


def _zeros(first: Sequence[Vector], second: Sequence[Vector]) -> Zeros:
    counts = np.zeros(3)
    answers = 0
    for one, other in zip(first, second, strict=True):
        defined = ~(np.isnan(one).any(axis=0) | np.isnan(other).any(axis=0))
        by_one, by_other = one[:, defined] == 0, other[:, defined] == 0
        answers += int(defined.sum())
        counts += [part.mean(axis=0).sum() for part in (by_one, by_other, by_one & ~by_other)]
    return Zeros(answers, *(counts / answers if answers else np.full(3, np.nan)).tolist())


def pooled(scores: Scores, measure: Measure) -> Vector | None:
    """Each run's F with all questions as one: the recall of all nuggets, and the precision of all characters (the
    micro-average). None if the measure is not an F of a linear recall."""
    composition = measure.composition(scores.key)
    if composition is None or composition.kind != "f":
        return None
    return np.array([_pooled(answers, composition) for answers in answers_of(scores)])


def _pooled(answers: Answers, composition: Composition) -> float:
    asked = answers.asked_weight(composition.weight)
    asks = composition.asks
    found = np.where(asks, answers.found_weight(composition.weight), 0.0).sum(axis=-1)
    recall = found / np.where(asks, asked, 0.0).sum(axis=-1)
    allowance = ALLOWANCE * np.where(asks, answers.found_weight(composition.count), 0.0).sum(axis=-1)
    length = max(int(answers.length[asks].sum()), 1)
    precision = (allowance / length).clip(max=1.0)
    return float(np.mean(combine(precision, recall, composition.beta)))


def against_official(scores: Scores) -> Iterator[Official]:
    names = {measure.name: measure for measure in scores.measures}
    for run in scores.runs:
        names |= {name: scores.measures[0] for name in run.run.info.official if name not in names}
    for name, measure in names.items():
        has = [i for i, run in enumerate(scores.runs) if name in run.run.info.official]
        ours = [scores.runs[i].measures[measure.name].value for i in has]
        if len(has) < 2 or None in ours:
            continue
        theirs = [scores.runs[i].run.info.official[name] for i in has]
        known = np.array(ours, dtype=float)
        as_one = pooled(scores, measure)
        found = [score_agreement(theirs, known), None if as_one is None else score_agreement(theirs, as_one[has])]
        if measure.name != name:
            found = [one and replace(one, rmse=float("nan")) for one in found]
        assert found[0]
        yield Official(name, measure, found[0], rank_swaps(theirs, known), found[1])
