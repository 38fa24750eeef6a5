"""Each system call of a command fails in turn, as SQLite tests itself: the first time, the second, until no more come.

`strace -e inject` makes the k-th call of one kind fail in a command that waits to begin. A limit on the size of files
makes real short writes. Afterwards nothing is lost or half-written, and the message names the file.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack.victims import VICTIMS, Child, Nursery, Victim, broken, leftovers, not_going_on, not_recovered

CALLS = (
    *("openat", "read", "pread64", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "link", "linkat"),
    *("mkdir", "chmod", "flock", "unlink"),
)
WRITING = {"write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "link", "linkat", "mkdir"}
RETRIED = {"openat", "read", "write", "fsync", "fdatasync", "ftruncate", "flock"}  # by Python, after a signal
ERRORS = ("ENOSPC", "EIO", "EINTR", "KILL")
FULL = re.compile(r"disk is full|No space left|make room|File too large", re.IGNORECASE)


@dataclass
class Failed:
    """How many calls of each kind failed in each command, what the commands ended with, and what was broken."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def tracer() -> str | None:
    """The program that makes calls fail, where it is installed."""
    return shutil.which("strace")


def fail_calls(
    nursery: Nursery,
    names: Iterable[str] = VICTIMS,
    calls: Iterable[str] = CALLS,
    errors: Iterable[str] = ERRORS,
    until: float = float("inf"),
) -> Failed:
    """Let each call of each kind fail with each error, in each command."""
    result = Failed()
    for name in names:
        for call in calls:
            for error in errors:
                if error == "EINTR" and call not in RETRIED:
                    continue
                number = 1
                while time.monotonic() < until and _fail_one(nursery, VICTIMS[name], call, error, number, result):
                    number += 1
    return result


def _fail_one(nursery: Nursery, victim: Victim, call: str, error: str, number: int, result: Failed) -> bool:
    """Whether there was such a call to fail."""
    root = nursery.collection()
    log = nursery.folder / "strace.log"
    child = nursery.begin(victim, root, stopped=True)
    how = "signal=KILL" if error == "KILL" else f"error={error}"
    command = [tracer() or "strace", "-f", "-y", "-o", str(log), "-e", f"trace=?{call}", "-e", "signal=none"]
    command += ["-e", f"inject=?{call}:{how}:when={number}", "-p", str(child.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as trace:
        assert trace.stderr
        if not select.select([trace.stderr], [], [], 120)[0] or b"attached" not in (line := trace.stderr.readline()):
            raise OSError(f"strace cannot attach: {line.decode()}")
        os.kill(child.pid, signal.SIGCONT)
        nursery.wait(child)
    injected = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
    if not injected and not (error == "KILL" and child.code == -signal.SIGKILL):
        return False
    result.calls[victim.name, call] += 1
    assert child.code is not None
    result.codes[child.code] += 1
    where = f"{victim.name}, {call} {number}, {error}"
    last = log.read_text(errors="replace").splitlines()[-1] if error == "KILL" else injected[0]
    found = broken(root, nursery.template, [child])
    found += _untold(child, root, call, error, last) if error != "KILL" else []
    if call != "unlink" and error != "KILL" and (left := leftovers(root)):
        found.append(f"drafts are left: {left}")
    found += not_recovered(root) + not_going_on(nursery, root, [victim.name])
    result.broken += [f"{where}: {what} [{last[:200]}]" for what in found]
    return True


def _untold(child: Child, root: Path, call: str, error: str, line: str) -> list[str]:
    """What the command should have said about its failure and did not."""
    told = child.said + child.complained
    if child.code in (0, 1):
        return []
    if child.code != 2:
        return [f"it ends with {child.code}: {child.complained[-600:]}"]
    if error == "EINTR":
        # The C library does not repeat the opening of a folder, nor does any kernel interrupt it.
        return [] if "O_DIRECTORY" in line else [f"an interrupted call is not repeated: {child.complained}"]
    if str(root) not in line:
        return []
    found = [] if str(root) in told else [f"the message names no file: {told[-300:]}"]
    if error == "ENOSPC" and call in WRITING and not FULL.search(told):
        found.append(f"a full disk is not called that: {told[-300:]}")
    return found


def cut_writes(nursery: Nursery, names: Iterable[str], step: int, most: int, until: float = float("inf")) -> Failed:
    """Let no file grow beyond a size, for each size by `step` bytes up to `most`: real short writes."""
    result = Failed()
    for name in names:
        for largest in range(0, most, step):
            if time.monotonic() > until:
                break
            root = nursery.collection()
            child = nursery.run(VICTIMS[name], root, largest=largest)
            assert child.code is not None
            result.calls[name, "size"] += 1
            result.codes[child.code] += 1
            found = broken(root, nursery.template, [child])
            if child.code not in (0, 1, 2):
                found.append(f"it ends with {child.code}: {child.complained[-600:]}")
            elif child.code == 2 and child.complained and not FULL.search(child.said + child.complained):
                found.append(f"a full disk is not called that: {child.complained[-300:]}")
            found += not_recovered(root) + not_going_on(nursery, root, [name])
            result.broken += [f"{name}, {largest} bytes: {what}" for what in found]
    return result
