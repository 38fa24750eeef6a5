"""The kinds of experiments, each a table or a figure of the Nuggeteer paper.

Scores of runs are compared with official ones if the manifest has these for all judged runs, otherwise with scores from
all judgements. One group of runs is left out at a time. As in the paper, a threshold is chosen afterwards, so it has
seen the answers. The models that decide (that of the settings, and the paper's own choice) have not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.display import counted
from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Matcher
from nuggeteer.matching.choice import make
from nuggeteer.measures import Measure, parse
from nuggeteer.records import Bools, Run, Vector, number_or_none
from nuggeteer.scoring.fitted_model import model_for
from nuggeteer.scoring.known import UNKNOWN, YES, known_in
from nuggeteer.scoring.scorer import Scorer, compare_thresholds, material
from nuggeteer.statistics.correlation import ScoreAgreement, score_agreement
from nuggeteer.statistics.intervals import Interval
from nuggeteer.trust.crossval import crossval, of_each_run, shared_matcher
from nuggeteer.trust.experiments.definition import Cell, Definition, Plot, Result, Series, Table
from nuggeteer.trust.experiments.left_out import HiddenRuns, leave_out_groups

BARS = 15
AGREEMENT_COLUMNS = ("tau", "R²", "√mse")
Findings = tuple[Table, Plot | None, list[str]]
HIDDEN = "Of each group of runs all judgements are hidden in turn; of a text that others returned too they stay."
PAPERS_CHOICE = "nugget"  # the model that the paper finds best (§4.4)
CHOSEN = "The best threshold was chosen with the results before one's eyes, as in the paper."


def run_experiment(definition: Definition, collection: Collection, jobs: int = 1, seed: int = 0) -> Result:
    """Run an experiment on a collection."""
    if definition.what not in KINDS:
        raise NuggeteerError(f"{definition.name}: what is {definition.what!r}; there are {', '.join(KINDS)}")
    start = time.perf_counter()
    table, plot, notes = KINDS[definition.what](definition, collection, jobs, seed)
    seconds = time.perf_counter() - start
    return Result(definition, collection.root.resolve().name, table, plot, tuple(notes), seconds)


def data(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Table 1: how large the collection is."""
    key, runs = collection.key, collection.judged_runs
    responses = sum(map(len, runs))
    answers = sum(int(run.answered.sum()) for run in runs)
    columns = ("questions", "vital", "okay", "nuggets a question", "runs", "groups", "responses a run", "a question")
    row = (
        len(key.questions),
        int(key.vital.sum()),
        int(key.okay.sum()),
        len(key.nuggets) / len(key.questions),
        len(runs),
        len({collection.group(run.name) for run in runs}),
        responses / len(runs) if runs else None,
        responses / answers if answers else None,
    )
    return Table(columns, (row,)), None, ["Runs are those that were judged; responses a question: of those answered."]


