"""Builds in order of time: their scores, which of them are comparable, the alarm, and the timeline of each nugget.

The builds of a group form a trend; so do all builds without a group. Two builds are comparable if their scores have
equal signatures. The latest scoring of the newest build sets the signature. Every other build is represented by a
scoring with that signature, or if it has none by its latest scoring, which is then not comparable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from nuggeteer.collection.answer_key import natural_order
from nuggeteer.collection.folder import Collection
from nuggeteer.collection.runs import read_manifest
from nuggeteer.comparing.changes import PROBABLE
from nuggeteer.display import Framed, Shown, counted
from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.history.store import History, RecordedNugget, RecordedRuling, Scoring
from nuggeteer.records import Bools, Ints, Vector, titled
from nuggeteer.scoring.signature import differing_parts
from nuggeteer.statistics.alarm import Alarm, watch_trend
from nuggeteer.statistics.intervals import Interval

SIGNATURE_PARTS = {
    "nuggeteer": "version",
    "texts": "which texts are the same",
    "match": "match settings",
    "answers": "how answers are cut",
    "judges": "verdicts of language models",
    "idf": "word weights",
    "threshold": "threshold model",
    "interval": "interval method",
}
MIN_FLICKERS = 3
SOON = 10.0  # seconds


@dataclass(frozen=True, repr=False)
class Build(Shown):
    """One recorded build with the scoring chosen for it, and why it is not comparable with the newest build: `unlike`
    are the parts of the signature that differ, `unasked` the questions that were added later."""

    scoring: Scoring
    unlike: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return titled(self.scoring.run, self.scoring.label)

    @property
    def minute(self) -> str:
        """When it was recorded, to the minute, in UTC."""
        return self.scoring.time[:16].replace("T", " ")

    @property
    def comparable(self) -> bool:
        return not self.unlike and not self.unasked

    @property
    def ruling(self) -> RecordedRuling | None:
        """What was decided of it at last; None if it was only scored."""
        return self.scoring.ruling

    @property
    def interval(self) -> Interval:
        return self.scoring.interval or Interval(None)

    def recorded_change(self, old: Build, measure: str) -> float | None:
        """How much it changed since another build, as recorded by `nightly`; None if that was about another build or
        measure, or with other verdicts."""
        asked = old.scoring.build, measure, self.scoring.signature
        ruling = self.ruling
        return ruling.change if ruling and (ruling.old, ruling.measure, ruling.signature) == asked else None


@dataclass(frozen=True, repr=False)
class Trend(Framed):
    """The builds of one group, oldest first. Arrays have an entry for each build.

    `alarm` uses only the comparable builds. Its positions are positions in `builds`, and its evidence is NaN for the
    other builds.
    """

    group: str | None
    measure: str
    builds: tuple[Build, ...]
    alarm: Alarm

    def _summary(self) -> str:
        return f"{self.measure} of {self.group or 'runs without a group'}, {len(self.builds)} builds"

    def _rows(self) -> Iterator[dict[str, object]]:
        """A row for each build, oldest first."""
        for i, build in enumerate(self.builds):
            scoring = build.scoring
            row: dict[str, object] = {"time": scoring.time, "label": scoring.label, "run": scoring.run}
            row |= {"value": build.interval.value, "low": build.interval.low, "high": build.interval.high}
            yield row | {"delta": float(self.delta[i]), "comparable": build.comparable}

    def until(self, build: Build) -> Trend:
        """The trend as far as a build. The alarm looks at no later build, so this is what it said then."""
        end = self.builds.index(build) + 1
        changes = tuple(change for change in self.alarm.changes if change.at < end)
        return replace(self, builds=self.builds[:end], alarm=Alarm(self.alarm.evidence[:end], changes))

    @cached_property
    def value(self) -> Vector:
        return np.array([build.interval.value for build in self.builds], dtype=float)

    @cached_property
    def low(self) -> Vector:
        return np.array([build.interval.low for build in self.builds], dtype=float)

    @cached_property
    def high(self) -> Vector:
        return np.array([build.interval.high for build in self.builds], dtype=float)

    @cached_property
    def comparable(self) -> Bools:
        return np.array([build.comparable for build in self.builds], dtype=bool)

    @cached_property
    def delta(self) -> Vector:
        """How much each value changed since the previous comparable one: as `nightly` compared the two with these very
        verdicts, or else their difference. NaN if there is none."""
        result = np.full(len(self.builds), np.nan)
        positions = np.flatnonzero(self.comparable)
        result[positions[1:]] = np.diff(self.value[positions])
        for before, at in pairwise(positions.tolist()):
            recorded = self.builds[at].recorded_change(self.builds[before], self.measure)
            result[at] = result[at] if recorded is None else recorded
        return result


@dataclass(frozen=True, repr=False)
class NuggetTimelines(Shown):
    """The outcomes of each nugget in some builds: arrays are nuggets × builds.

    `present` says whether the key had the nugget then. `probability` is NaN if the model gives none. `rank` is 0 if no
    response carries the nugget. Counts over builds are over comparable builds.
    """

    nuggets: tuple[RecordedNugget, ...]
    builds: tuple[Build, ...]
    present: Bools
    found: Bools
    known: Bools
    probability: Vector
    rank: Ints

    @cached_property
    def compared(self) -> Bools:
        """Whether a build is comparable and has a comparable build before it."""
        comparable = np.array([build.comparable for build in self.builds], dtype=bool)
        return comparable & (comparable.cumsum() > 1)

    @cached_property
    def gained(self) -> Bools:
        """Found, and not found in the previous comparable build, more probably than not."""
        return self._turned(True)

    @cached_property
    def lost(self) -> Bools:
        """Not found, and found in the previous comparable build, more probably than not."""
        return self._turned(False)

    @cached_property
    def turns(self) -> Ints:
        """How often each nugget was gained or lost."""
        return np.asarray((self.gained | self.lost).sum(axis=1))

    @cached_property
    def flickering(self) -> Ints:
        """The nuggets gained or lost at least `MIN_FLICKERS` times, most often first."""
        often = np.flatnonzero(self.turns >= MIN_FLICKERS)
        return often[np.argsort(-self.turns[often], kind="stable")]

    @cached_property
    def last_lost(self) -> Ints:
        """The index of the build in which each nugget was last lost; −1 if it never was."""
        return np.where(self.lost.any(axis=1), len(self.builds) - 1 - self.lost[:, ::-1].argmax(axis=1), -1)

    @cached_property
    def missing(self) -> Bools:
        """Lost and not found again."""
        return self.last_lost > np.where(
            self.gained.any(axis=1), len(self.builds) - 1 - self.gained[:, ::-1].argmax(axis=1), -1
        )

    @property
    def still_missing(self) -> Ints:
        """The nuggets lost and not found again: the vital ones first, then those that were lost last, and of these the
        ones that weigh most, by their share in the question and by how sure it is."""
        wanted = np.array([nugget.importance != "forbidden" for nugget in self.nuggets], dtype=bool)
        missing = np.flatnonzero(self.missing & wanted)
        okay = np.array([self.nuggets[i].importance != "vital" for i in missing], dtype=bool)
        vital = Counter(nugget.qid for nugget in self.nuggets if nugget.importance == "vital")
        share = np.array([1 / max(vital[self.nuggets[i].qid], 1) for i in missing])
        gone = 1 - np.where(self.known, self.found, np.nan_to_num(self.probability))[missing, -1]
        return missing[np.lexsort((missing, -gone * share, -self.last_lost[missing], okay))]

    def only(self, nugget: int) -> NuggetTimelines:
        """The timeline of one nugget."""
        own = slice(nugget, nugget + 1)
        known, found = self.known[own], self.found[own]
        return NuggetTimelines(
            self.nuggets[own], self.builds, self.present[own], found, known, self.probability[own], self.rank[own]
        )

    def _turned(self, to: bool) -> Bools:
        result = np.zeros_like(self.found)
        positions = np.flatnonzero([build.comparable for build in self.builds])
        before, after = positions[:-1], positions[1:]
        # What is more probably so than not. `diff` draws both builds together and may say otherwise; of a recorded
        # build there are the chances alone.
        chance = np.where(np.isnan(self.probability), self.found, self.probability)
        gone, there = 1 - chance, chance
        probable = (gone[:, before] * there[:, after] if to else there[:, before] * gone[:, after]) >= PROBABLE
        turned = (self.found[:, after] == to) & (self.found[:, before] != to) & probable
        result[:, after] = turned & self.present[:, after] & self.present[:, before]
        return result


@dataclass(frozen=True)
class NuggetTimeline:
    """One nugget over the builds of a trend: its timeline, and the text that got the credit in each build."""

    trend: Trend
    timelines: NuggetTimelines
    texts: tuple[str | None, ...]


def timelines_of(history: History, trends: Sequence[Trend], nugget: str) -> tuple[NuggetTimeline, ...]:
    """The timeline of a nugget, `QID/NUGGET`, in each trend that has it."""
    found = []
    for trend in trends:
        timelines = nugget_timelines(history, trend.builds)
        for i, recorded in enumerate(timelines.nuggets):
            if f"{recorded.qid}/{recorded.nugget}" == nugget:
                texts = history.credited([build.scoring.id for build in trend.builds], recorded.qid, recorded.nugget)
                found.append(NuggetTimeline(trend, timelines.only(i), tuple(texts)))
    if not found:
        raise NuggeteerError(f"{nugget}: no recorded build has this nugget; write question/nugget, as in def-01/3")
    return tuple(found)


def trends(history: History, measure: str | None = None) -> tuple[Trend, ...]:
    """The trends of all groups, in the order in which they began."""
    names = history.measures()
    if not names and history.problems:
        raise InputError(history.problems)
    if not names:
        raise NuggeteerError(f"{history.path}: no build is recorded yet; nuggeteer nightly RUN keeps one")
    measure = measure or names[0]
    if measure not in names:
        raise NuggeteerError(f"{history.path}: no build was scored by {measure!r}; recorded are: {', '.join(names)}")
    builds: dict[int, list[Scoring]] = {}
    for scoring in history.scorings(measure):
        builds.setdefault(scoring.build, []).append(scoring)
    # The manifest's group now, because it may have been written after the nights.
    listed = {run: info.group or run for run, info in read_manifest(history.path.parent / "runs.jsonl", []).items()}
    groups: dict[str | None, list[list[Scoring]]] = {}
    for scorings in builds.values():
        groups.setdefault(listed.get(scorings[-1].run, scorings[-1].group), []).append(scorings)
    return tuple(_trend(history, group, measure, own) for group, own in groups.items())


def trends_if_any(history: History, measure: str | None = None) -> tuple[Trend, ...]:
    """The trends of all groups, by the measure if any build was scored by it; none where no sound build is recorded."""
    names = history.measures() if history.path.exists() else []
    return trends(history, measure if measure in names else None) if names else ()


def trends_today(
    history: History,
    read: Callable[[], Collection],
    measure: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    notify: Callable[[str], None] = lambda line: None,
) -> tuple[tuple[Trend, ...], list[Problem]]:
    """The trends as in `trends_if_any`. Builds that cannot be compared with the newest are first scored again with what
    is known today, if that is done soon: new verdicts are the normal case. What was recorded is kept. The problems say
    what was not done."""
    found = trends_if_any(history, measure)
    if history.problems or not any(build.unlike for trend in found for build in trend.builds):
        return found, []
    try:
        done, left = history.rescore(read(), seed, jobs, seconds=SOON)
    except NuggeteerError:  # the history can still be read
        what = "its builds are shown as they were scored: the collection cannot be read, or the history not written"
        return found, [Problem(str(history.path), None, what, "nuggeteer history --rescore says why", "warning")]
    if done:
        notify(f"{counted(done, 'build')} scored again with what is known today; earlier scores are kept.")
    what = f"{counted(left, 'build')} must still be scored again"
    problem = Problem(str(history.path), None, what, "nuggeteer history --rescore does it", "warning")
    return trends_if_any(history, measure), [problem] if left else []


def _trend(history: History, group: str | None, measure: str, scorings: Sequence[Sequence[Scoring]]) -> Trend:
    signature = scorings[-1][-1].signature
    builds = tuple(_build(history, own, signature) for own in scorings)
    comparable = np.array([build.comparable for build in builds], dtype=bool)
    positions = np.flatnonzero(comparable)
    alarm = watch_trend(np.array([builds[i].interval.value for i in positions], dtype=float))
    evidence = np.full(len(builds), np.nan)
    evidence[positions] = alarm.evidence
    changes = tuple(replace(c, at=int(positions[c.at]), since=int(positions[c.since])) for c in alarm.changes)
    return Trend(group, measure, builds, Alarm(evidence, changes))


def _build(history: History, scorings: Sequence[Scoring], signature: str) -> Build:
    chosen = next((s for s in reversed(scorings) if s.signature == signature), scorings[-1])
    if chosen.signature != signature:
        return Build(chosen, _differences(chosen.signature, signature))
    if chosen.interval is None or chosen.interval.value is None:
        return Build(chosen, ("measure",))
    return Build(chosen, unasked=() if chosen is scorings[0] else tuple(history.unasked(chosen.id)))


def _differences(signature: str, newest: str) -> tuple[str, ...]:
    """The parts of two signatures that differ. The fitted thresholds are left out if anything else differs, because
    they depend on it."""
    parts = differing_parts(signature, newest)
    causes = [part for part in parts if part != "threshold"] or parts
    return tuple(SIGNATURE_PARTS.get(part, part) for part in causes)


def nugget_timelines(history: History, builds: Sequence[Build]) -> NuggetTimelines:
    """The timelines of all nuggets in these builds."""
    nuggets, rows = history.outcomes([build.scoring.id for build in builds])
    order = sorted(range(len(nuggets)), key=lambda i: (natural_order(nuggets[i].qid), natural_order(nuggets[i].nugget)))
    to = np.empty(len(order), dtype=int)
    to[order] = np.arange(len(order))
    shape = (len(nuggets), len(builds))
    build, nugget = rows[:, 0].astype(int), to[rows[:, 1].astype(int)]
    present, found, known = np.zeros((3, *shape), dtype=bool)
    probability, rank = np.full(shape, np.nan), np.zeros(shape, dtype=int)
    present[nugget, build] = True
    found[nugget, build] = rows[:, 2] != 0
    known[nugget, build] = rows[:, 3] != 0
    probability[nugget, build] = np.where(rows[:, 4] < 0, np.nan, rows[:, 4])
    rank[nugget, build] = rows[:, 5].astype(int)
    return NuggetTimelines(tuple(nuggets[i] for i in order), tuple(builds), present, found, known, probability, rank)
