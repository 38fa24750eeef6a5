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
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.covariance import NEGLIGIBLE, ScoreCovariance
from nuggeteer.judging.open_groups import draw_open_groups
from nuggeteer.measures import Answers, Measure
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import CONFIDENCE

# How much less a verdict tells the fit about all questions than the draws say: the fit allows for what the nuggets of
# an answer have in common and for unequal weights. With this, forecast and width agree in the mean of four collections
# (experiments/judging.md).
CAUTION = 2.5
Place = tuple[int, int, int]  # run, nugget, response
FLOOR = 0.05  # the least size of a pair in the draw, as a share of the mean


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
    run `against`: the best first, each given those before. None where all is known, and from a model that cannot say
    how sure it is."""
    decided = matched.decided and (against is None or against.decided)
    return [] if decided or not scorer.draws else VerdictValues(scorer, matched, measure, against).suggest(count)


def forecast(scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None) -> Forecast:
    """How the interval is expected to narrow when pairs are judged in the order in which `judge` draws them."""
    if scorer.draws is None:
        raise NuggeteerError("a fixed threshold gives no probabilities, so it cannot say how wide the interval will be")
    return VerdictValues(scorer, matched, measure, against).forecast()


@contextmanager
def _one_thread() -> Iterator[None]:
    """The matrices are small: a second thread costs more than it saves, and may change the last bit."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


class VerdictValues:
    """What each verdict is worth for a score or a difference, from draws that suggestions and forecast share."""

    @_one_thread()
    def __init__(
        self, scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None
    ) -> None:
        self._scorer, self._readings, self._measure = scorer, [matched, against] if against else [matched], measure
        self._open_groups, drawn = draw_open_groups(scorer, self._readings)
        question = scorer.key.question[self._open_groups.nugget]
        score = _score(scorer.key, self._readings, drawn.found, measure)
        drawn.found.clear()
        self._covariance = ScoreCovariance(drawn.chances, drawn.verdicts, drawn.expected, question, score)
        self._variance = [self._covariance.variance()]
        self._order_so_far: list[int] = []

    @_one_thread()
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

    @_one_thread()
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
        run = self._open_groups.run
        while True:
            gain = covariance.gain()
            size = self._sizes(gain, open_)
            if not size.any():
                return
            cell = int(rng.choice(len(size), p=size / size.sum()))
            own = (size > 0) & (run == run[cell])
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

    @_one_thread()
    def forecast(self, now: tuple[float, float] | None = None) -> Forecast:
        """The widths that one draw of all pairs leads to. `now` is the judging part, if somebody knows it already."""
        covariance, open_ = deepcopy(self._covariance), self._open_groups.size == 1
        covariance.caution = CAUTION
        rng = np.random.Generator(np.random.PCG64([self._scorer.seed, 9]))
        shares = self._shares_of_draws(covariance, open_, rng)
        judgements, left = np.arange(len(shares) + 1), 1 - np.cumsum([0.0, *shares])
        rest = int(self._open_groups.size[self._open_groups.size > 1].sum())
        if rest:  # responses that hardly match, if everything is judged
            judgements, left = np.append(judgements, len(shares) + rest), np.append(left, 0.0)
        low, high = now or judging_part(self._scorer, self._readings[0], self._measure, *self._readings[1:])
        return Forecast((low, high), judgements, (high - low) * np.sqrt(np.maximum(left, 0.0)))

    def _shares_of_draws(self, covariance: ScoreCovariance, open_: Bools, rng: np.random.Generator) -> list[float]:
        """The shares of the variance that the verdicts of one draw of all pairs take away. Some are drawn at once, as a
        twentieth more verdicts hardly change the chances of the others."""
        shares: list[float] = []
        while True:
            size = self._sizes(covariance.gain(), open_)
            some = min(1 + len(shares) // 20, int((size > 0).sum()))
            if not some:
                return shares
            for cell in rng.choice(len(size), some, replace=False, p=size / size.sum()).tolist():
                open_[cell] = False
                shares.append(self._learned(covariance, cell))

    def _sizes(self, gain: Vector, open_: Bools) -> Vector:
        """What the chance of each open pair is proportional to: the `gain` of its verdict, at least a part of the mean;
        0 if it gains nothing."""
        drawable = open_ & (gain > NEGLIGIBLE * self._variance[0])
        return np.where(drawable, np.maximum(gain, FLOOR * gain[drawable].mean()) if drawable.any() else 0.0, 0.0)

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


def judging_part(
    scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None
) -> tuple[float, float]:
    """The judging part of the interval, as in `score` and `diff`."""
    outcomes = [scorer.find(one) for one in (matched, against) if one is not None]
    answers = [one.drawn_answers(scorer.key) or one.answers(scorer.key) for one in outcomes]
    score = _contributions([np.atleast_2d(measure(one)).T for one in answers]).sum(axis=0)
    low, high = np.quantile(score, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _score(key: AnswerKey, matched_runs: Sequence[MatchedRun], found: Sequence[Bools], measure: Measure) -> Vector:
    """questions × draws: what each question contributes to the mean, or to the difference of two means."""
    values = []
    for matched, has in zip(matched_runs, found, strict=True):
        partly = matched.partly
        in_part = partly & ~has if partly.any() else partly  # as large as all draws
        values.append(measure(Answers(key, has, in_part, matched.length)).T)
    return _contributions(values)


def _contributions(values: Sequence[Vector]) -> Vector:
    """The same, from the values of each run."""
    score = values[0] if len(values) == 1 else values[0] - values[1]
    defined = np.asarray(~np.isnan(score).any(axis=1))
    return np.where(defined[:, None], score / max(defined.sum(), 1), 0.0)
