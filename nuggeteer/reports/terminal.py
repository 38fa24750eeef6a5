"""The terminal: a console, and tables that fit 80 columns.

All text from files goes through `text.escaped` into `rich.text.Text`, never into markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.text import escaped


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the error that is being handled; rich would leave with 1, which is a failed gate's


def console() -> Console:
    """The standard output. It interprets neither markup nor emoji codes in texts."""
    return _Console(markup=False, highlight=False, emoji=False)


def plain(value: str, style: str = "") -> Text:
    """A text from a file, with control characters escaped."""
    return Text(escaped(value), style)


def table(
    title: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str | Text]], fold: bool = False
) -> Table:
    """`columns` are (head, "left" | "right" | "wrap"); only the last kind shrinks on a narrow screen. With
    `fold`, names that are too long are wrapped and not cut, because names may differ only at their ends."""
    heading = plain(title, "bold") if title else None
    result = Table(
        box=SIMPLE_HEAD,
        title=heading,
        title_justify="left",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for head, kind in columns:
        result.add_column(
            Text(head.replace(" ", "\n") if kind == "right" else head),
            justify="right" if kind == "right" else "left",
            no_wrap=kind != "wrap",
            overflow="fold" if fold else "ellipsis",
        )
    for row in rows:
        result.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return result
