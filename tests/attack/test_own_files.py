"""A collection from a stranger: nothing that it holds makes Nuggeteer write elsewhere, or believe a foreign cache."""

from __future__ import annotations

import io
import os
import shutil

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.sample import sample_folder
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats import cache
from nuggeteer.formats.bundle import Bundle, write_bundles
from nuggeteer.formats.cache import DamagedFile, pack_arrays, read_cache, unpack_arrays, write_cache
from nuggeteer.records import Judgement, Question
from nuggeteer.scoring import fitted_model
from nuggeteer.scoring.scorer import score
from tests.asking.fake_server import FakeServer

NUGGETS = [{"qid": "q", "nugget": "1", "text": "a red fox"}, {"qid": "q", "nugget": "2", "text": "two blue birds"}]
RUNS = {"r": [("q", "a red fox came"), ("q", "nothing else")]}
YES = {"qid": "q", "nugget": "1", "text": "a red fox came", "verdict": True}
PRECIOUS = b"alias ls='ls -l'\n"


@pytest.fixture
def root(collect):
    return collect(NUGGETS, RUNS, [YES]).root  # something is guessed, or nothing would be fitted


@pytest.fixture
def precious(tmp_path):
    path = tmp_path / "bashrc"
    path.write_bytes(PRECIOUS)
    return path


@pytest.mark.parametrize("name", ["thresholds", "words", "reliability", ".gitignore"])
def test_no_cache_is_written_through_a_link(root, precious, name):
    (root / ".nuggeteer").mkdir()
    (root / ".nuggeteer" / name).symlink_to(precious)
    score(read_collection(root), ["r"])
    write_cache(root, "reliability", b"{}")
    assert precious.read_bytes() == PRECIOUS
    assert read_cache(root, "reliability", 10) == b"{}"


