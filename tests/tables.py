"""Tables that commands print, read by the names of their columns."""

from __future__ import annotations

import re


def read_table(printed: str, *columns: str) -> list[dict[str, str]]:
    """The rows of the first table that has these columns.

    Two blanks in all rows separate columns. A name may stand on two lines; a line that spans columns is a title."""
    lines = printed.splitlines()
    for place, line in enumerate(lines):
        if set(line.strip()) == {"─"}:
            rows = _until_blank(lines[place + 1 :])
            headers = _until_blank(lines[:place][::-1])[::-1]
            table = _table(headers, rows)
            if table and set(columns) <= set(table[0]):
                return table
    raise AssertionError(f"no table with the columns {columns} in\n{printed}")


def _until_blank(lines: list[str]) -> list[str]:
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    return lines[:end]


def _table(headers: list[str], rows: list[str]) -> list[dict[str, str]]:
    blank = "".join(
        " " if all(line[i : i + 1] in ("", " ") for line in (*headers[-1:], *rows)) else "x"
        for i in range(max(map(len, (*headers, *rows)), default=0))
    )
    spans = [match.span() for match in re.finditer(r"x(?: ?x)*", blank)]
    names = [headers[-1][start:end].strip() for start, end in spans]
    for line in headers[-2::-1]:
        for part in re.finditer(r"\S+(?: \S+)*", line):
            below = [i for i, (start, end) in enumerate(spans) if start < part.end() and part.start() < end]
            if len(below) == 1:
                names[below[0]] = f"{part[0]} {names[below[0]]}".strip()
    return [dict(zip(names, (row[a:b].strip() for a, b in spans), strict=True)) for row in rows]
