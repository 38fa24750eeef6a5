"""`nuggetize` on the command line: what it prints and writes, what it refuses, what it does without spaCy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.sample import copy_sample
from tests.conftest import write_lines
from tests.tables import read_table

VISIT = "Chen Yunlin visited Taiwan in January"
CHEN = "WHERE HAS [Chen Yunlin] BEEN AND WHEN?"
pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "visit.txt").write_text(f"{VISIT}\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(nuggetizer):
    """Skips where there is none."""
    return nuggetizer


@pytest.fixture
def no_spacy(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)


def test_nuggets_are_shown_in_brackets_and_told_with_offsets(model, capsys):
    assert main(["nuggetize", "visit.txt", "--template", CHEN, "--json", "n.json"]) == 0
    out = capsys.readouterr().out
    assert "LOC Chen Yunlin visited [[Taiwan]] in January" in out
    assert "2 nuggets in 1 text: 1 TMP, 1 LOC" in out
    data = json.loads(Path("n.json").read_text())
    (snippet,) = data["snippets"]
    assert data["model"].startswith("en_core_web_sm ")
    assert (snippet["text"], snippet["template"]) == (VISIT, "whereabouts")
    assert snippet["nuggets"] == [
        {"type": "LOC", "spans": [[20, 26]], "core": [[20, 26]], "text": "Taiwan"},
        {"type": "TMP", "spans": [[27, 37]], "core": [[27, 37]], "text": "in January"},
    ]


@pytest.mark.slow
def test_standard_input_is_read(model):
    done = subprocess.run(
        [sys.executable, "-m", "nuggeteer", "nuggetize", "-", "--json", "-"], input=VISIT.encode(), capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [n["type"] for n in json.loads(done.stdout)["snippets"][0]["nuggets"]] == ["PER", "EVT", "LOC", "TMP"]


@pytest.mark.slow
def test_hostile_texts_do_nothing_to_the_terminal(model, capsys):
    text = "Smith [bold]visited[/bold] \x1b[31mParis\u202e :smile: ]] on Monday [[ and said \\[[that\\]]"
    write_lines(Path("t.jsonl"), [{"text": text, "snippet": "[red]x", "qid": "[b]"}])
    assert main(["nuggetize", "t.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[bold]" in out
    assert ":smile:" in out
    assert main(["nuggetize", "t.jsonl", "--out", "a.jsonl"]) == 0
    assert main(["agree", "a.jsonl", "a.jsonl"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a"])
def test_what_is_written_is_an_annotation_that_agrees_with_itself(model, here, capsys, name):
    (here / "two.txt").write_text(f"{VISIT}\nSecretary Rice visited New Delhi, Menon said.\n")
    assert main(["nuggetize", "two.txt", "--out", name]) == 0
    assert main(["agree", name, name, "--json", "-"]) == 0
    capsys.readouterr()
    assert main(["nuggetize", "--corrected", name]) == 0
    rows = read_table(capsys.readouterr().out, "condition")
    (overall,) = [row for row in rows if row["condition"] == "overall"]
    assert overall["snippets"] == "2"
    assert overall["corrected nuggets"] == overall["automatic nuggets"] != "0"


@pytest.mark.slow
def test_the_worked_example_from_a_file(model, here, capsys):
    tainan = "Zhang Mingqing was attacked by protesters during an informal visit to the southern city of Tainan"
    lines = [{"qid": "q", "query": CHEN, "distiller": "A", "judged": "relevant", "text": VISIT}]
    lines += [{"qid": "q", "distiller": "A", "judged": "irrelevant", "text": tainan}]
    write_lines(here / "judged.jsonl", lines)
    assert main(["nuggetize", "--score", "judged.jsonl"]) == 0
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("q "))
    assert row == ["q", "A", "2", "1", "0", "0.667", "2/2", "1.000"]
    assert main(["nuggetize", "--score", "judged.jsonl", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["queries"][0]["distillers"][0]["precision"] == pytest.approx(2 / 3)
    assert data["distillers"][0]["recall"] == {"value": 1.0, "low": None, "high": None}
    assert data["snippets"][1]["stretches"][0]["nuggets"][0]["text"] == "to the southern city of Tainan"


@pytest.mark.slow
def test_the_means_of_a_cell_stand_below_those_of_all(model, here, capsys):
    """Conditions are somebody's words."""
    about = {"qid": "q", "query": CHEN, "distiller": "A", "text": VISIT}
    lines = [{**about, "judged": "relevant", "language": "[bold]Arabic[/bold]"}]
    lines += [{**about, "judged": "irrelevant"}]
    write_lines(here / "judged.jsonl", lines)
    assert main(["nuggetize", "--score", "judged.jsonl", "--by", "language"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.index("Means over 1 query") < out.index("–: 1 snippet, 1 query") < out.index("[bold]Arabic[/bold]: 1 sn")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("A ")] == ["0.500", "0.000", "1.000"]
    assert main(["nuggetize", "--score", "judged.jsonl", "--by", "language", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["by"] == ["language"]
    assert [cell["values"] for cell in data["cells"]] == [[""], ["[bold]Arabic[/bold]"]]
    assert data["cells"][1]["distillers"][0]["precision"]["value"] == 1


def test_runs_of_a_collection_become_candidates_and_the_key_is_left_alone(model, here, monkeypatch, capsys):
    copy_sample(here / "demo")
    monkeypatch.chdir(here / "demo")
    before = (here / "demo" / "nuggets.jsonl").read_bytes()
    assert main(["nuggetize", "aurora", "cobalt", "--question", "def-01", "--propose", "p.jsonl"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    lines = [json.loads(line) for line in (here / "demo" / "p.jsonl").read_text().splitlines()]
    assert {line["qid"] for line in lines} == {"def-01"}
    assert {said["run"] for line in lines for said in line["said"]} == {"aurora", "cobalt"}
    assert (here / "demo" / "nuggets.jsonl").read_bytes() == before


def test_without_spacy_sentences_are_proposed_and_that_is_said(no_spacy, here, capsys):
    (here / "good.txt").write_text("Ada wrote notes; she died in 1852.\n")
    assert main(["nuggetize", "good.txt", "--propose", "p.jsonl", "--question", "q9"]) == 0
    captured = capsys.readouterr()
    assert "Without spaCy" in captured.out
    assert "pip install 'nuggeteer[nuggetize]'" in captured.err
    lines = [json.loads(line) for line in (here / "p.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == ["Ada wrote notes", "she died in 1852."]


def test_without_spacy_all_else_is_refused_and_says_how_to_get_it(no_spacy, here, capsys):
    for arguments in (["visit.txt"], ["visit.txt", "--out", "a.txt"]):
        assert main(["nuggetize", *arguments]) == 2
        assert "pip install 'nuggeteer[nuggetize]'" in capsys.readouterr().err
    assert not (here / "a.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a file of texts"),
        (["missing.txt"], "missing.txt: cannot be read"),
        (["visit.txt", "--template", "nonsense"], "the templates are: facts"),
        (["visit.txt", "--templates", "missing.toml"], "cannot be read"),
        (["visit.txt", "--score", "visit.txt"], "name visit.txt only"),
        (["visit.txt", "--question", "q"], "--question goes with --propose"),
        (["--score", "visit.txt"], "visit.txt:1: not JSON"),
        (["--score", "visit.txt", "--template", "facts"], "leave out --template"),
        (["visit.txt", "--by", "language"], "--by goes with --score"),
        (["--corrected", "missing.txt"], "cannot be read"),
        (["visit.txt", "--propose", "p.jsonl"], "visit.txt:1: which question does this text answer?"),
        (["visit.txt", "--propose", "nuggets.jsonl", "--question", "q"], "a human edits the proposals"),
        (["visit.txt", "--propose", "visit.txt", "--question", "q"], "exists already"),
        (["visit.txt", "--out", "visit.txt"], "exists already"),
        (["nobody", "--propose", "p.jsonl"], "nobody: cannot be read"),
        (["visit.txt", "--out", "a.txt", "--propose", "p.jsonl"], "keep one"),
        (["visit.txt", "--model", "no_such_model"], "no such spaCy model"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_with_code_2_and_writes_nothing(model, here, capsys, arguments, says):
    before = sorted(here.rglob("*"))
    assert main(["nuggetize", *arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert "Traceback" not in captured.err
    assert sorted(here.rglob("*")) == before


def test_the_help_does_not_load_spacy():
    program = (
        "import sys; from nuggeteer.cli.main import main; main(['nuggetize', '--help']); print('spacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
