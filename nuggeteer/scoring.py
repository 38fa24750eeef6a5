"""From a collection and runs to scores: which nuggets each answer has, and what that is worth.

`score` is the whole of it; what it returns holds arrays, in the order of the key's questions and nuggets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer import signature
from nuggeteer.collection import Collection
from nuggeteer.fitting import fitted, gather
from nuggeteer.idf import Idf, background, pool, read_table
from nuggeteer.intervals import DRAWS, Interval, mean_interval, question_draws
from nuggeteer.judging import PARTLY, UNKNOWN, YES, Known
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.measures import DEFAULT, Answers, Measure, parse
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector
from nuggeteer.settings import Match
from nuggeteer.text import identity_and_length
from nuggeteer.thresholds import Draws, FixedThreshold, ThresholdModel
from nuggeteer.thresholds.prior import PRIOR

if TYPE_CHECKING:
    import pandas

    from nuggeteer.thresholds.selection import Compared


@dataclass(frozen=True)
class Outcome:
    """What was found in one run: an entry for each nugget of the key.

    `probability` that the answer has the nugget, NaN where the model cannot say; `found` when that is at least
    ½. `response` is the position in the run of the response that gets the credit, the first that carries the
    nugget (where none does by itself, the likeliest), −1 without one; `best` the highest match score of any
    response, NaN without an answer. An outcome is `known` when no guess could change it.
    """

    found: Bools
    partly: Bools
    known: Bools
    probability: Vector
    response: Ints
    best: Vector
    length: Ints
    answered: Bools
    pairs_known: int
    pairs_guessed: int
    drawn: Bools | None  # draws × nuggets: found, under drawn verdicts; None where there is nothing to draw


@dataclass(frozen=True)
class RunScore:
    """The scores of one run: intervals of means, values by question, and the outcome of each nugget.

    `by_question` holds expected scores; `hard_by_question` those of `outcome.found` as it stands."""

    run: Run
    outcome: Outcome
    measures: dict[str, Interval]
    by_question: dict[str, Vector]
    hard_by_question: dict[str, Vector]

    @property
    def name(self) -> str:
        return self.run.name

    @cached_property
    def rank(self) -> Ints:
        """The rank in its answer of the response that gets each nugget's credit; 0 without one."""
        first = self.run.offsets[self.run.question[self.outcome.response]] if len(self.run) else 0
        return np.where(self.outcome.response >= 0, self.outcome.response - first + 1, 0)


@dataclass(frozen=True)
class Scores:
    """The scores of several runs, and the signature of how they came about."""

    key: AnswerKey
    runs: tuple[RunScore, ...]
    measures: tuple[Measure, ...]
    threshold: Vector
    signature: str
    notes: tuple[str, ...] = ()

    def __getitem__(self, run: str) -> RunScore:
        return next(score for score in self.runs if score.name == run)

    def to_frame(self) -> pandas.DataFrame:
        """A pandas frame with a row for each run and question, and a column for each measure."""
        import pandas as pd

        qids = [question.qid for question in self.key.questions]
        frames = [
            pd.DataFrame({"run": score.name, "qid": qids, **score.by_question, "length": score.outcome.length})
            for score in self.runs
        ]
        return pd.concat(frames, ignore_index=True)


