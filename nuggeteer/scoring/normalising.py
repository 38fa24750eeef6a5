"""Many responses at once, in the form in which texts are compared, with their lengths.

Most texts have nothing but single spaces between their words. In their bytes, taken together, this is seen without
looking at each text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nuggeteer.records import Bools, Ints
from nuggeteer.text import normalised_and_length

AT_ONCE = 2048  # texts, whose bytes the processor keeps at hand
SPACE = ord(" ")


def normalised_and_lengths(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """What `normalised_and_length` makes of each text."""
    same: list[str] = []
    lengths = np.empty(len(texts), dtype=np.int64)
    for begin in range(0, len(texts), AT_ONCE):
        some = texts[begin : begin + AT_ONCE]
        plain, lengths[begin : begin + len(some)] = _plain(some)
        same += map(str.lower, some)
        for i in (begin + np.flatnonzero(~plain)).tolist():
            same[i], lengths[i] = normalised_and_length(texts[i])
    return same, lengths


def _plain(texts: Sequence[str]) -> tuple[Bools, Ints]:
    """Which texts are ASCII and have no white space but single spaces inside, and their lengths."""
    plain = np.fromiter(map(str.isascii, texts), bool, len(texts))
    written = texts if plain.all() else [text if text.isascii() else "" for text in texts]
    ends = np.cumsum(np.fromiter(map(len, written), np.int64, len(texts)) + 1)
    letters = np.frombuffer("\n".join(["", *written, ""]).encode(), dtype=np.uint8)  # a line feed is at each end
    gap = letters <= SPACE
    plain[np.searchsorted(ends, np.flatnonzero(gap[1:] & gap[:-1]) + 1)] = False
    controls = np.flatnonzero(letters < SPACE)
    if len(controls) > len(texts) + 1:
        plain[np.searchsorted(ends, np.setdiff1d(controls[1:], ends))] = False
    spaces = np.searchsorted(np.flatnonzero(letters == SPACE), ends)
    return plain, np.diff(ends, prepend=0) - 1 - np.diff(spaces, prepend=0)
