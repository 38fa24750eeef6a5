"""The SQLite file of the history: its tables, opening it, and what each of its errors means.

Several processes may record at once. A file that is damaged, belongs to another program or comes from a newer version
is reported and left unchanged.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from nuggeteer.errors import NuggeteerError, fail

APPLICATION_ID = 0x4E554747  # "NUGG": marks the file as ours
LOCK_TIMEOUT = 60.0  # seconds to wait for another process that is recording

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


class Database:
    """The file at a path. It is created by the first connection that writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def connect(self, write: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection within one transaction. Errors say what to do."""
        if not write and not self.path.exists():
            raise fail(self.path, "no build is recorded yet", "nuggeteer score RUN --record keeps one")
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            raise fail(self.path, "is a link or no regular file", "replace it with the file itself")
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
            raise self._error(error) from error
        except UnicodeEncodeError as error:
            raise fail(self.path, "a text that is not valid Unicode cannot be recorded", "correct the run") from error

    def _open(self, write: bool) -> sqlite3.Connection:
        if not write:
            try:
                return self._ready(self._file("mode=rw"), write)
            except sqlite3.OperationalError as error:
                if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
            # Without permission to write, SQLite cannot create its two helper files beside this one. If they are
            # absent, nobody else is writing either.
            alone = not Path(f"{self.path}-wal").exists()
            return self._ready(self._file("immutable=1" if alone else "mode=ro"), write)
        return self._ready(self._file("mode=rwc"), write)

    def _file(self, how: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?{how}"
        return sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT, isolation_level=None)

    def _ready(self, db: sqlite3.Connection, write: bool) -> sqlite3.Connection:
        """Check that the file is a history and not damaged, and migrate it to the newest version."""
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
        """The version of the file; 0 if it is new."""
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
        _retry(db, "PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have migrated the file while this one waited.
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

    def _error(self, error: sqlite3.Error) -> NuggeteerError:
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


def _retry(db: sqlite3.Connection, statement: str) -> None:
    """Retry a statement while the file is locked. SQLite does not wait when two processes set its mode."""
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
    """The primary SQLite code of an error; 0 if Python raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
