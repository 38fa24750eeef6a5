"""Files of annotated snippets. The path decides which of three notations is used.

NAME.jsonl   one snippet per line: snippet, text, nuggets, qid?, medium?, language?, structure?, distiller?
             a nugget is {"spans": [[start, end], ...], "type"?}; offsets count characters (code points) from 0,
             and the end is the first character outside
NAME.txt     the papers' double brackets (`brackets`)
a folder     brat standoff (`brat`); one of its .ann files can be read alone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from nuggeteer.errors import NuggeteerError, Problem, fail, stop_at_errors
from nuggeteer.fields import Id, WrongField
from nuggeteer.formats.annotation import HEADS, Extent, Snippet, are_spans, type_name, wrong_spans
from nuggeteer.formats.brackets import read_brackets, write_brackets
from nuggeteer.formats.brat import read_brat, write_brat
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.jsonl import read_jsonl, write_jsonl


def is_annotation(path: Path) -> bool:
    """Whether a path names annotations: by its name, or a .jsonl file by its first line, which has a snippet."""
    if path.suffix != ".jsonl":
        return path.is_dir() or path.suffix in (".txt", ".ann")
    for _, line in read_jsonl(path, []):
        return "snippet" in line and "type" not in line
    return False


def read_snippets(path: Path, problems: list[Problem]) -> list[Snippet]:
    """All snippets of a file or a folder. Warnings go to `problems`, and errors are raised."""
    found: list[Problem] = []
    if path.is_dir() or path.suffix == ".ann":
        snippets = read_brat(path, found)
    elif path.suffix == ".jsonl":
        snippets = [replace(snippet, file=str(path), line=line) for line, snippet in SNIPPETS.read(path, found)]
    elif path.suffix == ".txt":
        snippets = read_brackets(path, found)
    else:
        raise fail(path, "is not an annotation", "name a .txt, .jsonl or .ann file, or a folder of brat files")
    first: dict[tuple[str | None, str | None, str], Snippet] = {}
    for snippet in snippets:
        same_name = first.setdefault(snippet.name, snippet)
        if same_name is not snippet:
            where = f"{same_name.file}:{same_name.line}" if same_name.line else same_name.file
            what = f"the snippet {snippet.snippet!r} is already in {where}"
            found.append(snippet.problem(what, "delete one of them or rename it"))
    stop_at_errors(found)
    if not snippets:
        raise fail(path, "no snippet in it", "see docs/reference/files.md, Annotations")
    problems.extend(found)
    return snippets


def write_snippets(path: Path, snippets: Sequence[Snippet]) -> list[str]:
    """Write annotations in the notation that the path names. Returns what this notation cannot hold."""
    conditions = [name for name in HEADS if any(getattr(snippet, name) is not None for snippet in snippets)]
    extra_keys = ["other keys"] if any(snippet.extra for snippet in snippets) else []
    if path.suffix == ".jsonl":
        write_jsonl(path, map(as_line, snippets))
        return []
    if path.suffix == ".txt":
        write_brackets(path, snippets)
        return ["other keys"] if any(snippet.extra.keys() - {"citations"} for snippet in snippets) else []
    if path.suffix:
        raise NuggeteerError(f"{path}: name a .txt file (double brackets), a .jsonl file (offsets) or a folder (brat)")
    write_brat(path, snippets)
    return conditions + extra_keys


def as_line(snippet: Snippet) -> dict[str, Any]:
    """A snippet as the object of its line."""
    line: dict[str, Any] = {} if snippet.qid is None else {"qid": snippet.qid}
    line |= {"snippet": snippet.snippet, "text": snippet.text}
    line |= {name: value for name in HEADS if (value := getattr(snippet, name)) is not None}
    line["nuggets"] = [
        {"spans": [list(span) for span in nugget.spans], **({"type": nugget.type} if nugget.type else {})}
        for nugget in snippet.nuggets
    ]
    return {**line, **snippet.extra}


def _nuggets(value: Any) -> tuple[Extent, ...]:
    if not isinstance(value, list):
        raise WrongField(
            "is not a list", 'write [{"spans": [[start, end], ...]}, ...], or [] for an irrelevant snippet'
        )
    return tuple(map(_extent, value))


def _extent(value: Any) -> Extent:
    spans = value.get("spans") if isinstance(value, dict) else None
    if not are_spans(spans):
        raise WrongField("has a nugget without spans", 'write {"spans": [[start, end], ...]} with whole numbers')
    kind = value.get("type")
    return Extent(tuple((start, end) for start, end in spans), None if kind is None else type_name(kind))


def _snippet(text: str, nuggets: tuple[Extent, ...], **fields: Any) -> Snippet:
    if not text.strip():
        raise WrongField("the snippet has no text", "write it, or delete the line")
    for nugget in nuggets:
        if wrong := wrong_spans(nugget.spans, text):
            raise WrongField(wrong, "correct the offsets")
    return Snippet(text=text, nuggets=nuggets, **fields)


class _Line(Struct):
    snippet: Id
    text: str
    nuggets: Annotated[Any, Meta(extra={"check": _nuggets})]
    qid: Id | None = None
    medium: Id | None = None
    language: Id | None = None
    structure: Id | None = None
    distiller: Id | None = None


SNIPPETS = Layout(_Line, _snippet)
