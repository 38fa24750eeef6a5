"""What a build server reads of our output: no text of a collection is a command to it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.text import without_commands
from tests.conftest import ROOT, write_lines

COMMANDS = ("::error::owned", "::add-mask::a", "::stop-commands::x", "##[error]owned", "##vso[task.complete]owned")
QIDS = [f"{command}-{number}" for number, command in enumerate(COMMANDS)]
TEXT = " ".join([*COMMANDS, "a reactor", *COMMANDS])


def is_command(line):
    """As the runners of GitHub (ActionCommand.cs) and Azure read a line: one form begins it, blanks left out, and the
    other may stand anywhere."""
    begun = line.lstrip()
    first = begun.startswith("::") and begun.find("::", 2) > 2
    return first or re.search(r"##\w*\[[^\]]*\]", line) is not None


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "c"
    nuggets = [(qid, name) for qid in QIDS for name in COMMANDS]
    write_lines(root / "questions.jsonl", [{"qid": qid, "text": TEXT, "kind": qid} for qid in QIDS])
    write_lines(
        root / "nuggets.jsonl",
        [{"qid": q, "nugget": n, "text": f"{n} {TEXT}", "importance": "vital"} for q, n in nuggets],
    )
    for name, text in (("::error::old", TEXT), ("::error::new", "nothing of it"), ("##[error]x", TEXT[5:])):
        write_lines(root / "runs" / f"{name}.jsonl", [{"qid": qid, "text": text, "docid": qid} for qid in QIDS])
    verdict = {"text": TEXT, "verdict": True, "assessor": "::error::ann", "reason": TEXT, "run": "::error::nobody"}
    write_lines(root / "judgements" / "a.jsonl", [{**verdict, "qid": q, "nugget": n} for q, n in nuggets[::2]])
    return root


OLD, NEW = "::error::old", "::error::new"
LISTED = [
    ["check"],
    ["diff", OLD, NEW, "--all", "--explain"],
    ["diff", OLD, NEW, "--json", "-"],
    ["diff", OLD, NEW, "--markdown", "-"],
    ["score", OLD, NEW, "--questions", "--nuggets", "--record", "--label", "::error::label"],
    ["score", "::error::none"],
    ["score", OLD, "--leaderboard", "-"],
    ["compare", OLD, NEW, "##[error]x", "--by", "kind"],
    ["history"],
    ["history", "--nugget", f"{QIDS[0]}/{COMMANDS[0]}"],
    ["judge", "--log"],
    ["judge", NEW, "--list"],
    ["agree"],
    ["nightly", NEW, "--label", "##[error]label"],
    ["doctor", "c/nuggets.jsonl", "::error::gone"],
]


# The commands in one process, each with files for its outputs, as a shell would start it.
SHELL = """
import json, os, sys
from nuggeteer.cli.main import run
for number, words in enumerate(json.loads(sys.argv.pop())):
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), descriptor)
    sys.argv[1:] = words
    try:
        run()
    except SystemExit as stop:
        assert stop.code in (0, 1, 2), (words, stop.code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_a_command(root, width):
    """As on a build server; cells and long texts are wrapped at any place."""
    asked = [[*words, *([] if words[0] == "doctor" else ["--collection", "c"])] for words in LISTED]
    environment = {**os.environ, "COLUMNS": str(width), "PYTHONPATH": str(ROOT), "GITHUB_ACTIONS": "true"}
    subprocess.run([sys.executable, "-c", SHELL, json.dumps(asked)], cwd=root.parent, env=environment, check=True)
    found = {}
    for number, words in enumerate(LISTED):
        out, err = ((root.parent / f"{number}.{name}").read_text(encoding="utf-8") for name in ("out", "err"))
        assert "owned" in out + err or "error" in out + err
        if "--json" in words:
            assert COMMANDS[3] in json.dumps(json.loads(out))
        found[" ".join(words)] = [line for line in (out + err).splitlines() if is_command(line)]
    assert not {words: some for words, some in found.items() if some}


@given(st.lists(st.text(":#[]:: \terro\n", max_size=12) | st.sampled_from(COMMANDS), max_size=4).map("".join))
def test_no_text_is_a_command_and_all_of_it_can_be_read(text):
    shown = without_commands(text)
    assert not any(is_command(line) for line in shown.split("\n"))
    assert shown.replace(r"\x3a", ":").replace(r"\x23", "#") == text


@pytest.mark.parametrize("text", ["std::vector", "a # b", "## a title", "::", "x ::1", "C# [x]", "#[derive]"])
def test_other_text_is_left_alone(text):
    assert without_commands(text) in (text, text.replace("::", r"\x3a:", 1) if text.startswith("::") else text)
