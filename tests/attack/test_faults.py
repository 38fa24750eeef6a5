"""Some calls that fail, each of which `scripts/attack` lets fail, and files that cannot grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack import faults
from tests.attack.faults import CALLS, cut_writes, fail_calls, write_path
from tests.attack.victims import VICTIMS, Child
from tests.conftest import ROOT

pytestmark = pytest.mark.slow
needs_strace = pytest.mark.skipif(faults.tracer() is None, reason="strace is not installed")


@needs_strace
@pytest.mark.parametrize(
    ("name", "some"),
    [
        ("import", CALLS),
        ("record", ("fdatasync",)),
        ("nightly", ("rename",)),
        ("ask", ("fsync",)),
        ("create", ("link",)),
    ],
)
def test_whatever_call_fails_nothing_is_lost_and_the_message_names_the_file(yard, name, some):
    """Each of them fails, in the command as users start it."""
    found = fail_calls(yard, [name], some=some, turns=1)
    assert [call for call in found.missed(name) if call.name in some] == []
    assert found.calls.total() >= 1
    assert found.broken == []


@needs_strace
def test_the_calls_by_which_a_command_writes_are_those_on_its_ledger(yard):
    found = {(call.name, call.path) for call in write_path(yard, VICTIMS["import"])}
    assert {(name, "/judgements/ann.jsonl") for name in ("openat", "flock", "write", "fsync")} <= found


def test_a_write_that_is_cut_short_loses_nothing(yard):
    found = cut_writes(yard, ["import"], step=3000, most=12_000)
    assert found.codes[2] > 1
    assert found.broken == []


def test_what_a_failed_command_does_not_say_is_found(yard, tmp_path):
    for name, text in (("out", ""), ("err", "nuggeteer: something went wrong")):
        (tmp_path / name).write_text(text)
    line = f'rename("{yard.folder}/x") = -1 ENOSPC (INJECTED)'
    child = Child(VICTIMS["judge"], "ann", "x", None, tmp_path, code=2)
    assert len(faults._untold(child, yard.folder, "rename", "ENOSPC", line)) == 2
    child.code = 70
    assert "ends with 70" in faults._untold(child, yard.folder, "rename", "ENOSPC", line)[0]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_does_not_change_the_exit_code(yard, closed):
    for root, code in ((yard.template, 0), (yard.folder / "none", 2)):
        words = f"{sys.executable} -m nuggeteer check --collection {root} {closed}"
        assert subprocess.run(["sh", "-c", words], cwd=ROOT, env=yard.environment, check=False).returncode == code


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_cannot_be_printed_does_not_change_the_exit_code(yard, unbuffered, stream):
    """1 would say that a gate failed, and 120, which is Python's own, nothing."""
    environment = {**yard.environment, "PYTHONUNBUFFERED": unbuffered}
    words = ["check", "--collection", str(yard.template if stream == "stdout" else yard.folder / "none")]
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "nuggeteer", *words]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full}
        assert subprocess.run(command, cwd=ROOT, env=environment, check=False, **streams).returncode == 2
