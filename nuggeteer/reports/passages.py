"""Passages of answers as reports show them: on one line, escaped, and cut around the marked words. And why a nugget was
guessed: the evidence for it and against it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import Annotated

from msgspec import field

from nuggeteer.comparing.sightings import Passage
from nuggeteer.fields import Count, Part, about
from nuggeteer.matching.base import Explanation, SimilarText
from nuggeteer.reports.formatting import counted
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


FEW = 5  # words of a kind
FAINT = 0.25  # words with less than this share of the largest weight are not shown
LIKE = 0.15  # less similar texts hardly affect the guess
SHORTEST = 24  # characters of a response that are worth showing
WORD = 40  # characters of the longest word


class TellingWord(Part):
    """A word or several, and what they say of a guess."""

    words: str
    in_text: Annotated[bool, about("Whether the text has them, or lacks them.")] = field(name="there")
    weight: Annotated[float, about("Above 0 if that speaks for the nugget, below 0 if against it.")]


class SimilarJudgedText(Part):
    """A judged response that resembles the text."""

    text: str
    yes: bool = field(name="verdict")
    similarity: float = field(name="likeness")
    differing_words: Annotated[
        Count | None,
        about(
            "How many words would have to be inserted, deleted or replaced; null if more than five, or most of them."
        ),
    ]


class ExplainedGuess(Part):
    """What spoke for or against a guess on a text."""

    unit: Annotated[str, about("Of the weights.")]
    words: Sequence[TellingWord]
    similar_texts: Sequence[SimilarJudgedText] = field(name="alike")


def in_words(found: Explanation, size: int, alike: int | None = None) -> list[str]:
    """Escaped lines of at most about `size` characters: the words with the largest weights, then the most similar
    judged responses, at most `alike` of them."""
    near = sorted((one for one in found.similar_texts if one.similarity >= LIKE), key=lambda one: -one.similarity)
    lines = [words_in_words(found, size), *(_alike(one, size) for one in near[:alike])]
    return [line for line in lines if line]


def words_in_words(found: Explanation, size: int) -> str:
    """The words with the largest weights, as many as fit."""
    least = FAINT * max((abs(one.weight) for one in found.words), default=0.0)
    telling = [one for one in found.words if abs(one.weight) >= least and one.weight]
    parts = [
        (title, _some(one.words for one in telling if (one.in_text, one.weight > 0) == kind))
        for title, kind in (("words", (True, True)), ("lacking", (False, False)), ("against", (True, False)))
    ]
    for most in range(FEW, 0, -1):
        line = "; ".join(f"{title}: {', '.join(words[:most])}" for title, words in parts if words)
        if len(line) <= size:
            return line
    return line[: size - 1] + GAP


def _some(words: Iterable[str]) -> list[str]:
    """The first few, without the words that are part of a longer phrase."""
    all_ = [" ".join(one.split()) for one in words]
    every = "\n".join(f" {one} " for one in all_)
    # More often in all of them together than alone.
    kept = (one for one in dict.fromkeys(all_) if every.count(f" {one} ") == all_.count(one))
    return [shown if len(shown) <= WORD else shown[:WORD] + GAP for shown in map(escaped, islice(kept, FEW))]


def _alike(one: SimilarText, size: int) -> str:
    judged = f"a judged {'yes' if one.yes else 'no'}"
    if one.differing_words is None:
        title = f"like {judged} ({one.similarity:.2f}): "
    elif one.differing_words:
        verb = "differs" if one.differing_words == 1 else "differ"
        title = f"{counted(one.differing_words, 'word')} {verb} from {judged}: "
    else:
        title = f"the same words as {judged}: "
    pieces = excerpt(Passage(one.text, one.marks, None, 1), max(size - len(title) - 4, SHORTEST))
    return f"{title}“{''.join(text for text, _ in pieces)}”"
