"""Citations checked against the text of the documents (Babko-Malaya 2008, §3.2.4).

A citation supports a nugget if the document says what the nugget says. Words tell only so much: a passage that is
quoted is in the document or not, and of a nugget's words, weighed by idf, a share is. A person decides.

Where citations name chunks of the snippet, each supports the nuggets inside its chunk. A nugget of which every chunk
has only a part is supported by none of them, until it is split.

The documents are a folder of DOCID.txt, each the text of one, or a NAME.jsonl with `docid` and `text` on each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from nuggeteer.errors import Problem, fail, stop_at_errors
from nuggeteer.fields import Id, Number, Part, about
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.distillation import Distillation
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.formats.objects import read_whole
from nuggeteer.matching.idf import background
from nuggeteer.records import NO_EXTRA, Extra
from nuggeteer.text import normalised, words

DOUBTFUL = 0.5  # a document with less of a nugget's words


class CheckedCitation(Part):
    """A citation, compared with its document."""

    qid: str
    distiller: str
    nugget: str
    docid: str
    quoted: Annotated[bool | None, about("null without a quotation.")]  # or without the document's text
    share: Annotated[Number, about("Of the nugget's words that the document has; null without its text.")]
    partly: bool  # cited for a part of the nugget only
    doubtful: bool  # for a part only, or the document lacks the quotation or, without one, most of the nugget's words


@dataclass(frozen=True)
class CheckedCitations:
    """All citations of an evaluation."""

    citations: tuple[CheckedCitation, ...]

    @cached_property
    def by_distiller(self) -> Mapping[str, list[CheckedCitation]]:
        found: dict[str, list[CheckedCitation]] = {}
        for citation in self.citations:
            found.setdefault(citation.distiller, []).append(citation)
        return found

    @property
    def doubtful(self) -> list[CheckedCitation]:
        return [citation for citation in self.citations if citation.doubtful]


def check_citations(distillation: Distillation, documents: Mapping[str, str]) -> CheckedCitations:
    """Look each cited document up, and what it has of the nugget."""
    idf = background()
    texts = {docid: normalised(text) for docid, text in documents.items()}
    vocabulary = {docid: frozenset(words(text)) for docid, text in texts.items()}
    found = []
    for nugget in distillation.nuggets:
        weights = {word: idf[word] for word in set(words(nugget.text))}
        total = sum(weights.values())
        quotes = nugget.extra.get("quotes")
        partly = nugget.extra.get("partly")
        parts = [docid for docid in partly if isinstance(docid, str)] if isinstance(partly, list) else []
        for docid in (*(nugget.citations or ()), *parts):
            quoted, share = None, None
            if docid in texts:
                quote = quotes.get(docid) if isinstance(quotes, dict) else None
                quoted = normalised(quote) in texts[docid] if isinstance(quote, str) else None
                has = sum(weight for word, weight in weights.items() if word in vocabulary[docid])
                share = has / total if total else None
            part = docid in parts
            doubtful = part or (share is not None and share < DOUBTFUL if quoted is None else not quoted)
            cited = nugget.qid, nugget.distiller, nugget.text, docid
            found.append(CheckedCitation(*cited, quoted, share, part, doubtful))
    return CheckedCitations(tuple(found))


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
    stop_at_errors(problems)
    if not found:
        raise fail(path, "no document in it", "name a folder of DOCID.txt, or a .jsonl file with docid and text")
    return found
