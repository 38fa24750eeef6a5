"""The ledger: no verdict that was acknowledged is lost, whatever befalls the process, the file or the disk."""

from __future__ import annotations

import errno
import json
import math
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import FileIO
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.collection import ledger as module
from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger, append_line, assessor_name, default_assessor
from nuggeteer.collection.log import read_log
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats import append as appending
from nuggeteer.formats.canonical import Entry, read_folder, unretracted
from nuggeteer.records import Judgement, Retraction
from tests.conftest import write_lines

TEXT = "Er baute 1942 in Chicago einen Reaktor – «Pile-1» – aus Graphit 🧱."


@pytest.fixture
def folder(tmp_path):
    """A collection without a judgement; its folder may be given to a child."""
    write_lines(tmp_path / "nuggets.jsonl", [{"qid": "q1", "nugget": "1", "text": "a fact", "importance": "vital"}])
    write_lines(tmp_path / "runs" / "r.jsonl", [{"qid": "q1", "text": TEXT}])
    return tmp_path


def verdict(number=0, yes=True, **said):
    return Judgement("q1", "1", f"{TEXT} {number}" if number else TEXT, yes, run="r", **said)


def numbers(folder):
    """What stands of the verdicts above."""
    return [int(judgement.text.split()[-1]) for judgement in read_collection(folder).judgements]


def warnings(folder):
    """What `check` says of judgements, but that their texts are in no run; nothing is worse than a warning."""
    problems = [problem for problem in check(folder) if "judged texts are in none" not in problem.what]
    assert all(problem.severity == "warning" for problem in problems)
    return [problem.what for problem in problems]


# What is written.


def test_a_verdict_comes_back_as_it_is_in_the_file_with_who_and_when(folder):
    before = datetime.now(UTC)
    guess = {"probability": np.float64(0.25), "score": np.float32(0.5)}
    given_ = verdict(reason="says so", docid="d1", span=[0, 2], extra={"guess": guess, "source": "judge"})
    written = Ledger(folder, "ann").append(given_)
    (line,) = (folder / "judgements" / "ann.jsonl").read_text(encoding="utf-8").splitlines()
    said = json.loads(line)
    assert list(said)[:4] == ["qid", "nugget", "verdict", "text"]
    assert said == {
        **{"qid": "q1", "nugget": "1", "verdict": True, "text": TEXT, "docid": "d1", "run": "r", "assessor": "ann"},
        **{"at": written.at, "reason": "says so", "span": [0, 2], "tool": "nuggeteer 0.1.0"},
        **{"guess": {"probability": 0.25, "score": 0.5}, "source": "judge"},
    }
    assert len(written.at) == len("2026-01-31T09:30:00.000000Z")
    assert before <= datetime.fromisoformat(written.at) <= datetime.now(UTC)
    assert read_collection(folder).judgements == (written,)
    assert check(folder) == []


