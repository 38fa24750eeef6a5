"""Inspect's logs, as zip archives and as JSON; archives that are meant to do harm."""

from __future__ import annotations

import json
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from nuggeteer.collection.doctor import examine
from nuggeteer.errors import InputError
from nuggeteer.formats import inspect_log
from nuggeteer.formats.inspect_log import Archive, read_log, recognises
from nuggeteer.formats.objects import open_file

HEADER = {"version": 2, "status": "success", "eval": {"task": "facts", "model": "openai/gpt-5"}}


def sample(name, epoch, asked, said, **more):
    choice = {"message": {"role": "assistant", "content": said}, "stop_reason": "stop"}
    return {
        "id": name,
        "epoch": epoch,
        "input": asked,
        "output": {"model": "m", "choices": [choice], "completion": "elsewhere"},
        "messages": [{"role": "user", "content": "..."}],
        "events": [{"event": "model"}] * 3,
        "scores": {"includes": {"value": "C"}},
        "metadata": {"topic": "geo"},
        "attachments": {},
        **more,
    }


TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "When?"}]}]
PARTS = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "In"}, {"type": "text", "text": "1851."}]
SAMPLES = [
    sample("q1", 1, "Where?", "In London.", target="London"),
    sample(2, 2, TALK, "Later.", target=["1851", "eighteen fifty-one"]),
    sample(2, 1, TALK, PARTS, target=["1851", "eighteen fifty-one"]),
    sample("c", 1, "attachment://ab", "A", target="A", attachments={"ab": "Which?"}, choices=["x", "y"]),
    {"id": "failed", "epoch": 1, "input": "Why?", "target": "", "output": {"choices": [], "completion": ""}},
]


def write_archive(path, samples=SAMPLES, header="header.json", about=HEADER, **options):
    with zipfile.ZipFile(path, "w", **options) as file:
        file.writestr(header, json.dumps(about))
        for one in samples:
            file.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        file.writestr("summaries.json", "[]")
    return path


def write_document(path):
    path.write_text(json.dumps({**HEADER, "samples": SAMPLES}, indent=1))
    return path


def zstandard(path):
    """As Inspect 0.3.285 writes it. Members are compressed by hand, because zipfile does not before Python 3.14."""
    compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", compress(json.dumps(HEADER).encode()))
        for one in SAMPLES:
            halves = json.dumps(one).encode().partition(b"epoch")  # in several frames
            name = f"samples/{one['id']}_epoch_{one['epoch']}.json"
            file.writestr(name, b"".join(compress(half) for half in halves))
    content = bytearray(path.read_bytes())
    for mark, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(mark)
        while at >= 0:
            content[at + method] = inspect_log.ZSTANDARD
            at = content.find(mark, at + 1)
    path.write_bytes(content)
    return path


FORMS = {
    "deflated": lambda path: write_archive(path, compression=zipfile.ZIP_DEFLATED),
    "stored": write_archive,
    "unfinished": lambda path: write_archive(path, header="_journal/start.json"),
    "document": write_document,
    "zstandard": zstandard,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_log_becomes_questions_runs_and_nuggets(tmp_path, form):
    path = FORMS[form](tmp_path / "log.eval")
    assert recognises(open_file(path))
    bundle = read_log(path)
    assert {q.qid: q.text for q in bundle.questions.values()} == {
        "q1": "Where?",
        "2": "When?",
        "c": "Which?",
        "failed": "Why?",
    }
    assert {run: {r.qid: r.text for r in some} for run, some in bundle.responses.items()} == {
        "facts-openai-gpt-5": {"q1": "In London.", "2": "In\n1851.", "c": "A"},
        "facts-openai-gpt-5-2": {"2": "Later."},
    }
    assert [(n.qid, n.descriptions) for n in bundle.nuggets] == [
        ("q1", ("London",)),
        ("2", ("1851", "eighteen fifty-one")),
    ]
    assert {what: count for what, count in bundle.left_out.items() if count} == {
        "transcripts": 4,
        "earlier messages of an input": 2,
        "references without a fact (a letter, yes or no)": 1,
        "samples without an output": 1,
    }
    assert bundle.unused["scores"] == 4
    assert bundle.problems[0].what == (
        "facts-openai-gpt-5 answers 1 question again; second answers are the run facts-openai-gpt-5-2, and so on"
    )
    assert [(info.run, info.group) for info in bundle.runs.values()] == [
        ("facts-openai-gpt-5", None),  # which is a group of its own
        ("facts-openai-gpt-5-2", "facts-openai-gpt-5"),
    ]


def test_other_archives_are_no_logs(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "hello")
    assert not recognises(open_file(path))


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    """Also if its directory lies about the size."""
    monkeypatch.setattr(inspect_log, "UNPACKED", 10_000)
    path = write_archive(
        tmp_path / "x.eval", [sample("q1", 1, "Where?", "x" * 5_000_000)], compression=zipfile.ZIP_DEFLATED
    )
    with pytest.raises(InputError, match="unpacks to far more"):
        read_log(path)


def test_members_that_together_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "UNPACKED", 50_000)
    monkeypatch.setattr(inspect_log, "UNPACKED_TIMES", 1)
    samples = [sample(f"q{i}", 1, "Where?", "x" * 20_000) for i in range(5)]
    with pytest.raises(InputError, match="unpacks to far more"):
        read_log(write_archive(tmp_path / "x.eval", samples, compression=zipfile.ZIP_DEFLATED))


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bz2", "lzma"])
def test_a_member_that_would_unpack_without_bound_is_refused(tmp_path, method):
    """zipfile unpacks these whole, however few bytes are asked for."""
    samples = [sample("q1", 1, "Where?", "x" * 50_000_000)]
    path = write_archive(tmp_path / "x.eval", samples, compression=method)
    tracemalloc.start()
    with pytest.raises(InputError, match="compressed in a way that we cannot read"):
        read_log(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5_000_000


def test_a_directory_of_members_is_read_once_however_many_there_are(tmp_path, monkeypatch):
    """And not for each of them, which would take the square of their number."""
    path = write_archive(tmp_path / "x.eval", [sample(f"q{i}", 1, f"Where {i}?", "x") for i in range(200)])
    opened, real = [], zipfile.ZipFile._RealGetContents
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: (opened.append(self), real(self)))
    assert len(read_log(path).questions) == 200
    assert len(opened) == 1


