"""How numbers are written and objects show themselves: in a line, as a table in a notebook, as a data frame.

Texts of answers are hostile: control characters are escaped in the line, and everything is escaped in HTML.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from nuggeteer.text import escaped

if TYPE_CHECKING:
    import pandas

LINE, CELL, SHORT, ROWS = 200, 120, 40, 20  # characters of a line, a cell and a field; rows of a table


class Shown:
    """An object with a short `repr`: its kind, and what `_summary` says. For a dataclass or a struct that says nothing
    else, these are its fields, with the sizes of what is large."""

    __slots__ = ()

    def _summary(self) -> str:
        own: Sequence[str] = getattr(self, "__struct_fields__", ())
        if is_dataclass(self):
            own = [field.name for field in fields(self)]
        return ", ".join(f"{name}={_brief(getattr(self, name))}" for name in own)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        """The rows of its table, in columns with equal names."""
        return ()

    def __repr__(self) -> str:
        return shortened(escaped(f"<{type(self).__name__}: {self._summary()}>"), LINE)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head = f"<p><b>{type(self).__name__}</b>: {escape(shortened(escaped(self._summary()), LINE))}</p>"
        rows = list(islice(self._rows(), ROWS + 1))
        if not rows:
            return head
        titles = "".join(f"<th>{escape(title)}</th>" for title in rows[0])
        body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows[:ROWS])
        more = "<p>... and more</p>" if len(rows) > ROWS else ""
        return f"{head}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


class Framed(Shown):
    """An object whose table is also a data frame."""

    __slots__ = ()

    def to_frame(self) -> pandas.DataFrame:
        """All rows as a pandas frame; needs `nuggeteer[pandas]`."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))


def _brief(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"array{value.shape}"
    if isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > 2:
        return f"{len(value):,} items"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_brief, value))}]"
    if value is None or isinstance(value, (str, int, float)):
        return shortened(repr(value), SHORT)
    return f"<{type(value).__name__}>"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "<td>–</td>"
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.3f}</td>'.replace(">-", ">−")
    align = ' style="text-align:right"' if isinstance(value, int) and not isinstance(value, bool) else ""
    return f"<td{align}>{escape(shortened(escaped(str(value)), CELL))}</td>"


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: 1 query, 1,000 queries."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def chance(probability: float) -> str:
    """The probability of a guess. It is never written as 0 % or 100 %, because a guess is not certain."""
    if math.isnan(probability):
        return "guess"
    percent = round(100 * probability)
    return "<1 %" if percent == 0 else ">99 %" if percent == 100 else f"{percent} %"


def p_value(p: float | None) -> str:
    """A p-value to two digits. It is never written as 0, and never as 0.05 or 1 if it is below."""
    if p is None or math.isnan(p):
        return "–"
    if p < 0.0001 or p > 0.99995:
        return "<0.0001" if p < 0.5 else "1"
    digits = f"{p:.2g}"
    return f"<{digits}" if p < float(digits) in (0.05, 1) else f"{p:.2f}" if p >= 0.1 else digits
