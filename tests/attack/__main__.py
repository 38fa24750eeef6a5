"""The long attack: thousands of kills, a million torn files, and each system call that fails; run by `scripts/attack`.

It works for as many minutes as it is told, a third for each of the three. With `--record` it writes what it did to
experiments/attack.md. Files that fell are kept in the folder that it names.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import textwrap
import time
from collections import Counter
from pathlib import Path

from tests.attack.faults import ERRORS, Failed, cut_writes, fail_calls, tracer
from tests.attack.kills import Killed, kill
from tests.attack.readers import HANG, MEMORY, READERS, SECONDS, SECONDS_PER_BYTE, Findings, fuzz, limit_memory, peak
from tests.attack.victims import ROOT, VICTIMS, Nursery

PAGE = ROOT / "experiments" / "attack.md"
SLICE = 200  # torn files for a reader before the next has its turn


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/attack", description="Kill, fuzz, and let system calls fail.")
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--kills", type=int, default=10_000, help="at most (default: 10,000)")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="torn files at most (default: 1,000,000)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6, help="of the random numbers")
    parser.add_argument("--record", action="store_true", help="write experiments/attack.md")
    args = parser.parse_args()
    begun, third = time.monotonic(), args.minutes * 20
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="attack-", dir=where) as name:
        folder = Path(name)
        with Nursery(folder) as nursery:
            print(f"seed {args.seed}; killing", flush=True)
            killed = kill(nursery, args.kills, args.seed, time.monotonic() + third)
            print(f"{killed.kills.total():,} kills; letting system calls fail", flush=True)
            failed, short = _fail(nursery, third)
        print(f"{failed.calls.total():,} calls failed; tearing files", flush=True)
        limit_memory()
        findings = _fuzz(folder, args.inputs, args.seed, begun + 3 * third)
    fell = [*killed.broken, *failed.broken, *short.broken, *(f"{name}: {what}" for name, _, what in findings.fell)]
    if findings.fell:
        kept = Path(tempfile.mkdtemp(prefix="attack-fell-"))
        for number, (name, content, _) in enumerate(findings.fell):
            (kept / f"{number}-{name}").write_bytes(content)
        print(f"the files that fell are in {kept}")
    minutes = (time.monotonic() - begun) / 60
    page = _page(args.seed, minutes, killed, failed, short, findings, len(fell))
    print(page)
    for line in fell[:50]:
        print(line)
    if args.record:
        PAGE.write_text(page, encoding="utf-8")
    return bool(fell)


def _fail(nursery: Nursery, seconds: float) -> tuple[Failed, Failed]:
    """System calls that fail, and files that cannot grow; each command has its share of the time."""
    begun, all_failed, step = time.monotonic(), Failed(), seconds / (len(VICTIMS) + 1)
    for number, name in enumerate(VICTIMS if tracer() else (), 1):
        failed = fail_calls(nursery, [name], until=begun + number * step)
        all_failed.calls.update(failed.calls)
        all_failed.codes.update(failed.codes)
        all_failed.broken += failed.broken
    short = cut_writes(nursery, ["import", "judge", "record"], 211, 20_000, begun + seconds)
    return all_failed, short


def _fuzz(folder: Path, count: int, seed: int, until: float) -> Findings:
    """Torn files for each reader in turn."""
    findings, turn = Findings(), 0
    while findings.inputs.total() < count and time.monotonic() < until:
        for name in READERS:
            fuzz(name, SLICE, seed * 10_000 + turn, folder, findings, until)
        turn += 1
    return findings


def _page(
    seed: int, minutes: float, killed: Killed, failed: Failed, short: Failed, findings: Findings, fell: int
) -> str:
    calls: Counter[str] = Counter()
    for (_, call), count in failed.calls.items():
        calls[call] += count
    codes = failed.codes + short.codes
    rows = [
        f"| `{name}` | {killed.kills[name]:,} | {sum(n for (who, _), n in failed.calls.items() if who == name):,} |"
        for name in VICTIMS
    ]
    slow = sorted(findings.slowest.items(), key=lambda one: -one[1])[:5]
    told_calls = ", ".join(f"`{call}` {count:,}" for call, count in sorted(calls.items()))
    told_codes = ", ".join(f"{code} ({count:,})" for code, count in sorted(codes.items()))
    paragraphs = [
        "`scripts/attack --minutes N --record` made this page: it kills commands, lets each of their system calls "
        "fail, and gives torn files to every reader. [SECURITY.md](../SECURITY.md) says what must hold.",
        f"Seed {seed}, {minutes:.0f} minutes, {platform.system()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} processors. **Promises that were broken: {fell}.**",
        "\n".join(["| command | killed while it ran | system calls that failed |", "|---|--:|--:|", *rows]),
        f"Together {killed.kills.total():,} kills and {failed.calls.total():,} calls. {killed.alone:,} of the commands "
        "that were killed ran alone; the others had up to seven beside them, often on the same file. A command that "
        f"ended before its kill is not counted. {killed.acknowledged:,} verdicts, retractions and builds had been "
        f"acknowledged, and were looked for afterwards. {killed.torn:,} files ended in a torn line.",
        f"The calls failed once for each of {', '.join(ERRORS)} (KILL: the process dies at that call; EINTR where "
        f"Python repeats a call): {told_calls}. Besides, "
        f"{short.calls.total():,} commands could not let files grow beyond a size, so that a write was cut short. "
        f"These commands ended with {told_codes}; -9 is the "
        "kill.",
        f"{findings.inputs.total():,} torn files went to {len(READERS)} readers. {findings.refused.total():,} raised "
        f"an error of ours, and the others were read. More than {SECONDS:.0f} s of processor time and "
        f"{SECONDS_PER_BYTE * 1e6:.0f} µs for each byte, {HANG} s in all, {MEMORY >> 30} GB of addresses, a warning or "
        f"any other exception is a broken promise. The process had {peak():,} MB at most. The slowest files took "
        f"{', '.join(f'{seconds * 1000:.0f} ms (`{name}`)' for name, seconds in slow)}.",
    ]
    whole = (text if text.startswith("|") else textwrap.fill(text, 118, break_on_hyphens=False) for text in paragraphs)
    return "\n\n".join(["# A disk that fills, a machine that dies, a file from a stranger", *whole]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
