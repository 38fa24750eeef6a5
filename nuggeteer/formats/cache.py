"""Files that Nuggeteer makes by itself in a collection, and how its caches are guarded.

A collection may come from somebody else. So nothing is written through a link that it holds, and a cache counts
only if this user made it: its first line has a keyed hash (HMAC) of everything below. The key is random and lies in the
user's state folder, `$XDG_STATE_HOME/nuggeteer/key` or `~/.local/state/nuggeteer/key`. Where no key can be kept, no
cache is used. A cache is checked before it is parsed, and a file larger than any cache can be is not read. Within
`reading_only`, none is written.
"""

from __future__ import annotations

import hmac
import io
import os
import secrets
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from nuggeteer.errors import NuggeteerError, fail
from nuggeteer.formats.jsonl import write_file

FOLDER = ".nuggeteer"
_HEAD = b"nuggeteer cache 1 "
_KEY_BYTES = 32
_HASH_DIGITS = 64


_reading_only: ContextVar[bool] = ContextVar("reading_only", default=False)


@contextmanager
def reading_only() -> Iterator[None]:
    """Within it, nothing is written into a collection: no cache, and none of SQLite's own files beside a history."""
    before = _reading_only.set(True)
    try:
        yield
    finally:
        _reading_only.reset(before)


def only_reads() -> bool:
    return _reading_only.get()


class DamagedFile(NuggeteerError):
    """A cache that is damaged, or that this user did not make."""


def own_path(root: Path, name: str) -> Path:
    """The path of a file that we make in a collection. Raises `InputError` if a folder on the way to it is a link."""
    path = root / name
    for folder in reversed(path.relative_to(root).parents[:-1]):
        if (root / folder).is_symlink():
            raise fail(root / folder, "is a link, and nothing is written through it", "replace it with a folder")
    return path


def check_names(path: Path, status: os.stat_result) -> None:
    """Raises `InputError` if a file that we write to has a second name (a hard link), which may lie anywhere."""
    if status.st_nlink > 1:
        what = "has another name elsewhere (a hard link), and nothing is written there"
        raise fail(path, what, f"make it a file of its own: cp {path.name} copy && mv copy {path.name}")


def write_own(root: Path, name: str, content: bytes) -> Path:
    """Write a file of ours, all or nothing. If a link has its name, the link is replaced, not what it leads to."""
    if only_reads():
        raise fail(root / name, "is not written", "only reading is allowed here")
    path = own_path(root, name)
    write_file(path, content, follow=False)
    return path


def write_cache(root: Path, name: str, content: bytes) -> None:
    """Write `.nuggeteer/NAME`; raises `InputError` if that is impossible. A `.gitignore` keeps git away from it.
    Nothing is written where only reading is allowed."""
    if only_reads():
        return
    key = _key(create=True)
    if key is None:
        raise fail(_key_path() or "the home folder", "cannot be written", "set XDG_STATE_HOME to a folder of yours")
    write_own(root, f"{FOLDER}/{name}", _HEAD + _hash(key, name, content) + b"\n" + content)
    ignore = f"{FOLDER}/.gitignore"
    if not os.path.lexists(root / ignore):
        with suppress(NuggeteerError):
            write_own(root, ignore, b"*\n")


def read_cache(root: Path, name: str, largest: int) -> bytes | None:
    """What `write_cache` wrote; None if there is no such file. Raises `DamagedFile` for anything that is not ours, and
    for more than `largest` bytes."""
    try:
        path = own_path(root, f"{FOLDER}/{name}")
        if not os.path.lexists(path):
            return None
        whole = _read_regular(path, largest + len(_HEAD) + _HASH_DIGITS + 1)
    except (NuggeteerError, OSError) as error:
        raise DamagedFile(str(error)) from error
    head, _, content = whole.partition(b"\n")
    key = _key(create=False)
    if key is None or not hmac.compare_digest(head, _HEAD + _hash(key, name, content)):
        raise DamagedFile(f"{path} is not what this user's nuggeteer wrote")
    return content


def pack_arrays(basis: str, arrays: Mapping[str, Any]) -> bytes:
    """Named arrays, and what they depend on, for a cache."""
    import numpy as np

    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, basis=np.asarray(basis), **arrays)
    return buffer.getvalue()


def unpack_arrays(body: bytes) -> tuple[str, dict[str, Any]]:
    """What `pack_arrays` made. It gets only what `read_cache` has found to be ours, and executes none of it."""
    import numpy as np

    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as stored:
            arrays = dict(stored)
        return str(arrays.pop("basis")), arrays
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"arrays of another form: {error}") from error


def _read_regular(path: Path, largest: int) -> bytes:
    """The content of a file that is no link, no device and no pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
            raise DamagedFile(f"{path} is not a regular file of at most {largest:,} bytes")
        return file.read(status.st_size)  # not what it could be: so much memory would be taken at once


def _hash(key: bytes, name: str, content: bytes) -> bytes:
    """The name is part of it, so that one cache cannot stand for another."""
    return hmac.digest(key, name.encode() + b"\n" + content, "sha256").hex().encode()


def _key_path() -> Path | None:
    """Where this user's key is kept; None for a user without a home."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if state.is_absolute():
        return state / "nuggeteer" / "key"
    with suppress(RuntimeError):
        return Path.home() / ".local" / "state" / "nuggeteer" / "key"
    return None


def _key(create: bool) -> bytes | None:
    path = _key_path()
    if path is None:
        return None
    with suppress(OSError, DamagedFile):
        key = _read_regular(path, _KEY_BYTES)
        if len(key) == _KEY_BYTES:
            return key
    if not create:
        return None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=path.parent)  # only its owner can read it
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            Path(draft).replace(path)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError:
        return None
    return _key(create=False)
