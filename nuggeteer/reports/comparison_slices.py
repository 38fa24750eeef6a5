"""Many runs compared by slices: kinds or targets of questions, or tags of nuggets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.comparison import Comparison, Slice, Slices
from nuggeteer.fields import Count, Number, Part, about, copied
from nuggeteer.reports.formatting import number, p_value, signed
from nuggeteer.reports.model import BY_MEASURE
from nuggeteer.reports.terminal import left, paragraph, plain, right, table
from nuggeteer.statistics.significance import LEVEL
from nuggeteer.text import escaped

MANY = 7  # more runs have a line each, and the slices are columns


class SliceRun(Part):
    """A run within a slice."""

    run: str
    measures: Annotated[Mapping[str, Number], BY_MEASURE]
    difference: Annotated[Number, about("From the run that all are compared with.")]
    p: Number
    p_holm: Annotated[Number, about("Corrected for all slices and runs.")]


class SliceOutput(Part):
    """Questions of one kind, or nuggets of one tag."""

    value: Annotated[str | None, about("The kind or the tag; null for those without any.")]
    questions: Count
    nuggets: Count
    runs: Sequence[SliceRun]


class SlicesOutput(Part):
    """The runs by slices."""

    by: str
    measured: str
    against: Annotated[str | None, about("The run that the others are compared with.")]
    correction: Literal["holm"]
    slices: Sequence[SliceOutput]


def slices_of(result: Comparison, slices: Slices) -> SlicesOutput:
    runs = list(enumerate(result.scores.runs))
    parts = [copied(SliceOutput, part, runs=[_run(part, i, run.name) for i, run in runs]) for part in slices.slices]
    return copied(SlicesOutput, slices, correction="holm", slices=parts)


def _run(part: Slice, i: int, name: str) -> SliceRun:
    measures = {measure: values[i] for measure, values in part.scores.items()}
    return SliceRun(run=name, measures=measures, difference=part.difference[i], p=part.p[i], p_holm=part.p_holm[i])


def draw(out: Console, result: Comparison, slices: Slices) -> None:
    if len(result.scores.runs) <= MANY:
        _draw_by_slice(out, result, slices)
    else:
        _draw_across(out, result, slices)


def _draw_by_slice(out: Console, result: Comparison, slices: Slices) -> None:
    tags = slices.by == "tag"
    title = slices.measured if tags else result.standings[0].measure.title
    columns = left(slices.by) + right(*["nuggets"] * tags, "questions") + left("run")
    columns += right(title, "difference", "p", "corrected p")
    names = [run.name for run in result.scores.runs]
    sheet = table(f"By {slices.by}, against {slices.against}", columns)
    for part in slices.slices:
        values = next(iter(part.scores.values()))
        for i, name in enumerate(names):
            head = [plain("(none)" if part.value is None else part.value, "bold")]
            head += map(Text, [*[str(part.nuggets)] * tags, str(part.questions)])
            cells = [Text(number(float(values[i])))]
            if i:
                head = [Text("")] * len(head)
                style = "bold" if part.p_holm[i] < LEVEL else ""
                cells += [Text(signed(float(part.difference[i])), style), Text(p_value(float(part.p[i])))]
                cells += [Text(p_value(float(part.p_holm[i])), style)]
            sheet.add_row(*head, name, *cells, end_section=i == len(names) - 1)
    paragraph(out, sheet)


def _draw_across(out: Console, result: Comparison, slices: Slices) -> None:
    """A column for each slice, with as many columns side by side as fit."""
    names = [escaped(run.name) for run in result.scores.runs]
    first = min(max(map(len, names)), out.width // 3)
    rest = list(slices.slices)
    while rest:
        heads: list[str] = []
        for part in rest:
            heads.append("(none)" if part.value is None else escaped(part.value))
            if first + sum(3 + max(8, *map(len, head.split(" "))) for head in heads) > out.width and len(heads) > 1:
                heads.pop()
                break
        block, rest = rest[: len(heads)], rest[len(heads) :]
        title = slices.measured if slices.by == "tag" else result.standings[0].measure.title
        sheet = table(f"{title} by {slices.by}, against {slices.against}", left("run") + right(*heads))
        counts = (str(part.nuggets if slices.by == "tag" else part.questions) for part in block)
        what = "nuggets" if slices.by == "tag" else "questions"
        sheet.add_row(*(Text(cell, "dim") for cell in (what, *counts)))
        for i in result.standings[0].order.tolist():
            sheet.add_row(Text(names[i], "bold" if i == 0 else ""), *(_marked(part, i) for part in block))
        paragraph(out, sheet)


def _marked(part: Slice, run: int) -> Text:
    """A run's score, with a sign where it differs significantly from the first run's."""
    value = number(float(next(iter(part.scores.values()))[run]))
    if run and part.p_holm[run] < LEVEL:
        return Text(f"{value} {'+' if part.difference[run] > 0 else '−'}", "bold")
    return Text(f"{value}  ")


def remarks(result: Comparison, slices: Slices) -> Iterator[str]:
    if slices.by == "tag":
        weight = "weight" if result.scores.key.weighted else "vital nuggets"
        yield (
            f"{slices.measured}: {weight} found over {weight} in the key, among the nuggets with the tag; the mean "
            "over questions. A nugget with several tags counts under each of them."
        )
    tests = sum(int((~np.isnan(part.p)).sum()) for part in slices.slices)
    if len(result.scores.runs) <= MANY:
        yield (
            f"Differences are from {slices.against}, the first run. p comes from the slice's own analysis of variance. "
            f"corrected p allows for there being {tests} such tests (Holm)."
        )
    else:
        yield (
            f"+ and −: significantly above or below {slices.against}, the first run, in that slice, by the slice's own "
            f"analysis of variance, corrected for there being {tests} such tests (Holm)."
        )
