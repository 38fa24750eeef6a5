r"""Nuggets in double brackets, as the GALE papers print them (Babko-Malaya 2008, 2010).

    Language: English
    Query: q7
    Snippet 1: A U.N. policeman from India's southern state of Kerala, was shot to death
    Nugget 1: [[A U.N. policeman]] from India's southern state of Kerala, [[was shot to death]]
    Nugget 2 (location): A U.N. policeman [[from India's southern state of Kerala]], was shot to death

    Snippet 2: Chen Yunlin visited Taiwan in January
    Nugget: Chen Yunlin visited [[Taiwan]]-LOC [[in January]]-TMP

    Query: LIST FACTS ABOUT EVENT [The Hamas victory in Palestinian parliamentary elections]
    Snippet 3: Russia invited Hamas leaders to Moscow for talks
    CONSEQUENCE: [[Russia invited Hamas leaders]] to Moscow [[for talks]]
    CONSEQUENCE-LOC: Russia invited Hamas leaders [[to Moscow]]

    Snippet 4: The officer was killed late Sunday on the motorway, north of the capital
    Chunk 1: The officer was killed late Sunday on the motorway
    Citation 1 (doc7): he was ambushed late Sunday on a motorway

The brackets of a line are the pieces of one nugget. If each bracket is followed by one of the paper's ten types, as in
the last line, each is a nugget of its own. A nugget belongs to the snippet above it, and repeats the snippet's text;
white space may differ. The numbers of nuggets have no meaning. A category in capitals in place of `Nugget` is the
nugget's type, and its line may repeat a part of the snippet that occurs once. `Query`, `Distiller`, `Medium`,
`Language` and `Structure` hold for all snippets below, until the next line of that name. With nothing after the colon,
they end. A line `Nuggets:` has no meaning. `Citation NAME (DOCID)` says which document the snippet above cites and what
it quotes of it, and `Chunk NAME` which words of the snippet that is for; without a document's id, NAME is it.

`\[`, `\]`, `\\` and `\-` stand for these characters themselves, and `\n`, `\r`, `\t` and `\s` for a line feed, a
carriage return, a tab and a space. A single bracket is an ordinary character.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nuggeteer.errors import Problem, fail
from nuggeteer.fields import WrongField, identifier
from nuggeteer.formats.annotation import HEADS, Extent, Snippet, Spans, type_name, wrong_spans
from nuggeteer.formats.jsonl import read_lines, write_file

TYPES = "PER|GPE|ORG|TITLE|NUM|EVT|TMP|LOC|MOD|STM"  # listed, because "[[anti]]-NATO" has no type
_MARKS = re.compile(rf"\\(.?)|(\[\[)|(\]\])(?:-({TYPES})\b)?|[^\\\[\]]+|.", re.DOTALL)
_HEAD = re.compile(r"(Query|Distiller|Medium|Language|Structure)\s*:\s*(.*)", re.DOTALL)
# Possessive quantifiers (++, *+): with backtracking, a line of spaces would take quadratic time.
_SNIPPET = re.compile(r"Snippet\s++((?:\\.|[^\\:])*+):\s?(.*)", re.DOTALL)
_NUGGET = re.compile(r"Nuggets?\s*+[\w-]*+\s*+(?:\(([^()]*+)\)\s*+)?[:.]\s?(.*)", re.DOTALL)
_CATEGORY = re.compile(r"([A-Z][A-Z0-9/_-]*+)\s*+:\s?(.*)", re.DOTALL)
_CITED = re.compile(r"(Chunk|Citation)\s++([\w.-]++)\s*+(?:\(([^()]*+)\)\s*+)?:\s?(.*)", re.DOTALL)
_TITLE = re.compile(r"Nuggets?\s*+:\s*+")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "s": " "}
_KEEP = {"\n": r"\n", "\r": r"\r", "\\": r"\\", "[": r"\[", "]": r"\]"}
_EDGE = {" ": r"\s", "\t": r"\t"}


def unmark(marked: str) -> tuple[str, tuple[Extent, ...]]:
    """A marked text without its marks, and the nuggets that they mark; raises `WrongField` if the marks are wrong."""
    text: list[str] = []
    spans: list[tuple[int, int]] = []
    types: list[str | None] = []
    length, start = 0, -1
    for match in _MARKS.finditer(marked):
        escaped, opening, closing, kind = match.groups()
        if opening:
            if start >= 0:
                raise WrongField("'[[' inside of '[[': brackets cannot be nested", r"close the first, or write \[")
            start = length
            continue
        if closing:
            if start < 0:
                raise WrongField("']]' without '[['", r"open it, or write \]")
            spans.append((start, length))
            types.append(kind)
            start = -1
            continue
        piece = match[0]
        if escaped is not None:
            if escaped not in "[]\\-:" + "".join(_ESCAPED) or not escaped:
                raise WrongField(f"a backslash before {escaped!r}", r"write \\ for a backslash")
            piece = _ESCAPED.get(escaped, escaped)
        text.append(piece)
        length += len(piece)
    if start >= 0:
        raise WrongField("'[[' is not closed", r"write ]] where the nugget ends, or \[ for a bracket of the text")
    if not any(types):
        return "".join(text), (Extent(tuple(spans)),) if spans else ()
    if not all(types):
        raise WrongField("some brackets have a type and some have none", "write -TYPE after each ]], or after none")
    return "".join(text), tuple(Extent((span,), kind) for span, kind in zip(spans, types, strict=True))


def mark(text: str, spans: Spans) -> str:
    """The text with a nugget's pieces in double brackets, on one line."""
    opening, closing = {start for start, _ in spans}, {end for _, end in spans}
    last = len(text) - 1
    result = []
    for i, char in enumerate(text):
        if i in closing:
            result.append("]]")
        if i in opening:
            result.append("[[")
        if char == "-" and i in closing:
            char = r"\-"
        edge = i in (0, last) and char in _EDGE
        result.append(_EDGE[char] if edge else _KEEP.get(char, char))
    return "".join(result) + ("]]" if len(text) in closing else "")


