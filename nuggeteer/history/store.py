"""The recorded builds of a collection: `history.sqlite3` beside its other files.

The file holds each recorded build: its scores, the outcome of each nugget, and the responses themselves, so that old
builds can be scored again when judgements, key or settings have changed. A build has one or more *scorings*. A new
scoring never replaces an old one. The reference page on files lists tables and columns.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.gate import BasisOrNone, Decision, title_of
from nuggeteer.errors import InputError, NuggeteerError, Problem, fail
from nuggeteer.fields import Count, Number, Part, about
from nuggeteer.history.database import Database
from nuggeteer.history.recording import LAST, RecordedRun, Recording, as_run, digest, stored_responses
from nuggeteer.history.soundness import damaged_scorings, described, find_damage, free_id, remove_scorings
from nuggeteer.measures import DEFAULT, is_measure
from nuggeteer.records import AnswerKey, Run, RunInfo, Vector
from nuggeteer.scoring.scorer import score
from nuggeteer.scoring.scores import Scores
from nuggeteer.statistics.intervals import Interval

FILE_NAME = "history.sqlite3"
RESCORE_BATCH = 8  # builds that are scored again at once, to bound memory


def now() -> datetime:
    """The current time."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Scoring:
    """One scoring of one build. `interval` is of the requested measure; None if the scoring does not have it."""

    id: int
    build: int
    run: str
    label: str | None
    time: str
    group: str | None
    signature: str
    known: int
    guessed: int
    interval: Interval | None
    ruling: RecordedRuling | None = None


class RecordedRuling(Part):
    """What nightly decided of a build."""

    decision: Decision
    basis: BasisOrNone
    gate: Annotated[str, about("The rules.")]
    reason: str
    against: Annotated[str | None, about("The run it was compared with.")]
    old: Annotated[Count | None, about("The build of that run, if it is recorded.")]
    signature: Annotated[str, about("That of the scores on which it rests.")]
    time: str = ""
    measure: Annotated[str | None, about("The measure that was compared; null if nothing was.")] = None
    change: Annotated[Number, about("How much it changed.")] = None

    @property
    def title(self) -> str:
        return title_of(self.decision, self.basis)


@dataclass(frozen=True)
class RecordedNugget:
    """A nugget, with its most recent description."""

    qid: str
    nugget: str
    importance: str
    description: str


class DamagedBuild(InputError):
    """A build whose answers cannot be read whole."""


