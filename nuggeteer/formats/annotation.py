"""Snippets in which somebody marked nuggets: what a snippet is, in whichever notation it was written.

A nugget's spans are in order and do not overlap; different nuggets may. A snippet without nuggets was judged
irrelevant. `annotation_files` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from nuggeteer.errors import Problem
from nuggeteer.formats.fields import WrongField, identifier

Spans = tuple[tuple[int, int], ...]
CONDITIONS = ("medium", "language", "structure")  # in the order of the paper's table


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a nugget stands in its snippet, which may be in several pieces, and of what kind it is."""

    spans: Spans
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """One snippet as one annotator left it. `line` and `file` say where that was read."""

    snippet: str
    text: str
    nuggets: tuple[Extent, ...] = ()
    qid: str | None = None
    medium: str | None = None
    language: str | None = None
    structure: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    file: str = field(default="", compare=False)
    line: int | None = field(default=None, compare=False)

    @property
    def name(self) -> tuple[str | None, str]:
        return self.qid, self.snippet

    def problem(self, what: str, remedy: str) -> Problem:
        return Problem(self.file, self.line, what, remedy)


def wrong_spans(spans: Iterable[tuple[int, int]], text: str) -> str | None:
    """What is wrong with a nugget's spans, if anything is."""
    listed = list(spans)
    for start, end in listed:
        if not 0 <= start < end <= len(text):
            return f"the span {start}–{end} is empty or outside of its text, which has {len(text)} characters"
        if not text[start:end].strip():
            return f"the span {start}–{end} has no word in it"
    for (start, end), (later, other) in pairwise(listed):
        if later < end:
            return f"the spans {start}–{end} and {later}–{other} of one nugget overlap or are out of order"
    return None


def type_name(value: Any) -> str:
    """What kind of nugget it is."""
    name = identifier(value)
    if set(name) & set("()[]"):
        raise WrongField("has brackets in it", "leave them out")
    return name
