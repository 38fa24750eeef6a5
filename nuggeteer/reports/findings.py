"""What files are, what they hold and what can be done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nuggeteer.collection.doctor import Finding
from nuggeteer.errors import by_kind
from nuggeteer.reports import problems
from nuggeteer.reports.json_values import file_name
from nuggeteer.reports.terminal import plain

KINDS = 3  # kinds of problems that are shown of each file


def as_json(found: Sequence[Finding]) -> dict[str, Any]:
    return {
        "files": [
            {
                "file": file_name(str(finding.path)),
                "known": finding.known,
                "about": file_name(finding.about),
                "format": finding.format,
                "counts": dict(finding.counts),
                "unused": dict(finding.unused),
                "left_out": dict(finding.left_out),
                "steps": [{"what": file_name(what), "command": file_name(how)} for what, how in finding.steps],
            }
            | problems.as_json(finding.problems)
            for finding in found
        ]
    }


def draw(out: Console, found: Sequence[Finding]) -> None:
    """A paragraph for each file, and the commands below it."""
    for place, finding in enumerate(found):
        if place:
            out.print()
        out.print(plain(str(finding.path), "bold"), soft_wrap=True)
        out.print(Padding(plain(finding.about), (0, 0, 0, 2), expand=False))
        if any(finding.counts.values()):
            out.print(Padding(plain(listed(finding.counts)), (0, 0, 0, 2), expand=False))
        draw_rest(out, finding.unused, finding.left_out)
        _draw_problems(out, finding)
        for what, command in finding.steps:
            out.print()
            out.print(Padding(plain(f"{what}:"), (0, 0, 0, 2), expand=False))
            for line in command.split("\n"):
                out.print(Text.assemble("    ", plain(line)), soft_wrap=True)


def draw_rest(out: Console, unused: Mapping[str, int], left_out: Mapping[str, int]) -> None:
    """What of a file no command uses, and what is not converted."""
    if unused:
        out.print(Padding(plain(f"kept, and used by nothing: {listed(unused)}"), (0, 0, 0, 2), expand=False))
    if left_out:
        out.print(Padding(plain(f"left out: {listed(left_out)}"), (0, 0, 0, 2), expand=False))


def listed(counts: Mapping[str, int]) -> str:
    """Counts with what they count, without zeros."""
    return ", ".join(
        f"{count:,} {what[:-1] if count == 1 and what.endswith('s') else what}"
        for what, count in counts.items()
        if count
    )


def _draw_problems(out: Console, finding: Finding) -> None:
    kinds = by_kind(finding.problems)
    for first, *others in kinds[:KINDS]:
        more = f" ({len(others):,} more of this kind)" if others else ""
        place = "" if first.line is None else f"line {first.line}: "
        said = f"{place}{first.what}; {first.remedy}" if first.file == str(finding.path) else str(first)
        line = f"{first.severity}: {said}{more}"
        out.print(Padding(plain(line), (0, 0, 0, 2), expand=False))
    if len(kinds) > KINDS:
        out.print(f"  ... and {len(kinds) - KINDS} more kinds of problems (--json lists them all)")
