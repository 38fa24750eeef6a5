"""JSON Lines: what is read, what is told of, how little is held in memory; nothing is ever half-written."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats import jsonl
from nuggeteer.formats.jsonl import read_jsonl, write_jsonl, write_whole
from tests.made_up import json_values

VALUES = json_values(st.text(), keys=st.text())


def read(tmp_path, content: bytes, keys=()):
    """The (line, object) pairs of a file, and its problems as (line, severity, what)."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    problems = []
    records = list(read_jsonl(path, problems, keys))
    assert all(p.file == str(path) and p.remedy for p in problems)
    return records, [(p.line, p.severity, p.what) for p in problems]


@pytest.mark.slow
@given(records=st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=5))
def test_what_is_written_is_read_again_and_is_json_to_the_standard_library(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("written") / "file.jsonl"
    assert write_jsonl(path, records) == len(records)
    problems = []
    assert [record for _, record in read_jsonl(path, problems)] == records
    assert not problems
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] == records


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": Infinity}', "not JSON"),
        (b'{"a": 1e999}', "not JSON"),
        (b'{"a": "\\ud800"}', "not JSON"),
        (b'{"a": "\x00"}', "not JSON"),
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "not JSON"),
        (b'{"a": 1} {"b": 2}', "not JSON"),
        (b'{"a": "\xff"}', "byte 8 (0xff) is not UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "is not UTF-8"),
        (b"[1]", "but a list"),
        (b"null", "but null"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b'{"a": 1, "\\u0061": 2}', "'a' occurs twice"),
        (b'{"a" :1, "b": "c", "a"\t:2}', "'a' occurs twice"),
        (b'{"a": {"b": 1, "b": 1}}', "'b' occurs twice"),
        (b'{"a": [[{"b": 1, "c": {"d": 1, "d": 1}}]]}', "'d' occurs twice"),
        (b'{"a": 1, "a": ' + b"[" * 1000 + b"]" * 1000 + b"}", ""),  # deeper than Python's own parser goes
    ],
)
def test_a_bad_line_is_an_error_at_its_place_and_its_neighbours_are_read(tmp_path, line, says):
    records, problems = read(tmp_path, b'{"n": 1}\n' + line + b'\n{"n": 3}\n', ("a",))
    assert records == [(1, {"n": 1}), (3, {"n": 3})]
    ((number, severity, what),) = problems
    assert (number, severity) == (2, "error")
    assert says in what


def test_an_unknown_key_said_twice_is_only_warned_of(tmp_path):
    """No score can depend on it."""
    records, problems = read(tmp_path, b'{"a": 1, "x": 2, "x": 3}\n', ("a",))
    assert records == [(1, {"a": 1, "x": 3})]
    assert problems == [(1, "warning", "the key 'x' occurs twice in one object")]


@given(record=st.dictionaries(st.text(), VALUES, max_size=4), spaced=st.booleans())
def test_no_valid_object_is_taken_for_one_with_a_key_twice(tmp_path_factory, record, spaced):
    """Not even when its strings look like keys."""
    line = json.dumps({**record, "text": '"text": "text":'}, separators=(" , ", " : ") if spaced else None)
    assert read(tmp_path_factory.mktemp("valid"), line.encode(), record.keys()) == (
        [(1, {**record, "text": '"text": "text":'})],
        [],
    )


@given(
    names=st.lists(st.text(), min_size=1, max_size=4, unique=True),
    twice=st.integers(0, 3),
    spaces=st.sampled_from([":", " :", "\t: ", ": "]),
)
def test_every_key_said_twice_is_found(tmp_path_factory, names, twice, spaces):
    names = [*names, names[twice % len(names)]]
    line = "{" + ",".join(f"{json.dumps(name)}{spaces}1" for name in names) + "}"
    records, problems = read(tmp_path_factory.mktemp("twice"), line.encode(), names)
    assert not records
    assert problems == [(1, "error", f"the key {names[-1]!r} occurs twice in one object")]


@pytest.mark.parametrize(
    ("content", "numbers", "told"),
    [
        (b'\xef\xbb\xbf{"a":1}\n', [1], [(1, "byte-order mark")]),
        (b'{"a":1}\r\n{"a":2}\r\n', [1, 2], [(1, "CRLF line end (2 in the file)")]),
        (b'{"a":1}\n{"a":2}\r\n', [1, 2], [(2, "CRLF line end (1 in the file)")]),
        (b'{"a":1}\n\n \t\n{"a":2}\n', [1, 4], [(2, "blank line (2 in the file)")]),
        (b"", [], [(None, "the file is empty")]),
        (b"\n", [], [(1, "blank line")]),
        (b'{"a":1}', [1], []),
        (b' {"a":1} \n', [1], []),
    ],
)
def test_oddities_that_change_no_score_are_warnings(tmp_path, content, numbers, told):
    records, problems = read(tmp_path, content)
    assert [number for number, _ in records] == numbers
    assert [(line, severity) for line, severity, _ in problems] == [(line, "warning") for line, _ in told]
    assert all(what in found for (_, what), (_, _, found) in zip(told, problems, strict=True))


