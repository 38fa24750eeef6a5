"""From a collection and runs to scores: which nuggets each answer has, and what that is worth.

`score` is the whole of it; what it returns holds arrays, in the order of the key's questions and nuggets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer.collection import Collection
from nuggeteer.idf import Idf, background, pool, read_table
from nuggeteer.intervals import Interval, mean_interval, question_draws
from nuggeteer.judging import PARTLY, UNKNOWN, YES, Known
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.measures import DEFAULT, Answers, Measure, parse
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector
from nuggeteer.settings import Match
from nuggeteer.text import identity, identity_and_length
from nuggeteer.thresholds import FixedThreshold, ThresholdModel

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Outcome:
    """What was found in one run: an entry for each nugget of the key.

    `response` is the position in the run of the first response that carries the nugget, −1 without one;
    `best` the highest match score of any response, NaN without an answer; `probability` that the answer
    has the nugget, NaN where the model cannot say. An outcome is `known` when no guess could change it.
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


@dataclass(frozen=True)
class RunScore:
    """The scores of one run: intervals of means, values by question, and the outcome of each nugget."""

    run: Run
    outcome: Outcome
    measures: dict[str, Interval]
    by_question: dict[str, Vector]

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

    def __getitem__(self, run: str) -> RunScore:
        return next(score for score in self.runs if score.name == run)

    def to_frame(self) -> pandas.DataFrame:
        """A pandas frame with a row for each run and question, and a column for each measure."""
        import pandas as pd

        qids = [question.qid for question in self.key.questions]
        frames = [
            pd.DataFrame(
                {"run": score.name, "qid": qids, **score.by_question, "length": score.outcome.length}
            )
            for score in self.runs
        ]
        return pd.concat(frames, ignore_index=True)


def score(
    collection: Collection,
    runs: Iterable[str],
    measures: Sequence[str | Measure] = DEFAULT,
    model: ThresholdModel | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Scores:
    """Score runs of a collection, by name or by file.

    Known verdicts are used wherever there are any, and `model` (by default the fixed threshold of the
    collection's settings) decides the rest. Measures that do not apply to the key are left out.
    """
    key, settings = collection.key, collection.settings
    loaded = [collection.run(name) for name in runs]
    wanted = [measure if isinstance(measure, Measure) else parse(measure) for measure in measures]
    chosen = tuple(measure for measure in wanted if measure.applies(key))
    model = model or FixedThreshold(settings.threshold.value)
    known = Known(key, collection.judgements, collection.judged_runs)
    idf = _idf(settings.match, collection)
    matcher = NgramMatcher(key, settings.match, idf)
    draws = question_draws(len(key.questions), seed)
    scores = []
    for run in loaded:
        outcome = find(run, key, matcher, known, model, jobs)
        answers = Answers(key, outcome.found, outcome.partly, outcome.length)
        by_question = {measure.name: measure(answers) for measure in chosen}
        intervals = {name: mean_interval(values, draws) for name, values in by_question.items()}
        scores.append(RunScore(run, outcome, intervals, by_question))
    signature = "|".join(
        [
            f"nuggeteer:{version('nuggeteer')}",
            f"key:{_digest_key(key)}",
            f"judgements:{_digest_judgements(collection)}",
            f"match:{settings.match}",
            f"idf:{idf.name if idf else 'none'}",
            f"threshold:{model.signature}",
            f"interval:bca({len(draws)})",
            f"seed:{seed}",
        ]
    )
    return Scores(key, tuple(scores), chosen, model.threshold(np.arange(len(key.nuggets))), signature)


def find(
    run: Run, key: AnswerKey, matcher: NgramMatcher, known: Known, model: ThresholdModel, jobs: int = 1
) -> Outcome:
    """Decide which nuggets each answer of a run has: by what is known, else by guessing."""
    texts, counts = [], []
    for text in run.texts:
        same, characters = identity_and_length(text)
        texts.append(same)
        counts.append(characters)
    lengths = np.bincount(run.question, weights=counts, minlength=len(key.questions)).astype(np.int64)
    matches = matcher.score(texts, run.question, jobs)
    states = known(texts, run.question)
    del texts, counts
    begin, nugget = ragged(key.offsets[run.question], key.counts[run.question])
    guessed = states == UNKNOWN
    probability = model.probability(matches, nugget)
    carries = (states == YES) | (guessed & (matches > model.threshold(nugget)))

    size = len(key.nuggets)
    first = np.full(size, -1, dtype=np.int64)
    hits = np.flatnonzero(carries)[::-1]  # the last written is the first in run order
    first[nugget[hits]] = np.searchsorted(begin, hits, side="right") - 1
    best = np.full(size, np.nan)
    if len(nugget):
        np.fmax.at(best, nugget, matches)
    certain = _any(states == YES, nugget, size)
    open_ = _any(guessed, nugget, size)
    chance = np.full(size, np.nan)
    if probability is not None:
        miss = np.ones(size)
        np.multiply.at(miss, nugget[guessed], 1 - probability[guessed])
        chance = 1 - miss
    chance = np.where(certain, 1.0, np.where(open_, chance, 0.0))
    answered = np.diff(run.offsets) > 0
    return Outcome(
        found=first >= 0,
        partly=_any(states == PARTLY, nugget, size) & ~(first >= 0),
        known=certain | ~open_,
        probability=chance,
        response=first,
        best=best,
        length=lengths,
        answered=answered,
        pairs_known=int((~guessed).sum()),
        pairs_guessed=int(guessed.sum()),
    )


def _any(flags: Bools, nugget: Ints, size: int) -> Bools:
    result = np.zeros(size, dtype=bool)
    result[nugget[flags]] = True
    return result


def _idf(settings: Match, collection: Collection) -> Idf | None:
    if settings.weights == "unit":
        return None
    if settings.idf == "wordfreq":
        return background()
    if settings.idf == "pool":
        return pool(text for run in collection.judged_runs for text in run.texts)
    return read_table(Path(settings.idf))


def _digest_key(key: AnswerKey) -> str:
    """A hash of everything in the key that scores depend on, whatever the order of its lines."""
    lines = sorted(
        repr((n.qid, n.nugget, n.descriptions, n.importance, n.weight, sorted(n.votes.items())))
        for n in key.nuggets
    )
    return blake2b("\n".join(lines).encode(), digest_size=4).hexdigest()


def _digest_judgements(collection: Collection) -> str:
    """A hash of everything known, whatever the order of its lines and files."""
    lines = [
        f"{j.qid}\t{j.nugget}\t{j.verdict}\t{j.partial}\t{identity(j.text)}" for j in collection.judgements
    ]
    for run in collection.judged_runs:
        ids = (collection.key.questions[q].qid for q in run.question.tolist())
        lines += [f"{run.info.judged}\t{q}\t{identity(t)}" for q, t in zip(ids, run.texts, strict=True)]
    return blake2b("\n".join(sorted(lines)).encode(), digest_size=4).hexdigest()
