"""Much of the same is told briefly, and a script learns that its verdicts were not written."""

from __future__ import annotations

import io
import json

import pytest

from nuggeteer.cli.main import main
from tests.conftest import write_lines

MANY = 3000


@pytest.fixture
def root(collect):
    root = collect([{"qid": "q", "nugget": "1", "text": "a red fox"}], {"r": [("q", "a red fox came")]}).root
    qids = ["q", *(f"x{i}" for i in range(MANY))]
    write_lines(root / "questions.jsonl", [{"qid": qid, "text": "?"} for qid in qids])
    return root


def test_equal_warnings_are_one_line_with_a_count_and_the_first_lines(root, capsys, tmp_path):
    assert main(["check", "--collection", str(root), "--json", str(tmp_path / "all.json")]) == 0
    printed = capsys.readouterr().out
    assert len(printed) < 2000
    assert f"{MANY - 1:,} more of this kind, first in lines 3, 4, 5" in printed
    assert len(json.loads((tmp_path / "all.json").read_text())["problems"]) >= MANY


def test_every_error_and_every_other_warning_is_listed(root, capsys):
    with (root / "questions.jsonl").open("a") as file:
        file.write("{}\n" * 20 + '\n{"qid": "y", "text": "?", "extra": 1, "extra": 2}\n')
    assert main(["check", "--collection", str(root)]) == 2
    printed = capsys.readouterr().out
    assert len([line for line in printed.splitlines() if line.startswith("error")]) >= 20
    assert "blank line" in printed
    assert "'extra' occurs twice" in printed


@pytest.mark.parametrize(("lines", "code"), [("n\nq\n", 0), ("n\n", 2), ("maybe\nq\n", 2)])
def test_a_script_learns_that_verdicts_were_not_written(collect, monkeypatch, capsys, lines, code):
    root = collect([{"qid": "q", "nugget": "1", "text": "a red fox"}], {"r": [("q", "a red fox came")]}).root
    if code and lines == "n\n":  # where the file should be is a folder
        (root / "judgements" / "ann.jsonl").mkdir()
        monkeypatch.setattr("nuggeteer.formats.canonical.is_regular", lambda path, *_: path.is_file())
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert main(["judge", "r", "--collection", str(root), "--plain", "--assessor", "ann"]) == code
    seen = capsys.readouterr()
    assert ("not everything was written" in seen.err) == bool(code)
    assert ("1 verdict by ann" in seen.out) == (code == 0)
