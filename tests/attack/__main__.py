"""The long attack, run by `scripts/attack`: kills, failing calls, torn lines, strangers, hostile servers, torn files.

It works for as many minutes as it is told. With `--record` it writes what it did to experiments/attack.md. Files that
fell are kept in the folder that it names.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import textwrap
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.attack.faults import ERRORS, OUTER, Failed, cut_writes, fail_calls, tracer
from tests.attack.kills import Killed, kill
from tests.attack.peers import LONGEST, Echoed, Met, echo, meet
from tests.attack.readers import HANG, MEMORY, READERS, SECONDS, SECONDS_PER_BYTE, Findings, fuzz, limit_memory, peak
from tests.attack.strangers import Given, give
from tests.attack.tears import LEDGERS, Torn, tear
from tests.attack.victims import VICTIMS, Yard
from tests.conftest import ROOT

PAGE = ROOT / "experiments" / "attack.md"
SLICE = 200  # torn files for a reader before the next has its turn
# Four lanes, each with a yard of its own: two of kills, and two in which each call fails once and kills come then. Torn
# files come at the end. Until which share of the time each part goes, if it has not done all before:
SERVERS, STRANGERS, SHORT, TORN = 0.1, 0.14, 0.17, 0.17
CALLS, LANES = 0.9, 0.95
# The commands whose calls fail in the one lane and in the other: they take as long.
HALVES = (("nightly", "judge", "ask"), ("create", "record", "rescore", "audit", "import"))


@dataclass
class Attack:
    """What was done."""

    killed: Killed
    failed: Failed
    short: Failed
    torn: Torn
    given: Given
    met: Met
    echoed: Echoed
    findings: Findings

    @property
    def broken(self) -> list[str]:
        found = [self.killed, self.failed, self.short, self.torn, self.given, self.met]
        fell = (f"{name}: {what}" for name, _, what in self.findings.fell)
        return [*(line for one in found for line in one.broken), *self.echoed.changed, *fell]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/attack", description="Kill, tear, fuzz, and let system calls fail.")
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--kills", type=int, default=10_000, help="at most (default: 10,000)")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="torn files at most (default: 1,000,000)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6, help="of the random numbers")
    parser.add_argument("--record", action="store_true", help="write experiments/attack.md")
    args = parser.parse_args()
    if tracer() is None:
        parser.error("strace is not installed; without it, no call can fail (apt-get install strace)")
    begun = time.monotonic()
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="attack-", dir=where) as name:
        attack = _attack(Path(name), args.minutes * 60, args.kills, args.inputs, args.seed)
    if attack.findings.fell:
        kept = Path(tempfile.mkdtemp(prefix="attack-fell-"))
        for number, (reader, content, _) in enumerate(attack.findings.fell):
            (kept / f"{number}-{reader}").write_bytes(content)
        print(f"the files that fell are in {kept}")
    page = _page(args.seed, (time.monotonic() - begun) / 60, attack)
    print(page)
    for line in attack.broken[:50]:
        print(line)
    if args.record:
        PAGE.write_text(page, encoding="utf-8")
    return bool(attack.broken)


def _attack(folder: Path, seconds: float, kills: int, inputs: int, seed: int) -> Attack:
    begun = time.monotonic()

    def until(share: float, part: str) -> float:
        """When a part that begins now has to end."""
        print(f"{(time.monotonic() - begun) / 60:.0f} minutes, seed {seed}: {part}", flush=True)
        return begun + share * seconds

    def kills_in(lane: int) -> Killed:
        return kill(yards[lane], kills // 3, seed + lane, until(LANES, "kills"))

    def ledgers() -> tuple[Failed, Torn, Killed]:
        torn = tear(yards[2], LEDGERS, seed, until(TORN, "torn lines"))
        failed = fail_calls(yards[2], HALVES[0], until=until(CALLS, "calls"), turns=1)
        return failed, torn, kills_in(2)

    def others() -> tuple[Failed, Failed, Given, Echoed, Met, Killed]:
        yard = yards[3]
        met = meet(yard, 10**9, seed, until(SERVERS, "servers"))
        given = give(yard, 10**9, seed, until(STRANGERS, "strangers"))
        short = cut_writes(yard, ("import", "judge", "record"), 211, 20_000, until(SHORT, "short writes"))
        failed = fail_calls(yard, HALVES[1], until=until(CALLS, "calls"), turns=1)
        echoed = echo(yard)  # as many as they are, in any time
        return failed, short, given, echoed, met, kills_in(3)

    with ThreadPoolExecutor(4) as lanes, ExitStack() as open_:
        yards = [open_.enter_context(Yard(folder / f"lane-{number}")) for number in range(4)]
        killing = [lanes.submit(kills_in, lane) for lane in range(2)]
        first, second = lanes.submit(ledgers), lanes.submit(others)
        killed = Killed()
        failed, torn, killed_later = first.result()
        more_failed, short, given, echoed, met, killed_last = second.result()
        for one in (*(lane.result() for lane in killing), killed_later, killed_last):
            killed.add(one)
    failed.add(more_failed)
    limit_memory()
    found = _fuzz(folder, inputs, seed, until(1, "torn files"))
    return Attack(killed, failed, short, torn, given, met, echoed, found)


def _fuzz(folder: Path, count: int, seed: int, until: float) -> Findings:
    """Torn files for each reader in turn."""
    findings, turn = Findings(), 0
    while findings.inputs.total() < count and time.monotonic() < until:
        for name in READERS:
            fuzz(name, SLICE, seed * 10_000 + turn, folder, findings, until)
        turn += 1
    return findings


def _page(seed: int, minutes: float, attack: Attack) -> str:
    killed, failed, torn, findings = attack.killed, attack.failed, attack.torn, attack.findings
    calls: Counter[str] = Counter()
    for (_, call), count in failed.calls.items():
        calls[call] += count
    rows = [
        f"| `{name}` | {killed.kills[name]:,} | {len(failed.there[name])} | {len(failed.reached[name])} "
        f"| {sum(n for (who, _), n in failed.calls.items() if who == name):,} |"
        for name in VICTIMS
    ]
    lines = [f"| {name} | {torn.whole[name]:,} | {len(found):,} |" for name, found in torn.bytes.items()]
    slow = sorted(findings.slowest.items(), key=lambda one: -one[1])[:5]
    paragraphs = [
        "`scripts/attack --minutes N --record` made this page. [SECURITY.md](../SECURITY.md) says what must hold. "
        "Commands are started as users start them.",
        f"Seed {seed}, {minutes:.0f} minutes, {platform.system()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} processors. **Promises that were broken: {len(attack.broken)}.**",
        "## Killed, and calls that fail",
        "\n".join(
            [
                "| command | killed while it ran | calls by which it writes | of these, failed | failures |",
                "|---|--:|--:|--:|--:|",
                *rows,
            ]
        ),
        f"Together {killed.kills.total():,} kills. {killed.alone:,} of the commands that were killed ran alone; the "
        "others had up to three beside them, often on the same file. A command that ended before its kill is not "
        f"counted: {killed.finished.total():,} did. After {killed.changed:,} of {killed.rounds:,} rounds the "
        f"collection was not as before. {killed.acknowledged:,} verdicts, retractions and builds had been "
        "acknowledged, and were looked for afterwards.",
        "The calls by which a command writes are those on files of its collection in a run that nobody disturbs; of "
        f"the locks that SQLite takes on a file, the first and the last {OUTER}. They failed with one of "
        f"{', '.join(ERRORS)} (KILL: the process dies at that call; EINTR where Python repeats a call): "
        f"{_listed(calls)}. Besides, "
        f"{attack.short.calls.total():,} commands could not let files grow beyond a size, so that a write was cut "
        f"short. These commands ended with {_listed(failed.codes + attack.short.codes)}; -9 is the kill.",
        "## Lines torn at every byte",
        "\n".join(
            ["| command and file | bytes of its first lines | torn after so many of them |", "|---|--:|--:|", *lines]
        ),
        "A command may write only so many bytes, and is killed where it would cut the line off again. The next command "
        "finds a torn line, sets it aside byte for byte, and goes on. `tests/attack/test_tears.py` tears lines at each "
        "byte without starting commands.",
        "## Strangers, and servers that mean no good",
        f"{attack.given.met.total():,} commands met a collection of a stranger: {_listed(attack.given.met)}. They "
        f"ended with {_listed(attack.given.codes)}. No file outside of the collection may change.",
        f"{attack.met.commands:,} times `ask` met a server that drips bytes, sends 100 Continue for ever, compresses, "
        "quotes the key in some encoding, nests lists, or sends noise; it answered "
        f"{attack.met.requests:,} requests. The commands ended with {_listed(attack.met.codes)}, the slowest after "
        f"{attack.met.slowest:.1f} s, where {LONGEST:.0f} s are allowed. The key may be shown nowhere, also not to "
        "somebody who decodes what is shown.",
        f"Of {attack.echoed.replies:,} replies of a model that repeats an answer that plants labels, braces or marks "
        f"of thinking beside its own labels, {attack.echoed.refused:,} were refused, and asked for again in halves; "
        f"**{len(attack.echoed.changed)} were read in another way than the model meant them.**",
        "## Torn files",
        f"{findings.inputs.total():,} torn files went to {len(READERS)} readers. {findings.refused.total():,} raised "
        f"an error of ours, and the others were read. More than {SECONDS:.0f} s of processor time and "
        f"{SECONDS_PER_BYTE * 1e6:.0f} µs for each byte, {HANG} s in all, {MEMORY >> 30} GB of addresses, a warning or "
        f"any other exception is a broken promise. The process had {peak():,} MB at most. The slowest files took "
        f"{', '.join(f'{seconds * 1000:.0f} ms (`{name}`)' for name, seconds in slow)}.",
    ]
    whole = (text if text[0] in "|#" else textwrap.fill(text, 118, break_on_hyphens=False) for text in paragraphs)
    return "\n\n".join(["# A disk that fills, a machine that dies, a stranger's server and folder", *whole]) + "\n"


def _listed(counts: Counter[str] | Counter[int]) -> str:
    return ", ".join(f"{what} ({count:,})" for what, count in sorted(counts.items(), key=str))


if __name__ == "__main__":
    raise SystemExit(main())
