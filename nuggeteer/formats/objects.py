"""Objects of a foreign file, whatever holds them: JSON Lines, one JSON document, or a table in CSV or TSV. Each may be
compressed with gzip.

A document is a list of objects, or one object; `inside` names the keys of the list that lies within it. The first row
of a table names its columns; cells are separated by commas, semicolons or tabs, whichever makes more columns. An empty
cell is left out. A document or table is read whole, so it may be no larger than `LARGEST`.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, cast

import orjson

from nuggeteer.errors import InputError, NuggeteerError, Problem, fail
from nuggeteer.formats.bundle import Bundle, as_json
from nuggeteer.formats.jsonl import BOM, DAMAGED, GZIP, LONGEST_LINE, UNPACKED, UNPACKED_TIMES, parsed, read_jsonl

LARGEST = 500_000_000  # bytes of a file that is read whole
HEAD = 1 << 16  # bytes that show what a file is
SHOWN = 50  # objects that show it
ZIP = b"PK\x03\x04"
DELIMITERS = ",;\t"
_BLANKS = b" \t\r\n"
# How a cell begins that a spreadsheet would compute, in some languages also in wide letters, or that is marked as text.
_FORMULA = re.compile(r"\A'*[=+@\t\r\n＝＋＠－-]")
_MARKED = re.compile(r"(?<=[,;\t])'(?='*[=+@＝＋＠－-])")
_INSIDE = re.compile(r"(?<=[,;\t])(?='*[=+@＝＋＠－-])")

Kind = Literal["lines", "document", "zip", "text", "empty"]


@dataclass(frozen=True)
class Opening:
    """How a file begins: enough to tell its format."""

    path: Path
    kind: Kind
    head: bytes

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The first objects. One that lies in no list is the whole document."""
        found: list[dict[str, Any]] = []
        try:
            for _, one, _ in read_objects(self.path, Bundle(), kind=self.kind):
                found.append(one)
                if len(found) == SHOWN:
                    break
        except NuggeteerError:
            pass
        return found

    @cached_property
    def columns(self) -> list[str]:
        """The cells of the first row of a table; one cell is none."""
        return columns_of(_first_row(self.head))[0] if self.kind == "text" else []

    @cached_property
    def lines(self) -> list[str]:
        """The first lines of a text that are not blank and no comment."""
        whole = self.head if len(self.head) < HEAD else self.head[: self.head.rfind(b"\n")]
        lines = [line.strip(_BLANKS) for line in whole.removeprefix(BOM).split(b"\n")] if self.kind == "text" else []
        return [line.decode("utf-8", "replace") for line in lines if line and not line.startswith(b"#")][:SHOWN]

    @property
    def keys(self) -> set[str]:
        """The keys of the first object, or the columns of a table."""
        return set(self.columns) if self.kind == "text" else set(next(iter(self.objects), {}))

    def every(self, *keys: str) -> bool:
        """Whether every object that is seen has these keys."""
        objects = self.objects if self.kind in ("lines", "document") else []
        return bool(objects) and all(key in one for one in objects for key in keys)

    def inside(self, *keys: str) -> list[dict[str, Any]]:
        """The first objects of the list under these keys of a document."""
        return _list_in(self.objects[0], keys)[:SHOWN] if len(self.objects) == 1 else []


def open_file(path: Path) -> Opening:
    """Look at the beginning of a file. It is read again, so it cannot be a pipe."""
    if not can_be_opened_again(path):
        raise fail(path, "is a device or a pipe", "write it to a file first")
    with _unpacked(path) as (file, _):
        head = file.read(HEAD)
    return Opening(path, _kind(head), head)


@contextmanager
def _unpacked(path: Path) -> Iterator[tuple[IO[bytes], bool]]:
    """A file to read, and whether it is compressed. Errors of reading say what to do."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(len(GZIP)) == GZIP
            raw.seek(0)
            yield (cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw), packed
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise fail(path, *DAMAGED) from error
    except (OSError, ValueError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise fail(path, what, "check the name and the permissions") from error


def can_be_opened_again(path: Path) -> bool:
    """Whether this is a file, or at least no device and no pipe."""
    try:
        return path.is_file() or not path.exists()
    except (OSError, ValueError):  # a name that is too long or has a NUL: opening it says so
        return True


def _kind(head: bytes) -> Kind:
    if head.startswith(ZIP):
        return "zip"
    body = head.removeprefix(BOM).strip(_BLANKS)
    if not body:
        return "empty"
    if body.startswith(b"{"):
        return "lines" if _is_object(body.partition(b"\n")[0]) else "document"
    within = body[1:].lstrip(_BLANKS)
    return "document" if body.startswith(b"[") and within[:1] in (b"{", b"]") else "text"


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def read_objects(
    path: Path, bundle: Bundle, keys: Collection[str] = (), inside: Sequence[str] = (), kind: Kind | None = None
) -> Iterator[tuple[int, dict[str, Any], str]]:
    """(number of the line or of the object in a document, object, the object on one line) of each object.

    What is wrong with the file is among the problems of `bundle`."""
    number = 0
    try:
        kind = kind or (open_file(path).kind if can_be_opened_again(path) else "lines")
        for number, one in _numbered(path, bundle, keys, inside, kind):
            yield number, one, as_json(one)
    except InputError as error:
        bundle.problems.extend(error.problems)
    if not number and not bundle.problems:
        bundle.problems.append(
            Problem(str(path), None, "there is no object and no row in it", "name another file", "warning")
        )


def _numbered(
    path: Path, bundle: Bundle, keys: Collection[str], inside: Sequence[str], kind: Kind
) -> Iterator[tuple[int, dict[str, Any]]]:
    content = read_whole(path) if kind == "text" else b""
    if columns_of(_first_row(content))[0]:
        yield from _rows(path, content, bundle.problems)
    elif kind == "document" and (document := read_document(path)) is not None:
        yield from _within(path, document, inside, bundle)
    else:
        for number, one in read_jsonl(path, bundle.problems, keys):
            if inside and _list_in(one, inside):
                yield from _within(path, one, inside, bundle)
            else:
                yield number, one


def _within(path: Path, document: Any, inside: Sequence[str], bundle: Bundle) -> Iterator[tuple[int, dict[str, Any]]]:
    bundle.counted = "object"
    if isinstance(document, dict):
        document = _list_in(document, inside) or [document]
    for number, one in enumerate(document, 1):
        if isinstance(one, dict):
            yield number, one
        else:
            bundle.not_understood(path, number, as_json(one), f"not an object {{...}} but {type(one).__name__}")


def _list_in(document: Any, keys: Sequence[str]) -> list[Any]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, list) else []


def read_document(path: Path) -> Any:
    """A JSON document: a list or an object. None for what is read better as JSON Lines: lines that go wrong later."""
    content = read_whole(path)
    try:
        document = parsed(content.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        first = content.removeprefix(BOM).strip(_BLANKS).partition(b"\n")[0].rstrip(_BLANKS)
        if len(first) > 1 and first.startswith(b"{") and first.endswith(b"}"):
            return None
        raise fail(path, f"not JSON: {error.msg} (column {error.colno})", "correct it", error.lineno) from error
    if not isinstance(document, dict | list):
        raise fail(path, f"is JSON, but no list or object but {type(document).__name__}", "name another file")
    return document


def read_whole(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file, unpacked, if there are no more than `most`, or than can be read whole."""
    most = LARGEST if most is None else most
    with _unpacked(path) as (file, packed):
        if packed:
            most = min(most, max(UNPACKED, UNPACKED_TIMES * path.stat().st_size))
        content = file.read(most + 1)
    if len(content) > most:
        what = f"{'unpacks to' if packed else 'has'} more than {most:,} bytes"
        raise fail(path, what, "divide it, or write it as JSON Lines, which may be of any size")
    return content


