"""The terminal: a console, and tables that fit it.

All text from files goes through `text.escaped` into `rich.text.Text`, never into markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from nuggeteer.text import escaped

NAME, TEXT = 8, 24  # the least width of a column of names or texts
GAP = 2  # between two columns
_MARK = re.compile(r"[-_./:\s]+")

Columns = list[tuple[str, str]]  # of a table: heads with their kinds


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the error that is being handled; rich would leave with 1, which is a failed gate's


def console() -> Console:
    """The standard output. It interprets neither markup nor emoji codes in texts."""
    return _Console(markup=False, highlight=False, emoji=False)


def plain(value: str, style: str = "") -> Text:
    """A text from a file, with control characters escaped."""
    return Text(escaped(value), style)


def say(out: Console, *lines: str) -> None:
    """Print lines that may have texts from files in them, wrapped at the edge of the screen."""
    for line in lines:
        out.print(plain(line))


def say_whole(out: Console, *lines: str) -> None:
    """The same of lines that must not be broken, such as commands and paths."""
    for line in lines:
        out.print(plain(line), soft_wrap=True)


def paragraph(out: Console, what: RenderableType) -> None:
    """Print something below an empty line. A `str` may have texts from files in it."""
    out.print()
    out.print(plain(what) if isinstance(what, str) else what)


def paragraphs(out: Console, lines: Iterable[str]) -> None:
    """Print lines, each below an empty line."""
    for line in lines:
        paragraph(out, line)


def left(*heads: str) -> Columns:
    """Columns of names, which are broken at a mark if the table is too wide."""
    return [(head, "left") for head in heads]


def right(*heads: str) -> Columns:
    """Columns of numbers, which stay whole."""
    return [(head, "right") for head in heads]


def fixed(*heads: str) -> Columns:
    """Columns of other cells that stay whole, such as intervals."""
    return [(head, "fixed") for head in heads]


def wrap(*heads: str) -> Columns:
    """Columns of longer texts, which are the first to be wrapped."""
    return [(head, "wrap") for head in heads]


class Sheet:
    """A table that fits its screen: long texts are wrapped first, then names, and numbers never. If that is not enough,
    the table is cut into blocks that each repeat the names."""

    def __init__(self, title: str, columns: Columns) -> None:
        self.title, self.kinds = title, [kind for _, kind in columns]
        self.heads = [Text(head.replace(" ", "\n") if kind == "right" else head) for head, kind in columns]
        self.rows: list[tuple[list[Text], bool]] = []

    def add_row(self, *cells: str | Text, end_section: bool = False) -> None:
        """A `str` may be from a file. Cells that are missing at the end are empty."""
        padded = (*cells, *[""] * (len(self.heads) - len(cells)))
        self.rows.append(([cell if isinstance(cell, Text) else plain(cell) for cell in padded], end_section))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield plain(self.title, "bold")
        widths = self._widths(options.max_width)
        for number, block in enumerate(self._blocks(widths, options.max_width)):
            if number:
                yield Text("")
            yield self._block(block, widths)

    def _widths(self, most: int) -> list[int]:
        columns = [[head, *(row[i] for row, _ in self.rows)] for i, head in enumerate(self.heads)]
        widths = [min(max(map(_width, column)), most) for column in columns]
        for kind, least in (("wrap", TEXT), ("left", NAME)):
            own = [i for i, one in enumerate(self.kinds) if one == kind]
            least = max([least, *(_longest_word(self.heads[i]) for i in own)])
            for limit in range(most, least - 1, -1):
                if _total(widths) <= most:
                    break
                for i in own:
                    widths[i] = min(widths[i], limit)
        return widths

    def _blocks(self, widths: Sequence[int], most: int) -> Iterator[list[int]]:
        """The columns of each block: the names that come first, with what is before them, and as many others as fit."""
        start = next((i for i, kind in enumerate(self.kinds) if kind in ("left", "wrap")), 0)
        end = next((i for i, kind in enumerate(self.kinds) if i > start and kind not in ("left", "wrap")), len(widths))
        names, block = list(range(end)), list[int]()
        for i in range(end, len(widths)):
            if block and _total([widths[j] for j in (*names, *block, i)]) > most:
                yield [*names, *block]
                block = []
            block.append(i)
        yield [*names, *block]

    def _block(self, block: Sequence[int], widths: Sequence[int]) -> Table:
        result = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for i in block:
            justify: JustifyMethod = "right" if self.kinds[i] == "right" else "left"
            result.add_column(self.heads[i], justify=justify, width=widths[i], overflow="fold")
        for row, end_section in self.rows:
            cells = (_folded(row[i], widths[i]) if self.kinds[i] == "left" else row[i] for i in block)
            result.add_row(*cells, end_section=end_section)
        return result


def table(title: str, columns: Columns, rows: Iterable[Sequence[str | Text]] = ()) -> Sheet:
    """A table with these rows (`Sheet`)."""
    result = Sheet(title, columns)
    for row in rows:
        result.add_row(*row)
    return result


def _folded(name: Text, width: int) -> Text:
    """A name on as many lines as it needs, broken at a punctuation mark if it has one."""
    lines, rest = Text(), name
    while cell_len(rest.plain) > width:
        end = max((mark.end() for mark in _MARK.finditer(rest.plain, 0, width)), default=0)
        if not end:
            break  # rich breaks it where it must
        lines, rest = Text.assemble(lines, rest[:end], "\n"), rest[end:]
    return Text.assemble(lines, rest)


def _width(cell: Text) -> int:
    return max(map(cell_len, cell.plain.split("\n")))


def _longest_word(head: Text) -> int:
    return max(map(cell_len, head.plain.split()), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
