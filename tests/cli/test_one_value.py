"""One number has one value: whatever command prints it, and whatever other runs are in the call.

What the words of two builds say of their difference belongs to both, so the two scores beside a change are those that
differ by it, and not those of each run by itself."""

from __future__ import annotations

import json
import random

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import sample_folder

COMMANDS = "score", "scores", "compare", "history", "report", "nightly", "judge"
PARTS = "value", "hard", "low", "high", "judging", "sampling"


@pytest.fixture(scope="module")
def ask(copy_of_sample, tmp_path_factory):
    """Runs a command on a copy of the sample and returns its JSON."""
    folder = copy_of_sample(tmp_path_factory.mktemp("one") / "sample")

    def run(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setattr("nuggeteer.trust.reliability.PAIRS", 200)  # of which nothing is said here
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
        case "compare":
            return interval(of(ask("compare", *dict.fromkeys([*more, other, run])), run)["f3"])
        case "history":
            ask("score", run, "--record")
            build = ask("history")["trends"][0]["builds"][-1]
            return {part: build[part] for part in ("value", "low", "high")}
        case "report":
            page = ask("report", run, "--against", other, "--output", "page.html")
            return interval(of(page["scores"], run)["f3"])
        case "nightly":
            night = ask("nightly", run, "--against", other)
            return interval(night["score"])
        case "judge":
            listed = ask("judge", run, "--list", "1")
            return {part: listed[part] for part in ("value", "judging")}


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [("build-102", "build-103"), ("build-103", "aurora")])
def test_a_change_is_the_same_in_every_command_and_either_way(ask, old, new, capsys):
    """With the other sign when it is turned about; and the scores beside it differ by it."""
    changes = {
        "diff": ask("diff", old, new)["delta"]["f3"],
        "nightly": ask("nightly", new, "--against", old)["change"],
        "report": ask("report", new, "--against", old, "--output", "page.html")["changes"]["delta"]["f3"],
    }
    parts = (*PARTS, "old", "new", "p")
    for name, change in changes.items():
        assert {part: change[part] for part in parts} == {part: changes["diff"][part] for part in parts}, name
    change, turned = changes["diff"], ask("diff", new, old)["delta"]["f3"]
    assert turned["value"] == pytest.approx(-change["value"], abs=1e-9)
    for part in ("judging", "sampling"):
        assert turned[part] == pytest.approx([-change[part][1], -change[part][0]], abs=1e-9)
    assert (turned["old"], turned["new"]) == pytest.approx((change["new"], change["old"]))
    assert change["new"] - change["old"] == pytest.approx(change["value"])
    (pair,) = ask("compare", old, new)["measures"]["f3"]["pairs"]
    sign = 1 if pair["higher"] == new else -1
    assert sign * pair["difference"] == pytest.approx(change["value"], abs=1e-9)
    assert sorted((sign * pair["low"], sign * pair["high"])) == pytest.approx([change["low"], change["high"]])
    assert pair["p"] == pytest.approx(change["p"])