def test_several_verdicts_are_written_at_once_or_not_at_all(folder):
    ledger = Ledger(folder, "ann")
    ledger.extend([verdict(1), verdict(2)])
    content = ledger.path.read_bytes()
    with pytest.raises(NuggeteerError, match="not for the ledger of 'ann'"):
        ledger.extend([verdict(3), verdict(4, assessor="bob")])
    assert ledger.path.read_bytes() == content
    assert ledger.extend([]) == []
    assert numbers(folder) == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (verdict(yes=True, partial=True), "a yes cannot be partial"),
        (Judgement("q1 ", "1", TEXT, True), "'qid' is 'q1 ', which is not a valid id"),
        (Judgement("q1", "1", "\ud800", True), "cannot be written"),
        (verdict(extra={"verdict": False}), "verdict: has a meaning of its own"),
        (verdict(extra={"retracted": True}), "retracted: has a meaning of its own"),
        (verdict(extra={"at": [1]}), "at: has a meaning of its own"),
        (verdict(extra={"x": object()}), "cannot be written"),
        (verdict(reason="x" * 10_000_000), "longer than 10,000,000 bytes"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(folder, wrong, says):
    with pytest.raises(NuggeteerError, match=says):
        Ledger(folder, "ann").append(wrong)
    assert not list((folder / "judgements").glob("*.jsonl"))


def test_what_is_undefined_is_null(folder):
    written = Ledger(folder, "ann").append(verdict(extra={"guess": {"probability": math.nan}}))
    assert written.extra["guess"] == {"probability": None}


def test_any_other_line_is_appended_as_safely(folder):
    append_line(folder / "proposals.jsonl", {"text": "a"})
    append_line(folder / "proposals.jsonl", {"text": "b"})
    assert (folder / "proposals.jsonl").read_text() == '{"text":"a"}\n{"text":"b"}\n'


# Taking back.


def test_a_retraction_undoes_and_a_new_verdict_counts(folder):
    ledger = Ledger(folder, "ann")
    first = ledger.append(verdict(1))
    ledger.retract(first, "a slip")
    assert numbers(folder) == []
    assert ledger.append(verdict(1, yes=False)).verdict is False
    assert [(j.verdict, j.assessor) for j in read_collection(folder).judgements] == [(False, "ann")]
    assert warnings(folder) == []
    assert len(ledger.path.read_bytes().splitlines()) == 3


def test_a_retraction_is_of_that_assessor_nugget_and_text_only(folder):
    ledger = Ledger(folder, "ann")
    first = ledger.append(verdict(1))
    ledger.append(verdict(2))
    Ledger(folder, "bob").append(verdict(1))
    ledger.retract(Judgement("q1", "1", first.text.upper() + " ", True, assessor="ann"))
    assert {(j.assessor, j.text[-1]) for j in read_collection(folder).judgements} == {("ann", "2"), ("bob", "1")}


@pytest.mark.parametrize("whose", ["bob", None])
def test_nobody_takes_back_what_another_said(folder, whose):
    with pytest.raises(NuggeteerError, match="'ann' cannot retract"):
        Ledger(folder, "ann").retract(verdict(assessor=whose))
    assert not (folder / "judgements").exists()


def test_a_clock_that_goes_backwards_neither_saves_nor_kills_a_verdict(folder, monkeypatch):
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    clock = iter([noon, *(noon - timedelta(hours=hour) for hour in range(1, 5))])
    monkeypatch.setattr(module, "_now", lambda: next(clock))
    ledger = Ledger(folder, "ann")
    ledger.retract(ledger.append(verdict(1)))
    assert numbers(folder) == []
    second = ledger.append(verdict(1))
    assert numbers(folder) == [1]
    ledger.retract(Judgement("q1", "1", second.text, True, assessor="ann"))  # says not when it was given
    assert numbers(folder) == []


def test_a_verdict_with_a_time_from_before_its_retraction_is_refused_not_written_in_vain(folder):
    ledger = Ledger(folder, "ann")
    first = ledger.append(verdict(1))
    ledger.retract(first)
    content = ledger.path.read_bytes()
    with pytest.raises(NuggeteerError, match="was retracted later"):
        ledger.append(first)
    assert ledger.path.read_bytes() == content


PLACES = ("alpha", "beta")
acts = st.lists(
    st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from(PLACES), st.sampled_from([True, False, None])),
    max_size=12,
)


@given(acts, st.randoms(use_true_random=False))
def test_what_stands_does_not_depend_on_the_order_of_files_and_lines(acts, rng):
    """Against a naive replay in the order of time: a set of what each assessor has said."""
    entries, said = [], {}
    for second, (who, text, what) in enumerate(acts):
        at = f"2026-01-01T00:00:{second:02d}+00:00"
        if what is None:
            said[who, text] = set()
            record = Retraction("q", "1", rng.choice([text, text.upper()]), who, at)
        else:
            said.setdefault((who, text), set()).add(at)
            record = Judgement("q", "1", f" {text}", what, assessor=who, at=at)
        entries.append(Entry("f", second, record))
    rng.shuffle(entries)
    expected = {(who, at) for (who, _), times in said.items() for at in times}
    found = [(verdict.record.assessor, verdict.record.at) for verdict in unretracted(entries)]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_a_retraction_undoes_what_is_older_and_nothing_of_the_same_time():
    back = Entry("b", 1, Retraction("q", "1", "t", "ann", "2000-01-02"))
    given = [Entry("a", day, Judgement("q", "1", "t", True, assessor="ann", at=f"2000-01-0{day}")) for day in (1, 2, 3)]
    assert unretracted([*given, back]) == given[1:]


