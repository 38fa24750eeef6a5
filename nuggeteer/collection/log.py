"""The log of all verdicts and retractions in `judgements/`, in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nuggeteer.errors import Problem, stop_at_errors
from nuggeteer.fields import moment
from nuggeteer.formats.canonical import Anything, read_folder, unretracted
from nuggeteer.records import Judgement

_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A verdict or a retraction. `stands` says whether a verdict still counts."""

    entry: Anything
    when: datetime | None
    stands: bool


@dataclass(frozen=True, slots=True)
class AssessorTotals:
    """The verdicts of one assessor. `retracted` counts those that were taken back; no other count includes them."""

    assessor: str | None
    machine: bool
    yes: int
    partly: int
    no: int
    retracted: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Log:
    """The lines, newest last, and the totals of each assessor."""

    lines: tuple[LogLine, ...]
    shares: tuple[AssessorTotals, ...]
    problems: tuple[Problem, ...]


def read_log(root: Path, assessor: str | None = None, qid: str | None = None, nugget: str | None = None) -> Log:
    """The log of a collection, or of one assessor, question or nugget."""
    problems: list[Problem] = []
    entries = read_folder(root / "judgements", problems)
    stop_at_errors(problems)
    stand = {(verdict.file, verdict.line) for verdict in unretracted(entries)}
    wanted = {"assessor": assessor, "qid": qid, "nugget": nugget}
    lines = [
        LogLine(entry, moment(entry.record.at or ""), (entry.file, entry.line) in stand)
        for entry in entries
        if all(value in (None, getattr(entry.record, name)) for name, value in wanted.items())
    ]
    lines.sort(key=lambda line: line.when or _UNKNOWN)
    by: dict[tuple[str, bool], list[LogLine]] = {}
    for line in lines:
        if isinstance(line.entry.record, Judgement):
            by.setdefault((line.entry.record.assessor or "", line.entry.record.machine), []).append(line)
    return Log(tuple(lines), tuple(_share(by[who]) for who in sorted(by)), tuple(problems))


def _share(lines: Sequence[LogLine]) -> AssessorTotals:
    """The totals of one assessor's verdicts."""
    records = [line.entry.record for line in lines if line.stands]
    good = [record for record in records if isinstance(record, Judgement)]
    yes, partly = sum(record.verdict for record in good), sum(record.partial for record in good)
    times = [line.when for line in lines if line.when]
    first = lines[0].entry.record
    machine = isinstance(first, Judgement) and first.machine
    return AssessorTotals(
        first.assessor,
        machine,
        yes,
        partly,
        len(good) - yes - partly,
        len(lines) - len(good),
        min(times, default=None),
        max(times, default=None),
    )
