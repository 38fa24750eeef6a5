"""Where a judgement would help most, and how narrow the interval will be after so many verdicts.

A suggestion is a response to read for a nugget. It is chosen to narrow the judging part of the interval of a score, or
of the difference of two runs.

A verdict y, 0 or 1, on a (nugget, response text) is expected to reduce the variance of a mean score F by
cov(F, y)² / var(y) (the law of total variance). Verdicts are chosen one by one, each given those before it, so that
near-copies of a text are not all asked for (`covariance`). After a yes the other responses of the nugget no longer
matter. Therefore y says that this response is the first, by match score, that carries the nugget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.covariance import NEGLIGIBLE, ScoreCovariance
from nuggeteer.measures import Answers, Measure
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.copula import ALMOST, miss_exponent
from nuggeteer.scoring.outcomes import MatchedRun, condition_on_verdicts, shared_texts
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import CONFIDENCE, DRAWS
from nuggeteer.thresholds import Draws

# How much less a verdict tells the fit about all questions than the draws say: the fit allows for what the nuggets of
# an answer have in common and for unequal weights. With this, forecast and width agree in the mean of four collections
# (experiments/judging.md).
CAUTION = 2.5
Place = tuple[int, int, int]  # run, nugget, response
FLOOR = 0.05  # the least size of a pair in the draw, as a share of the mean
INDIVIDUAL_RESPONSES = 3  # of a nugget, the best matching ones are asked for one by one; the rest is one group


@dataclass(frozen=True)
class Suggestion:
    """A pair worth judging: positions of the nugget in the key and of the response in its run.

    `run` is 1 where only the run compared `against` has the response. `probability` that the response carries the
    nugget. `share` of the judging variance that the verdict is expected to remove, given the verdicts before it. Where
    it was drawn, `chance` of that among the open pairs of its run, and the `spread` of an estimate from this draw."""

    nugget: int
    response: int
    probability: float
    share: float
    run: int = 0
    chance: float = 0.0
    spread: float = 0.0


@dataclass(frozen=True)
class Forecast:
    """The judging part of an interval `now`, and its expected `widths` after so many `judgements`, drawn as `judge`
    draws them. The two arrays go together: judgements rise, widths fall."""

    now: tuple[float, float]
    judgements: Ints
    widths: Vector

    def width_after(self, judgements: int) -> float:
        return float(np.interp(judgements, self.judgements, self.widths))

    def needed(self, width: float) -> int | None:
        """How many verdicts are expected to bring it down to `width`; None if not even all of them do."""
        narrow = np.flatnonzero(self.widths <= width)
        return int(self.judgements[narrow[0]]) if len(narrow) else None


def suggest(
    scorer: Scorer, matched: MatchedRun, measure: Measure, count: int, against: MatchedRun | None = None
) -> list[Suggestion]:
    """The pairs whose verdicts would narrow the judging part of a run's score most, or that of its difference to the
    run `against`: the best first, each given those before. None from a model that cannot say how sure it is."""
    return VerdictValues(scorer, matched, measure, against).suggest(count) if scorer.draws else []


def forecast(scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None) -> Forecast:
    """How the interval is expected to narrow when pairs are judged in the order in which `judge` draws them."""
    if scorer.draws is None:
        raise NuggeteerError("a fixed threshold gives no probabilities, so it cannot say how wide the interval will be")
    return VerdictValues(scorer, matched, measure, against).forecast()


class VerdictValues:
    """What each verdict is worth for a score or a difference, from draws that suggestions and forecast share."""

    def __init__(
        self, scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None
    ) -> None:
        from threadpoolctl import threadpool_limits

        self._scorer, self._readings, self._measure = scorer, [matched, against] if against else [matched], measure
        # The matrices are small: a second thread costs more than it saves, and may change the last bit.
        with threadpool_limits(1):
            self._open_groups, score = _draw(scorer, self._readings, measure)
            question = scorer.key.question[self._open_groups.nugget]
            self._covariance = ScoreCovariance(self._open_groups.chances, self._open_groups.drawn, question, score)
        self._variance = [self._covariance.variance()]
        self._order_so_far: list[int] = []

    def suggest(self, count: int) -> list[Suggestion]:
        """The best pairs."""
        result: list[Suggestion] = []
        for step, cell in enumerate(self._order()):
            if len(result) == count:
                break
            if self._open_groups.size[cell] == 1:
                share = (self._variance[step] - self._variance[step + 1]) / self._variance[0]
                result.append(self._suggestion(cell, share))
        return result

    def draw(self, count: int, rng: np.random.Generator, waiting: Sequence[Place] = ()) -> list[Suggestion]:
        """The open ones of the pairs that are `waiting` for a verdict since an earlier draw, without a new chance, and
        as many more as make up `count`: drawn at random, one after the other, each given those before it. The chance of
        each is proportional to what its verdict is expected to take off the variance."""
        covariance, open_ = deepcopy(self._covariance), self._open_groups.size == 1
        result: list[Suggestion] = []
        for place in waiting:
            cell = self._cell_of.get(place)
            if cell is not None and open_[cell]:
                result.append(self._suggestion(cell, self._learned(covariance, cell)))
                open_[cell] = False
        return [*result, *islice(self._drawn(covariance, open_, rng), max(count - len(result), 0))]

    def _learned(self, covariance: ScoreCovariance, cell: int) -> float:
        """Condition on a verdict; the share of the variance at first that it takes away."""
        before = covariance.variance()
        covariance.learn(cell)
        return max(before - covariance.variance(), 0.0) / self._variance[0] if self._variance[0] > 0 else 0.0

    def _drawn(self, covariance: ScoreCovariance, open_: Bools, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Draws until nothing is open, while `covariance` learns."""
        run, start = self._open_groups.run, self._variance[0]
        while True:
            gain = covariance.gain()
            drawable = open_ & (gain > NEGLIGIBLE * start)
            if not drawable.any():
                return
            size = np.where(drawable, np.maximum(gain, FLOOR * gain[drawable].mean()), 0.0)
            cell = int(rng.choice(len(size), p=size / size.sum()))
            own = drawable & (run == run[cell])
            chance = size / size[own].sum()
            spread = float(np.sqrt((gain[own] / chance[own]).sum()))
            open_[cell] = False
            pair = self._suggestion(cell, self._learned(covariance, cell))
            yield replace(pair, chance=float(chance[cell]), spread=spread)

    def _suggestion(self, cell: int, share: float) -> Suggestion:
        cells = self._open_groups
        nugget, response, run = (int(column[cell]) for column in (cells.nugget, cells.response, cells.run))
        return Suggestion(nugget, response, float(cells.probability[cell]), share, run)

    @cached_property
    def _cell_of(self) -> dict[Place, int]:
        """The cell of each pair that can be asked about by itself."""
        cells = self._open_groups
        places = zip(cells.run.tolist(), cells.nugget.tolist(), cells.response.tolist(), strict=True)
        return {place: cell for cell, place in enumerate(places) if cells.size[cell] == 1}

    def forecast(self) -> Forecast:
        """The widths that one draw of all pairs leads to."""
        covariance, open_ = deepcopy(self._covariance), self._open_groups.size == 1
        covariance.caution = CAUTION
        rng = np.random.Generator(np.random.PCG64([self._scorer.seed, 9]))
        shares = [pair.share for pair in self._drawn(covariance, open_, rng)]
        judgements, left = np.arange(len(shares) + 1), 1 - np.cumsum([0.0, *shares])
        rest = int(self._open_groups.size[self._open_groups.size > 1].sum())
        if rest:  # responses that hardly match, if everything is judged
            judgements, left = np.append(judgements, len(shares) + rest), np.append(left, 0.0)
        low, high = _judging_part(self._scorer, self._readings, self._measure)
        return Forecast((low, high), judgements, (high - low) * np.sqrt(np.maximum(left, 0.0)))

    @cached_property
    def _greedy(self) -> ScoreCovariance:
        """What the best verdicts so far leave. Who only draws needs none."""
        return deepcopy(self._covariance)

    def _order(self) -> Iterator[int]:
        """Cells in the order in which to ask: each reduces the variance most per verdict, given those before it."""
        yield from self._order_so_far
        if not len(self._open_groups.size):
            return
        while True:
            gain = self._greedy.gain() / self._open_groups.size
            best = int(gain.argmax())
            if gain[best] <= NEGLIGIBLE * self._variance[0]:
                return
            self._greedy.learn(best)
            self._order_so_far.append(best)
            self._variance.append(min(self._greedy.variance(), self._variance[-1]))
            yield best