def fit(marked: str, nuggets: Sequence[Spans], text: str) -> list[Spans]:
    """The spans of each nugget in a text that differs only in white space; raises `WrongField` if it differs in
    more."""
    if marked == text:
        return list(nuggets)
    in_text = [i for i, char in enumerate(text) if not char.isspace()]
    in_marked = [i for i, char in enumerate(marked) if not char.isspace()]
    for a, b in zip(in_marked, in_text, strict=False):
        if marked[a] != text[b]:
            raise WrongField(
                f"the nugget has {marked[a : a + 20]!r} where its snippet has {text[b : b + 20]!r}",
                "copy the snippet's text",
            )
    if len(in_marked) != len(in_text):
        difference = "shorter" if len(in_marked) < len(in_text) else "longer"
        raise WrongField(f"the nugget's text is {difference} than its snippet's", "copy the whole text of the snippet")

    def fitted(start: int, end: int) -> tuple[int, int]:
        first, after = bisect_left(in_marked, start), bisect_left(in_marked, end)
        if first == after:
            raise WrongField("'[[ ]]' marks nothing", "put the brackets around words")
        return in_text[first], in_text[after - 1] + 1

    return [tuple(fitted(*span) for span in spans) for spans in nuggets]


def read_brackets(path: Path, problems: list[Problem]) -> list[Snippet]:
    """All snippets of a file in this notation. Errors and warnings go to `problems`."""
    found: list[Problem] = []
    head: dict[str, str | None] = {}
    snippets: list[Snippet] = []
    nuggets: list[list[Extent]] = []
    cited: list[dict[str, dict[str, str]]] = []
    for number, raw in read_lines(path, found):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            found.append(Problem(str(path), number, "is not UTF-8", "save the file as UTF-8"))
            continue
        try:
            if match := _HEAD.fullmatch(line):
                head[match[1].lower()] = identifier(match[2]) if match[2] else None
            elif match := _SNIPPET.fullmatch(line):
                text, marks = unmark(match[2])
                if marks:
                    raise WrongField("a snippet has no double brackets", r"write them in Nugget lines, or write \[")
                if not text.strip():
                    raise WrongField("the snippet has no text", "write it, or delete the line")
                label = identifier(unmark(match[1].strip())[0])
                snippet = Snippet(label, text, qid=head.get("query"), file=str(path), line=number)
                conditions: dict[str, Any] = {name: head.get(name) for name in HEADS}
                snippets.append(replace(snippet, **conditions))
                nuggets.append([])
                cited.append({})
            elif match := _CITED.fullmatch(line):
                if not snippets:
                    raise WrongField("a citation before any snippet", "write 'Snippet NAME: text' above it")
                _cite(cited[-1], *match.groups())
            elif _TITLE.fullmatch(line):
                continue
            elif match := _NUGGET.fullmatch(line) or _CATEGORY.fullmatch(line):
                if not snippets:
                    raise WrongField("a nugget before any snippet", "write 'Snippet NAME: text' above it")
                category = match.re is _CATEGORY
                kind, marked = match[1], match[2]
                nuggets[-1] += _nuggets(marked, kind, snippets[-1].text, category)
            else:
                raise WrongField(
                    "the line does not start with Snippet, Nugget, Chunk, Citation, Query, Distiller, Medium, Language"
                    " or Structure",
                    "write 'Snippet NAME: text' or 'Nugget: text with [[brackets]]', each on one line",
                )
        except WrongField as wrong:
            found.append(Problem(str(path), number, *wrong.args))
    # Blank lines are allowed between lines.
    problems += [problem for problem in found if not problem.what.startswith("blank line")]
    result = []
    for snippet, own, citations in zip(snippets, nuggets, cited, strict=True):
        extra = {**snippet.extra, "citations": list(citations.values())} if citations else snippet.extra
        for name, citation in citations.items():
            if "docid" not in citation:
                what = f"nothing is cited for chunk {name!r}"
                problems.append(snippet.problem(what, f"write 'Citation {name}: ...'"))
        result.append(replace(snippet, nuggets=tuple(own), extra=extra))
    return result


