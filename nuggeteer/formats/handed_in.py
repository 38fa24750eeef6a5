"""What an assessor hands back from the page of `judge --page`: JSON Lines, as the page writes them.

Lines are verdicts and retractions as in `judgements/`, and proposed nuggets as in `proposals.jsonl` with
`"proposed": true`. None says who the assessor is; whoever imports the file does. Each has its `page`.
A retraction withdraws a verdict that an earlier file of the page may have brought.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct

from nuggeteer.errors import Problem
from nuggeteer.fields import Time, Yes, about
from nuggeteer.formats.canonical import JUDGEMENTS, RETRACTIONS, VERDICT_KEYS, Entry, Layout
from nuggeteer.formats.jsonl import read_jsonl
from nuggeteer.formats.objects import Opening
from nuggeteer.records import Judgement, QuestionId, Retraction

NOBODY = "nobody"  # stands in a retraction until the assessor is known


@dataclass(frozen=True)
class Proposed:
    """A nugget that the assessor proposed, as its line in `proposals.jsonl` but for the assessor."""

    line: dict[str, Any]


class _Proposal(Struct):
    qid: QuestionId
    text: Annotated[str, about("The fact in words.")]
    importance: Annotated[Literal["vital", "okay"], about("How much it matters.")]
    run: Annotated[str, about("The run that the assessor read.")]
    at: Annotated[Time, about("When.")]
    proposed: Annotated[Yes, about("Makes it a proposal.")]
    docid: Annotated[str | None, about("The document of the response.")] = None


PROPOSED = Layout(
    _Proposal,
    lambda extra, **known: Proposed({**known, **extra}),
    {"from": Annotated[str, about("The response that the assessor read.")]},
)


def is_handed_in(opening: Opening) -> bool:
    """Whether the first line is a page's."""
    first = opening.objects[:1] if opening.kind == "lines" else []
    return any(line.get("source") == "page" and "page" in line for line in first)


def read_handed_in(path: Path, problems: list[Problem]) -> list[Entry[Judgement | Retraction | Proposed]]:
    """Every good line."""
    found: list[Entry[Judgement | Retraction | Proposed]] = []
    for number, line in read_jsonl(path, problems, VERDICT_KEYS):
        layout: Layout[Any] = PROPOSED if "proposed" in line else JUDGEMENTS
        if "retracted" in line and "proposed" not in line:
            layout, line = RETRACTIONS, {"assessor": NOBODY, **line}
        if (record := layout.checked(str(path), number, line, problems)) is not None:
            found.append(Entry(str(path), number, record))
    return found
