"""The gates of `[nightly]` applied to a build: which run it is compared with, whether it passes, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import monotonic

from msgspec import structs

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing import gate
from nuggeteer.comparing.changes import Delta
from nuggeteer.comparing.diff import Diff, diff_matched_runs
from nuggeteer.comparing.gate import Basis, Decision, Gate, Ruling
from nuggeteer.display import Shown
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.history.store import DamagedBuild, History, RecordedRuling
from nuggeteer.history.trend import Build, Trend, trends_if_any
from nuggeteer.measures import DEFAULT, Measure, headline, parse
from nuggeteer.records import Run, titled
from nuggeteer.scoring.scorer import Scorer

RULES = "; "  # stands between the rules of recorded gates


@dataclass(frozen=True)
class BriefedRun:
    """A run and its recorded build; the build is None if the run comes from a file."""

    run: Run
    build: Build | None = None

    @property
    def label(self) -> str | None:
        return self.build.scoring.label if self.build else None

    @property
    def title(self) -> str:
        return titled(self.run.name, self.label)


@dataclass(frozen=True, repr=False)
class NightRuling(Shown):
    """What the gates say about a build. There are none on the first night, when there is nothing to compare with, and
    none if some questions are new, which the `old` build was not asked."""

    ruling: Ruling | None
    old: BriefedRun | None
    new_questions: tuple[str, ...] = ()

    @property
    def gates(self) -> tuple[Gate, ...]:
        return self.ruling.gates if self.ruling else ()

    @property
    def basis(self) -> Basis | None:
        return self.ruling.basis if self.ruling else None

    @property
    def strange(self) -> tuple[str, ...]:
        """What must be read first."""
        return self.ruling.strange if self.ruling else ()

    @property
    def reading(self) -> str:
        """The command that asks for what is new; empty if there is nothing to read."""
        return self.ruling.reading if self.ruling else ""

    @property
    def decision(self) -> Decision:
        return self.ruling.decision if self.ruling else "UNDECIDED"

    @property
    def title(self) -> str:
        return self.ruling.title if self.ruling else "UNDECIDED"

    @property
    def reason(self) -> str:
        if self.old is None:
            return "This is the first night, and there is nothing to compare it with."
        if self.new_questions:
            one = len(self.new_questions) == 1
            what = "1 question is" if one else f"{len(self.new_questions)} questions are"
            return f"{what} new since {self.old.title}. The next night can be compared."
        return self.ruling.reason if self.ruling else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What stands beside the reason."""
        return self.ruling.remarks if self.ruling else ()

    @property
    def rules(self) -> tuple[str, ...]:
        """What the gates demand."""
        return tuple(gate.rule for gate in self.gates)

    def recorded(self, signature: str, change: Delta | None) -> RecordedRuling:
        """What the history keeps of the ruling."""
        old = self.old.build.scoring.build if self.old and self.old.build else None
        against = self.old.title if self.old else None
        ruling = RecordedRuling(self.decision, self.basis, RULES.join(self.rules), self.reason, against, old, signature)
        return structs.replace(ruling, measure=change.measure.name, change=change.interval.value) if change else ruling

    def agrees(self, recorded: RecordedRuling) -> bool:
        """Whether it decides what was recorded, on the same basis."""
        return self.title == recorded.title

    def today(self, recorded: RecordedRuling, build: str) -> str:
        """What is decided about a build today, in a sentence; nothing if that is what was recorded."""
        if self.agrees(recorded):
            return ""
        then = [rule for rule in recorded.gate.split(RULES) if rule]
        if self.rules == tuple(then):
            return f"With today's verdicts, {build} is {self.title}; recorded was {recorded.title}."
        other = [f"new: {rule}" for rule in self.rules if rule not in then]
        other += [f"no longer: {rule}" for rule in then if rule not in self.rules]
        return f"Under today's gates, {build} would be {self.title} ({'; '.join(other)}); recorded: {recorded.title}."


def nightly_measure(collection: Collection) -> Measure:
    """The measure of `[nightly]`, or else the headline of such a key."""
    name = collection.settings.nightly.measure
    found = parse(name) if name else headline(collection.key)
    if found.by_text:
        raise NuggeteerError(
            f"[nightly] measure {found}: it compares texts, and gates need verdicts; name f3, or another"
        )
    return found


