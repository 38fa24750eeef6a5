"""Which builds were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from nuggeteer.history.store import RecordedRun
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.terminal import plain


def as_json(done: list[RecordedRun]) -> list[dict[str, Any]]:
    return [{"run": one.run, "build": one.build, "new": one.new, "copies": one.copies} for one in done]


def draw(out: Console, done: Sequence[RecordedRun], file: str) -> None:
    """What was kept, and what was kept before."""
    out.print()
    for one in done:
        if one.new and one.copies:
            what = f"recorded as a new build, although {counted(one.copies, 'build')} before it had the same responses"
        elif one.new:
            what = "recorded"
        else:
            what = "already recorded, with the same label, responses and signature; "
            what += f"{', '.join(one.added)} added; " if one.added else ""
            what += "if this is a new build, give it another --label"
        out.print(plain(f"{one.run}: {what}"))
    out.print(plain(f"The builds are in {file}; nuggeteer history shows their trend."), soft_wrap=True)
