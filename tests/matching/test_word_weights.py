"""Word weights that are kept for the next command: the same to the bit, and only our own file is believed."""

from __future__ import annotations

import pickle

import pytest

from nuggeteer.formats.cache import reading_only, write_cache
from nuggeteer.matching.idf import NAME, Idf, RememberedWeights, background, keep, remembered

WORDS = ["the", "aquifer", "fluoride", "1984", "zzyzx", "naïve"]


class Table(dict):
    """A table that says what it was asked for."""

    def __init__(self):
        self.asked = []

    def __missing__(self, word):
        self.asked.append(word)
        return float(len(word))


@pytest.fixture
def table():
    return Table()


def test_weights_are_those_of_the_table_to_the_bit(tmp_path):
    for _ in range(2):  # looked up, then read
        idf = remembered(tmp_path, background())
        assert [idf[word] for word in WORDS] == [background()[word] for word in WORDS]
        assert idf.name == background().name
        keep(idf)


def test_the_table_is_asked_once_for_a_word(tmp_path, table):
    first = remembered(tmp_path, Idf("t", table))
    assert [first["a"], first["bb"], first["a"]] == [1.0, 2.0, 1.0]
    keep(first)
    second = remembered(tmp_path, Idf("t", table))
    assert [second["bb"], second["ccc"]] == [2.0, 3.0]
    assert table.asked == ["a", "bb", "ccc"]


def test_another_table_has_weights_of_its_own(tmp_path, table):
    keep_all(remembered(tmp_path, Idf("other", {"a": 9.0})))
    assert remembered(tmp_path, Idf("t", table))["a"] == 1.0


def keep_all(idf):
    assert idf["a"]
    keep(idf)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"basis": "x", "weights": {"a": 9.0}}', b"\xff"])
def test_a_file_of_another_form_is_ignored(tmp_path, table, content):
    write_cache(tmp_path, NAME, content)
    assert remembered(tmp_path, Idf("t", table))["a"] == 1.0


def test_weights_that_are_no_numbers_are_ignored(tmp_path, table):
    basis = RememberedWeights(tmp_path, Idf("t", table))._basis
    write_cache(tmp_path, NAME, f'{{"basis": "{basis}", "weights": {{"a": 9.0, "b": null}}}}'.encode())
    assert remembered(tmp_path, Idf("t", table))["a"] == 1.0


def test_a_file_of_somebody_else_is_ignored(tmp_path, table, monkeypatch):
    keep_all(remembered(tmp_path, Idf("t", {"a": 9.0})))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert remembered(tmp_path, Idf("t", table))["a"] == 1.0


def test_nothing_is_written_where_nothing_is_new_or_only_reading_is_allowed(tmp_path, table):
    with reading_only():
        keep_all(remembered(tmp_path, Idf("t", table)))
    keep(remembered(tmp_path, Idf("t", table)))
    assert not (tmp_path / ".nuggeteer").exists()


def test_a_worker_asks_the_table(tmp_path):
    idf = remembered(tmp_path, background())
    assert pickle.loads(pickle.dumps(idf))["aquifer"] == idf["aquifer"]
