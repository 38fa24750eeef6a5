"""Texts and names from anybody: none of them reaches a terminal as anything but visible characters."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.sample import sample_folder
from tests.conftest import write_lines

# A title, a cleared screen, blinking, a bell, a C1 control, a carriage return, markup, emoji codes, a link,
# two kinds of bidirectional controls, a zero-width space, a line separator, a tag character.
CONTROLS = "\x1b]0;owned\x07\x1b[2J\x1b[5mBLINK\x1b[0m\x9b5m\r\nfake line\x08"
HIDDEN = "\u202eevil\u202c\u2066x\u2069\u200b\ufeff\u2028\U000e0041\u00ad"
MARKUP = "[bold red blink]B[/] [link=https://example.org]L[/link] :smile: [/nothing] {0} %s \\[x]"
HOSTILE = f"{MARKUP} {CONTROLS}{HIDDEN}"
NUL = HOSTILE + "\x00"
FILE = f"[blink]:smile: {CONTROLS}{HIDDEN}\udcff"  # the last is a byte that is no UTF-8
PRINTABLE = "[bold]:smile:[/]"  # as hostile as an id can be

QUESTION = {"qid": PRINTABLE, "text": NUL, "kind": NUL, "target": NUL}
NUGGET = {
    "qid": PRINTABLE,
    "nugget": PRINTABLE,
    "text": f"{HOSTILE} reactor",
    "importance": "vital",
    "votes": {"a1": "vital", NUL: "vital"},
    "tags": [NUL],
    NUL: NUL,
}
RESPONSES = [{"qid": PRINTABLE, "text": f"{NUL} reactor", "docid": NUL, "rank": 1}]
VERDICT = {
    "qid": PRINTABLE,
    "nugget": PRINTABLE,
    "text": f"{NUL} reactor",
    "verdict": True,
    "run": HOSTILE,
    "assessor": NUL,
    "reason": NUL,
    "docid": NUL,
}


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A collection that says something harmful wherever it can, in a folder with such a name."""
    root = tmp_path / FILE
    write_lines(root / "questions.jsonl", [QUESTION])
    write_lines(root / "nuggets.jsonl", [NUGGET, {**NUGGET, "nugget": "2", "text": "…", "votes": {"a1": "okay"}}])
    write_lines(root / "runs" / f"{FILE}.jsonl", RESPONSES)
    write_lines(root / "runs" / "plain.jsonl", [{"qid": "[blink]nobody[/]", "text": "x"}])
    write_lines(root / "judgements" / f"{FILE}.jsonl", [VERDICT, {**VERDICT, "verdict": False}])
    monkeypatch.chdir(root)
    return root


def broken(folder):
    """The same with an error in every kind of line."""
    wrong = [
        {
            "qid": HOSTILE,
            "run": HOSTILE,
            "nugget": HOSTILE,
            "text": NUL,
            "importance": NUL,
            "judged": NUL,
            "verdict": NUL,
        },
        {"qid": PRINTABLE, "nugget": "1", "text": "x", "importance": HOSTILE, "weight": NUL, "rank": NUL},
        json.loads(f'{{"qid": "1", {json.dumps(NUL)}: 1}}'),
    ]
    for path in [*folder.rglob("*.jsonl"), folder / "runs.jsonl"]:
        with path.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in wrong)
            file.write(f'{{"qid": 1, {json.dumps(NUL)}: 1, {json.dumps(NUL)}: 2}}\n')
            file.write(f"{NUL}\n")
    quoted = json.dumps(NUL, ensure_ascii=False)
    (folder / "nuggeteer.toml").write_text(f"[{quoted}]\n[match]\n{quoted} = 1\nidf = {quoted}\nn = {quoted}\n")
    return folder


def on_a_pipe(*arguments):
    """The exit code and the bytes of both outputs of a command whose outputs are no terminal."""
    outputs = [io.BytesIO(), io.BytesIO()]
    out, err = (io.TextIOWrapper(output, "utf-8", write_through=True) for output in outputs)
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, b"".join(output.getvalue() for output in outputs)


def on_a_terminal(*arguments):
    """The same of a command with both outputs on one terminal."""
    master, slave = pty.openpty()
    with ThreadPoolExecutor(1) as reader, os.fdopen(slave, "w", encoding="utf-8") as screen:
        shown = reader.submit(everything, master)
        with redirect_stdout(screen), redirect_stderr(screen):
            code = main(arguments)
        screen.close()
        output = shown.result()
    os.close(master)
    return code, output.replace(b"\r\n", b"\n")


def everything(master):
    output = bytearray()
    with suppress(OSError):  # Linux's way to say that the other end is closed
        while piece := os.read(master, 65536):
            output += piece
    return bytes(output)


STYLE = re.compile(r"\x1b\[([0-9;]*)m")


