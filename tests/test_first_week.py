"""The guide to the first week, done: its commands run as they stand, and print what it shows."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests import excerpts
from tests.conftest import ROOT

PAGE = ROOT / "docs/guides/first-week.md"

# In place of the person: twenty verdicts by the truth that the sample knows.
ASSESSOR = """\
import json, sys
from pathlib import Path
from nuggeteer.collection.ledger import Ledger
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, JudgingSubject

truth = {(line["qid"], line["nugget"], line["text"]) for line in map(json.loads, open(sys.argv[1], encoding="utf-8"))}
folder = Path.cwd()
session = Session(JudgingState.read(JudgingSubject(folder, sys.argv[2], None)), Ledger(folder, "ann"))
for _ in range(20):
    card = session.card()
    session.judge((card.question.qid, card.nugget.nugget, card.response.text) in truth)
"""


def at_night(line):
    """The line with the page's time instead of the time of the test."""
    return re.sub(r"\d{4}-\d\d-\d\d", "2026-01-05", re.sub(r"^\d\d-\d\d \d\d:\d\d", "01-05 03:17", line.rstrip()))


@pytest.mark.slow
def test_the_commands_run_and_print_what_the_page_shows(tmp_path):
    (tmp_path / "assessor.py").write_text(ASSESSOR, encoding="utf-8")
    truth = ROOT / "judgements" / "truth" / "builds.jsonl"
    judge = f'"{sys.executable}" "{tmp_path}/assessor.py" "{truth}"'
    instead = f'nuggeteer() {{ if [ "$1" = judge ]; then {judge} "$2"; else command nuggeteer "$@"; fi; }}'
    assert excerpts.check_guide(PAGE, tmp_path, before=instead, as_shown=at_night) == 5
    assert (tmp_path / "qa" / "report.html").is_file()


def test_the_lines_of_the_files_are_those_of_the_sample():
    """But for the votes and the docids, which the page leaves out."""
    nugget, response = (
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    )
    for shown, name in ((nugget, "nuggets.jsonl"), (response, "runs/build-101.jsonl")):
        text = (ROOT / "judgements" / "sample" / name).read_text(encoding="utf-8")
        assert any(shown.items() <= json.loads(line).items() for line in text.splitlines()), shown
