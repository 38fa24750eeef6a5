"""How good the guesses are: each group of systems is left out in turn, guessed, and compared with the human verdicts.

All judgements of the group left out are hidden. Its runs count as not judged, and verdicts on its texts are unknown
unless a judged run of another group returned the same text, or a verdict names a run of another group. Everything else
stays known, as it would for tonight's build.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

import numpy as np
from msgspec import structs

from nuggeteer.collection.folder import Collection
from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.fields import Ends, OrNaN, Part, about
from nuggeteer.matching.base import Matcher
from nuggeteer.matching.choice import make
from nuggeteer.matching.external import Remembered
from nuggeteer.measures import Answers, Measure, applicable
from nuggeteer.measures.base import per_question, ratio
from nuggeteer.records import AnswerKey, Bools, Ints, Run, RunInfo, Vector
from nuggeteer.scoring.evidence import Owners, gather_evidence
from nuggeteer.scoring.fitted_model import fitted_to, unit_of
from nuggeteer.scoring.known import PARTLY, UNKNOWN, YES, States, VerdictIndex, known_in
from nuggeteer.scoring.matched_run import MatchedRun, read, units_of_pairs
from nuggeteer.scoring.outcomes import Outcome, VerdictNoise, find
from nuggeteer.scoring.scorer import material
from nuggeteer.settings import Threshold
from nuggeteer.statistics.correlation import ScoreAgreement, score_agreement
from nuggeteer.statistics.intervals import DRAWS, ENDS, Scale, mean_interval
from nuggeteer.text import verdict_form
from nuggeteer.thresholds import FixedThreshold, ThresholdModel, noisy
from nuggeteer.thresholds.model import Build, probability
from nuggeteer.trust.reliability import Guesses, GuessQuality, quality

T = TypeVar("T")
QuestionText = tuple[int, str]  # a question's position in the key, and a text
FIXED = "fixed"
MODELS = (FIXED, *noisy.NAMES, "smooth")


@dataclass(frozen=True, repr=False)
class Crossval(Shown):
    """`pairs` are all judged (response, nugget) pairs of the runs, each text of an answer once; `guessed` those of them
    that were not known from another group's verdict; `answers` are (run, nugget). `runs` compares means of `measure`
    (None: mean recalls by weight), and `coverage95` is the share of runs whose judging interval holds the true one."""

    matcher: str
    model: str
    groups: int
    pairs: GuessQuality
    guessed: GuessQuality
    answers: GuessQuality
    runs: ScoreAgreement
    coverage95: float | None
    scores: tuple[LeftOutRun, ...]
    seconds: float
    as_truth: tuple[str, ...] = ()
    measure: Measure | None = None


class LeftOutRun(Part):
    """A run that was left out."""

    # Its mean recall or its score, with the judging interval.
    run: str
    true: OrNaN
    value: Annotated[OrNaN, about("By guesses.")]
    judging: Ends | None


def crossval(
    collection: Collection,
    model: str = "smooth",
    seed: int = 0,
    jobs: int = 1,
    notify: Callable[[int, int], None] = lambda done, groups: None,
    measure: str | Measure | None = None,
) -> Crossval:
    """Leave out each group of judged runs, with the matcher of the collection's settings. `notify` is called with the
    number of groups that are done and the number of all groups. Runs are compared by `measure`; without one, by mean
    recall. With a measure, a run with only some nuggets judged is not compared."""
    from joblib import Parallel, delayed

    if model not in MODELS:
        listed = f"{did_you_mean(model, MODELS)}there are {', '.join(MODELS)}"
        raise NuggeteerError(f"no threshold model is called {model!r}; {listed}")
    (chosen,) = applicable([measure], collection.key) if measure else (None,)
    start = time.perf_counter()
    collection = with_builds_apart(collection)
    groups = groups_of(collection)
    truth = known_in(collection)
    matcher = shared_matcher(collection, truth, jobs)
    # A tuple, because Dask sends other large arguments in advance and loses them when their worker ends.
    tasks = (delayed(_leave_out)((collection, group, truth, matcher, model, seed, chosen)) for group in groups)
    folds: list[_Fold] = []
    for fold in Parallel(n_jobs=min(jobs, len(groups)), return_as="generator")(tasks):
        folds.append(fold)
        notify(len(folds), len(groups))
    runs = tuple(run for fold in folds for run in fold.runs)
    pairs = Guesses.joined([fold.pairs for fold in folds])
    answers = Guesses.joined([fold.answers for fold in folds])
    held = [run.judging[0] - 1e-9 <= run.true <= run.judging[1] + 1e-9 for run in runs if run.judging is not None]
    return Crossval(
        matcher=collection.settings.match.matcher,
        model=model,
        groups=len(groups),
        pairs=quality(pairs),
        guessed=quality(pairs.only(pairs.guessed)),
        answers=quality(answers),
        runs=score_agreement([run.true for run in runs], [run.value for run in runs]),
        coverage95=float(np.mean(held)) if held else None,
        scores=runs,
        seconds=time.perf_counter() - start,
        as_truth=tuple(collection.machine_truth),
        measure=chosen,
    )


def with_builds_apart(collection: Collection) -> Collection:
    """If all runs with verdicts are builds of one system, make each build a separate group, so that it can be left out.
    Verdicts on the other builds then apply to its texts, as they do for tonight's build."""
    runs = [run.name for run in collection.assessed_runs]
    if len({collection.group(run) for run in runs}) != 1:
        return collection
    alone = {run: structs.replace(collection.manifest.get(run, RunInfo(run)), group=None) for run in runs}
    return collection.but(manifest={**collection.manifest, **alone})


