"""The responses of a build as the history stores them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import orjson

from nuggeteer.collection.folder import Collection
from nuggeteer.records import AnswerKey, Run, RunInfo
from nuggeteer.text import length

_LENGTHS = """
    SELECT q.qid, sound.length FROM main.answers a LEFT JOIN questions q ON q.id = a.question
    LEFT JOIN answers sound ON sound.build = a.build AND sound.question = a.question WHERE a.build = ?
"""
_RESPONSES = """
    SELECT q.qid, r.rank, t.digest, CAST(t.text AS BLOB), CAST(r.docid AS BLOB) FROM main.responses a
    LEFT JOIN responses r ON r.build = a.build AND r.question = a.question AND r.rank = a.rank
    LEFT JOIN questions q ON q.id = a.question LEFT JOIN texts t ON t.id = r.text
    WHERE a.build = ? ORDER BY a.question, a.rank
"""


class StoredResponse(NamedTuple):
    qid: str
    text: str
    docid: str | None


def digest(run: Run, key: AnswerKey) -> str:
    """A hash of the responses of a run, in their order."""
    qids = [key.questions[q].qid for q in run.question.tolist()]
    return blake2b(orjson.dumps([qids, run.texts, docids(run)]), digest_size=16).hexdigest()


def docids(run: Run) -> list[str | None]:
    return run.docids or [None] * len(run)


def stored_responses(db: sqlite3.Connection, build: int) -> list[StoredResponse] | None:
    """The responses of a build; None if any of them is missing or damaged. The length of each answer is recorded
    beside its texts, and a digest beside each text."""
    left, last, found = dict[str, int](), dict[str, int](), list[StoredResponse]()
    for qid, characters in db.execute(_LENGTHS, (build,)):
        if qid is None or characters is None:
            return None
        left[qid], last[qid] = characters, 0
    for qid, rank, recorded, text, docid in db.execute(_RESPONSES, (build,)):
        if rank is None or text is None or qid not in left or rank != last[qid] + 1 or digest_text(text) != recorded:
            return None
        try:
            found.append(StoredResponse(qid, text.decode(), None if docid is None else docid.decode()))
        except UnicodeDecodeError:
            return None
        last[qid], left[qid] = rank, left[qid] - length(found[-1].text)
    return None if not last or any(left.values()) else found


def as_run(responses: Sequence[StoredResponse], collection: Collection, name: str) -> Run:
    """Responses as a run, restricted to the questions of the collection."""
    position = collection.key.position
    rows = [(position[qid], text, docid) for qid, text, docid in responses if qid in position]
    rows.sort(key=lambda row: row[0])
    ids = [docid for _, _, docid in rows]
    question = np.array([q for q, _, _ in rows], dtype=np.int32)
    counts = np.bincount(question, minlength=len(position))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    info = collection.manifest.get(name, RunInfo(name))
    return Run(name, info, [text for _, text, _ in rows], ids if any(ids) else None, question, offsets)


def digest_text(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).digest()
