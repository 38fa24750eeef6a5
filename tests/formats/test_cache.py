"""A cache is read with as much memory as it has bytes."""

from __future__ import annotations

import tracemalloc

import pytest

from nuggeteer.formats.cache import DamagedFile, read_cache, write_cache


def test_reading_a_cache_takes_the_memory_of_its_bytes_and_not_of_the_most_it_may_have(tmp_path):
    write_cache(tmp_path, "fit", b"x" * 1000)
    tracemalloc.start()
    try:
        assert read_cache(tmp_path, "fit", 2_000_000_000) == b"x" * 1000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_cache_that_is_too_large_is_not_read(tmp_path):
    write_cache(tmp_path, "fit", b"x" * 1000)
    with pytest.raises(DamagedFile, match="at most"):
        read_cache(tmp_path, "fit", 500)