def found(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Figure 4: how hard nuggets are to find."""
    key, runs = collection.key, collection.judged_runs
    known = known_in(collection)
    times = np.zeros(len(key.nuggets), dtype=np.int64)
    for run in runs:
        times[known.of_run(run) == YES] += 1
    width = max(-(-len(runs) // BARS), 1)
    bins = [(0, 0), *((low, min(low + width - 1, len(runs))) for low in range(1, len(runs) + 1, width))]
    names = tuple(str(low) if low == high else f"{low}–{high}" for low, high in bins)
    counts = [int(((times >= low) & (times <= high)).sum()) for low, high in bins]
    shares = tuple(count / len(times) for count in counts)
    series = Series("", tuple(map(float, range(len(bins)))), shares)
    plot = Plot("bars", "runs that found a nugget", "share of nuggets", (series,), names)
    return Table(("found by", "nuggets", "share"), tuple(zip(names, counts, shares, strict=True))), plot, []


def thresholds(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Figure 6: every combination of settings, every threshold, against Kendall's τ."""
    measure = parse(definition.measure)
    left_out, truth, notes = _compared(collection, measure, jobs)
    rows = list[tuple[Cell, ...]]()
    curves: dict[str, list[Vector]] = {}
    for name, chosen, grid in _grids(left_out, collection, definition, jobs):
        agreed, tau, best = _agreed(truth, grid)
        rows.append((name, float(definition.thresholds[best]), *_agreement_cells(agreed[best])))
        match = chosen.settings.match
        curves.setdefault(f"n = {match.n}{', stems' if match.stem else ''}", []).append(tau)
    series = []
    for name, own in curves.items():
        mean = np.mean(own, axis=0)
        drawn = ~np.isnan(mean)
        series.append(Series(name, tuple(definition.thresholds[drawn].tolist()), tuple(mean[drawn].tolist())))
    plot = Plot("lines", "threshold", "Kendall's tau", tuple(series))
    return Table(("settings", "best threshold", *AGREEMENT_COLUMNS), tuple(rows)), plot, [*notes, HIDDEN, CHOSEN]


def agreeing(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Tables 2 and 3: runs' scores against official ones, beside Pourpre's and ROUGE's."""
    measure = parse(definition.measure)
    left_out, truth, notes = _compared(collection, measure, jobs)
    rows = list[tuple[Cell, ...]]()
    for name, chosen, grid in _grids(left_out, collection, definition, jobs):
        agreed, _, best = _agreed(truth, grid)
        above = f"{'credit ' if _credits(chosen) else ''}above {definition.thresholds[best]:g}"
        rows.append((name, above, *_agreement_cells(agreed[best])))
        for model in _models(collection):
            by_model = _intervals(_decided(chosen, model), left_out, measure, jobs, seed)
            values = np.array([one.value for one in by_model], dtype=float)
            rows.append((name, model, *_agreement_cells(score_agreement(truth, values))))
    return Table(("matcher", "decided by", *AGREEMENT_COLUMNS), tuple(rows)), None, [*notes, HIDDEN, CHOSEN]


def scatter(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Figure 5: scores with their intervals against official ones."""
    measure = parse(definition.measure)
    left_out, truth, notes = _compared(collection, measure, jobs)
    rows = list[tuple[Cell, ...]]()
    series, shares = list[Series](), list[str]()
    chosen = collection.with_settings(match=definition.settings(collection.settings.match)[0])
    for model in _models(collection):
        points = list[tuple[float, ...]]()
        outside = [0, 0]
        by_model = _intervals(_decided(chosen, model), left_out, measure, jobs, seed)
        for run, true, one in zip(left_out.runs, truth, by_model, strict=True):
            judging = one.judging or (None, None)
            rows.append((run.name, model, true, one.value, one.low, one.high, *judging))
            for i, (low, high) in enumerate(((one.low, one.high), judging)):
                outside[i] += low is not None and high is not None and not low - 1e-9 <= true <= high + 1e-9
            if one.low is not None and one.high is not None and one.value is not None:
                points.append((true, one.value, one.low, one.high))
        series.append(Series(model, *zip(*points, strict=True)) if points else Series(model, (), ()))
        runs = f"{outside[0]} of {counted(len(left_out.runs), 'run')}"
        shares.append(f"{model}: {runs} outside the interval, {outside[1]} outside its judging part.")
    columns = ("run", "decided by", "official", "guessed", "low", "high", "judging low", "judging high")
    plot = Plot("scatter", "official score", "score from guesses, with its 95 % interval", tuple(series))
    return Table(columns, tuple(rows)), plot, [*shares, *notes, HIDDEN]


def evidence(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Table 4: the threshold models."""
    (match, *_) = definition.settings(collection.settings.match)
    compared = compare_thresholds(collection.with_settings(match=match), jobs)
    rows = tuple((one.name, one.log10_evidence, one.log_score) for one in compared.models)
    notes = [f"{compared.pairs:,} judged pairs, {compared.positive:,} of them yes. Held-out: nats a pair."]
    return Table(("model", "log10 P(data | model)", "held-out log score"), rows), None, notes


def judgements(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Table 5: precision and recall of single judgements."""
    left_out, rows = leave_out_groups(collection, jobs), list[tuple[Cell, ...]]()
    usual = collection.settings.threshold.value
    for name, chosen in _combinations(definition, collection):
        true, guessed = _pairs(left_out, _match(left_out, chosen, jobs))
        best, _ = _best_f1(true, guessed, definition.thresholds)
        for by, threshold in ((f"best threshold, {best:g}", best), (f"usual threshold, {usual:g}", usual)):
            rows.append((name, by, *_prf(true, guessed > threshold)))
        for model in _models(collection):
            by_model = crossval(chosen, model, seed, jobs).guessed
            rows.append((name, model, by_model.precision, by_model.recall, by_model.f1))
    return Table(("matcher", "decided by", "precision", "recall", "F1"), tuple(rows)), None, [HIDDEN, CHOSEN]


def responses(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """§4.5: responses known to carry a nugget as more descriptions of it, of which the best match counts."""
    measure = parse(definition.measure)
    left_out, truth, notes = _compared(collection, measure, jobs)
    rows = list[tuple[Cell, ...]]()
    chosen = collection.with_settings(match=definition.settings(collection.settings.match)[0])
    for name, scores in (
        ("descriptions", _match(left_out, chosen, jobs)),
        ("and responses judged yes", _match_by_group(left_out, chosen, _taught, jobs)),
    ):
        agreed, _, best = _agreed(truth, left_out.at_thresholds(scores, definition.thresholds, measure, False))
        of_pairs = _best_f1(*_pairs(left_out, scores), definition.thresholds)
        rows.append((name, float(definition.thresholds[best]), *_agreement_cells(agreed[best]), *of_pairs))
    columns = ("trained on", "best threshold", *AGREEMENT_COLUMNS, "best for pairs", "F1 of pairs")
    return Table(columns, tuple(rows)), None, [*notes, HIDDEN, CHOSEN]


def matchers(definition: Definition, collection: Collection, jobs: int, seed: int) -> Findings:
    """Every matcher by cross-validation."""
    rows = list[tuple[Cell, ...]]()
    for name, chosen in _combinations(definition, collection):
        one = crossval(chosen, collection.settings.threshold.model, seed, jobs)
        answers = (one.answers.f1, one.answers.average_precision, one.answers.ece)
        runs = (number_or_none(one.runs.kendall_tau), number_or_none(one.runs.rmse), one.coverage95)
        rows.append((name, one.guessed.f1, one.guessed.log_score, *answers, *runs))
    columns = ("matcher", "F1 pairs", "log score", "F1 answers", "AP", "ECE", "tau", "rmse", "coverage")
    by = collection.settings.threshold.model
    note = f"As nuggeteer crossval, decided by {by}: F1 and log score of guessed pairs; then of answers; then of runs."
    return Table(columns, tuple(rows)), None, [note, HIDDEN]


def _models(collection: Collection) -> tuple[str, ...]:
    """The models that decide guesses in the tables: the paper's choice, and that of the settings."""
    return tuple(dict.fromkeys((PAPERS_CHOICE, collection.settings.threshold.model)))


def _decided(collection: Collection, model: str) -> Collection:
    threshold = replace(collection.settings.threshold, model=model)
    return collection.with_settings(threshold=threshold)


def _combinations(definition: Definition, collection: Collection) -> Iterator[tuple[str, Collection]]:
    """Each combination of settings: its name, and the collection with it."""
    for changed, match in zip(definition.match, definition.settings(collection.settings.match), strict=True):
        yield named(changed), collection.with_settings(match=match)


def named(changed: dict[str, object]) -> str:
    """A combination of settings in a table."""
    parts = [str(value) if key == "matcher" else f"{key}={value}" for key, value in changed.items()]
    return " ".join(parts).replace("=True", "=yes").replace("=False", "=no") or "as set"


def _credits(collection: Collection) -> bool:
    return collection.settings.match.matcher == "pourpre"


def _compared(collection: Collection, measure: Measure, jobs: int) -> tuple[HiddenRuns, list[float], list[str]]:
    """The runs that have an official score or a true one, these scores, and notes on both."""
    every = leave_out_groups(collection, jobs)
    left_out = every.with_scores
    if not left_out.runs:
        what = "no run is judged completely, so none has a score to compare with"
        raise NuggeteerError(f"{collection.root}: {what}; say in runs.jsonl which runs are judged")
    infos = (collection.manifest.get(run.name) for run in left_out.runs)
    official = [info.official.get(measure.name) if info else None for info in infos]
    known = [score for score in official if score is not None]
    if len(known) == len(official):
        notes = [f"Official {measure.title} is the manifest's."]
    else:
        known, notes = left_out.true_scores(measure), [f"Official {measure.title} is that from all judgements."]
    if some := len(every.runs) - len(left_out.runs):
        notes.append(f"Not compared, because only some nuggets were judged: {counted(some, 'run')}.")
    return left_out, known, notes


def _match(left_out: HiddenRuns, collection: Collection, jobs: int) -> list[Vector]:
    """Each run's match scores. A matcher that learns does so without the run's group."""
    matcher = make(material(collection, known_in(collection)))
    if matcher.uses_judgements:
        return _match_by_group(left_out, collection, _learned, jobs)
    scores = matcher.score(left_out.texts, left_out.question, jobs)
    return [left_out.scores_of(run, scores) for run in left_out.runs]


def _match_by_group(
    left_out: HiddenRuns, collection: Collection, matcher_of: Callable[[Collection], Matcher], jobs: int
) -> list[Vector]:
    """Each run's match scores, by a matcher made from the collection without its group."""
    found = of_each_run(collection, partial(_scores, matcher_of), jobs)
    return [found[run.name] for run in left_out.runs]


def _scores(matcher_of: Callable[[Collection], Matcher], rest: Collection, runs: Sequence[Run]) -> list[Vector]:
    matcher = matcher_of(rest)
    return [matcher.score(run.normalised_texts, run.question) for run in runs]


def _learned(rest: Collection) -> Matcher:
    return make(material(rest, known_in(rest)))


def _taught(rest: Collection) -> Matcher:
    """n-grams of the descriptions, and of all responses that are known to carry the nugget."""
    match = replace(rest.settings.match, matcher="ngram", described="responses", informative="descriptions")
    return _learned(rest.with_settings(match=replace(match, marked=False, judges=())))


def _grids(
    left_out: HiddenRuns, collection: Collection, definition: Definition, jobs: int
) -> Iterator[tuple[str, Collection, Vector]]:
    """Each combination of settings, with runs × thresholds: scores at fixed thresholds."""
    from joblib import Parallel, delayed

    every = list(_combinations(definition, collection))
    tasks = (delayed(_grid)((left_out, chosen, definition)) for _, chosen in every)
    for (name, chosen), grid in zip(every, Parallel(n_jobs=min(jobs, len(every)))(tasks), strict=True):
        yield name, chosen, grid


def _grid(task: tuple[HiddenRuns, Collection, Definition]) -> Vector:
    left_out, collection, definition = task
    scores, measure = _match(left_out, collection, 1), parse(definition.measure)
    return left_out.at_thresholds(scores, definition.thresholds, measure, _credits(collection))


def _intervals(collection: Collection, left_out: HiddenRuns, measure: Measure, jobs: int, seed: int) -> list[Interval]:
    """The score of each run from what is known without its group, decided by the model of the settings."""
    matcher = shared_matcher(collection, known_in(collection), jobs)
    found = of_each_run(collection, partial(_scored, matcher, measure.name, seed), jobs)
    return [found[run.name] for run in left_out.runs]


def _scored(matcher: Matcher | None, measure: str, seed: int, rest: Collection, runs: Sequence[Run]) -> list[Interval]:
    known = known_in(rest)
    matcher = matcher or make(material(rest, known))
    scorer = Scorer(rest, [measure], model_for(rest, matcher, known), seed, matcher=matcher)
    return [scorer.score(scorer.read(run)).measures[measure] for run in runs]


def _pairs(left_out: HiddenRuns, scores: Sequence[Vector]) -> tuple[Bools, Vector]:
    """Truth and match scores of all guessed pairs, each text of an answer once."""
    kept = [run.guessed & (run.true != UNKNOWN) & ~run.is_repeat for run in left_out.runs]
    true = [(run.true == YES)[own] for run, own in zip(left_out.runs, kept, strict=True)]
    return np.concatenate(true), np.concatenate([own[which] for own, which in zip(scores, kept, strict=True)])


def _prf(true: Bools, found: Bools) -> tuple[float | None, float | None, float | None]:
    hits, guessed, positive = (int(which.sum()) for which in (true & found, found, true))
    precision, recall = (hits / size if size else None for size in (guessed, positive))
    return precision, recall, 2 * hits / (guessed + positive) if positive else None


def _best_f1(true: Bools, scores: Vector, thresholds: Vector) -> tuple[float, float]:
    """The first threshold at which F1 is highest, and F1 there."""
    f1 = [_prf(true, scores > threshold)[2] or 0.0 for threshold in thresholds]
    best = int(np.argmax(f1))
    return float(thresholds[best]), f1[best]


def _agreed(truth: Sequence[float], grid: Vector) -> tuple[list[ScoreAgreement], Vector, int]:
    """How the scores of runs at each threshold agree with the true ones, Kendall's τ of each, and the first place where
    it is highest; 0 if there is none."""
    agreed = [score_agreement(truth, column) for column in grid.T]
    tau = np.array([one.kendall_tau for one in agreed])
    return agreed, tau, int(np.argmax(np.where(np.isnan(tau), -np.inf, tau)))


def _agreement_cells(one: ScoreAgreement) -> tuple[float | None, float | None, float | None]:
    return number_or_none(one.kendall_tau), number_or_none(one.r_squared), number_or_none(one.rmse)


KINDS: dict[str, Callable[[Definition, Collection, int, int], Findings]] = {
    "data": data,
    "found": found,
    "thresholds": thresholds,
    "agreement": agreeing,
    "scatter": scatter,
    "models": evidence,
    "judgements": judgements,
    "responses": responses,
    "matchers": matchers,
}
