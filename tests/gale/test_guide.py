"""What docs/guides/gale.md says of `distill`, done."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from nuggeteer.cli.main import main
from nuggeteer.statistics.intervals import MIN_QUESTIONS
from tests.conftest import ROOT, write_lines


def test_the_guide_names_as_many_queries_as_an_interval_takes():
    number = {5: "five"}[MIN_QUESTIONS]
    assert f"if there are {number} queries or more" in (ROOT / "docs/guides/gale.md").read_text(encoding="utf-8")


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The part on distillers, in a folder with its `gale.jsonl`, and the same unsorted in `found.jsonl`."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/guides/gale.md").read_text(encoding="utf-8")
    part = text.split("\n## Distillers")[1].split("\n## ")[0]
    lines = [json.loads(line) for line in re.findall(r"```jsonl\n(.*?)```", part, re.DOTALL)[0].splitlines()]
    write_lines(tmp_path / "gale.jsonl", lines)
    unsorted = [{k: v for k, v in line.items() if k != "nugs"} for line in lines if line["type"] != "nug"]
    write_lines(tmp_path / "found.jsonl", unsorted)
    answers = re.findall(r"```answers\n(.*?)```", part, re.DOTALL)
    for name, content in zip(("A.txt", "B.txt", "density.txt"), answers, strict=True):
        (tmp_path / name).write_text(content)
    return part


def test_every_command_runs(page, capsys):
    commands = [line for line in page.splitlines() if line.startswith("nuggeteer ")]
    assert len(commands) >= 4
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command
        assert capsys.readouterr().out


def test_nug_3_credits_the_system_and_ann_does_not_miss_it(page, capsys):
    assert main(["distill", "gale.jsonl", "--json", "-"]) == 0
    ann, system = json.loads(capsys.readouterr().out)["distillers"]
    assert ann["missing"] == 0
    assert (system["right"], system["missing"]) == (1.5, 1.0)  # nug 1 by half, nug 3; half of 1, the ½ of 2
