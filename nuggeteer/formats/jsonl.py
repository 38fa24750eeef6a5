"""Read JSON Lines strictly: every line that is not a JSON object in UTF-8 is a problem with its line number.

Lines are streamed, and a line longer than `LONGEST_LINE` is never held in memory. A file that is compressed with gzip
is unpacked as it is read, whatever its name. It is refused if it unpacks to far more than any text does.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import stat
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import orjson

from nuggeteer.errors import InputError, Problem, fail

T = TypeVar("T")

LONGEST_LINE = 10_000_000
# What a compressed file may unpack to: so many bytes, or so many times its own size. Answers of systems shrink to a
# third or a tenth; a file that shrinks to less than a hundredth holds nothing to score.
UNPACKED, UNPACKED_TIMES = 10_000_000, 100
DEEPEST = 100  # lists and objects within each other
BOM = b"\xef\xbb\xbf"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # errors of a disk, or of a quota, that is full
DAMAGED = ("is compressed with gzip, and is damaged or cut off", "compress or copy it again")
GZIP = b"\x1f\x8b\x08"  # how a file that is compressed with gzip begins
_CONTAINERS = {dict, list}
_TOO_DEEP = "lists or objects are nested too deeply"
_find_keys = re.compile(rb'"\s*:').findall  # every key, and what looks like one inside a string


class TooDeep(orjson.JSONDecodeError):
    """Lists or objects within each other, more of them than Python can compare or show."""


def parsed(content: bytes) -> Any:
    """The value of a JSON text. Raises `orjson.JSONDecodeError`."""
    value = orjson.loads(content)
    if content.count(b"[") + content.count(b"{") > DEEPEST and is_deep(value):
        raise TooDeep(_TOO_DEEP, "", 0)
    return value


def is_deep(value: Any) -> bool:
    """Whether lists and objects are nested more than `DEEPEST` deep."""
    within = [value]
    for _ in range(DEEPEST):
        inner = [one.values() if isinstance(one, dict) else one for one in within if isinstance(one, dict | list)]
        within = [one for some in inner for one in some]
    return bool(within)


def read_lines(path: Path, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """(line number, line without its end) of each line that is not blank.

    Reports a byte-order mark, Windows line ends, blank lines, an empty file, lines that are too long, and a file that
    cannot be read.
    """

    def warn(line: int | None, what: str, remedy: str) -> None:
        problems.append(Problem(str(path), line, what, remedy, "warning"))

    crlf = first_crlf = blank = first_blank = number = 0
    try:
        with path.open("rb") as opened:
            file: BufferedIOBase = _Unpacked(opened) if opened.peek(len(GZIP)).startswith(GZIP) else opened
            for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), 1):
                if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                    while (rest := file.readline(1 << 16)) and not rest.endswith(b"\n"):
                        pass
                    what = f"the line is longer than {LONGEST_LINE:,} bytes"
                    problems.append(Problem(str(path), number, what, "shorten it, or add the missing line end"))
                    continue
                if number == 1 and raw.startswith(BOM):
                    warn(1, "the file starts with a byte-order mark", "save it as UTF-8 without BOM")
                    raw = raw[len(BOM) :]
                if raw.endswith(b"\r\n"):
                    crlf, first_crlf = crlf + 1, first_crlf or number
                line = raw.strip(b" \t\r\n")
                if line:
                    yield number, line
                else:
                    blank, first_blank = blank + 1, first_blank or number
    except _TooMuch:
        what = f"unpacks to more than {UNPACKED:,} bytes and {UNPACKED_TIMES} times its size"
        problems.append(Problem(str(path), None, what, "if you trust it, unpack it with gunzip"))
        return
    except (EOFError, zlib.error, gzip.BadGzipFile):
        problems.append(Problem(str(path), None, *DAMAGED))
        return
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        what = f"cannot be read: {getattr(error, 'strerror', error)}"
        problems.append(Problem(str(path), None, what, "check the name and the permissions"))
        return
    if number == 0:
        warn(None, "the file is empty", "delete it or fill it")
    if crlf:
        warn(first_crlf, f"CRLF line end ({crlf} in the file)", "save it with Unix line ends")
    if blank:
        warn(first_blank, f"blank line ({blank} in the file)", "delete it")


def is_regular(path: Path, problems: list[Problem], root: Path | None = None) -> bool:
    """Whether a file that the user did not name can be read: false, with a problem, for a device or a pipe, and for a
    link that leads out of the folder `root`."""
    mode = 0
    try:
        with suppress(FileNotFoundError):  # asked once: another process may just be making the file
            mode = path.stat().st_mode
        if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            problems.append(Problem(str(path), None, "is a device or a pipe", "replace it with a regular file"))
            return False
        if root is not None and not path.resolve().is_relative_to(root.resolve()):
            what = f"is a link that leads out of {root}"
            problems.append(Problem(str(path), None, what, "replace it with the file itself"))
            return False
    except (OSError, RuntimeError, ValueError):  # a link to itself, a NUL: reading reports these
        pass
    return True


class _TooMuch(Exception):
    """A compressed file unpacks to more than any text would."""


class _Unpacked(gzip.GzipFile):
    """A compressed file, read by lines, that stops where it becomes absurdly long."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._most = max(UNPACKED, UNPACKED_TIMES * os.fstat(file.fileno()).st_size)
        self._count = 0

    def readline(self, size: int | None = -1) -> bytes:
        line = super().readline(size)
        self._count += len(line)
        if self._count > self._most:
            raise _TooMuch
        return line


