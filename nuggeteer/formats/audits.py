"""The random sample of an audit: `judgements/audits/ID.jsonl`, which is written once and never changed.

    first line     audit, run, responses, key, measure, planned, seed, at, signature, expected, by, digest
    other lines    qid, nugget, guess, size: one for each nugget that could be drawn, in the order of the draw

What was drawn is single nuggets or whole answers (`by`). The nuggets of an answer stand together and have its size.
Among what was left, each was drawn with the probability size / (sum of their sizes). `digest` is a hash of all lines
after the first. It shows if somebody changed the sample later.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.formats.jsonl import is_regular, read_jsonl

By = Literal["nugget", "answer"]


@dataclass(frozen=True)
class Head:
    """What the sample was drawn from, when, and for which measure.

    `expected` has what the guesses said about each measure then: (value, low, high), the ends of its judging part.
    """

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
    by: By = "nugget"


@dataclass(frozen=True)
class Unit:
    """A nugget that could be drawn, with the guessed probability that the answer has it, and the size in the draw, its
    own or its answer's."""

    qid: str
    nugget: str
    guess: float
    size: float


def write_audit(path: Path, head: Head, units: Iterable[Unit]) -> bool:
    """Write a complete audit and flush it to the disk. False if there already is an audit of that name."""
    lines = [orjson.dumps(asdict(unit)) for unit in units]
    first = orjson.dumps({**asdict(head), "digest": _digest(lines)})
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # no link can have this name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            file.write(b"".join(line + b"\n" for line in (first, *lines)))
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)  # fails if the file exists; a rename would replace it
    except FileExistsError:
        return False
    except OSError as error:
        raise fail(
            path, f"cannot be written: {error.strerror}", "nothing was drawn; make room on the disk and try again"
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return True


def read_audit(path: Path) -> tuple[Head, list[Unit]]:
    """Read an audit; raises `InputError` if the file was changed."""
    problems: list[Problem] = []
    root = path.parent.parent.parent  # judgements/audits/ID.jsonl
    rows = [row for _, row in read_jsonl(path, problems)] if is_regular(path, problems, root) else []
    if problems:
        raise InputError(problems)
    try:
        head, digest = _head(rows[0])
        units = [_unit(row) for row in rows[1:]]
        whole = digest == _digest(orjson.dumps(row) for row in rows[1:])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        whole = False
    if not whole:
        raise fail(path, "the audit was changed after it was drawn", "restore the original file")
    return head, units


def _digest(lines: Iterable[bytes]) -> str:
    return blake2b(b"\n".join(lines), digest_size=16).hexdigest()


def _head(row: dict[str, Any]) -> tuple[Head, str]:
    row = {"by": "nugget", **row}  # the first audits had no other
    digest = row.pop("digest")
    expected = {str(name): tuple(map(_number, values)) for name, values in row.pop("expected").items()}
    names = ("audit", "run", "responses", "key", "measure", "at", "signature")
    if set(row) != {*names, "planned", "seed", "by"} or not all(isinstance(row[name], str) for name in names):
        raise ValueError
    if row["by"] not in get_args(By):
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
