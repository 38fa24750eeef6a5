"""Writing scored runs into the history in one transaction: builds with their responses, and scorings of them. Also, the
responses of a build as they are stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import count, repeat
from typing import Any, NamedTuple

import numpy as np
import orjson

from nuggeteer.collection.folder import Collection
from nuggeteer.history.soundness import free_id
from nuggeteer.records import AnswerKey, Run
from nuggeteer.scoring.scores import RunScore, Scores
from nuggeteer.text import length

_ADD_NUGGET = """
    INSERT INTO main.nuggets (id, question, nugget, importance, description) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (question, nugget) DO UPDATE SET importance = excluded.importance, description = excluded.description
"""
_ADD_TEXT = """
    INSERT INTO main.texts (id, digest, text) VALUES (?, ?, ?)
    ON CONFLICT (digest) DO UPDATE SET text = excluded.text WHERE text IS NOT excluded.text
"""


class RowIds:
    """The row ids of the questions and nuggets of a key."""

    def __init__(self, db: sqlite3.Connection, key: AnswerKey) -> None:
        qids = [question.qid for question in key.questions]
        find = "SELECT qid, id FROM questions"
        number = dict(db.execute(find).fetchall())
        new = zip(count(free_id(db, "questions")), (qid for qid in qids if qid not in number), strict=False)
        db.executemany("INSERT INTO main.questions (id, qid) VALUES (?, ?)", list(new))
        number = dict(db.execute(find).fetchall())
        self.questions: list[int] = [number[qid] for qid in qids]
        described = [(number[n.qid], n.nugget, n.importance, n.descriptions[0]) for n in key.nuggets]
        free = count(free_id(db, "nuggets"))
        db.executemany(_ADD_NUGGET, ((next(free), *row) for row in described))
        nugget_id = {(q, n): id_ for q, n, id_ in db.execute("SELECT question, nugget, id FROM nuggets")}
        self.nuggets: list[int] = [nugget_id[number[n.qid], n.nugget] for n in key.nuggets]


def store_texts(db: sqlite3.Connection, run: Run) -> list[int]:
    """The row ids of the texts of a run. A text is stored once, however many builds return it."""
    digests = [digest_text(text.encode()) for text in run.texts]
    db.executemany(_ADD_TEXT, zip(count(free_id(db, "texts")), digests, run.texts, strict=False))
    find = "SELECT id FROM texts WHERE digest = ?"
    return [db.execute(find, (one,)).fetchone()[0] for one in digests]


LAST = "SELECT id, label, content FROM builds WHERE run = ? ORDER BY id DESC LIMIT 1"  # the last build of a run's name


@dataclass(frozen=True)
class RecordedRun:
    """The result of recording a run: its build, and whether that is `new`. `copies` counts the other builds with the
    same run name and responses. `added` are the measures that an existing build did not have yet."""

    run: str
    build: int
    new: bool
    copies: int
    added: tuple[str, ...] = ()


class Recording:
    """A connection in a transaction that can write, what is to be recorded, and a clock."""

    def __init__(self, db: sqlite3.Connection, scores: Scores, time: Callable[[], str]) -> None:
        self._db, self._scores, self._time = db, scores, time
        self._ids = RowIds(db, scores.key)

    def record(self, label: str | None, rerun: bool) -> list[RecordedRun]:
        """Record every scored run as a build, or as another scoring of one (`History.record`)."""
        return [self._record(run, label, rerun) for run in self._scores.runs]

    def record_again(self, builds: Sequence[tuple[int, int | None]]) -> None:
        """Add each scored run to its build: as a new scoring, or the measures that the scoring lacks."""
        for (build, scoring), run in zip(builds, self._scores.runs, strict=True):
            if scoring is None:
                self._add_scoring(run, build, store_texts(self._db, run.run))
            else:
                self._add_scores(scoring, run)

    def _rerun(self, run: RunScore, label: str | None) -> RecordedRun | None:
        """The last build of a run's name, with this scoring; None if that is another build."""
        db, scores = self._db, self._scores
        last = db.execute(LAST, (run.name,)).fetchone()
        if last is None or last[1:] != (label, digest(run.run, scores.key)):
            return None
        build = int(last[0])
        stored = dict(db.execute("SELECT signature, id FROM scorings WHERE build = ?", (build,)))
        if scores.signature not in stored:
            self._add_scoring(run, build, store_texts(db, run.run))
            return RecordedRun(run.name, build, False, 0, tuple(run.measures))
        return RecordedRun(run.name, build, False, 0, self._add_scores(stored[scores.signature], run))

    def _record(self, run: RunScore, label: str | None, rerun: bool) -> RecordedRun:
        db, ids, scores = self._db, self._ids, self._scores
        if rerun and (recorded := self._rerun(run, label)):
            return recorded
        content = digest(run.run, scores.key)
        copies = db.execute(_COPIES, (scores.signature, label, run.name, content)).fetchall()
        for build, scoring, same in copies:
            if same and not rerun:
                added = self._add_scores(scoring, run)
                return RecordedRun(run.name, build, False, len({build for build, *_ in copies}) - 1, added)
        build = _insert(db, "builds", (free_id(db, "builds"), run.name, label, self._time(), content))
        lengths = run.outcome.length.tolist()
        db.executemany(
            "INSERT INTO main.answers VALUES (?, ?, ?)", zip(repeat(build), ids.questions, lengths, strict=False)
        )
        texts, question = store_texts(db, run.run), run.run.question
        ranks = np.arange(len(run.run)) - run.run.offsets[question] + 1
        asked = (ids.questions[q] for q in question.tolist())
        rows = zip(repeat(build), asked, ranks.tolist(), texts, docids(run.run), strict=False)
        db.executemany("INSERT INTO main.responses VALUES (?, ?, ?, ?, ?)", rows)
        self._add_scoring(run, build, texts)
        return RecordedRun(run.name, build, True, len({build for build, *_ in copies}))

    def _add_scoring(self, run: RunScore, build: int, texts: list[int]) -> None:
        db, outcome = self._db, run.outcome
        made_by = (self._time(), version("nuggeteer"), self._scores.signature, run.run.info.group)
        scoring = _insert(
            db, "scorings", (free_id(db, "scorings"), build, *made_by, outcome.pairs_known, outcome.pairs_guessed)
        )
        self._add_scores(scoring, run)
        rows = zip(
            repeat(scoring),
            self._ids.nuggets,
            map(int, outcome.found.tolist()),
            map(int, outcome.known.tolist()),
            outcome.probability.tolist(),
            (rank or None for rank in run.rank.tolist()),
            (texts[response] if response >= 0 else None for response in outcome.response.tolist()),
            strict=False,
        )
        db.executemany("INSERT INTO main.outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def _add_scores(self, scoring: int, run: RunScore) -> tuple[str, ...]:
        """Add the measures that a scoring does not have yet, and return them."""
        db = self._db
        stored = {measure for (measure,) in db.execute("SELECT measure FROM scores WHERE scoring = ?", (scoring,))}
        added = tuple(measure for measure in run.measures if measure not in stored)
        for measure in added:
            interval = run.measures[measure]
            judging, sampling = interval.judging or (None, None), interval.sampling or (None, None)
            whole = (interval.value, interval.hard, interval.low, interval.high)
            _insert(db, "scores", (scoring, measure, *whole, *judging, *sampling))
            values, hard = run.by_question[measure].tolist(), run.hard_by_question[measure].tolist()
            rows = zip(repeat(scoring), repeat(measure), self._ids.questions, values, hard, strict=False)
            db.executemany("INSERT OR REPLACE INTO main.question_scores VALUES (?, ?, ?, ?, ?)", rows)
        return added


_COPIES = """
    SELECT b.id, s.id, s.signature = ? AND b.label IS ? FROM builds b JOIN scorings s ON s.build = b.id
    WHERE b.run = ? AND b.content = ? ORDER BY b.id, s.id
"""


def _insert(db: sqlite3.Connection, table: str, values: Sequence[Any]) -> int:
    marks = ", ".join("?" * len(values))
    return int(db.execute(f"INSERT OR REPLACE INTO main.{table} VALUES ({marks})", values).lastrowid or 0)


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
    info = collection.info(name)
    return Run(name, info, [text for _, text, _ in rows], ids if any(ids) else None, question, offsets)


def digest_text(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).digest()
