"""What files are, what they hold and what can be done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.collection.doctor import Finding
from nuggeteer.errors import by_kind
from nuggeteer.reports import problems
from nuggeteer.reports.model import file_name
from nuggeteer.reports.terminal import plain
from nuggeteer.text import escaped

MOST = 5  # keys that are listed, of those that nothing uses
KINDS = 3  # kinds of problems that are shown of each file


def as_json(found: Sequence[Finding]) -> dict[str, Any]:
    return {
        "files": [
            {
                "file": file_name(str(finding.path)),
                "known": finding.known,
                "broken": finding.broken,
                "about": file_name(finding.about),
                "format": finding.format,
                "counts": dict(finding.counts),
                "unused": counts_as_json(finding.unused),
                "left_out": counts_as_json(finding.left_out),
                "steps": [{"what": file_name(what), "command": file_name(how)} for what, how in finding.steps],
            }
            | problems.as_json(finding.problems)
            for finding in found
        ]
    }


def counts_as_json(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Counts of what a file may name itself, such as its keys."""
    return [{"what": file_name(what), "count": count} for what, count in counts.items() if count]


def draw(out: Console, found: Sequence[Finding]) -> None:
    """A paragraph for each file, and the commands below it."""
    for place, finding in enumerate(found):
        if place:
            out.print()
        out.print(plain(str(finding.path), "bold"), soft_wrap=True)
        indent(out, finding.about)
        if any(finding.counts.values()):
            indent(out, listed(finding.counts))
        draw_rest(out, finding.unused, finding.left_out)
        _draw_problems(out, finding)
        for what, command in finding.steps:
            out.print()
            indent(out, f"{what}:")
            for line in command.split("\n"):
                out.print(Text.assemble("    ", plain(line)), soft_wrap=True)


def indent(out: Console, said: str) -> None:
    """Print a paragraph, two columns in."""
    for line in wrap(escaped(said), max(out.width - 2, 20), break_long_words=False, break_on_hyphens=False):
        out.print(f"  {line}", soft_wrap=True)


def draw_rest(out: Console, unused: Mapping[str, int], left_out: Mapping[str, int]) -> None:
    """What of a file no command uses, and what is not converted."""
    if any(unused.values()):
        indent(out, f"kept, and used by nothing: {listed(unused, MOST)}")
    if any(left_out.values()):
        indent(out, f"left out: {listed(left_out)}")


def listed(counts: Mapping[str, int], most: int | None = None) -> str:
    """Counts with what they count, without zeros."""
    shown = [_counted(count, what) for what, count in counts.items() if count]
    more = f" and {len(shown) - most} other keys" if most and len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what.removesuffix('s') if count == 1 and ' ' not in what else what}"


def _draw_problems(out: Console, finding: Finding) -> None:
    kinds = by_kind(finding.problems)
    for first, *others in kinds[:KINDS]:
        more = f" ({len(others):,} more of this kind)" if others else ""
        place = "" if first.line is None else f"line {first.line}: "
        said = f"{place}{first.what}; {first.remedy}" if first.file == str(finding.path) else str(first)
        line = f"{first.severity}: {said}{more}"
        indent(out, line)
    if len(kinds) > KINDS:
        out.print(f"  ... and {len(kinds) - KINDS} more kinds of problems (--json lists them all)")
