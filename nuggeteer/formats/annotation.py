"""Snippets in which somebody marked nuggets, the same for all notations. `annotation_files` reads and writes them.

The spans of a nugget are in order and do not overlap, but different nuggets may overlap. A snippet without nuggets was
judged irrelevant.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeGuard

from nuggeteer.errors import Problem
from nuggeteer.fields import WrongField, identifier

Spans = tuple[tuple[int, int], ...]
CONDITIONS = ("medium", "language", "structure")  # in the order of the paper's table
HEADS = (*CONDITIONS, "distiller")


@dataclass(frozen=True, slots=True)
class Extent:
    """The position of a nugget in its snippet, which may have several pieces, and its type."""

    spans: Spans
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """One snippet with one annotator's nuggets, and the distiller that returned it. `file` and `line` say where it was
    read."""

    snippet: str
    text: str
    nuggets: tuple[Extent, ...] = ()
    qid: str | None = None
    medium: str | None = None
    language: str | None = None
    structure: str | None = None
    distiller: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    file: str = field(default="", compare=False)
    line: int | None = field(default=None, compare=False)

    @property
    def name(self) -> tuple[str | None, str | None, str]:
        return self.qid, self.distiller, self.snippet

    def problem(self, what: str, remedy: str) -> Problem:
        return Problem(self.file, self.line, what, remedy)


def are_spans(value: Any) -> TypeGuard[list[list[int]]]:
    """Whether a value from JSON is [[start, end], ...] and not empty."""
    pairs = value if isinstance(value, list) else []
    whole = all(isinstance(pair, list) and len(pair) == 2 and {type(end) for end in pair} == {int} for pair in pairs)
    return bool(pairs) and whole


def wrong_spans(spans: Iterable[tuple[int, int]], text: str) -> str | None:
    """A description of what is wrong with a nugget's spans; None if they are good."""
    listed = list(spans)
    begins, ends = word_bounds(text)
    for start, end in listed:
        if not 0 <= start < end <= len(text):
            return f"the span {start}–{end} is empty or outside the text, which has {len(text)} characters"
        word = bisect_right(ends, start)  # the first that ends after the start
        if word == len(begins) or begins[word] >= end:
            return f"the span {start}–{end} has no word in it"
    for (start, end), (next_start, next_end) in pairwise(listed):
        if next_start < end:
            return f"the spans {start}–{end} and {next_start}–{next_end} of one nugget overlap or are out of order"
    return None


@lru_cache(maxsize=1)  # a line may mark thousands of nuggets in one text
def word_bounds(text: str) -> tuple[array[int], array[int]]:
    """Where each stretch without white space begins, and where it ends."""
    begins, ends = array("q"), array("q")
    for match in re.finditer(r"\S+", text):
        begins.append(match.start())
        ends.append(match.end())
    return begins, ends


def type_name(value: Any) -> str:
    """Check the type of a nugget."""
    name = identifier(value)
    if set(name) & set("()[]"):
        raise WrongField("has brackets in it", "leave them out")
    return name