def nightly_scorer(collection: Collection, seed: int = 0, jobs: int = 1) -> Scorer:
    """The default measures, the one of `[nightly]` first."""
    first = nightly_measure(collection)
    measures = [first, *(measure for measure in DEFAULT if measure.name != first.name)]
    scorer = Scorer(collection, measures, seed=seed, jobs=jobs)
    if first not in scorer.measures:
        raise NuggeteerError(f"[nightly] measure {first}: these nuggets have no votes or weights to measure it by")
    return scorer


def ruled_again(
    collection: Collection,
    history: History,
    found: Sequence[Trend],
    builds: Sequence[Build],
    seed: int = 0,
    jobs: int = 1,
    seconds: float = inf,
) -> Iterator[tuple[int, NightRuling]]:
    """What today's verdicts decide about builds that were decided with others, each against the run it was compared
    with then. The newest come first, and none is begun after so many seconds."""
    scorer, until = nightly_scorer(collection, seed, jobs), monotonic() + seconds
    for build in reversed(builds):
        if build.ruling is None or build.ruling.signature == build.scoring.signature or monotonic() > until:
            continue
        old = find_ruled_against(collection, history, found, build)
        new = newest_readable(history, collection, [build])
        if old and new:
            diff = diff_matched_runs(scorer, scorer.read(old.run), scorer.read(new.run), measures=scorer.measures[:1])
            yield build.scoring.build, rule_night(collection, history, old, diff)


def rule_night(
    collection: Collection,
    history: History,
    old: BriefedRun | None,
    diff: Diff | None,
) -> NightRuling:
    """The gates of the settings, applied to the change since the old build."""
    if old is None or diff is None:
        return NightRuling(None, old)
    if old.build:
        asked = history.asked(old.build.scoring.build)
        if new := tuple(question.qid for question in collection.key.questions if question.qid not in asked):
            return NightRuling(None, old, new)
    return NightRuling(rule_by_settings(collection, diff), old)


def rule_by_settings(collection: Collection, diff: Diff) -> Ruling:
    """The gates of `[nightly]`, applied to a change."""
    settings = collection.settings.nightly
    most = None if settings.max_lost_vital == "any" else settings.max_lost_vital
    return gate.rule(diff, settings.fail_if_worse, most, settings.sure, settings.about)


def newest_readable(history: History, collection: Collection, builds: Sequence[Build]) -> BriefedRun | None:
    """The last of these builds whose answers are not damaged; None if there is none."""
    for build in reversed(builds):
        with suppress(DamagedBuild):  # the history's `problems` have it
            return BriefedRun(history.run(build.scoring.build, collection), build)
    return None


def find_ruled_against(
    collection: Collection, history: History, trends: Sequence[Trend], new: Build
) -> BriefedRun | None:
    """The run that a recorded build was compared with when it was decided; None if it was not compared, or that run is
    gone."""
    if new.ruling is None or new.ruling.against is None:
        return None
    if new.ruling.old is not None:
        builds = [b for trend in trends for b in trend.builds if b.scoring.build == new.ruling.old]
        return newest_readable(history, collection, builds)
    name = new.ruling.against
    return BriefedRun(collection.run(name)) if name in collection.run_names else None


def find_old_run(collection: Collection, history: History, new: Run, name: str, label: str | None = None) -> BriefedRun:
    """The run that `--against` names: a run of the collection or a file, or else a recorded build, by its run's name or
    its label. A run's own name means the earlier build that was recorded under that name; with another `label`, the
    same answers are another build."""
    if name != new.name and collection.has_run(name):
        return BriefedRun(collection.run(name))
    builds = [build for trend in trends_if_any(history) for build in trend.builds]
    named = [build for build in builds if name in (build.scoring.run, build.scoring.label)]
    named.sort(key=lambda build: (build.scoring.time, build.scoring.build))
    own = [build for build in named if build.scoring.run == name]
    is_same = bool(own) and label in (None, own[-1].scoring.label) and history.is_last(new, collection.key)
    if name == new.name and is_same:
        named.remove(own[-1])
    if named:
        if old := newest_readable(history, collection, named):
            return old
        if name == new.name or not collection.has_run(name):
            raise InputError(history.problems)
    if name == new.name:
        raise NuggeteerError(f"{name}: no earlier build of this name is recorded; name another run")
    return BriefedRun(collection.run(name))  # which says what there is
