"""The files in `judgements/`: verdicts and retractions, and which verdicts were not retracted.

A retraction undoes its assessor's verdicts on that nugget and text (`text.normalised`) with an earlier `at`, in any
file. The order of files and lines means nothing. A verdict whose time is missing or unreadable counts as earlier than
every retraction. Nothing else undoes a verdict: an opposite verdict by the same assessor is a contradiction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from nuggeteer.errors import Problem
from nuggeteer.formats.append import quiet, torn
from nuggeteer.formats.canonical import JUDGEMENTS, RETRACTIONS, WrongLine
from nuggeteer.formats.fields import moment
from nuggeteer.formats.jsonl import GZIP, LONGEST_LINE, is_regular, json_lines_in, read_jsonl
from nuggeteer.records import Judgement, Retraction

Record = TypeVar("Record", covariant=True)
KEYS = (*JUDGEMENTS.checks, "retracted")


class Entry(NamedTuple, Generic[Record]):
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
    texts: dict[str, str] = {}
    seen: dict[tuple[str | None, ...], list[Judgement | Retraction]] = {}
    for path in json_lines_in(folder):
        for entry in read_file(path, problems, texts) if is_regular(path, problems, folder.parent) else ():
            record = entry.record
            identity = (record.assessor, record.at, record.run, record.qid, record.nugget, record.text)
            same = seen.setdefault(identity, [])
            if record not in same:
                same.append(record)
                found.append(entry)
    return found


def read_file(path: Path, problems: list[Problem], texts: dict[str, str] | None = None) -> Iterator[Anything]:
    """Every good line. A torn last line is only a warning, because its writing was never confirmed.

    An answer is judged for each nugget, and its text is on as many lines. It is kept once, in `texts`."""
    texts = {} if texts is None else texts
    file, earlier = str(path), len(problems)
    verdict, retraction = JUDGEMENTS.parse, RETRACTIONS.parse
    with quiet(path):
        for number, line in read_jsonl(path, problems, KEYS):
            if isinstance(text := line.get("text"), str):
                line["text"] = texts.setdefault(text, text)
            try:
                yield Entry(file, number, retraction(line) if "retracted" in line else verdict(line))
            except WrongLine as wrong:
                problems.extend(Problem(file, number, what, remedy) for what, remedy in wrong.args)
        if any(problem.severity == "error" for problem in problems[earlier:]) and (last := _torn_line(path)):
            what = "the last line is torn: it was not completely written, and its writing was never confirmed"
            remedy = "judging again moves it to a separate file; if this file is a copy, copy it again"
            rest = [problem for problem in problems[earlier:] if problem.line != last]
            problems[earlier:] = [*rest, Problem(file, last, what, remedy, "warning")]


def _torn_line(path: Path) -> int | None:
    """The number of a torn last line."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    rest = b"" if content.startswith(GZIP) else torn(content)  # nobody appends to a compressed file
    return content.count(b"\n") + 1 if rest and len(rest) <= LONGEST_LINE else None


def unretracted(entries: Sequence[Anything]) -> list[Verdict]:
    """The verdicts that were not retracted."""
    undone: dict[tuple[str | None, str, str], dict[str, datetime]] = {}
    for _, _, record in entries:
        if isinstance(record, Retraction) and (when := moment(record.at)):
            latest = undone.setdefault((record.assessor, record.qid, record.nugget), {})
            same = record.pair[2]
            latest[same] = max(when, latest.get(same, when))
    found: list[Verdict] = []
    for file, line, record in entries:
        if isinstance(record, Retraction):
            continue
        if undone and (latest := undone.get((record.assessor, record.qid, record.nugget), {})):
            end = latest.get(record.pair[2])
            if end and (record.at is None or (when := moment(record.at)) is None or when < end):
                continue
        found.append(Entry(file, line, record))
    return found
