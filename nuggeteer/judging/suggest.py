"""Where a judgement would tell most: which responses to read for which nuggets, so that the judging part of a score's
interval, or of the difference of two runs, narrows most; and how wide it will be after so many verdicts.

A verdict y, 0 or 1, on a (nugget, response text) is expected to take cov(F, y)² / var(y) off the variance of a mean
score F (the law of total variance). Verdicts are chosen one by one, each given those before it, so that near-copies
are not asked for: all that is drawn is taken for jointly normal, and conditioned on one verdict after the other. After
a yes a nugget's other responses matter no more, so of these y says that it is the first, by match score, to carry it.

    (F_q, y_1, y_2, ...) of a question q = mean + L g + e

What moves all questions at once (the system's level, the curve) is a few common factors g, found in the draws'
chances; all else (a nugget's threshold, the answer as a whole, the luck of each verdict) stays in its question. So no
two verdicts on different questions go together because a few thousand draws happen to say so; and given g, a verdict
on one question tells nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from nuggeteer.errors import NuggeteerError
from nuggeteer.measures import Answers, Measure
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.known import PARTLY
from nuggeteer.scoring.outcomes import MatchedRun, condition_on_verdicts
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import CONFIDENCE, DRAWS
from nuggeteer.text import normalised
from nuggeteer.thresholds import Draws

INDIVIDUAL_RESPONSES = 3  # responses that are asked for one by one, of those that may carry a nugget: the best matching
COMMON_FACTORS = 6
ALMOST = np.float32(1 - 1e-6)
NEGLIGIBLE = 1e-9  # of the variance at first: not worth asking


@dataclass(frozen=True)
class Suggestion:
    """A pair worth judging: positions of the nugget in the key and of the response in its run.

    `run` is 1 where the response is only in the run that is compared `against`. `probability` that the response carries
    the nugget; `share` of the judging variance that the verdict is expected to take away, given those before it."""

    nugget: int
    response: int
    probability: float
    share: float
    run: int = 0


@dataclass(frozen=True)
class Forecast:
    """How wide the judging part of an interval is `now`, and is expected to be after so many verdicts, each the best
    next one: `judgements` and `widths` go together, the one rising and the other falling."""

    now: tuple[float, float]
    judgements: Ints
    widths: Vector

    def width_after(self, judgements: int) -> float:
        return float(np.interp(judgements, self.judgements, self.widths))

    def needed(self, width: float) -> int | None:
        """How many verdicts until it is expected to be as narrow; None where not even all of them do that."""
        narrow = np.flatnonzero(self.widths <= width)
        return int(self.judgements[narrow[0]]) if len(narrow) else None


def suggest(
    scorer: Scorer, matched: MatchedRun, measure: Measure, count: int, against: MatchedRun | None = None
) -> list[Suggestion]:
    """The pairs whose verdicts would narrow the judging part of a run's score most, or that of its difference to the
    run `against`: the best first, each given those before. None from a model that cannot say how sure it is."""
    return VerdictValues(scorer, matched, measure, against).suggest(count) if scorer.draws else []


def forecast(scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None) -> Forecast:
    """What judging on, always the best next pair, is expected to bring."""
    if scorer.draws is None:
        raise NuggeteerError("a fixed threshold cannot say how sure it is, nor how sure it would be")
    return VerdictValues(scorer, matched, measure, against).forecast()


class VerdictValues:
    """What verdicts mean for a score, or for a difference: drawn once, for suggestions and forecast alike."""

    def __init__(
        self, scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None
    ) -> None:
        from threadpoolctl import threadpool_limits

        self._scorer, self._readings, self._measure = scorer, [matched, against] if against else [matched], measure
        # The matrices are small: a second thread costs more than it brings, and may change the last bit.
        with threadpool_limits(1):
            self._open_groups, score = _draw(scorer, self._readings, measure)
            self._covariance = _ScoreCovariance(self._open_groups, scorer.key.question[self._open_groups.nugget], score)
        self._variance = [self._covariance.variance()]
        self._order_so_far: list[int] = []

    def suggest(self, count: int) -> list[Suggestion]:
        cells = self._open_groups
        result: list[Suggestion] = []
        for place, cell in enumerate(self._order()):
            if len(result) == count:
                break
            if cells.size[cell] == 1:
                share = (self._variance[place] - self._variance[place + 1]) / self._variance[0]
                where = [int(column[cell]) for column in (cells.nugget, cells.response, cells.run)]
                result.append(Suggestion(where[0], where[1], float(cells.probability[cell]), share, where[2]))
        return result

    def forecast(self) -> Forecast:
        sizes = self._open_groups.size[list(self._order())]
        variance = np.array(self._variance)
        low, high = _judging_part(self._scorer, self._readings, self._measure)
        left = np.sqrt(variance / variance[0]) if variance[0] > 0 else np.zeros(len(variance))
        return Forecast((low, high), np.cumsum([0, *sizes]), (high - low) * left)

    def _order(self) -> Iterator[int]:
        """Cells as they are asked for: what takes off most for each verdict, given those before."""
        yield from self._order_so_far
        if not len(self._open_groups.size):
            return
        while True:
            gain = self._covariance.gain() / self._open_groups.size
            best = int(gain.argmax())
            if gain[best] <= NEGLIGIBLE * self._variance[0]:
                return
            self._covariance.learn(best)
            self._order_so_far.append(best)
            self._variance.append(min(self._covariance.variance(), self._variance[-1]))
            yield best


def _judging_part(scorer: Scorer, matched_runs: Sequence[MatchedRun], measure: Measure) -> tuple[float, float]:
    """The judging part of the interval, as `score` and `diff` have it."""
    outcomes = [scorer.find(matched) for matched in matched_runs]
    drawn = scorer.draw_together(matched_runs) if len(matched_runs) > 1 else None
    found = drawn or [one.found[None, :] if one.drawn is None else one.drawn for one in outcomes]
    score = _score(scorer.key, matched_runs, found, measure).sum(axis=0)
    low, high = np.quantile(score, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _score(key: AnswerKey, matched_runs: Sequence[MatchedRun], found: Sequence[Bools], measure: Measure) -> Vector:
    """questions × draws: what each question adds to the mean, or to the difference of two."""
    values = []
    for matched, has in zip(matched_runs, found, strict=True):
        partly = np.zeros(len(key.nuggets), dtype=bool)
        partly[matched.pairs.nugget[matched.states == PARTLY]] = True
        values.append(measure(Answers(key, has, partly & ~has, matched.length)).T)
    score = values[0] if len(values) == 1 else values[0] - values[1]
    defined = np.asarray(~np.isnan(score).any(axis=1))
    return np.where(defined[:, None], score / max(defined.sum(), 1), 0.0)


@dataclass(frozen=True)
class _OpenGroups:
    """What may be asked. A cell is one (nugget, response text); or all those that match a nugget least, of texts that
    stand in the same runs. `probability` that some of a cell carries the nugget; `chances` that it does and none that
    matches better, and `drawn` verdicts on that: cells × draws."""

    nugget: Ints
    response: Ints
    run: Ints  # where that response is
    runs: Ints  # that have it, as bits
    size: Ints
    probability: Vector
    chances: Vector
    drawn: Bools

    def __getitem__(self, which: Ints) -> _OpenGroups:
        return _OpenGroups(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def _open_groups(scorer: Scorer, matched_runs: Sequence[MatchedRun]) -> _OpenGroups:
    """All that is open in some runs, in the order of nuggets, with verdicts that they share (`finding`)."""
    key, draws = scorer.key, scorer.draws
    assert draws is not None
    size, rng = len(key.nuggets), np.random.Generator(np.random.PCG64([scorer.seed, 5]))
    certain = [matched.certain(size) for matched in matched_runs]
    nobody, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, DRAWS), dtype=np.float32)
    parts = [_OpenGroups(nobody, nobody, nobody, nobody, nobody, nothing[:, 0], nothing, nothing > 0)]
    for run, (matched, (responses, runs)) in enumerate(zip(matched_runs, _first_texts(matched_runs), strict=True)):
        repeat, pair = ragged(matched.begin[responses], np.diff(matched.begin)[responses])
        response, runs = (np.repeat(column, np.diff(repeat)) for column in (responses, runs))
        nugget = matched.pairs.nugget[pair].astype(np.int64)
        # A text matters where a run that returns it has not got the nugget already.
        lacking = np.stack([(runs >> one & 1).astype(bool) & ~has[nugget] for one, has in enumerate(certain)])
        asked = np.flatnonzero(matched.guessed[pair] & lacking.any(axis=0))
        asked = asked[np.lexsort((asked, -matched.pairs.scores[pair[asked]], runs[asked], nugget[asked]))]
        if not len(asked):
            continue
        pair, response, runs, nugget = pair[asked], response[asked], runs[asked], nugget[asked]
        begin = np.flatnonzero(np.diff(nugget * 4 + runs, prepend=-1))
        rank = np.arange(len(asked)) - np.repeat(begin, np.diff(begin, append=len(asked)))
        first, cell = np.flatnonzero(rank <= INDIVIDUAL_RESPONSES), np.cumsum(rank <= INDIVIDUAL_RESPONSES) - 1
        chances = draws.chances(matched.pairs[pair], matched.group, cell)
        chances = _given_answers(matched, key, draws, nugget[first], chances, rng).T
        drawn = chances > rng.random(chances.shape, np.float32)
        probability = chances.mean(axis=1, dtype=float)
        none, lacks = np.ones_like(chances), np.ones_like(drawn)
        for later in (np.flatnonzero(rank[first] == place) for place in range(1, INDIVIDUAL_RESPONSES + 1)):
            none[later] = none[later - 1] * (1 - chances[later - 1])
            lacks[later] = lacks[later - 1] & ~drawn[later - 1]
        asked_of = nugget[first], response[first], np.full(len(first), run), runs[first], np.bincount(cell)
        parts.append(_OpenGroups(*asked_of, probability, chances * none, drawn & lacks))
    cells = _OpenGroups(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in _OpenGroups.__dataclass_fields__)
    )
    return cells if len(matched_runs) == 1 else cells[np.argsort(cells.nugget, kind="stable")]


def _first_texts(matched_runs: Sequence[MatchedRun]) -> list[tuple[Ints, Ints]]:
    """Of each run the responses with a text that neither an earlier run has nor an earlier response of its answer; and
    the runs, as bits, that have it."""
    runs: dict[tuple[int, str], int] = {}
    first: list[dict[tuple[int, str], int]] = []
    for place, matched in enumerate(matched_runs):
        new: dict[tuple[int, str], int] = {}
        questions = matched.run.question.tolist()
        for response, text in enumerate(zip(questions, map(normalised, matched.run.texts), strict=True)):
            if text not in runs:
                new[text] = response
            runs[text] = runs.get(text, 0) | 1 << place
        first.append(new)
    return [
        (np.array(list(new.values()), dtype=np.int64), np.array([runs[text] for text in new], dtype=np.int64))
        for new in first
    ]


def _given_answers(
    matched: MatchedRun, key: AnswerKey, draws: Draws, nugget: Ints, chances: Vector, rng: np.random.Generator
) -> Vector:
    """Chances, draws × cells, given what is common to an answer's nuggets in a draw; each nugget keeps its own."""
    if not draws.answer_correlation:
        return chances
    common = rng.standard_normal((len(key.questions), len(chances)), np.float32).T
    open_ = np.zeros(len(key.nuggets), dtype=bool)
    open_[nugget] = True
    told = condition_on_verdicts(matched, key, draws, open_)
    if told:
        common = told.common(np.arange(len(key.questions)), common)
    begin = np.flatnonzero(np.diff(nugget, prepend=-1))
    missed = np.log1p(-np.minimum(chances, ALMOST))
    none = np.add.reduceat(missed, begin, axis=1)
    chance = np.clip(-np.expm1(none), np.float32(1e-6), ALMOST)
    share, rest = np.float32(np.sqrt(draws.answer_correlation)), np.float32(np.sqrt(1 - draws.answer_correlation))
    given = ndtr((ndtri(chance) + share * common[:, key.question[nugget[begin]]]) / rest)
    more = np.log1p(-np.minimum(given, ALMOST)) / np.log1p(-chance)
    return np.asarray(-np.expm1(np.repeat(more, np.diff(begin, append=len(nugget)), axis=1) * missed))


