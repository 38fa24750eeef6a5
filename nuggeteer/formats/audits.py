"""An audit as it was drawn: `judgements/audits/ID.jsonl`, written once and never changed.

    first line   audit, run, responses, key, measure, planned, seed, at, signature, expected, digest
    then         qid, nugget, guess, size: one line for each nugget that could be drawn, in the order drawn

Of all that were left a nugget was drawn with the probability size / (the sizes of these). `digest` is that of all lines
after the first, so that nobody draws again, or otherwise, unseen.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.formats.jsonl import read_jsonl


@dataclass(frozen=True)
class Head:
    """What was drawn from, when, and for what. `expected` has (value, low, high) of each measure, low to high being the
    judging part, as the guesses had it then."""

    audit: str
    run: str
    responses: str
    key: str
    measure: str
    planned: int
    seed: int
    at: str
    signature: str
    expected: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Unit:
    """A nugget that could be drawn: the probability with which it was guessed to be found, and its size."""

    qid: str
    nugget: str
    guess: float
    size: float


def write_audit(path: Path, head: Head, units: Iterable[Unit]) -> bool:
    """Write an audit, whole and down to the disk, unless there is one of that name: False."""
    lines = [orjson.dumps(asdict(unit)) for unit in units]
    first = orjson.dumps({**asdict(head), "digest": _digest(lines)})
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(b"".join(line + b"\n" for line in (first, *lines)))
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)  # fails where there is one, which a rename would not
    except FileExistsError:
        return False
    except OSError as error:
        raise fail(
            path, f"cannot be written: {error.strerror}", "nothing was drawn; make room and try again"
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return True


def read_audit(path: Path) -> tuple[Head, list[Unit]]:
    """Read an audit; raises `InputError` when it is not what was written."""
    problems: list[Problem] = []
    rows = [row for _, row in read_jsonl(path, problems)]
    if problems:
        raise InputError(problems)
    try:
        head, digest = _head(rows[0])
        units = [_unit(row) for row in rows[1:]]
        whole = digest == _digest(orjson.dumps(row) for row in rows[1:])
    except (KeyError, TypeError, ValueError, IndexError):
        whole = False
    if not whole:
        raise fail(path, "this is not the audit that was drawn", "an audit is never changed: restore the file")
    return head, units


def _digest(lines: Iterable[bytes]) -> str:
    return blake2b(b"\n".join(lines), digest_size=16).hexdigest()


def _head(row: dict[str, Any]) -> tuple[Head, str]:
    row = dict(row)
    digest = row.pop("digest")
    expected = {str(name): tuple(map(_number, values)) for name, values in row.pop("expected").items()}
    names = ("audit", "run", "responses", "key", "measure", "at", "signature")
    if set(row) != {*names, "planned", "seed"} or not all(isinstance(row[name], str) for name in names):
        raise ValueError
    if not all(isinstance(row[name], int) and row[name] >= 0 for name in ("planned", "seed")):
        raise ValueError
    return Head(**row, expected={name: (v[0], v[1], v[2]) for name, v in expected.items()}), str(digest)


def _unit(row: dict[str, Any]) -> Unit:
    unit = Unit(str(row["qid"]), str(row["nugget"]), _number(row["guess"]), _number(row["size"]))
    if not 0 <= unit.guess <= 1 or unit.size <= 0:
        raise ValueError
    return unit


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)
