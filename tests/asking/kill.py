"""Kills `nuggeteer ask` at random moments, again and again: python -m tests.asking.kill 1000

After each kill, every reply that the server gave is in the ledger, but for the last one on a connection: it was still
on the way, or being written. A verdict that is in the ledger is never asked for again. When everything is answered, a
new collection is begun. Prints what happened; any violation is an error.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nuggeteer.cli.main import main as nuggeteer
from tests.asking.conftest import ANSWERS, NUGGETS
from tests.asking.fake_server import FakeServer, Request, labels_of
from tests.conftest import write_lines

QUESTIONS = 150
WORKERS = 3
DELAY = 0.01  # seconds that the model takes
LONGEST_LIFE = 0.4  # seconds from the start to the kill; more, where nothing was done in that time


@dataclass
class Figures:
    """What the kills did."""

    kills: int = 0
    collections: int = 0
    replies: int = 0  # that the server gave
    unread: int = 0  # of these, not yet read by the process when it was killed, as its reset connection says
    unwritten: int = 0  # of these, read, and not yet written
    torn: int = 0  # kills in the middle of a line, which the next start sets aside
    verdicts: int = 0  # in the ledgers


def serve(pipe: Connection, processes: int) -> None:
    """A server in a process of its own. Replies to each message, which comes when its client is dead, with what it was
    asked since the last one."""
    del processes
    with FakeServer(delay=DELAY) as server:
        pipe.send(server.url)
        told = 0
        while pipe.recv():
            server.wait_for_the_dead()
            fresh = server.requests[told:]
            told = len(server.requests)
            pipe.send([(one.connection, one.answered, one.unread, labels(one)) for one in fresh])


def labels(request: Request) -> dict[tuple[str, str], str]:
    """What is asked for, and what the model says."""
    qid = f"q{request.answer.rpartition(' ')[2].rstrip('.')}"
    numbers = [str(NUGGETS.index(nugget)) for nugget in request.nuggets]
    return {(qid, number): label for number, label in zip(numbers, labels_of(request), strict=True)}


def make_collection(root: Path, url: str, count: int = QUESTIONS) -> Path:
    questions = range(count)
    nuggets = [
        {"qid": f"q{q}", "nugget": str(n), "text": text, "importance": "vital"}
        for q in questions
        for n, text in enumerate(NUGGETS)
    ]
    write_lines(root / "nuggets.jsonl", nuggets)
    write_lines(
        root / "runs" / "night.jsonl", [{"qid": f"q{q}", "text": f"{ANSWERS[q % 2]} Number {q}."} for q in questions]
    )
    settings = f'[judge.fake]\nurl = "{url}"\nmodel = "fake"\nconcurrency = {WORKERS}\n'
    (root / "nuggeteer.toml").write_text(settings, encoding="utf-8")
    return root


def ledger(root: Path) -> tuple[dict[tuple[str, str], str], bool]:
    """The verdicts, also those of which only the call is written yet, and whether a last line is torn."""
    lines, torn = whole_lines(root / "judges" / "fake.jsonl")
    verdicts = {(line["qid"], line["nugget"]): line["assignment"] for line in lines}
    assert len(verdicts) == len(lines), "a verdict twice"
    calls, torn_call = whole_lines(root / "judges" / "calls" / "fake.jsonl")
    for call in calls:
        for nugget, label in zip(call["nuggets"], call.get("labels", ()), strict=False):
            assert verdicts.setdefault((call["qid"], nugget), label[0]) == label[0], "a wrong verdict"
    return verdicts, torn or torn_call


def whole_lines(path: Path) -> tuple[list[dict[str, Any]], bool]:
    *whole, rest = (path.read_bytes() if path.exists() else b"").split(b"\n")
    return [json.loads(line) for line in whole], bool(rest)


def start(root: Path) -> int:
    """The process id of a child that asks. It is forked, because a new start takes longer than most lives here."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        code = ask(root)
    finally:
        os._exit(code)


def ask(root: Path) -> int:
    with redirect_stdout(io.StringIO()):
        return nuggeteer(["ask", "night", "--all", "--collection", str(root)])


def run(kills: int, folder: Path, seed: int = 0) -> Figures:
    """Kill so many times; raises AssertionError if anything is lost or paid for twice."""
    rng, figures, longest_life = random.Random(seed), Figures(), LONGEST_LIFE
    ours, theirs = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=serve, args=(theirs, 1), daemon=True)
    server.start()
    url = ours.recv()
    warm = make_collection(folder / "warm", url, 1)  # so that the children have all modules from the start
    assert ask(warm) == 0
    ours.send(True)
    ours.recv()
    while figures.kills < kills:
        figures.collections += 1
        root = make_collection(folder / str(figures.collections), url)
        known: dict[tuple[str, str], str] = {}
        torn = 0
        while True:
            child = start(root)
            time.sleep(rng.uniform(0, longest_life))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            killed = os.WIFSIGNALED(status)
            assert killed or os.WEXITSTATUS(status) == 0, f"exit code {os.WEXITSTATUS(status)}"
            figures.kills += killed
            ours.send(True)
            asked = ours.recv()
            twice = [pair for _, _, _, own in asked for pair in own if pair in known]
            assert not twice, f"asked again although the verdict was in the ledger: {twice}"
            earlier, (known, is_torn) = known, ledger(root)
            assert earlier.items() <= known.items(), "a verdict is gone"
            torn += is_torn
            longest_life *= 1 if asked else 1.1
            last = {connection: place for place, (connection, *_) in enumerate(asked)}
            for place, (connection, answered, unread, own) in enumerate(asked):
                figures.replies += answered
                assert all(known.get(pair, label) == label for pair, label in own.items()), "a wrong label"
                if answered and not own.items() <= known.items():
                    figures.unread += unread
                    figures.unwritten += not unread
                    assert last[connection] == place, f"lost although the next was asked for: {own}"
            if len(known) == QUESTIONS * len(NUGGETS) or figures.kills >= kills:
                break
        figures.verdicts += len(known)
        figures.torn += torn
        assert len(list((root / "judges").rglob("fake.jsonl.torn-*"))) <= torn, "a line was set aside that was not torn"
    ours.send(False)
    server.join(5)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(args.kills, Path(folder), args.seed)
    print(f"{figures} in {time.monotonic() - started:.0f} s", file=sys.stdout)


if __name__ == "__main__":
    main()