def harmless(output, terminal):
    """The text of an output; it has nothing invisible in it, but for rich's own colours on a terminal."""
    text = output.decode("utf-8")
    if terminal:
        styles = {part for found in STYLE.findall(text) for part in found.split(";")}
        assert styles <= {"", "0", "1", "2", "3", "4", "31", "32", "33"}, styles  # no blinking, which is 5
        text = STYLE.sub("", text)
    bad = {
        char
        for char in text
        if char != "\n" and (unicodedata.category(char)[0] == "C" or unicodedata.category(char) in ("Zl", "Zp"))
    }
    assert not bad, bad
    assert not re.search("^fake line", text, re.MULTILINE)
    return text


WAYS = pytest.mark.parametrize(
    ("run", "terminal"), [(on_a_pipe, False), (on_a_terminal, True)], ids=["pipe", "terminal"]
)


@WAYS
def test_scores_show_hostile_texts_as_they_are(folder, run, terminal):
    code, output = run("score", "--allow-empty", "--questions", "--nuggets")
    text = harmless(output, terminal)
    assert code == 0
    assert "Traceback" not in text
    assert PRINTABLE in text
    assert "[bold red" in text.replace("\n", " ")
    assert "\U0001f604" not in text  # a smile
    assert "\\u202e" in text
    assert "\\x1b" in text


@WAYS
def test_check_shows_warnings_about_hostile_texts_as_they_are(folder, run, terminal):
    code, output = run("check")
    text = harmless(output, terminal)
    assert code == 0
    for part in (
        "contradicts",
        "voted on some nuggets only",
        "'[blink]nobody[/]'",
        "answers no question of the key",
        "\\udcff",
    ):
        assert part in text


@WAYS
def test_every_error_is_shown_harmless(folder, run, terminal):
    broken(folder)
    code, output = run("check")
    text = harmless(output, terminal)
    assert code == 2
    for part in (
        "not a valid id",
        "not one of vital",
        "occurs twice",
        "not JSON",
        "unknown section",
        "unknown setting",
    ):
        assert part in text, part
    for arguments in (["score"], ["score", FILE], ["convert", "trec-key", "--out", "x"]):
        code, output = run(*arguments)
        assert code == 2
        assert "Traceback" not in harmless(output, terminal)


@WAYS
def test_json_on_a_terminal_is_harmless_and_still_json(folder, run, terminal):
    for arguments, kept in (
        (["score", "--allow-empty", "--json", "-"], "per_question"),
        (["check", "--json", "-"], "contradicts"),
    ):
        code, output = run(*arguments)
        text = harmless(output, terminal)
        assert code == 0
        assert kept in text
        body = json.loads(re.search(r"^\{$.*?^\}$", text, re.MULTILINE | re.DOTALL)[0])
        assert body.keys() & {"runs", "problems"}


def test_json_names_files_as_they_are(folder):
    """But for bytes that JSON cannot hold."""
    named = FILE.replace("\udcff", "\\xff")
    code, output = on_a_pipe("score", FILE, "--json", "scores.json")
    assert code == 0, output
    assert json.loads((folder / "scores.json").read_text(encoding="utf-8"))["runs"][0]["run"] == named
    code, output = on_a_pipe("compare", FILE, "plain", "--allow-empty", "--json", "order.json")
    assert code == 0, output
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    assert {run["run"] for run in order["runs"]} == {named, "plain"} == order["measures"]["f3"]["ranks"].keys()
    code, output = on_a_pipe("check", "--collection", ".", "--json", "problems.json")
    problems = json.loads((folder / "problems.json").read_text(encoding="utf-8"))["problems"]
    assert {Path(p["file"]).name for p in problems} >= {f"{named}.jsonl", "nuggets.jsonl"}


@pytest.mark.slow
@WAYS
def test_demo_in_a_folder_with_a_hostile_name(tmp_path, run, terminal, few_pairs):
    for _ in range(2):
        code, output = run("demo", FILE)
        text = harmless(output, terminal)
        assert code == 0
        assert "[blink]:smile:" in text
        assert "\\u202e" in text
    assert (tmp_path / FILE / "nuggets.jsonl").is_file()


@WAYS
def test_idf_and_simulate_name_hostile_files_harmlessly(tmp_path, run, terminal):
    (tmp_path / FILE).write_text(f"{HOSTILE}\nreactor\n")
    for arguments in (
        ["idf", FILE, "--out", f"{FILE}.idf"],
        ["idf", FILE, "--out", "folder.idf/x"],
        ["idf", f"x{FILE}", "--out", "y.idf"],
        ["simulate", f"new{FILE}", "--questions", "1", "--responses", "1"],
        ["simulate", FILE],
    ):
        (tmp_path / "folder.idf").write_text("")
        code, output = run(*arguments)
        assert "\\x1b" in harmless(output, terminal) or "folder.idf" in arguments[-1]
        assert code in (0, 2)
        assert b"Traceback" not in output


