"""Many runs compared: which ones differ, by which measure, and in which slice of the questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, as_collection
from nuggeteer.comparing.correlations import Correlation, Official, against_official, answers_of, correlate, pooled
from nuggeteer.comparing.diff import change_of
from nuggeteer.display import Framed, Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.measures import Answers, Measure, applicable, parse
from nuggeteer.measures.base import per_question, ratio
from nuggeteer.records import AnswerKey, Ints, Run, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.scores import Scores
from nuggeteer.statistics.intervals import MIN_QUESTIONS, REACH, Interval, student_reach
from nuggeteer.statistics.significance import holm, rank_intervals
from nuggeteer.statistics.variance import Tukey, Variance, analyse_variance, contrast, tukey_test

MEASURES = ("f3", "pyramid_f3", "macro_f3")
BY = ("kind", "tag", "target")


@dataclass(frozen=True)
class PairOfRuns:
    """Two runs, by position: `difference` is the first one's mean less the other's, with its interval and p-value by
    Tukey's test. `above` is the share of draws in which the first run is above the other, None with few questions."""

    higher: int
    lower: int
    difference: float
    low: float
    high: float
    p: float
    above: float | None
    significant: bool


@dataclass(frozen=True, repr=False)
class Standing(Shown):
    """The runs under one measure; arrays are in the order of the scores' runs.

    `questions` counts those in which the measure is defined. `order` has the indices of the runs, the highest mean
    first. `ranks`, runs × (low, high), and `above`, runs × runs, come from draws of guesses and questions together and
    are None with fewer than MIN_QUESTIONS. `above` is the share of draws in which the first run's mean is above the
    second's, with ties counted as half.
    """

    measure: Measure
    questions: int
    order: Ints
    ranks: Ints | None
    above: Vector | None
    variance: Variance
    tukey: Tukey
    groups: tuple[Ints, ...]
    change: Interval | None = None  # of two runs, from the first to the second, as `diff` says it

    @property
    def pairs(self) -> Iterator[PairOfRuns]:
        """Runs two by two, in the order of their ranks."""
        tukey, significant = self.tukey, self.tukey.apart
        for a, b in combinations(self.order.tolist(), 2):
            difference = float(tukey.means[a] - tukey.means[b])
            critical = float(tukey.critical[a, b])
            above = None if self.above is None else float(self.above[a, b])
            ends = difference - critical, difference + critical
            if self.change and self.change.low is not None and self.change.high is not None:
                ends = (self.change.low, self.change.high) if a else (-self.change.high, -self.change.low)
            yield PairOfRuns(a, b, difference, *ends, float(tukey.p[a, b]), above, bool(significant[a, b]))

    def alike(self, run: int) -> tuple[int, int]:
        """The best and the worst rank of the runs from which this one cannot be told apart."""
        ranks = np.argsort(self.order) + 1
        own = [ranks[other] for group in self.groups if run in group for other in group]
        return int(min(own)), int(max(own))


@dataclass(frozen=True)
class Slice:
    """The questions or nuggets with one value (None: without a value), and the scores of the runs on them.

    `scores` has the mean of each run by each measure. `difference` is from the first run, by the first measure. `p` is
    from an analysis of variance of the slice; `p_holm` is corrected over all slices and runs.
    """

    value: str | None
    questions: int
    nuggets: int
    scores: dict[str, Vector]
    difference: Vector
    p: Vector
    p_holm: Vector


@dataclass(frozen=True, repr=False)
class Slices(Shown):
    """All values of one kind. `measured` names the measure; differences are from the run `against`."""

    by: str
    measured: str
    against: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, repr=False)
