"""Append lines to a file that people and programs share, so that none is lost and none is torn.

A lock, one write, a flush to the disk, and only then the return: a line that was reported as written survives a power
cut. If a write fails, the file is cut back to what it was. A line that another program left torn is moved to a file
beside it, never dropped.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Final

import orjson

from nuggeteer.errors import InputError, NuggeteerError, fail
from nuggeteer.formats.jsonl import BOM

PATIENCE: Final = 30.0  # seconds to wait for a lock
TRIES: Final = 1000  # to write to a file that another has replaced when it was written
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def append(path: Path, lines: Callable[[bytes], bytes]) -> Path | None:
    """Append whole lines, made by `lines` from all that is in the file. They are on the disk when this returns.

    Returns the file into which a torn last line was set aside, if there was one.
    """
    aside = None
    try:
        if not path.parent.is_dir():
            with suppress(FileExistsError):
                path.parent.mkdir()
            _sync_folder(path.parent.parent)
        for _ in range(TRIES):
            with _locked(path) as file:
                before = file.readall()
                size = len(before) - len(torn(before))
                if size < len(before):
                    aside = _set_aside(path, before[size:])
                    file.truncate(size)
                    before = before[:size]
                added = lines(before)
                if before and not before.endswith(b"\n"):
                    added = b"\n" + added
                _write(file, path, added, size)
                if _is_named(file, path):  # else git has put another file in its place meanwhile
                    return aside
        raise _restless(path)
    except OSError as error:
        raise _cannot(path, error) from error


def append_line(path: Path, line: dict[str, object]) -> Path | None:
    """Append one object; as `append`."""
    data = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    return append(path, lambda _: data)


def torn(content: bytes) -> bytes:
    """The last line, if writing it was cut short: it has no end and is no JSON object."""
    last = content[content.rfind(b"\n") + 1 :]
    try:
        return b"" if not last.strip() or isinstance(orjson.loads(last.removeprefix(BOM)), dict) else last
    except orjson.JSONDecodeError:
        return last


def quiet(path: Path) -> ExitStack:
    """While this is entered nobody is in the middle of a line; where that cannot be had in a second, without."""
    held = ExitStack()
    with suppress(ImportError, OSError):
        import fcntl

        file = held.enter_context(path.open("rb"))
        give_up = time.monotonic() + 1
        while time.monotonic() < give_up:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            time.sleep(0.005)
    return held


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """The file of that name, made if need be, with nobody else writing to it."""
    for _ in range(TRIES):
        descriptor, made = _open(path)
        with FileIO(descriptor, "r+") as file:
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise fail(path, "this is no file", "put a file of judgements there, or another name")
                _lock(descriptor, path)
                if _is_named(file, path):
                    yield file
                    return
            finally:  # whoever waits for this one sees that it is gone, and makes another
                if made and os.fstat(descriptor).st_size == 0 and _is_named(file, path):
                    path.unlink()
    raise _restless(path)


def _restless(path: Path) -> InputError:
    what = "other files keep taking its place"
    return fail(path, what, "end the program that does so and try again; nothing is in the one there now")


def _open(path: Path) -> tuple[int, bool]:
    """A descriptor, and whether the file was made."""
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
                raise fail(path, what, "nothing was written; end that program and try again") from None
        except OSError as error:
            what = f"cannot be locked: {error.strerror}"
            raise fail(path, what, "nothing was written; keep the collection on a disk of this machine") from error
        time.sleep(0.005)


def _is_named(file: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


def _write(file: FileIO, path: Path, added: bytes, size: int) -> None:
    """In one write, down to the disk; else the file has `size` bytes again."""
    try:
        if file.write(added) != len(added):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file.fileno())
        if size == 0:
            _sync_folder(path.parent)
    except BaseException as error:
        try:
            file.truncate(size)
            os.fsync(file.fileno())
        except OSError as second:
            what = f"writing failed ({error}), and so did removing what was begun ({second.strerror})"
            raise fail(path, what, "look at the disk; nuggeteer check says what is left in the file") from error
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
    """A new name in a folder is on the disk only when the folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot(path: Path, error: OSError) -> InputError:
    remedy = "the file is as it was; try again"
    if error.errno in _FULL:
        remedy = "the file is as it was; make room and do it again"
    elif error.errno in _CLOSED:
        remedy = "the file is as it was; make it and its folder writable and do it again"
    elif error.errno == errno.ELOOP:
        remedy = "this is a link; put the file itself there"
    elif error.errno in (errno.ENOENT, errno.ENOTDIR):
        remedy = "name a collection's folder"
    return fail(path, f"nothing was written: {error.strerror}", remedy)
