"""The threshold models, compared."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from nuggeteer.reports.formatting import counted, number
from nuggeteer.reports.terminal import left, paragraph, right, say, table, wrap
from nuggeteer.thresholds.selection import Thresholds

as_json = Thresholds.as_data


def draw(out: Console, result: Thresholds) -> None:
    """The paper's table 4, with what was chosen and why."""
    pairs = f"{result.pairs:,} judged pairs, {result.positive:,} of them yes"
    say(out, f"{pairs}, from {counted(result.groups, 'group')} of systems.", "")
    sheet = table("", left("model") + wrap("fitted separately") + right("evidence", "held-out"))
    for model in result.models:
        style = "bold" if model.name == result.chosen else ""
        cells = (model.name, model.own_parameters, number(model.log10_evidence, 1), number(model.log_score, 4))
        sheet.add_row(*(Text(cell, style) for cell in cells))
    out.print(sheet)
    paragraph(
        out,
        "evidence: log10 P(data | model). held-out: fitted without one group of systems at a time, the mean logarithm "
        "of the probability given to that group's verdicts. Higher is better in both.",
    )
    out.print()
    if any(model.log_score is not None for model in result.models):
        why = "it predicts systems that it has not seen best"
    else:
        why = "it has the highest evidence (with fewer than two groups of systems, none can be left out)"
    say(out, f"Best here: {result.chosen}, because {why}.")
    if result.chosen != "smooth":
        only = "it is the only one that allows for a new system being unlike all others"
        say(out, f"Without [threshold] model, score still uses smooth: {only}.")
