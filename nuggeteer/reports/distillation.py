"""The scores of distillers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.fields import about
from nuggeteer.gale.citations import CheckedCitations
from nuggeteer.gale.distillation import CELLS, MEASURES, MODELS, Cell, Distilled, DistillerScores, Range
from nuggeteer.records import Vector
from nuggeteer.reports import distillation_slices
from nuggeteer.reports.distillation_slices import CheckedCitation, ConditionCell, Statistics, cell_of, statistics
from nuggeteer.reports.formatting import UNDEFINED, counted, no_interval, number
from nuggeteer.reports.model import Ends, Notes, Number, Part, copied
from nuggeteer.reports.terminal import Sheet, plain, table

SHOWN = ("precision", "recall", "rightness", "f", "proficiency")
TITLES = {"f": "F", "cw_f": "CW-F"}
HEADS = {"empirical": "Empirical: the counts as they are", "bayesian": "Bayesian: with {} added to {}"}


Intervals = Annotated[Mapping[str, Mapping[str, Ends | None]], about("By model and by statistic.")]


class CellCounts(Part):
    """The table of a distiller."""

    right: Number
    wrong: Number
    missing: Number
    other: Number


class QueryCounts(CellCounts, kw_only=True):
    """The table of a query, without the order of magnitude of other nugs."""

    qid: str


class NugCounts(CellCounts, kw_only=True):
    """The table of a nug, without irrelevant text."""

    qid: str
    nug: str
    redundant: float


class DistillerOutput(CellCounts, kw_only=True):
    """A distiller with its whole table."""

    distiller: str
    kind: str | None
    empirical: Statistics
    bayesian: Statistics
    intervals: Intervals
    per_query: Sequence[QueryCounts]
    nugs: Sequence[NugCounts]


class RatioOutput(Part):
    """A machine over the mean of the humans."""

    distiller: str
    humans: Sequence[str]
    empirical: Statistics
    bayesian: Statistics
    intervals: Intervals


class DistillOutput(Part):
    """Statistics of distillers (White et al. 2008)."""

    queries: Sequence[str]
    prior: CellCounts
    notes: Notes
    distillers: Sequence[DistillerOutput]
    ratios: Annotated[Sequence[RatioOutput], about("If there are humans.")]
    cells: Annotated[Sequence[ConditionCell], about("With `--by`.")]
    citations: Annotated[Sequence[CheckedCitation] | None, about("With `--documents`.")]


def as_json(result: Distilled, cells: Sequence[Cell] = (), citations: CheckedCitations | None = None) -> dict[str, Any]:
    by_query, _ = result.counts.by_query()
    queries, nugs = result.distillation.queries, result.distillation.nugs
    return DistillOutput(
        queries=[query.qid for query in queries],
        prior=CellCounts(**dict(zip(CELLS, result.prior, strict=True))),
        notes=result.notes,
        distillers=[
            DistillerOutput(
                distiller=distiller.distiller,
                kind=distiller.kind,
                **_cells(result.tables[i]),
                **_by_model(result.models, i),
                per_query=[QueryCounts(qid=query.qid, **_cells(by_query[i, q])) for q, query in enumerate(queries)],
                nugs=[
                    NugCounts(
                        qid=nug.qid,
                        nug=nug.nug,
                        **_cells(result.counts.cells[i, k]),
                        redundant=float(result.counts.redundant[i, k]),
                    )
                    for k, nug in enumerate(nugs)
                ],
            )
            for i, distiller in enumerate(result.distillation.distillers)
        ],
        ratios=[
            RatioOutput(distiller=result.names[machine], humans=result.humans, **_by_model(result.ratios, row))
            for row, machine in enumerate(result.machines)
        ],
        cells=[cell_of(cell) for cell in cells],
        citations=[copied(CheckedCitation, one) for one in citations.citations] if citations else None,
    ).as_data()


def _cells(row: Vector) -> dict[str, Any]:
    return {cell: float(value) for cell, value in zip(CELLS, row, strict=True)}


def _by_model(models: Mapping[str, DistillerScores], row: int) -> dict[str, Any]:
    intervals = {model: {name: scores.intervals[name][row] for name in MEASURES} for model, scores in models.items()}
    return {**{model: statistics(scores, row) for model, scores in models.items()}, "intervals": intervals}


def draw(
    out: Console, result: Distilled, cells: Sequence[Cell] = (), citations: CheckedCitations | None = None
) -> None:
    """Counts, then each model's measures with their intervals below, then cells and citations."""
    _counts(out, result)
    for model in MODELS:
        head = HEADS[model].format(*_prior(result.prior))
        out.print()
        out.print(_measures(head, result.names, result.models[model], _with_citations(result)))
    for model, ratio in result.ratios.items():
        names = [result.names[machine] for machine in result.machines]
        head = f"{model.capitalize()}: machines over the mean of the humans ({', '.join(result.humans)})"
        out.print()
        out.print(_measures(head, names, ratio, _with_citations(result)))
    distillation_slices.draw(out, cells, citations, SHOWN, TITLES)
    for line in _remarks(result):
        out.print()
        out.print(plain(line))


