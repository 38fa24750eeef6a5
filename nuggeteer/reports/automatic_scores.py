"""The scores of distillers by automatic nuggets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import field
from rich.console import Console

from nuggeteer.fields import Count, Number, Part, about, copied
from nuggeteer.gale.automatic import Answer, AutomaticScores, Means
from nuggeteer.reports.automatic_nuggets import FoundNugget, Parser, nuggets_of
from nuggeteer.reports.formatting import UNDEFINED, between, counted, lacks_interval, no_interval, number
from nuggeteer.reports.terminal import Sheet, fixed, left, paragraph, plain, right, say, table
from nuggeteer.statistics.intervals import Estimate


class AnswerOutput(Part):
    """A distiller's answer to a query."""

    distiller: str
    relevant: Annotated[Count, about("Counts nuggets, as do the next two.")]
    irrelevant: Count
    redundant: Count
    precision: Number
    recall: Number
    nugs: Annotated[Count, about("Nugs of the query that the distiller has.")]
    total_nugs: Annotated[Count, about("Nugs of the query.")] = field(name="of")


class QueryOutput(Part):
    """A query and its answers."""

    qid: str
    template: str
    distillers: Sequence[AnswerOutput]


class MeansOutput(Part):
    """A distiller's means over queries."""

    distiller: str
    precision: Estimate
    recall: Estimate


class AutomaticCellOutput(Part):
    """The scores on the snippets of a cell."""

    values: Annotated[Sequence[str], about("Of the conditions that `--by` names, in that order; empty where unknown.")]
    snippets: Count
    queries: Count
    distillers: Sequence[MeansOutput]


class StretchOutput(Part):
    """A stretch of a text that answers the query."""

    text: str
    nuggets: Sequence[FoundNugget]


class JudgedSnippetOutput(Part):
    """A distiller's snippet."""

    qid: str
    distiller: str
    judged: str
    stretches: Sequence[StretchOutput]


class AutomaticScoresOutput(Part):
    """Scores of distillers by automatic nuggets."""

    model: Parser
    queries: Sequence[QueryOutput]
    distillers: Sequence[MeansOutput]
    by: Sequence[str]
    cells: Annotated[Sequence[AutomaticCellOutput], about("With `--by`.")]
    snippets: Sequence[JudgedSnippetOutput]


def as_json(result: AutomaticScores) -> dict[str, Any]:
    return copied(
        AutomaticScoresOutput,
        result,
        queries=[
            QueryOutput(
                qid=qid,
                template=template.name,
                distillers=[_answer(answer) for answer in result.answers if answer.qid == qid],
            )
            for qid, template in result.templates.items()
        ],
        distillers=_means(result.means),
        cells=[copied(AutomaticCellOutput, cell, distillers=_means(cell.means)) for cell in result.cells],
        snippets=[
            copied(
                JudgedSnippetOutput,
                snippet,
                stretches=[StretchOutput(text=text, nuggets=nuggets_of(found, text)) for text, found in stretches],
            )
            for snippet, stretches in result.snippets
        ],
    ).as_data()


def _answer(answer: Answer) -> AnswerOutput:
    return copied(AnswerOutput, answer, **{str(verdict): count for verdict, count in answer.nuggets.items()})


def _means(means: Means) -> list[MeansOutput]:
    return [
        MeansOutput(distiller=name, **{key: copied(Estimate, mean) for key, mean in own.items()})
        for name, own in means.items()
    ]


def draw(out: Console, result: AutomaticScores) -> None:
    """Each query and distiller, then each distiller's means."""
    columns = left("query", "distiller") + right("right", "irrelevant", "redundant", "precision", "nugs", "recall")
    sheet = table("", columns)
    last = None
    for answer in result.answers:
        row = [str(answer.nuggets[verdict]) for verdict in ("relevant", "irrelevant", "redundant")]
        row += [number(answer.precision), f"{answer.nugs}/{answer.total_nugs}", number(answer.recall)]
        sheet.add_row(plain(answer.qid if answer.qid != last else "", "bold"), answer.distiller, *row)
        last = answer.qid
    out.print(sheet)
    paragraph(out, _means_table(f"Means over {counted(len(result.templates), 'query', 'queries')}", result.means))
    out.print()
    for cell in result.cells:
        named = " × ".join(value or UNDEFINED for value in cell.values)
        queries = counted(cell.queries, "query", "queries")
        out.print(_means_table(f"{named}: {counted(cell.snippets, 'snippet')}, {queries}", cell.means))
        out.print()
    every = [result.means, *(cell.means for cell in result.cells)]
    means = [mean for group in every for of_distiller in group.values() for mean in of_distiller.values()]
    templates = ", ".join(dict.fromkeys(template.name for template in result.templates.values()))
    say(
        out,
        f"Templates: {templates}. right: nuggets in the selected text of relevant snippets. precision: the share of "
        "nuggets that is right. nugs: right nuggets that say the same count once. recall: the share of the nugs that "
        "any distiller found.",
        "The intervals cover the choice of queries.",
        *([no_interval("queries")] if any(map(lacks_interval, means)) else []),
    )
    out.print(plain(result.model, "dim"))


def _means_table(title: str, means: Means) -> Sheet:
    columns = left("distiller") + right("precision") + fixed("95 % interval") + right("recall") + fixed("95 % interval")
    sheet = table(title, columns)
    for name, own in means.items():
        cells = (cell for mean in own.values() for cell in (number(mean.value), between(mean)))
        sheet.add_row(plain(name, "bold"), *cells)
    return sheet
