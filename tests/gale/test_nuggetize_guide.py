"""What docs/guides/gale.md says of `nuggetize`, done."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.gale.templates import TYPES
from tests.conftest import ROOT


@pytest.fixture
def page(nuggetizer, tmp_path, monkeypatch):
    """The part on automatic nuggets, in a folder with the files that it shows."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/guides/gale.md").read_text(encoding="utf-8")
    part = text.split("\n## Nuggets found automatically")[1].split("\n## ")[0]
    shown = re.findall(r"`([\w-]+\.\w+)`[^`]*\n\n```(text|toml|jsonl)\n(.*?)```", part, re.DOTALL)
    assert [name for name, _, _ in shown] == ["snippets.txt", "own.toml", "judged.jsonl", "good-answer.txt"]
    for name, _, body in shown:
        (tmp_path / name).write_text(body, encoding="utf-8")
    return part


@pytest.mark.slow
def test_every_command_runs_on_the_files_it_shows(page, capsys):
    commands = [line for line in page.splitlines() if line.startswith("nuggeteer ")]
    assert len(commands) >= 7
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command
        assert capsys.readouterr().out
    lines = [json.loads(line) for line in Path("proposed.jsonl").read_text().splitlines()]
    assert "Enrico Fermi, an Italian physicist, built the first reactor in Chicago" in [line["text"] for line in lines]


def test_the_worked_example_is_as_it_says(page, capsys):
    assert main(["nuggetize", "--score", "judged.jsonl", "--json", "-"]) == 0
    query = json.loads(capsys.readouterr().out)["queries"][0]
    assert query["distillers"][0]["precision"] == pytest.approx(2 / 3)


def test_the_examples_in_the_table_of_types_are_of_their_types(page, nuggetizer):
    rows = re.findall(r"^\| ([A-Z, ]+) \|[^|]*\| (.*\[\[.*\]\].*) \|$", page, re.MULTILINE)
    assert {kind for kinds, _ in rows for kind in kinds.split(", ")} == set(TYPES)
    for kinds, marked in rows:
        text = re.sub(r"\[\[|\]\]", "", marked)
        ((told, found),) = nuggetizer.all([text if text[0].isupper() else f"Smith {text}"])
        words = {(n.type, " ".join(told[a:b] for a, b in n.spans)) for n in found}
        for piece in re.findall(r"\[\[(.*?)\]\]", marked):
            assert any((kind, piece) in words for kind in kinds.split(", ")), (kinds, piece)
