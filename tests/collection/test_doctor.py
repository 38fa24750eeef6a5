"""What files are: every file of ours and of others is told, with commands that work as they stand."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import threading
import tomllib
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.convert import convert_into
from nuggeteer.collection.doctor import examine
from nuggeteer.collection.own_files import OWN_FILES
from nuggeteer.collection.sample import copy_sample
from nuggeteer.errors import InputError
from tests.collection.test_convert import EXAMPLES
from tests.conftest import write_lines

TEXT = {"qid": "q1", "nugget": "1", "text": "He built it."}
OURS = {
    "nuggets": [{"qid": "q1", "nugget": "1", "text": "built it", "importance": "vital"}],
    "questions": [{"qid": "q1", "text": "Who was Fermi?", "kind": "definition"}],
    "manifest": [{"run": "a", "group": "b"}],
    "responses": [{"qid": "q1", "text": "He built it."}],
    "judgements": [{**TEXT, "verdict": True}],
    "page": [{**TEXT, "verdict": True, "at": "2026-01-31T09:30:00Z", "run": "a", "source": "page", "page": "p"}],
    "judge": [{**TEXT, "assignment": "support", "scope": "answer"}],
    "proposals": [{"qid": "q1", "text": "built it", "importance": "vital", "from": "He built it.", "run": "a"}],
    "annotation": [{"snippet": "s", "text": "He built it.", "nuggets": [{"spans": [[0, 2]]}]}],
    "judged": [{"qid": "q", "query": "LIST FACTS ABOUT [it]", "distiller": "A", "text": "It.", "judged": "relevant"}],
    "distillers": [{"type": "query", "qid": "q1", "text": "Who?"}],
}


@pytest.mark.parametrize("kind", [*OURS, "verdicts", "history"])
def test_every_file_of_ours_is_known(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if kind == "verdicts":
        path = tmp_path / "v.csv"
        path.write_text("QID,nugget,text,Verdict\nq1,1,He built it.,yes\nq1,2,He built it.,\n")
    elif kind == "history":
        copy_sample(tmp_path / "c")
        assert main(["score", "build-101", "--record", "--collection", "c"]) == 0
        path = (tmp_path / "c" / "history.sqlite3").rename(tmp_path / "h")
    else:
        path = write_lines(tmp_path / "file", OURS[kind])
    found = examine(path)
    assert found.about == OWN_FILES[kind].about
    assert found.known
    assert found.format is None
    assert not [problem for problem in found.problems if problem.severity == "error"]
    assert kind == "history" or any(found.counts.values())


@pytest.mark.parametrize("name", ["judge.jsonl", "my judge.jsonl", 'it\'s "{who}".jsonl'])
def test_what_it_says_of_a_file_works_whatever_its_name_is(tmp_path, name):
    """In a shell, and in a file of settings."""
    path = write_lines(tmp_path / "a dir" / name, OURS["judge"])
    (_, setting), (_, command) = examine(path, tmp_path / "a dir").steps
    assert tomllib.loads(setting) == {"match": {"judges": [name]}}
    assert shlex.split(command) == ["nuggeteer", "agree", "--collection", str(tmp_path / "a dir")]
    (_, imported), _ = examine(write_lines(tmp_path / "b" / name, OURS["judgements"])).steps
    assert shlex.split(imported)[3] == str(tmp_path / "b" / name)


def test_every_kind_has_an_example():
    assert {*OURS, "verdicts", "history"} == set(OWN_FILES)


@pytest.mark.parametrize("format_", EXAMPLES)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_is_known_and_its_commands_work(tmp_path, format_, packed, monkeypatch, capsys):
    """Those that put it into a collection, as they stand."""
    monkeypatch.chdir(tmp_path)
    content = EXAMPLES[format_].encode() if isinstance(EXAMPLES[format_], str) else EXAMPLES[format_]
    path = Path("a file.gz" if packed else "a file")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = examine(path)
    assert (found.format, found.known) == (format_, True)
    for _, command in found.steps:
        program, name, *rest = shlex.split(command)
        assert program == "nuggeteer"
        if name == "convert":
            assert main([name, *rest]) == 0, capsys.readouterr().err
    assert main(["convert", str(path), "--into", "by itself"]) == 0
    assert f"format: {format_} " in capsys.readouterr().out


@pytest.mark.slow
def test_a_collection_and_its_files_are_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy_sample(tmp_path / "c")
    assert dict(examine(Path("c")).counts)["runs"] == 7
    for path in sorted(Path("c").rglob("*.jsonl")):
        (_, command), *others = examine(path).steps
        assert not others
        program, name, *rest = shlex.split(command)
        assert (program, main([name, *rest])) == ("nuggeteer", 0), command


UNREADABLE = {
    b"": "an empty file",
    b"\x00\x01\x02": "no text",
    b"PK\x03\x04": "a zip archive of no known kind",
    b"PK\x03\x04....xl/workbook.xml": "an Excel workbook",
    b"PAR1....": "a Parquet file",
    "q,a\n".encode("utf-16"): "text in UTF-16",
    b'{"qid": "q1", "nug': "JSON of no known kind error: line 1: not JSON",
    b'{"a": 1}\n{"a": 1': "JSON with the keys a, of no known kind",
    b"question,answer\n": "anybody's, RAGAS's, DeepEval's warning: there is no object and no row in it; name another",
    b"qid,nugget,text,verdict\n": "a table of verdicts warning: there is no row in it; name another file",
    b'{"vars": 1, "promptIdx": 0, "provider": "x"}': "promptfoo's results 1 garbled warning: line 1: no vars",
}
UNKNOWN = {
    b"Dear all,\nplease find": "text of no known kind",
    b"a,b\n1,2\n": "a table with the columns a, b",
    b'{"a": 1, "b": 2}': "JSON with the keys a, b",
    b"{}": "JSON of no known kind",
    b"vars,[bot] hi,Status,Score,Named Scores\n1,2,3,4,5\n": "promptfoo's results as a table",
    b'{"sample_id": "a", "rubric_title": "b", "verdict": "Satisfied"}': "verdicts on rubrics without",
}


@pytest.mark.parametrize(("content", "about"), [*UNREADABLE.items(), *UNKNOWN.items()])
def test_what_is_not_known_is_described_and_the_exit_code_says_whether_it_can_be_read(tmp_path, content, about, capsys):
    path = tmp_path / "x"
    path.write_bytes(content)
    assert main(["doctor", str(path)]) == (2 if content in UNREADABLE else 0)
    assert about in " ".join(capsys.readouterr().out.split())
    found = examine(path)
    assert (found.broken, found.known) == (content in UNREADABLE, False)


@pytest.mark.parametrize("kind", ["responses", "nuggets"])
def test_an_error_in_a_file_of_a_known_kind_is_an_exit_code_of_2(tmp_path, kind, capsys):
    """The rule is that of check: what has to be mended is 2. It was 0."""
    path = write_lines(tmp_path / "x", OURS[kind])
    assert main(["doctor", str(path)]) == 0
    path.write_text(path.read_text() + '{"qid": \n')
    assert main(["doctor", str(path)]) == 2
    assert "error: line 2: not JSON" in capsys.readouterr().out
    assert examine(path).known


def test_a_pipe_is_refused_and_lines_can_still_come_from_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a device or a pipe"):
        examine(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(EXAMPLES["rag-answers"],))
    writer.start()
    (done,) = convert_into("rag-answers", [pipe], tmp_path / "c")
    writer.join()
    assert done.counts["responses"] == 1


def test_tools_whose_rows_are_like_anybodys_are_names_of_the_format(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(EXAMPLES["qa"])
    for name in ("ragas", "deepeval"):
        (done,) = convert_into(name, [path], tmp_path / name)
        assert done.counts["responses"] == 1


def test_files_of_two_formats_are_not_converted_together(tmp_path, capsys):
    (tmp_path / "a").write_text(EXAMPLES["trec-key"])
    (tmp_path / "b").write_text(EXAMPLES["rag-answers"])
    assert main(["convert", str(tmp_path / "a"), str(tmp_path / "b"), "--into", str(tmp_path / "c")]) == 2
    assert "convert them one by one" in capsys.readouterr().err
    (tmp_path / "b").write_text("Dear all,\n")
    assert main(["convert", str(tmp_path / "a"), str(tmp_path / "b"), "--into", str(tmp_path / "c")]) == 2
    assert "nuggeteer doctor says what it is" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_hostile_names_and_keys_are_harmless(tmp_path, capsys):
    path = tmp_path / "\x1b[2J.json"
    path.write_text(json.dumps({"\x1b[31m": 1}))
    assert main(["doctor", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["doctor", str(path), "--json", "-"]) == 0
    assert "\x1b" not in capsys.readouterr().out
