"""What was scored, kept: `history.sqlite3` beside the collection's files.

One SQLite file holds each recorded build: its scores, what became of each nugget, and the responses
themselves, so that old builds can be scored again when judgements, key or settings have changed. A build has
one or more *scorings*; a new one never replaces an old one. docs/reference/files.md lists tables and columns.

Several processes may record at once. A file that is damaged, another program's, or from a newer version is
told of and left alone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import NuggeteerError, fail
from nuggeteer.measures import DEFAULT
from nuggeteer.records import AnswerKey, Run, RunInfo, Vector
from nuggeteer.scoring.scorer import RunScore, Scores, score
from nuggeteer.statistics.intervals import Interval

FILE_NAME = "history.sqlite3"
APPLICATION_ID = 0x4E554747  # "NUGG", so that `file` and we know our own
LOCK_TIMEOUT = 60.0  # seconds to wait for others who are recording
RESCORE_BATCH = 8  # builds rescored in one go, to bound memory

MIGRATIONS = [
    """
    CREATE TABLE builds (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL, label TEXT, time TEXT NOT NULL, content TEXT NOT NULL
    );
    CREATE TABLE questions (id INTEGER PRIMARY KEY, qid TEXT NOT NULL UNIQUE);
    CREATE TABLE nuggets (
        id INTEGER PRIMARY KEY, question INTEGER NOT NULL REFERENCES questions, nugget TEXT NOT NULL,
        importance TEXT NOT NULL, description TEXT NOT NULL, UNIQUE (question, nugget)
    );
    CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL);
    CREATE TABLE answers (
        build INTEGER NOT NULL REFERENCES builds, question INTEGER NOT NULL REFERENCES questions,
        length INTEGER NOT NULL, PRIMARY KEY (build, question)
    ) WITHOUT ROWID;
    CREATE TABLE responses (
        build INTEGER NOT NULL, question INTEGER NOT NULL, rank INTEGER NOT NULL,
        text INTEGER NOT NULL REFERENCES texts, docid TEXT,
        PRIMARY KEY (build, question, rank), FOREIGN KEY (build, question) REFERENCES answers
    ) WITHOUT ROWID;
    CREATE TABLE scorings (
        id INTEGER PRIMARY KEY, build INTEGER NOT NULL REFERENCES builds, time TEXT NOT NULL,
        version TEXT NOT NULL, signature TEXT NOT NULL, run_group TEXT,
        known INTEGER NOT NULL, guessed INTEGER NOT NULL
    );
    CREATE INDEX scorings_of_builds ON scorings (build);
    CREATE TABLE scores (
        scoring INTEGER NOT NULL REFERENCES scorings, measure TEXT NOT NULL, value REAL, hard REAL, low REAL,
        high REAL, judging_low REAL, judging_high REAL, sampling_low REAL, sampling_high REAL,
        PRIMARY KEY (scoring, measure)
    ) WITHOUT ROWID;
    CREATE TABLE question_scores (
        scoring INTEGER NOT NULL REFERENCES scorings, measure TEXT NOT NULL,
        question INTEGER NOT NULL REFERENCES questions, value REAL, hard REAL,
        PRIMARY KEY (scoring, measure, question)
    ) WITHOUT ROWID;
    CREATE TABLE outcomes (
        scoring INTEGER NOT NULL REFERENCES scorings, nugget INTEGER NOT NULL REFERENCES nuggets,
        found INTEGER NOT NULL, known INTEGER NOT NULL, probability REAL, rank INTEGER,
        text INTEGER REFERENCES texts, PRIMARY KEY (scoring, nugget)
    ) WITHOUT ROWID
    """,
]


def now() -> datetime:
    """The clock."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class RecordedRun:
    """What became of a run that was to be recorded: the build that it is, and whether that is `new`. `copies`
    counts the other builds with the same run and responses; `added` are measures that an old one did not have."""

    run: str
    build: int
    new: bool
    copies: int
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scoring:
    """One scoring of one build; `interval` of the measure asked for, None where it was not scored by that."""

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


