"""Files of annotated snippets: which notation a path names, and the one of our own.

    NAME.jsonl   one snippet a line: snippet, text, nuggets, qid?, medium?, language?, structure?
                 a nugget is {"spans": [[start, end], ...], "type"?}; offsets count characters (code points) from 0,
                 and the end is the first one outside
    NAME.txt     the papers' double brackets (`brackets`)
    a folder     brat standoff, or one .ann file of it (`brat`)

A nugget's spans are in order and do not overlap; different nuggets may. A snippet without nuggets was judged
irrelevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nuggeteer.errors import InputError, NuggeteerError, Problem, fail
from nuggeteer.formats.annotation import CONDITIONS, Extent, Snippet, type_name, wrong_spans
from nuggeteer.formats.brackets import read_brackets, write_brackets
from nuggeteer.formats.brat import read_brat, write_brat
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.fields import WrongField, identifier, string
from nuggeteer.formats.jsonl import write_jsonl


def read_snippets(path: Path, problems: list[Problem]) -> list[Snippet]:
    """All snippets of a file or a folder; warnings go to `problems`, and anything worse is raised."""
    found: list[Problem] = []
    if path.is_dir() or path.suffix == ".ann":
        snippets = read_brat(path, found)
    elif path.suffix == ".jsonl":
        snippets = [replace(one, file=str(path), line=line) for line, one in SNIPPETS.read(path, found)]
    elif path.suffix == ".txt":
        snippets = read_brackets(path, found)
    else:
        raise fail(path, "is no annotation", "name a .txt, a .jsonl, an .ann or a folder of brat's")
    first: dict[tuple[str | None, str], Snippet] = {}
    for one in snippets:
        other = first.setdefault(one.name, one)
        if other is not one:
            where = f"{other.file}:{other.line}" if other.line else other.file
            found.append(one.problem(f"the snippet {one.snippet!r} stands at {where} too", "delete one or rename it"))
    if any(problem.severity == "error" for problem in found):
        raise InputError(found)
    if not snippets:
        raise fail(path, "no snippet in it", "see docs/reference/files.md, Annotations")
    problems.extend(found)
    return snippets


def write_snippets(path: Path, snippets: Sequence[Snippet]) -> list[str]:
    """Write annotations as what the path's name says; returns what there is no place for."""
    said = [name for name in CONDITIONS if any(getattr(one, name) is not None for one in snippets)]
    kept = ["other keys"] if any(one.extra for one in snippets) else []
    if path.suffix == ".jsonl":
        write_jsonl(path, map(as_line, snippets))
        return []
    if path.suffix == ".txt":
        write_brackets(path, snippets)
        return kept
    if path.suffix:
        raise NuggeteerError(f"{path}: write a .txt (double brackets), a .jsonl (offsets) or a folder (brat)")
    write_brat(path, snippets)
    return said + kept


def as_line(one: Snippet) -> dict[str, Any]:
    """A snippet as the object of its line."""
    line: dict[str, Any] = {} if one.qid is None else {"qid": one.qid}
    line |= {"snippet": one.snippet, "text": one.text}
    line |= {name: value for name in CONDITIONS if (value := getattr(one, name)) is not None}
    line["nuggets"] = [
        {"spans": [list(span) for span in nugget.spans], **({"type": nugget.type} if nugget.type else {})}
        for nugget in one.nuggets
    ]
    return {**line, **one.extra}


def _nuggets(value: Any) -> tuple[Extent, ...]:
    if not isinstance(value, list):
        raise WrongField(
            "is not a list", 'write [{"spans": [[start, end], ...]}, ...], and [] of an irrelevant snippet'
        )
    return tuple(map(_extent, value))


def _extent(value: Any) -> Extent:
    spans = value.get("spans") if isinstance(value, dict) else None
    if not isinstance(spans, list) or not spans or not all(map(_is_span, spans)):
        raise WrongField("has a nugget without spans", 'write {"spans": [[start, end], ...]} with whole numbers')
    kind = value.get("type")
    return Extent(tuple((start, end) for start, end in spans), None if kind is None else type_name(kind))


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value)


def _snippet(text: str, nuggets: tuple[Extent, ...], **fields: Any) -> Snippet:
    if not text.strip():
        raise WrongField("the snippet has no text", "write it, or delete the line")
    for nugget in nuggets:
        if wrong := wrong_spans(nugget.spans, text):
            raise WrongField(wrong, "correct the offsets")
    return Snippet(text=text, nuggets=nuggets, **fields)


SNIPPETS = Layout(
    _snippet,
    ("snippet", "text", "nuggets"),
    {
        "snippet": identifier,
        "text": string,
        "nuggets": _nuggets,
        "qid": identifier,
        **dict.fromkeys(CONDITIONS, identifier),
    },
)
