"""Distillers by cells of queries, and their citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from rich.console import Console
from rich.text import Text

from nuggeteer.fields import about
from nuggeteer.gale.citations import CheckedCitations
from nuggeteer.gale.distillation import MEASURES, MODELS, Cell, DistillerScores
from nuggeteer.reports.formatting import UNDEFINED, number
from nuggeteer.reports.model import Number, Part
from nuggeteer.reports.terminal import Sheet, plain, table

LISTED = 5


class Statistics(Part):
    """What follows from the table."""

    precision: Number
    recall: Number
    rightness: Number
    accuracy: Number
    f: Number
    proficiency: Number
    cw_recall: Annotated[Number, about("Weighted by citations.")]
    cw_f: Annotated[Number, about("Weighted by citations.")]


def statistics(scores: DistillerScores, row: int) -> Statistics:
    return Statistics(**{name: float(scores.values[name][row]) for name in MEASURES})


class CellDistiller(Part):
    """A distiller on the queries of a cell."""

    distiller: str
    empirical: Statistics
    bayesian: Statistics


class ConditionCell(Part):
    """The queries of some conditions."""

    values: Annotated[Sequence[str | None], about("Of the conditions that `--by` names, in that order.")]
    queries: Sequence[str]
    distillers: Sequence[CellDistiller]


class CheckedCitation(Part):
    """A citation, compared with its document."""

    qid: str
    distiller: str
    nugget: str
    docid: str
    quoted: Annotated[bool | None, about("null without a quotation.")]
    share: Annotated[Number, about("Of the nugget's words that the document has; null without its text.")]
    partly: bool
    doubtful: bool


def cell_of(cell: Cell) -> ConditionCell:
    scores = cell.scores
    return ConditionCell(
        values=list(cell.values),
        queries=[query.qid for query in scores.distillation.queries],
        distillers=[
            CellDistiller(
                distiller=name,
                **{model: statistics(scores.models[model], i) for model in MODELS},
            )
            for i, name in enumerate(scores.names)
        ],
    )


def draw(
    out: Console,
    cells: Sequence[Cell],
    citations: CheckedCitations | None,
    shown: Sequence[str],
    titles: Mapping[str, str],
) -> None:
    if cells:
        out.print()
        out.print(_cells_table(cells, shown, titles))
    if citations:
        out.print()
        _draw_citations(out, citations)


def _cells_table(cells: Sequence[Cell], shown: Sequence[str], titles: Mapping[str, str]) -> Sheet:
    """The empirical measures of each distiller in each cell."""
    columns = [("queries of", "left"), ("distiller", "left"), *((titles.get(name, name), "right") for name in shown)]
    rows: list[list[str | Text]] = []
    for cell in cells:
        size = len(cell.scores.distillation.queries)
        named = f"{' × '.join(value or UNDEFINED for value in cell.values)} ({size})"
        for i, name in enumerate(cell.scores.names):
            values = cell.scores.models["empirical"].values
            row: list[str | Text] = [plain("" if i else named), plain(name, "bold")]
            rows.append([*row, *(number(float(values[one][i])) for one in shown)])
    return table("Empirical, by queries", columns, rows)


def _draw_citations(out: Console, checked: CheckedCitations) -> None:
    """A row for each distiller, then the most doubtful citations."""
    columns = [("distiller", "left"), *((name, "right") for name in ("cited", "text there", "quoted", "doubtful"))]
    rows: list[list[str | Text]] = []
    for name, own in checked.by_distiller.items():
        quoting = [one.quoted for one in own if one.quoted is not None]
        there = sum(one.share is not None or one.quoted is not None for one in own)
        quoted = f"{sum(quoting)} of {len(quoting)}" if quoting else UNDEFINED
        doubtful = str(sum(one.doubtful for one in own))
        rows.append([plain(name, "bold"), str(len(own)), str(there), quoted, doubtful])
    out.print(table("Citations of nuggets, against the documents", columns, rows))
    for one in sorted(checked.doubtful, key=lambda one: one.share or 0.0)[:LISTED]:
        why = f"has {one.share or 0:.0%} of its words"
        if one.quoted is False:
            why = "quotes what it does not say"
        elif one.partly:
            why = "is cited for a part of it; split the nugget"
        out.print()
        out.print(plain(f"{one.distiller}, {one.qid}: {one.docid} {why}: {one.nugget}"))
    if len(checked.doubtful) > LISTED:
        out.print()
        out.print(f"and {len(checked.doubtful) - LISTED:,} more doubtful ones (--json)")
