"""Append lines to a file that people and programs share, without losing or tearing a line.

`append` locks the file, writes once, and flushes to the disk before it returns, so a line that was reported as written
survives a power cut. If a write fails, the file is cut back to its earlier state. If another program left a torn line,
it is moved to a separate file and never dropped.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, Final

import orjson

from nuggeteer.errors import InputError, NuggeteerError, Problem, errors_in, fail
from nuggeteer.formats.cache import check_names
from nuggeteer.formats.jsonl import BOM, FULL, GZIP, LONGEST_LINE, read_jsonl

PATIENCE: Final = 30.0  # seconds to wait for a lock
READERS_PATIENCE: Final = 1.0  # seconds that reading waits for whoever writes
TRIES: Final = 1000  # to write, if other programs keep replacing the file
_BLOCK: Final = 1 << 16  # bytes that are read at once, from the end
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def append(
    path: Path,
    lines: Callable[[bytes], bytes],
    read: Callable[[FileIO], bytes] = FileIO.readall,
    flush: bool = True,
) -> Path | None:
    """Append whole lines, which `lines` makes from the content of the file, or from what `read` returns of it: its end,
    from the beginning of a line. They are on the disk on return. Without `flush` they survive the end of the process,
    and not a power cut.

    Returns the file to which a torn last line was moved, or None.
    """
    aside = None
    try:
        if not path.parent.is_dir():
            with suppress(FileExistsError):
                path.parent.mkdir()
            _sync_folder(path.parent.parent)
        for _ in range(TRIES):
            with _locked(path) as file:
                before, size = read(file), os.fstat(file.fileno()).st_size
                if rest := torn(before):
                    aside = _set_aside(path, rest)
                    size -= len(rest)
                    file.truncate(size)
                    before = before[: -len(rest)]
                added = lines(before)
                if len(added) > LONGEST_LINE and max(map(len, added.split(b"\n"))) > LONGEST_LINE:
                    what = f"nothing was written: a line would be longer than {LONGEST_LINE:,} bytes"
                    raise fail(path, what, "shorten its text")
                if before and not before.endswith(b"\n"):
                    added = b"\n" + added
                _write(file, path, added, size, flush)
                if _is_named(file, path):  # otherwise git, for example, has just replaced the file
                    return aside
        raise _never_quiet(path)
    except OSError as error:
        raise _not_written(path, error) from error


def append_bytes(path: Path, data: bytes, flush: bool = True) -> Path | None:
    """Append whole lines, like `append`, but read only the last line of the file, however large it is."""
    return append(path, lambda _: data, partial(last_line, path), flush)


def flush(path: Path) -> None:
    """Flush to the disk what was appended without that."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        os.fsync(descriptor)
    except OSError as error:
        remedy = "make room on the disk, and check it" if error.errno in FULL else "check the disk"
        what = f"what was written may not be on the disk yet: {error.strerror}"
        raise fail(path, what, remedy) from error
    finally:
        os.close(descriptor)


