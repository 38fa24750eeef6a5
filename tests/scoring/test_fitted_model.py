"""The threshold model that the settings name decides in every command, and code of others runs only if its user says
so."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.judging.reading_order import ReadingOrder, suggest
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.settings import installed_models
from nuggeteer.thresholds import noisy

OWN = """
from nuggeteer.thresholds import FixedThreshold

print("this code ran")

def make(evidence):
    return FixedThreshold(0.123)

def wrong(evidence):
    return 7
"""


@pytest.fixture
def folder(sample, tmp_path):
    return shutil.copytree(sample.root, tmp_path / "here", ignore=shutil.ignore_patterns(".nuggeteer"))


def with_model(folder, name, more=""):
    (folder / "nuggeteer.toml").write_text(f'[threshold]\nmodel = "{name}"\n{more}')
    return read_collection(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", noisy.NAMES)
def test_each_model_scores_with_an_interval_and_says_so(folder, name):
    result = score(with_model(folder, name), ["build-101"])
    f3 = result["build-101"].measures["f3"]
    assert f3.judging[0] < f3.value < f3.judging[1]
    assert f"|threshold:{name}(" in result.signature


@pytest.mark.slow
def test_a_model_suggests_verdicts_that_narrow_and_forecasts_by_how_much(folder):
    scorer = Scorer(with_model(folder, "nugget"), ["f3"])
    matched = scorer.read("build-101")
    found = suggest(scorer, matched, scorer.measures[0], 5)
    assert len(found) >= 5  # the last card is whole
    assert all(0 < one.probability < 1 and one.share > 0 for one in found)
    expected = ReadingOrder(scorer, matched, scorer.measures[0]).forecast()
    assert expected.width_after(10) < expected.now
    assert found[0].share < 0.2  # no verdict does it all: thresholds of other nuggets stay unknown


@pytest.mark.slow
def test_every_command_decides_by_it(folder, capsys, monkeypatch, few_pairs):
    with_model(folder, "question")
    monkeypatch.chdir(folder)
    signed = set()
    for command in (
        "score build-101",
        "diff build-101 build-102",
        "compare build-101 build-102",
        "judge build-101 --list 3",
        "score build-101 --record",
        "nightly build-102",
        "report build-102 --output page.html",
    ):
        assert main([*command.split(), "--json", "out.json"]) == 0
        written = (folder / "out.json").read_text()
        if "signature" in json.loads(written):
            signed.add(command.split()[0])
            assert "threshold:question(" in written, command
    assert signed >= {"score", "diff", "compare", "nightly"}


def test_code_that_a_received_collection_names_does_not_run(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "theirs.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    collection = with_model(folder, "theirs:make")
    monkeypatch.setenv("NUGGETEER_MODELS", "others:make")
    with pytest.raises(NuggeteerError, match="NUGGETEER_MODELS to theirs:make"):
        score(collection, ["build-101"])
    assert "theirs" not in sys.modules
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_model_that_the_user_allows_decides(folder, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(OWN.replace("print", "str"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUGGETEER_MODELS", "others:make,mine:make,mine:wrong,mine:absent")
    assert score(with_model(folder, "mine:make"), ["build-101"]).model.threshold([0, 1]).tolist() == [0.123, 0.123]
    with pytest.raises(NuggeteerError, match="is a int, which has no signature, threshold, draw"):
        score(with_model(folder, "mine:wrong"), ["build-101"])
    with pytest.raises(NuggeteerError, match="cannot be made"):
        score(with_model(folder, "mine:absent"), ["build-101"])


@pytest.mark.slow
def test_a_model_on_the_command_line_is_the_user_s_own_word(folder, tmp_path, monkeypatch, capsys):
    """Of this name only: what the settings name still does not run."""
    (tmp_path / "typed.py").write_text(OWN.replace("print", "str"))
    (tmp_path / "theirs.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUGGETEER_MODELS", "")
    with_model(folder, "theirs:make")
    where = ["--collection", str(folder)]
    for command in (["score", "build-101"], ["diff", "build-101", "build-102"], ["compare", "build-101", "build-102"]):
        monkeypatch.setenv("NUGGETEER_MODELS", "")
        assert main([*command, *where]) == 2
        assert "or name it with --model" in capsys.readouterr().err
        assert main([*command, *where, "--model", "typed:make", "--json", "-"]) == 0
        capsys.readouterr()
    assert "theirs" not in sys.modules
    assert "typed" in sys.modules
    assert main(["score", "build-101", *where, "--model", "question", "--json", "-"]) == 0
    assert "threshold:question(" in json.loads(capsys.readouterr().out)["signature"]
    assert main(["score", "build-101", *where, "--model", "nuget"]) == 2
    assert "there is no threshold model 'nuget'; did you mean nugget? there are" in capsys.readouterr().err


def test_an_installed_model_goes_by_its_name(folder, tmp_path, monkeypatch):
    (tmp_path / "packaged.py").write_text(OWN.replace("print", "str"))
    info = tmp_path / "packaged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: packaged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nuggeteer.models]\nhouse = packaged:make\nsmooth = packaged:wrong\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(installed_models()) == ["house"], "our own names cannot be taken"
    assert score(with_model(folder, "house"), ["build-101"]).model.value == 0.123


def test_an_unknown_model_is_named_with_those_that_exist(folder):
    with pytest.raises(InputError, match="'nugget-errors'"):
        with_model(folder, "nuget")
    with pytest.raises(InputError, match="does not have the model 'fixed'"):
        with_model(folder, "fixed", 'engine = "pymc"\n')
