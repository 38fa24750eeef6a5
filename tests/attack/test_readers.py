"""Torn files: every reader of the package returns or raises our error, in little time."""

from __future__ import annotations

import time
import warnings

import pytest

from nuggeteer.errors import NuggeteerError
from tests.attack import readers
from tests.attack.readers import NOT_READERS, READERS, Findings, Reader, fuzz, takers

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
