"""The history: what is recorded comes back, whoever else records, and nothing is lost when something goes wrong."""

from __future__ import annotations

import html
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import NuggeteerError
from nuggeteer.history import database
from nuggeteer.history.database import Database
from nuggeteer.history.recording import RecordedRun, Recording
from nuggeteer.history.store import History
from nuggeteer.scoring.scorer import score
from tests.conftest import ROOT, write_lines

ODD = "an odd \x00 text \u202e [bold] 🚀 é\n\twith lines"
NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"},
    {"qid": "q1", "nugget": "2", "text": "born in Rome", "importance": "okay"},
    {"qid": "q/2", "nugget": "a/b", "text": "launched by NASA"},
]
RUNS = {
    "old": [("q1", "Fermi built the first nuclear reactor."), ("q1", ODD), ("q/2", "Launched by NASA.")],
    "new": [("q1", "Fermi was born in Rome."), ("q1", ODD)],
}
FIXED = "[threshold]\nmodel = 'fixed'\nvalue = 0.3\n"
NIGHT = datetime(2026, 3, 1, 2, 30, 5, tzinfo=UTC)


@pytest.fixture
def collection(collect):
    return collect(NUGGETS, RUNS, toml=FIXED)


@pytest.fixture
def history(collection):
    return History.of(collection.root, lambda: NIGHT)


def query(history, sql):
    with closing(sqlite3.connect(history.path)) as db:
        return db.execute(sql).fetchall()


def test_the_file_holds_what_was_scored(collection, history):
    """Read back by plain SQL, as a user would."""
    scores = score(collection, ["old"])
    assert history.record(scores, "4f2c1ab") == [RecordedRun("old", 1, True, 0)]
    old = scores["old"]
    assert query(history, "SELECT run, label, time FROM builds") == [("old", "4f2c1ab", "2026-03-01T02:30:05Z")]
    ((signature, known, guessed, version),) = query(history, "SELECT signature, known, guessed, version FROM scorings")
    assert signature == scores.signature
    assert (known, guessed) == (old.outcome.pairs_known, old.outcome.pairs_guessed)
    assert scores.signature.startswith(f"nuggeteer:{version}|")
    columns = "measure, value, hard, low, high, judging_low, judging_high, sampling_low, sampling_high"
    stored = query(history, f"SELECT {columns} FROM scores")
    assert {measure for measure, *_ in stored} == set(old.measures)
    for measure, value, hard, low, high, *parts in stored:
        interval = old.measures[measure]
        assert (value, hard, low, high) == (interval.value, interval.hard, interval.low, interval.high)
        assert tuple(parts) == (*(interval.judging or (None, None)), *(interval.sampling or (None, None)))
    rows = query(
        history,
        "SELECT qid, value, length FROM question_scores v JOIN questions q ON q.id = v.question "
        "JOIN answers a ON a.question = q.id WHERE measure = 'f3'",
    )
    qids = [question.qid for question in collection.key.questions]
    assert {qid: value for qid, value, _ in rows} == dict(zip(qids, old.by_question["f3"].tolist(), strict=True))
    assert {qid: length for qid, _, length in rows} == dict(zip(qids, old.outcome.length.tolist(), strict=True))
    rows = query(
        history,
        "SELECT qid, nugget, importance, found, known, probability, rank, text FROM (SELECT n.*, qid, found, known, "
        "probability, rank, t.text FROM outcomes o JOIN nuggets n ON n.id = o.nugget "
        "JOIN questions q ON q.id = n.question LEFT JOIN texts t ON t.id = o.text)",
    )
    found = {(qid, nugget): rest for qid, nugget, *rest in rows}
    for i, nugget in enumerate(collection.key.nuggets):
        importance, is_found, known, probability, rank, text = found[nugget.qid, nugget.nugget]
        response = int(old.outcome.response[i])
        assert importance == nugget.importance
        assert (bool(is_found), bool(known)) == (bool(old.outcome.found[i]), bool(old.outcome.known[i]))
        assert (
            probability is None if np.isnan(old.outcome.probability[i]) else probability == old.outcome.probability[i]
        )
        assert (rank or 0) == old.rank[i]
        assert text == (old.run.texts[response] if response >= 0 else None)
    assert any(text for *_, text in found.values())


