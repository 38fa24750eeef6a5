"""Which rows of a history can be believed, and the problems of the others.

Anybody may edit the file with SQLite's own tools, and a column of SQLite takes values of any type. Each connection
therefore reads the tables through views that leave damaged rows out, and one scan tells which rows these are. Texts are
checked when a build is read, because that alone needs all their bytes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from nuggeteer.errors import NuggeteerError

SHOWN_BUILDS = 3  # of those that share a damage
MOST = 10**15  # of any count; far beyond anything real, and exact as a float
ROUNDING = 1e-6  # by which a share may miss 0 or 1


def _text(column: str) -> str:
    return f"typeof({column}) = 'text' AND is_utf8(CAST({column} AS BLOB))"


def _count(column: str, least: int = 0) -> str:
    return f"typeof({column}) = 'integer' AND {column} BETWEEN {least} AND {MOST}"


def _share(column: str) -> str:
    return f"{column} IS NULL OR (typeof({column}) = 'real' AND {column} BETWEEN {-ROUNDING} AND {1 + ROUNDING})"


def _score(column: str) -> str:
    """A share or, by a measure of rubrics, any number up to 1."""
    below = f"measure IN ('rubric', 'strict_rubric') AND {column} BETWEEN {-MOST} AND 0"
    return f"{_share(column)} OR (typeof({column}) = 'real' AND {below})"


def _end(low: str, high: str) -> str:
    """The upper end of an interval: present if the lower one is, and not below it."""
    return f"({_score(high)}) AND ({low} IS NULL) = ({high} IS NULL) AND ({high} IS NULL OR {low} <= {high})"


def _optional(column: str, check: str) -> str:
    return f"{column} IS NULL OR ({check})"


def _flag(column: str) -> str:
    return f"typeof({column}) = 'integer' AND {column} IN (0, 1)"


def _refers(table: str, columns: Mapping[str, str], own: str) -> str:
    """Whether the row exists that these columns name."""
    same = " AND ".join(f"other.{there} = {own}.{here}" for here, there in columns.items())
    return f"EXISTS (SELECT 1 FROM main.{table} AS other WHERE {same})"


_TIME = "typeof({0}) = 'text' AND length(CAST({0} AS BLOB)) = 20 AND strftime('%Y-%m-%dT%H:%M:%SZ', {0}) = {0}"
_MADE = _refers("scores", {"id": "scoring"}, "scorings") + " AND " + _refers("outcomes", {"id": "scoring"}, "scorings")
_BY_QUESTION = _refers("question_scores", {"scoring": "scoring", "measure": "measure"}, "scores")

# For each column of each table, the condition for a sound value. A table comes after those it refers to.
CHECKS: dict[str, dict[str, str]] = {
    "builds": {
        "id": _count("id", 1),
        "run": _text("run"),
        "label": _optional("label", _text("label")),
        "time": _TIME.format("time"),
        "content": "typeof(content) = 'text' AND length(content) = 32 AND content NOT GLOB '*[^0-9a-f]*'",
    },
    "questions": {"id": "id IS NOT NULL", "qid": _text("qid")},
    "nuggets": {
        "id": "id IS NOT NULL",
        "question": _refers("questions", {"question": "id"}, "nuggets"),
        "nugget": _text("nugget"),
        "importance": "importance IN ('vital', 'okay', 'unrated', 'forbidden')",
        "description": _text("description"),
    },
    "texts": {
        "id": "id IS NOT NULL",
        "digest": "typeof(digest) = 'blob' AND length(digest) = 16",
        "text": "typeof(text) = 'text'",
    },
    "answers": {
        "build": _refers("builds", {"build": "id"}, "answers"),
        "question": _refers("questions", {"question": "id"}, "answers"),
        "length": _count("length")
        + " AND (length = 0 OR "
        + _refers("responses", {"build": "build", "question": "question"}, "answers")
        + ")",
    },
    "responses": {
        "build": _refers("answers", {"build": "build", "question": "question"}, "responses"),
        "question": _refers("questions", {"question": "id"}, "responses"),
        "rank": _count("rank", 1),
        "text": _refers("texts", {"text": "id"}, "responses"),
        "docid": "docid IS NULL OR typeof(docid) = 'text'",
    },
    "scorings": {
        "id": f"{_count('id', 1)} AND {_MADE}",
        "build": _refers("builds", {"build": "id"}, "scorings"),
        "time": _TIME.format("time"),
        "version": _text("version"),
        "signature": _text("signature"),
        "run_group": _optional("run_group", _text("run_group")),
        "known": _count("known"),
        "guessed": _count("guessed"),
    },
    "scores": {
        "scoring": _refers("scorings", {"scoring": "id"}, "scores"),
        "measure": f"{_text('measure')} AND {_BY_QUESTION}",
        "value": _score("value"),
        "hard": _score("hard"),
        "low": _score("low"),
        "high": _end("low", "high"),
        "judging_low": _score("judging_low"),
        "judging_high": _end("judging_low", "judging_high"),
        "sampling_low": _score("sampling_low"),
        "sampling_high": _end("sampling_low", "sampling_high"),
    },
    "question_scores": {
        "scoring": _refers("scorings", {"scoring": "id"}, "question_scores"),
        "measure": _refers("scores", {"scoring": "scoring", "measure": "measure"}, "question_scores"),
        "question": _refers("questions", {"question": "id"}, "question_scores"),
        "value": _score("value"),
        "hard": _score("hard"),
    },
    "outcomes": {
        "scoring": _refers("scorings", {"scoring": "id"}, "outcomes"),
        "nugget": _refers("nuggets", {"nugget": "id"}, "outcomes"),
        "found": _flag("found"),
        "known": _flag("known"),
        "probability": _share("probability"),
        "rank": _optional("rank", _count("rank", 1)),
        "text": _optional("text", _refers("texts", {"text": "id"}, "outcomes")),
    },
    "rulings": {
        "id": _count("id", 1),
        "build": _refers("builds", {"build": "id"}, "rulings"),
        "time": _TIME.format("time"),
        "decision": "decision IN ('PASS', 'FAIL', 'UNDECIDED')",
        "basis": "basis IS NULL OR basis IN ('read', 'guessed', 'nobody')",
        "gate": _text("gate"),
        "reason": _text("reason"),
        "against": _optional("against", _text("against")),
        "old": _optional("old", _refers("builds", {"old": "id"}, "rulings")),
        "signature": _text("signature"),
        "measure": _optional("measure", _text("measure")),
        "change": f"change IS NULL OR (typeof(change) = 'real' AND abs(change) <= {MOST})",
    },
}
SCORED = ("scorings", "scores", "question_scores", "outcomes")  # what scoring a build again makes anew
_OF_SCORING = "(SELECT s.build FROM main.scorings s WHERE s.id = scoring)"
_OWNERS = {
    "builds": "id, NULL",
    "answers": "build, NULL",
    "responses": "build, NULL",
    "scorings": "build, id",
    "rulings": "build, NULL",
    **dict.fromkeys(SCORED[1:], f"{_OF_SCORING}, scoring"),
}
_REFERENCES = {
    "builds": (
        *((table, "build") for table in ("answers", "responses", "scorings", "rulings")),
        ("rulings", "old"),
    ),
    "questions": tuple((table, "question") for table in ("nuggets", "answers", "responses", "question_scores")),
    "nuggets": (("outcomes", "nugget"),),
    "texts": (("responses", "text"), ("outcomes", "text")),
    "scorings": tuple((table, "scoring") for table in SCORED[1:]),
    "rulings": (),
}


@dataclass(frozen=True)
class Damage:
    """Damaged rows of one table, of one build or scoring: how many, and in which columns. `build` and `scoring` are
    None if the rows belong to none. No rows: the build has no scoring at all."""

    table: str
    build: int | None
    scoring: int | None
    rows: int
    columns: tuple[str, ...]


def read_through_views(db: sqlite3.Connection) -> None:
    """Leave damaged rows out of everything that this connection reads. Writing names `main` and so bypasses the
    views."""
    db.create_function("is_utf8", 1, _is_utf8, deterministic=True)
    db.execute("PRAGMA temp_store = MEMORY")
    for table in CHECKS:
        db.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {_sound(table)}")


def find_damage(db: sqlite3.Connection) -> list[Damage]:
    """The damaged rows of all tables."""
    found = []
    for table, checks in CHECKS.items():
        counts = ", ".join(f"sum(({check}) IS NOT TRUE)" for check in checks.values())
        select = f"SELECT {_OWNERS.get(table, 'NULL, NULL')}, count(*), {counts} FROM main.{table}"
        for build, scoring, rows, *bad in db.execute(f"{select} WHERE NOT ({_sound(table)}) GROUP BY 1, 2"):
            columns = tuple(column for column, count in zip(checks, bad, strict=True) if count)
            build, scoring = (owner if isinstance(owner, int) else None for owner in (build, scoring))
            found.append(Damage(table, build, scoring, rows, columns))
    unscored = "SELECT id FROM builds WHERE id NOT IN (SELECT build FROM main.scorings)"
    return [*found, *(Damage("scorings", build, None, 0, ()) for (build,) in db.execute(unscored))]


def damaged_scorings(db: sqlite3.Connection) -> dict[int, int | None]:
    """The scorings with damaged rows or with damaged nuggets, and the build of each; None if there is no such build."""
    found = {one.scoring for one in find_damage(db) if one.scoring is not None}
    of_nuggets = "SELECT DISTINCT scoring FROM main.outcomes WHERE nugget NOT IN (SELECT id FROM nuggets)"
    found.update(scoring for (scoring,) in db.execute(of_nuggets))
    build_of = dict(db.execute("SELECT s.id, b.id FROM main.scorings s JOIN main.builds b ON b.id = s.build"))
    return {scoring: build_of.get(scoring) for scoring in found}


def remove_scorings(db: sqlite3.Connection, scorings: Collection[int]) -> None:
    """Remove these scorings, the scores that belong to none, and the damaged nuggets that are in no other."""
    db.execute("PRAGMA defer_foreign_keys = ON")
    db.executemany("DELETE FROM main.scorings WHERE id = ?", [(scoring,) for scoring in scorings])
    for table in SCORED[1:]:
        db.execute(f"DELETE FROM main.{table} WHERE scoring NOT IN (SELECT id FROM main.scorings)")
    unused = "id NOT IN (SELECT nugget FROM main.outcomes)"
    db.execute(f"DELETE FROM main.nuggets WHERE NOT ({_sound('nuggets')}) AND {unused}")


def described(damage: Sequence[Damage], names: Mapping[int, str]) -> Iterator[tuple[str, bool]]:
    """One line for each table with damaged rows, and whether scoring again mends it. `names` are those of the builds'
    runs."""
    for (table, gap), some in groupby(damage, key=lambda one: (one.table, not one.rows)):
        of = list(some)
        builds = list(dict.fromkeys(f"{one.build} ({names.get(one.build, '?')})" for one in of if one.build))
        if len(builds) > SHOWN_BUILDS:
            builds[SHOWN_BUILDS:] = [f"{len(builds) - SHOWN_BUILDS} more"]
        whose = f" of build{'s' * (len(builds) > 1)} {', '.join(builds)}" if builds else ""
        rows, columns = sum(one.rows for one in of), dict.fromkeys(column for one in of for column in one.columns)
        what = f"{rows} damaged row{'s' * (rows > 1)} in {table} ({', '.join(columns)}){whose}, left out"
        yield f"no scores{whose}" if gap else what, table in (*SCORED, "nuggets")


def free_id(db: sqlite3.Connection, table: str) -> int:
    """An id above all that are given or referred to, so that a new row is never taken for a missing one. Ids that are
    too large for ours do not count."""
    used = " UNION ALL ".join(
        f"SELECT max({column}) FROM main.{of} WHERE typeof({column}) = 'integer' AND {column} <= {MOST}"
        for of, column in ((table, "id"), *_REFERENCES[table])
    )
    (most,) = db.execute(f"SELECT max(0, ifnull(max(used), 0)) FROM (SELECT NULL AS used UNION ALL {used})").fetchone()
    if most >= MOST:
        what = f"a row of the history's {table} has the id {most}, above which there is none to give"
        raise NuggeteerError(f"{what}; move the history away, and the next nightly starts a new one")
    return int(most) + 1


def _sound(table: str) -> str:
    return " AND ".join(f"(({check}) IS TRUE)" for check in CHECKS[table].values())


def _is_utf8(value: object) -> bool:
    """Whether the bytes are UTF-8. SQLite takes any bytes for text, and Python does not."""
    try:
        str(value, "utf-8") if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return False
    return isinstance(value, bytes)