@pytest.mark.parametrize("at", [None, "some time ago"])
def test_a_verdict_without_a_time_is_from_before_every_retraction(at):
    back = Entry("b", 1, Retraction("q", "1", "t", "ann", "2000-01-01"))
    assert unretracted([back, Entry("a", 1, Judgement("q", "1", "t", True, assessor="ann", at=at))]) == []


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+23:59", "8999-12-31T23:59:59Z"])
def test_a_verdict_from_the_end_of_the_calendar_can_be_taken_back_and_given_again(folder, at):
    """Where there is no later time, it counts as one without a time."""
    ledger = Ledger(folder, "ann")
    first = ledger.append(verdict(1, at=at))
    ledger.retract(first)
    assert numbers(folder) == []
    ledger.append(verdict(1))
    assert numbers(folder) == [1]
    assert len(read_log(folder).lines) == 3


def test_a_line_that_a_merge_left_twice_counts_once(folder):
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    ledger.retract(ledger.append(verdict(2)))
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content + content)
    shutil.copy(ledger.path, ledger.path.with_name("copy.jsonl"))
    assert numbers(folder) == [1]
    assert warnings(folder) == []
    assert len(read_folder(folder / "judgements", [])) == 3


# Names.


@pytest.mark.parametrize("name", ["a1", "Ann", "ann.lee+qa@example.org", "Zoë", "O_2", "Ann Lee", "x" * 100])
def test_good_names(folder, name):
    Ledger(folder, name).append(verdict())
    assert [path.name for path in (folder / "judgements").glob("*.jsonl")] == [f"{name}.jsonl"]
    assert warnings(folder) == []


