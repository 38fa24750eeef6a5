"""The row ids of what builds share: questions, nuggets and texts. Rows that are missing are inserted."""

from __future__ import annotations

import sqlite3
from itertools import count

from nuggeteer.history.answers import digest_text
from nuggeteer.history.soundness import free_id
from nuggeteer.records import AnswerKey, Run

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
