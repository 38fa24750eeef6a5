"""The SQLite file of the history: its tables, opening it, and what each of its errors means.

Several processes may record at once. A file that is damaged, belongs to another program or comes from a newer version
is reported and left unchanged.

The file may come from anybody, and SQLite does much by itself: it follows files that lie beside the one opened, and
runs what the schema holds. So we open only files that a history can have, with tables as we make them.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar

from nuggeteer.errors import NuggeteerError, fail
from nuggeteer.formats.cache import check_names, only_reads
from nuggeteer.formats.jsonl import LONGEST_LINE
from nuggeteer.history.soundness import read_through_views

T = TypeVar("T")
APPLICATION_ID = 0x4E554747  # "NUGG": marks the file as ours
LOCK_TIMEOUT = 60.0  # seconds to wait for another process that is recording
FULL = (errno.ENOSPC, errno.EDQUOT)
ROOM = 1 << 17  # bytes

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
    """
    CREATE TABLE rulings (
        id INTEGER PRIMARY KEY, build INTEGER NOT NULL REFERENCES builds, time TEXT NOT NULL,
        decision TEXT NOT NULL, basis TEXT, gate TEXT NOT NULL, reason TEXT NOT NULL, against TEXT,
        old INTEGER REFERENCES builds, signature TEXT NOT NULL
    );
    CREATE INDEX rulings_of_builds ON rulings (build)
    """,
    """
    ALTER TABLE rulings ADD COLUMN measure TEXT;
    ALTER TABLE rulings ADD COLUMN change REAL
    """,
]
SUFFIXES = ("-journal", "-wal", "-shm", "")  # of SQLite's files
LONGEST_VALUE = 2 * LONGEST_LINE  # bytes of a row
LARGEST_COPY = 250_000_000  # bytes of a file and its log that are copied to be read


class Database:
    """The file at a path. The first transaction that succeeds creates it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._recovered: bytes | None = None

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection within one transaction, which sees sound rows only. Errors say what to do."""
        if not self.path.exists():
            raise fail(self.path, "no build is recorded yet", "nuggeteer nightly RUN keeps one")
        self._check_files()
        with self._explaining_errors(), closing(self._readable()) as db:
            db.execute("BEGIN")
            yield db

    def write(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """The result of what `act` does in one transaction. A new file takes its place when it is complete, so a
        failure leaves none. If another process is faster, `act` is called again for that one's file."""
        if only_reads():
            raise fail(self.path, "is not written", "only reading is allowed here")
        self._check_files()
        with self._explaining_errors():
            if not self.path.exists():
                with suppress(FileExistsError):
                    return self._create(act)
            return self._transact(self.path, act)

    def keep_copy(self, db: sqlite3.Connection) -> Path:
        """Copy what a connection sees to a new file beside this one."""
        for number in count(1):
            path = self.path.with_name(f"{self.path.stem}-damaged-{number}{self.path.suffix}")
            if not any(os.path.lexists(f"{path}{suffix}") for suffix in SUFFIXES):
                with closing(self._connect(path, "mode=rwc")) as other:
                    db.backup(other)
                return path
        raise AssertionError("unreachable")

    def _create(self, act: Callable[[sqlite3.Connection], T]) -> T:
        folder = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
        new = folder / self.path.name
        try:
            result = self._transact(new, act)
            if Path(f"{new}-wal").exists():  # closing could not write the log into the file, and SQLite does not say so
                with closing(self._connect(new, "mode=rw")) as db:
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try:
                os.link(new, self.path)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                new.rename(self.path)
            return result
        finally:  # by name: where a disk is failing, the folder may not be listed
            with suppress(OSError):
                for suffix in SUFFIXES:
                    Path(f"{new}{suffix}").unlink(missing_ok=True)
                folder.rmdir()

    def _transact(self, path: Path, act: Callable[[sqlite3.Connection], T]) -> T:
        with closing(self._ready(self._connect(path, "mode=rwc"), write=True)) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = act(db)
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    db.execute("ROLLBACK")
                raise
            return result

    def _check_files(self) -> None:
        """Refuse files that SQLite would follow but no history of ours has, and a pipe, on which it waits for ever."""
        found = []
        for suffix in SUFFIXES:  # the file itself last: until then another process may have created it, with its log
            path = Path(f"{self.path}{suffix}")
            try:  # one look: another process may remove the file before a second
                status = path.lstat()
                if status.st_nlink > 1 and not suffix and not only_reads():
                    status = self._without_draft()
            except (FileNotFoundError, NotADirectoryError):
                continue
            if not stat.S_ISREG(status.st_mode):
                remedy = "remove it" if suffix else "replace it with the file itself"
                raise fail(path, "is a link or no regular file", remedy)
            if suffix == "-journal":  # ours are write-ahead logs, which name no other file
                what = "is a journal that nuggeteer did not leave, and SQLite would delete a file that it names"
                raise fail(
                    path, what, "remove it; if another program of yours has left it, open the history there first"
                )
            if not only_reads():
                check_names(path, status)
            found.append(path)
        if found and found[-1] != self.path:
            what = f"belongs to a {self.path.name} that is gone, and SQLite would put its content into a new one"
            raise fail(found[0], what, "move it away, too")

    def _without_draft(self) -> os.stat_result:
        """The status of the file, once it has lost the second name that it has while it is created. If the folder is a
        link, the second name is not from its creation, and leads to a file that somebody else may need."""
        for draft in self.path.parent.glob(f".{self.path.name}.*/{self.path.name}"):
            with suppress(OSError):
                if not draft.parent.is_symlink() and os.path.samestat(draft.lstat(), self.path.lstat()):
                    draft.unlink()
        return self.path.lstat()

    @contextmanager
    def _explaining_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(error) from error
        except UnicodeEncodeError as error:
            raise fail(self.path, "a text that is not valid Unicode cannot be recorded", "correct the run") from error
        except OSError as error:
            if error.errno in FULL:
                raise self._disk_full() from error
            raise fail(self.path, f"cannot be written: {error.strerror}", "check the folder") from error

    def _readable(self) -> sqlite3.Connection:
        try:
            if not only_reads():
                return self._ready(self._connect(self.path, "mode=rw"))
        except sqlite3.OperationalError as error:
            if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
        # Without permission to write, SQLite cannot create its two helper files beside this one. If they are absent,
        # nobody else is writing either.
        if not Path(f"{self.path}-wal").exists():
            return self._ready(self._migrated(self._connect(self.path, "immutable=1")))
        try:
            if not only_reads():
                return self._ready(self._migrated(self._connect(self.path, "mode=ro")))
        except sqlite3.OperationalError as error:
            if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
        if self._recovered is None:
            self._recovered = self._recover()
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.deserialize(self._recovered)
        return self._ready(db)

    def _migrated(self, db: sqlite3.Connection) -> sqlite3.Connection:
        """A copy in memory if a file that cannot be written is of an older version, so that it can be read."""
        try:
            if self._version(db) in (0, len(MIGRATIONS)):
                return db
            self._check_size(self.path)
            copy = sqlite3.connect(":memory:", isolation_level=None)
            db.backup(copy)
        except BaseException:
            db.close()
            raise
        db.close()
        return copy

    def _recover(self) -> bytes:
        """The file with what its write-ahead log holds. SQLite would merge them in place, which is impossible where
        nothing may be written."""
        log = Path(f"{self.path}-wal")
        self._check_size(self.path, log)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "history.sqlite3"
            before = None
            while before != (before := [(file.stat().st_size, file.stat().st_mtime_ns) for file in (self.path, log)]):
                shutil.copyfile(self.path, copy)
                shutil.copyfile(log, f"{copy}-wal")
            with closing(self._connect(copy, "mode=rw")) as db:
                db.execute("PRAGMA journal_mode = DELETE")
            return copy.read_bytes()

    def _check_size(self, *files: Path) -> None:
        """Raises `InputError` if files that would have to be copied are too large."""
        if sum(file.stat().st_size for file in files) > LARGEST_COPY:
            what = f"has more than {LARGEST_COPY:,} bytes with its log, too many to copy where nothing may be written"
            raise fail(self.path, what, "nuggeteer history, where you may write, brings it up to date")

    def _connect(self, path: Path, how: str) -> sqlite3.Connection:
        uri = f"{path.absolute().as_uri()}?{how}"
        return sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT, isolation_level=None)

    def _ready(self, db: sqlite3.Connection, write: bool = False) -> sqlite3.Connection:
        """Check that the file is a history and not damaged, and migrate it to the newest version."""
        try:
            # What SQLite advises for a file that may come from anybody.
            for statement in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
                db.execute(f"PRAGMA {statement}")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            self._check_schema(db)
            if write:
                db.execute("PRAGMA foreign_keys = ON")
                (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise self._damaged(verdict)
            if self._version(db) < len(MIGRATIONS):
                self._migrate(db)
                self._check_schema(db)
            elif write:
                _write_ahead(db)  # a copy that another program made may have lost it
            read_through_views(db)
        except BaseException:
            db.close()
            raise
        return db

    def _check_schema(self, db: sqlite3.Connection) -> None:
        """No code of a stranger runs when tables are read or written: the schema must be, to the letter, as we make
        it."""
        ours, found = Counter(_schema(tuple(MIGRATIONS[: self._version(db)]))), Counter(db.execute(_SCHEMA))
        if wrong := (found - ours) or (ours - found):
            kind, name = min((str(row[0]), str(row[1])) for row in wrong)
            raise self._damaged(f"the {kind:.20} {name!r:.80} is not as nuggeteer makes it")

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
        _write_ahead(db)
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
        remedy = "nothing was changed in it; move it away, and the next nightly starts a new one"
        return fail(self.path, f"is damaged ({what})", remedy)

    def _disk_full(self) -> NuggeteerError:
        return fail(self.path, "the disk is full; nothing was recorded", "make room and record again")

    def _error(self, error: sqlite3.Error) -> NuggeteerError:
        code = _code(error)
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or "decode" in str(error):
            return self._damaged(error)
        if code == sqlite3.SQLITE_FULL or (code in _UNCLEAR and _is_full(self.path.parent)):
            return self._disk_full()
        if code == sqlite3.SQLITE_TOOBIG:
            what = f"a text, or another value, has more than {LONGEST_VALUE:,} bytes"
            return fail(self.path, what, "record shorter texts; if it stands in the history, take that from a copy")
        if code == sqlite3.SQLITE_IOERR:  # also where the disk is too full for SQLite's own files
            what = f"could not be read or written ({error})"
            return fail(self.path, what, "make room on the disk, check it, and try again")
        if code == sqlite3.SQLITE_BUSY:
            return fail(
                self.path, f"another process has kept it locked for {LOCK_TIMEOUT:.0f} s", "try again when it is done"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return fail(self.path, "cannot be opened or written", "check the permissions of the file and its folder")
        return fail(self.path, f"SQLite says: {error}", "check the disk, the permissions and the file")


_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_UNCLEAR = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)  # what SQLite reports for a full disk when it opens a file


@cache
def _schema(migrations: tuple[str, ...]) -> list[tuple[object, ...]]:
    """The schema after these migrations, row by row."""
    with closing(sqlite3.connect(":memory:")) as db:
        for steps in migrations:
            db.executescript(steps)
        return list(db.execute(_SCHEMA))


def _is_full(folder: Path) -> bool:
    """Whether the disk of a folder has no room for what SQLite needs beside its file."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        return error.errno in FULL
    return False


def _write_ahead(db: sqlite3.Connection) -> None:
    """Let others read while one writes. SQLite does not wait when two processes set this mode: while the file is
    locked, it is tried again."""
    until = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _code(error: sqlite3.Error) -> int:
    """The primary SQLite code of an error; 0 if Python raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
