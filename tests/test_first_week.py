"""The guide to the first week, done: its commands run as they stand, and print what it shows."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests import excerpts
from tests.conftest import ROOT

PAGE = ROOT / "docs/guides/first-week.md"

# In place of the person: reading at the usual pace, by the truth that the sample knows.
ASSESSOR = """\
import argparse, json, sys
from datetime import datetime, timedelta
from pathlib import Path
from nuggeteer.collection.ledger import Ledger
from nuggeteer.judging.forecast import Pace
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, JudgingSubject

truth = {(line["qid"], line["nugget"], line["text"]) for line in map(json.loads, open(sys.argv[1], encoding="utf-8"))}
asked = argparse.ArgumentParser()
asked.add_argument("run")
asked.add_argument("--against")
asked.add_argument("--minutes", type=float)
asked = asked.parse_args(sys.argv[2:])
folder, pace, spent, shown, given = Path.cwd(), Pace(), [0.0], None, []
state = JudgingState.read(JudgingSubject(folder, asked.run, asked.against))
session = Session(state, Ledger(folder, "ann"), minutes=asked.minutes, clock=lambda: spent[0])
while (card := session.card()) is not None:
    qid, texts = card.question.qid, [response.text for response in card.answer]
    spent[0] += pace.decision(card.nugget.descriptions[0])
    if (qid, card.run) != shown:
        spent[0] += pace.reading(card.question.text, *texts)
    shown = qid, card.run
    given += [spent[0]] * len(session.judge(any((qid, card.nugget.nugget, text) in truth for text in texts)))
    if session.asked is not None and not session.open_nuggets:
        session.next()
# They were given one after the other, and not all at once.
path = folder / "judgements" / "ann.jsonl"
lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
day = 5 if len(given) == len(lines) else 9
for line, seconds in zip(lines[len(lines) - len(given) :], given, strict=True):
    line["at"] = (datetime(2026, 1, day, 9) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds") + "Z"
path.write_text("".join(json.dumps(line) + "\\n" for line in lines), encoding="utf-8")
"""


def at_night(line):
    """The line with the page's time instead of the time of the test."""
    return re.sub(r"\d{4}-\d\d-\d\d", "2026-01-05", re.sub(r"^\d\d-\d\d \d\d:\d\d", "01-05 03:17", line.rstrip()))


@pytest.mark.slow
def test_the_commands_run_and_print_what_the_page_shows(tmp_path):
    (tmp_path / "assessor.py").write_text(ASSESSOR, encoding="utf-8")
    truth = ROOT / "judgements" / "truth" / "builds.jsonl"
    judge = f'"{sys.executable}" "{tmp_path}/assessor.py" "{truth}"'
    instead = f'nuggeteer() {{ if [ "$1" = judge ]; then shift; {judge} "$@"; else command nuggeteer "$@"; fi; }}'
    assert excerpts.check_guide(PAGE, tmp_path, before=instead, as_shown=at_night) == 6
    assert (tmp_path / "qa" / "report.html").is_file()


def test_the_lines_of_the_files_are_those_of_the_sample():
    """But for the votes and the docids, which the page leaves out."""
    nugget, response = (
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    )
    for shown, name in ((nugget, "nuggets.jsonl"), (response, "runs/build-101.jsonl")):
        text = (ROOT / "judgements" / "sample" / name).read_text(encoding="utf-8")
        assert any(shown.items() <= json.loads(line).items() for line in text.splitlines()), shown
