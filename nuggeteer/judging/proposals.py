"""Nuggets that assessors found in answers and missed in the key: `proposals.jsonl`, which nothing reads as nuggets.

    {"qid", "text", "importance", "from": the response, "run", "docid"?, "assessor", "at"}

Whoever owns the key moves what is right to `nuggets.jsonl`, with an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.append import append_line
from nuggeteer.records import Importance


@dataclass(frozen=True)
class Proposal:
    """A fact that somebody would add to a question's key, and the response in which it stood."""

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
        raise NuggeteerError("a nugget needs some words")
    line: dict[str, object] = {"qid": proposal.qid, "text": proposal.text.strip(), "importance": proposal.importance}
    line |= {"from": proposal.response, "run": proposal.run}
    if proposal.docid is not None:
        line["docid"] = proposal.docid
    line |= {"assessor": proposal.assessor, "at": datetime.now(UTC).isoformat(timespec="microseconds")}
    append_line(root / "proposals.jsonl", line)
    return proposal
