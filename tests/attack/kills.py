"""Commands killed at random moments (SIGKILL, as a power cut would), alone and while others write.

Most are killed after they began to write: a command spends most of its time on reading, where a kill can do no harm.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from nuggeteer.formats.append import torn
from tests.attack.faults import tracer
from tests.attack.victims import IMPORTED, VICTIMS, Victim, Yard, broken, not_going_on, not_recovered

# How often each command is taken.
SHARES = {"judge": 3, "import": 9, "create": 2, "record": 3, "nightly": 2, "rescore": 1, "audit": 1, "ask": 4}
GOES_ON_EVERY = 20  # rounds: then commands run again, to their end
EARLY = 0.15  # of the kills come at any time


@dataclass
class Killed:
    """How many of each command were killed while they ran, what they had acknowledged before, and what was broken."""

    kills: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    alone: int = 0
    changed: int = 0  # rounds after which the collection was not as before
    rounds: int = 0
    acknowledged: int = 0
    torn: int = 0
    broken: list[str] = field(default_factory=list)

    def add(self, other: Killed) -> None:
        """Add what was killed elsewhere."""
        self.kills += other.kills
        self.finished += other.finished
        self.alone += other.alone
        self.changed += other.changed
        self.rounds += other.rounds
        self.acknowledged += other.acknowledged
        self.torn += other.torn
        self.broken += other.broken


def kill(yard: Yard, count: int, seed: int, until: float = float("inf"), most: int = 4) -> Killed:
    """Kill about `count` commands, `most` at a time at most, until a time at most."""
    rng, result = random.Random(seed), Killed()
    spans = {name: _span(yard, victim) for name, victim in VICTIMS.items()}
    while result.kills.total() < count and time.monotonic() < until:
        _round(yard, rng, rng.choice((1, 2, most)), spans, result)
    return result


def _span(yard: Yard, victim: Victim) -> tuple[float, float]:
    """How many seconds after its start a command begins to write, and ends."""
    begun = time.monotonic()
    yard.run(victim, yard.collection([victim]))
    whole = time.monotonic() - begun
    if (strace := tracer()) is None:
        return 0.0, whole
    log, root = yard.folder / "strace.log", yard.collection([victim])
    calls = "trace=write,pwrite64,mkdir"
    begun = time.time()
    yard.run(victim, root, under=[strace, "-f", "-y", "--seccomp-bpf", "-ttt", "-o", str(log), "-e", calls])
    ended, lines = time.time(), log.read_text(errors="replace").splitlines()
    first = next(float(re.findall(r"\d+\.\d+", line)[0]) for line in lines if str(root) in line)
    return whole * (first - begun) / (ended - begun), whole


def _round(yard: Yard, rng: random.Random, writers: int, spans: dict[str, tuple[float, float]], result: Killed) -> None:
    names = rng.choices(list(SHARES), list(SHARES.values()), k=writers)
    root = yard.collection([VICTIMS[name] for name in names])
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    due = []
    for name in names:
        # One assessor's file is the one that several want; ask and nightly have one each anyway.
        child = yard.begin(VICTIMS[name], root, who=rng.choice(("ann", "ann", "before")))
        first, last = spans[name]
        moment = rng.uniform(0 if rng.random() < EARLY else first, last) * max(1.0, writers / 2)
        due.append((time.monotonic() + moment, child))
    for moment, child in sorted(due, key=lambda one: one[0]):
        time.sleep(max(0.0, moment - time.monotonic()))
        os.kill(child.process.pid, signal.SIGKILL)
    children = [child for _, child in due]
    for child in children:
        killed = child.wait() == -signal.SIGKILL
        (result.kills if killed else result.finished)[child.victim.name] += 1
        result.alone += killed and writers == 1
        result.acknowledged += sum(child.said.count(word) for word in (", written\n", "taken back:", "ecorded"))
        result.acknowledged += IMPORTED * (child.victim.name == "import" and " written to " in child.said)
        if not killed and child.code not in (0, 1, 2):
            result.broken.append(f"{child.victim.name} ends with {child.code}: {child.complained}")
    result.rounds += 1
    result.changed += before != {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    found = broken(root, yard.template, children)
    result.torn += sum(bool(torn(path.read_bytes())) for path in root.glob("jud*/**/*.jsonl"))
    if not found:
        go_on = result.rounds % GOES_ON_EVERY == 0
        found = not_recovered(root) + (not_going_on(yard, root, ("ask", "nightly")) if go_on else [])
    if found:
        what = "; ".join(found)
        result.broken.append(f"{', '.join(names)}: {what}")
