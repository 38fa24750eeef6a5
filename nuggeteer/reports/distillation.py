"""The scores of distillers, in all and by cells of queries; their citations; and the nugs proposed for their
nuggets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.fields import Count, Ends, Number, Part, about, copied
from nuggeteer.formats.distillation import DistilledNugget, Nug
from nuggeteer.gale.citations import CheckedCitation, CheckedCitations
from nuggeteer.gale.distillation import CELLS, MEASURES, MODELS, Cell, Distilled, DistillerScores
from nuggeteer.gale.nugs import NugProposal
from nuggeteer.records import Vector
from nuggeteer.reports.formatting import UNDEFINED, counted, no_interval, number, short_span
from nuggeteer.reports.model import Notes
from nuggeteer.reports.terminal import Sheet, left, paragraph, paragraphs, plain, right, say_whole, table, wrap

LISTED = 5
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


class NugMember(Part):
    """A nugget in a proposed nug."""

    distiller: str
    text: str
    degree: float


class ProposedNug(Part):
    """A nug that was proposed."""

    qid: str
    nug: str
    text: str | None
    nuggets: Sequence[NugMember]


class NugProposalOutput(Part):
    """Proposed nugs: with `--propose`."""

    nuggets: Count
    nugs: Sequence[ProposedNug]


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
        cells=[_cell(cell) for cell in cells],
        citations=citations.citations if citations else None,
    ).as_data()


def proposal_as_json(result: NugProposal) -> dict[str, Any]:
    def members(nug: Nug) -> list[NugMember]:
        found = _members(result, nug)
        return [NugMember(distiller=nugget.distiller, text=nugget.text, degree=degree) for nugget, degree in found]

    nugs = [copied(ProposedNug, nug, nuggets=members(nug)) for nug in result.nugs]
    return NugProposalOutput(nuggets=result.nuggets, nugs=nugs).as_data()


def _cell(cell: Cell) -> ConditionCell:
    scores = cell.scores
    return ConditionCell(
        values=list(cell.values),
        queries=[query.qid for query in scores.distillation.queries],
        distillers=[
            CellDistiller(distiller=name, **{model: _statistics(scores.models[model], i) for model in MODELS})
            for i, name in enumerate(scores.names)
        ],
    )


def _cells(row: Vector) -> dict[str, Any]:
    return {cell: float(value) for cell, value in zip(CELLS, row, strict=True)}


def _statistics(scores: DistillerScores, row: int) -> Statistics:
    return Statistics(**{name: float(scores.values[name][row]) for name in MEASURES})


def _by_model(models: Mapping[str, DistillerScores], row: int) -> dict[str, Any]:
    intervals = {model: {name: scores.intervals[name][row] for name in MEASURES} for model, scores in models.items()}
    return {**{model: _statistics(scores, row) for model, scores in models.items()}, "intervals": intervals}


def draw(
    out: Console, result: Distilled, cells: Sequence[Cell] = (), citations: CheckedCitations | None = None
) -> None:
    """Counts, then each model's measures with their intervals below, then cells and citations."""
    _counts(out, result)
    for model in MODELS:
        head = HEADS[model].format(*_prior(result.prior))
        paragraph(out, _measures(head, result.names, result.models[model], _with_citations(result)))
    for model, ratio in result.ratios.items():
        names = [result.names[machine] for machine in result.machines]
        head = f"{model.capitalize()}: machines over the mean of the humans ({', '.join(result.humans)})"
        paragraph(out, _measures(head, names, ratio, _with_citations(result)))
    if cells:
        paragraph(out, _cells_table(cells))
    if citations:
        out.print()
        _draw_citations(out, citations)
    paragraphs(out, _remarks(result))


def _counts(out: Console, result: Distilled) -> None:
    kinds = any(distiller.kind for distiller in result.distillation.distillers)
    queries, nugs = len(result.distillation.queries), len(result.distillation.nugs)
    title = f"{counted(queries, 'query', 'queries')}, {counted(nugs, 'nug', 'nugs')}"
    sheet = table(title, left("distiller", *[""] * kinds) + right(*CELLS, "redundant"))
    for i, distiller in enumerate(result.distillation.distillers):
        values = [*result.tables[i], float(result.counts.redundant[i].sum())]
        kind = [distiller.kind or UNDEFINED] * kinds
        sheet.add_row(plain(distiller.distiller, "bold"), *kind, *(number(value, 2) for value in values))
    out.print(sheet)