def test_a_large_directory_whose_end_says_it_is_small_is_refused(tmp_path, monkeypatch):
    """zipfile believes the record for large archives, which stands before the end."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    path = write_archive(tmp_path / "x.eval")
    content = bytearray(path.read_bytes())
    content[-10:-6] = (50).to_bytes(4, "little")
    path.write_bytes(content)
    assert len(zipfile.ZipFile(path).infolist()) == len(SAMPLES) + 2
    monkeypatch.setattr(inspect_log, "DIRECTORY", 100)
    with pytest.raises(InputError, match="its directory has more than 100 bytes"):
        Archive(path)


def test_a_large_directory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "DIRECTORY", 100)
    with pytest.raises(InputError, match="its directory has more than 100 bytes"):
        Archive(write_archive(tmp_path / "x.eval"))


@pytest.mark.parametrize("cut", [10, 200, -10, -200])
def test_a_torn_archive_is_refused(tmp_path, cut):
    path = write_archive(tmp_path / "x.eval", compression=zipfile.ZIP_DEFLATED)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="damaged or cut off"):
        read_log(path)


def test_a_member_with_a_password_is_refused(tmp_path):
    path = write_archive(tmp_path / "x.eval")
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    while at >= 0:
        content[at + 8] |= 1
        at = content.find(b"PK\x01\x02", at + 1)
    path.write_bytes(content)
    with pytest.raises(InputError, match="has a password"):
        read_log(path)


def test_without_the_package_an_error_names_the_extra(tmp_path, monkeypatch):
    path = zstandard(tmp_path / "x.eval")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match=r"install nuggeteer\[inspect\]"):
        read_log(path)


def test_names_in_an_archive_are_never_written(tmp_path):
    evil = {**SAMPLES[0], "id": "../../evil"}
    read_log(write_archive(tmp_path / "x.eval", [evil]))
    assert [one.name for one in tmp_path.iterdir()] == ["x.eval"]


def test_logs_that_inspect_itself_wrote_are_read(tmp_path):
    """With inspect_ai, if it is installed: its own writer, in both forms."""
    inspect_log = pytest.importorskip("inspect_ai.log")
    model = {**HEADER, "samples": [{**one, "messages": [], "events": [], "scores": {}} for one in SAMPLES[:1]]}
    log = inspect_log.EvalLog.model_validate(
        model | {"eval": {**HEADER["eval"], "created": "2026-11-19T05:00:00+00:00", "dataset": {}, "config": {}}}
    )
    for ending in ("eval", "json"):
        inspect_log.write_eval_log(log, str(tmp_path / f"log.{ending}"))
        bundle = read_log(Path(tmp_path / f"log.{ending}"))
        assert bundle.responses["facts-openai-gpt-5"][0].text == "In London."


def test_an_evaluation_that_failed_is_said(tmp_path):
    path, cut = tmp_path / "x.json", sample("q2", 1, "Who?", "He w", error={"message": "timeout"})
    failed = {"status": "error", "error": {"message": "RateLimitError: 429\nTraceback"}}
    path.write_text(json.dumps({**HEADER, **failed, "samples": [*SAMPLES[:1], cut]}))
    said = [problem.what for problem in read_log(path).problems]
    assert said == ["its status is 'error': RateLimitError: 429", "1 question whose sample ended with an error: q2"]
    path.write_text(json.dumps({**HEADER, "status": "cancelled", "samples": SAMPLES[:1]}))
    assert [problem.what for problem in examine(path).problems] == ["its status is 'cancelled'"]
    path = tmp_path / "x.eval"
    write_archive(path, SAMPLES[:1], "_journal/start.json", {"eval": HEADER["eval"]})
    assert [problem.what for problem in read_log(path).problems] == ["the evaluation was not finished"]
    assert read_log(write_archive(path, SAMPLES[:1])).problems == []