def test_a_build_comes_back_as_the_run_that_it_was(collection, history):
    history.record(score(collection, ["old", "new"]))
    for build, name in ((1, "old"), (2, "new")):
        was, now = collection.run(name), history.run(build, collection)
        assert now.texts == was.texts
        assert (now.name, now.docids) == (name, was.docids)
        assert now.question.tolist() == was.question.tolist()
        assert now.offsets.tolist() == was.offsets.tolist()
    assert ODD in history.run(1, collection).texts
    with pytest.raises(NuggeteerError, match="has no build 3"):
        history.run(3, collection)


def test_document_ids_come_back(collect):
    collection = collect(NUGGETS, {})
    path = collection.root / "runs" / "r.jsonl"
    write_lines(path, [{"qid": "q1", "text": "x", "docid": "D 1\x00"}, {"qid": "q1", "text": "y"}])
    collection = read_collection(collection.root)
    history = History.of(collection.root)
    history.record(score(collection, ["r"]))
    assert history.run(1, collection).docids == ["D 1\x00", None]


def test_texts_that_builds_share_are_kept_once(collection, history):
    for label in "abc":
        history.record(score(collection, ["old", "new"]), label)
    distinct = {text for responses in RUNS.values() for _, text in responses}
    assert sorted(query(history, "SELECT text FROM texts")) == sorted((text,) for text in distinct)
    assert query(history, "SELECT count(*) FROM responses") == [(15,)]


def test_the_same_run_again_is_one_build_under_one_label_and_two_under_two(collection, history):
    scores = score(collection, ["old"])
    assert history.record(scores) == [RecordedRun("old", 1, True, 0)]
    assert history.record(scores) == [RecordedRun("old", 1, False, 0)]
    assert history.record(scores, "") == [RecordedRun("old", 1, False, 0)]
    assert history.record(scores, "n1") == [RecordedRun("old", 2, True, 1)]
    assert history.record(scores, "n1") == [RecordedRun("old", 2, False, 1)]
    assert history.record(score(collection, ["old"], seed=1), "n1") == [RecordedRun("old", 3, True, 2)]
    assert query(history, "SELECT count(*) FROM builds") == [(3,)]


def test_a_measure_that_was_not_asked_for_before_is_added(collection, history):
    history.record(score(collection, ["old"], ["f3"]))
    (again,) = history.record(score(collection, ["old"], ["f3", "recall"]))
    assert (again.new, again.added) == (False, ("recall",))
    assert history.measures() == ["f3", "recall"]
    assert history.record(score(collection, ["old"], ["f3", "recall"]))[0].added == ()


def test_stored_builds_scored_anew_score_as_their_files_would(collection, history):
    """What was known then stays in the file; what is known now is a new scoring, the same as of the run itself."""
    before = score(collection, ["old", "new"])
    history.record(before)
    no = {"qid": "q1", "nugget": "1", "text": RUNS["old"][0][1], "verdict": False}
    write_lines(collection.root / "judgements" / "late.jsonl", [no])
    judged = read_collection(collection.root)
    after = score(judged, ["old", "new"])
    assert history.rescore(judged) == (2, 0)
    assert history.rescore(judged) == (0, 0)
    was, now, *_ = (s for s in history.scorings("f3") if s.run == "old")
    assert was.interval == before["old"].measures["f3"]
    assert now.interval == after["old"].measures["f3"]
    assert now.interval != was.interval
    assert [s.signature for s in history.scorings("f3")] == [before.signature, after.signature] * 2


def test_a_stored_build_is_scored_as_of_the_group_it_had(collect):
    """Though the manifest may have forgotten its run: models give groups effects of their own."""
    collection = collect(NUGGETS, RUNS, judged={"old": "every"})
    manifest = collection.root / "runs.jsonl"
    write_lines(manifest, [{"run": "old", "judged": "every"}, {"run": "new", "group": "old"}])
    collection = read_collection(collection.root)
    history = History.of(collection.root)
    before = score(collection, ["new"])
    history.record(before)
    write_lines(manifest, [{"run": "old", "judged": "every"}])
    assert history.rescore(read_collection(collection.root), seed=1) == (1, 0)
    first, second = history.scorings("f3")
    assert (first.group, second.group) == ("old", "old")
    assert second.interval == score(collection, ["new"], seed=1)["new"].measures["f3"]


