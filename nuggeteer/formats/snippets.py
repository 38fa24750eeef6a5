"""Texts on their way to the nuggetizer, and snippets that somebody judged.

    NAME.jsonl       text, snippet?, qid?, query?, template?, medium?, language?, structure?    one text a line
    any other file   plain text, one text a line
    judged           qid, distiller, text, judged, relevant?, query?, template?
                     judged is relevant, irrelevant or redundant; relevant is the part of the text that answers, as
                     [[start, end], ...] in characters or in its own words; without it the whole text does

A query is in its template's words with the arguments in brackets: "WHERE HAS [Jack Straw] BEEN AND WHEN?". A template
is named where the query follows none. One of both is said on some line of a qid and holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.formats.annotation import CONDITIONS, Snippet, Spans, wrong_spans
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.fields import WrongField, identifier, one_of, string
from nuggeteer.formats.jsonl import read_lines

Verdict = Literal["relevant", "irrelevant", "redundant"]


@dataclass(frozen=True, slots=True)
class JudgedSnippet:
    """A distiller's snippet, what was said of it, and the stretches of its text that answer the query."""

    qid: str
    distiller: str
    text: str
    judged: Verdict
    relevant: Spans = ()
    query: str | None = None
    template: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stretches(self) -> list[str]:
        """What is cut into nuggets: the selected text of a relevant snippet, all of any other."""
        return [self.text[start:end] for start, end in self.relevant] or [self.text]

    @property
    def said(self) -> str | None:
        """The template, or the query that follows it."""
        return self.template or self.query


def read_texts(path: Path, problems: list[Problem]) -> list[Snippet]:
    """The texts of a file; warnings go to `problems`, anything worse is raised."""
    found: list[Problem] = []
    if path.suffix == ".jsonl":
        read = ((line, one) for line, one in TEXTS.read(path, found))
        texts = [replace(one, snippet=one.snippet or str(line), file=str(path), line=line) for line, one in read]
    else:
        texts = list(_plain(path, found))
    if any(problem.severity == "error" for problem in found):
        raise InputError(found)
    if not texts:
        raise fail(path, "no text in it", 'write one text a line, or {"text": ...} in a .jsonl')
    problems.extend(found)
    return texts


def _plain(path: Path, problems: list[Problem]) -> Iterator[Snippet]:
    told: list[Problem] = []
    for number, line in read_lines(path, told):
        try:
            yield Snippet(str(number), line.decode("utf-8"), file=str(path), line=number)
        except UnicodeDecodeError:
            told.append(Problem(str(path), number, "not UTF-8", "save the file as UTF-8"))
    # Blank lines are for the eye.
    problems += [problem for problem in told if not problem.what.startswith("blank line")]


def read_judged(path: Path, problems: list[Problem]) -> tuple[list[JudgedSnippet], dict[str, str]]:
    """Judged snippets, and what is asked by qid: the query, or its template's name."""
    found: list[Problem] = []
    read = list(JUDGED.read(path, found))
    said: dict[str, tuple[int, str]] = {}
    for line, one in read:
        if one.said is None:
            continue
        first, other = said.setdefault(one.qid, (line, one.said))
        if other != one.said:
            what = f"the query {one.qid!r} is said otherwise on line {first}"
            found.append(Problem(str(path), line, what, "say the query or its template once, or always alike"))
    for line, one in read:
        if one.qid not in said:
            what = f"no line of {one.qid!r} says its query"
            found.append(Problem(str(path), line, what, "add 'query', with arguments in brackets, or 'template'"))
            said[one.qid] = (line, "")
    if any(problem.severity == "error" for problem in found):
        raise InputError(found)
    if not read:
        raise fail(path, "no judged snippet in it", "see docs/reference/files.md, Judged snippets")
    problems.extend(found)
    return [one for _, one in read], {qid: asked for qid, (_, asked) in said.items()}


def _located(value: Any) -> Sequence[Any] | str:
    """Stretches as offsets, or the words themselves; they are looked for when the text is known."""
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(_is_span(span) for span in value):
        return tuple((start, end) for start, end in value)
    raise WrongField("is no part of the text", 'write [[start, end], ...], or the words as they stand in "text"')


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value)


def _judged(text: str, judged: Verdict, relevant: Any = (), **fields: Any) -> JudgedSnippet:
    if not text.strip():
        raise WrongField("the snippet has no text", "write it, or delete the line")
    if relevant and judged != "relevant":
        raise WrongField(f"a part is relevant, and the snippet {judged}", "leave out 'relevant', or judge it relevant")
    if isinstance(relevant, str):
        if text.count(relevant) != 1:
            times = "nowhere" if relevant not in text else "more than once"
            raise WrongField(f"the relevant words stand {times} in the text", "copy them, or write [[start, end], ...]")
        start = text.index(relevant)
        relevant = ((start, start + len(relevant)),)
    if wrong := wrong_spans(relevant, text):
        raise WrongField(wrong, "correct the offsets")
    return JudgedSnippet(text=text, judged=judged, relevant=relevant, **fields)


def _to_cut(text: str, snippet: str = "", **fields: Any) -> Snippet:
    extra = {**fields.pop("extra"), **{key: fields.pop(key) for key in ("query", "template") if key in fields}}
    return Snippet(snippet, text, extra=extra, **fields)


TEXTS = Layout(
    _to_cut,
    ("text",),
    {
        "text": string,
        "snippet": identifier,
        "query": string,
        "template": string,
        **dict.fromkeys(("qid", *CONDITIONS), identifier),
    },
)
JUDGED = Layout(
    _judged,
    ("qid", "distiller", "text", "judged"),
    {
        "qid": identifier,
        "distiller": identifier,
        "text": string,
        "judged": one_of(*get_args(Verdict)),
        "relevant": _located,
        "query": string,
        "template": string,
    },
)
