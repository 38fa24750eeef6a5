"""Verdicts from a spreadsheet: CSV or TSV in UTF-8, with or without a byte-order mark.

The first row names the columns, in any order. qid, nugget, text and verdict are required. partial, contradicts, docid,
run, assessor, at, reason, span and machine are optional, and other columns are kept. Cells are separated by commas, by
semicolons (as in Excel in many countries) or by tabs. A verdict is yes, no, true, false, y, n, 1 or 0, in upper or
lower case, and so are partial, contradicts and machine. A verdict can also be the word contradicts. A row without a
verdict is not judged yet.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nuggeteer.errors import Problem, fail
from nuggeteer.formats.canonical import JUDGEMENTS, Entry, Verdict, WrongLine
from nuggeteer.formats.objects import read_whole, table_rows, table_text

WORDS = {**dict.fromkeys(("yes", "y", "true", "1"), True), **dict.fromkeys(("no", "n", "false", "0"), False)}


def read_verdicts(path: Path, problems: list[Problem]) -> tuple[list[Verdict], int]:
    """The verdicts with the lines on which their rows begin, and the number of rows without a verdict."""
    verdicts: list[Verdict] = []
    unjudged = 0
    for number, row in _rows(path, problems):
        if "verdict" not in row:
            unjudged += 1
            continue
        line: dict[str, Any] = dict(row)
        bad = []
        if row["verdict"].strip().casefold() == "contradicts":
            row = {**row, "verdict": "no", "contradicts": row.get("contradicts", "yes")}
        for key in ("verdict", "partial", "contradicts", "machine"):
            if key in row:
                value = WORDS.get(row[key].strip().casefold())
                if value is None:
                    also = ", or contradicts" if key == "verdict" else ""
                    bad.append((f"{key!r} is {row[key]!r:.60}", f"write yes or no{also}"))
                line[key] = value
        try:
            if bad:
                raise WrongLine(*bad)
            verdicts.append(Entry(str(path), number, JUDGEMENTS.parse(line)))
        except WrongLine as wrong:
            problems.extend(Problem(str(path), number, what, remedy) for what, remedy in wrong.args)
    return verdicts, unjudged


def _rows(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, str]]]:
    text = table_text(path, read_whole(path))
    for number, row in table_rows(path, text, *_columns(path, text), problems):
        yield number, row | {name: row[name].strip() for name in ("qid", "nugget") if name in row}


def _columns(path: Path, text: str) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter."""
    for delimiter in ",;\t":
        try:
            first = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
        except csv.Error as error:
            raise fail(path, f"not CSV: {error}", "correct the first row", 1) from error
        columns = [_column(cell) for cell in first]
        if set(JUDGEMENTS.required) <= set(columns):
            twice = {name for name in columns if name and columns.count(name) > 1}
            if twice:
                raise fail(path, f"the column {min(twice)!r} occurs twice", "keep one of them", 1)
            return columns, delimiter
    what = "the first row does not name the columns " + ", ".join(JUDGEMENTS.required)
    raise fail(path, what, "add such a row, separated by commas, semicolons or tabs", 1)


def _column(cell: str) -> str:
    name = cell.strip()
    return name.casefold() if name.casefold() in JUDGEMENTS.checks else name
