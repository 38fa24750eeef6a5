"""What commands print on the sample collection, word for word.

`scripts/update-golden` writes the files anew; read their diff before you commit it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.sample import copy_sample

HERE = Path(__file__).parent
CASES = {
    "score": ["score", "build-101", "build-102", "build-103", "aurora"],
    "score-questions": ["score", "build-103", "--questions"],
    "score-nuggets": ["score", "build-102", "--nuggets"],
    "score-measures": ["score", "cobalt", "--measures", "f1,vital_score,strict_all_score"],
    "check": ["check", "--collection", "."],
    "demo": ["demo", "."],
    "simulate": ["simulate", "made-up", "--questions", "2", "--systems", "2"],
    "convert-key": ["convert", "trec-key", "--out", "key.txt"],
    "help": ["--help"],
    "help-score": ["score", "--help"],
}


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_it_was(name, tmp_path, monkeypatch, capsys):
    """At 80 columns, on a pipe."""
    copy_sample(tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(CASES[name]) == 0
    text = re.sub(r"nuggeteer:\d+\.\d+\.\d+", "nuggeteer:VERSION", capsys.readouterr().out)
    # What is meant to be copied or read by programs is not broken: signatures, and problems with their place.
    whole = ("nuggeteer:VERSION", "warning ", "error ")
    assert all(len(line) <= 80 or line.startswith(whole) for line in text.splitlines())
    golden = HERE / f"{name}.txt"
    if os.environ.get("NUGGETEER_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