def groups_of(collection: Collection) -> list[str]:
    """The groups with judged texts, which can be left out."""
    groups = list(dict.fromkeys(collection.group(run.name) for run in collection.assessed_runs))
    if len(groups) < 2:
        raise NuggeteerError(
            f"{collection.root}: groups of runs with verdicts are left out in turn, and there are {len(groups)};"
            " judge texts of another system, or say in runs.jsonl of which group each run is"
        )
    return groups


def of_each_run(
    collection: Collection, told: Callable[[Collection, Sequence[Run]], Sequence[T]], jobs: int = 1
) -> dict[str, T]:
    """What is told of each run with verdicts by the collection without its group."""
    from joblib import Parallel, delayed

    groups = groups_of(collection)
    tasks = (delayed(_of_group)((collection, group, told)) for group in groups)  # a tuple: see `crossval`
    return {name: one for part in Parallel(n_jobs=min(jobs, len(groups)))(tasks) for name, one in part}


def _of_group(task: tuple[Collection, str, Callable[[Collection, Sequence[Run]], Sequence[T]]]) -> list[tuple[str, T]]:
    collection, group, told = task
    runs = [run for run in collection.assessed_runs if collection.group(run.name) == group]
    return [(run.name, one) for run, one in zip(runs, told(without(collection, group), runs), strict=True)]


def shared_matcher(collection: Collection, truth: VerdictIndex, jobs: int = 1) -> Matcher | None:
    """The scores of all texts of runs with verdicts, computed once for all folds. None if the matcher learns, because
    then each fold has its own scores."""
    matcher = make(material(collection, truth))
    if matcher.uses_judgements:
        return None
    asked = dict.fromkeys(zip(truth.question.tolist(), truth.texts, strict=True))
    for run in collection.assessed_runs:
        asked |= dict.fromkeys(zip(run.question.tolist(), run.normalised_texts, strict=True))
    question = np.array([number for number, _ in asked], dtype=np.int32)
    return Remembered.of(collection.key, matcher, [text for _, text in asked], question, jobs)


def without(collection: Collection, group: str) -> Collection:
    """The collection as if nobody had judged the systems of this group."""
    own, others = set[QuestionText](), set[QuestionText]()
    for run in map(collection.run, collection.run_names):
        outside = collection.group(run.name) != group
        if not outside or run.info.judged != "none":
            verdicts = others if outside else own
            verdicts.update(zip(run.question.tolist(), map(verdict_form, run.texts), strict=True))
            verdicts.update((question, verdict_form(run.answer(question))) for question in set(run.question.tolist()))
    texts = [(collection.key.position[j.qid], verdict_form(j.text)) for j in collection.judgements]
    for judgement, text in zip(collection.judgements, texts, strict=True):
        if judgement.run is not None:
            (others if collection.group(judgement.run) != group else own).add(text)
    hidden = own - others
    kept = tuple(j for j, text in zip(collection.judgements, texts, strict=True) if text not in hidden)
    manifest = {
        name: structs.replace(info, judged="none") if collection.group(name) == group else info
        for name, info in collection.manifest.items()
    }
    return collection.but(judgements=kept, manifest=manifest)


@dataclass(frozen=True)
class _Fold:
    """A group left out: its judged runs' pairs and answers, and their recalls."""

    pairs: Guesses
    answers: Guesses
    runs: list[LeftOutRun]


def _leave_out(task: tuple[Collection, str, VerdictIndex, Matcher | None, str, int, Measure | None]) -> _Fold:
    """Guess the runs of a group from what is known about all other groups. If no matcher is given, it is made from
    that, too."""
    collection, group, truth, matcher, model, seed, measure = task
    key, rest = collection.key, without(collection, group)
    known = known_in(rest)
    matcher = matcher or make(material(rest, known))
    settings = Threshold(model, value=rest.settings.threshold.value)
    decides = fitted_to(gather_evidence(rest, matcher, known, 1, unit_of(settings)), settings, matcher)
    of_pairs = decides
    if unit_of(settings) == "answer" and many_responses(collection, group):
        # One of several responses has a nugget more rarely than the answer whose likeliest response it is.
        of_pairs = fitted_to(gather_evidence(rest, matcher, known, 1, "response"), settings, matcher)
    draws = decides.draw(DRAWS, seed)
    noise = VerdictNoise(key, DRAWS, seed)
    owners = Owners(rest, known)
    worth = weights_in_recall(key)
    worth /= max(int((per_question(worth, key) > 0).sum()), 1)
    pairs, answers, runs = [], [], []
    for run in collection.assessed_runs:
        if collection.group(run.name) == group:
            unread = replace(run, info=structs.replace(run.info, judged="none"))
            matched = owners.assign(read(unread, Build(group, run.name), key, matcher, known))
            states = pair_truth(truth, run, matched.nugget)
            outcome = find(matched, key, decides, draws, noise)
            pairs.append(guessed_pairs(matched, states, of_pairs, key, matcher))
            has = truth.of_run(run)
            judged = has != UNKNOWN
            answers.append(guessed_answers(has, outcome))
            if measure is not None:
                if judged.all():
                    runs.append(guessed_score(run.name, key, measure, has, outcome))
                answers[-1] = answers[-1].only(judged)
                continue
            of_judged = worth if run.info.judged != "none" else _worth_of(judged, worth)
            if of_judged.any():
                runs.append(guessed_recall(run.name, answers[-1], outcome, of_judged))
            answers[-1] = answers[-1].only(judged)
    return _Fold(Guesses.joined(pairs), Guesses.joined(answers), runs)