BAD_NAMES = ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", ".git", "-x", "a\nb", "a\x1b[31m", "a\x00", "x" * 101]
BAD_NAMES += ["a\u202eb", "con", "NUL", "com1.x", "a.", "a ", " a", "Zoe\u0308", "a:b", "*", "\ud800", "語" * 90]


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_name_that_is_no_safe_file_name_is_refused_and_made_safe_for_a_login(folder, name, monkeypatch):
    with pytest.raises(NuggeteerError) as caught:
        Ledger(folder, name)
    assert "cannot be an assessor's name" in str(caught.value)
    monkeypatch.setattr(module.getpass, "getuser", lambda: name)
    monkeypatch.delenv("NUGGETEER_ASSESSOR", raising=False)
    if any(char.isalnum() for char in name):
        assert assessor_name(default_assessor())
    else:
        with pytest.raises(NuggeteerError, match="--assessor"):
            default_assessor()


def test_the_environment_names_the_assessor_before_the_login_does(monkeypatch):
    monkeypatch.setattr(module.getpass, "getuser", lambda: "CORP\\ann")
    monkeypatch.setenv("NUGGETEER_ASSESSOR", "")
    assert default_assessor() == "CORP-ann"
    monkeypatch.setenv("NUGGETEER_ASSESSOR", "bob")
    assert default_assessor() == "bob"


def test_who_has_no_name_is_asked_for_one(monkeypatch):
    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr(module.getpass, "getuser", nobody)
    monkeypatch.delenv("NUGGETEER_ASSESSOR", raising=False)
    with pytest.raises(NuggeteerError, match="--assessor NAME"):
        default_assessor()


def test_two_names_that_are_one_file_on_many_a_disk_are_not_both_taken(folder):
    Ledger(folder, "Ann").append(verdict())
    with pytest.raises(NuggeteerError, match="choose 'Ann'"):
        Ledger(folder, "ANN")
    Ledger(folder, "Ann").append(verdict(1))


# Faults.

CHILD = """
import os, sys
from nuggeteer.collection.ledger import Ledger
from nuggeteer.records import Judgement
folder, who, first, last, text = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
ledger = Ledger(folder, who)
for number in range(first, last):
    ledger.append(Judgement("q1", "1", f"{text} {number}", True, run="r"))
    os.write(1, b"%d\\n" % number)
"""


def child(folder, who, first, last, text=TEXT, program=CHILD):
    command = [sys.executable, "-c", program, str(folder), who, str(first), str(last), text]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_kill_9_at_random_moments_of_a_thousand_appends_loses_no_acknowledged_verdict(folder):
    # What a process has written outlives it without a flush, which takes the time of a thousand appends; it is for the
    # plug, and tested below.
    # A child waits at the end, so that it is there to be killed, however late that comes.
    program = f"import os, signal\nos.fsync = lambda descriptor: None\n{CHILD}if last < 1000: signal.pause()\n"
    rng = random.Random(9)
    acknowledged: list[int] = []
    kills = 0
    while (first := max(acknowledged, default=-1) + 1) < 1000:
        stop = rng.randrange(40, 250)
        last = min(1000, first + stop + 20)
        with child(folder, "ann", first, last, program=program) as process:
            for line in process.stdout:
                acknowledged.append(int(line))
                if last < 1000 and int(line) == first + stop:
                    time.sleep(rng.random() / 500)
                    process.kill()
                    kills += 1
                    break
            acknowledged += map(int, process.stdout.read().split(b"\n")[:-1])
            assert process.wait() == (-signal.SIGKILL if last < 1000 else 0), process.stderr.read()
        kept = set(numbers(folder))
        assert kept >= set(acknowledged)
        assert len(kept) <= len(acknowledged) + kills
        assert all("torn" in what for what in warnings(folder))
    assert kills >= 3
    assert set(numbers(folder)) == set(range(1000))


STEPS = {
    "before the write": ("FileIO.write = lambda file, data: die()", False),
    "in the middle of the write": ("FileIO.write = lambda file, data: (write(file, data[:100]), die())", False),
    "between write and flush": ("os.fsync = lambda descriptor: die()", True),
    "between flush and return": ("os.close = lambda descriptor: die()", True),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_kill_9_at_each_step_of_an_append(folder, step):
    """Every verdict from before is there, and the file takes the next one."""
    Ledger(folder, "ann").append(verdict(7))
    patch, there = STEPS[step]
    dying = (
        "import os, signal\nfrom nuggeteer.formats import append\n"
        "write = append.FileIO.write\n"
        "class FileIO(append.FileIO): pass\n"
        "append.FileIO = FileIO\n"
        f"die = lambda: os.kill(os.getpid(), signal.SIGKILL)\n{patch}\n"
    )
    if "close" in patch:
        dying = dying.replace("os.close = lambda descriptor: die()", "append._is_named = lambda file, path: die()")
        dying = dying.replace("append._is_named = ", "asked = []\nnamed = append._is_named\nappend._is_named = ")
        dying = dying.replace(
            "lambda file, path: die()", "lambda f, p: die() if asked else (asked.append(1), named(f, p))[1]"
        )
    with child(folder, "ann", 8, 9, program=dying + CHILD) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (-signal.SIGKILL, b""), err
    assert numbers(folder) == ([7, 8] if there else [7])
    told = warnings(folder)
    assert ["torn" in what for what in told] == ([True] if "middle" in step else [])
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(9))
    assert numbers(folder) == ([7, 8, 9] if there else [7, 9])
    assert len(ledger.problems) == len(told)


def test_a_verdict_is_flushed_and_so_is_the_folder_of_a_new_file_before_it_is_acknowledged(folder, monkeypatch):
    calls = []
    real_write, real_sync = FileIO.write, os.fsync

    class Noted(FileIO):
        def write(self, data):
            calls.append("write")
            return real_write(self, data)

    def fsync(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    monkeypatch.setattr(appending, "FileIO", Noted)
    monkeypatch.setattr(os, "fsync", fsync)
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    assert calls == ["folder", "write", "file", "folder"]  # the first is that of the new folder
    calls.clear()
    ledger.extend([verdict(2), verdict(3)])
    assert calls == ["write", "file"]
    calls.clear()
    ledger.path.write_bytes(ledger.path.read_bytes() + b'{"qid')
    ledger.append(verdict(4))
    assert calls == ["write", "file", "folder", "write", "file"]  # aside first, then out of the ledger


@pytest.mark.slow
def test_a_last_line_torn_at_any_byte_is_set_aside_whole_and_told(folder, monkeypatch):
    """All others stay; a line that lacks but its end is kept."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # it takes the time of a thousand appends
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    first = ledger.path.read_bytes()
    ledger.append(verdict(2))
    second = ledger.path.read_bytes()[len(first) :]
    for cut in range(1, len(second)):
        whole = cut == len(second) - 1
        ledger.path.write_bytes(first + second[:cut])
        told = warnings(folder)
        assert ["the last line is torn" in what for what in told] == [] if whole else [True]
        assert numbers(folder) == ([1, 2] if whole else [1])
        fresh = Ledger(folder, "ann")
        fresh.append(verdict(3))
        assert numbers(folder) == ([1, 2, 3] if whole else [1, 3])
        aside = list((folder / "judgements").glob("*torn*"))
        assert [path.read_bytes() for path in aside] == ([] if whole else [second[:cut]])
        assert ["a torn line" in what for what in warnings(folder)] == [True] * len(aside)
        for path, problem in zip(aside, fresh.problems, strict=True):
            assert path.name in problem.what
            path.unlink()


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        (b"", b""),
        (b"  ", b""),
        (b'{"a": 1}', b""),
        (b'\xef\xbb\xbf{"a": 1}', b""),
        (b'{"a": 1}\r', b""),
        (b'{"a": 1}\n\x00\x00\x00', b"\x00\x00\x00"),
        (b'{"a": 1}\n12', b"12"),
        (b'{"a": "\xc3', b'{"a": "\xc3'),
        (b'{"a": \n', b""),
    ],
)
def test_what_a_torn_line_is(content, rest):
    assert appending.torn(content) == rest


@pytest.mark.slow
def test_8_processes_at_once_interleave_whole_lines_and_lose_none(folder):
    """Four assessors, two processes each, with lines larger than a pipe's or a page's worth."""
    each, long = 20, "x" * 20_000
    crowd = [child(folder, f"a{n % 4}", 1000 * n, 1000 * n + each, long) for n in range(8)]
    for process in crowd:
        with process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert sorted(numbers(folder)) == [1000 * n + i for n in range(8) for i in range(each)]
    assert warnings(folder) == []
    assert sorted(path.name for path in (folder / "judgements").glob("*.jsonl")) == [f"a{n}.jsonl" for n in range(4)]
    for path in (folder / "judgements").glob("*.jsonl"):
        lines = path.read_text().splitlines()
        times = [json.loads(line)["at"] for line in lines]
        assert len(times) == 2 * each
        assert times == sorted(times)


def test_reading_waits_for_the_end_of_a_line_that_is_being_written(folder, monkeypatch):
    """A reader in the middle of a write would see a torn line."""
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    seen, waits = [], threading.Event()
    reader = threading.Thread(target=lambda: seen.append(warnings(folder) or numbers(folder)))

    def sleep(seconds):
        waits.set()
        time.sleep(seconds)

    class Slow(FileIO):
        def write(self, data):
            super().write(data[:50])
            reader.start()
            assert waits.wait(60)
            return 50 + super().write(data[50:])

    monkeypatch.setattr(appending, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    monkeypatch.setattr(appending, "READERS_PATIENCE", 60.0)
    monkeypatch.setattr(appending, "FileIO", Slow)
    ledger.append(verdict(2))
    reader.join()
    assert seen == [[1, 2]]


@pytest.mark.slow
def test_reading_does_not_wait_for_ever(folder):
    import fcntl

    path = folder / "judgements" / "ann.jsonl"
    Ledger(folder, "ann").append(verdict(1))
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert numbers(folder) == [1]


@contextmanager
def files_of_at_most(size):
    """The kernel writes what fits, then says EFBIG: a disk that is full, for this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("there", [True, False], ids=["a file", "no file yet"])
def test_a_full_disk_leaves_the_file_as_it_was_wherever_it_ends(folder, there):
    ledger = Ledger(folder, "ann")
    if there:
        ledger.append(verdict(1))
    before = ledger.path.read_bytes() if there else b""
    length = len(before) if there else 200
    for room in range(0, length, 17):
        with files_of_at_most(len(before) + room), pytest.raises(InputError) as caught:
            ledger.append(verdict(2))
        why = "No space left on device" if room else "File too large"
        assert f"nothing was written: {why}; the file is unchanged; make room" in str(caught.value)
        assert str(ledger.path) in str(caught.value)
        assert (ledger.path.read_bytes() if ledger.path.exists() else b"") == before
        assert ledger.path.exists() == there
        assert warnings(folder) == []
    ledger.append(verdict(2))
    assert numbers(folder) == ([1, 2] if there else [2])


def failing(error, after=0):
    """A system call that fails from some call on."""
    calls = []

    def fail(*_):
        calls.append(1)
        if len(calls) > after:
            raise OSError(error, os.strerror(error))

    return fail


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("a short write", "No space left on device; the file is unchanged; make room"),
        ("a flush that fails for lack of room", "No space left on device; the file is unchanged; make room"),
        ("a flush that fails", "Input/output error; the file is unchanged; try again"),
        ("an interrupt", ""),
    ],
)
def test_a_write_that_fails_in_any_way_leaves_the_file_as_it_was(folder, monkeypatch, fault, says):
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    before = ledger.path.read_bytes()

    class Short(FileIO):
        def write(self, data):
            return super().write(data[:50])

    with monkeypatch.context() as patch:
        if fault == "a short write":
            patch.setattr(appending, "FileIO", Short)
        else:
            real, calls = os.fsync, []

            def fsync(descriptor):
                calls.append(1)
                if len(calls) > 1:
                    return real(descriptor)
                if "interrupt" in fault:
                    raise KeyboardInterrupt
                number = errno.ENOSPC if "room" in fault else errno.EIO
                raise OSError(number, os.strerror(number))

            patch.setattr(os, "fsync", fsync)
        with pytest.raises(KeyboardInterrupt if "interrupt" in fault else InputError) as caught:
            ledger.append(verdict(2))
    assert says in str(caught.value)
    assert ledger.path.read_bytes() == before
    assert warnings(folder) == []
    ledger.append(verdict(3))
    assert numbers(folder) == [1, 3]