def test_a_line_of_100_megabytes_is_refused_and_never_held(tmp_path):
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": "')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"a": 2}\n')
    problems = []
    tracemalloc.start()
    records = list(read_jsonl(path, problems))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert records == [(2, {"a": 2})]
    assert [(p.line, p.severity) for p in problems] == [(1, "error")]
    assert "longer than 10,000,000 bytes" in problems[0].what
    assert peak < 25_000_000


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize(("length", "fits"), [(99, True), (100, True), (101, False), (205, False)])
def test_the_limit_on_lines_is_exact_and_the_next_line_is_never_lost(tmp_path, monkeypatch, length, fits, end):
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 100)
    line = b'{"a":"' + b"x" * (length - 8) + b'"}'
    assert len(line) == length
    records, problems = read(tmp_path, line + b'\n{"b":1}\n' + line + end)
    assert [number for number, _ in records] == ([1, 2, 3] if fits else [2])
    assert [number for number, _, _ in problems] == ([] if fits else [1, 3])


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_an_error_in_the_list(tmp_path, name):
    problems = []
    assert list(read_jsonl(tmp_path / name, problems)) == []
    assert [(p.line, p.severity) for p in problems] == [(None, "error")]


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_whole(tmp_path / "file", lambda file: file.write(b"old")) and tmp_path / "file"

    def records():
        yield {"a": 1}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_jsonl(path, records())
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("value", ["\ud800", 2**70, None], ids=["surrogate", "huge", "deep"])
def test_what_json_cannot_hold_is_refused_by_name_before_anything_is_written(tmp_path, value):
    if value is None:
        for _ in range(500):
            value = [value]
    with pytest.raises(NuggeteerError, match=r"file\.jsonl:2: cannot be written"):
        write_jsonl(tmp_path / "file.jsonl", [{"a": 1}, {"a": value}])
    assert not list(tmp_path.iterdir())


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    """`--json /dev/null` as root must not put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, lambda file: file.write(b"through"))
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", lambda file: file.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_written_file_can_be_read_by_others_as_the_umask_says(tmp_path):
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", lambda file: file.write(b""))
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("place", ["file/inside", "."])
def test_a_place_that_cannot_be_written_is_our_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(NuggeteerError, match="cannot be written"):
        write_whole(Path(tmp_path, place), lambda file: file.write(b""))


LINES = b"".join(b'{"n": %d}\n' % i for i in range(1000))


def test_a_compressed_file_reads_as_what_is_in_it(tmp_path):
    records, problems = read(tmp_path, gzip.compress(LINES[:4000]) + gzip.compress(LINES[4000:]))
    assert [record["n"] for _, record in records] == list(range(1000))
    assert not problems


@pytest.mark.parametrize(
    "damage",
    [lambda packed: packed[:-9], lambda packed: packed[:200] + b"\0\0\0" + packed[203:], lambda packed: packed[:3]],
)
def test_a_damaged_compressed_file_is_an_error_that_says_so(tmp_path, damage):
    _, problems = read(tmp_path, damage(gzip.compress(LINES)))
    assert problems[-1] == (None, "error", "is compressed with gzip, and is damaged or cut off")


@pytest.mark.slow
@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"\0", b'{"a": 1}\n' + b" " * 5000 + b"\n"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, line):
    """20 MB in 20 kB."""
    monkeypatch.setattr(jsonl, "UNPACKED", 1_000_000)
    packed = gzip.compress(line * (20_000_000 // len(line)))
    records, problems = read(tmp_path, packed)
    assert problems[-1] == (None, "error", "unpacks to more than 1,000,000 bytes and 100 times its size")
    assert len(records) * len(line) < 10_000_000


@pytest.mark.slow
def test_a_text_that_repeats_itself_is_no_bomb(tmp_path):
    """A run that gives every question the same answer shrinks to a hundredth or less, and is small."""
    records, problems = read(tmp_path, gzip.compress(b'{"qid": "q", "text": "I cannot answer that."}\n' * 100_000))
    assert len(records) == 100_000
    assert not problems
