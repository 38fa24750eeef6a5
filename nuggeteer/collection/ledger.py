"""The ledger: `judgements/ASSESSOR.jsonl`, an assessor's file of verdicts, which only ever grows.

New lines are appended, so a diff shows what was judged since, and git merges two copies line by line
(`.gitattributes`). To take a verdict back, another line is appended, a retraction (formats/canonical.py).
"""

from __future__ import annotations

import getpass
import os
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from io import FileIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
from msgspec.structs import replace

from nuggeteer.errors import NuggeteerError, Problem
from nuggeteer.fields import as_written, moment
from nuggeteer.formats.append import append, append_line
from nuggeteer.formats.cache import own_path, write_own
from nuggeteer.formats.canonical import JUDGEMENTS, RETRACTIONS, WrongLine, as_line
from nuggeteer.formats.jsonl import LONGEST_LINE
from nuggeteer.records import Judgement, Pair, Retraction
from nuggeteer.text import normalised

__all__ = ["Ledger", "append_line", "assessor_name", "default_assessor"]

_FIRST = ("qid", "nugget", "verdict", "retracted", "text")  # first, because people look for them in a diff
_TICK = timedelta(microseconds=1)
_LONGEST_NAME = 100
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # no files on Windows
_ATTRIBUTES = b"# Lines are records whose order means nothing: git keeps those of both sides.\n*.jsonl merge=union\n"


class Ledger:
    """One assessor's file. When a method returns, what it wrote is on the disk.

    `problems` lists the torn lines that were found and set aside.
    """

    def __init__(self, root: Path, assessor: str) -> None:
        self.assessor = assessor_name(assessor)
        self.problems: list[Problem] = []
        # The file as this ledger left it: which one, its size, and when pairs in it were last retracted. While nobody
        # else writes, it is not read again, so a verdict takes as long after thousands as at first.
        self._left: tuple[int, int, int] | None = None
        self._undone: dict[Pair, datetime] = {}
        self.path = own_path(Path(root), f"judgements/{self.assessor}.jsonl")
        folder = self.path.parent
        for path in folder.glob("*.jsonl"):
            if path.stem != self.assessor and normalised(path.stem) == normalised(self.assessor):
                what = f"{path} already exists, and on many disks {self.path.name} is the same file"
                raise NuggeteerError(f"{what}; choose {path.stem!r} or a different name for the assessor")

    def append(self, judgement: Judgement) -> Judgement:
        """Write a verdict; returns it as written, with its assessor and time."""
        return self.extend([judgement])[0]

    def extend(self, judgements: Sequence[Judgement], retractions: Sequence[Retraction] = ()) -> list[Judgement]:
        """Write several verdicts, and before them retractions made elsewhere: all or none. Returns the verdicts as
        written."""
        for assessor in (record.assessor for records in (judgements, retractions) for record in records):
            if assessor not in (None, self.assessor):
                raise NuggeteerError(f"a verdict of {assessor!r} is not for the ledger of {self.assessor!r}")
        for judgement in judgements:
            if wrong := judgement.flaw:
                raise NuggeteerError(wrong)
        written: list[Judgement] = []
        if not judgements and not retractions:
            return written
        taken_back = [_line(replace(each, extra={"tool": _tool(), **each.extra})) for each in retractions]

        found, undone, added = (0, 0, 0), self._undone, b""

        def read(file: FileIO) -> bytes:
            nonlocal found
            status = os.fstat(file.fileno())
            found = (status.st_dev, status.st_ino, status.st_size)
            return b"" if found == self._left else file.readall()

        def lines(content: bytes) -> bytes:
            nonlocal undone, added
            undone = self._undone if found == self._left else _retractions(content)
            if taken_back:
                undone = _retractions(b"".join(taken_back), undone)
            data, now = list(taken_back), _now()
            written.clear()
            for judgement in judgements:
                line, record = self._verdict(judgement, now, undone.get(judgement.pair))
                written.append(record)
                data.append(line)
            added = b"".join(data)
            return added

        self._write(lines, read)
        self._left, self._undone = (*found[:2], found[2] + len(added)), undone
        return written

    def retract(self, judgement: Judgement, reason: str | None = None) -> None:
        """Take back every verdict of this assessor on that nugget and text until now."""
        if judgement.assessor != self.assessor:
            whose = "an unnamed assessor" if judgement.assessor is None else repr(judgement.assessor)
            raise NuggeteerError(f"{self.assessor!r} cannot retract a verdict of {whose}")
        pair = judgement.pair

        def line(content: bytes) -> bytes:
            times = [moment(judgement.at or ""), _latest(content, b'"verdict"', JUDGEMENTS.parse).get(pair)]
            at = max([_now(), *(when + _TICK for when in times if when)])
            origin = (self.assessor, as_written(at), judgement.run, reason)
            extra = {"tool": _tool(), "source": judgement.extra.get("source", "judge")}
            data = _line(Retraction(judgement.qid, judgement.nugget, judgement.text, *origin, judgement.scope, extra))
            _read_back(data)
            return data

        self._write(line)

    def _verdict(self, judgement: Judgement, now: datetime, after: datetime | None) -> tuple[bytes, Judgement]:
        """A verdict as its line, and as that line will be read. It is later than the retraction `after`, or it would be
        void."""
        at = judgement.at
        if at is None:
            at = as_written(max(now, after + _TICK) if after else now)
        elif after and ((when := moment(at)) is None or when < after):
            what = f"the verdict of {at} on nugget {judgement.nugget!r} of {judgement.qid!r} was retracted later"
            raise NuggeteerError(f"{what}; judge it again")
        complete = replace(judgement, assessor=self.assessor, at=at, extra={"tool": _tool(), **judgement.extra})
        line = _line(complete)
        record = _read_back(line)
        if not isinstance(record, Judgement) or _core(record) != _core(complete):
            raise NuggeteerError(f"a ledger cannot hold {complete!r:.200}")
        return line, record

    def _write(self, lines: Callable[[bytes], bytes], read: Callable[[FileIO], bytes] = FileIO.readall) -> None:
        def with_attributes(content: bytes) -> bytes:
            if not content:
                merge_by_union(self.path.parent)
            return lines(content)

        aside = append(self.path, with_attributes, read)
        if aside:
            what = f"its last line was torn, because it was not completely written; it is now in {aside.name}"
            remedy = "its writing was never confirmed; judge that pair again if necessary, then delete that file"
            self.problems.append(Problem(str(self.path), None, what, remedy, "warning"))


