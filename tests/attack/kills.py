"""Commands killed at random moments (SIGKILL, as a power cut would), alone and while others write."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from nuggeteer.formats.append import torn
from tests.attack.victims import IMPORTED, VICTIMS, Nursery, broken, not_going_on, not_recovered

SHARES = {"judge": 4, "import": 3, "record": 2, "nightly": 1, "ask": 3}  # how often each command is taken
GOES_ON_EVERY = 20  # rounds: then commands run again, to their end


@dataclass
class Killed:
    """How many of each command were killed while they ran, what they had acknowledged before, and what was broken."""

    kills: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    alone: int = 0
    acknowledged: int = 0
    torn: int = 0
    broken: list[str] = field(default_factory=list)


def kill(nursery: Nursery, count: int, seed: int, until: float = float("inf"), most: int = 8) -> Killed:
    """Kill about `count` commands, `most` at a time at most, until a time at most."""
    rng, result = random.Random(seed), Killed()
    longest = {name: _seconds(nursery, name) for name in VICTIMS}
    for turn in range(10 * count):
        if result.kills.total() >= count or time.monotonic() > until:
            break
        _round(nursery, rng, rng.choice((1, 1, 2, 4, most)), longest, turn % GOES_ON_EVERY == 0, result)
    return result


def _seconds(nursery: Nursery, name: str) -> float:
    begun = time.monotonic()
    nursery.run(VICTIMS[name], nursery.collection())
    return time.monotonic() - begun


def _round(
    nursery: Nursery, rng: random.Random, writers: int, longest: dict[str, float], go_on: bool, result: Killed
) -> None:
    root = nursery.collection()
    names = rng.choices(list(SHARES), list(SHARES.values()), k=writers)
    due = []
    for name in names:
        # One assessor's file is the one that several want; ask and nightly have one each anyway.
        child = nursery.begin(VICTIMS[name], root, who=rng.choice(("ann", "ann", "before")))
        due.append((time.monotonic() + rng.random() * longest[name] * (1 + writers / 2), child.pid, child))
    for moment, pid, _ in sorted(due, key=lambda one: one[0]):
        time.sleep(max(0.0, moment - time.monotonic()))
        os.kill(pid, signal.SIGKILL)
    children = [child for _, _, child in due]
    for child in children:
        killed = nursery.wait(child) == -signal.SIGKILL
        (result.kills if killed else result.finished)[child.victim.name] += 1
        result.alone += killed and writers == 1
        result.acknowledged += sum(child.said.count(word) for word in (", written\n", "taken back:", "ecorded"))
        result.acknowledged += IMPORTED * (child.victim.name == "import" and " written to " in child.said)
        if not killed and child.code not in (0, 1, 2):
            result.broken.append(f"{child.victim.name} ends with {child.code}: {child.complained}")
    found = broken(root, nursery.template, children)
    result.torn += sum(bool(torn(path.read_bytes())) for path in (root / "judgements").glob("*.jsonl"))
    if not found:
        found = not_recovered(root) + (not_going_on(nursery, root, ("ask", "nightly")) if go_on else [])
    if found:
        what = "; ".join(found)
        result.broken.append(f"{', '.join(names)}: {what}")
