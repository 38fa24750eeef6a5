"""The sample collection: what it promises to be."""

from __future__ import annotations

import json
import shutil

import pytest

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import copy_sample, sample_folder
from nuggeteer.errors import InputError
from nuggeteer.scoring.scorer import score
from nuggeteer.text import normalised
from nuggeteer.thresholds import FixedThreshold
from tests.conftest import ROOT

BUILDS = ["build-101", "build-102", "build-103"]
SYSTEMS = ["aurora", "basalt", "cobalt", "dune"]


@pytest.fixture
def truth():
    """The pairs of the builds that are a yes."""
    lines = (ROOT / "judgements" / "truth" / "builds.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def judged_whole(sample, truth, tmp_path):
    """The sample with the builds judged too."""
    folder = tmp_path / "whole"
    shutil.copytree(sample.root, folder)
    manifest = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    (folder / "runs.jsonl").write_text(
        "".join(
            json.dumps({**info, "judged": "every" if info["run"] in BUILDS else info["judged"]}) + "\n"
            for info in manifest
        )
    )
    (folder / "judgements" / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in truth))
    return read_collection(folder)


def test_the_truth_is_about_texts_and_nuggets_that_exist(sample, truth):
    present = {
        (name, sample.key.questions[q].qid, normalised(text))
        for name in BUILDS
        for q, text in zip(sample.run(name).question.tolist(), sample.run(name).texts, strict=True)
    }
    assert all((t["run"], t["qid"], normalised(t["text"])) in present for t in truth)
    assert all((t["qid"], t["nugget"]) in sample.key.nugget_position for t in truth)


def test_judgements_and_truth_never_contradict_each_other(judged_whole):
    assert not [problem for problem in check(judged_whole.root) if "contradicts" in problem.what]


def test_official_scores_are_the_scores_of_the_judgements_alone(sample):
    """With a threshold that nothing passes, only what the assessor marked counts, as at TREC."""
    marked = score(sample, SYSTEMS, ["f3"], FixedThreshold(1.0))
    for name in SYSTEMS:
        assert sample.manifest[name].official["f3"] == pytest.approx(marked[name].measures["f3"].value, abs=5e-4)


def test_it_is_hard_enough_that_the_tool_errs_in_both_directions(sample, judged_whole):
    """By a fixed threshold, some nuggets are claimed that are not there and some are missed; most are right."""
    guessed, true = score(sample, BUILDS, model=FixedThreshold(0.2)), score(judged_whole, BUILDS)
    for name in BUILDS:
        a, b = guessed[name].outcome.found, true[name].outcome.found
        assert true[name].outcome.pairs_guessed == 0
        assert (a & ~b).sum() >= 5
        assert (~a & b).sum() >= 1
        assert (a == b).mean() > 0.6


def test_the_builds_true_scores_lie_in_their_intervals(sample, judged_whole):
    """Word overlap errs here, and the model says so: every build's true score is within what judging alone
    leaves open."""
    guessed, true = score(sample, BUILDS), score(judged_whole, BUILDS)
    for name in BUILDS:
        for measure in ("f3", "recall", "pyramid_f3", "macro_f3"):
            low, high = guessed[name].measures[measure].judging
            assert low <= true[name].measures[measure].value <= high


def test_copying_leaves_a_collection_alone_and_refuses_other_folders(tmp_path):
    assert copy_sample(tmp_path / "new" / "demo")
    (tmp_path / "new" / "demo" / "judgements" / "mine.jsonl").write_text("")
    assert not copy_sample(tmp_path / "new" / "demo")
    assert (tmp_path / "new" / "demo" / "judgements" / "mine.jsonl").exists()
    with pytest.raises(InputError):
        copy_sample(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        copy_sample(tmp_path / "file")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "new"]


def test_an_empty_folder_is_filled_also_from_inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert copy_sample(".")
    assert read_collection(tmp_path).run_names == read_collection(sample_folder()).run_names
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        p.name for p in sample_folder().iterdir() if p.name != ".nuggeteer"
    )
