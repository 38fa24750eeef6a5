"""`nuggeteer nightly`: fifteen lines whatever the names are, the exit codes, and the files that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from nuggeteer.cli.main import main
from tests.conftest import write_lines

LONG = "[bold]<b>&" + "x" * 300
HOSTILE = "a\x1b[31m\u202e[bold]<b>&\n" + "x" * 300


@pytest.fixture
def folder(copy_of_sample, tmp_path, monkeypatch):
    monkeypatch.chdir(copy_of_sample(tmp_path / "c"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "c"


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Two nights in which every vital nugget is lost, with names, labels and texts as bad as they can be."""
    root = tmp_path / "bad"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    nuggets = [
        {"qid": f"{LONG}{q}", "nugget": f"{LONG}{n}", "text": f"fact {n} {HOSTILE}", "importance": "vital"}
        for q in range(6)
        for n in range(3)
    ]
    verdicts = [{"qid": n["qid"], "nugget": n["nugget"], "text": n["text"], "verdict": True} for n in nuggets]
    verdicts += [{"qid": n["qid"], "nugget": n["nugget"], "text": "nothing", "verdict": False} for n in nuggets]
    write_lines(root / "nuggets.jsonl", nuggets)
    write_lines(root / "judgements" / "ann.jsonl", verdicts)
    write_lines(root / "runs" / "tonight.jsonl", [{"qid": n["qid"], "text": n["text"]} for n in nuggets])
    (root / "nuggeteer.toml").write_text("[nightly]\nmax_lost_vital = 0\n")
    return root


@pytest.mark.slow
def test_whatever_the_names_are_it_is_fifteen_lines_of_80_harmless_columns(hostile, capsys):
    asked = ["nightly", "tonight", "--collection", str(hostile), "--label", HOSTILE]
    assert main(asked) == 0
    worse = [{"qid": f"{LONG}{q}", "text": f"fact 0 {HOSTILE}" if q == 0 else "nothing"} for q in range(6)]
    write_lines(hostile / "runs" / "tonight.jsonl", worse)  # not alike everywhere, or there is no interval
    capsys.readouterr()
    assert main([*asked, "--markdown", "s.md", "--junit", "g.xml", "--page", "p.html"]) == 1
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0].startswith("FAIL  F(3) is worse by more than 0.05")
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    assert xml.parse("g.xml").getroot().get("failures") == "17"  # two gates, and the nuggets of five questions
    assert "<b>&x" not in Path("s.md").read_text()


@pytest.mark.slow
def test_it_is_fifteen_lines_also_with_all_that_may_be_said(hostile, capsys):
    """A reason of three lines, a strange night, machines and a language: fewer nuggets are listed then."""
    (hostile / "nuggeteer.toml").write_text(
        '[nightly]\nmax_lost_vital = 0\nfail_if_worse = 0.9\n[match]\nlanguage = "de"\n', encoding="utf-8"
    )
    assert main(["nightly", "tonight", "--collection", str(hostile), "--label", HOSTILE]) == 0
    worse = [{"qid": f"{LONG}{q}", "text": f"nobody knows what {q} is, {HOSTILE}"} for q in range(6)]
    write_lines(hostile / "runs" / "tonight.jsonl", worse)
    capsys.readouterr()
    main(["nightly", "tonight", "--collection", str(hostile)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 15
    assert max(len(line) for line in lines if not line.startswith("  nuggeteer")) <= 80  # a command is one line
    assert any("The language is German" in line for line in lines)


@pytest.mark.slow
def test_markdown_and_json_go_to_standard_output_alone(folder, capsys):
    assert main(["nightly", "build-102"]) == 0
    capsys.readouterr()
    assert main(["nightly", "build-103", "--json", "-"]) == 0
    decision = json.loads(capsys.readouterr().out)["decision"]
    assert main(["nightly", "build-103", "--markdown", "-"]) == 0
    sign = {"PASS": "✅", "UNDECIDED": "❔"}[decision]
    assert capsys.readouterr().out.startswith(f"<h3>{sign} {decision}")
    assert main(["nightly", "build-103", "--markdown", "-", "--json", "-"]) == 2


@pytest.mark.slow
def test_the_settings_name_files_that_are_written_every_night(folder, capsys):
    (folder / "out").mkdir()
    outputs = {"markdown": "out/s.md", "junit": "out/g.xml", "page": "out/p.html"}
    (folder / "nuggeteer.toml").write_text(
        "[nightly]\n" + "".join(f'{name} = "{file}"\n' for name, file in outputs.items())
    )
    assert main(["nightly", "build-102"]) == 0
    assert "first night" in (folder / "out" / "s.md").read_text()
    first = xml.parse(folder / "out" / "g.xml").getroot()
    assert (first.get("tests"), first.get("skipped"), first.get("failures")) == ("1", "1", "0")
    assert main(["nightly", "build-103", "--junit", "elsewhere.xml"]) == 0
    assert Path("elsewhere.xml").is_file()
    assert "worse by more than 0.05 on these questions" in (folder / "out" / "s.md").read_text()
    assert "build-102" in (folder / "out" / "p.html").read_text()


def test_a_run_that_does_not_exist_is_an_error_and_nothing_is_recorded(folder, capsys):
    assert main(["nightly", "nobody"]) == 2
    assert main(["nightly", "build-103", "--against", "nobody"]) == 2
    assert not (folder / "history.sqlite3").exists()