def _rows(path: Path, content: bytes, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    text = table_text(path, content)
    columns, delimiter = columns_of(_first_row(content))
    twice = {name for name in columns if name and columns.count(name) > 1}
    if twice:
        raise fail(path, f"the column {min(twice)!r} occurs twice", "keep one of them, or rename one", 1)
    return table_rows(path, text, columns, delimiter, problems, _as_meant, blanks=True)


def table_text(path: Path, content: bytes) -> str:
    """The text of a table. A cell may be as long as a line of other files."""
    csv.field_size_limit(LONGEST_LINE)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise fail(path, "is not UTF-8", "save it as CSV UTF-8", line) from error


def table_rows(
    path: Path,
    text: str,
    columns: Sequence[str],
    delimiter: str,
    problems: list[Problem],
    meant: Callable[[str], str] = str,
    blanks: bool = False,
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line on which it begins, cells by column) of each row of a table that has any, after the names of the columns.
    Blank cells are left out. With `blanks`, some may follow the last column. `meant` says what a cell means."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        while not any(map(str.strip, next(rows))):
            pass
        number = rows.line_num
        for cells in rows:
            begins, number = number + 1, rows.line_num
            cells = list(map(meant, cells))
            row = {name: cell for name, cell in zip(columns, cells, strict=False) if name and cell.strip()}
            if len(cells) > len(columns) and any(map(str.strip, cells[len(columns) :] if blanks else cells)):
                what = f"{len(cells)} cells, but only {len(columns)} columns"
                problems.append(Problem(str(path), begins, what, "put quotes around a cell that has a delimiter in it"))
            elif row:
                yield begins, row
    except StopIteration:
        return
    except csv.Error as error:
        raise fail(path, f"not CSV: {error}", "correct its quotes", number + 1) from error


def as_table(rows: Sequence[Mapping[str, Any]], delimiter: str) -> bytes:
    """Rows as a table. Cells that are no text are JSON.

    A text that a spreadsheet would take for a formula has `'` before it, as spreadsheets have it for a text, and so has
    one inside a cell where another spreadsheet, with other delimiters, would begin a cell."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = [columns]
    for row in rows:
        cells = (row.get(column) for column in columns)
        table.append(["" if cell is None else cell if isinstance(cell, str) else as_json(cell) for cell in cells])
    text = io.StringIO(newline="")
    # Quotes everywhere: a carriage return, around which Python puts none, begins a new row in a spreadsheet.
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([_INSIDE.sub("'", _FORMULA.sub(r"'\g<0>", cell, count=1)) for cell in cells] for cells in table)
    try:
        return text.getvalue().encode()
    except UnicodeEncodeError as error:
        raise NuggeteerError("a text is not valid Unicode; remove its lone surrogates") from error


def _as_meant(cell: str) -> str:
    """A cell without the mark of a text that `as_table` gave to it."""
    cell = _MARKED.sub("", cell)
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _first_row(content: bytes) -> str:
    first = content[: HEAD * 16].removeprefix(BOM).lstrip(_BLANKS).split(b"\n", 1)[0]
    return first.decode("utf-8", "replace")


def columns_of(first: str) -> tuple[list[str], str]:
    """The names of the columns in a first row, and the delimiter that makes most of them."""
    best: list[str] = []
    delimiter = ","
    for one in DELIMITERS:
        try:
            cells = next(csv.reader([first.rstrip("\r")], delimiter=one), [])
        except csv.Error:
            continue
        if len(cells) > max(len(best), 1) and sum(map(bool, map(str.strip, cells))) > 1:
            best, delimiter = [_as_meant(cell.strip()) for cell in cells], one
    return best, delimiter