class Comparison(Framed):
    """Runs compared. The first of the standings ranks them; `pooled` is each run's score by its measure with all
    questions as one, None if the measure is not an F."""

    scores: Scores
    standings: tuple[Standing, ...]
    correlations: tuple[Correlation, ...]
    official: tuple[Official, ...]
    pooled: Vector | None
    slices: Slices | None = None

    def _summary(self) -> str:
        first = self.standings[0]
        return f"by {first.measure.name}: {', '.join(self.scores.runs[i].name for i in first.order.tolist())}"

    def _rows(self) -> Iterator[dict[str, object]]:
        """A row for each run, the best first."""
        first = self.standings[0]
        for place, i in enumerate(first.order.tolist(), 1):
            run = self.scores.runs[i]
            headline = run.measures[first.measure.name]
            row: dict[str, object] = {"place": place, "run": run.name, first.measure.name: headline.value}
            row |= {"low": headline.low, "high": headline.high}
            low, high = (None, None) if first.ranks is None else map(int, first.ranks[i])
            row |= {"best rank": low, "worst rank": high}
            row |= {each.measure.name: run.measures[each.measure.name].value for each in self.standings[1:]}
            yield row | {"known": run.outcome.pairs_known, "guessed": run.outcome.pairs_guessed}

    @property
    def official_known(self) -> tuple[int, int]:
        """How many pairs are known in the runs with official scores, and of how many."""
        name = self.official[0].name
        outcomes = [run.outcome for run in self.scores.runs if name in run.run.info.official]
        known = sum(outcome.pairs_known for outcome in outcomes)
        return known, known + sum(outcome.pairs_guessed for outcome in outcomes)