def score(
    collection: Collection,
    runs: Iterable[str | Run],
    measures: Sequence[str | Measure] = DEFAULT,
    model: ThresholdModel | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Scores:
    """Score runs of a collection, by name or by file, or as they are.

    Known verdicts are used wherever there are any, and `model` decides the rest: by default what the settings
    of the collection name, the smooth model fitted on its judgements.
    Measures that do not apply to the key are left out.
    """
    key, settings = collection.key, collection.settings
    loaded = [run if isinstance(run, Run) else collection.run(run) for run in runs]
    wanted = [measure if isinstance(measure, Measure) else parse(measure) for measure in measures]
    chosen = tuple(measure for measure in wanted if measure.applies(key))
    known = Known(key, collection.judgements, collection.judged_runs)
    idf = _idf(settings.match, collection)
    matcher = NgramMatcher(key, settings.match, idf)
    basis = signature.basis(collection, idf.name if idf else "none")
    notes: list[str] = []
    if model is None and settings.threshold.model == "fixed":
        model = FixedThreshold(settings.threshold.value)
    elif model is None:
        model, notes = fitted(collection, matcher, known, basis, jobs)
        if model.pairs == 0:
            notes.append(
                "No judgement in this collection: nothing here has been checked by a human. Guesses rest on "
                "what public collections taught, which is why the intervals are wide."
            )
    draws = model.draw(DRAWS, seed)
    uniform = np.random.Generator(np.random.PCG64([seed, 2]))
    verdicts = uniform.random((len(key.nuggets), DRAWS), np.float32).T
    resamples = question_draws(len(key.questions), seed)
    scores = []
    for run in loaded:
        outcome = find(run, key, matcher, known, model, draws, verdicts, collection.group(run.name), jobs)
        scores.append(_run_score(run, key, outcome, chosen, resamples))
    return Scores(
        key,
        tuple(scores),
        chosen,
        model.threshold(np.arange(len(key.nuggets))),
        f"{basis}|threshold:{model.signature}|interval:bca({DRAWS})|seed:{seed}",
        tuple(notes),
    )


@dataclass(frozen=True)
class Thresholds:
    """The threshold models compared on a collection's judgements."""

    pairs: int
    positive: int
    groups: int
    models: tuple[Compared, ...]
    chosen: str


def compare_thresholds(collection: Collection, jobs: int = 1) -> Thresholds:
    """Fit and compare all threshold models on what humans judged in a collection."""
    from nuggeteer.thresholds.selection import compare

    known = Known(collection.key, collection.judgements, collection.judged_runs)
    matcher = NgramMatcher(collection.key, collection.settings.match, _idf(collection.settings.match, collection))
    evidence = gather(collection, matcher, known, jobs)
    compared, chosen = compare(evidence, PRIOR)
    groups = len(np.unique(evidence.group))
    return Thresholds(len(evidence), int(evidence.yes.sum()), groups, tuple(compared), chosen)


def _run_score(run: Run, key: AnswerKey, outcome: Outcome, measures: Sequence[Measure], resamples: Vector) -> RunScore:
    hard = Answers(key, outcome.found, outcome.partly, outcome.length)
    intervals, by_question, hard_by_question = {}, {}, {}
    drawn = None
    if outcome.drawn is not None:
        drawn = Answers(key, outcome.drawn, outcome.partly & ~outcome.drawn, outcome.length)
    for measure in measures:
        hard_by_question[measure.name] = decided = measure(hard)
        if drawn is None:
            by_question[measure.name] = decided
            certain = bool(outcome.known.all())
            intervals[measure.name] = mean_interval(decided, resamples, certain=certain)
        else:
            values = measure(drawn)
            by_question[measure.name] = expected = values.mean(axis=0)
            intervals[measure.name] = mean_interval(expected, resamples, values, decided)
    return RunScore(run, outcome, intervals, by_question, hard_by_question)


def find(
    run: Run,
    key: AnswerKey,
    matcher: NgramMatcher,
    known: Known,
    model: ThresholdModel,
    draws: Draws | None = None,
    verdicts: Vector | None = None,
    group: str | None = None,
    jobs: int = 1,
) -> Outcome:
    """Decide which nuggets each answer of a run has: by what is known, else by guessing.

    `verdicts` (draws × nuggets) are uniform numbers, the same for all runs: with equal chances, two runs get
    equal verdicts."""
    texts, counts = [], []
    for text in run.texts:
        same, characters = identity_and_length(text)
        texts.append(same)
        counts.append(characters)
    lengths = np.bincount(run.question, weights=counts, minlength=len(key.questions)).astype(np.int64)
    matches = matcher.score(texts, run.question, jobs)
    states = known(texts, run.question)
    del texts, counts
    begin, where = ragged(key.offsets[run.question], key.counts[run.question])
    nugget = where.astype(np.int32)
    del where
    size = len(key.nuggets)
    guessed = states == UNKNOWN
    certain, open_ = _any(states == YES, nugget, size), _any(guessed, nugget, size)
    open_ &= ~certain
    best = np.full(size, np.nan)
    np.fmax.at(best, nugget, matches)

    carries = states == YES
    threshold = model.threshold(np.arange(size))
    likely = np.flatnonzero(guessed & (matches > np.nanmin(threshold, initial=1.0)))
    carries[likely] = matches[likely] > threshold[nugget[likely]]
    first = _first(carries, nugget, begin, size)
    found, chance, drawn = first >= 0, np.where(certain, 1.0, np.where(open_, np.nan, 0.0)), None
    if draws is not None and verdicts is not None and open_.any():
        undecided = guessed & open_[nugget]
        if undecided.all():  # without copies, for a million responses
            chances = draws.chances(matches, nugget, group)
        else:
            chances = draws.chances(matches[undecided], nugget[undecided], group)
        drawn = certain | (verdicts < chances)
        chance = np.where(open_, chances.mean(axis=0), chance)
        found = chance >= 0.5
        # Where only several responses together make a nugget probable, the likeliest gets the credit.
        alone = np.flatnonzero(guessed & (found & (first < 0))[nugget])
        likeliest = np.zeros(len(nugget), dtype=bool)
        likeliest[alone] = matches[alone] == best[nugget[alone]]
        first = np.where(found, np.maximum(first, _first(likeliest, nugget, begin, size)), -1)
    elif draws is not None:
        found = certain
    return Outcome(
        found=found,
        partly=_any(states == PARTLY, nugget, size) & ~found,
        known=~open_,
        probability=chance,
        response=first,
        best=best,
        length=lengths,
        answered=np.diff(run.offsets) > 0,
        pairs_known=int((~guessed).sum()),
        pairs_guessed=int(guessed.sum()),
        drawn=drawn,
    )


def _any(flags: Bools, nugget: Ints, size: int) -> Bools:
    result = np.zeros(size, dtype=bool)
    result[nugget[flags]] = True
    return result


def _first(flags: Bools, nugget: Ints, begin: Ints, size: int) -> Ints:
    """The first response, in run order, with a flagged pair of each nugget; −1 without one."""
    result = np.full(size, -1, dtype=np.int64)
    hits = np.flatnonzero(flags)[::-1]  # the last written is the first in run order
    result[nugget[hits]] = np.searchsorted(begin, hits, side="right") - 1
    return result


def _idf(settings: Match, collection: Collection) -> Idf | None:
    if settings.weights == "unit":
        return None
    if settings.idf == "wordfreq":
        return background()
    if settings.idf == "pool":
        return pool(text for run in collection.judged_runs for text in run.texts)
    return read_table(Path(settings.idf))