def _cite(citations: dict[str, dict[str, str]], what: str, name: str, docid: str | None, marked: str) -> None:
    """Add a line on a citation of this name to those of a snippet."""
    text, marks = unmark(marked)
    if marks:
        raise WrongField(f"a {what.lower()} has no double brackets", r"write them in Nugget lines, or write \[")
    own = citations.setdefault(name, {})
    if ("chunk" if what == "Chunk" else "docid") in own:
        raise WrongField(f"{what} {name} a second time", "give it another name")
    if what == "Chunk":
        own["chunk"] = text
        return
    own["docid"] = identifier(docid if docid is not None else name)
    if text.strip():
        own["quote"] = text.strip()


def _nuggets(marked: str, kind: str | None, text: str, part: bool = False) -> list[Extent]:
    """The nuggets of a line. With `part`, the line may repeat only a part of its snippet."""
    own, extents = unmark(marked)
    if not extents:
        raise WrongField("no [[double brackets]] in this nugget", "put them around the nugget's words")
    start = text.find(own.strip()) if part else -1
    if start >= 0 and text.count(own.strip()) == 1:
        start -= len(own) - len(own.lstrip())
        fitted: list[Spans] = [tuple((a + start, b + start) for a, b in extent.spans) for extent in extents]
    else:
        fitted = fit(own, [extent.spans for extent in extents], text)
    found = []
    for extent, spans in zip(extents, fitted, strict=True):
        if kind and extent.type:
            raise WrongField(f"two types, {kind!r} and {extent.type!r}", "keep one")
        if wrong := wrong_spans(spans, text):
            raise WrongField(wrong, "put each word in one pair of brackets at most, and some word in each pair")
        found.append(Extent(spans, type_name(kind) if kind else extent.type))
    return found


def _citations(snippet: Snippet) -> Iterator[str]:
    """The lines that say what a snippet cites."""
    listed = snippet.extra.get("citations")
    for number, one in enumerate(listed if isinstance(listed, list) else (), 1):
        own = one if isinstance(one, dict) else {"docid": one}
        docid, quote, chunk = (str(own.get(key) or "") for key in ("docid", "quote", "chunk"))
        if chunk:
            yield f"Chunk {number}: {mark(chunk, ())}"
        yield f"Citation {number} ({docid}): {mark(quote, ())}".rstrip()


def write_brackets(path: Path, snippets: Sequence[Snippet]) -> None:
    """Write snippets in this notation."""
    lines: list[str] = []
    head: dict[str, str | None] = {}
    for snippet in snippets:
        lines += [""] if lines else []
        for name, value in (("query", snippet.qid), *((name, getattr(snippet, name)) for name in HEADS)):
            if head.get(name) != value:
                lines.append(f"{name.capitalize()}: {value or ''}".rstrip())
                head[name] = value
        label = "".join(rf"\{char}" if char in "\\:[]" else char for char in snippet.snippet)
        lines.append(f"Snippet {label}: {mark(snippet.text, ())}")
        for number, nugget in enumerate(snippet.nuggets, 1):
            kind = f" ({nugget.type})" if nugget.type else ""
            lines.append(f"Nugget {number}{kind}: {mark(snippet.text, nugget.spans)}")
        lines += _citations(snippet)
    try:
        body = "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise fail(path, "a text is not valid Unicode", "remove its lone surrogates") from error
    write_file(path, body)
