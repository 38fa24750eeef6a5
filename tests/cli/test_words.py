"""What a newcomer reads in the first week, said as one would tell a colleague; each was not understood once."""

from __future__ import annotations

import re
import shutil
from types import SimpleNamespace

import pytest

from nuggeteer.cli.main import main
from nuggeteer.reports.nightly import _advice
from tests.conftest import write_lines


@pytest.fixture
def here(_sample_folder, tmp_path, monkeypatch):
    root = shutil.copytree(_sample_folder, tmp_path / "qa")
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    return root


@pytest.fixture
def said(capsys):
    """What a command prints, on one line."""

    def run(*arguments):
        capsys.readouterr()
        main(list(arguments))
        return " ".join(capsys.readouterr().out.split())

    return run


def test_counts_of_guesses_are_expected_counts(here, said):
    """A count with a digit behind the point is an expectation, and one without is a fact."""
    shutil.rmtree(here / "judgements")
    (here / "runs.jsonl").unlink()
    out = said("score", "build-101", "--questions")
    assert re.search(r"def-01 .*? \d+\.\d/\d+ ", out)
    assert re.search(r"def-01 .*? \d+/\d+ ", said("score", "aurora", "--questions")) is not None


def test_without_a_verdict_it_says_with_what_to_begin_once(here, said):
    shutil.rmtree(here / "judgements")
    (here / "runs.jsonl").unlink()
    said("nightly", "build-101")
    out = said("nightly", "build-102")
    begin = "nuggeteer judge build-102 --against build-101"
    assert out.startswith(
        f"UNDECIDED Nobody has read any answer yet, so this cannot be decided. Begin with: {begin} build-102"
    )
    assert out.count(begin) == 1
    assert "for questions like these" in out


@pytest.mark.parametrize(("minutes", "verdicts", "said"), [(0.4, 1, "1 minute (1 verdict)"), (3, 9, "3 minutes (9 v")])
def test_one_minute_of_reading_is_likely_to_decide_it_and_so_are_many(minutes, verdicts, said):
    needed = SimpleNamespace(minutes=minutes, verdicts=verdicts, questions=None)
    ruling = SimpleNamespace(basis="guessed", strange=())
    night = SimpleNamespace(asked="b", against="a", old="a", decision="UNDECIDED", ruling=ruling, needed=needed)
    ((sentence, _),) = _advice(night)
    assert sentence.startswith(f"Reading for about {said}")
    assert sentence.endswith(") is likely to decide it:")


def test_where_all_is_read_nobody_is_asked_to_read(here, said):
    out = said("nightly", "aurora")
    assert "100 % known" in out
    assert "judge" not in out


@pytest.mark.slow
def test_the_history_says_what_its_alarm_can_see(here, said):
    write_lines(here / "runs.jsonl", [])
    for build in ("build-101", "build-102"):
        said("nightly", build)
    out = said("history")
    assert "2 builds so far are too few to show a trend; for last night, use diff." in out
    assert "All runs are taken as builds of one system. If not, say so in runs.jsonl." in out


@pytest.mark.slow
def test_a_plan_says_what_reading_cannot_do(here, said):
    out = said("judge", "build-101", "--plan", "0.05")
    assert "Reading alone cannot reach 0.050: with everything read it is " in out
    assert "bottleneck" not in out
    out = said("plan", "build-101", "--width", "0.1")
    assert "without" not in out
    assert "price" not in out


@pytest.mark.slow
def test_the_first_page_says_how_to_get_a_trend(here, said):
    said("report", "build-101", "--output", "page.html")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "nuggeteer nightly RUN" in page
    assert "--record" not in page
    said("nightly", "build-101")
    said("nightly", "build-102", "--page", "page.html")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "not comparable" not in page
    assert "Not clearly different" not in page


@pytest.mark.slow
def test_the_same_answer_to_many_questions_is_named(here, capsys):
    """In whatever reads it: a check, a score, a look at a foreign file."""
    refusal = "I cannot answer that."
    write_lines(here / "runs" / "sorry.jsonl", [{"qid": f"def-0{i}", "text": refusal} for i in range(1, 9)])
    for command in (["score", "sorry"], ["check"]):
        main(command)
        told = capsys.readouterr()
        assert f"8 questions have the same answer, '{refusal}'" in told.out + told.err
    rows = "question,answer\n" + "".join(f"What is {i}?,{refusal}\n" for i in range(5)) + "What is 7?,null\n"
    (here.parent / "rows.csv").write_text(rows)
    main(["doctor", str(here.parent / "rows.csv")])
    told = " ".join("".join(capsys.readouterr()).split())
    assert f"5 questions have the same answer, '{refusal}'" in told
    assert "1 question whose answer is null or missing" in told


@pytest.mark.slow
def test_a_run_that_the_manifest_does_not_list_is_said_to_be_alone(here, said):
    said("nightly", "build-101")
    shutil.copy(here / "runs" / "build-102.jsonl", here / "runs" / "mine.jsonl")
    unlisted = 'runs.jsonl lists other runs, not this one: give it the "group" of its system.'
    assert unlisted in said("nightly", "mine")
    (here / "runs.jsonl").unlink()
    assert unlisted not in said("nightly", "mine", "--label", "again")
