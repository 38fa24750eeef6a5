"""A history from a stranger: SQLite follows nothing that lies beside it, and runs nothing that stands in it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from contextlib import closing, suppress

import pytest

from nuggeteer.cli.main import main
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.cache import reading_only
from nuggeteer.history import database
from nuggeteer.history.database import Database
from nuggeteer.history.store import History
from nuggeteer.scoring.scorer import score

NUGGETS = [{"qid": "q", "nugget": "1", "text": "a red fox"}, {"qid": "q", "nugget": "2", "text": "two blue birds"}]
RUNS = {"old": [("q", "a red fox came")], "new": [("q", "blue birds")]}
READERS = (["history"], ["report", "old"], ["judge", "new", "--against", "mine", "--list"])
WRITERS = (["history", "--rescore"], ["score", "new", "--record"], ["nightly", "new"])
MAGIC = bytes.fromhex("d9d505f920a163d7")


@pytest.fixture
def collection(collect):
    made = collect(NUGGETS, RUNS)
    History.of(made.root).record(score(made, ["old"]), "mine")
    return made


@pytest.fixture
def path(collection):
    return collection.root / "history.sqlite3"


def call(capsys, root, *command):
    code = main([*command, "--collection", str(root)])
    return code, capsys.readouterr().err


def hot_journal(path, victim):
    """What a process leaves that was killed while it changed several files: it names the file that lists them all."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:18], "big") % 65535 or 65536
    pages = path.stat().st_size // size
    name = os.fsencode(victim)
    head = (MAGIC + struct.pack(">IIIII", 0, 0, pages, 512, size)).ljust(512, b"\0")
    return head + struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC


def state(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", [*READERS, *WRITERS], ids=" ".join)
def test_no_journal_of_a_stranger_deletes_a_file(collection, path, tmp_path, command, capsys, monkeypatch):
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    journal = path.with_name(f"{path.name}-journal")
    journal.write_bytes(hot_journal(path, victim))
    monkeypatch.chdir(tmp_path)
    before = state(tmp_path)
    code, told = call(capsys, collection.root, *command)
    assert victim.exists()
    assert code == 2
    assert f"{journal}: is a journal that nuggeteer did not leave" in told
    assert {file for file in before if ".nuggeteer" not in str(file)} <= set(state(tmp_path))
    assert state(tmp_path)[path] == before[path]


def test_such_a_journal_would_delete_it(path, tmp_path):
    """That the test above can fail: this is what SQLite does by itself."""
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    path.with_name(f"{path.name}-journal").write_bytes(hot_journal(path, victim))
    with closing(sqlite3.connect(path)) as db:
        db.execute("SELECT count(*) FROM builds").fetchone()
    assert not victim.exists()


def test_an_agent_that_only_reads_is_no_exception(collection, path, tmp_path):
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    path.with_name(f"{path.name}-journal").write_bytes(hot_journal(path, victim))
    with reading_only(), pytest.raises(NuggeteerError, match="is a journal"):
        History.of(collection.root).scorings("f3")
    assert victim.exists()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_file_beside_a_history_that_is_not_there_gets_no_history(collection, path, suffix, capsys):
    """SQLite would put a stranger's log into the history that is just being made, and the build would be gone."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE builds SET label = 'theirs'")
        db.commit()
        log = path.with_name(f"{path.name}-wal").read_bytes()
    path.unlink()
    beside = path.with_name(f"{path.name}{suffix}")
    beside.write_bytes(log)
    code, told = call(capsys, collection.root, "score", "new", "--record", "--label", "mine")
    assert code == 2
    assert f"{beside}: " in told
    beside.unlink()
    assert call(capsys, collection.root, "score", "new", "--record", "--label", "mine")[0] == 0
    assert [scoring.label for scoring in History.of(collection.root).scorings("f3")] == ["mine"]


def test_the_log_of_our_own_process_that_died_is_read(collection, path, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM builds").fetchone()  # keeps the log from being merged
        History.of(collection.root).record(score(collection, ["new"]), "later")
        for name in (path.name, f"{path.name}-wal"):
            shutil.copy(path.with_name(name), copy)
    assert [scoring.label for scoring in History.of(copy).scorings("f3")] == ["mine", "later"]


HEAVY = " + ".join(["length(replace(hex(zeroblob(9000000)), '0', '1'))"] * 30)
QUOTED = HEAVY.replace("'", "''")
CHANGES = {
    "trigger": ["CREATE TRIGGER t AFTER UPDATE ON builds BEGIN UPDATE builds SET label = 'theirs'; END"],
    "Trigger": [  # SQLite takes it for one, whatever its type is called
        "CREATE TRIGGER t AFTER UPDATE ON builds BEGIN UPDATE builds SET label = 'theirs'; END",
        "UPDATE sqlite_master SET type = 'Trigger' WHERE name = 't'",
    ],
    "table 'v'": ["CREATE VIRTUAL TABLE v USING rtree(id, low, high)"],
    "table 'v' ": [
        "CREATE VIRTUAL TABLE v USING rtree(id, low, high)",
        "UPDATE sqlite_master SET rootpage = 2 WHERE name = 'v'",
    ],
    "table 'builds'": ["ALTER TABLE builds ADD COLUMN more TEXT AS (hex(zeroblob(1000000))) VIRTUAL"],
    "table 'texts'": [
        f"UPDATE sqlite_master SET sql = rtrim(sql, ')') || ', CHECK ({QUOTED} > 0))' WHERE name = 'texts'"
    ],
    "index 'i'": [f"CREATE INDEX i ON builds (id + {HEAVY})"],
    "view": ["CREATE VIEW w AS SELECT hex(zeroblob(1000000)) FROM builds"],
    "index 'scorings_of_builds'": ["DROP INDEX scorings_of_builds"],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_what_a_schema_could_run_is_refused_before_anything_is_written(collection, path, monkeypatch, what):
    """Also before an older file is brought up to date, when a trigger would run with what is changed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA writable_schema = ON")
        with suppress(sqlite3.DatabaseError):  # of a table that SQLite itself finds strange now
            for step in CHANGES[what]:
                db.execute(step)
    before = path.read_bytes()
    monkeypatch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, "UPDATE builds SET label = 'ours'"])
    for act in (lambda: History.of(collection.root).scorings("f3"), lambda: record(collection)):
        with pytest.raises(NuggeteerError, match=rf"is damaged \(the {what.strip()}.* is not as nuggeteer makes it"):
            act()
        assert path.read_bytes() == before