def test_where_even_cutting_back_fails_it_says_so(folder, monkeypatch):
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))

    class Broken(FileIO):
        def write(self, data):
            return super().write(data[:50])

        def truncate(self, size=None):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(appending, "FileIO", Broken)
        with pytest.raises(InputError, match="and so did removing the incomplete line"):
            ledger.append(verdict(2))
    assert "the last line is torn" in warnings(folder)[0]
    assert numbers(folder) == [1]


def test_a_torn_line_that_cannot_be_set_aside_stays(folder):
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    torn = ledger.path.read_bytes() + b'{"qid": "q1", "nugget": "1", "text": "x'
    ledger.path.write_bytes(torn)
    with files_of_at_most(20), pytest.raises(InputError, match="nothing was written"):
        ledger.append(verdict(2))
    assert ledger.path.read_bytes() == torn
    assert not list((folder / "judgements").glob("*torn*"))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_file_that_may_not_be_written_says_so(folder, monkeypatch, number):
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    before = ledger.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing(number))
        with pytest.raises(InputError) as caught:
            ledger.append(verdict(2))
    assert str(caught.value) == (
        f"{ledger.path}: nothing was written: {os.strerror(number)}; "
        "the file is unchanged; make it and its folder writable and try again"
    )
    assert ledger.path.read_bytes() == before


