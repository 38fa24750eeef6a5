"""Which builds were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from nuggeteer.fields import about
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.model import Count, Part
from nuggeteer.reports.terminal import plain

if TYPE_CHECKING:  # most results have none of these
    from nuggeteer.history.recording import RecordedRun


class RecordedBuild(Part):
    """A build that was recorded."""

    run: str
    build: Count
    new: Annotated[bool, about("false if the build was recorded before.")]
    copies: Annotated[Count, about("Other builds with the same run and responses.")]


def draw(out: Console, done: Sequence[RecordedRun], file: str) -> None:
    """The builds that were recorded now, and those that were already recorded."""
    out.print()
    for recorded in done:
        if recorded.new and recorded.copies:
            before = counted(recorded.copies, "build")
            what = f"recorded as a new build, although {before} before it had the same responses"
        elif recorded.new:
            what = "recorded"
        else:
            what = "already recorded, with the same label, responses and signature; "
            what += f"{', '.join(recorded.added)} added; " if recorded.added else ""
            what += "if this is a new build, give it another --label"
        out.print(plain(f"{recorded.run}: {what}"))
    out.print(plain(f"The builds are in {file}; nuggeteer history shows their trend."), soft_wrap=True)