def append_line(path: Path, line: dict[str, object]) -> Path | None:
    """Append one object, like `append`."""
    return append_bytes(path, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def read_appended(
    path: Path, problems: list[Problem], keys: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `read_jsonl`, while no other program writes a line. A torn last line is only a warning: its writing was never
    confirmed."""
    earlier = len(problems)
    with quiet(path):
        yield from read_jsonl(path, problems, keys)
        wrong = [problem.line for problem in errors_in(problems[earlier:]) if problem.line]
        if wrong and _is_torn(path):
            what = "the last line is torn: it was not completely written, and its writing was never confirmed"
            remedy = "the next line that is written moves it to a separate file; if this file is a copy, copy it again"
            rest = [problem for problem in problems[earlier:] if problem.line != max(wrong)]
            problems[earlier:] = [*rest, Problem(str(path), max(wrong), what, remedy, "warning")]


def _is_torn(path: Path) -> bool:
    """Whether the last line is torn. Nobody appends to a compressed file."""
    try:
        with FileIO(path) as file:
            return os.pread(file.fileno(), len(GZIP), 0) != GZIP and bool(torn(last_line(path, file)))
    except (OSError, InputError):
        return False


def last_line(path: Path, file: FileIO) -> bytes:
    """The last line and the end of the line before it. Raises `InputError` if it is too long."""
    found, position = b"", os.fstat(file.fileno()).st_size
    while position and b"\n" not in found[:-1]:
        if len(found) > LONGEST_LINE:
            raise fail(path, f"its last line is longer than {LONGEST_LINE:,} bytes", "shorten or delete it")
        step = min(position, _BLOCK)
        position -= step
        found = os.pread(file.fileno(), step, position) + found
    return found[found.rfind(b"\n", 0, len(found) - 1) + 1 :]


def torn(content: bytes) -> bytes:
    """The last line if it is incomplete: it has no line end and is not a JSON object. Otherwise nothing."""
    last = content[content.rfind(b"\n") + 1 :]
    try:
        return b"" if not last.strip() or isinstance(orjson.loads(last.removeprefix(BOM)), dict) else last
    except orjson.JSONDecodeError:
        return last


def quiet(path: Path) -> ExitStack:
    """A context in which no other program is writing a line. After a while it is entered anyway."""
    held = ExitStack()
    with suppress(ImportError, OSError):
        import fcntl

        file = held.enter_context(path.open("rb"))
        give_up = time.monotonic() + READERS_PATIENCE
        while time.monotonic() < give_up:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            time.sleep(0.005)
    return held


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """The file of that name, locked against other writers. It is created if it does not exist."""
    for _ in range(TRIES):
        descriptor, made = _open(path)
        with FileIO(descriptor, "r+") as file:
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise fail(path, "this is not a regular file", "remove it, or choose another name")
                check_names(path, status)
                _lock(descriptor, path)
                if _is_named(file, path):
                    yield file
                    return
            finally:  # a program that waits for the lock sees that the file is gone, and creates another
                if made and os.fstat(descriptor).st_size == 0 and _is_named(file, path):
                    path.unlink()
    raise _never_quiet(path)


def _never_quiet(path: Path) -> InputError:
    what = "another program keeps replacing this file"
    return fail(path, what, "nothing was written; stop that program and try again")


def _open(path: Path) -> tuple[int, bool]:
    """A descriptor, and whether the file was created."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        with suppress(FileNotFoundError):
            return os.open(path, flags), False
        with suppress(FileExistsError):
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666), True


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        raise NuggeteerError("judgements cannot be written here: this system has no file locks (flock)") from None
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= give_up:
                what = f"another program has held its lock for {PATIENCE:.0f} s"
                raise fail(path, what, "nothing was written; stop that program and try again") from None
        except OSError as error:
            what = f"cannot be locked: {error.strerror}"
            raise fail(path, what, "nothing was written; keep the collection on a local disk") from error
        time.sleep(0.005)


def _is_named(file: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


def _write(file: FileIO, path: Path, added: bytes, size: int, flush: bool = True) -> None:
    """Write at once and flush to the disk. If that fails, cut the file back to `size` bytes."""
    try:
        if file.write(added) != len(added):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if flush:
            os.fsync(file.fileno())
        if size == 0:
            _sync_folder(path.parent)
    except BaseException as error:
        try:
            file.truncate(size)
            os.fsync(file.fileno())
        except OSError as second:
            what = f"writing failed ({error}), and so did removing the incomplete line ({second.strerror})"
            raise fail(path, what, "check the disk; nuggeteer check shows what is left in the file") from error
        raise


def _set_aside(path: Path, rest: bytes) -> Path:
    aside = path.with_name(f"{path.name}.torn-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    try:
        with FileIO(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "w") as file:
            _write(file, aside, rest, 0)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, because only then a new name in it is safe."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_written(path: Path, error: OSError) -> InputError:
    remedy = "the file is unchanged; try again"
    if error.errno in FULL:
        remedy = "the file is unchanged; make room on the disk and try again"
    elif error.errno in _CLOSED:
        remedy = "the file is unchanged; make it and its folder writable and try again"
    elif error.errno == errno.ELOOP:
        remedy = "this is a link; replace it with the file itself"
    elif error.errno in (errno.ENOENT, errno.ENOTDIR):
        remedy = "name the folder of a collection"
    return fail(path, f"nothing was written: {error.strerror}", remedy)
