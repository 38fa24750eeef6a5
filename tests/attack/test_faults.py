"""Some system calls that fail, each of which `scripts/attack` lets fail, and files that cannot grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack import faults
from tests.attack.faults import cut_writes, fail_calls
from tests.attack.victims import ROOT, VICTIMS, Child

pytestmark = pytest.mark.slow
needs_strace = pytest.mark.skipif(faults.tracer() is None, reason="strace is not installed")


@needs_strace
@pytest.mark.parametrize(
    ("name", "calls", "errors"),
    [
        ("import", ("write", "fsync"), ("ENOSPC", "EINTR", "KILL")),
        ("record", ("fdatasync",), ("ENOSPC",)),
        ("nightly", ("rename",), ("ENOSPC",)),
        ("ask", ("fsync",), ("ENOSPC",)),
    ],
)
def test_whatever_call_fails_nothing_is_lost_and_the_message_names_the_file(nursery, name, calls, errors):
    found = fail_calls(nursery, [name], calls, errors)
    assert found.calls.total() >= 2
    assert found.broken == []


def test_a_write_that_is_cut_short_loses_nothing(nursery):
    found = cut_writes(nursery, ["import"], step=3000, most=12_000)
    assert found.codes[2] > 1
    assert found.broken == []


def test_what_a_failed_command_does_not_say_is_found(nursery, tmp_path):
    for name, text in (("out", ""), ("err", "nuggeteer: something went wrong")):
        (tmp_path / name).write_text(text)
    line = f'rename("{nursery.folder}/x") = -1 ENOSPC (INJECTED)'
    child = Child(VICTIMS["judge"], "ann", "x", 0, tmp_path, code=2)
    assert len(faults._untold(child, nursery.folder, "rename", "ENOSPC", line)) == 2
    child.code = 70
    assert "ends with 70" in faults._untold(child, nursery.folder, "rename", "ENOSPC", line)[0]


def test_an_error_that_cannot_be_printed_keeps_its_exit_code():
    """Exit code 1 would say that a gate failed."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "nuggeteer", "check", "--collection", "/nonexistent"]
        assert subprocess.run(command, stderr=full, cwd=ROOT).returncode == 2