@WAYS
def test_a_table_of_weights_with_hostile_words(folder, run, terminal):
    (folder / "x.idf").write_text(
        f"# nuggeteer idf 1; documents: 3\n{PRINTABLE}\u202e\x1b[5m\t1\n{PRINTABLE}\u202e\x1b[5m\t1\n"
    )
    (folder / "nuggeteer.toml").write_text('[match]\nidf = "x.idf"\n')
    for command in (["check"], ["score", "--allow-empty"]):
        code, output = run(*command)
        assert code == 2
        assert "for the second time" in harmless(output, terminal)


# Foreign files with something harmful wherever their format has a place for it.
ANSWER = {
    "query": NUL,
    "qid": PRINTABLE,
    "answer_text": NUL,
    "response_length": 1,
    "run_id": PRINTABLE.replace("/", "|"),
}
FOREIGN = {
    "trec-key": f"Qid 1: {HOSTILE}\n1 vital {HOSTILE}\n2 vital {HIDDEN}{MARKUP}\x1b[5m\n",
    "trec-run": f"1 [blink] D\x1b[5m 1 {HIDDEN} {MARKUP}\x1b[5m\n\x1b[5m{HIDDEN}\n1 {HIDDEN} D 1 x\n",
    "trec-judgements": f"1 [blink] D\x1b[5m 1,2 {HIDDEN} {MARKUP}\x1b[5m\n\x1b[5m{HIDDEN}\n",
    "nuggetizer-nuggets": json.dumps({"query": NUL, "qid": PRINTABLE, "nuggets": [{"text": NUL, "importance": NUL}]})
    + "\n"
    + json.dumps({"query": NUL, "qid": HOSTILE, "nuggets": [{"text": NUL, "importance": NUL}]}),
    "nuggetizer-assignments": json.dumps(
        {**ANSWER, "nuggets": [{"text": NUL, "importance": NUL, "assignment": NUL, NUL: NUL}]}
    ),
    "rag-answers": json.dumps(
        {
            "run_id": "[blink]",
            "topic_id": PRINTABLE,
            "topic": NUL,
            "references": [NUL],
            "answer": [{"text": NUL, "citations": [0]}],
        }
    )
    + "\n"
    + json.dumps({"run_id": HOSTILE, "topic_id": HOSTILE, "answer": [{"text": NUL}]}),
}


@WAYS
@pytest.mark.parametrize("name", FOREIGN)
def test_convert_tells_of_hostile_files_harmlessly(tmp_path, run, terminal, name):
    source = tmp_path / FILE
    source.write_text(FOREIGN[name] + "\n", encoding="utf-8")
    for arguments in (
        ["convert", name, FILE, "--into", "into"],
        ["convert", name, FILE, "--into", f"a{FILE}"],
        ["convert", name, FILE, "--into", "json", "--json", "-"],
        ["convert", name, f"missing{FILE}", "--into", "missing"],
        ["convert", HOSTILE, FILE, "--into", "format"],
    ):
        code, output = run(*arguments)
        text = harmless(output, terminal)
        assert code in (0, 2)
        assert "Traceback" not in text, text
        assert text
    if (tmp_path / "into").exists():
        for arguments in (["check", "--collection", "into"], ["score", "--collection", "into", "--nuggets"]):
            code, output = run(*arguments)
            assert "Traceback" not in harmless(output, terminal)


@WAYS
@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        ["score", f"--{HOSTILE}"],
        ["score", "--seed", HOSTILE],
        ["score", HOSTILE],
        ["score", "--measures", HOSTILE],
        ["score", "--collection", HOSTILE],
        ["simulate", "x", HOSTILE],
        ["convert", "trec-run", "--run", HOSTILE, "--out", "x"],
        ["convert", "trec-key", "x", "--columns", HOSTILE, "--into", "x"],
        ["check", "--json", "runs.jsonl/" + FILE],
    ],
    ids=lambda arguments: " ".join(arguments).replace(HOSTILE, "...")[:30].encode("ascii", "replace").decode(),
)
def test_a_hostile_argument_is_refused_harmlessly(tmp_path, monkeypatch, run, terminal, arguments):
    """A shell's `*` puts files' names there."""
    shutil.copytree(sample_folder(), tmp_path / "sample")
    monkeypatch.chdir(tmp_path / "sample")
    code, output = run(*arguments)
    assert code == 2
    assert "Traceback" not in harmless(output, terminal)
    assert output


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True])
def test_a_process_of_its_own_behaves_as_these_tests_say(folder, terminal):
    """With the outputs as the shell gives them, and names in bytes."""
    arguments = [sys.executable, "-m", "nuggeteer", "score", "--nuggets", FILE]
    if terminal:
        master, slave = pty.openpty()
        with subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave) as child:
            os.close(slave)
            output = everything(master).replace(b"\r\n", b"\n")
        os.close(master)
        assert STYLE.search(output.decode())  # it did see a terminal
    else:
        child = subprocess.run(arguments, capture_output=True, check=False)
        output = child.stdout + child.stderr
    assert child.returncode == 0
    assert PRINTABLE in harmless(output, terminal)
