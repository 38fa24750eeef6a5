"""Each system call on the write path of a command fails in turn, as SQLite tests itself.

A first run shows which calls a command makes on files of its collection. Then `strace -e inject` makes one of them fail
in the command as a user starts it, or kills the command at that call; a limit on the size of files makes real short
writes. Afterwards nothing is lost or half-written, and the message names the file.
"""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

from tests.attack.victims import VICTIMS, Child, Victim, Yard, broken, leftovers, not_going_on, not_recovered

CALLS = (
    *("openat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "link", "linkat", "unlink", "rmdir"),
    *("mkdir", "chmod", "flock", "fcntl"),
)
WRITING = {"write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "link", "linkat", "mkdir"}
TWO_NAMES = ("rename", "link", "linkat")
RETRIED = {"openat", "write", "fsync", "ftruncate", "flock"}  # by Python, after a signal
ERRORS = ("ENOSPC", "KILL", "EIO", "EINTR")
GOES_ON_EVERY = 4  # failures: then the command runs again, to its end; after a kill it always does
MOST = 80  # calls of a thread, of which one is looked for
OUTER = 3  # calls of one kind on one file, at the beginning and at the end: of locks no others, and of others first
FULL = re.compile(r"disk is full|No space left|make room|File too large", re.IGNORECASE)
DRAFT = ".draft"
_CALL = re.compile(r"(\d+) +(\w+)\(")
_DRAFT = re.compile(r"\.\w{8}(?=/|$)")


@dataclass(frozen=True)
class Call:
    """The `number`-th call of that name about a file in the collection, in a thread of a command. Where a tracer cannot
    be told the file, it is the `number`-th call about any: a draft has another name each time, and what is renamed has
    two."""

    name: str
    number: int
    path: str

    @property
    def named(self) -> bool:
        return DRAFT not in self.path and self.name not in TWO_NAMES

    @property
    def errors(self) -> tuple[str, ...]:
        """What can happen to it. SQLite repeats no call after a signal, and no kernel interrupts a regular file's."""
        retried = self.name in RETRIED and "sqlite" not in self.path
        return ERRORS if retried else ERRORS[:-1]


@dataclass
class Failed:
    """Which calls there are in each command, how many failed, what the commands ended with, and what was broken."""

    there: dict[str, list[Call]] = field(default_factory=dict)
    reached: dict[str, set[Call]] = field(default_factory=dict)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, other: Failed) -> None:
        """Add what was found with other commands."""
        self.there |= other.there
        self.reached |= other.reached
        self.calls += other.calls
        self.codes += other.codes
        self.broken += other.broken

    def missed(self, name: str) -> list[Call]:
        """The calls of a command that never failed."""
        return [call for call in self.there[name] if call not in self.reached[name]]


def tracer() -> str | None:
    """The program that makes calls fail, where it is installed."""
    return shutil.which("strace")


def write_path(yard: Yard, victim: Victim) -> list[Call]:
    """The calls of a command by which it changes its collection."""
    root, log = yard.collection([victim]), yard.folder / "strace.log"
    yard.run(victim, root, under=traced(log, CALLS))
    counts = Counter[tuple[str, str, str | None]]()
    found: dict[Call, None] = {}
    for line in log.read_text(errors="replace").splitlines():
        if call := _CALL.match(line):
            thread, name = call.groups()
            path = _path(line, root)
            for of in {path, None}:
                counts[thread, name, of] += 1
            if path is not None and _changes(name, line):
                one = Call(name, counts[thread, name, path], path)
                found[one if one.named else replace(one, number=counts[thread, name, None])] = None
    alike: dict[tuple[str, str], list[Call]] = {}
    for one in found:
        alike.setdefault((one.name, one.path), []).append(one)
    inner = {one for some in alike.values() for one in some[OUTER:-OUTER]}
    return [one for one in found if one not in inner] + [one for one in found if one in inner and one.name != "fcntl"]


def _changes(name: str, line: str) -> bool:
    return name != "openat" or re.search(r"O_WRONLY|O_RDWR|O_CREAT", line) is not None


def _path(line: str, root: Path) -> str | None:
    """The file in the collection that a call is about: what a draft becomes, and drafts by what they are drafts of."""
    found = re.findall(re.escape(str(root)) + r"([^\">,\s]*)", line)
    return _DRAFT.sub(DRAFT, found[-1]) if found else None


def traced(log: Path, calls: Iterable[str], *more: str) -> list[str]:
    """What a command is started under, so that these calls of it are written to a log."""
    command = [tracer() or "strace", "-f", "-y", "-o", str(log), "-e", "signal=none", "-e", f"trace={','.join(calls)}"]
    # With this, other calls are not stopped at; but no signal can be sent.
    return [*command, *(() if any("signal=KILL" in one for one in more) else ("--seccomp-bpf",)), *more]


def fail_calls(
    yard: Yard, names: Iterable[str] = VICTIMS, until: float = float("inf"), some: Iterable[str] = CALLS, turns: int = 4
) -> Failed:
    """Let each call of each command fail: in the first turn once, and in the others with its other errors."""
    result = Failed()
    for name in names:
        result.there[name], result.reached[name] = write_path(yard, VICTIMS[name]), set()
    for turn in range(turns):
        # In turns, so that each command has its share of a short time.
        for place, some_calls in enumerate(zip_longest(*result.there.values())):
            for name, call in zip(result.there, some_calls, strict=True):
                if call is None or call.name not in some or time.monotonic() > until:
                    continue
                if turn < len(call.errors):
                    error = call.errors[(place + turn) % len(call.errors)]
                    _fail_one(yard, VICTIMS[name], call, error, result)
    for name in names:  # where several threads did it in another order
        for call in result.missed(name):
            alike = sum(one.name == call.name for one in result.there[name])
            for number in (call.number, *range(1, min(MOST, 2 * alike + OUTER))):
                if call not in result.missed(name) or call.name not in some or time.monotonic() > until:
                    break
                failed = _fail_one(yard, VICTIMS[name], replace(call, number=number), "EIO", result)
                if not failed and number != call.number:
                    break  # there are not so many
    return result


def _fail_one(yard: Yard, victim: Victim, call: Call, error: str, result: Failed) -> bool:
    """Whether any such call failed."""
    root, log = yard.collection([victim]), yard.folder / "strace.log"
    how = "signal=KILL" if error == "KILL" else f"error={error}"
    inject = ["-e", f"inject={call.name}:{how}:when={call.number}"]
    inject += ["-P", f"{root}{call.path}"] if call.named else []
    child = yard.run(victim, root, under=traced(log, [call.name], *inject))
    lines = log.read_text(errors="replace").splitlines()
    injected = [line for line in lines if "(INJECTED)" in line]
    if error == "KILL" and child.code == -signal.SIGKILL:
        injected = _last_calls(lines)
    reached = {path for line in injected if (path := _path(line, root)) is not None}
    if not reached:
        return bool(injected)
    alike = [one for one in result.there[victim.name] if one.name == call.name and one.path in reached]
    result.reached[victim.name] |= {one for one in alike if one.number == call.number or len(alike) == 1}
    result.calls[victim.name, call.name] += 1
    assert child.code is not None
    result.codes[child.code] += 1
    found = broken(root, yard.template, [child])
    found += _untold(child, root, call.name, error, injected[0]) if error != "KILL" else []
    if call.name not in ("unlink", "rmdir") and error != "KILL" and (left := leftovers(root)):
        found.append(f"drafts are left: {left}")
    found += not_recovered(root)
    if error == "KILL" or result.calls.total() % GOES_ON_EVERY == 0:
        found += not_going_on(yard, root, [victim.name])
    where = f"{victim.name}, {call.name} {call.number}, {error}"
    result.broken += [f"{where}: {what} [{injected[0][:200]}]" for what in found]
    return True


def _last_calls(lines: list[str]) -> list[str]:
    """The call of each thread at which the process was killed."""
    last: dict[str, str] = {}
    for line in lines:
        if call := _CALL.match(line):
            last[call[1]] = line
    return [line for line in last.values() if " = " not in line or line.rstrip().endswith("= ?")]


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
    found = [] if str(root) in told else [f"the message names no file: {told[-300:]}"]
    if error == "ENOSPC" and call in WRITING and not FULL.search(told):
        found.append(f"a full disk is not called that: {told[-300:]}")
    return found


def cut_writes(yard: Yard, names: Iterable[str], step: int, most: int, until: float = float("inf")) -> Failed:
    """Let no file grow beyond a size, for each size by `step` bytes up to `most`: real short writes. What a command
    says is also a file: it is looked at where it has not come to its end."""
    result = Failed()
    for name, largest in ((name, largest) for largest in range(0, most, step) for name in names):
        if time.monotonic() > until:
            break
        root = yard.collection([VICTIMS[name]])
        child = yard.run(VICTIMS[name], root, under=["prlimit", f"--fsize={largest}"])
        assert child.code is not None
        result.calls[name, "size"] += 1
        result.codes[child.code] += 1
        found = broken(root, yard.template, [child])
        if child.code not in (0, 1, 2):
            found.append(f"it ends with {child.code}: {child.complained[-600:]}")
        elif (
            child.code == 2
            and 0 < len(child.complained.encode()) < largest
            and not FULL.search(child.said + child.complained)
        ):
            found.append(f"a full disk is not called that: {child.complained[-300:]}")
        found += not_recovered(root) + not_going_on(yard, root, [name])
        result.broken += [f"{name}, {largest} bytes: {what}" for what in found]
    return result
