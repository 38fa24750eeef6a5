"""Rows of a collection that are in memory: lists of objects, mappings, data frames, datasets.

A frame is recognised by what it can do (`to_dict`, `to_dicts`, `to_pylist`), so no such package is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.canonical import as_line
from nuggeteer.records import Judgement, Nugget, Question, Response, RunInfo

RECORDS = (Judgement, Nugget, Question, Response, RunInfo)


def rows_of(data: Any, value: str = "text") -> Iterator[dict[str, Any]]:
    """The objects of the lines that this data stands for.

    `data` is a table of some package (pandas, Polars, Arrow, `datasets`), a mapping of columns with a `qid`, a mapping
    of qid to one text or several, or an iterable of objects, of records or of (qid, text). `value` is the key of such a
    text."""
    for number, row in enumerate(_rows(data), 1):
        if isinstance(row, RECORDS):
            yield as_line(row)
        elif isinstance(row, Mapping):
            yield {str(key): plain for key, cell in row.items() if (plain := _plain(cell)) is not None}
        elif isinstance(row, tuple) and len(row) == 2:
            yield {"qid": _plain(row[0]), value: _plain(row[1])}
        else:
            kind = type(row).__name__
            raise NuggeteerError(f"row {number} is of type {kind}; give objects such as {{'qid': ..., {value!r}: ...}}")


def _rows(data: Any) -> Iterable[Any]:
    if isinstance(data, Mapping):
        if isinstance(data.get("qid"), list | tuple):
            names = list(data)
            return (dict(zip(names, cells, strict=True)) for cells in zip(*data.values(), strict=True))
        return ((qid, text) for qid, texts in data.items() for text in ([texts] if isinstance(texts, str) else texts))
    for convert in ("to_dicts", "to_pylist"):  # Polars, Arrow
        if hasattr(data, convert):
            return list(getattr(data, convert)())
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        return list(data.to_dict("records"))
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise NuggeteerError(f"{type(data).__name__}: give rows, such as a list of objects or a data frame")
    return data


def _plain(cell: Any) -> Any:
    """A cell as JSON has it: no scalars of NumPy, and None for what is missing."""
    if hasattr(cell, "item") and not isinstance(cell, list | dict) and getattr(cell, "shape", ()) == ():
        cell = cell.item()
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    return None if isinstance(cell, float) and cell != cell else cell
