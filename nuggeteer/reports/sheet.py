"""What a page for an assessor asks, and what to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

from nuggeteer.fields import about
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.model import Count, Part, copied
from nuggeteer.reports.terminal import plain

if TYPE_CHECKING:
    from nuggeteer.reports.html.sheet import Sheet


class SheetOutput(Part):
    """A page that was written for an assessor."""

    file: str
    run: str
    page: Annotated[str, about("Its name, which stands in every line that it hands back.")]
    asked: Annotated[Count, about("How many verdicts it asks for.")]
    minutes: Annotated[float, about("How long that is likely to take.")]
    qids: Sequence[str]


def as_json(sheet: Sheet, path: Path) -> dict[str, Any]:
    return copied(SheetOutput, sheet, file=str(path), run=sheet.title, page=sheet.name).as_data()


def draw(out: Console, sheet: Sheet, path: Path) -> None:
    asked = f"{counted(sheet.asked, 'verdict')} on answers to {counted(len(sheet.qids), 'question')}"
    takes = f"about {counted(ceil(sheet.minutes), 'minute')} of reading"
    out.print(plain(f"{path} asks for {asked} of {sheet.title}, {takes}."), soft_wrap=True)
    out.print(plain("Send it to an assessor; any browser opens it. Take what comes back with"), soft_wrap=True)
    out.print(plain("  nuggeteer judge --import FILE --assessor NAME"), soft_wrap=True)
