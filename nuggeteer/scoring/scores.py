"""The scores of runs: what `Scorer` returns, and what all later stages read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.errors import NoSuchName, did_you_mean
from nuggeteer.measures import Measure
from nuggeteer.records import AnswerKey, Ints, Run, Vector
from nuggeteer.scoring.outcomes import Outcome, by_group
from nuggeteer.settings import IntervalMethod
from nuggeteer.statistics.intervals import Interval, Scale, mean_interval
from nuggeteer.thresholds import ThresholdModel

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class RunScore(Shown):
    """The scores of one run: the mean of each measure with its interval, values by question, and the outcome of each
    nugget.

    `counted` is the outcome in which groups count as one. `by_question` has expected scores. `hard_by_question` has
    the scores of `outcome.found`, as if it were certain.
    """

    run: Run
    outcome: Outcome
    measures: dict[str, Interval]
    by_question: dict[str, Vector]
    hard_by_question: dict[str, Vector]
    counted: Outcome

    @classmethod
    def of(
        cls,
        run: Run,
        key: AnswerKey,
        outcome: Outcome,
        measures: Sequence[Measure],
        method: IntervalMethod = "t",
        seed: int = 0,
    ) -> RunScore:
        """The scores of a run in which these nuggets were found, with intervals by this method."""
        hard, drawn = outcome.answers(key), outcome.drawn_answers(key)
        intervals, by_question, hard_by_question = {}, {}, {}
        for measure in measures:
            scale = Scale(measure.least(key), 1.0)
            hard_by_question[measure.name] = decided = measure(hard)
            if drawn is None:
                by_question[measure.name] = decided
                certain = bool(outcome.known.all())
                intervals[measure.name] = mean_interval(decided, certain=certain, scale=scale, method=method, seed=seed)
            else:
                values = measure(drawn)
                by_question[measure.name] = expected = values.mean(axis=0)
                intervals[measure.name] = mean_interval(
                    expected, values, decided, scale=scale, method=method, seed=seed
                )
                del values  # before the next measure's are made
        return cls(run, outcome, intervals, by_question, hard_by_question, by_group(key, outcome))

    @property
    def name(self) -> str:
        return self.run.name

    def _summary(self) -> str:
        return f"{self.name}, {', '.join(f'{name} {_value(one.value)}' for name, one in self.measures.items())}"

    def _rows(self) -> Iterator[dict[str, object]]:
        for name, one in self.measures.items():
            yield {"measure": name, "value": one.value, "low": one.low, "high": one.high}

    @cached_property
    def rank(self) -> Ints:
        """For each nugget, the rank in its answer of the response that gets the credit; 0 if there is none."""
        first = self.run.offsets[self.run.question[self.outcome.response]] if len(self.run) else 0
        return np.where(self.outcome.response >= 0, self.outcome.response - first + 1, 0)


@dataclass(frozen=True, repr=False)
class Scores(Shown):
    """The scores of several runs, and the signature of all that they depend on."""

    key: AnswerKey
    runs: tuple[RunScore, ...]
    measures: tuple[Measure, ...]
    model: ThresholdModel | None  # None if nothing is guessed, so that no model was fitted
    signature: str
    notes: tuple[str, ...] = ()
    as_truth: tuple[str, ...] = ()  # machines whose verdicts are the standard

    @cached_property
    def threshold(self) -> Vector:
        """The threshold of each nugget of the key; NaN if nothing is guessed."""
        return self.thresholds_of(np.arange(len(self.key.nuggets)))

    def thresholds_of(self, nuggets: Ints) -> Vector:
        """The thresholds of some nuggets, by their positions."""
        if "threshold" in vars(self):  # those of all are known
            return self.threshold[nuggets]
        return np.full(len(nuggets), np.nan) if self.model is None else self.model.threshold(nuggets)

    def __getitem__(self, run: str) -> RunScore:
        for score in self.runs:
            if score.name == run:
                return score
        names = [score.name for score in self.runs]
        raise NoSuchName(f"no run {run!r} was scored; {did_you_mean(str(run), names)}there are: {', '.join(names)}")

    def __iter__(self) -> Iterator[RunScore]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def _ipython_key_completions_(self) -> list[str]:
        return [score.name for score in self.runs]

    def _summary(self) -> str:
        first = self.measures[0].name
        return f"{first} of {', '.join(f'{one.name} {_value(one.measures[first].value)}' for one in self.runs)}"

    def _rows(self) -> Iterator[dict[str, object]]:
        """A row for each run."""
        for score in self.runs:
            first = score.measures[self.measures[0].name]
            row: dict[str, object] = {"run": score.name, **{name: one.value for name, one in score.measures.items()}}
            row |= {"low": first.low, "high": first.high}
            yield row | {"known": score.outcome.pairs_known, "guessed": score.outcome.pairs_guessed}

    def found_of_total(self, run: RunScore, question: int) -> tuple[list[int], list[int]]:
        """[found, in the key] for the vital and for the okay nuggets of a question."""
        own = self.key.own(question)
        found, vital, okay = run.counted.found[own], self.key.vital[own], self.key.okay[own]
        return [int((found & vital).sum()), int(vital.sum())], [int((found & okay).sum()), int(okay.sum())]

    def to_frame(self) -> pandas.DataFrame:
        """A pandas frame with a row for each run and question, and a column for each measure."""
        import pandas as pd

        qids = [question.qid for question in self.key.questions]
        frames = [
            pd.DataFrame({"run": score.name, "qid": qids, **score.by_question, "length": score.outcome.length})
            for score in self.runs
        ]
        return pd.concat(frames, ignore_index=True)


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