def _counts(out: Console, result: Distilled) -> None:
    kinds = any(distiller.kind for distiller in result.distillation.distillers)
    columns = [("distiller", "left"), *([("", "left")] if kinds else []), *((cell, "right") for cell in CELLS)]
    columns.append(("redundant", "right"))
    rows: list[list[str | Text]] = []
    for i, distiller in enumerate(result.distillation.distillers):
        row: list[str | Text] = [plain(distiller.distiller, "bold")]
        row += [distiller.kind or UNDEFINED] if kinds else []
        row += [number(value, 2) for value in result.tables[i, :-1]] + [_large(result.tables[i, -1])]
        rows.append([*row, number(float(result.counts.redundant[i].sum()), 2)])
    queries, nugs = len(result.distillation.queries), len(result.distillation.nugs)
    title = f"{counted(queries, 'query', 'queries')}, {counted(nugs, 'nug', 'nugs')}"
    out.print(table(title, columns, rows))


def _large(value: float) -> str:
    return UNDEFINED if math.isnan(value) else f"{value:,.2f}"


def _prior(prior: Sequence[float]) -> tuple[str, str]:
    if len(set(prior)) == 1:
        return f"{prior[0]:g}", "every cell"
    return ", ".join(f"{value:g}" for value in prior), ", ".join(CELLS)


def _with_citations(result: Distilled) -> bool:
    return any(nugget.citations is not None for nugget in result.distillation.nuggets)


def _measures(title: str, names: Sequence[str], scores: DistillerScores, cited: bool) -> Sheet:
    shown = [*SHOWN[:4], "cw_f", *SHOWN[4:]] if cited else list(SHOWN)
    columns = [("distiller", "left"), *((TITLES.get(name, name), "right") for name in shown)]
    with_intervals = any(interval for name in shown for interval in scores.intervals[name])
    rows: list[list[str | Text]] = []
    for i, who in enumerate(names):
        row: list[str | Text] = [plain(who, "bold")]
        for name in shown:
            cell = Text(number(float(scores.values[name][i])))
            if with_intervals:
                cell.append(f"\n{_between(scores.intervals[name][i])}", "dim")
            row.append(cell)
        rows.append(row)
    return table(title, columns, rows)


def _between(interval: Range) -> str:
    return UNDEFINED if interval is None else f"{interval[0]:.2f}–{interval[1]:.2f}"


def _remarks(result: Distilled) -> Iterator[str]:
    """The notes below the tables."""
    yield from result.notes
    queries = len(result.distillation.queries)
    if any(interval for scores in result.models.values() for own in scores.intervals.values() for interval in own):
        yield f"Below each value is its 95 % interval, for the choice of {queries} queries."
    else:
        yield no_interval("queries")
    undefined = [
        who for i, who in enumerate(result.names) if np.isnan(result.models["empirical"].values["precision"][i])
    ]
    if undefined:
        yield f"Precision is undefined for {', '.join(undefined)}, which gave neither a nugget nor irrelevant text."
