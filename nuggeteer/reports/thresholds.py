"""The threshold models, compared."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from nuggeteer.reports.formatting import number
from nuggeteer.reports.terminal import paragraph, plain, table
from nuggeteer.thresholds.selection import Thresholds

as_json = Thresholds.as_data


def draw(out: Console, result: Thresholds) -> None:
    """The paper's table 4, with what was chosen and why."""
    out.print(
        f"{result.pairs:,} judged pairs, {result.positive:,} of them yes, from {result.groups} groups of systems."
    )
    out.print()
    columns = [("model", "left"), ("fitted separately", "wrap"), ("evidence", "right"), ("held-out", "right")]
    rows = []
    for model in result.models:
        style = "bold" if model.name == result.chosen else ""
        cells = (model.name, model.own_parameters, number(model.log10_evidence, 1), number(model.log_score, 4))
        rows.append([Text(cell, style) for cell in cells])
    out.print(table("", columns, rows))
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
    out.print(plain(f"Best here: {result.chosen}, because {why}."))
    if result.chosen != "smooth":
        out.print(
            "Without [threshold] model, score still uses smooth: it is the only one that allows for a new system being "
            "unlike all others."
        )
