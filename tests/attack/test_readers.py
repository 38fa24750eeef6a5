"""Torn files: every reader of the package returns or raises our error, in little time."""

from __future__ import annotations

import re
import time
import tracemalloc
import warnings
from contextlib import nullcontext, suppress

import pytest

from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats import canonical
from nuggeteer.formats.append import append_bytes
from tests.attack import readers
from tests.attack.readers import NOT_READERS, READERS, Findings, Reader, fuzz, nested, takers

EACH = 150


def test_every_function_that_takes_a_path_or_bytes_is_attacked_or_said_to_read_nothing():
    found = set(takers())
    assert found - set(READERS) - set(NOT_READERS) == set(), "add it to READERS in tests/attack/readers.py"
    names_of_files = {"asking.prompts.find_prompt"}
    assert (set(READERS) | set(NOT_READERS)) - found == names_of_files, "it is gone, or has another name"


@pytest.mark.parametrize("name", READERS)
def test_the_files_are_good_before_they_are_torn(name, tmp_path):
    """Otherwise a fuzzer would test little."""
    good = 0
    for reader in READERS[name]:
        for content in reader.seeds:
            path = tmp_path / reader.name
            path.parent.mkdir(parents=True, exist_ok=True)
            if reader.around:
                reader.around(tmp_path)
            path.write_bytes(content)
            try:
                reader.read(path)
                good += 1
            except NuggeteerError as error:
                told = str(error)
    # The seal of a cache is made with a key that nobody has.
    assert good or name == "formats.cache.read_cache", told


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_torn_file_is_read_or_refused(name, tmp_path):
    findings = Findings()
    fuzz(name, EACH, 0, tmp_path, findings)
    assert findings.inputs[name] == EACH
    assert findings.fell == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "content"),
    [
        ("asking.store.VerdictStore.__init__", 0, b'{"model": HERE}'),
        ("asking.store.VerdictStore.__init__", 1, b'{"outcome": "malformed", "key": HERE}'),
        ("asking.store.VerdictStore.__init__", 1, b'{"outcome": "failed", "pairs": ["0f"], "reason": HERE}'),
        ("collection.doctor.examine", 0, b'{"type": HERE}'),
        ("formats.audits.read_audit", 0, b'{"digest": "x", "expected": HERE}'),
        ("formats.audits.read_audit", 0, b'{"digest": "x", "expected": {}}\n{"qid": HERE}'),
        ("formats.labelled.read_argilla", 0, b'[{"fields": {"q": "?"}, "responses": {}, "suggestions": HERE}]'),
        ("formats.matches.read_matches", 0, b'{"qid": "q1", "nugget": "1", "text": "x", "score": HERE}'),
        ("formats.canonical.read_file", 0, b'{"qid": "q", "nugget": "1", "text": "x", "verdict": true, "span": HERE}'),
    ],
)
def test_no_value_is_a_bug_wherever_it_stands(name, number, content, tmp_path):
    """However deeply it is nested, and of whatever type."""
    reader = READERS[name][number]
    path = tmp_path / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if reader.around:
        reader.around(tmp_path)
    for depth in (*range(0, 101, 20), *range(900, 1023)):
        for value in (nested(depth).encode(), b"7", b'{"a": 1}', b'"text"'):
            path.write_bytes(content.replace(b"HERE", value))
            with suppress(NuggeteerError):
                reader.read(path)


def read_ledger(path):
    problems = []
    assert list(canonical.read_file(path, problems)) == []
    raise InputError(problems)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("judges/gpt.jsonl", READERS["asking.store.VerdictStore.__init__"][0].read),
        ("judges/calls/gpt.jsonl", READERS["asking.store.VerdictStore.__init__"][1].read),
        ("judgements/ann.jsonl", read_ledger),
        ("proposals.jsonl", lambda path: append_bytes(path, b"{}\n")),
    ],
)
def test_a_line_of_a_quarter_of_a_gigabyte_is_an_error_and_not_held(name, read, tmp_path):
    """A file of zeros takes no room on the disk."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b'{"key": "')
        file.truncate(1 << 28)
    tracemalloc.start()
    with pytest.raises(NuggeteerError, match=f"{re.escape(str(path))}.* line is longer than 10,000,000 bytes"):
        read(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60_000_000


def test_nothing_writes_a_line_that_nothing_reads(tmp_path):
    path = tmp_path / "x.jsonl"
    for line in (b"{}", b" " * 10_000_001):
        with pytest.raises(NuggeteerError, match="a line would be longer") if len(line) > 2 else nullcontext():
            append_bytes(path, line + b"\n")
    assert path.read_bytes() == b"{}\n"


def crash(path):
    return [][1]


def warn(path):
    warnings.warn("old", stacklevel=1)


def wait(path):
    end = time.process_time() + 2 * readers.SECONDS
    while time.process_time() <= end:
        pass


@pytest.mark.parametrize("read", [crash, warn, wait])
def test_what_falls_is_found(read, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "SECONDS", 0.05)
    monkeypatch.setitem(READERS, "x", [Reader(read, "x", (b"abc",))])
    findings = Findings()
    fuzz("x", 1, 0, tmp_path, findings)
    assert len(findings.fell) == 1
