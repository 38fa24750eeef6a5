"""A briefing on one build: its scores, what changed, the trend, the evidence for each nugget, the pairs most worth
judging, and how reliable the guesses are.

Everything is computed here. `reports.html` draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.diff import Diff, diff_matched_runs
from nuggeteer.comparing.gate import Decision
from nuggeteer.comparing.sightings import Passage, Sighting, explained, of_groups, sightings_of
from nuggeteer.display import Shown
from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.history.ruling import (
    BriefedRun,
    NightRuling,
    find_old_run,
    find_ruled_against,
    newest_readable,
    nightly_measure,
    nightly_scorer,
    rule_night,
)
from nuggeteer.history.store import History, RecordedRuling
from nuggeteer.history.trend import Build, NuggetTimelines, Trend, nugget_timelines, trends_today
from nuggeteer.judging.reading_order import Suggestion, suggest
from nuggeteer.matching.marks import Marker
from nuggeteer.measures import Measure
from nuggeteer.records import AnswerKey, Run
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.scores import RunScore, Scores
from nuggeteer.trust.reliability import TrustReport, trust

SUGGESTION_COUNT = 10


@dataclass(frozen=True)
class SuggestedPair:
    """A guess worth judging, and its response."""

    suggestion: Suggestion
    passage: Passage


@dataclass(frozen=True, repr=False)
class Briefing(Shown):
    """One build in the morning. `sightings` has an entry for each nugget of the key; `diff` is None where there is
    nothing to compare with, `trend` and `timelines` where no build of this group is recorded, `trust` where nobody has
    judged anything. The trend ends with the build."""

    collection: str
    new: BriefedRun
    old: BriefedRun | None
    scores: Scores
    sightings: tuple[Sighting, ...]
    diff: Diff | None
    ruling: NightRuling  # with today's verdicts
    trend: Trend | None
    timelines: NuggetTimelines | None
    suggested: tuple[SuggestedPair, ...]
    trust: TrustReport | None
    problems: tuple[Problem, ...]  # of the history
    remember: Callable[[], None] = field(default=lambda: None, compare=False)  # what explanations looked up

    @property
    def recorded(self) -> RecordedRuling | None:
        """What was decided about this build, if it was compared with the same run then."""
        found = self.new.build.ruling if self.new.build else None
        return found if found and found.against == (self.old.title if self.old else None) else None

    @property
    def decision(self) -> Decision:
        """What was recorded; without that, what today's verdicts decide."""
        return self.recorded.decision if self.recorded else self.ruling.decision

    @property
    def title(self) -> str:
        return self.recorded.title if self.recorded else self.ruling.title

    @property
    def reason(self) -> str:
        return self.recorded.reason if self.recorded else self.ruling.reason

    @property
    def otherwise(self) -> str:
        """What today's verdicts decide, if that is different."""
        found = self.ruling.today(self.recorded, self.new.title) if self.recorded else ""
        return f"{found} {self.ruling.reason}" if found else ""

    @property
    def key(self) -> AnswerKey:
        return self.scores.key

    @property
    def score(self) -> RunScore:
        return self.scores.runs[0]

    @property
    def headline(self) -> Measure:
        return self.scores.measures[0]


def brief(
    collection: Collection,
    run: str | None = None,
    against: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    notify: Callable[[str], None] = lambda line: None,
) -> Briefing:
    """The briefing on a run, given as a name or a file. The default is the newest recorded build or, without a history,
    the last run that was not judged completely.

    It is compared with `against`; by default with the build recorded before it, else with the run before it in its
    group, else in the collection."""
    history = History.of(collection.root)
    measure = nightly_measure(collection).name
    recorded, undone = trends_today(history, lambda: collection, measure, seed, jobs, notify)
    new, trend = _newest(collection, history, recorded, run)
    old = None
    if against is None and new.build:
        old = find_ruled_against(collection, history, recorded, new.build)
    if old is None:
        old = _before(collection, history, trend, new, against)

    scorer = nightly_scorer(collection, seed, jobs)
    matched = scorer.read(new.run)
    matched_old = scorer.read(old.run) if old else None
    found = _brief(scorer, matched, matched_old, new, old, trend, history, notify)
    return replace(found, problems=(*found.problems, *undone))


def brief_builds(
    collection: Collection,
    history: History,
    wanted: Sequence[tuple[Trend, Build]],
    seed: int = 0,
    jobs: int = 1,
    notify: Callable[[str], None] = lambda line: None,
) -> Iterator[Briefing]:
    """The briefings on recorded builds, each compared with the one recorded before it. Builds whose answers are damaged
    are left out."""
    scorer = nightly_scorer(collection, seed, jobs)
    found = list({id(trend): trend for trend, _ in wanted}.values())
    last: tuple[Build, MatchedRun] | None = None
    for trend, build in wanted:
        if not (new := newest_readable(history, collection, [build])):
            continue
        old = find_ruled_against(collection, history, found, build)
        if old is None:
            old = newest_readable(history, collection, trend.builds[: trend.builds.index(build)])
        matched_old = None
        if old:
            matched_old = last[1] if last and last[0] is old.build else scorer.read(old.run)
        matched = scorer.read(new.run)
        last = build, matched
        yield _brief(scorer, matched, matched_old, new, old, trend, history, notify)


