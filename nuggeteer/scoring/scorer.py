"""From a collection and runs to scores.

`score` does everything. Its result holds arrays in the order of the key's questions and nuggets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import ref

import numpy as np

from nuggeteer.collection.folder import Collection, as_collection
from nuggeteer.display import Shown
from nuggeteer.languages import ENGLISH, title
from nuggeteer.matching.base import Matcher, Material
from nuggeteer.matching.choice import make
from nuggeteer.matching.idf import Idf, background, keep, pool, read_table, remembered
from nuggeteer.measures import DEFAULT, Measure, applicable
from nuggeteer.records import Run, Vector
from nuggeteer.scoring.evidence import (
    Owners,
    build_of,
    earlier_builds,
    gather_evidence,
    judged_texts,
    marked,
    prior_of,
)
from nuggeteer.scoring.fitted_model import deciding_model, signature_of_model
from nuggeteer.scoring.known import VerdictIndex, known_in
from nuggeteer.scoring.matched_run import MatchedRun, read
from nuggeteer.scoring.outcomes import Outcome, VerdictNoise, find
from nuggeteer.scoring.scores import RunScore, Scores
from nuggeteer.scoring.signature import Basis, Signature
from nuggeteer.scoring.units import hint_and_rest
from nuggeteer.settings import IntervalMethod, Match
from nuggeteer.statistics.intervals import DRAWS, question_draws
from nuggeteer.thresholds import Draws, FixedThreshold, ThresholdModel
from nuggeteer.thresholds.smooth import SmoothFit

if TYPE_CHECKING:
    from nuggeteer.matching.marks import Marker
    from nuggeteer.matching.ngram import NgramMatcher
    from nuggeteer.scoring.explanation import Explainer
    from nuggeteer.thresholds.selection import Thresholds

KEPT = 1 << 24  # bytes
T = TypeVar("T")


class Scorer(Shown):
    """Everything that the scores of a collection's runs share: known verdicts, word weights, the threshold model and
    its draws. Each is computed once, when it is first needed. If all is known, no model is needed.

    By default `model` and `matcher` are those that the settings of the collection name. Measures that do not apply to
    the key are left out.
    """

    def __init__(
        self,
        collection: Collection,
        measures: Sequence[str | Measure] = DEFAULT,
        model: ThresholdModel | None = None,
        seed: int = 0,
        jobs: int = 1,
        matcher: Matcher | None = None,
    ) -> None:
        self.collection, self.key, self.seed, self.jobs = collection, collection.key, seed, jobs
        self.measures = applicable(measures, self.key)
        self._given_model, self._given_matcher = model, matcher
        # Of the last runs and pairs of runs: a difference, its suggestions and its page ask for them several times.
        self._drawn: list[tuple[tuple[ref[MatchedRun], ...], Any]] = []
        # Once so large an array was freed, the C library keeps memory for those that are smaller (glibc's
        # M_MMAP_THRESHOLD). Otherwise the system may clear new memory for each, which took a third of a score's time.
        _ = np.empty(KEPT, dtype=np.uint8)

    def _summary(self) -> str:
        return f"{', '.join(map(str, self.measures))} of runs of {self.collection.root}"

    @cached_property
    def known(self) -> VerdictIndex:
        """The human verdicts."""
        return known_in(self.collection)

    @cached_property
    def material(self) -> Material:
        """The data that matchers are made from."""
        return material(self.collection, self.known)

    @cached_property
    def matcher(self) -> Matcher:
        return self._given_matcher or make(self.material)

    @cached_property
    def signature(self) -> Signature:
        """What scores depend on. A fitted model of ours is not part of it, because the rest determines it."""
        return Signature(self._basis, self._model_signature, DRAWS, self.seed, self.interval)

    @property
    def interval(self) -> IntervalMethod:
        """How the part of intervals that comes from the choice of questions is computed."""
        return self.collection.settings.score.interval

    @cached_property
    def _basis(self) -> Basis:
        matcher, idf = self.matcher, self.material.idf
        judges = list(zip(matcher.judges, matcher.digests, strict=True))
        return Basis.of(self.collection, matcher.signature, idf.name if idf else "none", judges)

    @property
    def _model_signature(self) -> str:
        if self._unfitted is not None:
            return self._unfitted.signature
        known = signature_of_model(self.collection.settings.threshold, self.matcher)
        return self.model.signature if known is None else known

    @cached_property
    def model(self) -> ThresholdModel:
        return self._fitted[0] if self._unfitted is None else self._unfitted

    @property
    def _unfitted(self) -> ThresholdModel | None:
        """The model, if it is not to be fitted."""
        threshold = self.collection.settings.threshold
        if self._given_model is None and threshold.model == "fixed":
            return FixedThreshold(threshold.value)
        return self._given_model

    @cached_property
    def _fitted(self) -> tuple[ThresholdModel, list[str]]:
        """The model fitted to the verdicts, and what readers should know about that."""
        return deciding_model(self.collection, self.matcher, self.known, self.fit_basis, self.jobs)

    @property
    def fit_basis(self) -> str:
        """All that a fit depends on."""
        return f"{self._basis}|earlier:{earlier_builds(self.collection, self.known)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers should know about all that was needed so far."""
        of_fit = self._fitted[1] if "_fitted" in vars(self) else ()
        return (
            *_language_note(self.collection),
            *_truth_notes(self.collection),
            *self._forbidden_note(),
            *self.matcher.notes,
            *of_fit,
        )

    def _forbidden_note(self) -> Iterator[str]:
        """A note if the first measure does not see what answers must not claim."""
        forbidden = int(self.key.forbidden.sum())
        if forbidden and self.measures and not self.measures[0].least(self.key) < 0:
            those = "1 forbidden nugget" if forbidden == 1 else f"{forbidden:,} forbidden nuggets"
            yield f"{self.measures[0].title} leaves out the {those}; rubric counts them."

    @cached_property
    def draws(self) -> Draws | None:
        """Draws from the posterior of the model; None if the model gives no probabilities."""
        return self.model.draw(DRAWS, self.seed)

    @cached_property
    def resamples(self) -> Vector:
        """Bootstrap samples of the questions."""
        return question_draws(len(self.key.questions), self.seed)

    @cached_property
    def ngrams(self) -> NgramMatcher:
        """An n-gram matcher for marks. Any matcher may decide the guesses."""
        from nuggeteer.matching.ngram import NgramMatcher

        if isinstance(self.matcher, NgramMatcher):
            return self.matcher
        return NgramMatcher(self.key, self.material.settings, self.material.idf)

    @cached_property
    def marker(self) -> Marker:
        """Marks the words of a text that match a nugget."""
        from nuggeteer.matching.marks import Marker

        return Marker(self.ngrams)

    @cached_property
    def explainer(self) -> Explainer:
        """Explains guesses."""
        from nuggeteer.scoring.explanation import Explainer

        return Explainer(self.matcher, self.marker, self.collection, self.worth_of_carried)

    def worth_of_carried(self, carried: float) -> float:
        """What carried-over evidence is worth in this collection, in log odds."""
        if not isinstance(self.model, SmoothFit):
            return 0.0
        hint, rest = hint_and_rest(np.asarray(carried))
        return float(self.model.weight("hint") * hint + self.model.weight("carried") * rest)

    @cached_property
    def noise(self) -> VerdictNoise:
        """The random numbers of drawn verdicts."""
        return VerdictNoise(self.key, DRAWS, self.seed)

    @cached_property
    def _owners(self) -> Owners:
        return Owners(self.collection, self.known)

    def read(self, run: str | Run) -> MatchedRun:
        """Match a run with the key. The run is a name, a file or a `Run`."""
        loaded = run if isinstance(run, Run) else self.collection.run(run)
        build = build_of(self.collection, self.known, loaded)
        matched = read(loaded, build, self.key, self.matcher, self.known, self.jobs)
        if not matched.decided:
            matched = self._owners.assign(matched)
        self.keep_words()
        return matched

    def keep_words(self) -> None:
        """Remember the weights of all words so far, for the next command."""
        keep(self.material.idf)

    def find(self, matched: MatchedRun, draws: Draws | None = None) -> Outcome:
        """Which nuggets a run has: the same whatever other runs are scored, unless other draws are given."""
        if matched.decided:  # nothing to draw for
            return self._with_texts(matched, find(matched, self.key, None, None, None))
        if draws is not None:
            return self._found(matched, draws)
        return self.once((matched,), lambda: self._found(matched, self.draws))

    def _found(self, matched: MatchedRun, draws: Draws | None) -> Outcome:
        return self._with_texts(matched, find(matched, self.key, self.model, draws, self.noise, self.jobs))

    def once(self, runs: tuple[MatchedRun, ...], make: Callable[[], T]) -> T:
        """What was drawn for some runs. It is kept for a while."""
        for earlier, drawn in self._drawn:
            if len(earlier) == len(runs) and all(one() is run for one, run in zip(earlier, runs, strict=True)):
                return cast(T, drawn)
        made = make()
        self._drawn = [*self._drawn[-2:], (tuple(map(ref, runs)), made)]
        return made

    def forget_outcomes(self) -> None:
        """Draws of a large key take much memory."""
        self._drawn = []

    def _with_texts(self, matched: MatchedRun, outcome: Outcome) -> Outcome:
        """The outcome with the values of the measures that compare texts, if there are any."""
        if not any(measure.by_text for measure in self.measures):
            return outcome
        from nuggeteer.scoring.by_text import values_by_text

        values = values_by_text(self.measures, matched.run, matched.length, self.material, self.jobs)
        return replace(outcome, by_text=values)

    def score(self, matched: MatchedRun) -> RunScore:
        """The scores of a run."""
        return RunScore.of(matched.run, self.key, self.find(matched), self.measures, self.interval, self.seed)

    def scores(self, runs: Iterable[RunScore]) -> Scores:
        """The scores of runs, with the model, the signature and the notes that reports show."""
        as_truth, scored = tuple(self.collection.machine_truth), tuple(runs)
        guessed = any(run.outcome.pairs_guessed for run in scored)
        model = self.model if guessed else self._unfitted
        return Scores(self.key, scored, self.measures, model, str(self.signature), self.notes, as_truth)