def many_responses(collection: Collection, group: str) -> bool:
    """Whether any answer of a group is more than one response."""
    runs = (run for run in collection.assessed_runs if collection.group(run.name) == group)
    return any(int(np.diff(run.offsets).max()) > 1 for run in runs)


def pair_truth(truth: VerdictIndex, run: Run, nugget: Ints) -> States:
    """What people said of each pair of a run. A yes on a whole answer leaves open which response has the nugget. So
    what was said of whole answers is no truth of pairs: only the no's would be left."""
    states, whole = truth(run.normalised_texts, run.question), truth.answers.of_run(run)
    if whole is not None:
        states[(whole != UNKNOWN)[nugget]] = UNKNOWN
    return states


def guessed_pairs(
    matched: MatchedRun, states: States, model: ThresholdModel, key: AnswerKey, matcher: Matcher
) -> Guesses:
    """The judged pairs, each text of an answer once."""
    guessed, known_yes = matched.guessed, matched.states == YES
    chance, order = known_yes.astype(float), np.where(known_yes, 2.0, -1.0)
    found, where = known_yes.copy(), np.flatnonzero(guessed & (states != UNKNOWN))
    if isinstance(model, FixedThreshold):
        chance[where], order[where] = np.nan, matched.scores[where]
        found[where] = matched.scores[where] > model.threshold(matched.nugget[where])
    else:
        chance[where] = order[where] = probability(model, units_of_pairs(matched, key, matcher, where))
        found[where] = chance[where] >= 0.5
    judged = states != UNKNOWN
    once = judged if matched.is_repeat is None else judged & ~matched.is_repeat
    return Guesses(states == YES, found, chance, order, guessed).only(once)


def weights_in_recall(key: AnswerKey) -> Vector:
    """How much each nugget adds to the recall of its question: by the pyramid's weights, or as a vital nugget. Those of
    a group share its weight."""
    weight = key.weight.copy() if key.weighted else key.vital.astype(float)
    for at in key.grouping.inside:
        weight[at] = weight[at[0]] / len(at)
    return ratio(weight, per_question(weight, key)[key.question], otherwise=0.0)


def guessed_answers(has: States, outcome: Outcome) -> Guesses:
    """Whether the run's answer has each nugget of the key."""
    sure = np.where(outcome.found, 2.0, -1.0)
    order = np.where(outcome.known, sure, outcome.best if outcome.drawn is None else outcome.probability)
    return Guesses(has == YES, outcome.found, outcome.probability, order, ~outcome.known)


def _worth_of(settled: Bools, worth: Vector) -> Vector:
    """The weights of nuggets in the mean recall of a run with only some nuggets judged. The others weigh nothing."""
    kept = np.where(settled, worth, 0.0)
    return np.asarray(ratio(kept, np.full(len(kept), kept.sum()), otherwise=0.0))


def guessed_recall(run: str, answers: Guesses, outcome: Outcome, worth: Vector) -> LeftOutRun:
    """Mean recall: expected recall if the model gives probabilities, otherwise the recall of its decisions."""
    hard = bool(np.isnan(answers.chance).any())
    value = float((answers.found if hard else answers.chance) @ worth)
    judging = None if hard else (value, value)
    if outcome.drawn is not None:
        low, high = np.quantile(outcome.drawn @ worth, ENDS)
        judging = (float(low), float(high))
    return LeftOutRun(run, float(answers.true @ worth), value, judging)


def guessed_score(run: str, key: AnswerKey, measure: Measure, has: States, outcome: Outcome) -> LeftOutRun:
    """The mean of a measure over questions, from the truth and as expected from guesses."""
    truth = float(np.nanmean(measure(Answers(key, has == YES, has == PARTLY, outcome.length))))
    decided, drawn = measure(outcome.answers(key)), outcome.drawn_answers(key)
    if drawn is None:
        value, certain = float(np.nanmean(decided)), bool(outcome.known.all())
        return LeftOutRun(run, truth, value, (value, value) if certain else None)
    values = measure(drawn)
    interval = mean_interval(values.mean(axis=0), values, decided, scale=Scale(measure.least(key), 1.0))
    return LeftOutRun(run, truth, float("nan") if interval.value is None else interval.value, interval.judging)