@dataclass(frozen=True)
class RecordedNugget:
    """A nugget as it was last described."""

    qid: str
    nugget: str
    importance: str
    description: str


class History:
    """The history of a collection. The file is made when something is first recorded."""

    def __init__(self, path: Path | str, clock: Callable[[], datetime] | None = None) -> None:
        self.path = Path(path)
        self._clock = clock or (lambda: now())

    @classmethod
    def of(cls, collection: Path | str, clock: Callable[[], datetime] | None = None) -> History:
        """The history of the collection in a folder."""
        return cls(Path(collection) / FILE_NAME, clock)

    def record(self, scores: Scores, label: str | None = None) -> list[RecordedRun]:
        """Keep the scored runs, all or none. A run whose name, label, responses and signature are all as in a
        build from before is that build."""
        for name in [label or "", *(run.name for run in scores.runs)]:
            _storable(name)
        with self._connect(write=True) as db:
            ids = _RowIds(db, scores.key)
            return [self._record(db, ids, scores, run, label or None) for run in scores.runs]

    def _record(
        self, db: sqlite3.Connection, ids: _RowIds, scores: Scores, run: RunScore, label: str | None
    ) -> RecordedRun:
        content = _content(run.run, scores.key)
        copies = db.execute(_COPIES, (scores.signature, label, run.name, content)).fetchall()
        for build, scoring, same in copies:
            if same:
                added = self._add_scores(db, ids, scoring, run)
                return RecordedRun(run.name, build, False, len({build for build, *_ in copies}) - 1, added)
        build = _insert(db, "builds", (None, run.name, label, self._time(), content))
        lengths = run.outcome.length.tolist()
        db.executemany("INSERT INTO answers VALUES (?, ?, ?)", zip(repeat(build), ids.questions, lengths, strict=False))
        texts, question = ids.texts(run.run), run.run.question
        ranks = np.arange(len(run.run)) - run.run.offsets[question] + 1
        asked = (ids.questions[q] for q in question.tolist())
        rows = zip(repeat(build), asked, ranks.tolist(), texts, _docids(run.run), strict=False)
        db.executemany("INSERT INTO responses VALUES (?, ?, ?, ?, ?)", rows)
        self._add_scoring(db, ids, scores, run, build, texts)
        return RecordedRun(run.name, build, True, len({build for build, *_ in copies}))

    def _add_scoring(
        self, db: sqlite3.Connection, ids: _RowIds, scores: Scores, run: RunScore, build: int, texts: list[int]
    ) -> None:
        outcome = run.outcome
        made_by = (self._time(), version("nuggeteer"), scores.signature, run.run.info.group)
        scoring = _insert(db, "scorings", (None, build, *made_by, outcome.pairs_known, outcome.pairs_guessed))
        self._add_scores(db, ids, scoring, run)
        rows = zip(
            repeat(scoring),
            ids.nuggets,
            map(int, outcome.found.tolist()),
            map(int, outcome.known.tolist()),
            outcome.probability.tolist(),
            (rank or None for rank in run.rank.tolist()),
            (texts[response] if response >= 0 else None for response in outcome.response.tolist()),
            strict=False,
        )
        db.executemany("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def _add_scores(self, db: sqlite3.Connection, ids: _RowIds, scoring: int, run: RunScore) -> tuple[str, ...]:
        """Add the measures that a scoring does not have yet; returns these."""
        stored = {measure for (measure,) in db.execute("SELECT measure FROM scores WHERE scoring = ?", (scoring,))}
        added = tuple(measure for measure in run.measures if measure not in stored)
        for measure in added:
            interval = run.measures[measure]
            judging, sampling = interval.judging or (None, None), interval.sampling or (None, None)
            whole = (interval.value, interval.hard, interval.low, interval.high)
            _insert(db, "scores", (scoring, measure, *whole, *judging, *sampling))
            values, hard = run.by_question[measure].tolist(), run.hard_by_question[measure].tolist()
            rows = zip(repeat(scoring), repeat(measure), ids.questions, values, hard, strict=False)
            db.executemany("INSERT INTO question_scores VALUES (?, ?, ?, ?, ?)", rows)
        return added

    def rescore(self, collection: Collection, seed: int = 0, jobs: int = 1) -> int:
        """Score the stored builds with what is known today, by every measure that any was scored by; returns how many
        were not yet scored so.

        Every build is scored as of the group that the manifest names for its run, or that it named back then."""
        measures = self.measures()
        with self._connect() as db:
            latest = db.execute(_LATEST).fetchall()
        then = {run: RunInfo(run, group) for _, run, group, *_ in latest}
        collection = replace(collection, manifest=then | collection.manifest)
        today = score(collection, [], measures, seed=seed, jobs=jobs)
        wanted = {measure.name for measure in today.measures}
        stale = [
            (build, run, scoring if signature == today.signature else None)
            for build, run, _, scoring, signature, by in latest
            if signature != today.signature or wanted - set(by.split())
        ]
        for start in range(0, len(stale), RESCORE_BATCH):
            some = stale[start : start + RESCORE_BATCH]
            with self._connect() as db:
                runs = [_stored_run(db, collection, build, run) for build, run, _ in some]
            scores = score(collection, runs, measures, seed=seed, jobs=jobs)
            with self._connect(write=True) as db:
                ids = _RowIds(db, scores.key)
                for (build, _, scoring), run in zip(some, scores.runs, strict=True):
                    if scoring is None:
                        self._add_scoring(db, ids, scores, run, build, ids.texts(run.run))
                    else:
                        self._add_scores(db, ids, scoring, run)
        return len(stale)

    def run(self, build: int, collection: Collection) -> Run:
        """A build's responses as a run, to the questions that the collection has."""
        with self._connect() as db:
            row = db.execute("SELECT run FROM builds WHERE id = ?", (build,)).fetchone()
            if row is None:
                raise fail(self.path, f"has no build {build}", "name one that is recorded")
            return _stored_run(db, collection, build, row[0])

    def measures(self) -> list[str]:
        """The measures that builds were scored by: the usual ones first."""
        with self._connect() as db:
            recorded = {measure for (measure,) in db.execute("SELECT DISTINCT measure FROM scores")}
        usual = [measure.name for measure in DEFAULT if measure.name in recorded]
        return usual + sorted(recorded - set(usual))

    def scorings(self, measure: str) -> list[Scoring]:
        """All scorings of all builds: builds in the order of time, of one build the oldest scoring first."""
        with self._connect() as db:
            return [_scoring(row) for row in db.execute(_SCORINGS, (measure,))]

    def unasked(self, scoring: int) -> list[str]:
        """Questions of a scoring that were added to the key after the build had answered."""
        with self._connect() as db:
            return [qid for (qid,) in db.execute(_UNASKED, (scoring,))]

    def outcomes(self, scorings: Sequence[int]) -> tuple[list[RecordedNugget], Vector]:
        """What became of each nugget: the nuggets of these scorings, and rows of (scoring's place, nugget's
        place, found, known, probability or −1, rank or 0)."""
        place: dict[int, int] = {}
        rows = [np.zeros((0, 6))]
        with self._connect() as db:
            facts = {id_: RecordedNugget(*fact) for id_, *fact in db.execute(_NUGGETS)}
            for i, scoring in enumerate(scorings):
                own = np.array(db.execute(_OUTCOMES, (scoring,)).fetchall(), dtype=float).reshape(-1, 5)
                own[:, 0] = [place.setdefault(nugget, len(place)) for nugget in own[:, 0].astype(int).tolist()]
                rows.append(np.column_stack([np.full(len(own), i), own]))
        return [facts[nugget] for nugget in place], np.concatenate(rows)

    def credited(self, scorings: Sequence[int], qid: str, nugget: str) -> list[str | None]:
        """The text that got a nugget's credit in each scoring; None without one."""
        with self._connect() as db:
            rows = [db.execute(_CREDITED, (scoring, qid, nugget)).fetchone() for scoring in scorings]
        return [row[0] if row else None for row in rows]

    def _time(self) -> str:
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @contextmanager
    def _connect(self, write: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection within one transaction, with errors that say what to do."""
        if not write and not self.path.exists():
            raise fail(self.path, "no build is recorded yet", "nuggeteer score RUN --record keeps one")
        try:
            with closing(self._open(write)) as db:
                db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):  # a full disk has rolled it back already
                        db.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except UnicodeEncodeError as error:
            raise fail(self.path, "a text that is no Unicode cannot be recorded", "mend the run") from error

    def _open(self, write: bool) -> sqlite3.Connection:
        if not write:
            try:
                return self._ready(self._file("mode=rw"), write)
            except sqlite3.OperationalError as error:
                if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
            # Where we may not write, SQLite cannot put its two helper files beside this one.
            # Nor can anybody be writing, if they are not there.
            alone = not Path(f"{self.path}-wal").exists()
            return self._ready(self._file("immutable=1" if alone else "mode=ro"), write)
        return self._ready(self._file("mode=rwc"), write)

    def _file(self, how: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?{how}"
        return sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT, isolation_level=None)

    def _ready(self, db: sqlite3.Connection, write: bool) -> sqlite3.Connection:
        """Check that the file is ours and whole, and bring it up to date."""
        try:
            db.execute("PRAGMA trusted_schema = OFF")  # the file may come from anybody
            if write:
                db.execute("PRAGMA foreign_keys = ON")
                (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise self._damaged(verdict)
            if self._version(db) < len(MIGRATIONS):
                self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _version(self, db: sqlite3.Connection) -> int:
        """The file's version; 0 of a new one."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (number,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID and (application or number or tables):
            raise fail(self.path, "is another program's SQLite file", "move it away; the history needs this name")
        if number > len(MIGRATIONS):
            what = f"was written by a newer nuggeteer (file version {number}; this one knows {len(MIGRATIONS)})"
            raise fail(self.path, what, "install that one; nothing was changed")
        return int(number)

    def _migrate(self, db: sqlite3.Connection) -> None:
        _patiently(db, "PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have done it while this one waited.
            for number, steps in enumerate(MIGRATIONS[self._version(db) :], self._version(db) + 1):
                for step in steps.split(";"):
                    db.execute(step)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise

    def _damaged(self, what: object) -> NuggeteerError:
        remedy = "nothing was changed in it; move it away, and score --record starts a new one"
        return fail(self.path, f"is damaged ({what})", remedy)

    def _explained(self, error: sqlite3.Error) -> NuggeteerError:
        code = _code(error)
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or "decode" in str(error):
            return self._damaged(error)
        if code == sqlite3.SQLITE_FULL:
            return fail(self.path, "the disk is full; nothing was recorded", "make room and record again")
        if code == sqlite3.SQLITE_BUSY:
            return fail(
                self.path, f"another process has kept it locked for {LOCK_TIMEOUT:.0f} s", "try again when it is done"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return fail(self.path, "cannot be opened or written", "check the permissions of the file and its folder")
        return fail(self.path, f"SQLite says: {error}", "check the disk, the permissions and the file")


_COPIES = """
    SELECT b.id, s.id, s.signature = ? AND b.label IS ? FROM builds b JOIN scorings s ON s.build = b.id
    WHERE b.run = ? AND b.content = ? ORDER BY b.id, s.id
"""
_LATEST = """
    SELECT b.id, b.run, s.run_group, s.id, s.signature,
        (SELECT group_concat(measure, ' ') FROM scores WHERE scoring = s.id)
    FROM builds b JOIN scorings s ON s.build = b.id
    WHERE s.id = (SELECT max(id) FROM scorings WHERE build = b.id) ORDER BY b.time, b.id
"""
_SCORINGS = """
    SELECT s.id, b.id, b.run, b.label, b.time, s.run_group, s.signature, s.known, s.guessed, v.measure,
        v.value, v.hard, v.low, v.high, v.judging_low, v.judging_high, v.sampling_low, v.sampling_high
    FROM builds b JOIN scorings s ON s.build = b.id LEFT JOIN scores v ON v.scoring = s.id AND v.measure = ?
    ORDER BY b.time, b.id, s.id
"""
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
    JOIN texts t ON t.id = o.text WHERE o.scoring = ? AND q.qid = ? AND n.nugget = ?
"""
_RESPONSES = """
    SELECT q.qid, t.text, r.docid FROM responses r JOIN questions q ON q.id = r.question JOIN texts t ON t.id = r.text
    WHERE r.build = ? ORDER BY r.question, r.rank
"""


class _RowIds:
    """The numbers under which the file keeps a key's questions and nuggets, and texts."""

    def __init__(self, db: sqlite3.Connection, key: AnswerKey) -> None:
        self._db = db
        qids = [(question.qid,) for question in key.questions]
        db.executemany("INSERT INTO questions (qid) VALUES (?) ON CONFLICT DO NOTHING", qids)
        number = dict(db.execute("SELECT qid, id FROM questions").fetchall())
        self.questions: list[int] = [number[qid] for (qid,) in qids]
        db.executemany(
            "INSERT INTO nuggets (question, nugget, importance, description) VALUES (?, ?, ?, ?) ON CONFLICT "
            "(question, nugget) DO UPDATE SET importance = excluded.importance, description = excluded.description",
            [(number[n.qid], n.nugget, n.importance, n.descriptions[0]) for n in key.nuggets],
        )
        places = {(q, n): id_ for q, n, id_ in db.execute("SELECT question, nugget, id FROM nuggets")}
        self.nuggets: list[int] = [places[number[n.qid], n.nugget] for n in key.nuggets]

    def texts(self, run: Run) -> list[int]:
        """The numbers of a run's texts, each kept once however many builds say it."""
        digests = [blake2b(text.encode(), digest_size=16).digest() for text in run.texts]
        rows = zip(digests, run.texts, strict=True)
        self._db.executemany("INSERT INTO texts (digest, text) VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
        find = "SELECT id FROM texts WHERE digest = ?"
        return [self._db.execute(find, (digest,)).fetchone()[0] for digest in digests]


def _content(run: Run, key: AnswerKey) -> str:
    """A hash of a run's responses, in their order."""
    qids = [key.questions[q].qid for q in run.question.tolist()]
    return blake2b(orjson.dumps([qids, run.texts, _docids(run)]), digest_size=16).hexdigest()


def _docids(run: Run) -> list[str | None]:
    return run.docids or [None] * len(run)


def _stored_run(db: sqlite3.Connection, collection: Collection, build: int, name: str) -> Run:
    position = collection.key.position
    rows = [(position[q], text, docid) for q, text, docid in db.execute(_RESPONSES, (build,)) if q in position]
    rows.sort(key=lambda row: row[0])
    docids = [docid for _, _, docid in rows]
    question = np.array([q for q, _, _ in rows], dtype=np.int32)
    counts = np.bincount(question, minlength=len(position))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    info = collection.manifest.get(name, RunInfo(name))
    return Run(name, info, [text for _, text, _ in rows], docids if any(docids) else None, question, offsets)


def _scoring(row: Sequence[Any]) -> Scoring:
    own, (measure, value, hard, low, high), parts = row[:9], row[9:14], row[14:]
    judging, sampling = (None if part[0] is None else tuple(part) for part in (parts[:2], parts[2:]))
    interval = Interval(value, hard, low, high, judging, sampling) if measure else None
    return Scoring(*(*own, interval))


def _insert(db: sqlite3.Connection, table: str, values: Sequence[Any]) -> int:
    marks = ", ".join("?" * len(values))
    return int(db.execute(f"INSERT INTO {table} VALUES ({marks})", values).lastrowid or 0)


def _storable(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise NuggeteerError(f"{name}: the history holds UTF-8 only; give it another name") from error


def _patiently(db: sqlite3.Connection, statement: str) -> None:
    """SQLite does not wait where two processes change the mode of a new file at once."""
    until = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            db.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _code(error: sqlite3.Error) -> int:
    """SQLite's own number of an error, without the details; 0 where Python made the error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
