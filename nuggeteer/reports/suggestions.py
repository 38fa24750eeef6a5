"""The pairs to judge next, and what judging them is expected to bring."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.judging.state import JudgingState
from nuggeteer.judging.suggest import Suggestion
from nuggeteer.records import Run
from nuggeteer.reports.formatting import chance, number
from nuggeteer.reports.passages import beginning
from nuggeteer.reports.terminal import plain, table

AFTER = (10, 30, 100)  # verdicts


def _runs(state: JudgingState) -> list[Run]:
    return [matched.run for matched in state.matched_runs]


def as_json(state: JudgingState) -> dict[str, Any]:
    """The best suggestion first. `share` is the part of the judging variance that a verdict is expected to remove,
    after the verdicts before it; `chance` that the pair was drawn next, null for one that was drawn before."""
    ahead, runs = state.forecast, _runs(state)
    return {
        "run": runs[0].name,
        "against": runs[1].name if len(runs) > 1 else None,
        "measure": state.measure.name,
        "value": state.interval.value,
        "judging": state.interval.judging,
        "suggestions": [_suggestion_as_json(state, suggestion) for suggestion in state.suggested],
        "width_after": None if ahead is None else {str(k): ahead.width_after(k) for k in (0, *AFTER)},
    }


def _suggestion_as_json(state: JudgingState, suggestion: Suggestion) -> dict[str, Any]:
    nugget, run = state.key.nuggets[suggestion.nugget], _runs(state)[suggestion.run]
    return {
        "qid": nugget.qid,
        "nugget": nugget.nugget,
        "run": run.name,
        "rank": run.rank(suggestion.response),
        "docid": run.docid(suggestion.response),
        "text": run.texts[suggestion.response],
        "probability": suggestion.probability,
        "share": suggestion.share,
        "chance": suggestion.chance or None,
    }


def draw(out: Console, state: JudgingState) -> None:
    """One line for each pair, and how wide the judging part is likely to be after more verdicts."""
    if state.forecast is None:
        out.print(
            "A fixed threshold cannot say how sure its guesses are, so no pair is more worth judging than another."
        )
        return
    runs = _runs(state)
    names = " → ".join(run.name for run in reversed(runs))
    if not state.suggested:
        out.print(plain(f"{names}: no verdict would make {state.measure.title} surer."))
        return
    columns = [("qid", "left"), ("#", "left"), ("", "fixed"), ("narrows by", "right"), ("guess", "right")]
    columns += [("rank", "right"), ("response", "wrap")]
    if len(runs) > 1:
        columns.insert(5, ("run", "left"))
    rows: list[list[str | Text]] = []
    for suggestion in state.suggested:
        nugget, run = state.key.nuggets[suggestion.nugget], runs[suggestion.run]
        row: list[str | Text] = [plain(nugget.qid), plain(nugget.nugget), nugget.importance]
        row += [f"{100 * suggestion.share:.1f} %", chance(suggestion.probability)]
        row += [plain(run.name)] if len(runs) > 1 else []
        rows.append([*row, str(run.rank(suggestion.response)), Text(beginning(run.texts[suggestion.response], 80))])
    out.print(table(f"{names}: to judge next", columns, rows))
    out.print()
    low, high = state.forecast.now
    counts = sorted({min(k, int(state.forecast.judgements[-1])) for k in AFTER})
    later = ", ".join(f"{number(state.forecast.width_after(k))} after {k}" for k in counts)
    what = state.measure.title if len(runs) == 1 else f"Change of {state.measure.title}"
    out.print(
        plain(
            f"{what}: the guesses alone make the interval {number(high - low)} wide; that is likely to be {later} "
            "verdicts. narrows by: the share of its variance that a verdict takes away, given the verdicts above it."
        )
    )
