"""Distillers by cells of queries, and their citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.gale.citations import CheckedCitations
from nuggeteer.gale.distillation import MODELS, Cell
from nuggeteer.records import number_or_none
from nuggeteer.reports.formatting import UNDEFINED, number
from nuggeteer.reports.terminal import Sheet, plain, table

LISTED = 5


def as_json(cells: Sequence[Cell], citations: CheckedCitations | None, measures: Sequence[str]) -> dict[str, Any]:
    return {
        "cells": [_cell_as_json(cell, measures) for cell in cells],
        "citations": _citations_as_json(citations) if citations else None,
    }


def _cell_as_json(cell: Cell, measures: Sequence[str]) -> dict[str, Any]:
    scores = cell.scores
    return {
        "values": list(cell.values),
        "queries": [query.qid for query in scores.distillation.queries],
        "distillers": [
            {
                "distiller": name,
                **{
                    model: {one: number_or_none(scores.models[model].values[one][i]) for one in measures}
                    for model in MODELS
                },
            }
            for i, name in enumerate(scores.names)
        ],
    }


def _citations_as_json(checked: CheckedCitations) -> list[dict[str, Any]]:
    return [
        {
            "qid": one.qid,
            "distiller": one.distiller,
            "nugget": one.nugget,
            "docid": one.docid,
            "quoted": one.quoted,
            "share": one.share,
            "doubtful": one.doubtful,
        }
        for one in checked.citations
    ]


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
        why = "quotes what it does not say" if one.quoted is False else f"has {one.share or 0:.0%} of its words"
        out.print()
        out.print(plain(f"{one.distiller}, {one.qid}: {one.docid} {why}: {one.nugget}"))
    if len(checked.doubtful) > LISTED:
        out.print()
        out.print(f"and {len(checked.doubtful) - LISTED:,} more doubtful ones (--json)")