def score(
    collection: Collection | Path | str,
    runs: str | Path | Run | Iterable[str | Path | Run] | None = None,
    measures: Sequence[str | Measure] = DEFAULT,
    model: ThresholdModel | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Scores:
    """Score runs of a collection, by default all. Each run is a name, a file or a `Run`; one alone needs no list.

    Known verdicts are used where there are any, and `model` decides the other pairs (`Scorer`).
    """
    collection = as_collection(collection)
    loaded = collection.loaded(runs)
    scorer = Scorer(collection, measures, model, seed, jobs)
    return scorer.scores(scorer.score(scorer.read(run)) for run in loaded)


def compare_thresholds(collection: Collection, jobs: int = 1) -> Thresholds:
    """Fit and compare all threshold models on the human verdicts of a collection."""
    from nuggeteer.thresholds.selection import Thresholds, compare

    known = known_in(collection)
    matcher = make(material(collection, known))
    evidence = gather_evidence(collection, matcher, known, jobs, "response", carried_over=False)
    found = compare(evidence, prior_of(matcher))
    groups = len(np.unique(evidence.group))
    return Thresholds(len(evidence), int(evidence.yes.sum()), groups, tuple(found.models), found.chosen)


def material(collection: Collection, known: VerdictIndex) -> Material:
    """The data that a matcher is made from."""
    settings = replace(collection.settings.match, judges=collection.judges)
    words = marked(collection, known) if settings.marked else ()
    idf, split = _idf(settings, collection), collection.settings.answers.split
    return Material(
        collection.key, settings, idf, lambda: judged_texts(collection, known), words, collection.machine, split
    )


def _language_note(collection: Collection) -> Iterator[str]:
    """A note on the language that the settings name, if it is not the default."""
    settings = collection.settings.match
    if settings.language != ENGLISH:
        forms = "stems" if settings.stem else "words"
        yield f"The language is {title(settings.language)}: {forms} and weights are of it ([match] language)."


def _truth_notes(collection: Collection) -> Iterator[str]:
    """A note on each machine whose verdicts are the standard."""
    for name, verdicts in collection.machine_truth.items():
        yield f"{name} is a machine, and its {verdicts:,} verdicts count as a human's ([judgements] as_truth)."


def _idf(settings: Match, collection: Collection) -> Idf | None:
    if settings.weights == "unit":
        return None
    if settings.idf == "wordfreq":
        return remembered(collection.root, background(settings.language, settings.stem))
    if settings.idf == "pool":
        texts = (text for run in collection.judged_runs for text in run.texts)
        return pool(texts, settings.language, settings.stem)
    return read_table(Path(settings.idf), settings.language, settings.stem)
