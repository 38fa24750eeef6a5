"""What a file has no place for is counted, and nothing else is."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from nuggeteer.cli.main import main
from nuggeteer.collection.convert import convert_out, losses
from nuggeteer.collection.foreign import FORMATS
from nuggeteer.collection.sample import sample_folder
from nuggeteer.reports import foreign_files
from tests.conftest import write_lines

WRITTEN = [
    (name, "r" if format_.of_run else None) for name, format_ in FORMATS.items() if format_.of_run or format_.of_key
]
NUGGET = {"qid": "q1", "nugget": "1", "text": "built a reactor", "importance": "vital"}
RICH = {
    "votes": {"a": "vital", "b": "okay"},
    "tags": ["x", "y"],
    "descriptions": ["built a reactor", "made a pile"],
    "importance": "okay",
    "note": 3,
    "nugget": "n-7",
}


def collection(folder: Path, nugget=NUGGET, responses=({},), question=None, **verdict) -> Path:
    write_lines(folder / "questions.jsonl", [{"qid": "q1", "text": "Who?", **(question or {})}])
    write_lines(folder / "nuggets.jsonl", [nugget])
    texts = [f"He built a reactor {number}." for number in range(len(responses))]
    run = [{"qid": "q1", "text": text, **more} for text, more in zip(texts, responses, strict=True)]
    write_lines(folder / "runs" / "r.jsonl", run)
    if verdict:
        made = {"qid": "q1", "nugget": nugget["nugget"], "text": texts[0], "verdict": True, "run": "r", **verdict}
        write_lines(folder / "judgements" / "a.jsonl", [made])
    return folder


def lost(tmp_path, name, run, **parts):
    folder = collection(tmp_path / "c", **parts)
    target = tmp_path / "out"
    convert_out(name, folder, target, run)
    return {what: count for what, count in losses(name, folder, target, run).items() if count}


@pytest.mark.parametrize(("name", "run"), WRITTEN)
def test_of_a_plain_collection_little_is_lost(tmp_path, name, run):
    """TREC's runs have no questions. Everything else comes back."""
    expected = {"questions": 1} if name in ("trec-run", "trec-judgements") else {}
    assert lost(tmp_path, name, run) == expected


LOST_KEY = {
    "trec-key": {"ids", "votes", "descriptions", "tags", "other keys"},
    "nuggetizer-nuggets": {"ids", "votes", "descriptions", "tags", "other keys"},
    "nugget-bank": {"votes", "descriptions", "tags", "other keys"},
    "rubrics": {"ids", "votes", "descriptions", "tags", "other keys"},
}


@pytest.mark.parametrize("name", LOST_KEY)
def test_what_a_key_cannot_hold_is_counted(tmp_path, name):
    nugget = {key: value for key, value in (NUGGET | RICH).items() if key != "text"}
    found = lost(tmp_path, name, None, nugget=nugget, question={"kind": "odd", "note": 1})
    assert {what.removesuffix(" of nuggets") for what in found if what.endswith("nuggets")} == LOST_KEY[name]
    assert set(found.values()) == {1}
    assert found["other keys of questions"] == found["kinds of questions"] == 1


def test_what_a_run_cannot_hold_is_counted(tmp_path):
    two = ({"docid": "d1", "rank": 1, "score": 0.5}, {"docid": "d2", "rank": 2})
    given = {"assessor": "ann", "reason": "says so", "at": "2026-01-31T09:30:00Z"}
    found = lost(tmp_path, "qa", "r", responses=two, **given)
    assert found == {
        "questions whose responses are joined into one answer": 1,
        "verdicts": 1,
        "docids of responses": 1,
        "ranks of responses": 1,
    }
    found = lost(tmp_path, "trec-judgements", "r", responses=two, **given)
    assert found == {
        "questions": 1,
        "other keys of responses": 1,
        "ranks of responses": 2,
        "assessors of verdicts": 1,
        "reasons of verdicts": 1,
        "times of verdicts": 1,
    }


@pytest.mark.parametrize(
    ("what", "one"),
    [
        ("responses", "response"),
        ("descriptions of nuggets", "description of nuggets"),
        ("texts with other white space", "text with other white space"),
        ("references without a fact (a letter, yes or no)", "reference without a fact (a letter, yes or no)"),
        ("earlier messages of an input", "earlier message of an input"),
        ("questions whose responses are joined", "question whose responses are joined"),
        ("contains-json assertions", "contains-json assertion"),
        ("verdicts of machines, which are not the standard", "verdict of machines, which are not the standard"),
    ],
)
def test_one_thing_is_counted_as_one(tmp_path, what, one):
    out = Console(file=StringIO(), width=100)
    foreign_files.draw_written(out, tmp_path, 1, {what: 1, f"other {what}": 2})
    assert f"no place for 1 {one}, 2 other {what}" in " ".join(out.file.getvalue().split())


def test_the_command_says_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", "nuggetizer-nuggets", "--collection", str(sample_folder()), "--out", "n.jsonl"]) == 0
    out = capsys.readouterr().out
    sample = [json.loads(line) for line in (sample_folder() / "nuggets.jsonl").read_text().splitlines()]
    assert f"{sum('votes' in nugget for nugget in sample)} votes of nuggets" in out
    assert f"{sum(bool(nugget.get('tags')) for nugget in sample)} tags of nuggets" in out
    assert f"{sum(len(nugget.get('descriptions', [])) > 1 for nugget in sample)} descriptions of nuggets" in out
