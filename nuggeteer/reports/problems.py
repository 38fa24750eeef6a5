"""The problems found while reading a collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.text import Text

from nuggeteer.collection.runs import NO_ANSWER, NO_WORDS
from nuggeteer.errors import Problem, by_kind
from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.reports.formatting import counted, listed
from nuggeteer.reports.terminal import plain

EQUAL = 10  # warnings that are listed one by one
ANSWERS = (NO_ANSWER, NO_WORDS)
FIRST = 3  # lines that are named of more


class ProblemOutput(Part):
    """What is wrong with a file."""

    file: str
    line: Annotated[Count | None, about("null if it is about the whole file.")]
    severity: Annotated[Literal["error", "warning"], about("An error stops every command that reads the file.")]
    what: str
    remedy: Annotated[str, about("What to do.")]


class CheckOutput(Part):
    """What is wrong in a collection."""

    problems: Sequence[ProblemOutput]


def as_json(found: Sequence[Problem]) -> dict[str, Any]:
    return CheckOutput(problems=[copied(ProblemOutput, problem) for problem in found]).as_data()


def draw(out: Console, found: Sequence[Problem]) -> None:
    """Every error. If more than `EQUAL` warnings differ only in names and numbers, only the first, with a count. The
    questions that a run does not answer, or not in words, are one line."""
    equal = {id(problem): kind for kind in by_kind(found) for problem in kind}
    for problem in found:
        own = equal[id(problem)]
        about = next((what for what in ANSWERS if len(own) > 1 and problem.what.startswith(what)), None)
        many = problem.severity == "warning" and len(own) > EQUAL
        if (many or about) and problem is not own[0]:
            continue
        if about:
            names = listed([one.what.removeprefix(f"{about} ") for one in own])
            what = f"{about.removesuffix('question')}{counted(len(own), 'question')}: {names}"
            problem, many = replace(problem, what=what), False
        style = "bold red" if problem.severity == "error" else "yellow"
        lines = ", ".join(str(other.line) for other in own[1 : FIRST + 1] if other.line)
        more = f" ({len(own) - 1:,} more of this kind{f', first in lines {lines}' if lines else ''})" if many else ""
        out.print(Text.assemble((problem.severity, style), " ", plain(str(problem)), more), soft_wrap=True)
