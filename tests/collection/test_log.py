"""The log: every verdict and retraction in order of time, and the sums."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from nuggeteer.collection.log import read_log
from nuggeteer.errors import InputError
from nuggeteer.reports import log as report
from tests.conftest import write_lines
from tests.reports.hostile import TRICKS

A = {"qid": "q1", "nugget": "1", "text": "one", "assessor": "ann"}
B = {"qid": "q2", "nugget": "1", "text": "two", "assessor": "bob"}


@pytest.fixture
def folder(tmp_path):
    """Ann says yes, takes it back, says no; bob partly; somebody before all of them; a machine."""
    write_lines(
        tmp_path / "judgements" / "x.jsonl",
        [
            {**A, "verdict": False, "at": "2026-01-03T00:00:00Z", "reason": "read it again"},
            {**A, "retracted": True, "at": "2026-01-02T00:00:00Z", "reason": "a slip"},
            {**B, "verdict": False, "partial": True, "at": "2026-01-01T23:00:00-05:00"},
            {**A, "verdict": True, "at": "2026-01-01T00:00:00Z"},
        ],
    )
    rest = [{"qid": "q1", "nugget": "2", "text": "three", "verdict": True}]
    rest += [{**B, "assessor": "gpt", "verdict": True, "machine": True, "at": "2026-01-09"}]
    write_lines(tmp_path / "judgements" / "y.jsonl", rest)
    return tmp_path


def printed(folder, **only):
    out = io.StringIO()
    report.draw(Console(file=out, width=80, markup=False, highlight=False, emoji=False), read_log(folder, **only))
    return out.getvalue()


def test_lines_are_in_order_of_time_whatever_the_zone_and_those_without_come_first(folder):
    assert [(line.entry.file[-7:], line.entry.line, line.stands) for line in read_log(folder).lines] == [
        ("y.jsonl", 1, True),
        ("x.jsonl", 4, False),
        ("x.jsonl", 2, False),
        ("x.jsonl", 3, True),
        ("x.jsonl", 1, True),
        ("y.jsonl", 2, True),
    ]


def test_sums_count_what_stands_and_what_was_taken_back(folder):
    shares = {share.assessor: share for share in read_log(folder).shares}
    counts = {who: (s.yes, s.partly, s.no, s.retracted, s.machine) for who, s in shares.items()}
    assert counts == {
        None: (1, 0, 0, 0, False),
        "ann": (0, 0, 1, 1, False),
        "bob": (0, 1, 0, 0, False),
        "gpt": (1, 0, 0, 0, True),
    }
    assert str(shares["ann"].first) == "2026-01-01 00:00:00+00:00"
    assert shares[None].first is None


@pytest.mark.parametrize(
    ("only", "count"),
    [({"assessor": "ann"}, 3), ({"qid": "q2"}, 2), ({"nugget": "2"}, 1), ({"assessor": "ann", "qid": "q2"}, 0)],
)
def test_only_some_lines(folder, only, count):
    log = read_log(folder, **only)
    assert len(log.lines) == count
    assert sum(s.yes + s.partly + s.no + s.retracted for s in log.shares) <= count


def test_json_has_every_line_with_its_place(folder):
    data = report.as_json(read_log(folder))
    first, yes, back, *_ = data["log"]
    assert (first["assessor"], first["at"], first["verdict"], first["stands"]) == (None, None, True, True)
    assert (yes["verdict"], yes["stands"], yes["retraction"], yes["line"]) == (True, False, False, 4)
    assert (back["verdict"], back["stands"], back["retraction"], back["reason"]) == (None, None, True, "a slip")
    assert [share["assessor"] for share in data["assessors"]] == [None, "ann", "bob", "gpt"]


def test_the_table_shows_what_was_taken_back_and_why(folder):
    text = printed(folder)
    assert "(yes)" in text
    assert re.search(r"taken back  one *\n +– a slip", text)
    assert "2026-01-02 04:00" in text
    assert text.index("read it again") > text.index("a slip")
    assert "count as known only if" in text
    assert max(map(len, text.splitlines())) <= 80


def test_an_empty_log_says_so(tmp_path):
    assert printed(tmp_path) == "No judgements.\n"


def test_a_long_log_shows_its_end(tmp_path):
    write_lines(
        tmp_path / "judgements" / "a.jsonl", ({**A, "verdict": True, "at": f"{2000 + n}-01-01"} for n in range(80))
    )
    text = printed(tmp_path)
    assert "The last 50 of 80 lines" in text
    assert "2079-01-01" in text
    assert "2029-01-01" not in text


def test_hostile_names_and_texts_are_harmless(tmp_path):
    trick = f"[bold]:smile: {TRICKS[-1]}"
    said = {"qid": "q1", "nugget": "1", "text": trick, "assessor": trick, "reason": trick, "verdict": True}
    write_lines(tmp_path / "judgements" / "a.jsonl", [said])
    text = printed(tmp_path)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "[bold]:smile:" in text


def test_a_bad_line_stops_the_log(folder):
    (folder / "judgements" / "z.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"z\.jsonl:1"):
        read_log(folder)
