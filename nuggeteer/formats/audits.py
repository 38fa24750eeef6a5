"""The random sample of an audit: `judgements/audits/ID.jsonl`, which is written once and never changed.

    first line     audit, run, responses, key, measure, planned, seed, at, signature, expected, by, digest
    other lines    qid, nugget, guess, size: one for each nugget that could be drawn, in the order of the draw

What was drawn is single nuggets or whole answers (`by`). The nuggets of an answer stand together and have its size.
Among what was left, each was drawn with the probability size / (sum of their sizes). `digest` is a hash of all lines
after the first. It shows if somebody changed the sample later.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Literal

import orjson
from msgspec import Meta, convert

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.fields import Share
from nuggeteer.formats.jsonl import is_regular, not_written, read_jsonl

By = Literal["nugget", "answer"]
Natural = Annotated[int, Meta(ge=0)]


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
    planned: Natural
    seed: Natural
    at: str
    signature: str
    expected: Mapping[str, tuple[float, float, float]]
    by: By = "nugget"  # the first audits had no other


@dataclass(frozen=True)
class Unit:
    """A nugget that could be drawn, with the guessed probability that the answer has it, and the size in the draw, its
    own or its answer's."""

    qid: str
    nugget: str
    guess: Share
    size: Annotated[float, Meta(gt=0)]


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
        raise not_written(path, error) from error
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
        digest = rows[0].pop("digest")
        head, units = convert(rows[0], Head), convert(rows[1:], list[Unit])
        known = rows[0].keys() <= {field.name for field in fields(Head)}
        whole = known and digest == _digest(orjson.dumps(row) for row in rows[1:])
    except (KeyError, ValueError, IndexError):
        whole = False
    if not whole:
        raise fail(path, "the audit was changed after it was drawn", "restore the original file")
    return head, units


def _digest(lines: Iterable[bytes]) -> str:
    return blake2b(b"\n".join(lines), digest_size=16).hexdigest()
