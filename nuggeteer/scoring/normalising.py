"""Many responses at once, in the forms in which texts are compared, with their lengths.

Most texts have nothing but single spaces between their words, and many have nothing that a verdict form leaves out. In
the bytes of all together, this is seen without looking at each text.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters, digits

import numpy as np

from nuggeteer.records import Bools, Ints
from nuggeteer.text import normalised_and_length, verdict_form_of_normalised

AT_ONCE = 2048  # texts, whose bytes the processor keeps at hand
SPACE = ord(" ")
# What may change the verdict form inside a text; and what a text that keeps its form begins and ends with.
MARKS = np.isin(np.arange(256), list(b"[*_`)-"))
LETTERS, ENDS = (np.isin(np.arange(256), list(some.encode())) for some in (ascii_letters, ascii_letters + digits))


def forms_and_lengths(texts: Sequence[str]) -> tuple[list[str], list[str], Ints]:
    """The normalised form of each text, its verdict form, and its length, as `nuggeteer.text` has them of one text."""
    same: list[str] = []
    forms: list[str] = []
    lengths = np.empty(len(texts), dtype=np.int64)
    for begin in range(0, len(texts), AT_ONCE):
        some = texts[begin : begin + AT_ONCE]
        squeezed, plain, lengths[begin : begin + len(some)] = _plain(some)
        same += map(str.lower, some)
        for i in (begin + np.flatnonzero(~squeezed)).tolist():
            same[i], lengths[i] = normalised_and_length(texts[i])
        forms += same[begin:]
        for i in (begin + np.flatnonzero(~plain)).tolist():
            forms[i] = verdict_form_of_normalised(same[i])
    return same, forms, lengths


def _plain(texts: Sequence[str]) -> tuple[Bools, Bools, Ints]:
    """Which texts are ASCII and have no white space but single spaces inside; which of these are sure to be their own
    verdict form; and their lengths."""
    squeezed = np.fromiter(map(str.isascii, texts), bool, len(texts))
    written = texts if squeezed.all() else [text if text.isascii() else "" for text in texts]
    ends = np.cumsum(np.fromiter(map(len, written), np.int64, len(texts)) + 1)
    letters = np.frombuffer("\n".join(["", *written, ""]).encode(), dtype=np.uint8)  # a line feed is at each end
    gap = letters <= SPACE
    squeezed[np.searchsorted(ends, np.flatnonzero(gap[1:] & gap[:-1]) + 1)] = False
    controls = np.flatnonzero(letters < SPACE)
    if len(controls) > len(texts) + 1:
        squeezed[np.searchsorted(ends, np.setdiff1d(controls[1:], ends))] = False
    spaces = np.searchsorted(np.flatnonzero(letters == SPACE), ends)
    first = np.append(0, ends[:-1]) + 1
    plain = squeezed & LETTERS[letters[first]] & ENDS[letters[ends - 1]]
    plain[np.searchsorted(ends, np.flatnonzero(MARKS[letters]))] = False
    return squeezed, plain, ends - first - np.diff(spaces, prepend=0)
