"""Automatic nuggets: those found in texts, how they compare with nuggets that people have corrected, and those proposed
for the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.fields import Count, Number, Of, Part, about, copied
from nuggeteer.formats.annotation import Spans
from nuggeteer.formats.annotation_files import as_line
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.automatic import ConditionCounts, Corrections, Cut, MeanDifference, TypeCounts
from nuggeteer.gale.nuggetizer import Found
from nuggeteer.gale.proposal import Candidate
from nuggeteer.gale.templates import TYPES
from nuggeteer.reports.formatting import (
    UNDEFINED,
    counted,
    number,
    p_value,
    percent,
    signed,
)
from nuggeteer.reports.model import OTHER_KEYS
from nuggeteer.reports.terminal import Sheet, left, paragraph, plain, right, say, table, wrap
from nuggeteer.text import escaped

AROUND = 60  # characters shown on either side of a nugget
LONG = 200  # characters; a longer text is cut
BEGINNING = 20  # candidates shown

Parser = Annotated[str, about("The parser.")]


class FoundNugget(Part):
    """A nugget in a text."""

    type: str
    spans: Annotated[Sequence[Of], about("Its extent, as [start, end) in characters (code points).")]
    core: Annotated[Sequence[Of], about("Its core: the verb of EVT and STM, a title without its person.")]
    text: str


class SnippetOutput(Part):
    """A text with its nuggets."""

    snippet: str
    text: str
    line: Annotated[Mapping[str, Any], OTHER_KEYS]
    nuggets: Sequence[FoundNugget]
    template: str | None


class NuggetizeOutput(Part):
    """The nuggets in texts."""

    model: Parser
    snippets: Sequence[SnippetOutput]


class TypeQuality(Part):
    """Nuggets of one type."""

    type: Annotated[str | None, about("null for all together.")]
    corrected: Count
    automatic: Count
    exact: Annotated[Count, about("Found with the same letters and digits.")]
    near: Annotated[Count, about("Found with other boundaries.")]
    precision: Number
    recall: Number
    f1: Number
    near_precision: Number
    near_recall: Number
    near_f1: Number


class CorrectedSnippet(Part):
    """Counts of nuggets in a snippet."""

    qid: str | None
    snippet: str
    corrected: Count
    automatic: Count


class CorrectionsOutput(Part):
    """Automatic nuggets, compared with corrected ones."""

    model: Parser
    counts: Sequence[ConditionCounts] = field(name="conditions")
    mean: MeanDifference = field(name="per_snippet")
    without_template: Annotated[Count, about("Snippets whose query follows no template.")]
    types: Sequence[TypeQuality]
    snippets: Sequence[CorrectedSnippet]


class CandidateOutput(Part):
    """A proposed nugget."""

    qid: str
    text: str
    type: str | None
    answers: Annotated[Count, about("Answers that say it.")]
    said: Annotated[Sequence[str], about("How they say it.")]


class CandidatesOutput(Part):
    """Nuggets proposed from good answers."""

    model: Annotated[str | None, about("The parser; null without one.")]
    nuggets: Sequence[CandidateOutput]


def as_json(found: Sequence[Cut], model: str) -> dict[str, Any]:
    return NuggetizeOutput(model=model, snippets=list(map(_snippet, found))).as_data()


def _snippet(cut: Cut) -> SnippetOutput:
    own = ("snippet", "text", "template", "nuggets")
    return SnippetOutput(
        snippet=cut.snippet.snippet,
        text=cut.snippet.text,
        line={key: value for key, value in as_line(cut.snippet).items() if key not in own},
        template=cut.template.name if cut.template else None,
        nuggets=nuggets_of(cut.found, cut.snippet.text),
    )


def nuggets_of(found: Sequence[Found], text: str) -> list[FoundNugget]:
    return [copied(FoundNugget, one, text=" ".join(text[start:end] for start, end in one.spans)) for one in found]


def corrections_as_json(result: Corrections) -> dict[str, Any]:
    return copied(
        CorrectionsOutput,
        result,
        types=list(map(_type, result.types)),
        snippets=[
            CorrectedSnippet(
                qid=snippet.qid, snippet=snippet.snippet, corrected=len(snippet.nuggets), automatic=automatic
            )
            for snippet, automatic in result.automatic
        ],
    ).as_data()


def _type(one: TypeCounts) -> TypeQuality:
    measures = {name: getattr(one, name) for name in ("precision", "recall", "f1")}
    values = {name: measure() for name, measure in measures.items()}
    values |= {f"near_{name}": measure(near=True) for name, measure in measures.items()}
    return copied(TypeQuality, one, **values)


def candidates_as_json(found: Sequence[Candidate], model: str | None) -> dict[str, Any]:
    nuggets = [
        copied(CandidateOutput, candidate, said=list(dict.fromkeys(fact.text for fact in candidate.facts)))
        for candidate in found
    ]
    return CandidatesOutput(model=model, nuggets=nuggets).as_data()


def draw(out: Console, found: Sequence[Cut], model: str) -> None:
    """Each text, and each of its nuggets in double brackets."""
    for cut in found:
        name = cut.snippet.snippet if cut.snippet.qid is None else f"{cut.snippet.qid} {cut.snippet.snippet}"
        out.print(Text.assemble(plain(name, "bold"), "  ", plain(" ".join(cut.snippet.text.split()))))
        rows = Table.grid(padding=(0, 1, 0, 0))
        for nugget in cut.found:
            rows.add_row(Text(f"  {nugget.type}", "cyan"), _marked(cut.snippet.text, nugget.spans))
        out.print(rows if cut.found else Text("  no nugget", "dim"))
        out.print()
    counts = Counter(nugget.type for cut in found for nugget in cut.found)
    by_type = ", ".join(f"{counts[kind]} {kind}" for kind in TYPES if counts[kind])
    all_ = f"{counted(counts.total(), 'nugget')} in {counted(len(found), 'text')}"
    say(out, f"{all_}: {by_type}" if by_type else all_)
    out.print(plain(model, "dim"))


def _marked(text: str, spans: Spans) -> Text:
    """The text with a nugget in double brackets. Of a long text, only the part around the nugget is shown."""
    start, end = 0, len(text)
    if end > LONG:
        start = max(0, spans[0][0] - AROUND)
        start = text.find(" ", start, spans[0][0]) + 1 or start if start else 0
        end = min(len(text), spans[-1][1] + AROUND)
        end = max(text.rfind(" ", spans[-1][1], end), spans[-1][1]) if end < len(text) else end
    shown = mark(text[start:end], tuple((a - start, b - start) for a, b in spans))
    return Text.assemble("… " if start else "", plain(shown), " …" if end < len(text) else "")


def draw_corrections(out: Console, result: Corrections) -> None:
    """Counts by condition, then the mean difference in a snippet."""
    columns = left("condition") + right("snippets", "corrected nuggets", "automatic nuggets", "too few")
    sheet = table("", columns)
    for counts in result.counts:
        values = ["overall"] if counts.condition is None else [one or "(none)" for one in counts.condition.values()]
        few = UNDEFINED if counts.difference is None else percent(abs(counts.difference))
        few = f"−{few}" if counts.difference is not None and counts.difference < 0 else few
        numbers = f"{counts.snippets:,}", f"{counts.corrected:,}", f"{counts.automatic:,}", few
        sheet.add_row(plain(", ".join(values), "bold" if counts.condition is None else ""), *numbers)
    out.print(sheet)
    out.print()
    mean = result.mean
    if mean.p is None or mean.low is None or mean.high is None:
        interval = "; there is no interval, because the snippets are too few or too alike"
    else:
        p = f"{mean.p:.1g}" if mean.p < 0.0001 else p_value(mean.p)
        interval = f", 95 % interval {signed(mean.low)} to {signed(mean.high)}, p {p}"
    say(out, f"Corrected minus automatic nuggets, in a snippet: {signed(mean.mean)}{interval}")
    paragraph(out, _types(result))
    out.print(
        "near: also those with other boundaries, which share half of the letters and digits of the longer of the two"
    )
    if result.without_template:
        without = counted(result.without_template, "snippet")
        say(out, f"{without} without a template: nuggets of all types count in these.")
    out.print(plain(result.model, "dim"))


def _types(result: Corrections) -> Sheet:
    values = ("precision", "recall", "F1")
    columns = wrap("type") + right("corrected", "automatic", *values, *(f"near {name}" for name in values))
    sheet = table("", columns)
    for one in result.types:
        cells = [measure(near) for near in (False, True) for measure in (one.precision, one.recall, one.f1)]
        name = plain(one.type or "all", "" if one.type else "bold")
        sheet.add_row(name, f"{one.corrected:,}", f"{one.automatic:,}", *(number(cell, 2) for cell in cells))
    return sheet


def draw_candidates(out: Console, found: Sequence[Candidate], model: str | None, file: str) -> None:
    """The first candidates of each question. The file has all of them."""
    for qid in dict.fromkeys(candidate.qid for candidate in found):
        own = [candidate for candidate in found if candidate.qid == qid]
        rows = ((one.type or "", str(one.answers), one.text) for one in own[:BEGINNING])
        columns = left("") + right("answers") + wrap("proposed nugget")
        out.print(table(f"{qid}: {counted(len(own), 'candidate')}", columns, rows))
        if len(own) > BEGINNING:
            say(out, f"... and {len(own) - BEGINNING:,} more")
        out.print()
    say(out, *_next(model, file))


def _next(model: str | None, file: str) -> Iterable[str]:
    if model is None:
        yield "Without spaCy and a model these are sentences and their parts, not clauses, and need more editing."
    yield (
        f"Edit {escaped(file)}: no line has an importance yet. Write vital or okay, or delete the line. Then add the "
        "file to nuggets.jsonl."
    )
    if model is not None:
        yield model