def _brief(
    scorer: Scorer,
    matched: MatchedRun,
    matched_old: MatchedRun | None,
    new: BriefedRun,
    old: BriefedRun | None,
    trend: Trend | None,
    history: History,
    notify: Callable[[str], None],
) -> Briefing:
    score = scorer.score(matched)
    suggestions = suggest(scorer, matched, scorer.measures[0], SUGGESTION_COUNT)  # first, because it takes most memory
    diff = None
    if matched_old:
        diff = diff_matched_runs(scorer, matched_old, matched, explain=True)
    ruling = rule_night(scorer.collection, history, old, diff)
    return brief_matched_run(scorer, matched, score, new, old, diff, ruling, trend, history, notify, suggestions)


def brief_matched_run(
    scorer: Scorer,
    matched: MatchedRun,
    score: RunScore,
    new: BriefedRun,
    old: BriefedRun | None,
    diff: Diff | None,
    ruling: NightRuling,
    trend: Trend | None,
    history: History,
    notify: Callable[[str], None] = lambda line: None,
    suggestions: Sequence[Suggestion] | None = None,
) -> Briefing:
    """The briefing on a run that is matched, scored and compared with the old one already."""
    collection = scorer.collection
    # The outcome of the diff, in which answers with the same texts agree.
    outcome = diff.new if diff else score.counted
    every = np.arange(len(scorer.key.nuggets))
    sightings = of_groups(scorer.key, outcome, sightings_of(scorer.marker, matched, outcome, every))
    if suggestions is None:
        suggestions = suggest(scorer, matched, scorer.measures[0], SUGGESTION_COUNT)
    if trend and new.build:
        trend = trend.until(new.build)
    return Briefing(
        collection.root.resolve().name,
        new,
        old,
        scorer.scores([score]),
        tuple(explained(scorer.explainer, sightings[i], i) for i in every.tolist()),
        diff,
        ruling,
        trend,
        nugget_timelines(history, trend.builds) if trend else None,
        tuple(SuggestedPair(suggestion, _passage(scorer.marker, new.run, suggestion)) for suggestion in suggestions),
        trust(scorer, notify),
        tuple(history.problems),
        scorer.keep_words,
    )


def _newest(
    collection: Collection, history: History, recorded: Sequence[Trend], run: str | None
) -> tuple[BriefedRun, Trend | None]:
    """The requested run, and the trend it belongs to."""
    wanted = [trend for trend in recorded if run is None or any(b.scoring.run == run for b in trend.builds)]
    if wanted:
        builds = [build for trend in wanted for build in trend.builds if run in (None, build.scoring.run)]
        builds.sort(key=lambda build: (build.scoring.time, build.scoring.build))
        if newest := newest_readable(history, collection, builds):
            return newest, next(trend for trend in wanted if newest.build in trend.builds)
        if run is not None and not collection.has_run(run):
            raise InputError(history.problems)
    if run is None:
        names = collection.run_names
        if not names:
            raise NuggeteerError(f"{collection.root}: there are no runs here; put them in runs/, or name a file")
        tonight = [n for n in names if n not in collection.manifest or collection.manifest[n].judged == "none"]
        run = (tonight or names)[-1]
    loaded = collection.run(run)
    return BriefedRun(loaded), next((trend for trend in recorded if trend.group == loaded.info.group), None)


def _before(
    collection: Collection, history: History, trend: Trend | None, new: BriefedRun, against: str | None
) -> BriefedRun | None:
    """The run to compare the new one with; None if there is none."""
    builds = trend.builds if trend else ()
    if against is not None:
        named = [build for build in builds if build.scoring.run == against and build is not new.build]
        return newest_readable(history, collection, named) or find_old_run(collection, history, new.run, against)
    position = builds.index(new.build) if new.build else len(builds)
    if old := newest_readable(history, collection, builds[:position]):
        return old
    names = list(collection.run_names)
    earlier = names[: names.index(new.run.name)] if new.run.name in names else names
    own = [name for name in earlier if collection.group(name) == collection.group(new.run.name)]
    if new.build or not earlier:
        return None
    return BriefedRun(collection.run((own or earlier)[-1]))


def _passage(marker: Marker, run: Run, suggestion: Suggestion) -> Passage:
    response = suggestion.response
    text = run.texts[response]
    marks = marker(text, suggestion.nugget)
    return Passage(text, marks, run.docid(response), run.rank(response), *run.context(response))
