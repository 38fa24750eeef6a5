"""The pairs most worth judging, and what judging them is expected to bring: as JSON, and on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.judging.suggest import Forecast, Suggestion
from nuggeteer.measures import Measure
from nuggeteer.records import AnswerKey, Run
from nuggeteer.reports.passages import beginning
from nuggeteer.reports.terminal import chance, number, plain, table
from nuggeteer.statistics.intervals import Interval

AFTER = (10, 30, 100)  # verdicts


@dataclass(frozen=True)
class SuggestionReport:
    """What judging would tell of a run's score or, with a second run, of its difference to that. `forecast` is None
    where the threshold model cannot say how sure it is."""

    key: AnswerKey
    runs: tuple[Run, ...]
    measure: Measure
    interval: Interval
    suggestions: Sequence[Suggestion]
    forecast: Forecast | None


def suggestions_as_json(found: SuggestionReport) -> dict[str, Any]:
    """Best first; `share` of the judging variance is what a verdict is expected to take off, given those before it."""
    ahead = found.forecast
    return {
        "run": found.runs[0].name,
        "against": found.runs[1].name if len(found.runs) > 1 else None,
        "measure": found.measure.name,
        "value": found.interval.value,
        "judging": found.interval.judging,
        "suggestions": [_line(found, one) for one in found.suggestions],
        "width_after": None if ahead is None else {str(k): ahead.width_after(k) for k in (0, *AFTER)},
    }


def _line(found: SuggestionReport, one: Suggestion) -> dict[str, Any]:
    nugget, run = found.key.nuggets[one.nugget], found.runs[one.run]
    return {
        "qid": nugget.qid,
        "nugget": nugget.nugget,
        "run": run.name,
        "rank": _rank(run, one.response),
        "docid": run.docid(one.response),
        "text": run.texts[one.response],
        "probability": one.probability,
        "share": one.share,
    }


def suggestions(out: Console, found: SuggestionReport) -> None:
    """One line a pair, and how wide the judging part is likely to be after more of them."""
    if found.forecast is None:
        out.print("A fixed threshold cannot say how sure it is, so nothing is more worth judging than the rest.")
        return
    names = " → ".join(run.name for run in reversed(found.runs))
    if not found.suggestions:
        out.print(plain(f"{names}: no verdict would tell more of {found.measure.title}."))
        return
    columns = [("qid", "left"), ("#", "left"), ("", "left"), ("takes off", "right"), ("guess", "right")]
    columns += [("rank", "right"), ("response", "wrap")]
    if len(found.runs) > 1:
        columns.insert(5, ("run", "left"))
    rows: list[list[str | Text]] = []
    for one in found.suggestions:
        nugget, run = found.key.nuggets[one.nugget], found.runs[one.run]
        row: list[str | Text] = [plain(nugget.qid), plain(nugget.nugget), nugget.importance]
        row += [f"{100 * one.share:.1f} %", chance(one.probability)]
        row += [plain(run.name)] if len(found.runs) > 1 else []
        rows.append([*row, str(_rank(run, one.response)), Text(beginning(run.texts[one.response], 80))])
    out.print(table(f"{names}: worth judging, best first", columns, rows))
    out.print()
    low, high = found.forecast.now
    later = ", ".join(f"{number(found.forecast.width_after(k))} after {k}" for k in AFTER)
    what = found.measure.title if len(found.runs) == 1 else f"Change of {found.measure.title}"
    out.print(
        plain(
            f"{what}: guesses alone leave an interval {number(high - low)} wide, likely {later} verdicts. takes off: "
            "of its variance, given the verdicts before."
        )
    )


def _rank(run: Run, response: int) -> int:
    return response - int(run.offsets[run.question[response]]) + 1
