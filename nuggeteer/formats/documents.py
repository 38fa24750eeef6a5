"""The documents that distillers cite.

DIR/DOCID.txt   the text of one document, in a folder
NAME.jsonl      docid, text    one document per line
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.fields import identifier, string
from nuggeteer.formats.jsonl import is_regular


@dataclass(frozen=True, slots=True)
class _Document:
    docid: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


DOCUMENTS = Layout(_Document, ("docid", "text"), {"docid": identifier, "text": string})


def read_documents(path: Path) -> dict[str, str]:
    """The text of each document by its id."""
    problems: list[Problem] = []
    found: dict[str, str] = {}
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            if is_regular(file, problems, path):
                found[file.stem] = file.read_text(encoding="utf-8", errors="replace")
    else:
        for number, document in DOCUMENTS.read(path, problems):
            if document.docid in found:
                problems.append(Problem(str(path), number, f"the document {document.docid!r} occurs twice", "keep one"))
            found[document.docid] = document.text
    if any(problem.severity == "error" for problem in problems):
        raise InputError(problems)
    if not found:
        raise fail(path, "no document in it", "name a folder of DOCID.txt, or a .jsonl file with docid and text")
    return found
