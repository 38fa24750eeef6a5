"""How far two annotators agree on the same snippets."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.formats.annotation import Snippet
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.annotation import AgreementRow, AnnotationAgreement, union
from nuggeteer.reports.formatting import UNDEFINED, number
from nuggeteer.reports.json_values import file_name
from nuggeteer.reports.terminal import plain, table
from nuggeteer.statistics.coefficients import MIN_QUESTIONS, CoefficientEstimate


def as_json(result: AnnotationAgreement) -> dict[str, Any]:
    return {
        "files": [file_name(file) for file in result.files],
        "resampled": result.resampled,
        "alone": list(result.alone),
        "rows": [_row_as_json(one) for one in result.rows],
        "snippets": [
            {
                "qid": one.first.qid,
                "snippet": one.first.snippet,
                "relevant": [bool(one.first.nuggets), bool(one.second.nuggets)],
                "nuggets": [len(one.first.nuggets), len(one.second.nuggets)],
                "both": int(one.characters[0]),
                "only": [int(one.characters[1]), int(one.characters[2])],
                "neither": int(one.characters[3]),
                "overlap": one.overlap,
            }
            for one in result.snippets
        ],
    }


def _row_as_json(one: AgreementRow) -> dict[str, Any]:
    return {
        "condition": one.condition,
        "value": one.value,
        "snippets": one.snippets,
        "relevant_to_both": one.relevant,
        "nuggets": list(one.nuggets),
        "relevance": one.relevance._asdict(),
        "relevance_kappa": one.relevance_kappa._asdict(),
        "overlap": one.overlap._asdict(),
        "character_kappa": one.character_kappa._asdict(),
    }


def draw(out: Console, result: AnnotationAgreement, listed: int) -> None:
    """The paper's table 1, with κ and intervals."""
    columns = [("", "wrap"), ("snippets", "right"), ("relevance", "right"), ("95 %", "left"), ("κ", "right")]
    columns += [("nugget overlap", "right"), ("95 %", "left"), ("κ", "right")]
    rows = []
    for one in result.rows:
        style = "bold" if one.value is None else ""
        cells = ["all" if one.value is None else one.value, f"{one.snippets:,}", number(one.relevance.value)]
        cells += [_short_interval(one.relevance), number(one.relevance_kappa.value), number(one.overlap.value)]
        cells += [_short_interval(one.overlap), number(one.character_kappa.value)]
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
        f"one's nuggets). κ is Cohen's, of snippets and of characters. 95 %: over resampled {result.resampled}, if "
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


def _short_interval(one: CoefficientEstimate) -> str:
    return UNDEFINED if one.low is None or one.high is None else f"{number(one.low, 2)}–{number(one.high, 2)}"


def _marked(snippet: Snippet) -> str:
    return mark(snippet.text, union(snippet.nuggets)) if snippet.nuggets else "irrelevant"
