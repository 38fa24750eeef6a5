"""The morning after a nightly build: its score, the change since the last recorded night, and whether the gates pass.

The answers are matched and scored once. What is recorded, compared and drawn on the page all comes from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.diff import Diff, diff_matched_runs
from nuggeteer.comparing.gate import Decision, Gate, possibly_lost
from nuggeteer.display import Shown
from nuggeteer.errors import Problem
from nuggeteer.history.baseline import BriefedRun, find_old_run, newest_readable
from nuggeteer.history.recording import RecordedRun
from nuggeteer.history.ruling import Ruling, nightly_scorer, rule
from nuggeteer.history.store import History
from nuggeteer.history.trend import Trend, trends
from nuggeteer.judging.suggest import Forecast, forecast
from nuggeteer.measures import Measure
from nuggeteer.records import Run
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.scores import RunScore
from nuggeteer.statistics.intervals import Interval

if TYPE_CHECKING:
    from nuggeteer.history.briefing import Briefing


@dataclass(frozen=True)
class Needed:
    """What would decide a gate that is undecided, if the change stays as it is now.

    `verdicts` is about how many verdicts it takes; None if verdicts alone do not decide it. `questions` is then about
    how many questions it takes in all, each of them judged; None if that cannot be said."""

    verdicts: int | None
    questions: int | None = None


@dataclass(frozen=True, repr=False)
class Night(Shown):
    """One night's result. `old` and `diff` are absent on the first night, when there is nothing to compare with.
    `asked` and `against` are the runs as the command line names them."""

    asked: str
    against: str | None
    new: BriefedRun
    old: BriefedRun | None
    measure: Measure
    score: RunScore
    diff: Diff | None
    ruling: Ruling
    needed: Needed | None
    verdicts: int
    earlier_runs: tuple[str, ...]
    recorded: RecordedRun
    signature: str
    notes: tuple[str, ...]
    as_truth: tuple[str, ...]
    briefing: Briefing | None
    problems: tuple[Problem, ...]  # of the history
    language: str  # its code

    @property
    def gates(self) -> tuple[Gate, ...]:
        return self.ruling.gates

    @property
    def new_questions(self) -> tuple[str, ...]:
        return self.ruling.new_questions

    @property
    def decision(self) -> Decision:
        return self.ruling.decision

    @property
    def reason(self) -> str:
        return self.ruling.reason

    @property
    def interval(self) -> Interval:
        return self.score.measures[self.measure.name]

    @property
    def surest_lost(self) -> tuple[NuggetChange, ...]:
        """The vital nuggets lost and the forbidden ones claimed now, those that are contradicted and then the surest
        first."""
        lost = (*self.diff.claimed, *self.diff.vital_lost) if self.diff else ()
        sure = {id(change): 1.0 if change.probability is None else change.probability for change in lost}
        return tuple(sorted(lost, key=lambda c: (not c.contradicted, -sure[id(c)], -abs(c.effect))))


def nightly(
    collection: Collection,
    run: str,
    against: str | None = None,
    label: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    summary: bool = False,
    page: bool = False,
    notify: Callable[[str], None] = lambda line: None,
) -> Night:
    """Score a run, given by name or file, record it, and compare it by the settings of `[nightly]` with `against`; by
    default with the build of its group that was recorded before it.

    A `summary` compares by all measures, not only by that of the settings; a `page` has the briefing too."""
    history, scorer = History.of(collection.root), nightly_scorer(collection, seed, jobs)
    first = scorer.measures[0]
    loaded = collection.run(run)
    old = find_old_run(collection, history, loaded, against) if against is not None else None
    matched = scorer.read(loaded)
    score = scorer.score(matched)
    (recorded,) = history.record(scorer.scores([score]), label, rerun=True)
    trend = _trend_of(history, recorded.build, first)
    at = next(i for i, build in enumerate(trend.builds) if build.scoring.build == recorded.build)
    new = BriefedRun(loaded, trend.builds[at])
    if old is None:
        old = newest_readable(history, collection, trend.builds[:at])
    matched_old = scorer.read(old.run) if old else None
    compared = scorer.measures if summary or page else scorer.measures[:1]
    diff = None
    if matched_old:
        diff = diff_matched_runs(
            scorer, matched_old, matched, explain=page, measures=compared, new_outcome=score.outcome
        )
    ruling = rule(collection, history, old, diff)
    needed = None
    if diff and matched_old and ruling.gates and ruling.decision == "UNDECIDED":
        needed = _needed(scorer, matched, matched_old, diff, ruling.gates)
    briefing = None
    if page:
        from nuggeteer.history.briefing import brief_matched_run  # it imports much that only the page needs

        briefing = brief_matched_run(scorer, matched, score, new, old, diff, ruling, trend, history, notify)
    return Night(
        run,
        against,
        new,
        old,
        first,
        score,
        diff,
        ruling,
        needed,
        len(collection.judgements),
        _earlier_runs(collection, loaded) if old is None else (),
        recorded,
        str(scorer.signature),
        scorer.notes,
        tuple(collection.machine_truth),
        briefing,
        tuple(history.problems),
        collection.settings.match.language,
    )


def verdicts_needed(interval: Interval, limit: float, ahead: Forecast, questions: int) -> Needed:
    """How many verdicts bring the limit out of an interval, if its value stays as it is.

    The squares of the two parts of the distance from the value to an end add up. Verdicts shrink the judging part as
    the forecast says; the sampling part shrinks only with more questions."""
    if interval.value is None or interval.low is None or interval.high is None or interval.judging is None:
        return Needed(None)
    above = interval.value >= limit
    whole = interval.value - interval.low if above else interval.high - interval.value
    judging = interval.value - interval.judging[0] if above else interval.judging[1] - interval.value
    gap = abs(interval.value - limit)
    sampling = max(whole**2 - judging**2, 0.0)
    left = ahead.widths / ahead.widths[0] if ahead.widths[0] > 0 else np.zeros(len(ahead.widths))
    decided = np.flatnonzero(sampling + (judging * left) ** 2 <= gap**2)
    if len(decided):
        return Needed(int(ahead.judgements[decided[0]]))
    return Needed(None, ceil(questions * sampling / gap**2 - 1e-9) if gap > 0 else None)


def verdicts_on_losses(diff: Diff, most: int, sure: float) -> int:
    """How many verdicts exclude enough possible losses, if each of them settles a nugget in one of the two answers."""
    possible = possibly_lost(diff, sure)
    chance = np.where(diff.key.forbidden, diff.gain, diff.loss)
    doubtful = [i for i in possible if not chance[i] >= sure]
    open_answers = sorted(int(not diff.old.known[i]) + int(not diff.new.known[i]) for i in doubtful)
    return sum(open_answers[: len(possible) - most])


def _needed(scorer: Scorer, new: MatchedRun, old: MatchedRun, diff: Diff, gates: Sequence[Gate]) -> Needed:
    """What decides all the gates that are undecided."""
    settings, found = scorer.collection.settings.nightly, list[Needed]()
    if gates[0].decision == "UNDECIDED":
        if scorer.draws is None:
            return Needed(None)
        ahead = forecast(scorer, new, scorer.measures[0], old)
        defined = int((~np.isnan(diff.headline.by_question)).sum())
        found.append(verdicts_needed(diff.headline.interval, -settings.fail_if_worse, ahead, defined))
    if len(gates) > 1 and gates[1].decision == "UNDECIDED":
        found.append(Needed(verdicts_on_losses(diff, int(settings.max_lost_vital), settings.sure)))
    verdicts = [needed.verdicts for needed in found if needed.verdicts is not None]
    if len(verdicts) == len(found):
        return Needed(sum(verdicts))
    return found[0] if len(found) == 1 else Needed(None)  # questions alone do not settle losses


def _trend_of(history: History, build: int, measure: Measure) -> Trend:
    return next(trend for trend in trends(history, measure.name) if any(b.scoring.build == build for b in trend.builds))


def _earlier_runs(collection: Collection, new: Run) -> tuple[str, ...]:
    """The runs of the same system in the folder that come before a run by their names; all of them for a file."""
    names, group = collection.run_names, collection.group(new.name)
    before = names[: names.index(new.name)] if new.name in names else names
    return tuple(name for name in before if collection.group(name) == group)