def test_scoring_anew_adds_measures_that_other_builds_were_scored_by(collection, history):
    history.record(score(collection, ["old"], ["f3"]))
    history.record(score(collection, ["new"], ["f3", "recall"]))
    assert history.rescore(collection) == (1, 0)
    assert history.rescore(collection) == (0, 0)
    by_recall = {s.run: s.interval for s in history.scorings("recall")}
    scores = score(collection, ["old", "new"], ["recall"])
    assert by_recall == {run.name: run.measures["recall"] for run in scores.runs}


@pytest.mark.parametrize("name", ["label", "run"])
def test_a_name_that_is_no_unicode_is_refused(collection, history, name):
    if name == "run":
        path = collection.root / "runs" / "x\udcff.jsonl"
        path.write_text('{"qid": "q1", "text": "x"}\n')
        collection = read_collection(collection.root)
    with pytest.raises(NuggeteerError, match="UTF-8"):
        history.record(score(collection, ["x\udcff" if name == "run" else "old"]), "\udcff" if name == "label" else "a")
    assert not history.path.exists()


WRITER = """
import sys
from nuggeteer.collection.folder import read_collection
from nuggeteer.history.store import History
from nuggeteer.scoring.scorer import score
root, me = sys.argv[1:]
collection = read_collection(root)
scores = score(collection, ["old", "new"])
for i in range(6):
    History.of(root).record(scores, f"{me}-{i}")
"""


@pytest.mark.slow
def test_eight_processes_that_record_at_once_lose_nothing(collection, history):
    """From the first moment, when there is no file yet."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(collection.root), str(i)], stderr=subprocess.PIPE, text=True
        )
        for i in range(8)
    ]
    assert [writer.communicate()[1] for writer in writers] == [""] * 8
    labels = {(run, f"{i}-{j}") for run in ("old", "new") for i in range(8) for j in range(6)}
    assert set(query(history, "SELECT run, label FROM builds")) == labels
    assert query(history, "SELECT count(*) FROM scorings") == [(96,)]
    assert query(history, "SELECT count(*) FROM responses") == [(48 * 5,)]
    assert query(history, "PRAGMA integrity_check") == [("ok",)]
    assert query(history, "PRAGMA foreign_key_check") == []


def test_a_log_that_another_process_removes_while_it_is_looked_at_is_no_strange_file(collection, history, monkeypatch):
    """Whoever closes the file last removes SQLite's own files. Two looks at one saw something that is no file."""
    history.record(score(collection, ["old"]))
    log, exists = Path(f"{history.path}-wal"), Path.exists
    log.touch()

    def seen_for_the_last_time(path, *more):
        found = exists(path, *more)
        if path == log:
            log.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(Path, "exists", seen_for_the_last_time)
    assert history.record(score(collection, ["new"]))[0].new


@pytest.mark.slow
def test_a_process_killed_while_it_records_leaves_the_file_as_it_was(collection, history):
    history.record(score(collection, ["old"]))
    kill = "import os\nfrom nuggeteer.history.recording import Recording\n"
    kill += "Recording._add_scoring = lambda *rest: os.kill(os.getpid(), 9)\n"
    program = WRITER.replace("for i in range(6):", f"{kill}for i in range(6):")
    done = subprocess.run([sys.executable, "-c", program, str(collection.root), "x"], check=False)
    assert done.returncode == -9
    assert [s.run for s in history.scorings("f3")] == ["old"]
    assert query(history, "SELECT count(*) FROM answers") == [(2,)]


STEP = "CREATE TABLE notes (build INTEGER, note TEXT); INSERT INTO notes SELECT id, 'moved' FROM builds"


