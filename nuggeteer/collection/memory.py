"""Collections and runs from data in memory: lists of objects, mappings, data frames, datasets.

They are written as files, in a temporary folder if no other is given, and read again. So they are checked like all
files, and everything that works with a folder works with them. A frame is recognised by what it can do (`to_dict`,
`to_dicts`, `to_pylist`), so no such package is needed.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.runs import read_run
from nuggeteer.errors import NuggeteerError, Problem, fail, stop_at_errors
from nuggeteer.formats.canonical import as_line
from nuggeteer.formats.jsonl import write_jsonl
from nuggeteer.records import Judgement, Nugget, Question, Response, Run, RunInfo

_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []  # each removes its folder when the process ends


def make_collection(
    nuggets: Any,
    runs: Mapping[str, Any] | None = None,
    questions: Any = None,
    judgements: Any = None,
    manifest: Any = None,
    folder: Path | str | None = None,
) -> Collection:
    """A collection from rows: lists of objects, data frames, datasets, or mappings of qid to texts (`rows_of`).

    Nuggets without an id are numbered within their question. The files are written to `folder`, which must be new or
    empty; without it they are temporary, and gone with the process."""
    if folder is None:
        _TEMPORARY.append(tempfile.TemporaryDirectory(prefix="nuggeteer-"))
        root = Path(_TEMPORARY[-1].name)
    else:
        root = Path(folder)
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise fail(root, "already exists and is not empty", "name a new folder")
    write_jsonl(root / "nuggets.jsonl", _numbered(rows_of(nuggets)))
    for name, rows in (("questions", questions), ("runs", manifest), ("judgements/given", judgements)):
        if rows is not None:
            write_jsonl(root / f"{name}.jsonl", rows_of(rows))
    for name, rows in (runs or {}).items():
        if not name or Path(name).name != name or not name.isprintable() or name.startswith("."):
            raise NuggeteerError(f"{name!r} cannot be the name of a run, because it is not a valid file name")
        write_jsonl(root / "runs" / f"{name}.jsonl", rows_of(rows))
    return read_collection(root)


def make_run(collection: Collection, name: str, answers: Any) -> Run:
    """A run from rows with `qid` and `text`, in rank order within a question. Nothing of it stays on disk. Its warnings
    are added to the collection's."""
    info = collection.info(name)
    problems: list[Problem] = []
    with tempfile.TemporaryDirectory(prefix="nuggeteer-") as folder:
        path = Path(folder) / "run.jsonl"
        write_jsonl(path, rows_of(answers))
        run = read_run(path, info, collection.key, collection.settings.answers.split, problems, name=name)
    problems = [Problem(f"run {name}", p.line, p.what, p.remedy, p.severity) for p in problems]
    stop_at_errors(problems)
    if not collection.allow_empty and not any(map(str.strip, run.texts)):
        raise fail(f"run {name}", "answers no question of the key", "check its qids and texts")
    collection.problems.extend(problems)
    return run


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[str(row.get("qid"))] += 1
        yield {"nugget": str(counts[str(row.get("qid"))]), **row}


RECORDS = (Judgement, Nugget, Question, Response, RunInfo)


def rows_of(data: Any) -> Iterator[dict[str, Any]]:
    """The objects of the lines that this data stands for.

    `data` is a table of some package (pandas, Polars, Arrow, `datasets`), a mapping of columns with a `qid`, a mapping
    of qid to one text or several, or an iterable of objects, of records or of (qid, text)."""
    for number, row in enumerate(_rows(data), 1):
        if isinstance(row, RECORDS):
            yield as_line(row)
        elif isinstance(row, Mapping):
            yield {str(key): plain for key, cell in row.items() if (plain := _plain(cell)) is not None}
        elif isinstance(row, tuple) and len(row) == 2:
            yield {"qid": _plain(row[0]), "text": _plain(row[1])}
        else:
            kind = type(row).__name__
            raise NuggeteerError(f"row {number} is of type {kind}; give objects such as {{'qid': ..., 'text': ...}}")


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
