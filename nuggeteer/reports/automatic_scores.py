"""The scores of distillers by automatic nuggets."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.gale.automatic import Answer, AutomaticScores, Means
from nuggeteer.reports.formatting import UNDEFINED, between, counted, lacks_interval, no_interval, number
from nuggeteer.reports.snippet_nuggets import nugget_as_json
from nuggeteer.reports.terminal import Sheet, plain, table
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped


def as_json(result: AutomaticScores) -> dict[str, Any]:
    return {
        "model": result.model,
        "queries": [
            {
                "qid": qid,
                "template": template.name,
                "distillers": [_answer_as_json(a) for a in result.answers if a.qid == qid],
            }
            for qid, template in result.templates.items()
        ],
        "distillers": _means_as_json(result.means),
        "by": list(result.by),
        "cells": [
            {
                "values": list(cell.values),
                "snippets": cell.snippets,
                "queries": cell.queries,
                "distillers": _means_as_json(cell.means),
            }
            for cell in result.cells
        ],
        "snippets": [
            {
                "qid": snippet.qid,
                "distiller": snippet.distiller,
                "judged": snippet.judged,
                "stretches": [
                    {"text": text, "nuggets": [nugget_as_json(nugget, text) for nugget in found]}
                    for text, found in stretches
                ],
            }
            for snippet, stretches in result.snippets
        ],
    }


def _answer_as_json(answer: Answer) -> dict[str, Any]:
    return {
        "distiller": answer.distiller,
        **dict(answer.nuggets.items()),
        "precision": answer.precision,
        "recall": answer.recall,
        "nugs": answer.nugs,
        "of": answer.total_nugs,
    }


def _means_as_json(means: Means) -> list[dict[str, Any]]:
    return [
        {"distiller": name, **{key: _mean_as_json(mean) for key, mean in own.items()}} for name, own in means.items()
    ]


def _mean_as_json(interval: Interval) -> dict[str, float | None]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def draw(out: Console, result: AutomaticScores) -> None:
    """Each query and distiller, then each distiller's means."""
    columns = [("query", "left"), ("distiller", "left"), ("right", "right"), ("irrelevant", "right")]
    columns += [("redundant", "right"), ("precision", "right"), ("nugs", "right"), ("recall", "right")]
    rows: list[list[str | Text]] = []
    last = None
    for answer in result.answers:
        row: list[str | Text] = [plain(answer.qid if answer.qid != last else "", "bold"), plain(answer.distiller)]
        row += [str(answer.nuggets[verdict]) for verdict in ("relevant", "irrelevant", "redundant")]
        rows.append([*row, number(answer.precision), f"{answer.nugs}/{answer.total_nugs}", number(answer.recall)])
        last = answer.qid
    out.print(table("", columns, rows))
    out.print()
    out.print(_means_table(f"Means over {counted(len(result.templates), 'query', 'queries')}", result.means))
    out.print()
    for cell in result.cells:
        named = " × ".join(value or UNDEFINED for value in cell.values)
        queries = counted(cell.queries, "query", "queries")
        out.print(_means_table(f"{named}: {counted(cell.snippets, 'snippet')}, {queries}", cell.means))
        out.print()
    every = [result.means, *(cell.means for cell in result.cells)]
    means = [mean for group in every for of_distiller in group.values() for mean in of_distiller.values()]
    templates = ", ".join(dict.fromkeys(template.name for template in result.templates.values()))
    for line in (
        f"Templates: {templates}. right: nuggets in the selected text of relevant snippets. precision: the share of "
        "nuggets that is right. nugs: right nuggets that say the same count once. recall: the share of the nugs that "
        "any distiller found.",
        "The intervals cover the choice of queries.",
        *([no_interval("queries")] if any(map(lacks_interval, means)) else []),
    ):
        out.print(plain(line))
    out.print(plain(result.model, "dim"))


def _means_table(title: str, means: Means) -> Sheet:
    columns = [("distiller", "left"), ("precision", "right"), ("95 % interval", "fixed"), ("recall", "right")]
    columns += [("95 % interval", "fixed")]
    rows: list[list[str | Text]] = [
        [plain(name, "bold"), *(cell for mean in own.values() for cell in (number(mean.value), between(mean)))]
        for name, own in means.items()
    ]
    return table(escaped(title), columns, rows)
