"""A folder read into memory: what stands where, which runs there are, where the folder is looked for."""

from __future__ import annotations

import gzip
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.names import find_collection
from nuggeteer.errors import NuggeteerError
from tests.conftest import write_lines

NUGGETS = [
    {"qid": "q2", "nugget": "1", "text": "one", "importance": "vital"},
    {"qid": "q1", "nugget": "1", "text": "two", "importance": "okay"},
    {"qid": "q2", "nugget": "2", "text": "three", "importance": "okay"},
]


@given(st.lists(st.tuples(st.sampled_from(["q1", "q2", "q9"]), st.text("ab", max_size=3)), max_size=12))
def test_a_run_is_its_responses_grouped_by_question_in_run_order(tmp_path_factory, responses):
    """Against a plain filter; responses to unknown questions are left out."""
    folder = tmp_path_factory.mktemp("run")
    write_lines(folder / "nuggets.jsonl", NUGGETS)
    write_lines(
        folder / "runs" / "r.jsonl", ({"qid": q, "text": t, "docid": str(i)} for i, (q, t) in enumerate(responses))
    )
    run = read_collection(folder, allow_empty=True).run("r")
    expected = {qid: [(t, str(i)) for i, (q, t) in enumerate(responses) if q == qid] for qid in ("q1", "q2")}
    for i, own in enumerate(expected.values()):
        place = range(int(run.offsets[i]), int(run.offsets[i + 1]))
        assert [(run.texts[at], run.docid(at)) for at in place] == own
        assert (run.question[list(place)] == i).all()
    assert len(run) == sum(map(len, expected.values()))


def test_a_run_without_docids_has_none(tmp_path):
    write_lines(tmp_path / "nuggets.jsonl", NUGGETS)
    write_lines(tmp_path / "runs" / "r.jsonl", [{"qid": "q1", "text": "a"}])
    run = read_collection(tmp_path).run("r")
    assert run.docids is None
    assert run.docid(0) is None


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "collection"
    write_lines(root / "nuggets.jsonl", NUGGETS)
    for name in ("b", "a", "c"):
        write_lines(root / "runs" / f"{name}.jsonl", [{"qid": "q1", "text": name}, {"qid": "q2", "text": name}])
    write_lines(root / "runs.jsonl", [{"run": "c", "judged": "best"}, {"run": "gone"}, {"run": "a", "group": "g"}])
    return root


def test_runs_are_those_in_the_folder_with_the_manifest_first(folder):
    collection = read_collection(folder)
    assert collection.run_names == ("c", "a", "b")
    assert [run.name for run in collection.judged_runs] == ["c"]
    assert collection.run("a").info.group == "g"
    assert collection.run("b").info.judged == "none"


def test_a_run_is_read_once_and_its_warnings_are_told_once(folder):
    write_lines(folder / "runs" / "b.jsonl", [{"qid": "q1", "text": "x"}])
    collection = read_collection(folder)
    assert collection.run("b") is collection.run("b")
    assert len(collection.problems) == 1


def test_a_run_can_be_named_by_its_file(folder, tmp_path, monkeypatch):
    collection = read_collection(folder)
    assert collection.run(str(folder / "runs" / "a.jsonl")) is collection.run("a")
    elsewhere = write_lines(tmp_path / "tonight.jsonl", [{"qid": "q1", "text": "new"}])
    assert collection.run(str(elsewhere)).texts == ["new"]
    assert collection.run(str(elsewhere)).name == "tonight"
    monkeypatch.chdir(tmp_path)
    assert collection.run("tonight.jsonl").texts == ["new"]


def test_a_file_with_the_name_of_another_run_is_refused(folder, tmp_path):
    other = write_lines(tmp_path / "a.jsonl", [{"qid": "q1", "text": "new"}])
    with pytest.raises(NuggeteerError, match="another run 'a'"):
        read_collection(folder).run(str(other))


@pytest.mark.parametrize("name", ["gone", "", "runs", "a.txt", "../collection", "x" * 5000, "a\0"])
def test_a_run_that_is_not_there_is_refused_with_those_that_are(folder, name):
    with pytest.raises(NuggeteerError, match=r"(no such run|is a folder).*; .*the runs in .* are: c, a, b"):
        read_collection(folder).run(name)


def test_the_nearest_folder_upwards_with_nuggets_is_the_collection(folder, monkeypatch):
    inner = folder / "runs" / "deep"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert find_collection() == folder.resolve()
    write_lines(inner / "nuggets.jsonl", NUGGETS)
    assert find_collection() == inner.resolve()
    assert find_collection(folder) == folder.resolve()


def test_no_collection_anywhere_is_said(tmp_path):
    for use in (find_collection, read_collection):
        with pytest.raises(NuggeteerError, match=r"no nuggets\.jsonl"):
            use(tmp_path)


def test_a_collection_with_compressed_files_is_the_same_collection(sample, tmp_path):
    shutil.copytree(sample.root, tmp_path / "packed")
    for name in ("questions", "nuggets", "runs/build-101", "runs/aurora", "judgements/dev"):
        path = tmp_path / "packed" / f"{name}.jsonl"
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    packed = read_collection(tmp_path / "packed")
    assert packed.key.nuggets == sample.key.nuggets
    assert packed.judgements == sample.judgements
    assert packed.run_names == sample.run_names
    assert packed.run("build-101").texts == sample.run("build-101").texts
    assert find_collection(tmp_path / "packed" / "runs") == tmp_path / "packed"


def test_a_file_beside_its_compressed_form_is_an_error(sample, tmp_path):
    shutil.copytree(sample.root, tmp_path / "both")
    path = tmp_path / "both" / "runs" / "build-101.jsonl"
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert [str(p) for p in check(tmp_path / "both") if p.severity == "error"] == [
        f"{path}.gz: stands beside build-101.jsonl; delete one of them"
    ]
