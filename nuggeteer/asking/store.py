"""The ledger of a language model: `judges/NAME.jsonl`, a line for each verdict, and `judges/calls/NAME.jsonl`.

    {"qid", "nugget", "assignment": "support" | "partial_support" | "not_support", "probability"?, "text": the answer,
     "scope": "answer", "run", "judge", "model", "revision"?, "prompt", "served"?, "fingerprint"?, "key", "pair", "at"}
    {"key", "qid", "run", "nuggets", "pairs", "outcome": "answered" | "malformed" | "failed" | "unavailable",
     "labels"?, "reason"?, "reply"?, "requests", "input_tokens"?, "output_tokens"?, "cost", "judge", "model",
     "revision"?, "prompt", "served"?, "fingerprint"?, "at"}

Both only grow, as the ledgers of assessors do: under a lock, never through a link, on the disk before `keep` returns.
A call is written as soon as its reply is there. Then its verdicts follow, together with those of other workers, in one
flush. If the process ends in between, the next one takes the labels from the call.

A pair (question, answer, nugget) that was answered is not asked again. A reply that could not be used is not paid for
again either.

While a process asks about an answer, it holds a lock on it, so two processes share the work. The lock ends with the
process, however that ends.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from nuggeteer.asking.calls import Call, Identity
from nuggeteer.asking.replies import LABELS, LONGEST_REPLY, Label
from nuggeteer.asking.sender import Spending
from nuggeteer.collection.ledger import assessor_name, merge_by_union
from nuggeteer.errors import InputError, NuggeteerError, Problem, fail
from nuggeteer.fields import as_written
from nuggeteer.formats.append import append_bytes, flush, torn
from nuggeteer.formats.cache import FOLDER, own_path, write_own
from nuggeteer.formats.jsonl import LONGEST_LINE, is_regular, parsed

Outcome = Literal["answered", "malformed", "failed", "unavailable"]
DIGITS: Final = 6  # of probabilities
LOCK: Final = "asking.lock"
_KEPT = 2000  # characters of a reply that could not be used
_BLOCK = 1 << 16  # bytes


@dataclass(frozen=True)
class _Answer:
    """A label in the record of a call, and what else its line has: which call and which model it is from."""

    label: Label
    origin: dict[str, Any]


class VerdictStore:
    """The verdicts of one judge, and the calls that were made for them."""

    def __init__(self, root: Path, identity: Identity, kind: str = "") -> None:
        """`kind` distinguishes ledgers of questions other than "which nuggets?"."""
        name = assessor_name(identity.judge) + kind
        self.root, self.identity = root, identity
        self.path = own_path(root, f"judges/{name}.jsonl")
        self.calls_path = own_path(root, f"judges/calls/{name}.jsonl")
        self.problems: list[Problem] = []
        self.malformed: set[str] = set()  # keys of calls whose replies could not be used
        self.replies: dict[str, str] = {}  # of calls that were answered and have their reply in the ledger, by key
        self.failed: dict[str, str] = {}  # pairs that were given up, and why
        self.served: str | None = None
        self._known: dict[str, str] = {}
        self._answered: dict[str, _Answer] = {}  # pairs of calls that were answered; most of them are known by now
        self._position = {self.path: 0, self.calls_path: 0}
        self._held: Counter[str] = Counter()
        self._lock_file: int | None = None
        self._state, self._writing, self._journal = threading.RLock(), threading.Lock(), threading.Lock()
        self._waiting: list[bytes] = []
        self._broken: NuggeteerError | None = None
        self.refresh()

    def assignment(self, pair: str) -> str | None:
        """The label of a pair (`Call.digests`)."""
        with self._state:
            return self._known.get(pair)

    def is_open(self, pair: str) -> bool:
        """Whether a pair has neither a verdict nor been given up."""
        with self._state:
            return pair not in self._known and pair not in self.failed

    def ask_again(self) -> None:
        """Forget what failed, so that it is asked about again."""
        with self._state:
            self.failed.clear()
            self.malformed.clear()

    def refresh(self) -> None:
        """Read what was written since, by whichever process."""
        with self._state:
            for path, take in ((self.calls_path, self._take_call), (self.path, self._take_verdict)):
                for place, line in self._new_lines(path):
                    try:
                        record = parsed(line)
                    except orjson.JSONDecodeError as error:
                        raise self._bad_line(path, place, f"not JSON: {error}") from error
                    if isinstance(record, dict):
                        self._check_judge(path, record)
                        take(record)

    def check_writable(self) -> None:
        """Raises `InputError` if a ledger cannot be written to: a reply is paid for before it can be kept."""
        for path in (self.calls_path, self.path):
            self._append(path, b"", flush=False)

    def keep(
        self,
        call: Call,
        outcome: Outcome,
        spending: Spending,
        reason: str = "",
        reply: str = "",
        labels: Sequence[Label] = (),
        **more: Any,
    ) -> None:
        """Write how a call ended and what it took, and the verdicts of its labels. All is on the disk when this
        returns."""
        key = call.key(self.identity)
        said = _without_empty(served=more.get("served"), fingerprint=more.get("fingerprint"))
        verdicts = self._lines(call, labels, {**said, "key": key}) if labels else []
        line: dict[str, Any] = {"key": key, "qid": call.question.qid, "run": call.run}
        line |= {"nuggets": [nugget.nugget for nugget in call.nuggets], "pairs": call.digests(), "outcome": outcome}
        if labels:
            line["labels"] = [[label.label, *(label.probabilities or ())] for label in labels]
        line |= _without_empty(reason=reason, reply=reply[: _KEPT if outcome != "answered" else LONGEST_REPLY])
        line |= {"requests": spending.requests, **_without_empty(**more), "cost": spending.cost}
        line |= {**self.identity.line(), "at": _now()}
        with self._journal:
            self._append(self.calls_path, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE), flush=not verdicts)
        if verdicts:
            self._write_verdicts(verdicts)

    def recover(self, call: Call) -> None:
        """Write the verdicts of calls that were written without them."""
        lines = []
        for nugget, pair in zip(call.nuggets, call.digests(), strict=True):
            if self.is_open(pair) and (answer := self._answered.get(pair)):
                lines += self._lines(replace(call, nuggets=(nugget,)), [answer.label], answer.origin)
        if lines:
            self._write_verdicts(lines)
            self.refresh()

    def _write_verdicts(self, lines: list[dict[str, Any]]) -> None:
        own = b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
        with self._state:
            self._waiting.append(own)
        with self._writing:
            if self._broken is not None:
                raise self._broken
            with self._state:
                if not any(other is own for other in self._waiting):
                    return  # another worker has written it with its own
                ready, self._waiting = self._waiting, []
            try:
                self._append(self.path, b"".join(ready))
                flush(self.calls_path)
            except NuggeteerError as error:
                self._broken = error  # for the others whose lines were among these
                raise

    def _lines(self, call: Call, labels: Sequence[Label], origin: dict[str, Any]) -> list[dict[str, Any]]:
        common, lines = {**self.identity.line(), **origin}, []
        for nugget, pair, label in zip(call.nuggets, call.digests(), labels, strict=True):
            line: dict[str, Any] = {"qid": nugget.qid, "nugget": nugget.nugget, "assignment": label.label}
            if label.probabilities:
                line["probability"] = round(label.probabilities[0], DIGITS)
                line["partial_probability"] = round(label.probabilities[1], DIGITS)
            line |= {"text": call.text, "scope": "answer", "run": call.run, **common, "pair": pair, "at": _now()}
            lines.append(line)
        return lines

    def claim(self, call: Call) -> bool:
        """Hold the lock on the call's answer; False if another process holds it."""
        answer = call.answer_digest()
        with self._state:
            if not self._held[answer]:
                try:
                    self._lock(answer, hold=True)
                except BlockingIOError:
                    return False
            self._held[answer] += 1
            return True

    def release(self, call: Call) -> None:
        """Give the lock on the answer back, when no worker of this process needs it."""
        answer = call.answer_digest()
        with self._state:
            self._held[answer] -= 1
            if not self._held[answer]:
                del self._held[answer]
                self._lock(answer, hold=False)

    def close(self) -> None:
        with self._state:
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _lock(self, answer: str, hold: bool) -> None:
        """Lock or unlock the byte of the lock file that stands for this judge and answer."""
        try:
            import fcntl
        except ImportError:
            raise NuggeteerError("ask does not work here: this system has no file locks (fcntl)") from None
        place = int(blake2b(f"{self.identity.judge} {answer}".encode(), digest_size=7).hexdigest(), 16)
        try:
            fcntl.lockf(self._opened_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB if hold else fcntl.LOCK_UN, 1, place)
        except (BlockingIOError, PermissionError) as error:  # how some systems say that another process has it
            raise BlockingIOError from error
        except OSError as error:
            remedy = "nothing was asked; keep the collection on a local disk"
            raise fail(self.root / FOLDER / LOCK, f"cannot be locked: {error.strerror}", remedy) from error

    def _opened_locks(self) -> int:
        """The file whose bytes are locked. It stays empty, and stays open: closing it would free every lock."""
        if self._lock_file is None:
            path = own_path(self.root, f"{FOLDER}/{LOCK}")
            ignore = f"{FOLDER}/.gitignore"
            if not os.path.lexists(self.root / ignore):
                write_own(self.root, ignore, b"*\n")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            try:
                self._lock_file = os.open(path, flags, 0o666)
            except OSError as error:
                raise fail(path, f"cannot be locked: {error.strerror}", "make it a file that you can write") from error
        return self._lock_file

    def _append(self, path: Path, data: bytes, flush: bool = True) -> None:
        if not path.exists():
            with suppress(FileExistsError):
                (self.root / "judges").mkdir()
            own_path(self.root, f"judges/calls/{path.name}")
            merge_by_union(self.root / "judges")
        aside = append_bytes(path, data, flush)
        if aside:
            what = f"its last line was torn, because it was not completely written; it is now in {aside.name}"
            self.problems.append(Problem(str(path), None, what, "delete that file", "warning"))

    def _new_lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """Whole lines from where reading stopped, with their places. A torn last line waits for its end."""
        problems: list[Problem] = []
        if not is_regular(path, problems, self.root):
            raise InputError(problems)
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._position[path]:  # another file has its name now
                    self._position[path] = 0
                file.seek(self._position[path])
                while line := file.readline(LONGEST_LINE + 1):
                    place = self._position[path]
                    if not line.endswith(b"\n"):
                        if len(line) > LONGEST_LINE:
                            raise self._bad_line(path, place, f"the line is longer than {LONGEST_LINE:,} bytes")
                        if torn(line):
                            return
                    self._position[path] += len(line)
                    if line.strip():
                        yield place, line
        except FileNotFoundError:
            return
        except OSError as error:
            raise fail(path, f"cannot be read: {error.strerror}", "check the permissions") from error

    def _bad_line(self, path: Path, place: int, what: str) -> InputError:
        """The error for the line that begins at a byte."""
        with path.open("rb") as file:
            before = sum(file.read(min(_BLOCK, place - at)).count(b"\n") for at in range(0, place, _BLOCK))
        return fail(path, what, "correct or delete the line; its verdict would be paid for again", before + 1)

    def _check_judge(self, path: Path, record: dict[str, Any]) -> None:
        """Every line of a ledger is of one judge."""
        own = self.identity.line()
        for key in ("model", "revision", "prompt") if "model" in record else ():
            said, now = record.get(key, ""), own.get(key, "")
            if said != now:
                what = f"{path} has verdicts of the {key} {said!r:.80}, and the settings now say {now!r:.80}"
                raise NuggeteerError(f"{what}; that is another judge, so give it a section [judge.NAME] of its own")

    def _take_verdict(self, record: dict[str, Any]) -> None:
        pair, assignment = record.get("pair"), record.get("assignment")
        if isinstance(pair, str) and isinstance(assignment, str):
            self._known[pair] = assignment
            self.failed.pop(pair, None)
            self._answered.pop(pair, None)
        served = record.get("served")
        self.served = served if isinstance(served, str) else self.served

    def _take_call(self, record: dict[str, Any]) -> None:
        outcome = record.get("outcome")
        if outcome == "malformed":
            self.malformed.add(str(record.get("key")))
        elif outcome == "failed":
            for pair in _list(record, "pairs"):
                if isinstance(pair, str) and pair not in self._known:
                    self.failed[pair] = str(record.get("reason", ""))
        elif outcome == "answered":
            if isinstance(reply := record.get("reply"), str):
                self.replies[str(record.get("key"))] = reply
            origin: dict[str, Any] = {key: record[key] for key in ("served", "fingerprint", "key") if key in record}
            for pair, found in zip(_list(record, "pairs"), _list(record, "labels"), strict=False):
                if isinstance(pair, str) and pair not in self._known and (label := _read_label(found)):
                    self._answered[pair] = _Answer(label, origin)


def _list(record: dict[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    return value if isinstance(value, list) else []


def _read_label(found: Any) -> Label | None:
    """A label with its probabilities, as `keep` writes it."""
    if not isinstance(found, list) or not found or found[0] not in LABELS:
        return None
    chances = [float(value) for value in found[1:] if isinstance(value, int | float) and 0 <= value <= 1]
    return Label(found[0], (chances[0], chances[1], chances[2]) if len(chances) == 3 else None)


def _without_empty(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, "")}


def _now() -> str:
    return as_written(datetime.now(UTC))
