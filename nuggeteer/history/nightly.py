"""The morning after a nightly build: its score, the change since the last recorded night, and whether the gates pass.

The answers are matched and scored once. Everything that is recorded, compared and drawn on the page comes from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Annotated

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.diff import Diff, by_weight, diff_matched_runs
from nuggeteer.comparing.gate import Decision, Gate, possibly_lost
from nuggeteer.display import Shown
from nuggeteer.errors import Problem
from nuggeteer.fields import Count, Number, Part, about
from nuggeteer.history.recording import RecordedRun
from nuggeteer.history.ruling import BriefedRun, NightRuling, find_old_run, newest_readable, nightly_scorer, rule_night
from nuggeteer.history.store import History
from nuggeteer.history.trend import Trend, trends, trends_today
from nuggeteer.judging.forecast import SURE_REACH, Forecast
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.measures import Measure
from nuggeteer.records import Run
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.scores import RunScore
from nuggeteer.settings import About
from nuggeteer.statistics.intervals import REACH, Interval

if TYPE_CHECKING:
    from nuggeteer.history.briefing import Briefing


MOST_QUESTIONS = 10  # times those there are; more would be no advice


class Needed(Part):
    """What would decide the gates."""

    minutes: Annotated[Number, about("About how many minutes of reading would decide; null if reading alone does not.")]
    verdicts: Annotated[Count | None, about("How many verdicts these bring; null if reading alone does not.")]
    # None also if more than `MOST_QUESTIONS` times those there are.
    questions: Annotated[
        Count | None,
        about(
            "Roughly how many questions in all would decide, if all are read; null if reading the present ones is "
            "enough, or if it is not known."
        ),
    ] = None


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
    ruling: NightRuling
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
    about: About
    unlisted: bool  # in a manifest that lists other runs, so that it has no group

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
    def all_read(self) -> bool:
        """Whether no verdict is missing in either answer."""
        return bool(self.diff and self.diff.old.known.all() and self.diff.new.known.all())

    @property
    def worst(self) -> tuple[NuggetChange, ...]:
        """The vital nuggets lost and the forbidden ones claimed now, in the order of `diff`."""
        return tuple(sorted((*self.diff.claimed, *self.diff.vital_lost), key=by_weight)) if self.diff else ()


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
    old = find_old_run(collection, history, loaded, against, label) if against is not None else None
    matched = scorer.read(loaded)
    score = scorer.score(matched)
    (recorded,) = history.record(scorer.scores([score]), label, rerun=True)
    trend = _trend_of(trends(history, first.name), recorded.build)
    at = next(i for i, build in enumerate(trend.builds) if build.scoring.build == recorded.build)
    new = BriefedRun(loaded, trend.builds[at])
    if old is None:
        old = newest_readable(history, collection, trend.builds[:at])
    matched_old = scorer.read(old.run) if old else None
    compared = scorer.measures if summary or page else scorer.measures[:1]
    diff = None
    if matched_old:
        diff = diff_matched_runs(scorer, matched_old, matched, explain=page, measures=compared)
    ruling = rule_night(collection, history, old, diff)
    history.keep_ruling(recorded.build, ruling.recorded(str(scorer.signature), diff.headline if diff else None))
    needed = None
    if diff and matched_old and ruling.gates and ruling.decision == "UNDECIDED":
        needed = _needed(scorer, matched, matched_old, diff, ruling.gates)
    briefing, undone = None, list[Problem]()
    if page:
        found, undone = trends_today(history, lambda: collection, first.name, seed, jobs, notify)
        trend = _trend_of(found, recorded.build)  # with the ruling
        new = BriefedRun(loaded, trend.builds[at])
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
        (*history.problems, *undone),
        collection.settings.match.language,
        collection.settings.nightly.about,
        bool(collection.manifest) and loaded.name not in collection.manifest,
    )


def needed_for(ahead: Forecast, interval: Interval, limit: float, about: About, questions: int) -> Needed:
    """What decides whether a change is below a limit. For a gate about all questions that could have been asked,
    reading does not remove what the choice of questions leaves unknown: the spread of the scores between them. This
    grows as similar guesses become verdicts that differ."""
    if about == "these":
        minutes = ahead.minutes_to_decide(limit)
        return Needed(minutes, None if minutes is None else ahead.verdicts_after(minutes))
    if interval.sampling is None or interval.value is None:
        return Needed(None, None)
    sampling = ((interval.sampling[1] - interval.sampling[0]) / (2 * REACH)) ** 2 + ahead.sampling
    minutes = ahead.minutes_to_decide(limit, np.sqrt(sampling))
    if minutes is not None:
        return Needed(minutes, ahead.verdicts_after(minutes))
    gap = abs(interval.value - limit) / SURE_REACH
    wanted = ceil(questions * float(sampling[-1]) / gap**2) if gap > 0 else questions * MOST_QUESTIONS + 1
    return Needed(None, None, wanted if questions < wanted <= MOST_QUESTIONS * questions else None)


def verdicts_on_losses(diff: Diff, most: int, sure: float) -> int:
    """How many verdicts exclude enough possible losses, if each of them settles a nugget in one of the two answers."""
    possible = possibly_lost(diff, sure)
    chance = np.where(diff.key.forbidden, diff.gain, diff.loss)
    doubtful = [i for i in possible if not chance[i] >= sure]
    open_answers = sorted(int(not diff.old.known[i]) + int(not diff.new.known[i]) for i in doubtful)
    return sum(open_answers[: len(possible) - most])


def _needed(scorer: Scorer, new: MatchedRun, old: MatchedRun, diff: Diff, gates: Sequence[Gate]) -> Needed:
    """What decides all the gates that are undecided."""
    settings = scorer.collection.settings.nightly
    if scorer.draws is None:
        return Needed(None, None)
    ahead = ReadingOrder(scorer, new, scorer.measures[0], old).forecast()
    questions = int((~np.isnan(diff.headline.by_question)).sum())
    found = Needed(0.0, 0)
    if gates[0].decision == "UNDECIDED":
        found = needed_for(ahead, diff.headline.interval, -settings.fail_if_worse, settings.about, questions)
    if len(gates) > 1 and gates[1].decision == "UNDECIDED" and found.minutes is not None and found.verdicts is not None:
        more = verdicts_on_losses(diff, int(settings.max_lost_vital), settings.sure)
        each = ahead.seconds[-1] / max(int(ahead.verdicts[-1]), 1) / 60
        found = Needed(found.minutes + more * each, found.verdicts + more)
    return found


def _trend_of(found: Sequence[Trend], build: int) -> Trend:
    return next(trend for trend in found if any(b.scoring.build == build for b in trend.builds))


def _earlier_runs(collection: Collection, new: Run) -> tuple[str, ...]:
    """The runs of the same system in the folder that come before a run by their names; all of them for a file."""
    names, group = collection.run_names, collection.group(new.name)
    before = names[: names.index(new.name)] if new.name in names else names
    return tuple(name for name in before if collection.group(name) == group)
