"""The log of judgements."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.collection.log import AssessorTotals, Log, LogLine
from nuggeteer.fields import as_written
from nuggeteer.records import Judgement
from nuggeteer.reports.formatting import UNDEFINED, shortened
from nuggeteer.reports.terminal import plain, table

SHOWN = 50  # lines; --json has all
LONGEST = 100  # characters of a text


def as_json(log: Log) -> dict[str, Any]:
    return {
        "log": [_line_as_json(line) for line in log.lines],
        "assessors": [_share_as_json(share) for share in log.shares],
    }


def _line_as_json(line: LogLine) -> dict[str, Any]:
    record = line.entry.record
    verdict = isinstance(record, Judgement)
    return {
        "at": record.at,
        "assessor": record.assessor,
        "qid": record.qid,
        "nugget": record.nugget,
        "verdict": record.verdict if isinstance(record, Judgement) else None,
        "partial": record.partial if isinstance(record, Judgement) else None,
        **({"contradicts": True} if isinstance(record, Judgement) and record.contradicts else {}),
        "machine": record.machine if isinstance(record, Judgement) else None,
        "retraction": not verdict,
        "stands": line.stands if verdict else None,
        "reason": record.reason,
        "text": record.text,
        "run": record.run,
        "source": record.extra.get("source"),
        "file": line.entry.file,
        "line": line.entry.line,
    }


def _share_as_json(share: AssessorTotals) -> dict[str, Any]:
    return {
        "assessor": share.assessor,
        "machine": share.machine,
        "yes": share.yes,
        "partly": share.partly,
        "no": share.no,
        "retracted": share.retracted,
        "first": share.first and as_written(share.first),
        "last": share.last and as_written(share.last),
    }


def draw(out: Console, found: Log) -> None:
    """The last lines, newest last, and a line for each assessor."""
    if not found.lines:
        out.print("No judgements.")
        return
    lines = found.lines[-SHOWN:]
    if len(found.lines) > len(lines):
        out.print(f"The last {len(lines)} of {len(found.lines):,} lines; --json has all.")
        out.print()
    columns = [
        ("when (UTC)", "fixed"),
        ("assessor", "left"),
        ("nugget", "left"),
        ("verdict", "fixed"),
        ("text, why", "wrap"),
    ]
    out.print(table("", columns, [row for line in lines for row in _rows(line)]))
    out.print()
    columns = [("assessor", "left"), ("", "left"), ("yes", "right"), ("partly", "right"), ("no", "right")]
    columns += [("taken back", "right"), ("first", "fixed"), ("last", "fixed")]
    out.print(table("", columns, [_share_row(share) for share in found.shares]))
    for remark in _remarks(found):
        out.print()
        out.print(remark)


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
