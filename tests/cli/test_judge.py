"""`judge` on the command line: which options go together, what a pipe gets, what other programs get."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import sys
from functools import partialmethod

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.judging.session import Session
from tests.screens import hostile


@pytest.fixture
def here(copy_of_sample, tmp_path, monkeypatch):
    folder = copy_of_sample(tmp_path / "here")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NUGGETEER_ASSESSOR", "ann")
    return folder


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
        ("build-103 --audit 5 --pairs", "--audit and --pairs"),
        ("build-103 --list --minutes 5", "--list and --minutes"),
        ("build-103 --minutes 0", "0"),
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
def test_the_list_has_whole_answers_in_the_order_in_which_they_are_asked(here, capsys, monkeypatch):
    """What other programs read: scope and seconds of each verdict, those of one answer together."""
    assert main(["judge", "build-103", "--list", "3", "--json", "-"]) == 0
    listed = json.loads(capsys.readouterr().out)
    said = listed["suggestions"]
    answers = [(one["qid"], one["run"]) for one in said]
    assert len(said) >= 3
    assert len(set(answers)) == sum(a != b for a, b in itertools.pairwise([None, *answers])), "together"
    collection = read_collection(here)
    run = collection.run("build-103")
    for one in said:
        question = collection.key.position[one["qid"]]
        texts = run.texts[slice(*run.offsets[question : question + 2])]
        assert one["text"] == (run.answer(question) if one["scope"] == "answer" else texts[0])
        assert one["scope"] == ("response" if len(texts) == 1 else "answer")
        assert one["seconds"] > 4
    firsts = [i for i in range(len(said)) if i == 0 or answers[i] != answers[i - 1]]
    assert all(said[i]["seconds"] > said[i + 1]["seconds"] for i in firsts if i + 1 not in firsts and i + 1 < len(said))
    assert listed["width_after"]["0"] == pytest.approx(listed["judging"][1] - listed["judging"][0])
    assert listed["width_after"]["40"] < listed["width_after"]["10"] < listed["width_after"]["0"]
    # The same when asked again, and what was judged is gone.
    first = said[0]["qid"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n"))
    assert main(["judge", "build-103"]) == 0
    capsys.readouterr()
    assert main(["judge", "build-103", "--list", "3", "--json", "-"]) == 0
    again = json.loads(capsys.readouterr().out)["suggestions"]
    assert first not in {one["qid"] for one in again}


@pytest.mark.slow
def test_a_change_is_asked_about_with_both_answers_together(here, capsys):
    assert main(["judge", "build-103", "--against", "build-102", "--list", "200", "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)["suggestions"]
    order = [qid for qid, _ in itertools.groupby(said, key=lambda one: one["qid"])]
    assert len(order) == len(set(order))
    both = [{one["run"] for one in own} for _, own in itertools.groupby(said, key=lambda one: one["qid"])]
    assert {"build-102", "build-103"} in both


@pytest.mark.slow
def test_a_sitting_of_minutes_ends_by_itself_and_says_so(here, capsys, monkeypatch):
    clock = itertools.count(0.0, 20.0)
    monkeypatch.setattr(Session, "__init__", partialmethod(Session.__init__, clock=lambda: next(clock)))
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n" * 500))
    assert main(["judge", "build-103", "--minutes", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"The time is over\. \d+ verdicts by ann", out)
    assert " minutes left" in out or "1 minute left" in out
    assert len(read_collection(here).run_names) > 0
    assert 0 < (here / "judgements" / "ann.jsonl").read_text(encoding="utf-8").count("\n") < 60


@pytest.mark.slow
def test_pair_by_pair_asks_about_one_response_at_a_time(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\nn\nn\n"))
    assert main(["judge", "build-103", "--pairs"]) == 0
    lines = [json.loads(line) for line in (here / "judgements" / "ann.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line.get("scope") for line in lines] == [None] * 3
    assert len({(line["qid"], line["nugget"], line["text"]) for line in lines}) == 3


@pytest.mark.slow
def test_an_audit_is_drawn_once_and_gone_on_with(here, capsys, monkeypatch):
    """What is settled is not asked again, and the file that was drawn does not change."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n"))
    assert main(["judge", "build-103", "--audit", "12"]) == 0
    drawn = list((here / "judgements" / "audits").iterdir())
    content = drawn[0].read_bytes()
    planned = int(re.search(r"audit: (\d+) of \1 left", capsys.readouterr().out)[1])
    assert planned > 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("g\n" + "a\n" * (planned - 2)))
    assert main(["judge", "build-103", "--audit", "12"]) == 0
    out = capsys.readouterr().out
    assert f"audit: {planned - 1} of {planned} left" in out
    assert "an audit is blind" in out
    assert "guess:" not in out
    assert [path.read_bytes() for path in (here / "judgements" / "audits").iterdir()] == [content]
    marks = [json.loads(line)["audit"] for line in (here / "judgements" / "ann.jsonl").read_text().splitlines()]
    assert {mark["place"] for mark in marks} == set(range(1, planned))
    assert main(["score", "build-103", "--audited"]) == 0
    assert f"{planned - 1}/{planned}" in capsys.readouterr().out


@pytest.mark.slow
def test_what_was_judged_is_in_the_log(here, capsys, monkeypatch):
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
    assert "q1" in out
    assert "\\x1b]0;owned" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_fixed_threshold_says_that_it_has_nothing_to_list(here, capsys):
    (here / "nuggeteer.toml").write_text('[threshold]\nmodel = "fixed"\n')
    assert main(["judge", "build-103", "--list"]) == 0
    assert "cannot say how sure its guesses are" in capsys.readouterr().out
    assert main(["judge", "build-103", "--list", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["width_after"] is None