class History:
    """The history of a collection. The file is created when a build is first recorded."""

    def __init__(self, path: Path | str, clock: Callable[[], datetime] | None = None) -> None:
        self.path = Path(path)
        self._database = Database(self.path)
        self._found: list[Problem] | None = None
        self._mended: list[Problem] = []
        self._unreadable: dict[int, Problem] = {}
        self._clock = clock or (lambda: now())

    @classmethod
    def of(cls, collection: Path | str, clock: Callable[[], datetime] | None = None) -> History:
        """The history of the collection in a folder."""
        return cls(Path(collection) / FILE_NAME, clock)

    @property
    def problems(self) -> list[Problem]:
        """What is damaged in the file, as far as it has been read. All of it is left out."""
        if self._found is None:
            self._found = self._find_problems() if self.path.exists() else []
        return [*self._mended, *self._found, *self._unreadable.values()]

    def _find_problems(self) -> list[Problem]:
        with self._database.read() as db:
            names = dict(db.execute("SELECT id, run FROM builds"))
            unknown = [measure for (measure,) in db.execute(_MEASURES) if not is_measure(measure)]
            damage = find_damage(db)
        found = [
            self._problem(f"scores by {measure!r} are left out", "this version of nuggeteer has no such measure")
            for measure in sorted(unknown)
        ]
        for what, can_be_scored_again in described(damage, names):
            found.append(self._problem(what, _RESCORE if can_be_scored_again else _RECORD_AGAIN))
        return found

    def _problem(self, what: str, remedy: str) -> Problem:
        return Problem(str(self.path), None, what, remedy, "warning")

    def record(self, scores: Scores, label: str | None = None, rerun: bool = False) -> list[RecordedRun]:
        """Record the scored runs, all or none. A run with the name, label, responses and signature of an earlier build
        is that build.

        With `rerun`, the signature may differ: a run with the label and the responses of the last build of its name is
        that build, and gets another scoring if verdicts or settings have changed since."""
        for name in [label or "", *(run.name for run in scores.runs)]:
            _storable(name)
        return self._database.write(lambda db: Recording(db, scores, self._time).record(label or None, rerun))

    def rescore(
        self,
        collection: Collection,
        seed: int = 0,
        jobs: int = 1,
        only: Container[int] | None = None,
        seconds: float = inf,
    ) -> tuple[int, int]:
        """Score the stored builds, or `only` these, with the verdicts known today, by every measure that any build was
        scored by, the newest first. Returns how many were scored, and how many still need it: none is begun after so
        many `seconds`.

        Scores that are damaged are computed again; a build whose responses are damaged is left out. The group of a
        build is the one the manifest names for its run, or else the one recorded with it."""
        self._mend()
        measures = self.measures() or [measure.name for measure in DEFAULT]
        with self._database.read() as db:
            latest = db.execute(_LATEST).fetchall()
        then = {run: RunInfo(run, group) for _, run, group, *_ in latest if group}
        collection = replace(collection, manifest=then | collection.manifest)
        today = score(collection, [], measures, seed=seed, jobs=jobs)
        wanted = {measure.name for measure in today.measures}
        stale = [
            (build, scoring if signature == today.signature else None)
            for build, _, _, scoring, signature, by in reversed(latest)
            if (only is None or build in only) and (signature != today.signature or wanted - set(by.split()))
        ]
        until, done, waiting = monotonic() + seconds, 0, deque(stale)
        while waiting and monotonic() < until:
            some = []
            for build, scoring in [waiting.popleft() for _ in range(min(RESCORE_BATCH, len(waiting)))]:
                with suppress(DamagedBuild):  # `problems` has it
                    some.append((build, scoring, self.run(build, collection)))
            scores = score(collection, [run for *_, run in some], measures, seed=seed, jobs=jobs)
            self._database.write(partial(self._record_again, scores=scores, builds=[(b, s) for b, s, _ in some]))
            done += len(some)
        return done, len(waiting)

    def _record_again(self, db: sqlite3.Connection, scores: Scores, builds: list[tuple[int, int | None]]) -> None:
        Recording(db, scores, self._time).record_again(builds)

    def _mend(self) -> None:
        """Remove damaged scorings of builds that can be scored again. A copy of the file as it was is kept."""
        with self._database.read() as db:
            damaged = damaged_scorings(db)
            builds = {build for build in damaged.values() if build is not None and stored_responses(db, build)}
            doomed = [scoring for scoring, build in damaged.items() if build is None or build in builds]
            copy = self._database.keep_copy(db) if doomed else None
        if doomed:
            self._database.write(partial(remove_scorings, scorings=doomed))
            what = f"{len(doomed)} scorings with damaged rows were removed, and their builds are scored again"
            self._mended = [self._problem(what, f"the file as it was is {copy}")]
            self._found = None

    def run(self, build: int, collection: Collection) -> Run:
        """The responses of a build as a run, restricted to the questions of the collection. It is an error if they are
        not complete."""
        with self._database.read() as db:
            row = db.execute("SELECT run, label, time FROM builds WHERE id = ?", (build,)).fetchone()
            if row is None:
                raise fail(self.path, f"has no build {build}", "name one that is recorded")
            responses = stored_responses(db, build)
        if responses is None:
            what = f"the answers of build {build} ({row[0]}) are damaged or missing, and it is left out"
            self._unreadable[build] = self._problem(what, _RECORD_AGAIN)
            raise DamagedBuild([self._unreadable[build]])
        name, label, time = row
        return replace(as_run(responses, collection, name), recorded=time, label=label)

    def is_last(self, run: Run, key: AnswerKey) -> bool:
        """Whether the last build of this run's name has the same responses."""
        with self._database.read() as db:
            last = db.execute(LAST, (run.name,)).fetchone()
        return last is not None and last[2] == digest(run, key)

    def asked(self, build: int) -> set[str]:
        """The questions that a build was asked."""
        with self._database.read() as db:
            return {qid for (qid,) in db.execute(_ASKED, (build,))}

    def keep_ruling(self, build: int, ruling: RecordedRuling) -> None:
        """Record what was decided of a build, unless that is what the last ruling says. Earlier ones stay."""
        values = (ruling.decision, ruling.basis, ruling.gate, ruling.reason, ruling.against, ruling.old)
        for text in (ruling.reason, ruling.gate, ruling.against or ""):
            _storable(text)

        def keep(db: sqlite3.Connection) -> None:
            last = db.execute(f"{_RULINGS} WHERE build = ? ORDER BY id DESC LIMIT 1", (build,)).fetchone()
            if last is None or last[1:-3] != (*values, ruling.signature):
                more = ruling.signature, ruling.measure, ruling.change
                row = (free_id(db, "rulings"), build, self._time(), *values, *more)
                db.execute(f"INSERT INTO main.rulings VALUES ({', '.join('?' * len(row))})", row)

        self._database.write(keep)

    def measures(self) -> list[str]:
        """The measures that builds were scored by, a rubric's own and then the default ones first."""
        with self._database.read() as db:
            recorded = {measure for (measure,) in db.execute(_MEASURES) if is_measure(measure)}
        usual = [name for name in ("rubric", *(measure.name for measure in DEFAULT)) if name in recorded]
        return usual + sorted(recorded - set(usual))

    def scorings(self, measure: str) -> list[Scoring]:
        """All scorings, ordered by the time of the build; the oldest scoring of a build first."""
        with self._database.read() as db:
            rulings = {build: RecordedRuling(*rest) for build, *rest in db.execute(f"{_RULINGS} ORDER BY id")}
            return [_scoring(row, rulings.get(row[1])) for row in db.execute(_SCORINGS, (measure,))]

    def unasked(self, scoring: int) -> list[str]:
        """The questions of a scoring that were added to the key after the build answered."""
        with self._database.read() as db:
            return [qid for (qid,) in db.execute(_UNASKED, (scoring,))]

    def outcomes(self, scorings: Sequence[int]) -> tuple[list[RecordedNugget], Vector]:
        """The nuggets of these scorings, and their outcomes: rows of (index of the scoring, index of the nugget, found,
        known, probability or −1, rank or 0)."""
        index: dict[int, int] = {}
        rows = [np.zeros((0, 6))]
        with self._database.read() as db:
            described = {id_: RecordedNugget(*row) for id_, *row in db.execute(_NUGGETS)}
            for i, scoring in enumerate(scorings):
                own = [
                    (i, index.setdefault(nugget, len(index)), *row)
                    for nugget, *row in db.execute(_OUTCOMES, (scoring,))
                    if nugget in described
                ]
                rows.append(np.array(own, dtype=float).reshape(-1, 6))
        return [described[nugget] for nugget in index], np.concatenate(rows)

    def credited(self, scorings: Sequence[int], qid: str, nugget: str) -> list[str | None]:
        """The text that got the credit for a nugget in each scoring; None if no text did."""
        with self._database.read() as db:
            rows = [db.execute(_CREDITED, (scoring, qid, nugget)).fetchone() for scoring in scorings]
        return [row[0] if row else None for row in rows]

    def _time(self) -> str:
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_RESCORE = "nuggeteer history --rescore keeps a copy of the file and scores its builds again"
_RECORD_AGAIN = "take the file from a copy, or record the run again if you still have it"
_MEASURES = "SELECT DISTINCT measure FROM scores WHERE scoring IN (SELECT id FROM scorings)"
_ASKED = "SELECT q.qid FROM answers a JOIN questions q ON q.id = a.question WHERE a.build = ?"
_LATEST = """
    SELECT b.id, b.run, s.run_group, s.id, s.signature,
        ifnull((SELECT group_concat(measure, ' ') FROM scores WHERE scoring = s.id), '')
    FROM builds b LEFT JOIN scorings s ON s.id = (SELECT max(id) FROM scorings WHERE build = b.id)
    ORDER BY b.time, b.id
"""
_SCORINGS = """
    SELECT s.id, b.id, b.run, b.label, b.time, s.run_group, s.signature, s.known, s.guessed, v.measure,
        v.value, v.hard, v.low, v.high, v.judging_low, v.judging_high, v.sampling_low, v.sampling_high
    FROM builds b JOIN scorings s ON s.build = b.id LEFT JOIN scores v ON v.scoring = s.id AND v.measure = ?
    ORDER BY b.time, b.id, s.id
"""
_RULINGS = "SELECT build, decision, basis, gate, reason, against, old, signature, time, measure, change FROM rulings"
_UNASKED = """
    SELECT DISTINCT q.qid FROM scorings s
    JOIN question_scores v ON v.scoring = s.id JOIN questions q ON q.id = v.question
    WHERE s.id = ? AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.build = s.build AND a.question = q.id)
    ORDER BY q.id
"""
_OUTCOMES = "SELECT nugget, found, known, ifnull(probability, -1), ifnull(rank, 0) FROM outcomes WHERE scoring = ?"
_NUGGETS = """
    SELECT n.id, q.qid, n.nugget, n.importance, n.description FROM nuggets n JOIN questions q ON q.id = n.question
"""
_CREDITED = """
    SELECT t.text FROM outcomes o JOIN nuggets n ON n.id = o.nugget JOIN questions q ON q.id = n.question
    JOIN texts t ON t.id = o.text WHERE o.scoring = ? AND q.qid = ? AND n.nugget = ? AND is_utf8(CAST(t.text AS BLOB))
"""


def _scoring(row: Sequence[Any], ruling: RecordedRuling | None) -> Scoring:
    own, (measure, value, hard, low, high), parts = row[:9], row[9:14], row[14:]
    judging, sampling = (None if part[0] is None else tuple(part) for part in (parts[:2], parts[2:]))
    interval = Interval(value, hard, low, high, judging, sampling) if measure else None
    return Scoring(*(*own, interval, ruling))


def _storable(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise NuggeteerError(f"{name}: the history holds UTF-8 only; give it another name") from error
