"""The problems that reading a collection has found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.errors import Problem
from nuggeteer.reports.json_values import file_name
from nuggeteer.reports.terminal import plain


def as_json(found: Sequence[Problem]) -> dict[str, Any]:
    return {
        "problems": [
            {
                "file": file_name(p.file),
                "line": p.line,
                "severity": p.severity,
                "what": file_name(p.what),
                "remedy": file_name(p.remedy),
            }
            for p in found
        ]
    }


def draw(out: Console, found: Sequence[Problem]) -> None:
    for problem in found:
        style = "bold red" if problem.severity == "error" else "yellow"
        out.print(Text.assemble((problem.severity, style), " ", plain(str(problem))), soft_wrap=True)