def stored(path: Path, problems: list[Problem]) -> Path:
    """The file of that name, or its compressed form (`.gz`) where only that is there."""
    packed = path.with_name(f"{path.name}.gz")
    if not packed.is_file():
        return path
    if path.exists():
        problems.append(Problem(str(packed), None, f"stands beside {path.name}", "delete one of them"))
        return path
    return packed


def json_lines_in(folder: Path) -> list[Path]:
    """The files of JSON Lines in a folder, compressed or not."""
    return sorted((*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")))


def bare_name(path: Path) -> str:
    """A file's name without `.gz` and its ending: what a run or an assessor is called."""
    return Path(path.name.removesuffix(".gz")).stem


def read_jsonl(path: Path, problems: list[Problem], keys: Collection[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line that is a JSON object in UTF-8. Other lines go to `problems`.

    If a key occurs twice in an object, JSON parsers silently keep the last value. Here this is a warning. It is an
    error if the key is one of `keys`, or if it is inside a value.
    """
    for number, line in read_lines(path, problems):
        try:
            record = orjson.loads(line)
            if isinstance(record, dict) and _CONTAINERS.isdisjoint(map(type, record.values())):
                # If encoding gives back the same bytes, no key is repeated. Encoding is quicker than finding the keys.
                if orjson.dumps(record) == line:
                    yield number, record
                    continue
            elif is_deep(record):
                raise TooDeep(_TOO_DEEP, "", 0)
        except orjson.JSONDecodeError as error:
            problems.append(_not_json(path, number, line, error))
            continue
        if not isinstance(record, dict):
            what = f"the line is not a JSON object {{...}} but {_KIND.get(type(record), 'a number')}"
            remedy = f"write one object per line; nuggeteer doctor {path.name} says what can be done with the file"
            problems.append(Problem(str(path), number, what, remedy))
            continue
        # As many colons as keys: none is repeated.
        if line.count(b":") > len(record) and len(_find_keys(line)) > len(record):
            found = len(_find_keys(line)) > _keys_in(record)
            outermost, inside = _repeated_keys(line) if found else ([], [])
            for key in outermost + inside:
                what = f"the key {key!r} occurs twice in one object"
                severity: Literal["error", "warning"]
                severity = "error" if key in keys or key in inside else "warning"
                problems.append(Problem(str(path), number, what, "keep one of them", severity))
            if inside or not set(keys).isdisjoint(outermost):
                continue
        yield number, record


_KIND = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def _not_json(path: Path, number: int, line: bytes, error: orjson.JSONDecodeError) -> Problem:
    if isinstance(error, TooDeep):
        return Problem(str(path), number, error.msg, "flatten them")
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        what = f"byte {bad.start + 1} (0x{line[bad.start]:02x}) is not UTF-8"
        return Problem(str(path), number, what, "save the file as UTF-8")
    return Problem(str(path), number, f"not JSON: {error.msg} (column {error.colno})", "correct the line")


def _keys_in(value: Any) -> int:
    """How many keys an object and those inside it have."""
    if isinstance(value, dict):
        return len(value) + sum(map(_keys_in, value.values()))
    return sum(map(_keys_in, value)) if isinstance(value, list) else 0


def _repeated_keys(line: bytes) -> tuple[list[str], list[str]]:
    """Keys that occur twice in the outermost object of a valid line, and in any object inside it."""
    found: list[list[str]] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in items)
        found.append([name for name, count in counts.items() if count > 1])

    json.loads(line, object_pairs_hook=pairs)
    *inside, outermost = found
    return outermost, list(chain.from_iterable(inside))


def write_jsonl(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write one object per line, all or nothing, without holding them in memory. Returns the number of lines."""

    def write(file: BinaryIO) -> int:
        count = 0
        for count, record in enumerate(records, 1):
            try:
                file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            except orjson.JSONEncodeError as error:  # nested too deeply, or not valid Unicode
                raise fail(path, f"cannot be written: {error}", "correct that record", count) from error
        return count

    return write_whole(path, write)


def write_whole(path: Path, write: Callable[[BinaryIO], T], follow: bool = True) -> T:
    """Write a temporary file and rename it when it is complete, so that a file is never half-written.

    A path that is not a regular file, such as /dev/null, is written to directly. A link stays a link. Without `follow`,
    the new file takes the place of a link or of anything else of that name: for files that the user did not name.
    """
    try:
        if follow and path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as file:
                return write(file)
        path = Path(os.path.realpath(path)) if follow else path
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise not_written(path, error) from error
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
            raise not_written(path, error) from error
        raise
    return result


def write_file(path: Path, content: bytes, follow: bool = True) -> None:
    """Write these bytes as `write_whole` does."""
    write_whole(path, lambda file: file.write(content), follow)


def not_written(path: Path, error: OSError) -> InputError:
    remedy = "make room on the disk" if error.errno in FULL else "choose another path"
    return fail(path, f"cannot be written: {error.strerror}", remedy)
