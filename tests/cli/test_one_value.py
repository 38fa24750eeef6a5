"""One number has one value: whatever command prints it, and whatever other runs are in the call."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import sample_folder

COMMANDS = "score", "scores", "diff", "turned", "compare", "history", "report", "nightly", "judge"
PARTS = "value", "hard", "low", "high", "judging", "sampling"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Runs a command on a copy of the sample and returns its JSON."""
    folder = tmp_path_factory.mktemp("one") / "sample"
    shutil.copytree(sample_folder(), folder, ignore=shutil.ignore_patterns(".nuggeteer"))

    def run(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            main([*arguments, "--json", "result.json"])
            return json.loads((folder / "result.json").read_text(encoding="utf-8"))

    return run


def of(result, name):
    return next(run for run in result["runs"] if run["run"] == name)


def interval(found):
    return {part: found[part] for part in PARTS if part in found}


def printed(ask, command, run, other, more):
    """What a command says of a run's score: the value, and the interval if the command prints it."""
    match command:
        case "score":
            return interval(of(ask("score", run), run)["f3"])
        case "scores":
            return interval(of(ask("score", *more, run), run)["f3"])
        case "diff":
            return {"value": ask("diff", other, run)["delta"]["f3"]["new"]}
        case "turned":
            return {"value": ask("diff", run, other)["delta"]["f3"]["old"]}
        case "compare":
            return interval(of(ask("compare", *dict.fromkeys([*more, other, run])), run)["f3"])
        case "history":
            ask("score", run, "--record")
            build = ask("history")["trends"][0]["builds"][-1]
            return {part: build[part] for part in ("value", "low", "high")}
        case "report":
            page = ask("report", run, "--against", other, "--output", "page.html")
            assert page["changes"]["delta"]["f3"]["new"] == of(page["scores"], run)["f3"]["value"]
            return interval(of(page["scores"], run)["f3"])
        case "nightly":
            night = ask("nightly", run, "--against", other)
            assert night["change"]["new"] == night["score"]["value"]
            return interval(night["score"])
        case "judge":
            listed = ask("judge", run, "--list", "1")
            return {part: listed[part] for part in ("value", "judging")}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_score_is_the_same_in_every_command_and_company(ask, seed, capsys):
    """Other runs are of the same system and of others; they share texts with it."""
    rng = random.Random(seed)
    run = "build-103"
    others = [name for name in read_collection(sample_folder()).run_names if name != run]
    expected = printed(ask, "score", run, "", ())
    assert expected["judging"][0] < expected["value"] < expected["judging"][1]
    for command in COMMANDS[1:]:
        said = printed(ask, command, run, rng.choice(others), rng.sample(others, rng.randint(1, 4)))
        assert said == {part: expected[part] for part in said}, command
