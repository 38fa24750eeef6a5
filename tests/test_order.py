"""The order of lines in a ledger, and the names of ledgers, change no number: not even in its last bit."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.sample import sample_folder

COMMANDS = [
    ["score", "build-102", "build-103"],
    ["diff", "build-102", "build-103"],
    ["thresholds"],
    ["agree", "--list", "40"],
    ["crossval"],
]
TIMES = {"seconds"}
RUNS = ["build-101", "build-102", "build-103"]


def without_times(data):
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key not in TIMES}
    return list(map(without_times, data)) if isinstance(data, list) else data


def results(folder, capsys, command):
    shutil.rmtree(folder / ".nuggeteer", ignore_errors=True)
    assert main([*command, "--collection", str(folder), "--json", "-"]) == 0
    return without_times(json.loads(capsys.readouterr().out))


def shuffled(to: Path, seed: int) -> Path:
    """The sample with the lines of its ledgers in another order, in other files with other names."""
    shutil.copytree(sample_folder(), to, ignore=shutil.ignore_patterns(".nuggeteer"))
    rng = random.Random(seed)
    ledgers = sorted((to / "judgements").glob("*.jsonl"))
    lines = [line for ledger in ledgers for line in ledger.read_bytes().splitlines(keepends=True)]
    for ledger in ledgers:
        ledger.unlink()
    rng.shuffle(lines)
    for number in range(files := rng.randint(1, 4)):
        (to / "judgements" / f"{rng.random()}.jsonl").write_bytes(b"".join(lines[number::files]))
    return to


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_results_are_the_same_to_the_last_bit(tmp_path, capsys, command):
    one, other = (results(shuffled(tmp_path / str(seed) / "c", seed), capsys, command) for seed in (0, 1))
    assert one == other