@pytest.mark.parametrize("name", [".nuggeteer", "judgements"])
def test_nothing_is_written_through_a_link_to_a_folder(root, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(root / name, ignore_errors=True)
    (root / name).symlink_to(outside)
    assert score(read_collection(root), ["r"])["r"].measures["f3"].value is not None
    with pytest.raises(NuggeteerError, match="is a link"):
        Ledger(root, "ann") if name == "judgements" else write_cache(root, "thresholds", b"")
    assert list(outside.iterdir()) == []


def test_a_dangling_gitattributes_creates_nothing_elsewhere(root, tmp_path):
    (root / "judgements" / ".gitattributes").symlink_to(tmp_path / "new")
    Ledger(root, "ann").append(Judgement("q", "1", "nothing else", False))
    assert not (tmp_path / "new").exists()
    assert (root / "judgements" / "ann.jsonl").is_file()


@pytest.mark.parametrize("exists", [True, False])
def test_a_history_is_no_link(root, precious, tmp_path, exists, capsys):
    target = precious if exists else tmp_path / "new"
    (root / "history.sqlite3").symlink_to(target)
    assert main(["score", "r", "--collection", str(root), "--record"]) == 2
    assert "is a link" in capsys.readouterr().err
    assert target.exists() == exists
    assert precious.read_bytes() == PRECIOUS


@pytest.fixture
def sealed(root):
    score(read_collection(root), ["r"])
    return root / ".nuggeteer" / "thresholds"


def test_no_flipped_bit_is_believed(root, sealed):
    whole = sealed.read_bytes()
    for at in [*range(0, 150), *np.random.default_rng(0).integers(0, len(whole), 100).tolist()]:
        sealed.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(DamagedFile):
            read_cache(root, fitted_model.NAME, 10**9)
    sealed.write_bytes(whole)
    assert read_cache(root, fitted_model.NAME, 10**9)


def test_the_cache_of_somebody_else_is_fitted_anew_with_a_word(root, sealed, tmp_path, monkeypatch):
    ours = score(read_collection(root), ["r"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
    basis, arrays = unpack_arrays(read_our(sealed))
    arrays["core"] += 3
    write_cache(root, fitted_model.NAME, pack_arrays(basis, arrays))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user"))
    found = score(read_collection(root), ["r"])
    assert found["r"].measures == ours["r"].measures
    assert any("another user" in note for note in found.notes)


def read_our(path):
    return path.read_bytes().partition(b"\n")[2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "itself", "huge", "old npz", "empty"])
def test_anything_in_the_place_of_a_cache_is_fitted_anew(root, sealed, kind):
    expected = score(read_collection(root), ["r"])["r"].measures
    sealed.unlink()
    if kind == "fifo":
        os.mkfifo(sealed)
    elif kind == "device":
        sealed.symlink_to("/dev/zero")
    elif kind == "folder":
        sealed.mkdir()
    elif kind == "itself":
        sealed.symlink_to(sealed)
    elif kind == "huge":
        with sealed.open("wb") as file:
            file.truncate(3 << 30)
    elif kind == "old npz":
        with sealed.open("wb") as file:
            np.savez_compressed(file, nugget_weights=np.zeros(10**7))
    else:
        sealed.touch()
    found = score(read_collection(root), ["r"])
    assert found["r"].measures == expected
    assert any("again" in note for note in found.notes)


def test_a_cache_is_no_other_cache(root):
    write_cache(root, "one", b"content")
    (root / ".nuggeteer" / "two").write_bytes((root / ".nuggeteer" / "one").read_bytes())
    with pytest.raises(DamagedFile):
        read_cache(root, "two", 100)


def test_only_its_owner_reads_the_key(root, sealed, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_cache(root, "one", b"content")
    key = tmp_path / "state" / "nuggeteer" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    first = key.read_bytes()
    assert len(first) == 32
    write_cache(root, "one", b"content")
    assert key.read_bytes() == first


def test_without_a_home_nothing_is_remembered(root, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_key_path", lambda: None)
    for _ in range(2):
        found = score(read_collection(root), ["r"])
        assert found["r"].measures["f3"].value is not None
        assert any("every time" in note for note in found.notes)
    assert not (root / ".nuggeteer").exists()


def test_convert_writes_through_no_link(tmp_path, monkeypatch, precious):
    folder = tmp_path / "here"
    shutil.copytree(sample_folder(), folder, ignore=shutil.ignore_patterns(".nuggeteer"))
    questions = folder / "questions.jsonl"
    precious.write_bytes(questions.read_bytes())
    questions.unlink()
    questions.symlink_to(precious)
    before = precious.read_bytes()
    bundle = Bundle()
    bundle.add_question(Question("new-1", "What?"))
    with pytest.raises(NuggeteerError, match="link that leads out"):
        write_bundles([("x", bundle)], folder)
    assert precious.read_bytes() == before


WRITTEN = {
    "judgements/ann.jsonl": ["judge", "r", "--plain", "--assessor", "ann"],
    "proposals.jsonl": ["judge", "r", "--plain", "--assessor", "ann"],
    "judges/fake.jsonl": ["ask", "r", "--all"],
    "judges/calls/fake.jsonl": ["ask", "r", "--all"],
    "judges/calls/fake.proposals.jsonl": ["ask", "r", "--propose", "answers"],
    "judges/fake.proposals.jsonl": ["ask", "r", "--propose", "answers"],
    "history.sqlite3": ["score", "r", "--record", "--label", "next"],
    "history.sqlite3-wal": ["score", "r", "--record", "--label", "next"],
    "history.sqlite3-shm": ["history"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_is_written_to_a_file_with_a_second_name(root, tmp_path, monkeypatch, capsys, name):
    """A hard link, as an archive can hold one: what is written to one name stands in the file of the other."""
    with FakeServer() as server:
        (root / "nuggeteer.toml").write_text(server.settings())
        assert main(["score", "r", "--record", "--collection", str(root)]) == 0
        path, outside = root / name, tmp_path / "outside"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(b"")
        outside.hardlink_to(path)
        before = outside.read_bytes()
        monkeypatch.setattr("sys.stdin", io.StringIO("p v New fact\ny\ny\ny\n"))
        assert main([*WRITTEN[name], "--collection", str(root)]) == 2
        assert server.requests == []  # nothing is paid for that cannot be kept
    told = "".join("".join(capsys.readouterr()).split())  # in lines of any width
    assert f"{path.name}:hasanothernameelsewhere(ahardlink)" in told
    assert outside.read_bytes() == before


def test_a_list_of_proposals_with_a_second_name_is_seen_before_anything_is_asked(root, tmp_path):
    with FakeServer() as server:
        (root / "nuggeteer.toml").write_text(server.settings())
        (root / "proposals.jsonl").write_bytes(b"")
        (tmp_path / "outside").hardlink_to(root / "proposals.jsonl")
        assert main(["ask", "r", "--propose", "answers", "--collection", str(root)]) == 2
        assert server.requests == []


def test_a_history_that_was_just_created_when_its_process_died_is_opened(root, capsys):
    """It stands there complete, and its draft is another name of it."""
    words = ["score", "r", "--record", "--collection", str(root)]
    assert main(words) == 0
    draft = root / ".history.sqlite3.abcdefgh" / "history.sqlite3"
    draft.parent.mkdir()
    draft.hardlink_to(root / "history.sqlite3")
    assert main([*words, "--label", "again"]) == 0
    assert not draft.exists()
    draft.hardlink_to(root / "history.sqlite3")
    (root.parent / "outside").hardlink_to(draft)
    assert main([*words, "--label", "once more"]) == 2


def test_lines_that_were_set_aside_are_added_to_no_file_outside(root, precious):
    (root / "garbled").mkdir()
    (root / "garbled" / "x.txt").symlink_to(precious)
    bundle = Bundle()
    bundle.garbled.append("garbled")
    with pytest.raises(NuggeteerError, match="link that leads out"):
        write_bundles([("x", bundle)], root)
    assert precious.read_bytes() == PRECIOUS
