"""Nuggets that assessors propose because the key lacks them: `proposals.jsonl`. Nothing reads this file as nuggets.

    {"qid", "text", "importance", "from": the response, "run", "docid"?, "assessor", "at"}

The owner of the key moves the right ones to `nuggets.jsonl` and gives them an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.append import append_line
from nuggeteer.formats.fields import as_written
from nuggeteer.records import Importance


@dataclass(frozen=True)
class Proposal:
    """A fact that an assessor proposes for the key of a question, and the response it was found in."""

    qid: str
    text: str
    importance: Importance
    response: str
    run: str
    docid: str | None
    assessor: str


def propose(root: Path, proposal: Proposal) -> Proposal:
    """Append a proposal to the collection's file; it is on disk when this returns."""
    if not proposal.text.strip():
        raise NuggeteerError("a nugget needs at least one word")
    line: dict[str, object] = {"qid": proposal.qid, "text": proposal.text.strip(), "importance": proposal.importance}
    line |= {"from": proposal.response, "run": proposal.run}
    if proposal.docid is not None:
        line["docid"] = proposal.docid
    line |= {"assessor": proposal.assessor, "at": as_written(datetime.now(UTC))}
    append_line(root / "proposals.jsonl", line)
    return proposal
