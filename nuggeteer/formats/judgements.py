"""The files in `judgements/`: verdicts and retractions, and which verdicts were not retracted.

A retraction undoes its assessor's verdicts on that nugget and text (`text.normalised`) with an earlier `at`, in any
file. The order of files and lines means nothing. A verdict whose time is missing or unreadable counts as earlier than
every retraction. Nothing else undoes a verdict: an opposite verdict by the same assessor is a contradiction.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeGuard, TypeVar

import numpy as np
from msgspec import Struct

from nuggeteer.errors import Problem
from nuggeteer.fields import moment
from nuggeteer.formats.append import read_appended
from nuggeteer.formats.canonical import JUDGEMENTS, RETRACTIONS, WrongLine
from nuggeteer.formats.jsonl import is_regular, json_lines_in
from nuggeteer.records import Judgement, Retraction

Record = TypeVar("Record", covariant=True)
KEYS = (*JUDGEMENTS.checks, "retracted")


class Entry(Struct, Generic[Record], frozen=True, gc=False):
    """A record with its file and line."""

    file: str
    line: int
    record: Record

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}"


Anything = Entry[Judgement | Retraction]
Verdict = Entry[Judgement]


def counts_as_known(judgement: Judgement, as_truth: Collection[str]) -> bool:
    """Whether a verdict is a human's, or of a machine whose verdicts are the standard (`[judgements] as_truth`)."""
    return not judgement.machine or judgement.assessor in as_truth


def read_folder(folder: Path, problems: list[Problem]) -> list[Anything]:
    """Every good line of every file, by file and line. Repeated lines count once, because a merge may repeat them."""
    found: list[Anything] = []
    shared: dict[str, str] = {}
    marks = array("q")  # equal for equal records; a set of a million records would take as much room as they do
    for path in json_lines_in(folder):
        for entry in read_file(path, problems, shared) if is_regular(path, problems, folder.parent) else ():
            record = entry.record
            marks.append(hash((record.assessor, record.at, record.run, record.qid, record.nugget, record.text)))
            found.append(entry)
    order = np.argsort(marks, kind="stable")
    ordered = np.asarray(marks, dtype=np.int64)[order]
    again = set[int]()
    for end in np.flatnonzero(ordered[1:] == ordered[:-1]).tolist():
        first = int(np.searchsorted(ordered, ordered[end]))
        if any(found[order[end + 1]].record == found[i].record for i in order[first : end + 1].tolist()):
            again.add(int(order[end + 1]))
    return [entry for i, entry in enumerate(found) if i not in again] if again else found


def read_file(path: Path, problems: list[Problem], shared: dict[str, str] | None = None) -> Iterator[Anything]:
    """Every good line.

    An answer is judged for each nugget, and its text is on as many lines. It is kept once, in `shared`; so are names
    and times."""
    shared = {} if shared is None else shared
    file = str(path)
    verdict, retraction = JUDGEMENTS.parse, RETRACTIONS.parse
    for number, line in read_appended(path, problems, KEYS):
        for key in ("text", "run", "assessor", "at"):
            if type(value := line.get(key)) is str:
                line[key] = shared.setdefault(value, value)
        try:
            yield Entry(file, number, retraction(line) if "retracted" in line else verdict(line))
        except WrongLine as wrong:
            problems.extend(Problem(file, number, what, remedy) for what, remedy in wrong.args)


def unretracted(entries: Sequence[Anything]) -> list[Verdict]:
    """The verdicts that were not retracted."""
    undone: dict[tuple[str | None, str, str], dict[str, datetime]] = {}
    for entry in entries:
        record = entry.record
        if isinstance(record, Retraction) and (when := moment(record.at)):
            latest = undone.setdefault((record.assessor, record.qid, record.nugget), {})
            same = record.pair[2]
            latest[same] = max(when, latest.get(same, when))
    return [entry for entry in entries if _stands(entry, undone)]


def _stands(entry: Anything, undone: Mapping[tuple[str | None, str, str], dict[str, datetime]]) -> TypeGuard[Verdict]:
    record = entry.record
    if isinstance(record, Retraction):
        return False
    latest = undone.get((record.assessor, record.qid, record.nugget)) if undone else None
    end = latest.get(record.pair[2]) if latest else None
    return end is None or not (record.at is None or (when := moment(record.at)) is None or when < end)
