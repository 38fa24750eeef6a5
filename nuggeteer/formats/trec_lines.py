"""What TREC QA's files have in common: lines of columns, with the text in the last one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.bundle import Bundle, as_id
from nuggeteer.formats.jsonl import read_lines
from nuggeteer.formats.objects import Opening

NONE = "-"
SHARE = r"(?:0|1|0?\.[0-9]+|[01]\.0+)"  # a weight, or an assessor's vote
_NUGGET = "[0-9]+[a-z]?"
_WORD = r"\S+"
_PATTERNS = {
    "nugget": _NUGGET,
    "importance": r"(?i:vital|okay|ok|unrated)",
    "rank": r"-?[0-9]{1,18}",
    "item": r"[0-9]+",
    "weight": SHARE,
    "nuggets": rf"(?:{NONE}|{_NUGGET}(?:,{_NUGGET})*)",
}


def layout(columns: Sequence[str], needed: Iterable[str]) -> re.Pattern[str]:
    """A line of these columns; the text may be missing."""
    known = {*_PATTERNS, "qid", "run", "group", "docid", "text", "_"}
    wrong = [c for c in columns if c not in known] or [c for c in needed if c not in columns]
    wrong = wrong or [f"{c} twice" for c in known - {"_"} if columns.count(c) > 1]
    if wrong or columns[-1] != "text":
        names = ", ".join(sorted(known))
        raise NuggeteerError(
            f"columns {','.join(columns)}: {', '.join(wrong) or 'text is not last'}; "
            f"{', '.join(needed)} are required, with text last; the known columns are {names}"
        )
    text = r"(?:\s+(?P<text>.*))?" if len(columns) > 1 else "(?P<text>.*)"
    return re.compile(pattern_of(columns[:-1]) + text, re.DOTALL)


def pattern_of(columns: Iterable[str]) -> str:
    return r"\s+".join(_WORD if c == "_" else f"(?P<{c}>{_PATTERNS.get(c, _WORD)})" for c in columns)


def content_lines(path: Path, bundle: Bundle) -> Iterator[tuple[int, str, str]]:
    """(line number, line, line in the form in which it is kept aside) of every line that is not a comment."""
    for number, raw in read_lines(path, bundle.problems):
        kept = raw.decode("utf-8", "surrogateescape")
        line = raw.decode("cp1252", "replace") if re.search("[\udc80-\udcff]", kept) else kept
        if not line.startswith("#"):
            yield number, line, kept


def most_fit(opening: Opening, *patterns: re.Pattern[str]) -> bool:
    """Whether most lines that a file begins with have the columns of one of these patterns."""
    fitting = sum(any(pattern.fullmatch(line) for pattern in patterns) for line in opening.lines)
    return fitting > len(opening.lines) / 2


def fields_of(pattern: re.Pattern[str], line: str) -> dict[str, str] | None:
    """A line's columns by name, without empty ones; None if the line does not fit or an id is not valid."""
    row = pattern.fullmatch(line)
    fields = {name: value for name, value in row.groupdict().items() if value} if row else {}
    good = all(as_id(fields[name]) for name in ("qid", "run", "group") if name in fields)
    return fields if row and good else None


def numbered(bundle: Bundle) -> dict[str, dict[str, str]]:
    """Numbers for the nuggets of questions in which some nugget's id is not a number."""
    ids: dict[str, list[str]] = {}
    for nugget in bundle.nuggets:
        ids.setdefault(nugget.qid, []).append(nugget.nugget)
    return {
        qid: {name: str(number) for number, name in enumerate(own, 1)}
        for qid, own in ids.items()
        if not all(re.fullmatch(_NUGGET, name) for name in own)
    }


def number_of(numbered: Mapping[str, Mapping[str, str]], qid: str, nugget: str) -> str:
    number = numbered.get(qid, {nugget: nugget}).get(nugget, "")
    if not re.fullmatch(_NUGGET, number):
        raise NuggeteerError(f"nugget {nugget!r} of {qid!r} has no number, but TREC's files need one")
    return number


def id_field(value: str) -> str:
    if re.search(r"\s|^#", value):
        raise NuggeteerError(f"{value!r} cannot be an id in TREC's files, because it has a blank or starts with #")
    return value


def one_line(text: str) -> str:
    return " ".join(text.split())
