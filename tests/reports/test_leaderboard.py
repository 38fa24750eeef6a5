"""Scores as lines for other programs."""

from __future__ import annotations

import csv
import io
import math

import pytest

from nuggeteer.cli.main import main
from nuggeteer.errors import NuggeteerError
from nuggeteer.reports.scores import leaderboard
from nuggeteer.scoring.scorer import score


def test_lines_are_the_scores_of_runs_and_questions(sample):
    """As they are in the result, to the last digit; what is undefined is counted."""
    result = score(sample, ["aurora", "basalt"], ["f3", "all_score"])
    content, undefined = leaderboard(result, table=False)
    rows = [line.split("\t") for line in content.decode().splitlines()]
    values = {(run, qid, measure): float(value) for run, qid, measure, value in rows}
    expected = {}
    for one in result.runs:
        for name, interval in one.measures.items():
            expected[one.name, "all", name] = interval.value
            for question, value in zip(result.key.questions, one.by_question[name], strict=True):
                expected[one.name, question.qid, name] = float(value)
    defined = {key: value for key, value in expected.items() if not math.isnan(value)}
    assert values == defined
    assert undefined == len(expected) - len(defined) > 0
    table, also = leaderboard(result, table=True)
    read = list(csv.DictReader(io.StringIO(table.decode())))
    assert also == undefined
    assert [list(row.values()) for row in read] == rows


def test_ids_with_blanks_go_into_a_table_only(collect):
    collection = collect([{"qid": "q 1", "nugget": "1", "text": "a"}], {"r": [("q 1", "a")]})
    result = score(collection, ["r"], ["f3"])
    with pytest.raises(NuggeteerError, match=r"'q 1' has blanks.*\.csv"):
        leaderboard(result, table=False)
    assert b"q 1" in leaderboard(result, table=True)[0]


def test_the_command_writes_it_and_says_what_is_undefined(sample, tmp_path, capsys):
    command = ["score", "aurora", "--collection", str(sample.root), "--leaderboard"]
    assert main([*command, str(tmp_path / "x.tsv")]) == 0
    assert "undefined scores" in capsys.readouterr().out
    assert main([*command, "-", "--json", str(tmp_path / "x.json")]) == 0
    assert capsys.readouterr().out.startswith((tmp_path / "x.tsv").read_text())


@pytest.mark.parametrize("name", ["::error::q", "##[error]q"])
def test_no_name_in_lines_on_standard_output_is_a_command(collect, name, tmp_path, capsys):
    """Another program reads them, so nothing in them can be escaped."""
    made = collect([{"qid": name, "nugget": "1", "text": "a fox"}], {name: [(name, "a fox")]})
    command = ["score", name, "--collection", str(made.root), "--leaderboard"]
    assert main([*command, "-", "--json", str(tmp_path / "x.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "write it to a file" in said.err
    assert main([*command, str(tmp_path / "x.tsv")]) == 0


def test_auto_judge_reads_the_lines_and_finds_the_same_means(sample, tmp_path):
    """With autojudge-base, if it is installed."""
    boards = pytest.importorskip("autojudge_base.leaderboard.leaderboard", exc_type=Exception)
    result = score(sample, ["aurora", "basalt"], ["f3", "all_score"])
    (tmp_path / "x").write_bytes(leaderboard(result, table=False)[0])
    entries = boards.Leaderboard.load(tmp_path / "x", "ir_measures").entries
    for one in result.runs:
        for name, interval in one.measures.items():
            own = [e for e in entries if e.run_id == one.name]
            mean = next(float(e.values[name]) for e in own if e.topic_id == "all")
            found = [float(e.values[name]) for e in own if e.topic_id != "all" and name in e.values]
            assert mean == interval.value == pytest.approx(sum(found) / len(found))
