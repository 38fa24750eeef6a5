"""The documents that distillers cite.

DIR/DOCID.txt   the text of one document, in a folder
NAME.jsonl      docid, text    one document per line
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.fields import Id, about
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.formats.objects import read_whole
from nuggeteer.records import NO_EXTRA, Extra


class Document(Struct, frozen=True):
    """A document that distillers cite."""

    docid: Annotated[Id, about("What distillers call it.")]
    text: Annotated[str, about("All of it.")]
    extra: Extra = NO_EXTRA


DOCUMENTS = Layout[Document](Document)


def read_documents(path: Path) -> dict[str, str]:
    """The text of each document by its id."""
    problems: list[Problem] = []
    found: dict[str, str] = {}
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            if is_regular(file, problems, path):
                found[file.stem] = read_whole(file).decode("utf-8", "replace")
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