def test_an_older_file_is_brought_up_to_date(collection, history, monkeypatch):
    history.record(score(collection, ["old"]))
    monkeypatch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, STEP])
    assert [s.run for s in history.scorings("f3")] == ["old"]
    assert query(history, "PRAGMA user_version") == [(len(database.MIGRATIONS),)]
    assert query(history, "SELECT * FROM notes") == [(1, "moved")]
    history.record(score(collection, ["new"]))
    assert query(history, "SELECT count(*) FROM notes") == [(1,)]


def test_a_migration_that_fails_changes_nothing(collection, history, monkeypatch):
    history.record(score(collection, ["old"]))
    before = query(history, "SELECT * FROM sqlite_master")
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, f"{STEP}; DROP TABLE nowhere"])
        with pytest.raises(NuggeteerError, match="no such table: nowhere"):
            history.scorings("f3")
    assert query(history, "SELECT * FROM sqlite_master") == before
    assert query(history, "PRAGMA user_version") == [(len(database.MIGRATIONS),)]
    assert [s.run for s in history.scorings("f3")] == ["old"]


def test_a_newer_file_is_refused_and_left_alone(collection, history, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, STEP])
        history.record(score(collection, ["old"]))
    before = history.path.read_bytes()
    for act in (lambda: history.scorings("f3"), lambda: history.record(score(collection, ["new"]))):
        newer = rf"history\.sqlite3: was written by a newer nuggeteer \(file version {len(database.MIGRATIONS) + 1}"
        with pytest.raises(NuggeteerError, match=newer):
            act()
    assert history.path.read_bytes() == before


def test_another_programs_file_is_refused_and_left_alone(collection, history):
    with closing(sqlite3.connect(history.path)) as db:
        db.execute("CREATE TABLE mine (x)")
        db.commit()
    before = history.path.read_bytes()
    with pytest.raises(NuggeteerError, match="another program's"):
        history.record(score(collection, ["old"]))
    assert history.path.read_bytes() == before