def compare(
    collection: Collection | Path | str,
    runs: Iterable[str | Path | Run] | None = None,
    measures: Sequence[str | Measure] = MEASURES,
    by: str | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Comparison:
    """Compare two or more runs, ranked by the first measure. Measures that do not apply to the key are left out.

    `by` slices the scores by the `kind` or `target` of questions, or the `tag` of nuggets.
    """
    if by is not None and by not in BY:
        raise NuggeteerError(f"runs cannot be compared by {by!r}; there are {', '.join(BY)}")
    collection = as_collection(collection)
    loaded = collection.loaded(runs)
    names = [run.name for run in loaded]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise NuggeteerError(f"{twice[0]}: the same run is named twice; name two different ones")
    if len(loaded) < 2:
        raise NuggeteerError(f"{collection.root}: comparing takes at least two runs; name another, or a file")
    parsed = (measure if isinstance(measure, Measure) else parse(measure) for measure in measures)
    wanted = list({measure.name: measure for measure in parsed}.values())
    applicable(wanted[:1], collection.key)
    scorer = Scorer(collection, wanted, seed=seed, jobs=jobs)
    matched = [scorer.read(run) for run in loaded] if len(loaded) == 2 else []
    scores = scorer.scores(scorer.score(run) for run in matched or map(scorer.read, loaded))
    values: dict[str, list[Vector]] = {measure.name: [] for measure in scores.measures}
    for answers in answers_of(scores):
        for measure in scores.measures:
            values[measure.name].append(np.atleast_2d(measure(answers)))
    standings = tuple(_standing(scorer, scores, measure, values[measure.name]) for measure in scores.measures)
    if len(matched) == 2:
        standings = tuple(_as_diff(scorer, standing, matched) for standing in standings)
    if standings[0].questions == 0:
        raise NuggeteerError(f"{wanted[0]} is undefined in every question; rank by another measure")
    return Comparison(
        scores,
        standings,
        tuple(correlate(scores, pair, values, scorer.resamples) for pair in combinations(scores.measures, 2)),
        tuple(against_official(scores)),
        pooled(scores, wanted[0]),
        _slices(scores, by, values) if by else None,
    )


def _defined(values: Sequence[Vector]) -> list[Vector]:
    """The values (draws × questions for each run) without the questions in which some run has no value."""
    kept = ~np.isnan([own[0] for own in values]).any(axis=0)
    return [own[:, kept] for own in values]


def mean_draws(values: Vector, resamples: Vector) -> Vector:
    """A run's mean in each draw: `values` are draws × questions, or one row for all draws; `resamples`, draws ×
    questions, say how often each question is in it."""
    defined = ~np.isnan(values).any(axis=0)
    counts = resamples[:, defined]
    size = counts.sum(axis=1)
    return np.asarray((counts * values[:, defined]).sum(axis=1)[size > 0] / size[size > 0])


def _standing(scorer: Scorer, scores: Scores, measure: Measure, values: Sequence[Vector]) -> Standing:
    variance = analyse_variance(_defined(values))
    enough = variance.size >= MIN_QUESTIONS
    tukey = tukey_test(variance.means, variance.error, variance.freedom if enough else 0)
    ranks = above = None
    if enough:
        draws = np.stack([mean_draws(own, scorer.resamples) for own in values])
        if scorer.interval == "t":
            # Resampled means vary less than Student's t, and with few questions much less.
            widened = student_reach(variance.size) / REACH * np.sqrt(variance.size / (variance.size - 1))
            centre = draws.mean(axis=1, keepdims=True)
            draws = centre + widened * (draws - centre)
        ranks = rank_intervals(draws.T)
        above = np.stack([np.mean((run > draws) + (run == draws) / 2, axis=1) for run in draws])
    means = np.array([run.measures[measure.name].value for run in scores.runs], dtype=float)
    order = np.argsort(-means, kind="stable")
    return Standing(measure, variance.size, order, ranks, above, variance, tukey, tuple(tukey.groups()))


def _as_diff(scorer: Scorer, standing: Standing, matched: Sequence[MatchedRun]) -> Standing:
    """Two runs have one difference. It has the interval and the p of `diff`, which knows more about two builds than a
    test of means."""
    found = change_of(scorer, matched[0], matched[1], standing.measure)
    change = found.interval
    if change.value is None or change.low is None or change.high is None or found.p is None:
        return standing
    critical = change.value - change.low if change.value > 0 else change.high - change.value
    off = 1 - np.eye(2)
    tukey = Tukey(np.array([0.0, change.value]), critical * off, 1 + (found.p - 1) * off)
    return replace(standing, tukey=tukey, groups=tuple(tukey.groups()), change=change)


def _slices(scores: Scores, by: str, values: dict[str, list[Vector]]) -> Slices:
    key = scores.key
    parts = list(_by_tag(key, answers_of(scores)) if by == "tag" else _by_question(key, by, values))
    tables = [{name: analyse_variance(_defined(runs)) for name, runs in measured.items()} for _, _, measured in parts]
    first = next(iter(tables[0]))
    p = np.array([contrast(table[first]) for table in tables])
    corrected = holm(p)
    none = np.array([np.nan])
    slices = []
    for (value, nuggets, _), table, *tests in zip(parts, tables, p, corrected, strict=True):
        means = {name: variance.means for name, variance in table.items()}
        difference = np.concatenate([none, means[first][1:] - means[first][0]])
        beside = (np.concatenate([none, test]) for test in tests)
        slices.append(Slice(value, table[first].size, nuggets, means, difference, *beside))
    measured = scores.measures[0].name if by != "tag" else "recall" if key.weighted else "vital recall"
    return Slices(by, measured, scores.runs[0].name, tuple(slices))


Part = tuple[str | None, int, dict[str, list[Vector]]]  # value, nuggets, what is measured of each run


def _by_question(key: AnswerKey, by: str, values: dict[str, list[Vector]]) -> Iterator[Part]:
    kinds = [question.kind if by == "kind" else question.target for question in key.questions]
    for value in _sorted(kinds):
        own = np.array([kind == value for kind in kinds])
        measured = {name: [run[:, own] for run in runs] for name, runs in values.items()}
        yield value, int(own[key.question].sum()), measured


def _by_tag(key: AnswerKey, runs: Iterable[Answers]) -> Iterator[Part]:
    """Recall over the nuggets that have a tag, weight found over weight; one with several tags counts for each.
    Without votes or weights vital nuggets weigh 1."""
    has = [() if nugget is None else nugget.tags or (None,) for nugget in key.grouping.counted]
    tags = _sorted(tag for tags in has for tag in tags)
    own = [np.array([tag in tags for tags in has]) for tag in tags]
    whole = [per_question(key.weight * those, key) for those in own]
    recall: list[list[Vector]] = [[] for _ in tags]
    for answers in runs:
        for place, those in enumerate(own):
            part = answers.found_weight(key.weight * those)
            recall[place].append(np.atleast_2d(ratio(part, whole[place], otherwise=np.nan)))
    for tag, those, values in zip(tags, own, recall, strict=True):
        yield tag, int(those.sum()), {"recall": values}


def _sorted(values: Iterable[str | None]) -> list[str | None]:
    """Each value once, in alphabetical order; None comes last."""
    return sorted(set(values), key=lambda value: (value is None, value or ""))
