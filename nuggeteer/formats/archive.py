"""An untrusted zip archive, read member by member and never unpacked to disk.

Members may be stored, deflated or, where the package `zstandard` is installed (`nuggeteer[inspect]`), compressed with
Zstandard. An archive that unpacks to far more than its size is refused while it is read, whatever its directory says.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Self

from nuggeteer.errors import InputError, fail
from nuggeteer.formats.jsonl import UNPACKED, UNPACKED_TIMES
from nuggeteer.formats.objects import LARGEST

DIRECTORY = 20_000_000  # bytes of the largest directory of members
ZSTANDARD = 93  # the method's number in zip files
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD)  # the others of zipfile unpack without bound
_END, _LARGE_END, _LARGE_LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_LOCAL = struct.Struct("<4s22xHH")  # a member's head: its mark, the lengths of its name and of what follows that


class Archive:
    """An open archive; use it as a context. `names` are its members, each once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._left = max(UNPACKED, UNPACKED_TIMES * path.stat().st_size)
        self._file = path.open("rb")
        try:
            if _directory(self._file) > DIRECTORY:
                raise fail(path, f"its directory has more than {DIRECTORY:,} bytes", "name another file")
            self._archive = zipfile.ZipFile(self._file)
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError | ValueError | NotImplementedError | zipfile.BadZipFile | struct.error):
                raise self._damaged() from error
            raise
        self._members = {member.filename: member for member in self._archive.infolist()}
        self.names = list(self._members)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()
        self._file.close()

    def read(self, name: str) -> bytes:
        """The bytes of a member."""
        member = self._members[name]
        most = min(self._left, LARGEST)
        try:
            content = self._unpacked(member, most + 1)
        except InputError:
            raise
        except (OSError, ValueError, EOFError, zlib.error, struct.error, zipfile.BadZipFile) as error:
            raise self._damaged() from error
        except (NotImplementedError, RuntimeError) as error:
            what = f"its member {name!r:.80} has a password, or is compressed in a way that we cannot read"
            raise fail(self.path, what, "write it again without") from error
        if len(content) > most:
            raise fail(self.path, "unpacks to far more than such a file holds", "name another file")
        self._left -= len(content)
        return content

    def _unpacked(self, member: zipfile.ZipInfo, most: int) -> bytes:
        if member.compress_type not in METHODS:
            raise NotImplementedError
        if member.compress_type != ZSTANDARD:
            with self._archive.open(member) as file:
                return file.read(most)
        self._file.seek(member.header_offset)
        mark, name, extra = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if mark != b"PK\x03\x04":
            raise zipfile.BadZipFile
        self._file.seek(name + extra, io.SEEK_CUR)
        return self._zstandard(self._file.read(min(member.compress_size, LARGEST)), most)

    def _zstandard(self, packed: bytes, most: int) -> bytes:
        try:
            package: Any = import_module("zstandard")
        except ImportError as error:
            what = "it is compressed with Zstandard, which needs the package zstandard"
            raise fail(self.path, what, "install nuggeteer[inspect], or write the log as JSON") from error
        try:
            reader = package.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed, read_across_frames=True)
            found: bytes = reader.read(most)
        except package.ZstdError as error:
            raise self._damaged() from error
        return found

    def _damaged(self) -> InputError:
        return fail(self.path, "is a zip archive, and is damaged or cut off", "copy it again")


def _directory(file: BinaryIO) -> int:
    """The size of the directory, as the archive says: at its end or, of a large one, in a record before that."""
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - (1 << 16) - 22 - 76))
    last = file.read()
    at = last.rfind(_END)
    if at < 0 or at + 22 > len(last):
        raise zipfile.BadZipFile
    if last[max(0, at - 20) :].startswith(_LARGE_LOCATOR) and last[max(0, at - 76) :].startswith(_LARGE_END):
        return int.from_bytes(last[at - 36 : at - 28], "little")
    return int.from_bytes(last[at + 12 : at + 16], "little")
