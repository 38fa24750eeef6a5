"""How far two annotators agree on the same snippets."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.formats.annotation import Snippet
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.annotation import AgreementRow, AnnotationAgreement, union
from nuggeteer.reports.formatting import UNDEFINED, number
from nuggeteer.reports.model import file_name
from nuggeteer.reports.terminal import plain, table
from nuggeteer.statistics.coefficients import CoefficientEstimate
from nuggeteer.statistics.intervals import MIN_QUESTIONS


def as_json(result: AnnotationAgreement) -> dict[str, Any]:
    return {
        "files": [file_name(file) for file in result.files],
        "resampled": result.resampled,
        "alone": list(result.alone),
        "rows": [_row_as_json(row) for row in result.rows],
        "snippets": [
            {
                "qid": pair.first.qid,
                "snippet": pair.first.snippet,
                "relevant": [bool(pair.first.nuggets), bool(pair.second.nuggets)],
                "nuggets": [len(pair.first.nuggets), len(pair.second.nuggets)],
                "both": int(pair.characters[0]),
                "only": [int(pair.characters[1]), int(pair.characters[2])],
                "neither": int(pair.characters[3]),
                "overlap": pair.overlap,
            }
            for pair in result.snippets
        ],
    }


def _row_as_json(row: AgreementRow) -> dict[str, Any]:
    return {
        "condition": row.condition,
        "value": row.value,
        "snippets": row.snippets,
        "relevant_to_both": row.relevant,
        "nuggets": list(row.nuggets),
        "relevance": row.relevance._asdict(),
        "relevance_kappa": row.relevance_kappa._asdict(),
        "overlap": row.overlap._asdict(),
        "character_kappa": row.character_kappa._asdict(),
    }


def draw(out: Console, result: AnnotationAgreement, listed: int) -> None:
    """The paper's table 1, with κ and intervals."""
    columns = [("", "left"), ("snippets", "right"), ("relevance", "right"), ("95 %", "fixed"), ("κ", "right")]
    columns += [("nugget overlap", "right"), ("95 %", "fixed"), ("κ", "right")]
    rows = []
    for row in result.rows:
        style = "bold" if row.value is None else ""
        cells = ["all" if row.value is None else row.value, f"{row.snippets:,}", number(row.relevance.value)]
        cells += [_short_interval(row.relevance), number(row.relevance_kappa.value), number(row.overlap.value)]
        cells += [_short_interval(row.overlap), number(row.character_kappa.value)]
        rows.append([plain(cell, style) for cell in cells])
    out.print(table("", columns, rows))
    total = result.rows[-1]
    out.print()
    out.print(
        f"{total.snippets:,} snippets that both annotated, {total.relevant:,} of which both found relevant; "
        f"{total.nuggets[0]:,} and {total.nuggets[1]:,} nuggets."
    )
    for file, count in zip(result.files, result.alone, strict=True):
        if count:
            out.print(plain(f"{count:,} snippets are in {file} only, and are left out."), soft_wrap=True)
    out.print()
    out.print(
        "relevance: the share of snippets that have nuggets from both or from neither. nugget overlap: of the letters "
        "and digits in snippets that both found relevant, those in both's nuggets / (those + half of those in only "
        f"one's nuggets). κ is Cohen's, of snippets and of characters. 95 %: for the choice of {result.resampled}, if "
        f"there are {MIN_QUESTIONS} or more."
    )
    for one_snippet in result.differing[:listed]:
        first, second = one_snippet.first, one_snippet.second
        name = first.snippet if first.qid is None else f"{first.qid} {first.snippet}"
        out.print()
        value = number(one_snippet.overlap)
        out.print(Text.assemble(plain(name, "bold"), f"  overlap {value}, {one_snippet.differs} characters differ"))
        for file, own in zip(result.files, (first, second), strict=True):
            out.print(Text.assemble(plain(f"{file}: ", "dim"), plain(_marked(own))))
    if listed and len(result.differing) > listed:
        out.print()
        out.print(f"and {len(result.differing) - listed:,} more (--list COUNT, or --json)")


def _short_interval(estimate: CoefficientEstimate) -> str:
    return (
        UNDEFINED
        if estimate.low is None or estimate.high is None
        else f"{number(estimate.low, 2)}–{number(estimate.high, 2)}"
    )


def _marked(snippet: Snippet) -> str:
    return mark(snippet.text, union(snippet.nuggets)) if snippet.nuggets else "irrelevant"
