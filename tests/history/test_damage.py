"""A history that was edited by hand or by a stranger: damaged rows are told and left out, and nothing fails."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import cycle

import pytest

from nuggeteer.cli.main import main
from nuggeteer.history.database import MIGRATIONS
from nuggeteer.history.soundness import CHECKS, SCORED
from nuggeteer.history.store import History
from nuggeteer.scoring.scorer import score

NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"},
    {"qid": "q1", "nugget": "2", "text": "born in Rome", "importance": "okay"},
    {"qid": "q2", "nugget": "1", "text": "launched by NASA"},
]
RUNS = {
    "old": [("q1", "Fermi built the first nuclear reactor."), ("q1", "Born elsewhere."), ("q2", "Launched by NASA.")],
    "mid": [("q1", "Fermi built the first nuclear reactor."), ("q2", "Launched by ESA.")],
    "new": [("q1", "Fermi was born in Rome."), ("q1", "More."), ("q2", "Launched by NASA.")],
}
FIXED = "[threshold]\nmodel = 'fixed'\nvalue = 0.3\n"
WRONG = {
    "TEXT": ["x'ff00'", "CAST(x'c328ff' AS TEXT)"],
    "INTEGER": ["'abc'", "x'ff'", "0.5", "-7", "4611686018427387904"],
    "REAL": ["'abc'", "x'ff'", "9e999", "-3.5"],
    "BLOB": ["'abc'", "x'00'"],
}


def columns():
    with closing(sqlite3.connect(":memory:")) as db:
        for steps in MIGRATIONS:
            db.executescript(steps)
        sql = "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        return [(table, column, kind) for table, column, kind in db.execute(sql) if not table.startswith("sqlite_")]


@pytest.fixture
def root(collect):
    collection = collect(NUGGETS, RUNS, toml=FIXED)
    for label, run in enumerate(("old", "mid", "new")):
        History.of(collection.root).record(score(collection, [run]), f"n{label}")
    return collection.root


def execute(root, statement):
    """Run a statement on the file, past all foreign keys; returns how many rows it changed."""
    with closing(sqlite3.connect(root / "history.sqlite3", isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        try:
            return db.execute(statement).rowcount
        except sqlite3.IntegrityError:  # a row id is always a whole number
            return 0


def rows(root):
    with closing(sqlite3.connect(root / "history.sqlite3")) as db:
        db.text_factory = bytes
        return {(table, row) for table in CHECKS for row in db.execute(f"SELECT * FROM {table}")}


def call(capsys, root, *command):
    code = main([*command, "--collection", str(root)])
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), (command, code, err)
    return code, out, err


def trends_of(out):
    keys = ("run", "value", "low", "high", "gained", "lost")
    return [[{key: build[key] for key in keys} for build in trend["builds"]] for trend in json.loads(out)["trends"]]


def test_every_column_has_a_check():
    assert {(table, column) for table, column, _ in columns()} == {
        (table, column) for table, checks in CHECKS.items() for column in checks
    }


def damages(table):
    """Statements that put wrong values into all rows or into one, for each column of a table: two of the values that
    are wrong for its type, which come in turn."""
    turns = {kind: cycle(values) for kind, values in WRONG.items()}
    for _, column, kind in (one for one in columns() if one[0] == table):
        one_row = f"WHERE {column} IS (SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT 1)"
        for where in (one_row, ""):
            yield column, f"UPDATE OR IGNORE {table} SET {column} = {next(turns[kind])} {where}"


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted({table for table, _, _ in columns()}))
def test_a_damaged_column_is_told_and_left_out(root, tmp_path, capsys, table):
    """Whatever stands in it: no command fails, reading the column names the file, and scoring again mends scores."""
    before = trends_of(call(capsys, root, "history", "--json", "-")[1])
    page = str(tmp_path / "page.html")
    writers = cycle(
        [
            ["score", "new", "--record", "--label", "again"],
            ["nightly", "mid", "--label", "night"],
            ["nightly", "new", "--against", "n0", "--label", "other"],
        ]
    )
    for number, (column, damage) in enumerate(damages(table)):
        case = tmp_path / f"case{number}"
        shutil.copytree(root, case)
        if not execute(case, damage):
            continue
        told = call(capsys, case, "history")[2]
        if table == "texts" or column == "docid":  # which only reading the build's answers looks at
            told += call(capsys, case, "report", "--output", page)[2]
        assert "history.sqlite3: " in told, damage
        if column != "id":  # what refers to the row is told then
            assert re.search(rf"in {table} \([^)]*\b{column}\b|answers of build", told), (damage, told)
        was = rows(case)
        call(capsys, case, *next(writers))
        assert not {row for row in was - rows(case) if row[0] not in ("nuggets", "texts")}, damage
        if number % 2 and (table in SCORED or table == "nuggets"):
            shutil.copy(root / "history.sqlite3", case)
            execute(case, damage)
            assert call(capsys, case, "history", "--rescore")[0] == 0, damage
            _, mended, told = call(capsys, case, "history", "--json", "-")
            assert told == "", (damage, told)
            if column not in ("run_group", "time"):  # which only the old scoring knew
                assert trends_of(mended) == before, damage


@pytest.mark.parametrize("wrong", ["high = 9e999", "judging_low = ''", "value = x''"])
def test_scores_that_are_damaged_and_cannot_be_made_again_stop_nothing(root, capsys, wrong):
    """The answers of their build, which would be scored, are damaged, too."""
    execute(root, f"UPDATE scores SET {wrong} WHERE scoring = 1")
    execute(root, "DELETE FROM texts WHERE id IN (SELECT text FROM responses WHERE build = 1)")
    code, _, told = call(capsys, root, "history", "--rescore")
    assert code == 0, told
    assert "build 1 (old)" in told


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted({table for table, _, _ in columns()}))
def test_a_page_of_a_damaged_history(root, tmp_path, capsys, table):
    """One case for each column."""
    for column, damage in {column: damage for column, damage in damages(table) if "WHERE" not in damage}.items():
        case = tmp_path / column
        shutil.copytree(root, case)
        execute(case, damage)
        call(capsys, case, "report", "--output", str(tmp_path / "page.html"))
        call(capsys, case, "history", "--nugget", "q1/1")


@pytest.mark.slow
@pytest.mark.parametrize("table", ["builds", "questions", "nuggets", "texts", "scorings"])
def test_an_id_above_which_sqlite_has_none_stops_no_record(root, capsys, table):
    """The build with it is not the newest for all time either."""
    assert execute(root, f"UPDATE {table} SET id = {2**63 - 1} WHERE id = 1") == 1
    for command in (["score", "new", "--record", "--label", "later"], ["nightly", "mid"]):
        assert call(capsys, root, *command)[0] in (0, 1), command
    builds = json.loads(call(capsys, root, "history", "--json", "-")[1])["trends"][0]["builds"]
    assert builds[-1]["run"] == "mid"


def test_an_id_that_leaves_no_other_is_an_error(root, capsys):
    execute(root, f"UPDATE texts SET id = {10**15} WHERE id = 1")
    code, _, told = call(capsys, root, "score", "new", "--record", "--label", "later")
    assert code == 2
    assert "above which there is none to give" in told


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted({table for table, _, _ in columns()} - {"rulings"}))  # not every build has one
@pytest.mark.parametrize("where", ["", "WHERE rowid = 1"], ids=["all", "one"])
def test_rows_that_are_gone_are_told(root, capsys, table, where, tmp_path):
    try:
        execute(root, f"DELETE FROM {table} {where}")
    except sqlite3.OperationalError:
        pytest.skip("this table has no row ids")
    _, _, told = call(capsys, root, "history")
    _, _, report = call(capsys, root, "report", "--output", str(tmp_path / "page.html"))
    assert "history.sqlite3: " in told + report
    for command in (["score", "new", "--record"], ["nightly", "mid"], ["history", "--rescore"], ["history"]):
        call(capsys, root, *command)
