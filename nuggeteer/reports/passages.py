"""Passages of answers as reports show them: on one line, escaped, and cut around the marked words."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from nuggeteer.comparing.sightings import Passage
from nuggeteer.text import escaped

Piece = tuple[str, bool]  # some of the text, and whether it is marked
GAP = "…"
LEAST_CONTEXT = 12  # characters on each side


def pieces(passage: Passage) -> list[Piece]:
    """The whole text, split where marks begin and end."""
    cuts = [0, *(end for mark in passage.marks for end in mark), len(passage.text)]
    parts = ((passage.text[a:b], i % 2 == 1) for i, (a, b) in enumerate(pairwise(cuts)))
    as_it_is = _is_line(passage.text)
    return [(text if as_it_is else _line(text), marked) for text, marked in parts if text]


def excerpt(passage: Passage, size: int) -> list[Piece]:
    """The part of about `size` characters that has most marks, cut between words."""
    whole = pieces(passage)
    text = "".join(part for part, _ in whole)
    if len(text) <= size:
        return whole
    flags = "".join(("x" if marked else " ") * len(part) for part, marked in whole)
    start, end = _window(flags, size)
    if start:
        start = _after(text.find(" ", start, flags.find("x", start) + 1 or None) + 1, start)
    if end < len(text):
        end = _after(text.rfind(" ", flags.rfind("x", 0, end) + 1, end), end)
    kept = [(text[a:b], flags[a] == "x") for a, b in _stretches(flags, start, end)]
    return [(GAP, False)] * (start > 0) + kept + [(GAP, False)] * (end < len(text))


def surroundings(passage: Passage, size: int) -> tuple[str, str]:
    """The text before and after the passage in its answer, so that all three have about `size` characters. Both are
    empty if the passage itself is that long."""
    room = (size - len(passage.text)) // 2
    if room < LEAST_CONTEXT:
        return "", ""
    # White space is squeezed later, so ten characters for each one shown are enough.
    before, after = _line(passage.before[-10 * room :]).rstrip(), _line(passage.after[: 10 * room]).lstrip()
    if len(before) > room:
        before = GAP + before[len(before) - room :].partition(" ")[2]
    if len(after) > room:
        after = after[:room].rpartition(" ")[0] + GAP
    return f"{before} " if before else "", f" {after}" if after else ""


def beginning(text: str, size: int = 160) -> str:
    """The text, or the start of a long one."""
    if len(text) <= size and _is_line(text):
        return text
    return "".join(piece for piece, _ in excerpt(Passage(text, (), None, 1), size))


def _window(flags: str, size: int) -> tuple[int, int]:
    """The part of that size with the most marked characters, which are in its middle."""
    marked = [i for found in re.finditer("x+", flags) for i in range(*found.span())]
    if not marked:
        return 0, size
    # The last marked character that fits, for each first one.
    last = [bisect_right(marked, at + size - 1) for at in marked]
    best = max(range(len(marked)), key=lambda i: (last[i] - i, -i))
    first, final = marked[best], marked[last[best] - 1] + 1
    start = max(0, min(first - (size - (final - first)) // 2, len(flags) - size))
    return start, start + size


def _after(position: int, otherwise: int) -> int:
    return position if position > 0 else otherwise


def _stretches(flags: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(start + found.start(), start + found.end()) for found in re.finditer("x+| +", flags[start:end])]


def _is_line(text: str) -> bool:
    """Whether `_line` leaves it as it is: a space is the only printable white space."""
    return text.isprintable() and "  " not in text


def _line(text: str) -> str:
    return escaped(re.sub(r"\s+", " ", text))
