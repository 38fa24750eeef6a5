"""The log of judgements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import UNSET, UnsetType
from rich.console import Console
from rich.text import Text

from nuggeteer.collection.log import AssessorTotals, Log, LogLine
from nuggeteer.fields import Count, Part, about, as_written, copied
from nuggeteer.records import Judgement
from nuggeteer.reports.formatting import UNDEFINED, shortened
from nuggeteer.reports.terminal import fixed, left, paragraphs, plain, right, table, wrap

SHOWN = 50  # lines; --json has all
LONGEST = 100  # characters of a text


class LogLineOutput(Part, kw_only=True):
    """A verdict, or a retraction."""

    at: str | None
    assessor: str | None
    qid: str
    nugget: str
    verdict: Annotated[bool | None, about("null for a retraction.")]
    partial: Annotated[bool | None, about("null for a retraction.")]
    contradicts: Annotated[bool, about("The answer says the opposite. Otherwise left out.")] | UnsetType = UNSET
    machine: Annotated[bool | None, about("null for a retraction.")]
    retraction: bool
    stands: Annotated[bool | None, about("false for a verdict that was retracted; null for a retraction.")]
    reason: str | None
    text: str
    run: str | None
    source: Annotated[Any, about("Where the verdict was given, as its line says; null if it does not.")]
    file: str
    line: Count


class AssessorTotalsOutput(Part):
    """The verdicts of one assessor."""

    assessor: str | None
    machine: bool
    yes: Annotated[Count, about("Without those that were retracted, as `partly` and `no`.")]
    partly: Count
    no: Count
    retracted: Count
    first: Annotated[str | None, about("When the first was given, in UTC.")]
    last: str | None


class LogOutput(Part):
    """Verdicts and retractions, newest last."""

    log: Sequence[LogLineOutput]
    assessors: Sequence[AssessorTotalsOutput]


def as_json(log: Log) -> dict[str, Any]:
    return LogOutput(
        log=[_line(line) for line in log.lines],
        assessors=[
            copied(
                AssessorTotalsOutput,
                share,
                first=share.first and as_written(share.first),
                last=share.last and as_written(share.last),
            )
            for share in log.shares
        ],
    ).as_data()


def _line(line: LogLine) -> LogLineOutput:
    record = line.entry.record
    verdict = record if isinstance(record, Judgement) else None
    return copied(
        LogLineOutput,
        record,
        verdict=verdict and verdict.verdict,
        partial=verdict and verdict.partial,
        contradicts=True if verdict and verdict.contradicts else UNSET,
        machine=verdict and verdict.machine,
        retraction=verdict is None,
        stands=line.stands if verdict else None,
        source=record.extra.get("source"),
        file=line.entry.file,
        line=line.entry.line,
    )


def draw(out: Console, found: Log) -> None:
    """The last lines, newest last, and a line for each assessor."""
    if not found.lines:
        out.print("No judgements.")
        return
    lines = found.lines[-SHOWN:]
    if len(found.lines) > len(lines):
        out.print(f"The last {len(lines)} of {len(found.lines):,} lines; --json has all.")
        out.print()
    columns = fixed("when (UTC)") + left("assessor", "nugget") + fixed("verdict") + wrap("text, why")
    out.print(table("", columns, (row for line in lines for row in _rows(line))))
    out.print()
    columns = left("assessor", "") + right("yes", "partly", "no", "taken back") + fixed("first", "last")
    out.print(table("", columns, map(_share_row, found.shares)))
    paragraphs(out, _remarks(found))


def _rows(line: LogLine) -> Iterator[list[Text]]:
    """A line with as much of the text as fits, and a line with the reason."""
    record = line.entry.record
    style = ""
    if isinstance(record, Judgement):
        verdict = record.word
        if not line.stands:
            verdict, style = f"({verdict})", "dim"
    else:
        verdict = "taken back"
    text = plain(shortened(record.text, LONGEST), style)
    text.no_wrap, text.overflow = True, "ellipsis"
    nugget = f"{shortened(record.qid, 14)}/{shortened(record.nugget, 8)}"
    yield [plain(_time(line.when), style), _assessor(record.assessor), plain(nugget, style), Text(verdict, style), text]
    if record.reason:
        yield [Text()] * 4 + [plain(f"– {record.reason}", "italic")]


def _share_row(share: AssessorTotals) -> list[str | Text]:
    counts = [f"{count:,}" for count in (share.yes, share.partly, share.no, share.retracted)]
    machine = "machine" if share.machine else ""
    return [_assessor(share.assessor), machine, *counts, _time(share.first)[:10], _time(share.last)[:10]]


def _remarks(log: Log) -> Iterator[str]:
    if any(not line.stands and isinstance(line.entry.record, Judgement) for line in log.lines):
        yield "Verdicts in brackets were taken back."
    if any(share.machine for share in log.shares):
        yield "A machine's verdicts are kept and compared. They count as known only if the settings say so (as_truth)."


def _assessor(assessor: str | None) -> Text:
    return Text(UNDEFINED) if assessor is None else plain(shortened(assessor, 12))


def _time(when: datetime | None) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M}" if when else UNDEFINED
