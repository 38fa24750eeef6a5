"""What one command takes as known, another does not call unknown: AutoNuggetizer's assignments through each door.

The doors are `convert --as-truth`, `judge --import --as-truth`, and a file that the settings name (`[match]`), which is
evidence and no verdict but must say the same of the same pairs.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.cli.main import main
from nuggeteer.collection.checking import check
from nuggeteer.collection.convert import convert_into
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.importing import import_verdicts
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.matches import read_matches
from nuggeteer.scoring.scorer import score
from nuggeteer.text import normalised
from tests.collection.test_convert import EXAMPLES
from tests.conftest import shared, write_lines

KEY = ["built in 1851", "stood in Hyde Park", "made of glass", "made of glass", "designed by Paxton"]
TEXTS = [*KEY, "Built  in 1851", "**made of glass**.", "STOOD in hyde park!", "unknown fact"]
ASSIGNED = ["support", "partial_support", "not_support", "not_assigned", "ming_dynasty", None, 7]
ANSWERS = ["It was built in 1851. It stood in Hyde Park.", "I do not know.", "i do not know"]
SETTINGS = '[answers]\nsplit = "sentences"\n'
Said = dict[tuple[str, str], tuple[bool, bool]]  # of a nugget and a text: (yes, partly)


def collection(folder: Path, split: bool) -> Path:
    """A key without verdicts."""
    write_lines(folder / "questions.jsonl", [{"qid": "q", "text": "why?"}])
    nuggets = [{"qid": "q", "nugget": str(i), "text": text, "importance": "vital"} for i, text in enumerate(KEY)]
    write_lines(folder / "nuggets.jsonl", nuggets)
    if split:
        (folder / "nuggeteer.toml").write_text(SETTINGS)
    return folder


def strongest(said: list[tuple[tuple[str, str], tuple[bool, bool]]]) -> Said:
    """Of several verdicts on a pair, the yes counts, else partly."""
    found: Said = {}
    for pair, verdict in said:
        found[pair] = max(found.get(pair, (False, False)), verdict)
    return found


def known(folder: Path) -> Said:
    """What the collection knows."""
    found = read_collection(folder)
    assert not found.machine
    return strongest([((j.nugget, normalised(j.text)), (j.verdict, j.partial)) for j in found.judgements])


def converted(path: Path, folder: Path) -> Said:
    convert_into("nuggetizer-assignments", [path], folder, as_truth=True)
    return known(folder)


def imported(path: Path, folder: Path) -> Said:
    import_verdicts(read_collection(folder), path, as_truth=True)
    return known(folder)


def matched(path: Path, folder: Path) -> Said:
    key = read_collection(folder).key
    matches = read_matches(path, key, [])
    return {(key.nuggets[m.nugget].nugget, m.text): (m.score == 1, m.score == 0.5) for m in matches}


DOORS = {"convert": converted, "import": imported, "match": matched}
LISTED = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(ASSIGNED)), min_size=1, max_size=7)


def line(run: str, answer: str, listed: list[tuple[str, Any]]) -> dict[str, Any]:
    nuggets = [{"text": text, "importance": "vital", "assignment": said} for text, said in listed]
    return {"query": "why?", "qid": "q", "run_id": run, "answer_text": answer, "nuggets": nuggets}


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(ANSWERS), LISTED), min_size=1, max_size=3), st.booleans())
def test_all_doors_say_the_same_of_the_same_pairs(answers, split):
    with TemporaryDirectory() as name:
        path = write_lines(Path(name) / "a.jsonl", [line(f"r{i}", *answer) for i, answer in enumerate(answers)])
        said = {}
        for door, go in DOORS.items():
            folder = collection(Path(name) / door, split)
            if door == "import" and not said["convert"]:
                with pytest.raises(NuggeteerError, match="no verdict on a nugget of the key"):
                    go(path, folder)
                said[door] = {}
            else:
                said[door] = go(path, folder)
        assert said["convert"] == said["import"] == said["match"]


@pytest.mark.slow
@pytest.mark.parametrize("door", ["convert", "import"])
def test_public_files_are_known_alike_and_score_alike(tmp_path, door):
    """With garbled assignments and importances among them; after `check`, which finds nothing wrong."""
    data = shared("autonuggetizer")
    name = "assignments.gpt4o.jsonl"
    folder = tmp_path / "c"
    convert_into("nuggetizer-nuggets", [data / "nuggets.jsonl"], folder)
    convert_into("rag-answers", [data / "answers.gpt4o.jsonl"], tmp_path / "answers")
    first = json.loads((data / name).read_text(encoding="utf-8").splitlines()[0])
    if door == "convert":
        convert_into("nuggetizer-assignments", [data / name], folder, as_truth=True)
    else:
        lines = [json.loads(text) for text in (data / name).read_text(encoding="utf-8").splitlines()]
        write_lines(
            folder / "runs" / f"{first['run_id']}.jsonl", [{"qid": x["qid"], "text": x["answer_text"]} for x in lines]
        )
        import_verdicts(read_collection(folder), data / name, as_truth=True)
    assert not [problem for problem in check(folder) if problem.severity == "error"]
    scored = score(read_collection(folder), [first["run_id"]], ["all_score", "vital_score"])[first["run_id"]]
    rows = [json.loads(text) for text in (data / "metrics.gpt4o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert scored.outcome.pairs_guessed == 0
    for measure in ("all_score", "vital_score"):
        expected = sum(row[measure] for row in rows) / len(rows)
        assert scored.measures[measure].value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", ["list", "packed", "packed list"])
def test_a_file_is_the_same_in_any_form(tmp_path, form):
    lines = [line("r", ANSWERS[0], [(KEY[0], "support"), (KEY[1], "not_support")])]
    content = json.dumps(lines, indent=1) if "list" in form else json.dumps(lines[0]) + "\n"
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(content.encode()) if "packed" in form else content.encode())
    expected = {("0", normalised(ANSWERS[0])): (True, False), ("1", normalised(ANSWERS[0])): (False, False)}
    for door in ("convert", "import"):
        assert DOORS[door](path, collection(tmp_path / door, True)) == expected


def test_packed_ledgers_and_tables_are_imported(tmp_path):
    verdict = {"qid": "q", "nugget": "0", "text": ANSWERS[0], "verdict": True, "assessor": "ann"}
    ledger, table = tmp_path / "a.jsonl.gz", tmp_path / "a.csv.gz"
    ledger.write_bytes(gzip.compress(json.dumps(verdict).encode() + b"\n"))
    table.write_bytes(gzip.compress(f"qid,nugget,text,verdict\nq,0,{ANSWERS[0]},yes\n".encode()))
    for name, path in (("one", ledger), ("two", table)):
        folder = collection(tmp_path / name, False)
        import_verdicts(read_collection(folder), path, "ann")
        assert known(folder) == {("0", normalised(ANSWERS[0])): (True, False)}


def test_the_doctor_names_a_command_that_works_for_each(tmp_path, monkeypatch, capsys):
    """For verdicts of our own form: without a name where the lines have one."""
    folder = collection(tmp_path / "c", False)
    monkeypatch.chdir(folder)
    verdict = {"qid": "q", "nugget": "0", "text": ANSWERS[0], "verdict": True}
    for assessor in ("ann", None):
        path = write_lines(tmp_path / f"by {assessor}", [verdict | ({"assessor": assessor} if assessor else {})])
        assert main(["doctor", str(path)]) == 0
        command = next(text for text in capsys.readouterr().out.splitlines() if "--import" in text)
        assert ("--assessor NAME" in command) == (assessor is None)


@pytest.mark.parametrize("format_", EXAMPLES)
def test_a_file_of_another_project_is_called_so_wherever_a_file_of_ours_belongs(tmp_path, format_, capsys):
    """At every door one error, with the command that converts it; AutoNuggetizer's assignments may be imported."""
    folder = collection(tmp_path / "c", False)
    path = tmp_path / "foreign.jsonl"
    path.write_text(EXAMPLES[format_])
    commands = [["score", str(path)], ["judge", "--import", str(path), "--assessor", "ann"]]
    for command in commands[: 1 if format_ == "nuggetizer-assignments" else 2]:
        assert main([*command, "--collection", str(folder)]) == 2
        told = capsys.readouterr().err
        assert f"nuggeteer convert {format_} {path} --into DIR" in told, told
        assert "column" not in told
    for place in ("runs", "judgements"):
        (folder / place).mkdir()
        there = folder / place / "foreign.jsonl"
        there.write_text(f"{EXAMPLES[format_]}\n")
        errors = [problem for problem in check(folder) if problem.severity == "error"]
        assert [problem.file for problem in errors] == [str(there)]
        assert f"nuggeteer convert {format_} " in errors[0].remedy
        there.unlink()
