"""Random numbers for draws, a row for each thing that is drawn, found by its key.

A row depends only on its key, the seed and the number of draws. So a nugget or a text has the same random numbers
whatever else is drawn, and however many at a time.

Each row is stratified: it has one number from each of as many equally probable strata as there are draws. It reads one
of a few shuffled orders of the strata, from its own start, which copies one piece of memory. Two of n rows are equal
by chance with probability 1 / (ORDERS · draws); otherwise they are uncorrelated like independent shuffles.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import scipy

from nuggeteer.records import Ints, Vector

ORDERS = 512
Keys = npt.NDArray[np.uint64]


def key_of(name: str) -> int:
    """A number for a name."""
    return crc32(name.encode("utf-8", "surrogatepass"))


def joined(*parts: npt.NDArray[np.unsignedinteger] | Ints | int) -> Keys:
    """One key from several numbers, mixed so that keys that differ a little have nothing in common (SplitMix64)."""
    result = np.zeros(1, dtype=np.uint64)
    for part in parts:
        result = (result + np.asarray(part).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
        result = (result ^ (result >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        result = (result ^ (result >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result ^= result >> np.uint64(31)
    return result


class RandomRows:
    """Rows of `count` random numbers by keys."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self._strata = count, _orders(count, seed)
        self._windows = _windows(self._strata, count)

    def strata(self, keys: Keys) -> Ints:
        """keys × count: the strata 0, 1, ... of each row, in its order."""
        return self._read(self._windows, keys)

    def normal(self, keys: Keys) -> Vector:
        """keys × count: standard normal numbers."""
        return self._read(self._normal_windows, keys)

    def uniform(self, keys: Keys) -> Vector:
        """keys × count: numbers between 0 and 1."""
        return np.asarray((self.strata(keys) + np.float32(0.5)) / np.float32(self.count))

    @cached_property
    def _normal_windows(self) -> Vector:
        return _windows(scipy.special.ndtri(self.middles).astype(np.float32)[self._strata], self.count)

    def _read(self, windows: npt.NDArray[Any], keys: Keys) -> npt.NDArray[Any]:
        return np.asarray(windows[self._places(keys)])

    def _places(self, keys: Keys) -> tuple[Ints, Ints]:
        """The order of each row, and where in it the row starts."""
        order = (keys >> np.uint64(40)) % np.uint64(ORDERS)
        start = (keys & np.uint64(0xFFFFFFFF)) % np.uint64(self.count)
        return order.astype(np.int64), start.astype(np.int64)

    @cached_property
    def middles(self) -> Vector:
        """The number in the middle of each stratum."""
        return np.asarray((np.arange(self.count) + 0.5) / self.count)


@lru_cache(maxsize=1)
def random_rows(count: int, seed: int) -> RandomRows:
    """The rows, whose tables all draws of a command share. They take 22 MB."""
    return RandomRows(count, seed)


def _orders(count: int, seed: int) -> npt.NDArray[np.signedinteger]:
    """Shuffled strata, each order twice, so that from any start it can be read in one piece."""
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    kind = np.int16 if count <= np.iinfo(np.int16).max else np.int32
    orders = rng.permuted(np.tile(np.arange(count, dtype=kind), (ORDERS, 1)), axis=1)
    return np.concatenate([orders, orders], axis=1)


def _windows(table: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """What each order is from each start, without a copy."""
    return np.lib.stride_tricks.sliding_window_view(table, count, axis=1)
