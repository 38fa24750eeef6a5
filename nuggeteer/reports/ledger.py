"""The log of judgements, and what became of an import: as JSON, and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.collection.importing import Imported
from nuggeteer.collection.log import Line, Log, Share
from nuggeteer.records import Judgement
from nuggeteer.reports.terminal import UNDEFINED, plain, table

SHOWN = 50  # lines; --json has all
LONGEST = 100  # characters of a text


def log_json(log: Log) -> dict[str, Any]:
    return {"log": [_line(line) for line in log.lines], "assessors": [_share(share) for share in log.shares]}


def _line(line: Line) -> dict[str, Any]:
    record = line.entry.record
    verdict = isinstance(record, Judgement)
    return {
        "at": record.at,
        "assessor": record.assessor,
        "qid": record.qid,
        "nugget": record.nugget,
        "verdict": record.verdict if isinstance(record, Judgement) else None,
        "partial": record.partial if isinstance(record, Judgement) else None,
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


def _share(share: Share) -> dict[str, Any]:
    return {
        "assessor": share.assessor,
        "machine": share.machine,
        "yes": share.yes,
        "partly": share.partly,
        "no": share.no,
        "retracted": share.retracted,
        "first": share.first and share.first.astimezone(UTC).isoformat(),
        "last": share.last and share.last.astimezone(UTC).isoformat(),
    }


def log(out: Console, found: Log) -> None:
    """The last lines, newest last, and a line for each assessor."""
    if not found.lines:
        out.print("No judgements.")
        return
    lines = found.lines[-SHOWN:]
    if len(found.lines) > len(lines):
        out.print(f"The last {len(lines)} of {len(found.lines):,} lines; --json has all.")
        out.print()
    columns = [("when (UTC)", "left"), ("who", "left"), ("nugget", "left"), ("verdict", "left"), ("text, why", "wrap")]
    out.print(table("", columns, [row for line in lines for row in _rows(line)]))
    out.print()
    columns = [("who", "left"), ("", "left"), ("yes", "right"), ("partly", "right"), ("no", "right")]
    columns += [("taken back", "right"), ("first", "left"), ("last", "left")]
    out.print(table("", columns, [_sum(share) for share in found.shares]))
    for remark in _remarks(found):
        out.print()
        out.print(remark)


def _rows(line: Line) -> Iterator[list[Text]]:
    """A line with as much of the text as there is room for, and one with the reason."""
    record = line.entry.record
    style = ""
    if isinstance(record, Judgement):
        verdict = "yes" if record.verdict else "partly" if record.partial else "no"
        if not line.stands:
            verdict, style = f"({verdict})", "dim"
    else:
        verdict = "taken back"
    said = plain(_short(record.text), style)
    said.no_wrap, said.overflow = True, "ellipsis"
    nugget = f"{_short(record.qid, 14)}/{_short(record.nugget, 8)}"
    yield [plain(_time(line.when), style), _who(record.assessor), plain(nugget, style), Text(verdict, style), said]
    if record.reason:
        yield [Text()] * 4 + [plain(f"– {record.reason}", "italic")]


def _sum(share: Share) -> list[str | Text]:
    counts = [f"{count:,}" for count in (share.yes, share.partly, share.no, share.retracted)]
    machine = "machine" if share.machine else ""
    return [_who(share.assessor), machine, *counts, _time(share.first)[:10], _time(share.last)[:10]]


def _remarks(log: Log) -> Iterator[str]:
    if any(not line.stands and isinstance(line.entry.record, Judgement) for line in log.lines):
        yield "In brackets: taken back."
    if any(share.machine for share in log.shares):
        yield "A machine's verdicts are kept and compared; they are never taken as known."


def _who(assessor: str | None) -> Text:
    return Text(UNDEFINED) if assessor is None else plain(_short(assessor, 12))


def _time(when: datetime | None) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M}" if when else UNDEFINED


def _short(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def imported_json(done: Imported) -> dict[str, Any]:
    return {
        "assessor": done.assessor,
        "file": str(done.ledger),
        "written": len(done.written),
        "already": done.already,
        "retracted": done.retracted,
        "unjudged": done.unjudged,
        "contradicting": done.contradicting,
        "machine": any(judgement.machine for judgement in done.written),
        "problems": [str(problem) for problem in done.problems],
    }


def imported(out: Console, done: Imported) -> None:
    """What became of each verdict of the file."""
    out.print(
        plain(f"{_many(len(done.written), 'verdict')} of {done.assessor} written to {done.ledger}"), soft_wrap=True
    )
    for count, what in (
        (done.already, "there already, not written again"),
        (done.retracted, f"taken back by {done.assessor} since, not written again"),
        (done.unjudged, "without a verdict, left out"),
    ):
        if count:
            out.print(plain(f"{_many(count, 'row')} {what}"), soft_wrap=True)
    if done.contradicting:
        verb = "contradicts" if done.contradicting == 1 else "contradict"
        what = f"{done.contradicting:,} of them {verb} another assessor; nuggeteer check lists where"
        out.print(plain(what), soft_wrap=True)
    if any(judgement.machine for judgement in done.written):
        out.print("These are a machine's: they are kept and compared, and never taken as known.", soft_wrap=True)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
