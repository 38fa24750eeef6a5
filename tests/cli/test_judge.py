"""`judge` on the command line: which options go together, what a pipe gets, what other programs get."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import sample_folder
from tests.screens import hostile


@pytest.fixture
def here(tmp_path, monkeypatch):
    shutil.copytree(sample_folder(), tmp_path / "here", ignore=shutil.ignore_patterns(".nuggeteer"))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("NUGGETEER_ASSESSOR", "ann")
    return tmp_path / "here"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "needs a run"),
        ("build-103 --json -", "--json needs --page, --list"),
        ("build-103 --log", "--log and a run"),
        ("build-103 --import x.csv", "--import and a run"),
        ("--import x.csv --plain", "--import and --plain"),
        ("build-103 --list --question def-01", "--list and --question"),
        ("build-103 --list --plain", "--list and --plain"),
        ("build-103 --plan 0.1 --against build-102", "--plan and --against"),
        ("build-103 --audit 5 --question def-01", "--audit and --question"),
        ("build-103 --audit 5 --against build-102", "--audit and --against"),
        ("build-103 --audit 5 --width 0.1", "--audit and --width"),
        ("build-103 --list --log", "not allowed with"),
        ("build-103 --audit 0", "not a whole number from 1"),
        ("build-103 --width 0", "not a width"),
        ("build-103 --width nan", "not a width"),
        ("nowhere", "no such run or file"),
        ("build-103 --question def-99", "def-99: no such question"),
        ("build-103 --measure f7x", "f7x"),
        ("build-103 --assessor ../x", "cannot be an assessor's name"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(here, capsys, words, said):
    before = sorted(path for path in (here / "judgements").rglob("*"))
    assert main(["judge", *words.split()]) == 2
    assert said in capsys.readouterr().err
    assert sorted(path for path in (here / "judgements").rglob("*")) == before


@pytest.mark.slow
def test_on_a_pipe_it_asks_line_by_line(here):
    done = subprocess.run(
        [sys.executable, "-m", "nuggeteer", "judge", "build-103", "--question", "rag-02"],
        input="n\ny\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert "2 verdicts by ann" in done.stdout
    assert "\x1b" not in done.stdout
    lines = (here / "judgements" / "ann.jsonl").read_text(encoding="utf-8").splitlines()
    assert [(json.loads(line)["qid"], json.loads(line)["verdict"]) for line in lines] == [
        ("rag-02", False),
        ("rag-02", True),
    ]


@pytest.mark.slow
def test_the_list_is_what_was_drawn_and_stays_until_it_is_judged(here, capsys):
    assert main(["judge", "build-103", "--list", "3", "--json", "-"]) == 0
    listed = json.loads(capsys.readouterr().out)
    drawn = read_collection(here).draws
    said = [(one["qid"], one["nugget"], one["text"], one["chance"]) for one in listed["suggestions"]]
    assert said == [(pair.qid, pair.nugget, pair.text, pair.chance) for pair in drawn]
    assert all(0 < one["share"] < 1 for one in listed["suggestions"])
    assert main(["judge", "build-103", "--list", "3", "--json", "-"]) == 0
    again = json.loads(capsys.readouterr().out)["suggestions"]
    assert [(one["text"], one["chance"]) for one in again] == [(pair.text, None) for pair in drawn]
    assert listed["width_after"]["0"] == pytest.approx(listed["judging"][1] - listed["judging"][0])
    assert listed["width_after"]["100"] < listed["width_after"]["10"] < listed["width_after"]["0"]


@pytest.mark.slow
def test_an_audit_is_drawn_once_and_gone_on_with(here, capsys, monkeypatch):
    """What is settled is not asked again, and the file that was drawn does not change."""
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("N\nN\n"))
    assert main(["judge", "build-103", "--audit", "3"]) == 0
    drawn = list((here / "judgements" / "audits").iterdir())
    content = drawn[0].read_bytes()
    assert "audit: 3 of 3 left" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO("g\ng\n"))
    assert main(["judge", "build-103", "--audit", "3"]) == 0
    out = capsys.readouterr().out
    assert "audit: 1 of 3 left" in out
    assert "an audit is blind" in out
    assert "guess:" not in out
    assert [path.read_bytes() for path in (here / "judgements" / "audits").iterdir()] == [content]
    marks = [json.loads(line)["audit"] for line in (here / "judgements" / "ann.jsonl").read_text().splitlines()]
    assert {mark["place"] for mark in marks} == {1, 2}
    assert main(["score", "build-103", "--audited"]) == 0
    assert "2/3" in capsys.readouterr().out


@pytest.mark.slow
def test_what_was_judged_is_in_the_log(here, capsys, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("r it says so\ny\nu\n"))
    assert main(["judge", "build-103", "--question", "def-01"]) == 0
    capsys.readouterr()
    assert main(["judge", "--log", "--assessor", "ann", "--json", "-"]) == 0
    log = json.loads(capsys.readouterr().out)["log"]
    assert [(line["verdict"], line["retraction"], line["reason"]) for line in log] == [
        (True, False, "it says so"),
        (None, True, None),
    ]


def test_the_list_makes_hostile_texts_harmless(collect, capsys):
    root = hostile.collection(collect)
    assert main(["judge", "tonight", "--list", "9", "--collection", str(root)]) == 0
    out = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in out)
    assert "[b]1[/b]" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_fixed_threshold_says_that_it_has_nothing_to_list(here, capsys):
    (here / "nuggeteer.toml").write_text('[threshold]\nmodel = "fixed"\n')
    assert main(["judge", "build-103", "--list"]) == 0
    assert "cannot say how sure its guesses are" in capsys.readouterr().out
    assert main(["judge", "build-103", "--list", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["width_after"] is None