def test_a_history_of_each_earlier_version_is_as_it_was_made(collection, path, monkeypatch):
    newest = database.MIGRATIONS
    for version in range(1, len(newest) + 1):
        for name in ("history.sqlite3", "history.sqlite3-wal", "history.sqlite3-shm"):
            path.with_name(name).unlink(missing_ok=True)
        monkeypatch.setattr(database, "MIGRATIONS", newest[:version])
        Database(path).write(lambda db: None)
        monkeypatch.setattr(database, "MIGRATIONS", newest)
        record(collection)
        assert len(History.of(collection.root).scorings("f3")) == 1


def test_no_link_beside_a_history_deletes_a_file(collection, path, tmp_path, capsys):
    """A hard link to somebody's history, and a link to their folder that is called as a draft of ours."""
    other = tmp_path / "other"
    other.mkdir()
    path.rename(other / path.name)
    path.hardlink_to(other / path.name)
    path.with_name(f".{path.name}.x").symlink_to(other)
    assert call(capsys, collection.root, "history")[0] == 2
    assert (other / path.name).exists()


def test_an_agent_that_only_reads_removes_no_draft(collection, path):
    draft = path.with_name(f".{path.name}.abcdefgh") / path.name
    draft.parent.mkdir()
    draft.hardlink_to(path)
    with reading_only():
        assert len(History.of(collection.root).scorings("f3")) == 1
    assert draft.exists()


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_no_file_of_any_size_is_copied_to_be_read(collection, path, suffix, monkeypatch):
    if suffix:
        path.with_name(f"{path.name}{suffix}").touch()
    else:  # of an older version, which is read in a copy
        monkeypatch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, "CREATE TABLE notes (note TEXT)"])
    os.truncate(path.with_name(f"{path.name}{suffix}"), database.LARGEST_COPY + 1)
    with reading_only(), pytest.raises(NuggeteerError, match="too many to copy"):
        History.of(collection.root).scorings("f3")


def record(collection):
    History.of(collection.root).record(score(collection, ["new"]))


def test_a_copy_without_a_log_gets_one_before_it_is_written_to(collection, path):
    """Otherwise a kill would leave a journal, which the next start refuses."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    record(collection)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_text_of_a_gigabyte_is_an_error_and_not_read(collection, path, capsys):
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE texts SET text = CAST(zeroblob(?) AS TEXT)", (database.LONGEST_VALUE + 1,))
        db.commit()
    (collection.root / "nuggeteer.toml").write_text("[match]\nweights = 'unit'\n")
    code, told = call(capsys, collection.root, "history", "--rescore")
    assert code == 2
    assert f"{path}: a text, or another value, has more than 20,000,000 bytes" in told


def test_a_copy_of_a_damaged_history_takes_no_name_beside_which_a_file_lies(collection, path, capsys):
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE scores SET value = 'x'")
        db.commit()
    strange = path.with_name("history-damaged-1.sqlite3-journal")
    strange.write_bytes(b"a stranger's")
    assert call(capsys, collection.root, "history", "--rescore")[0] == 0
    assert strange.read_bytes() == b"a stranger's"
    assert path.with_name("history-damaged-2.sqlite3").exists()