def _draw(scorer: Scorer, matched_runs: Sequence[MatchedRun], measure: Measure) -> tuple[_OpenGroups, Vector]:
    """What is open, drawn; and the score in these draws."""
    key, cells = scorer.key, _open_groups(scorer, matched_runs)
    found = [np.repeat(matched.certain(len(key.nuggets))[None, :], DRAWS, axis=0) for matched in matched_runs]
    for one, has in enumerate(found):
        own = np.flatnonzero(cells.runs >> one & 1)
        if len(own):
            begin = np.flatnonzero(np.diff(cells.nugget[own], prepend=-1))
            has[:, cells.nugget[own[begin]]] |= np.logical_or.reduceat(cells.drawn[own], begin, axis=0).T
    return cells, _score(key, matched_runs, found, measure)


class _ScoreCovariance:
    """The covariances of the head of this module, given the verdicts learned so far."""

    def __init__(self, cells: _OpenGroups, question: Ints, score: Vector) -> None:
        """`cells` in the order of questions, the `question` of each; `score` as from `_score`."""
        self._question = question
        draws = score.shape[1]
        self._begin = np.searchsorted(question, np.arange(len(score) + 1))
        blocks = [slice(*self._begin[q : q + 2]) for q in range(len(score))]
        score = (score - score.mean(axis=1, keepdims=True)).astype(np.float32)
        drawn = cells.drawn - cells.drawn.mean(axis=1, dtype=np.float32, keepdims=True)
        mean = cells.chances.mean(axis=1, dtype=float)
        chances = cells.chances - mean.astype(np.float32)[:, None]
        spread = mean * (1 - mean)
        effects = [_solve(drawn[block] @ drawn[block].T, drawn[block] @ score[q]) for q, block in enumerate(blocks)]
        effect = np.concatenate(effects).astype(np.float32)
        factors = _factors(chances * effect[:, None])
        # The luck of verdicts is nothing that questions have in common: a score is taken as if it were without.
        lucky = (drawn - chances) * effect[:, None]
        without = score - np.stack([lucky[block].sum(axis=0) for block in blocks])
        # Given what is learned: the covariance of g, L, and of each question the covariance of e, the score's first.
        self._common = np.eye(factors.shape[1])
        self._load, self._score_load = ((rows @ factors / draws).astype(float) for rows in (chances, without))
        drawn -= self._load.astype(np.float32) @ factors.T
        score -= self._score_load.astype(np.float32) @ factors.T
        self._own = []
        for q, block in enumerate(blocks):
            e = np.concatenate([score[q : q + 1], drawn[block]])
            own = (e @ e.T / draws).astype(float)
            # The variance of a verdict that is hardly ever a yes is not to be had from a few thousand draws of it.
            place = np.arange(1, len(own))
            own[place, place] = np.maximum(own[place, place], spread[block] - (self._load[block] ** 2).sum(axis=1))
            self._own.append(own)
        # What of a question's score no sum of its verdicts explains goes away in step with what one does.
        straight = np.array([own[0, 1:] @ _solve(own[1:, 1:], own[0, 1:]) for own in self._own])
        self._left = np.array([own[0, 0] for own in self._own])
        self._unexplained = np.maximum(self._left - straight, 0)
        self._scale = self._left / np.maximum(self._left - self._unexplained, NEGLIGIBLE**2)
        self._with_score = np.concatenate([own[0, 1:] for own in self._own])
        self._variance = np.concatenate([np.diag(own)[1:] for own in self._own])
        self._open = self._variance > NEGLIGIBLE

    def gain(self) -> Vector:
        """What each verdict is expected to take off the variance of the score; nothing when it is learned."""
        covariance = self._load @ (self._common @ self._score_load.sum(axis=0)) + self._with_score
        variance = ((self._load @ self._common) * self._load) @ np.ones(len(self._common)) + self._variance
        return np.asarray(np.where(self._open, covariance**2 / np.maximum(variance, NEGLIGIBLE), 0.0))

    def variance(self) -> float:
        """Of the score."""
        load = self._score_load.sum(axis=0)
        return float(load @ self._common @ load + np.maximum(self._left - self._unexplained, 0) @ self._scale)

    def learn(self, cell: int) -> None:
        """Condition on a verdict, whatever it is."""
        q = int(self._question[cell])
        begin, end, own = self._begin[q], self._begin[q + 1], self._own[q]
        place, load = cell - begin + 1, self._load[cell].copy()
        slope = own[:, place] / own[place, place]
        common = self._common @ load
        self._common -= np.outer(common, common) / (load @ common + own[place, place])
        self._score_load[q] -= slope[0] * load
        self._load[begin:end] -= np.outer(slope[1:], load)
        own -= np.outer(slope, own[place])
        self._left[q] = own[0, 0]
        self._with_score[begin:end], self._variance[begin:end] = own[0, 1:], np.diag(own)[1:]
        self._open[cell] = False


def _solve(matrix: Vector, right: Vector) -> Vector:
    matrix, right = matrix.astype(float), right.astype(float)
    return np.linalg.solve(matrix + NEGLIGIBLE * np.eye(len(right)), right)


def _factors(columns: Vector) -> Vector:
    """draws × factors: what moves many rows of a matrix at once, as uncorrelated numbers of mean 0 and variance 1: its
    first principal components, by subspace iteration."""
    rng = np.random.Generator(np.random.PCG64(0))
    draws = columns.shape[1]
    basis = rng.standard_normal((draws, COMMON_FACTORS)).astype(np.float32)
    for _ in range(8):
        basis, _ = np.linalg.qr(columns.T @ (columns @ basis))
    return np.asarray(basis * np.float32(np.sqrt(draws)))
