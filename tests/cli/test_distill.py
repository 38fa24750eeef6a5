"""`distill`: what scripts read, what is refused, and what a person reads."""

from __future__ import annotations

import json

import pytest

from nuggeteer.cli.main import main
from nuggeteer.gale.distillation import EXAMPLE, MEASURES
from tests.cli.test_hostile import HOSTILE, NUL, PRINTABLE
from tests.conftest import write_lines


@pytest.fixture
def lines():
    return [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def bare(lines):
    return [{key: line[key] for key in line if key != "nugs"} for line in lines if line["type"] != "nug"]


def test_the_contract_of_the_json(capsys):
    assert main(["distill", "--example", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    a, _, _, d = result["distillers"]
    assert [a[cell] for cell in ("right", "wrong", "missing", "other")] == [1.25, 1.75, 1.25, 100000.25]
    for model in ("empirical", "bayesian"):
        assert {"precision", "recall", "rightness", "proficiency"} <= set(a[model])
        assert set(a["intervals"][model]) == set(a[model]) == set(MEASURES)
    assert d["distiller"] == "D"
    assert d["empirical"]["precision"] is None
    assert d["intervals"]["empirical"]["precision"] is None
    assert d["bayesian"]["precision"] == 0.5
    assert sum(row["missing"] for row in d["nugs"]) == d["missing"] == 2.5
    assert result["ratios"] == []


def test_ratios_come_with_who_is_human(here, capsys):
    people = [{"type": "distiller", "distiller": name, "kind": "human"} for name in "BC"]
    people += [{"type": "distiller", "distiller": "A", "kind": "machine"}]
    write_lines(here / "who.jsonl", people)
    assert main(["distill", "--example", "who.jsonl", "--json", "out.json"]) == 0
    assert "machines over the mean of the humans (B, C)" in capsys.readouterr().out
    (ratio,) = json.loads((here / "out.json").read_text())["ratios"]
    assert ratio["humans"] == ["B", "C"]
    assert ratio["empirical"]["recall"] == pytest.approx(0.5 / ((1 + 0.6) / 2))
    assert ratio["intervals"]["empirical"]["recall"] is None  # two queries are too few


@pytest.mark.parametrize("prior", ["1", "1,1,1", "1,1,1,-1", "1,1,1,nan", "1,1,1,inf", "a,b,c,d", ""])
def test_a_prior_that_is_none_is_refused(prior, capsys):
    assert main(["distill", "--example", "--prior", prior]) == 2
    assert "is not four numbers from 0" in capsys.readouterr().err


def test_no_file_is_refused(capsys):
    assert main(["distill"]) == 2
    assert "--example" in capsys.readouterr().err


def test_from_nuggets_to_scores_by_way_of_a_person(here, lines, capsys):
    """Unsorted nuggets are refused, proposed, refused until accepted, scored."""
    write_lines(here / "found.jsonl", bare(lines))
    assert main(["distill", "found.jsonl"]) == 2
    assert "--propose" in capsys.readouterr().err
    assert main(["distill", "found.jsonl", "--propose", "nugs.jsonl"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("4 nugs proposed for 9 nuggets")
    assert "nuggeteer distill nugs.jsonl" in out
    assert main(["distill", "nugs.jsonl"]) == 2
    assert "4 nugs are only proposed" in capsys.readouterr().err
    path = here / "nugs.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace(',"proposed":true', ""), encoding="utf-8")
    assert main(["distill", "nugs.jsonl"]) == 0


def test_a_proposal_as_json(here, lines, capsys):
    write_lines(here / "found.jsonl", bare(lines))
    assert main(["distill", "found.jsonl", "--propose", "nugs.jsonl", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["nuggets"] == 9
    assert [len(nug["nuggets"]) for nug in result["nugs"]] == [1, 1, 3, 4]
    assert {one["distiller"] for one in result["nugs"][3]["nuggets"]} == {"A", "B", "C"}


def test_a_persons_work_is_never_written_over(here, lines, capsys):
    write_lines(here / "found.jsonl", bare(lines))
    (here / "nugs.jsonl").write_text("mine")
    assert main(["distill", "found.jsonl", "--propose", "nugs.jsonl"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (here / "nugs.jsonl").read_text() == "mine"


@pytest.mark.parametrize("propose", [[], ["--propose", "new.jsonl"]])
def test_no_text_reaches_the_terminal_as_it_is(here, capsys, propose):
    """Whatever a line says; nor do ids that could be markup vanish."""
    lines = [
        {"type": "query", "qid": PRINTABLE, "text": NUL},
        {"type": "distiller", "distiller": PRINTABLE, "kind": "human"},
        {"type": "nug", "qid": PRINTABLE, "nug": PRINTABLE, "relevance": 1, "text": NUL, "tags": [NUL], NUL: NUL},
        {"type": "nugget", "qid": PRINTABLE, "distiller": PRINTABLE, "text": NUL, "nugs": {PRINTABLE: 1}},
        {"type": "nugget", "qid": PRINTABLE, "distiller": "[i]x[/i]", "text": HOSTILE, "citations": [NUL]},
    ]
    machine = {"type": "distiller", "distiller": "[i]x[/i]", "kind": "machine"}
    kept = bare(lines) if propose else [*lines[:4], machine]
    write_lines(here / "one.jsonl", kept)
    assert main(["distill", "one.jsonl", *propose]) == 0
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert PRINTABLE in shown
    assert all(char.isprintable() or char == "\n" for char in shown)


def test_what_is_wrong_is_said_harmlessly(here, capsys):
    write_lines(here / "one.jsonl", [{"type": NUL}, {"type": "nug", "qid": NUL, "nug": NUL, "relevance": NUL}])
    assert main(["distill", "one.jsonl"]) == 2
    assert all(char.isprintable() or char == "\n" for char in capsys.readouterr().err)