def _judging_part(scorer: Scorer, matched_runs: Sequence[MatchedRun], measure: Measure) -> tuple[float, float]:
    """The judging part of the interval, as in `score` and `diff`."""
    outcomes = [scorer.find(matched) for matched in matched_runs]
    answers = [one.drawn_answers(scorer.key) or one.answers(scorer.key) for one in outcomes]
    score = _contributions([np.atleast_2d(measure(one)).T for one in answers]).sum(axis=0)
    low, high = np.quantile(score, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _score(key: AnswerKey, matched_runs: Sequence[MatchedRun], found: Sequence[Bools], measure: Measure) -> Vector:
    """questions × draws: what each question contributes to the mean, or to the difference of two means."""
    values = []
    for matched, has in zip(matched_runs, found, strict=True):
        partly = matched.partly(len(key.nuggets))
        values.append(measure(Answers(key, has, partly & ~has, matched.length)).T)
    return _contributions(values)


def _contributions(values: Sequence[Vector]) -> Vector:
    """The same, from the values of each run."""
    score = values[0] if len(values) == 1 else values[0] - values[1]
    defined = np.asarray(~np.isnan(score).any(axis=1))
    return np.where(defined[:, None], score / max(defined.sum(), 1), 0.0)


@dataclass(frozen=True)
class _OpenGroups:
    """The pairs that may be asked about, in cells. A cell is one (nugget, response text); the texts that match a nugget
    least and are in the same runs share a cell.

    `probability` that some response of the cell carries the nugget. `chances` that one does and that none that matches
    better does, and the `drawn` verdicts on that, are cells × draws."""

    nugget: Ints
    response: Ints
    run: Ints  # the run that the position of the response refers to
    runs: Ints  # the runs that return the text, as bits
    size: Ints
    probability: Vector
    chances: Vector
    drawn: Bools

    def __getitem__(self, which: Ints) -> _OpenGroups:
        return _OpenGroups(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def _open_groups(scorer: Scorer, matched_runs: Sequence[MatchedRun]) -> _OpenGroups:
    """The open pairs of some runs, in the order of nuggets, with drawn verdicts that the runs share."""
    key, draws = scorer.key, scorer.draws
    assert draws is not None
    size, rng = len(key.nuggets), np.random.Generator(np.random.PCG64([scorer.seed, 5]))
    certain = [matched.certain(size) for matched in matched_runs]
    none_, no_draws = np.zeros(0, dtype=np.int64), np.zeros((0, DRAWS), dtype=np.float32)
    parts = [_OpenGroups(none_, none_, none_, none_, none_, no_draws[:, 0], no_draws, no_draws > 0)]
    for run, (matched, (responses, bits)) in enumerate(zip(matched_runs, shared_texts(matched_runs), strict=True)):
        repeat, pair = ragged(matched.begin[responses], np.diff(matched.begin)[responses])
        response, runs = (np.repeat(column, np.diff(repeat)) for column in (responses, np.array(bits, dtype=np.int64)))
        nugget = matched.pairs.nugget[pair].astype(np.int64)
        # A text matters if a run that returns it is not already known to have the nugget.
        lacking = np.stack([(runs >> i & 1).astype(bool) & ~has[nugget] for i, has in enumerate(certain)])
        asked = np.flatnonzero(matched.guessed[pair] & lacking.any(axis=0))
        asked = asked[np.lexsort((asked, -matched.pairs.scores[pair[asked]], runs[asked], nugget[asked]))]
        if not len(asked):
            continue
        pair, response, runs, nugget = pair[asked], response[asked], runs[asked], nugget[asked]
        begin = np.flatnonzero(np.diff(nugget * 4 + runs, prepend=-1))
        rank = np.arange(len(asked)) - np.repeat(begin, np.diff(begin, append=len(asked)))
        first, cell = np.flatnonzero(rank <= INDIVIDUAL_RESPONSES), np.cumsum(rank <= INDIVIDUAL_RESPONSES) - 1
        chances = matched.chances(draws, pair, cell)
        chances = _given_answers(matched, key, draws, nugget[first], chances, rng).T
        drawn = chances > rng.random(chances.shape, np.float32)
        probability = chances.mean(axis=1, dtype=float)
        none, lacks = np.ones_like(chances), np.ones_like(drawn)
        for later in (np.flatnonzero(rank[first] == better) for better in range(1, INDIVIDUAL_RESPONSES + 1)):
            none[later] = none[later - 1] * (1 - chances[later - 1])
            lacks[later] = lacks[later - 1] & ~drawn[later - 1]
        asked_of = nugget[first], response[first], np.full(len(first), run), runs[first], np.bincount(cell)
        none *= chances
        lacks &= drawn
        del chances, drawn
        parts.append(_OpenGroups(*asked_of, probability, none, lacks))
    if len(parts) == 2:
        return parts[1]
    cells = _OpenGroups(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in _OpenGroups.__dataclass_fields__)
    )
    return cells if len(matched_runs) == 1 else cells[np.argsort(cells.nugget, kind="stable")]


def _given_answers(
    matched: MatchedRun, key: AnswerKey, draws: Draws, nugget: Ints, chances: Vector, rng: np.random.Generator
) -> Vector:
    """Chances, draws × cells, given what the nuggets of an answer have in common in each draw. The mean chance of each
    nugget stays the same."""
    if not draws.answer_correlation:
        return chances
    common = rng.standard_normal((len(key.questions), len(chances)), np.float32).T
    open_ = np.zeros(len(key.nuggets), dtype=bool)
    open_[nugget] = True
    posterior = condition_on_verdicts(matched, key, draws, open_)
    if posterior:
        common = np.stack([posterior.common(q, numbers) for q, numbers in enumerate(common.T)], axis=1)
    begin = np.flatnonzero(np.diff(nugget, prepend=-1))
    # Draws × cells may be large: in place, where it can be.
    missed = np.minimum(chances, ALMOST)
    np.log1p(np.negative(missed, out=missed), out=missed)
    chance = -np.expm1(np.add.reduceat(missed, begin, axis=1))
    exponent = miss_exponent(chance, common[:, key.question[nugget[begin]]], draws.answer_correlation)
    missed *= np.repeat(exponent, np.diff(begin, append=len(nugget)), axis=1)
    return np.asarray(np.negative(np.expm1(missed, out=missed), out=missed))


def _draw(scorer: Scorer, matched_runs: Sequence[MatchedRun], measure: Measure) -> tuple[_OpenGroups, Vector]:
    """The open pairs with their drawn verdicts, and the score in these draws."""
    key, cells = scorer.key, _open_groups(scorer, matched_runs)
    found = [np.repeat(matched.certain(len(key.nuggets))[None, :], DRAWS, axis=0) for matched in matched_runs]
    for i, has in enumerate(found):
        own = np.flatnonzero(cells.runs >> i & 1)
        if len(own):
            begin = np.flatnonzero(np.diff(cells.nugget[own], prepend=-1))
            has[:, cells.nugget[own[begin]]] |= np.logical_or.reduceat(cells.drawn[own], begin, axis=0).T
    return cells, _score(key, matched_runs, found, measure)
