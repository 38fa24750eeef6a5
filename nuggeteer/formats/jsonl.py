"""JSON Lines, read strictly: every line that is not a JSON object in UTF-8 is a problem with its place.

Lines are streamed, and none longer than `LONGEST_LINE` is held in memory.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import orjson

from nuggeteer.errors import Problem, fail

T = TypeVar("T")

LONGEST_LINE = 10_000_000
BOM = b"\xef\xbb\xbf"


def read_lines(path: Path, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """(line number, line without its end) of each line that is not blank.

    Tells of a byte-order mark, Windows line ends, blank lines, an empty file and lines too long.
    """

    def warn(line: int | None, what: str, remedy: str) -> None:
        problems.append(Problem(str(path), line, what, remedy, "warning"))

    crlf = blank = first_blank = number = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(_pieces(file), 1):
                if len(raw) > LONGEST_LINE:
                    what = f"the line is longer than {LONGEST_LINE:,} bytes"
                    problems.append(
                        Problem(str(path), number, what, "shorten it, or mend the missing line end")
                    )
                    continue
                if number == 1 and raw.startswith(BOM):
                    warn(1, "the file starts with a byte-order mark", "save it as UTF-8 without BOM")
                    raw = raw[len(BOM) :]
                if raw.endswith(b"\r\n"):
                    crlf += 1
                line = raw.strip(b" \t\r\n")
                if line:
                    yield number, line
                else:
                    blank, first_blank = blank + 1, first_blank or number
    except OSError as error:
        raise fail(path, f"cannot be read: {error.strerror}", "check the name and the permissions") from error
    if number == 0:
        warn(None, "the file is empty", "delete it or fill it")
    if crlf:
        warn(None, f"{crlf} lines end in CRLF", "save it with Unix line ends")
    if blank:
        warn(first_blank, f"blank line ({blank} in the file)", "delete it")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Lines; of one too long, just enough to know it."""
    while raw := file.readline(LONGEST_LINE + 1):
        if len(raw) > LONGEST_LINE:
            while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
        yield raw


def read_jsonl(
    path: Path, problems: list[Problem], keys: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line that is a JSON object in UTF-8; what is not, goes to `problems`.

    `keys` are those that must not be said twice in one object, where JSON parsers keep the last in silence.
    """
    quoted = [f'"{key}"'.encode() for key in keys]
    for number, line in read_lines(path, problems):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            problems.append(_not_json(path, number, line, error))
            continue
        if not isinstance(record, dict):
            what = f"a JSON object {{...}} belongs here, not {type(record).__name__}"
            problems.append(Problem(str(path), number, what, "write one object a line"))
            continue
        if any(line.count(key) > 1 for key in quoted):
            twice = _said_twice(line)
            if twice:
                what = f"the key {twice[0]!r} stands twice in one object"
                problems.append(Problem(str(path), number, what, "keep one of them"))
                continue
        yield number, record


def _not_json(path: Path, number: int, line: bytes, error: orjson.JSONDecodeError) -> Problem:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        what = f"byte {bad.start + 1} (0x{line[bad.start]:02x}) is not UTF-8"
        return Problem(str(path), number, what, "save the file as UTF-8")
    return Problem(str(path), number, f"not JSON: {error.msg} (column {error.colno})", "mend the line")


def _said_twice(line: bytes) -> list[str]:
    """Keys that stand twice in the outermost object of a valid line."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in items]
        found[:] = [name for name in names if names.count(name) > 1]  # the outermost object comes last

    json.loads(line, object_pairs_hook=pairs)
    return found


def write_jsonl(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write one object a line, streamed, all or nothing. Returns how many."""

    def write(file: BinaryIO) -> int:
        count = 0
        for record in records:
            file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
        return count

    return write_whole(path, write)


def write_whole(path: Path, write: Callable[[BinaryIO], T]) -> T:
    """Write a file beside its place and move it there when it is whole, so that none is ever half-written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise fail(path, f"cannot be written: {error.strerror}", "choose another place") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            result = write(file)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException as error:
        with suppress(OSError):
            Path(name).unlink()
        if isinstance(error, OSError):
            raise fail(path, f"cannot be written: {error.strerror}", "choose another place") from error
        raise
    return result
