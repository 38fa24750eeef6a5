"""Texts for the nuggetizer, and snippets that somebody judged.

    NAME.jsonl       text, snippet?, qid?, query?, template?, medium?, language?, structure?    one text per line
    any other file   plain text, one text per line
    judged           qid, distiller, text, judged, relevant?, query?, template?, medium?, language?, structure?
                     judged is relevant, irrelevant or redundant; relevant is the part of the text that answers the
                     query: [[start, end], ...] in characters, or its words; without it, the whole text answers

A query has its template's words, with the arguments in brackets: "WHERE HAS [Jack Straw] BEEN AND WHEN?". If the query
follows no template, `template` names one. At least one line of each qid has one of the two, which holds for all lines
of that qid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from nuggeteer.errors import Problem, fail, stop_at_errors
from nuggeteer.fields import Id, WrongField
from nuggeteer.formats.annotation import Snippet, Spans, are_spans, wrong_spans
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.jsonl import read_lines

Verdict = Literal["relevant", "irrelevant", "redundant"]


@dataclass(frozen=True, slots=True)
class JudgedSnippet:
    """A distiller's snippet with its verdict, and the stretches of its text that answer the query."""

    qid: Id
    distiller: Id
    text: str
    judged: Verdict
    relevant: Annotated[Spans, Meta(extra={"check": _located})] = ()
    query: str | None = None
    template: str | None = None
    medium: Id | None = None
    language: Id | None = None
    structure: Id | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stretches(self) -> list[str]:
        """The text that is cut into nuggets: the selected parts of a relevant snippet, or the whole text."""
        return [self.text[start:end] for start, end in self.relevant] or [self.text]

    @property
    def query_or_template(self) -> str | None:
        """The template's name, or else the query, which follows a template."""
        return self.template or self.query


def read_texts(path: Path, problems: list[Problem]) -> list[Snippet]:
    """The texts of a file. Warnings go to `problems`, and errors are raised."""
    found: list[Problem] = []
    if path.suffix == ".jsonl":
        texts = [
            replace(text, snippet=text.snippet or str(line), file=str(path), line=line)
            for line, text in TEXTS.read(path, found)
        ]
    else:
        texts = list(_plain(path, found))
    stop_at_errors(found)
    if not texts:
        raise fail(path, "no text in it", 'write one text per line, or {"text": ...} in a .jsonl file')
    problems.extend(found)
    return texts


def _plain(path: Path, problems: list[Problem]) -> Iterator[Snippet]:
    found: list[Problem] = []
    for number, line in read_lines(path, found):
        try:
            yield Snippet(str(number), line.decode("utf-8"), file=str(path), line=number)
        except UnicodeDecodeError:
            found.append(Problem(str(path), number, "not UTF-8", "save the file as UTF-8"))
    # Blank lines are allowed between texts.
    problems += [problem for problem in found if not problem.what.startswith("blank line")]


def read_judged(path: Path, problems: list[Problem]) -> tuple[list[JudgedSnippet], dict[str, str]]:
    """Judged snippets, and for each qid its template's name or its query."""
    found: list[Problem] = []
    read = list(JUDGED.read(path, found))
    queries: dict[str, tuple[int, str]] = {}
    for line, snippet in read:
        query = snippet.query_or_template
        if query is None:
            continue
        first_line, first_query = queries.setdefault(snippet.qid, (line, query))
        if query != first_query:
            what = f"the query or template of {snippet.qid!r} differs from line {first_line}"
            found.append(Problem(str(path), line, what, "write it on one line only, or the same on each line"))
    for line, snippet in read:
        if snippet.qid not in queries:
            what = f"no line of {snippet.qid!r} has its query"
            found.append(Problem(str(path), line, what, "add 'query', with arguments in brackets, or 'template'"))
            queries[snippet.qid] = (line, "")
    stop_at_errors(found)
    if not read:
        raise fail(path, "no judged snippet in it", "see docs/reference/files.md, Judged snippets")
    problems.extend(found)
    return [snippet for _, snippet in read], {qid: query for qid, (_, query) in queries.items()}


def _located(value: Any) -> Sequence[Any] | str:
    """Stretches as offsets, or the words themselves, whose offsets `_judged` finds in the text."""
    if isinstance(value, str) and value.strip():
        return value
    if are_spans(value):
        return tuple((start, end) for start, end in value)
    raise WrongField("is not a part of the text", 'write [[start, end], ...], or the words as they occur in "text"')


def _judged(text: str, judged: Verdict, relevant: Any = (), **fields: Any) -> JudgedSnippet:
    if not text.strip():
        raise WrongField("the snippet has no text", "write it, or delete the line")
    if relevant and judged != "relevant":
        raise WrongField(f"a part is relevant, but the snippet is {judged}", "delete 'relevant', or judge it relevant")
    if isinstance(relevant, str):
        if text.count(relevant) != 1:
            count = "do not occur" if relevant not in text else "occur more than once"
            raise WrongField(f"the relevant words {count} in the text", "copy them, or write [[start, end], ...]")
        start = text.index(relevant)
        relevant = ((start, start + len(relevant)),)
    if wrong := wrong_spans(relevant, text):
        raise WrongField(wrong, "correct the offsets")
    return JudgedSnippet(text=text, judged=judged, relevant=relevant, **fields)


def _text(text: str, snippet: str = "", **fields: Any) -> Snippet:
    extra = {**fields.pop("extra"), **{key: fields.pop(key) for key in ("query", "template") if key in fields}}
    return Snippet(snippet, text, extra=extra, **fields)


class _Text(Struct):
    text: str
    snippet: Id | None = None
    qid: Id | None = None
    query: str | None = None
    template: str | None = None
    medium: Id | None = None
    language: Id | None = None
    structure: Id | None = None


TEXTS = Layout(_Text, _text)
JUDGED = Layout(JudgedSnippet, _judged)