def text_file(path):
    path.write_text("run,score\nold,0.3\n" * 100)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def scribbled(path):
    body = bytearray(path.read_bytes())
    for page in range(2, len(body) // 4096, 2):
        body[page * 4096 : page * 4096 + 200] = b"\xa5" * 200
    path.write_bytes(body)


@pytest.mark.parametrize("damage", [text_file, cut, scribbled])
def test_a_damaged_file_is_told_and_never_written_to(collection, history, damage, capsys):
    for label in "abc":
        history.record(score(collection, ["old", "new"]), label)
    damage(history.path)
    before = history.path.read_bytes()
    folder = str(collection.root)
    for command in (["score", "old", "--record", "--label", "d"], ["history"]):
        assert main([*command, "--collection", folder]) == 2
        error = capsys.readouterr().err
        assert "history.sqlite3: is damaged" in error
        assert "move it away" in error
        assert history.path.read_bytes() == before
    history.path.rename(collection.root / "moved")
    assert main(["score", "old", "--record", "--collection", folder]) == 0


def test_a_full_disk_is_told_and_nothing_is_half_recorded(collection, history, monkeypatch):
    history.record(score(collection, ["old"]))
    connect = Database._connect

    def small(self, path, how):
        db = connect(self, path, how)
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    path = collection.root / "runs" / "long.jsonl"
    write_lines(path, [{"qid": "q1", "text": f"{i} " + "x" * 3000} for i in range(40)])
    scores = score(read_collection(collection.root), ["new", "long"])
    with monkeypatch.context() as patch:
        patch.setattr(Database, "_connect", small)
        with pytest.raises(NuggeteerError, match=r"the disk is full; nothing was recorded"):
            history.record(scores)
    assert [s.run for s in history.scorings("f3")] == ["old"]
    assert [one.new for one in history.record(scores)] == [True, True]


def test_a_lock_that_nobody_gives_back_is_told(collection, history, monkeypatch):
    history.record(score(collection, ["old"]))
    monkeypatch.setattr(database, "LOCK_TIMEOUT", 0.1)
    with closing(sqlite3.connect(history.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NuggeteerError, match="another process has kept it locked"):
            history.record(score(collection, ["new"]))
        assert [s.run for s in history.scorings("f3")] == ["old"]  # readers need not wait


@pytest.fixture
def unprivileged():
    """Not root, who may write everywhere."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


@pytest.fixture
def closed(collection):
    """A copy of the collection with one recorded build, in a folder that nobody may write to."""
    folder = Path(tempfile.mkdtemp())
    root = folder / "closed"
    shutil.copytree(collection.root, root)
    History.of(root).record(score(read_collection(root), ["old"]))
    for path in (root / "history.sqlite3", *root.rglob("*.jsonl")):
        path.chmod(0o444)
    for path in (root / "runs", root / "judgements", root):
        path.chmod(0o555)
    folder.chmod(0o755)
    yield root
    root.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tonight(closed):
    """The scores of another build, made before the rights are given up: not everybody may read the project."""
    return score(read_collection(closed), ["new"])


def test_a_folder_that_is_read_only_can_be_read_and_not_written(closed, tonight, unprivileged):
    history = History.of(closed)
    before = history.path.read_bytes()
    assert [s.run for s in history.scorings("f3")] == ["old"]
    with pytest.raises(NuggeteerError, match=r"history\.sqlite3: cannot be opened or written; check the permissions"):
        history.record(tonight)
    assert history.path.read_bytes() == before


def test_a_read_only_folder_with_a_log_that_nobody_merged_can_be_read(closed, unprivileged):
    """As on a backup or a mount: the build is in the write-ahead log only, and nothing can be written beside it."""
    path = closed / "history.sqlite3"
    os.seteuid(os.getuid())
    closed.chmod(0o755)
    path.chmod(0o644)
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM builds").fetchone()  # keeps the log from being merged
        History.of(closed).record(score(read_collection(closed), ["new"]))
        files = {name: (closed / name).read_bytes() for name in ("history.sqlite3", "history.sqlite3-wal")}
    for file in closed.glob("history.sqlite3*"):
        file.unlink()
    for name, content in files.items():
        (closed / name).write_bytes(content)
        (closed / name).chmod(0o444)
    closed.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)
    history = History.of(closed)
    assert [s.run for s in history.scorings("f3")] == ["old", "new"]
    assert history.run(2, read_collection(closed)).texts == [text for _, text in RUNS["new"]]
    assert {name: (closed / name).read_bytes() for name in files} == files


@pytest.mark.parametrize("failure", [KeyboardInterrupt, sqlite3.OperationalError])
def test_a_first_record_that_fails_leaves_no_file(collection, history, monkeypatch, failure):
    def stop(*rest):
        raise failure("stopped")

    before = sorted(collection.root.rglob("*"))
    scores = score(collection, ["old"])
    before = sorted(collection.root.rglob("*"))
    with monkeypatch.context() as patch:
        patch.setattr(Recording, "_add_scoring", stop)
        with pytest.raises((KeyboardInterrupt, NuggeteerError)):
            history.record(scores)
    assert sorted(collection.root.rglob("*")) == before
    assert history.record(scores)[0].new


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a small disk")
def test_a_full_disk_is_called_that(collection, tmp_path):
    """A real one, in which the first record and a later one fail."""
    small = tmp_path / "small"
    small.mkdir()
    program = (
        "import os, shutil, sys\n"
        "from pathlib import Path\n"
        "from nuggeteer.cli.main import main\n"
        "source, small = map(Path, sys.argv[1:])\n"
        "shutil.copytree(source, small / 'c')\n"
        "def fill(leave):\n"
        "    with open(small / 'filler', 'wb') as file:\n"
        "        file.truncate(0); free = os.statvfs(small); file.write(bytes(free.f_bavail * free.f_frsize - leave))\n"
        "record = ['score', 'old', '--record', '--collection', str(small / 'c')]\n"
        "assert main(record[:1] + record[3:]) == 0\n"
        "for leave in (0, 8192, 40960):\n"
        "    fill(leave); assert main(record) == 2; assert not list((small / 'c').glob('*history*'))\n"
        "(small / 'filler').unlink(); assert main(record) == 0\n"
        "for leave in (0, 4096):\n"
        "    fill(leave); assert main([*record, '--label', str(leave)]) == 2\n"
        "(small / 'filler').unlink(); assert main([*record, '--label', 'x']) == 0\n"
        "assert main(['history', '--collection', str(small / 'c')]) == 0\n"
    )
    mount = 'mount -t tmpfs -o size=1M none "$1" && exec "$2" -c "$3" "$4" "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(small), sys.executable]
    done = subprocess.run([*command, program, str(collection.root)], capture_output=True, text=True, check=False)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("nuggeteer: ")]
    assert len(told) == 5
    assert all("history.sqlite3: the disk is full; nothing was recorded; make room" in line for line in told), told


def test_a_history_in_a_folder_with_an_odd_name(collection, tmp_path):
    root = tmp_path / "100% ?a#b &c=d\udcff é"
    shutil.copytree(collection.root, root)
    history = History.of(root)
    history.record(score(read_collection(root), ["old"]))
    assert sorted(p.name for p in root.iterdir() if p.is_file()) == sorted(
        [*(p.name for p in collection.root.iterdir() if p.is_file()), "history.sqlite3"]
    )
    assert [s.run for s in history.scorings("f3")] == ["old"]


@pytest.fixture
def here(copy_of_sample, tmp_path, monkeypatch):
    folder = copy_of_sample(tmp_path / "here")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.mark.slow
def test_the_commands_record_and_show(here, capsys):
    assert main(["history"]) == 2
    assert "no build is recorded yet; nuggeteer nightly RUN keeps one" in capsys.readouterr().err
    assert main(["score", "build-101", "--label", "x"]) == 2
    assert "add --record" in capsys.readouterr().err
    for label, build in enumerate(("build-101", "build-102", "build-103")):
        assert main(["score", build, "--record", "--label", f"n{label}"]) == 0
    capsys.readouterr()
    assert main(["score", "build-103", "--record", "--label", "n2", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["recorded"] == [
        {"run": "build-103", "build": 3, "new": False, "copies": 0}
    ]
    assert main(["history"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert all(name in out for name in ("build-101", "n0", "Lost and not found again", "3 builds so far are too few"))
    assert main(["history", "--json", "-"]) == 0
    (trend,) = json.loads(capsys.readouterr().out)["trends"]
    assert [build["label"] for build in trend["builds"]] == ["n0", "n1", "n2"]
    assert main(["score", "build-102", "--json", "-"]) == 0
    f3 = json.loads(capsys.readouterr().out)["runs"][0]["f3"]
    assert {key: trend["builds"][1][key] for key in f3} == f3
    assert main(["history", "--nugget", "def-01/1", "--json", "-"]) == 0
    (story,) = json.loads(capsys.readouterr().out)["nuggets"]
    gained = [{"qid": "def-01", "nugget": "1", "importance": "vital"} in build["gained"] for build in trend["builds"]]
    found = [build["found"] for build in story["builds"]]
    assert gained == [False] + [now and not before for before, now in pairwise(found)]


@pytest.mark.slow
def test_after_a_judgement_history_scores_again_by_itself_and_keeps_what_was_recorded(here, capsys):
    for build in ("build-101", "build-102"):
        main(["score", build, "--record"])
    text = json.loads((here / "runs" / "build-101.jsonl").read_text().splitlines()[0])
    write_lines(here / "judgements" / "me.jsonl", [{**text, "nugget": "3", "verdict": True}])
    main(["score", "build-103", "--record"])
    before = query(History.of(here), "SELECT * FROM scores")
    capsys.readouterr()
    assert main(["history"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 builds scored again")
    assert "≠" not in out
    assert set(before) < set(query(History.of(here), "SELECT * FROM scores"))
    assert main(["history"]) == 0
    assert "scored again" not in capsys.readouterr().out


@pytest.mark.slow
def test_without_time_history_says_which_builds_do_not_compare(here, capsys, monkeypatch):
    for build in ("build-101", "build-102"):
        main(["score", build, "--record"])
    text = json.loads((here / "runs" / "build-101.jsonl").read_text().splitlines()[0])
    write_lines(here / "judgements" / "me.jsonl", [{**text, "nugget": "3", "verdict": True}])
    main(["score", "build-103", "--record"])
    capsys.readouterr()
    monkeypatch.setattr("nuggeteer.history.trend.SOON", 0.0)
    assert main(["history"]) == 0
    out, err = capsys.readouterr()
    assert "≠ 2 builds not comparable with the latest: other judgements" in " ".join(out.split())
    assert "2 builds must still be scored again; nuggeteer history --rescore does it" in err


@pytest.mark.slow
def test_the_recorded_decision_stays_and_is_said_beside_todays(here, capsys, tmp_path, few_pairs):
    """Also about the run that it was about then, whatever was recorded in between."""
    (here / "runs" / "build-101.jsonl").rename(here / "runs" / "accepted.jsonl")
    night = ["nightly", "build-103", "--against", "build-102"]
    assert main([*night, "--label", "bad"]) == 0
    assert main(["nightly", "build-102", "--against", "accepted"]) == 0
    (today,) = query(History.of(here), "SELECT decision FROM rulings WHERE build = 1")[0]
    then, basis = ("FAIL", "read") if today != "FAIL" else ("PASS", "guessed")
    title = "PASS (guessed)" if basis == "guessed" else then
    with sqlite3.connect(History.of(here).path) as db:
        change = "decision = ?, basis = ?, reason = 'So it was.', signature = 'then'"
        db.execute(f"UPDATE rulings SET {change} WHERE id = 1", (then, basis))
    db.close()

    def said(other):
        """What `history` and the site say: what was recorded, against what, why, and what is otherwise today."""
        capsys.readouterr()
        assert main(["history"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert f"{title} build-103 (bad) against build-102: So it was." in out
        site = Path(tempfile.mkdtemp(dir=tmp_path))
        assert main(["report", "--site", str(site)]) == 0
        index, page = (html.unescape((site / f"{name}.html").read_text("utf-8")) for name in ("index", "build-1"))
        assert f"</span> {title}</h2>" in page
        assert f'</span> {title}<span class="context"> against build-102: So it was.' in index
        assert all(other in text for text in (out, index, page))

    said(f"With today's verdicts, build-103 (bad) is {today}")
    (here / "nuggeteer.toml").write_text("[nightly]\nfail_if_worse = 0.9\nmax_lost_vital = 0\n")
    said("Under today's gates, build-103 (bad) would be ")
    said("(new: F(3) not worse by more than 0.9; new: at most 0 vital nuggets lost; no longer: F(3) not worse by more ")
    (first, second) = History.of(here).scorings("f3")
    assert (first.ruling.against, second.ruling.against) == ("build-102", "accepted")


@pytest.mark.slow
def test_the_first_night_has_the_same_words_everywhere(here, capsys, tmp_path, few_pairs):
    assert main(["nightly", "build-101", "--site", str(tmp_path / "site")]) == 0
    assert main(["nightly", "build-102", "--site", str(tmp_path / "site")]) == 0
    capsys.readouterr()
    words = "This is the first night, and there is nothing to compare it with."
    assert main(["history"]) == 0
    assert words in " ".join(capsys.readouterr().out.split())
    assert words in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_hostile_labels_and_texts_reach_the_terminal_as_visible_characters_only(collect, capsys):
    text = "\x1b]0;owned\x07\x1b[2J [blink]:smile: \u202eevil reactor built first nuclear"
    collection = collect(NUGGETS, {"r": [("q1", text)], "s": [("q1", text)]}, toml=FIXED)
    folder = str(collection.root)
    for run in "rs":
        assert main(["score", run, "--record", "--label", f"\x1b[31m{run}\n[bold]", "--collection", folder]) == 0
    assert main(["history", "--collection", folder]) == 0
    assert main(["history", "--nugget", "q1/1", "--collection", folder]) == 0
    out = capsys.readouterr().out
    assert "[blink]:smile: \\u202eevil" in " ".join(out.split())
    assert all(char == "\n" or char.isprintable() for char in out)


def test_the_documented_tables_are_the_tables(collection, history):
    """docs/reference/files.md names each table and column."""
    history.record(score(collection, ["old"]))
    text = (ROOT / "docs/reference/files.md").read_text(encoding="utf-8")
    section = text[text.index("### The history") :]
    for (table,) in query(history, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        line = next(line for line in section.splitlines() if line.startswith(f"| `{table}` "))
        assert all(f"`{column}`" in line for _, column, *_ in query(history, f"PRAGMA table_info({table})"))