def _prior(prior: Sequence[float]) -> tuple[str, str]:
    if len(set(prior)) == 1:
        return f"{prior[0]:g}", "every cell"
    return ", ".join(f"{value:g}" for value in prior), ", ".join(CELLS)


def _with_citations(result: Distilled) -> bool:
    return any(nugget.citations is not None for nugget in result.distillation.nuggets)


def _measures(title: str, names: Sequence[str], scores: DistillerScores, cited: bool) -> Sheet:
    shown = [*SHOWN[:4], "cw_f", *SHOWN[4:]] if cited else list(SHOWN)
    with_intervals = any(interval for name in shown for interval in scores.intervals[name])
    sheet = table(title, left("distiller") + right(*(TITLES.get(name, name) for name in shown)))
    for i, who in enumerate(names):
        cells = [Text(number(float(scores.values[name][i]))) for name in shown]
        for name, cell in zip(shown, cells, strict=True):
            if with_intervals:
                cell.append(f"\n{short_span(*(scores.intervals[name][i] or (None, None)))}", "dim")
        sheet.add_row(plain(who, "bold"), *cells)
    return sheet


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


def _cells_table(cells: Sequence[Cell]) -> Sheet:
    """The empirical measures of each distiller in each cell."""
    columns = left("queries of", "distiller") + right(*(TITLES.get(name, name) for name in SHOWN))
    sheet = table("Empirical, by queries", columns)
    for cell in cells:
        size = len(cell.scores.distillation.queries)
        named = f"{' × '.join(value or UNDEFINED for value in cell.values)} ({size})"
        values = cell.scores.models["empirical"].values
        for i, name in enumerate(cell.scores.names):
            numbers = (number(float(values[one][i])) for one in SHOWN)
            sheet.add_row("" if i else named, plain(name, "bold"), *numbers)
    return sheet


def _draw_citations(out: Console, checked: CheckedCitations) -> None:
    """A row for each distiller, then the most doubtful citations."""
    columns = left("distiller") + right("cited", "text there", "quoted", "doubtful")
    sheet = table("Citations of nuggets, against the documents", columns)
    for name, own in checked.by_distiller.items():
        quoting = [one.quoted for one in own if one.quoted is not None]
        there = sum(one.share is not None or one.quoted is not None for one in own)
        quoted = f"{sum(quoting)} of {len(quoting)}" if quoting else UNDEFINED
        doubtful = str(sum(one.doubtful for one in own))
        sheet.add_row(plain(name, "bold"), str(len(own)), str(there), quoted, doubtful)
    out.print(sheet)
    for one in sorted(checked.doubtful, key=lambda one: one.share or 0.0)[:LISTED]:
        why = f"has {one.share or 0:.0%} of its words"
        if one.quoted is False:
            why = "quotes what it does not say"
        elif one.partly:
            why = "is cited for a part of it; split the nugget"
        paragraph(out, f"{one.distiller}, {one.qid}: {one.docid} {why}: {one.nugget}")
    if len(checked.doubtful) > LISTED:
        paragraph(out, f"and {len(checked.doubtful) - LISTED:,} more doubtful ones (--json)")


def draw_proposal(out: Console, result: NugProposal, file: str) -> None:
    """Each proposed nug with its nuggets, and the next step."""
    title = f"{counted(len(result.nugs), 'nug')} proposed for {counted(result.nuggets, 'nugget')}"
    sheet = table(title, left("qid", "nug") + right("degree") + left("by") + wrap("text"))
    for nug in result.nugs:
        sheet.add_row(nug.qid, plain(nug.nug, "bold"), "", "", plain(nug.text or "", "bold"))
        for nugget, degree in _members(result, nug):
            sheet.add_row("", "", number(degree, 2), nugget.distiller, nugget.text)
    out.print(sheet)
    paragraph(
        out,
        "These nugs rest only on how alike the words are. Nuggets that say the same in other words are in different "
        "nugs; put them together by hand. Nuggets that differ in one decisive word may be in the same nug; take them "
        "apart.",
    )
    paragraph(
        out,
        f'In {file}, correct classes, degrees and relevance (1 until you change it), and delete "proposed": true from '
        "each nug that is right. Then:",
    )
    say_whole(out, f"  nuggeteer distill {file}")


def _members(result: NugProposal, nug: Nug) -> Iterator[tuple[DistilledNugget, float]]:
    for nugget in result.distillation.nuggets:
        if nugget.qid == nug.qid and nug.nug in (nugget.nugs or {}):
            yield nugget, (nugget.nugs or {})[nug.nug]