def assessor_name(name: str) -> str:
    """The name itself, if a file can have this name everywhere; raises otherwise."""
    if name != _safe(name) or not name:
        raise NuggeteerError(
            f"{name!r:.100} cannot be an assessor's name, because it cannot be a file's name everywhere; "
            "use letters, digits and . _ @ + -"
        )
    return name


def default_assessor() -> str:
    """$NUGGETEER_ASSESSOR, else the login name; made safe as a file name."""
    name = os.environ.get("NUGGETEER_ASSESSOR", "")
    if not name:
        with suppress(Exception):  # KeyError or OSError, by version, where the user has no name
            name = getpass.getuser()
    if not (safe := _safe(name)):
        raise NuggeteerError("the assessor is unknown; name yourself with --assessor NAME or in NUGGETEER_ASSESSOR")
    return safe


def _safe(name: str) -> str:
    """A name of letters, digits and a few marks that a file can have on any system; "" if nothing is left."""
    kept = (char if char.isalnum() or char in " ._@+-" else "-" for char in unicodedata.normalize("NFC", name))
    found = "".join(kept).lstrip(" .@+-")[:_LONGEST_NAME].rstrip(" .-")
    while len(found.encode()) > 2 * _LONGEST_NAME:
        found = found[:-1].rstrip(" .-")
    return f"_{found}" if _RESERVED.fullmatch(found) else found


def _latest(content: bytes, key: bytes, parse: Callable[[Any], Judgement | Retraction]) -> dict[Pair, datetime]:
    """When each pair was last judged or retracted, in the lines that have the key."""
    found: dict[Pair, datetime] = {}
    for line in content.split(b"\n") if key in content else ():
        if key in line:
            with suppress(WrongLine, orjson.JSONDecodeError, AttributeError):  # reading the file reports these
                record = parse(orjson.loads(line))
                if when := moment(record.at or ""):
                    found[record.pair] = max(when, found.get(record.pair, when))
    return found


def _retractions(content: bytes, before: Mapping[Pair, datetime] = MappingProxyType({})) -> dict[Pair, datetime]:
    """When each pair was last retracted."""
    found = _latest(content, b'"retracted"', RETRACTIONS.parse)
    return {**before, **{pair: max(when, before.get(pair, when)) for pair, when in found.items()}}


def _line(record: Judgement | Retraction) -> bytes:
    fields = as_line(record)
    if clash := record.extra.keys() & {*JUDGEMENTS.checks, *RETRACTIONS.checks}:
        raise NuggeteerError(
            f"{', '.join(sorted(clash))}: has a meaning of its own and cannot be an extra key of a verdict"
        )
    fields = {key: fields[key] for key in (*(key for key in _FIRST if key in fields), *fields)}
    try:
        line = orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError as error:
        raise NuggeteerError(f"a verdict cannot be written: {error}") from error
    if len(line) > LONGEST_LINE:
        raise NuggeteerError(f"a verdict cannot be written: its line would be longer than {LONGEST_LINE:,} bytes")
    return line


def _read_back(line: bytes) -> Judgement | Retraction:
    fields = orjson.loads(line)
    try:
        return RETRACTIONS.parse(fields) if "retracted" in fields else JUDGEMENTS.parse(fields)
    except WrongLine as wrong:
        raise NuggeteerError("a verdict cannot be written: " + "; ".join(what for what, _ in wrong.args)) from wrong


def _core(judgement: Judgement) -> Judgement:
    """The judgement without the parts that may differ after a round trip through JSON."""
    return replace(judgement, span=None, extra={})


def merge_by_union(folder: Path) -> None:
    if not os.path.lexists(folder / ".gitattributes"):
        with suppress(NuggeteerError):  # it only helps git, so a failure must not lose a verdict
            write_own(folder, ".gitattributes", _ATTRIBUTES)


def _now() -> datetime:
    return datetime.now(UTC)


@cache
def _tool() -> str:
    return f"nuggeteer {version('nuggeteer')}"
