"""Scores as lines of other programs: `run TAB question TAB measure TAB value`, as ir_measures and TREC Auto-Judge read
them, or a table (CSV) with these columns. `all` stands for the mean over questions."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.objects import as_table
from nuggeteer.scoring.scores import Scores

ALL = "all"
COLUMNS = ("run", "qid", "measure", "value")


def leaderboard(result: Scores, table: bool) -> tuple[bytes, int]:
    """The lines, and how many values are undefined and left out."""
    rows = list(_rows(result))
    defined = [row for row in rows if not isnan(row[3])]
    if table:
        cells = [
            dict(zip(COLUMNS, (run, qid, measure, repr(value)), strict=True)) for run, qid, measure, value in defined
        ]
        return as_table(cells, ","), len(rows) - len(defined)
    names = {name for run, qid, _, _ in defined for name in (run, qid)}
    if blank := next((name for name in sorted(names) if len(name.split()) != 1), None):
        raise NuggeteerError(f"{blank!r} has blanks, and cannot stand in such a line; write a table: name a file *.csv")
    lines = "".join(f"{run}\t{qid}\t{measure}\t{value!r}\n" for run, qid, measure, value in defined)
    return lines.encode(), len(rows) - len(defined)


def _rows(result: Scores) -> Iterator[tuple[str, str, str, float]]:
    for score in result.runs:
        for name, interval in score.measures.items():
            for question, value in zip(result.key.questions, score.by_question.get(name, ()), strict=False):
                yield score.name, question.qid, name, float(value)
            yield score.name, ALL, name, float("nan") if interval.value is None else float(interval.value)
