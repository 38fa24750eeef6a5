"""How far two annotators agree on the same snippets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.text import Text

from nuggeteer.fields import Count, Number, Of, Part, about, copied
from nuggeteer.formats.annotation import Snippet
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.annotation import AgreementRow, AnnotationAgreement, SnippetPair, union
from nuggeteer.reports.formatting import number, with_span
from nuggeteer.reports.terminal import fixed, left, paragraph, plain, right, say_whole, table
from nuggeteer.statistics.intervals import MIN_QUESTIONS


class SnippetPairOutput(Part):
    """One snippet with both annotations. Letters and digits are counted."""

    qid: str | None
    snippet: str
    relevant: Annotated[Sequence[bool], about("[to the first, to the second]")]
    nuggets: Annotated[Of, about("[of the first, of the second]")]
    both: Annotated[Count, about("Letters and digits in both's nuggets.")]
    only: Annotated[Of, about("Those in nuggets of [the first, the second] only.")]
    neither: Annotated[Count, about("Those in no nugget.")]
    overlap: Annotated[Number, about("null if it is not relevant to both.")]


class AnnotationsOutput(Part):
    """How far two annotators agree on the same snippets."""

    files: Annotated[Sequence[str], about("[first, second]")]
    resampled: Annotated[Literal["queries", "snippets"], about("The choice that intervals cover.")]
    alone: Annotated[Of, about("Snippets in [the first, the second] only, which are left out.")]
    rows: Sequence[AgreementRow]
    snippets: Sequence[SnippetPairOutput]


def as_json(result: AnnotationAgreement) -> dict[str, Any]:
    return copied(AnnotationsOutput, result, snippets=[_pair(pair) for pair in result.snippets]).as_data()


def _pair(pair: SnippetPair) -> SnippetPairOutput:
    annotations, (both, *only, neither) = (pair.first, pair.second), map(int, pair.characters)
    return SnippetPairOutput(
        qid=pair.first.qid,
        snippet=pair.first.snippet,
        relevant=[bool(one.nuggets) for one in annotations],
        nuggets=[len(one.nuggets) for one in annotations],
        both=both,
        only=only,
        neither=neither,
        overlap=pair.overlap,
    )


def draw(out: Console, result: AnnotationAgreement, listed: int) -> None:
    """The paper's table 1, with κ and intervals."""
    columns = left("") + right("snippets", "relevance") + fixed("95 %") + right("κ", "nugget overlap")
    sheet = table("", columns + fixed("95 %") + right("κ"))
    for row in result.rows:
        style = "bold" if row.value is None else ""
        cells = ["all" if row.value is None else row.value, f"{row.snippets:,}"]
        for share, kappa in ((row.relevance, row.relevance_kappa), (row.overlap, row.character_kappa)):
            cells += [*with_span(share), number(kappa.value)]
        sheet.add_row(*(plain(cell, style) for cell in cells))
    out.print(sheet)
    total = result.rows[-1]
    paragraph(
        out,
        f"{total.snippets:,} snippets that both annotated, {total.relevant:,} of which both found relevant; "
        f"{total.nuggets[0]:,} and {total.nuggets[1]:,} nuggets.",
    )
    for file, count in zip(result.files, result.alone, strict=True):
        if count:
            say_whole(out, f"{count:,} snippets are in {file} only, and are left out.")
    paragraph(
        out,
        "relevance: the share of snippets that have nuggets from both or from neither. nugget overlap: of the letters "
        "and digits in snippets that both found relevant, those in both's nuggets / (those + half of those in only "
        f"one's nuggets). κ is Cohen's, of snippets and of characters. 95 %: for the choice of {result.resampled}, if "
        f"there are {MIN_QUESTIONS} or more.",
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
        paragraph(out, f"and {len(result.differing) - listed:,} more (--list COUNT, or --json)")


def _marked(snippet: Snippet) -> str:
    return mark(snippet.text, union(snippet.nuggets)) if snippet.nuggets else "irrelevant"
