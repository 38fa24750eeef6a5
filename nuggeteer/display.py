"""How an object shows itself: in a line where Python prints it, as a table in a notebook, as a data frame on request.

Texts of answers are hostile: control characters are escaped in the line, and everything is escaped in HTML.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from nuggeteer.text import escaped

if TYPE_CHECKING:
    import pandas

LINE, CELL, ROWS = 200, 120, 20  # characters of a line and of a cell, rows of a table in a notebook


class Shown:
    """An object with a short `repr`: its kind, and what `_summary` says."""

    def _summary(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        """The rows of its table, in columns with equal names."""
        return ()

    def __repr__(self) -> str:
        return _cut(escaped(f"<{type(self).__name__}: {self._summary()}>"), LINE)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head = f"<p><b>{type(self).__name__}</b>: {escape(_cut(escaped(self._summary()), LINE))}</p>"
        rows = list(islice(self._rows(), ROWS + 1))
        if not rows:
            return head
        titles = "".join(f"<th>{escape(title)}</th>" for title in rows[0])
        body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows[:ROWS])
        more = "<p>... and more</p>" if len(rows) > ROWS else ""
        return f"{head}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


class Framed(Shown):
    """An object whose table is also a data frame."""

    def to_frame(self) -> pandas.DataFrame:
        """All rows as a pandas frame; needs `nuggeteer[pandas]`."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "<td>–</td>"
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.3f}</td>'.replace(">-", ">−")
    align = ' style="text-align:right"' if isinstance(value, int) and not isinstance(value, bool) else ""
    return f"<td{align}>{escape(_cut(escaped(str(value)), CELL))}</td>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
