"""Logs of Inspect (inspect_ai): `.eval`, which is a zip archive, and JSON.

    header.json or, of an unfinished log, _journal/start.json   {"eval": {"task", "model", ...}, ...}
    samples/ID_epoch_N.json, or "samples" of the JSON log       {"id", "epoch", "input", "target", "output", "scores"}

A sample's input is the question: a text, or the last message of the user. Its target is a reference, which becomes
nuggets (`dataset`). The run is called TASK-MODEL; later epochs are the runs TASK-MODEL-2 and so on. Scores and metadata
are kept and used by nothing: they are about whole answers. Transcripts (messages, events, what tools said) are left
out, and so are samples without an output; both are counted. A warning says that the evaluation did not end well, by the
log's status, and which samples ended with an error. A text that the log keeps among its attachments is taken
from there.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

from nuggeteer.errors import InputError, fail
from nuggeteer.formats.bundle import Bundle, as_id, as_json
from nuggeteer.formats.dataset import Dataset
from nuggeteer.formats.jsonl import UNPACKED, UNPACKED_TIMES, parsed
from nuggeteer.formats.objects import LARGEST, Opening, open_file, read_document

HEADERS = ("header.json", "_journal/start.json")
_ATTACHED = "attachment://"
_KEPT = ("scores", "metadata", "choices")


def recognises(opening: Opening) -> bool:
    """Whether it is a log of Inspect."""
    if opening.kind == "zip":
        try:
            with Archive(opening.path) as archive:
                return not set(HEADERS).isdisjoint(archive.names)
        except InputError:
            return False
    return len(opening.objects) == 1 and {"eval", "status", "version"} <= set(opening.objects[0])


def read_log(path: Path, present_records: Bundle | None = None, run: str | None = None) -> Bundle:
    """Read a log."""
    bundle = Bundle(counted="object")
    data = Dataset(path, bundle, present_records or Bundle())
    header, samples = _archive(path) if open_file(path).kind == "zip" else _document(path)
    about = header.get("eval") if isinstance(header.get("eval"), dict) else {}
    named = [text for key in ("task", "model") if isinstance(text := (about or {}).get(key), str)]
    name = run or "-".join(named).replace("/", "-").replace("\\", "-").strip(". ") or "inspect"
    _warn_of_status(path, header, bundle)
    numbered = sorted(enumerate(samples, 1), key=lambda one: _epoch(one[1]))
    failed: list[str] = []
    for number, sample in numbered:
        if not isinstance(sample, dict):
            bundle.not_understood(path, number, as_json(sample), "a sample that is not an object")
            continue
        qid = _add(path, number, sample, name, None if run else name, data, bundle)
        if qid is not None and sample.get("error"):
            failed.append(qid)
    bundle.warn_of_questions(path, failed, "whose sample ended with an error", "such an answer may be cut off")
    return data.finish()


def _warn_of_status(path: Path, header: dict[str, Any], bundle: Bundle) -> None:
    """Say it if an evaluation failed or was not finished: then questions are missing, or answers."""
    status, error = header.get("status"), header.get("error")
    if status == "success":
        return
    said = error.get("message") if isinstance(error, dict) else None
    why = f": {said.strip().splitlines()[0]:.100}" if isinstance(said, str) and said.strip() else ""
    what = f"its status is {status!r:.40}{why}" if isinstance(status, str) else "the evaluation was not finished"
    bundle.warn(path, None, what, "answers may be missing or cut off; run it again, or go on with those that are there")


def _add(
    path: Path, number: int, sample: dict[str, Any], run: str, system: str | None, data: Dataset, bundle: Bundle
) -> str | None:
    """Add a sample. Returns the id of its question, if it has one."""
    attached = sample.get("attachments")
    attached = attached if isinstance(attached, dict) else {}
    asked, more = _asked(sample.get("input"), attached)
    own = as_id(sample.get("id"))
    qid = data.question(asked or "", own)
    if qid is None:
        raw = as_json({key: sample.get(key) for key in ("id", "epoch", "input", "target", "output")})
        bundle.not_understood(path, number, raw, "no input with a text, and no valid id")
        return None
    bundle.left_out["earlier messages of an input"] += more
    bundle.left_out["transcripts"] += bool(sample.get("messages") or sample.get("events"))
    targets = sample.get("target")
    if isinstance(targets, str | list):
        listed = targets if isinstance(targets, list) else [targets]
        data.reference(qid, [_whole(one, attached) for one in listed if isinstance(one, str)])
    rest = {key: sample[key] for key in _KEPT if sample.get(key)}
    answer = _answer(sample.get("output"), attached)
    if answer is None:
        bundle.left_out["samples without an output"] += 1
        return qid
    bundle.unused.update(rest.keys())
    extra: dict[str, Any] = {"as_found": rest} if rest else {}
    data.answer(run, qid, answer, system=system, **extra)
    return qid


def _archive(path: Path) -> tuple[dict[str, Any], list[Any]]:
    def member(name: str) -> Any:
        try:
            return parsed(archive.read(name))
        except orjson.JSONDecodeError as error:
            raise fail(path, f"its member {name!r:.80} is not JSON", "write the log again") from error

    with Archive(path) as archive:
        found = next((name for name in HEADERS if name in archive.names), None)
        if found is None:
            raise fail(path, f"is a zip archive without {HEADERS[0]}, and no log of Inspect", "name another file")
        header = member(found)
        names = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        return header if isinstance(header, dict) else {}, [_short(member(name)) for name in names]


def _short(sample: Any) -> dict[str, Any]:
    """A sample without the parts of it that may be long and are not read."""
    if not isinstance(sample, dict):
        return {}
    long = bool(sample.get("messages") or sample.get("events"))
    return {key: value for key, value in sample.items() if key not in ("events", "store", "events_data")} | {
        "messages": long
    }


def _document(path: Path) -> tuple[dict[str, Any], list[Any]]:
    document = read_document(path)
    samples = document.get("samples") if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}, samples if isinstance(samples, list) else []


def _epoch(sample: Any) -> int:
    epoch = sample.get("epoch") if isinstance(sample, dict) else None
    return epoch if isinstance(epoch, int) else 1


def _asked(value: Any, attached: dict[str, Any]) -> tuple[str | None, int]:
    """The question that an input asks, and how many messages are before it."""
    if isinstance(value, str):
        return _whole(value, attached), 0
    messages = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    for place in reversed(range(len(messages))):
        if messages[place].get("role") == "user" and (text := _content(messages[place].get("content"), attached)):
            return text, place
    return None, len(messages)


def _answer(output: Any, attached: dict[str, Any]) -> str | None:
    if not isinstance(output, dict):
        return None
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    text = _content(message.get("content"), attached) if isinstance(message, dict) else None
    completion = output.get("completion")
    return completion if not text and isinstance(completion, str) and completion else text


def _content(value: Any, attached: dict[str, Any]) -> str | None:
    """A message's text, which may be in several parts; thoughts and pictures are no part of it."""
    if isinstance(value, str):
        return _whole(value, attached)
    parts = [one.get("text") for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    texts = [_whole(part, attached) for part in parts if isinstance(part, str)]
    return "\n".join(texts) if texts else None


def _whole(text: str, attached: dict[str, Any]) -> str:
    whole = attached.get(text.removeprefix(_ATTACHED)) if text.startswith(_ATTACHED) else None
    return whole if isinstance(whole, str) else text


DIRECTORY = 20_000_000  # bytes of the largest directory of members
ZSTANDARD = 93  # the method's number in zip files
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD)  # the others of zipfile unpack without bound
_END, _LARGE_END, _LARGE_LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_LOCAL = struct.Struct("<4s22xHH")  # a member's head: its mark, the lengths of its name and of what follows that


class Archive:
    """An untrusted zip archive, read member by member and never unpacked to disk; use it as a context. `names` are its
    members, each once.

    Members may be stored, deflated or, where the package `zstandard` is installed (`nuggeteer[inspect]`), compressed
    with Zstandard. An archive that unpacks to far more than its size is refused while it is read, whatever its
    directory says."""

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
