"""Nuggets that assessors propose because the key lacks them: `proposals.jsonl`. Nothing reads this file as nuggets.

    {"qid", "text", "importance", "from": the response, "run", "docid"?, "assessor", "at"}

A language model's lines also have "machine": true, and the "model", "prompt" and "key" of the call they come from. The
owner of the key moves the right ones to `nuggets.jsonl` and gives them an id.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nuggeteer.errors import NuggeteerError, Problem, stop_at_errors
from nuggeteer.fields import as_written
from nuggeteer.formats.append import append_line, read_appended
from nuggeteer.formats.handed_in import Proposed
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.languages import ENGLISH, Language
from nuggeteer.records import Importance
from nuggeteer.text import words


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
    extra: Mapping[str, Any] = field(default_factory=dict)


def content_words(text: str) -> frozenset[str]:
    """The stems of the words of a nugget, without stop words."""
    import Stemmer

    few = Language(ENGLISH).stop_words()
    return frozenset(Stemmer.Stemmer("english").stemWords([word for word in words(text) if word not in few]))


def repeats(text: str, known: Iterable[frozenset[str]]) -> bool:
    """Whether a fact is one of those known, by their `content_words`: one has all words of the other, and at most a
    third more."""
    own = content_words(text)
    for other in known:
        fewer, more = sorted((own, other), key=len)
        if fewer <= more and 4 * len(fewer) >= 3 * len(more):
            return True
    return False


def read_proposals(root: Path, problems: list[Problem]) -> list[tuple[str, str]]:
    """(qid, text) of what anybody proposed before."""
    path = root / "proposals.jsonl"
    if not os.path.lexists(path) or not is_regular(path, problems, root):
        return []
    lines = [(line.get("qid"), line.get("text")) for _, line in read_appended(path, problems)]
    return [(qid, text) for qid, text in lines if isinstance(qid, str) and isinstance(text, str)]


def known_proposals(root: Path) -> list[tuple[str, str]]:
    """As `read_proposals`, but raises `InputError` if a line cannot be read: it might be proposed again."""
    problems: list[Problem] = []
    found = read_proposals(root, problems)
    stop_at_errors(problems)
    return found


def propose(root: Path, proposal: Proposal) -> Proposal:
    """Append a proposal to the collection's file; it is on disk when this returns."""
    if not proposal.text.strip():
        raise NuggeteerError("a nugget needs at least one word")
    line: dict[str, object] = {"qid": proposal.qid, "text": proposal.text.strip(), "importance": proposal.importance}
    line |= {"from": proposal.response, "run": proposal.run}
    if proposal.docid is not None:
        line["docid"] = proposal.docid
    line |= {"assessor": proposal.assessor, "at": as_written(datetime.now(UTC)), **proposal.extra}
    append_line(root / "proposals.jsonl", line)
    return proposal


def propose_again(root: Path, assessor: str, proposed: Sequence[Proposed]) -> int:
    """Append what an assessor proposed on a page, except what anybody proposed before; returns how many are new."""
    known = {(qid, text.strip()) for qid, text in known_proposals(root)} if proposed else set()
    new = 0
    for line in (dict(one.line) for one in proposed):
        if (line["qid"], line["text"].strip()) not in known:
            known.add((line["qid"], line["text"].strip()))
            qid, text, importance, response, run = map(line.pop, ("qid", "text", "importance", "from", "run"))
            docid = line.pop("docid", None)
            line.pop("proposed")
            propose(root, Proposal(qid, text, importance, response, run, docid, assessor, line))
            new += 1
    return new