@contextmanager
def immutable(path):
    """So that not even root may write it; skips where the file system knows no such thing."""
    if (
        not shutil.which("chattr")
        or subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode
    ):
        pytest.skip("no immutable files here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.parametrize("what", ["the file", "the folder"])
def test_an_immutable_file_or_folder_says_so_and_stays(folder, what):
    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    before = ledger.path.read_bytes()
    blocked = ledger if what == "the file" else Ledger(folder, "bob")
    says = pytest.raises(InputError, match="nothing was written: Operation not permitted; the file is unchanged")
    with immutable(ledger.path if what == "the file" else ledger.path.parent), says:
        blocked.append(verdict(2))
    assert ledger.path.read_bytes() == before
    assert numbers(folder) == [1]
    assert warnings(folder) == []


@pytest.mark.parametrize("what", ["a link", "a pipe", "a folder", "a folder that is a file", "no collection"])
def test_what_is_no_file_is_not_written_to(folder, tmp_path_factory, what):
    ledger = Ledger(folder, "ann")
    other = tmp_path_factory.mktemp("other") / "precious"
    other.write_text("precious")
    if what == "no collection":
        ledger = Ledger(folder / "nowhere", "ann")
    elif what == "a folder that is a file":
        ledger.path.parent.write_text("")
    else:
        ledger.path.parent.mkdir()
        {"a link": lambda p: p.symlink_to(other), "a pipe": os.mkfifo, "a folder": os.mkdir}[what](ledger.path)
    with pytest.raises(InputError) as caught:
        ledger.append(verdict())
    assert str(ledger.path) in str(caught.value)
    says = {
        "a link": "this is a link",
        "a pipe": "not a regular file",
        "no collection": "name the folder of a collection",
    }
    assert says.get(what, "nothing was written") in str(caught.value)
    assert other.read_text() == "precious"


def test_a_lock_that_is_never_let_go_is_told_and_nothing_written(folder, monkeypatch):
    import fcntl

    ledger = Ledger(folder, "ann")
    ledger.append(verdict(1))
    before = ledger.path.read_bytes()
    monkeypatch.setattr(appending, "PATIENCE", 0.0)
    with ledger.path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another program has held its lock"):
            ledger.append(verdict(2))
    assert ledger.path.read_bytes() == before
    ledger.append(verdict(2))
    assert numbers(folder) == [1, 2]


def test_a_system_without_locks_is_told(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(NuggeteerError, match="no file locks"):
        Ledger(folder, "ann").append(verdict())
    assert warnings(folder) == []


def test_a_file_that_git_replaces_meanwhile_gets_the_verdict_all_the_same(folder):
    """Whoever held the old one open would write where nobody reads."""
    path = folder / "judgements" / "ann.jsonl"
    append_line(path, {"n": 1})
    replaced = []

    def lines(content):
        if not replaced:
            replaced.append(1)
            (folder / "new").write_bytes(content + b'{"n": 2}\n')
            (folder / "new").replace(path)
        return b'{"n": 3}\n'

    appending.append(path, lines)
    assert [json.loads(line)["n"] for line in path.read_bytes().splitlines()] == [1, 2, 3]


@pytest.mark.parametrize("when", ["before the lock", "while it is written"])
def test_a_file_that_never_stays_is_given_up(folder, monkeypatch, when):
    path = folder / "ann.jsonl"
    calls = []

    def named(file, path):
        calls.append(1)
        return when != "before the lock" and len(calls) % 2 == 1

    monkeypatch.setattr(appending, "_is_named", named)
    monkeypatch.setattr(appending, "TRIES", 3)
    with pytest.raises(InputError, match="another program keeps replacing this file"):
        append_line(path, {"n": 1})


# Git.


def git(folder, *words):
    settings_ = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    settings_ += ["-c", "core.hooksPath=/dev/null", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *settings_, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not shutil.which("git"), reason="git is not here")
def test_git_merges_what_two_branches_append(folder):
    """By the same assessor and by others, with a retraction on one side and the verdict judged anew on the other."""
    ann = Ledger(folder, "ann")
    first = ann.append(verdict(1))
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "start")
    git(folder, "checkout", "-b", "side")
    ann.append(verdict(2))
    ann.retract(first, "a slip")
    Ledger(folder, "bob").append(verdict(3))
    git(folder, "add", ".")
    git(folder, "commit", "-m", "side")
    git(folder, "checkout", "main")
    ann.append(verdict(4))
    ann.append(verdict(5))
    Ledger(folder, "bob").append(verdict(6))
    Ledger(folder, "cy").append(verdict(7))
    git(folder, "add", ".")
    git(folder, "commit", "-m", "main")
    git(folder, "merge", "side", "-m", "merge")
    assert sorted(numbers(folder)) == [2, 3, 4, 5, 6, 7]
    assert warnings(folder) == []
    added = git(folder, "diff", "HEAD^", "--", "judgements/ann.jsonl").splitlines()
    assert sum(line.startswith("+{") for line in added) == 2
    assert not any(line.startswith("-{") for line in added)


def test_attributes_of_ones_own_are_left_alone(folder):
    (folder / "judgements").mkdir()
    (folder / "judgements" / ".gitattributes").write_text("*.jsonl merge=binary\n")
    Ledger(folder, "ann").append(verdict())
    assert (folder / "judgements" / ".gitattributes").read_text() == "*.jsonl merge=binary\n"


def test_a_session_reads_again_only_what_somebody_else_has_written(folder, monkeypatch):
    """So that a verdict takes as long after thousands as at first."""
    read, latest = [], module._latest
    monkeypatch.setattr(module, "_latest", lambda content, *how: read.append(content) or latest(content, *how))
    ledger = Ledger(folder, "ann")
    first, *_ = [ledger.append(verdict(number)) for number in range(1, 6)]
    ledger.retract(first)
    whole = ledger.path.read_bytes()
    read.clear()
    assert [ledger.append(verdict(number)).text[-1] for number in range(6, 10)] == ["6", "7", "8", "9"]
    assert read == [whole]
    with monkeypatch.context() as later:
        later.setattr(module, "_now", lambda: datetime(2100, 1, 1, tzinfo=UTC))
        Ledger(folder, "ann").retract(ledger.append(verdict(10)))
    assert ledger.append(verdict(10)).at > "2100"
    assert sorted(numbers(folder)) == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    with ledger.path.open("ab") as file:
        file.write(b'{"torn')
    ledger.append(verdict(11))
    assert [problem.what.split(",")[0] for problem in ledger.problems] == ["its last line was torn"]
    ledger.append(verdict(12))
    assert {11, 12} <= set(numbers(folder))
