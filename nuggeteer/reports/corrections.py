"""Automatic nuggets compared with those that a human has corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.gale.automatic import Corrections
from nuggeteer.reports.formatting import UNDEFINED, counted, number, p_value, percent, signed
from nuggeteer.reports.terminal import Sheet, plain, table


def as_json(result: Corrections) -> dict[str, Any]:
    return {
        "model": result.model,
        "conditions": [
            {
                "condition": None if counts.condition is None else _condition_as_json(result, counts.condition),
                "snippets": counts.snippets,
                "corrected": counts.corrected,
                "automatic": counts.automatic,
                "difference": counts.difference,
            }
            for counts in result.counts
        ],
        "per_snippet": asdict(result.mean),
        "without_template": result.without_template,
        "types": [
            {
                "type": one.type,
                "corrected": one.corrected,
                "automatic": one.automatic,
                "exact": one.exact,
                "near": one.near,
                "precision": one.precision(),
                "recall": one.recall(),
                "f1": one.f1(),
                "near_precision": one.precision(near=True),
                "near_recall": one.recall(near=True),
                "near_f1": one.f1(near=True),
            }
            for one in result.types
        ],
        "snippets": [
            {"qid": snippet.qid, "snippet": snippet.snippet, "corrected": len(snippet.nuggets), "automatic": count}
            for snippet, count in result.automatic
        ],
    }


def _condition_as_json(result: Corrections, condition: Sequence[str]) -> dict[str, str | None]:
    return {name: value or None for name, value in zip(result.conditions, condition, strict=True)}


def draw(out: Console, result: Corrections) -> None:
    """Counts by condition, then the mean difference in a snippet."""
    columns = [("condition", "left"), ("snippets", "right"), ("corrected nuggets", "right")]
    columns += [("automatic nuggets", "right"), ("too few", "right")]
    rows: list[list[str | Text]] = []
    for counts in result.counts:
        name = "overall" if counts.condition is None else ", ".join(value or "(none)" for value in counts.condition)
        row: list[str | Text] = [plain(name, "bold" if counts.condition is None else "")]
        row += [f"{counts.snippets:,}", f"{counts.corrected:,}", f"{counts.automatic:,}"]
        rows.append([*row, UNDEFINED if counts.difference is None else _too_few(counts.difference)])
    out.print(table("", columns, rows))
    out.print()
    mean = result.mean
    if mean.p is None or mean.low is None or mean.high is None:
        interval = "; there is no interval, because the snippets are too few or too alike"
    else:
        p = f"{mean.p:.1g}" if mean.p < 0.0001 else p_value(mean.p)
        interval = f", 95 % interval {signed(mean.low)} to {signed(mean.high)}, p {p}"
    out.print(plain(f"Corrected minus automatic nuggets, in a snippet: {signed(mean.mean)}{interval}"))
    out.print()
    out.print(_types(result))
    out.print(
        "near: also those with other boundaries, which share half of the letters and digits of the longer of the two"
    )
    if result.without_template:
        without = counted(result.without_template, "snippet")
        out.print(plain(f"{without} without a template: nuggets of all types count in these."))
    out.print(plain(result.model, "dim"))


def _types(result: Corrections) -> Sheet:
    columns = [("type", "wrap"), ("corrected", "right"), ("automatic", "right")]
    columns += [(name, "right") for name in ("precision", "recall", "F1")]
    columns += [(f"near {name}", "right") for name in ("precision", "recall", "F1")]
    rows: list[list[str | Text]] = []
    for one in result.types:
        cells = [measure(near) for near in (False, True) for measure in (one.precision, one.recall, one.f1)]
        name = plain(one.type or "all", "" if one.type else "bold")
        rows.append([name, f"{one.corrected:,}", f"{one.automatic:,}", *(number(cell, 2) for cell in cells)])
    return table("", columns, rows)


def _too_few(difference: float) -> str:
    return f"−{percent(-difference)}" if difference < 0 else percent(difference)
