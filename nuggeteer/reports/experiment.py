"""The result of an experiment, on a terminal, as JSON, and as a page of Markdown with its figure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import structs
from rich.console import Console

from nuggeteer.fields import Part, about, copied
from nuggeteer.formats.jsonl import write_file
from nuggeteer.reports.figure import svg
from nuggeteer.reports.formatting import number
from nuggeteer.reports.model import Notes
from nuggeteer.reports.terminal import left, paragraph, paragraphs, plain, table, wrap
from nuggeteer.text import escaped
from nuggeteer.trust.experiments.definition import Averaged, Cell, Definition, Plot, Result


class NamedExperiment(Part):
    """An experiment that has a name."""

    experiment: str
    title: str
    source: str


class ExperimentOutput(NamedExperiment, kw_only=True):
    """An experiment on a collection."""

    collection: Annotated[str, about("`mean` for the mean of several collections.")]
    columns: Sequence[str]
    rows: Annotated[Sequence[Sequence[str | int | float | None]], about("The table.")]
    plot: Plot | None
    notes: Notes
    seconds: float


class AveragedOutput(Part):
    """An experiment on several collections."""

    experiment: str
    results: Sequence[ExperimentOutput]
    mean: Annotated[ExperimentOutput | None, about("null where the tables have different rows.")]


class ExperimentsOutput(Part):
    """The experiments that have a name."""

    experiments: Sequence[NamedExperiment]


def as_json(found: Averaged) -> dict[str, Any]:
    results = [_result(result) for result in found.results]
    mean = _result(found.mean) if found.mean else None
    averaged = AveragedOutput(experiment=results[0].experiment, results=results, mean=mean)
    return (results[0] if len(results) == 1 else averaged).as_data()


def _result(result: Result) -> ExperimentOutput:
    named, table = _named(result.definition), result.table
    return copied(ExperimentOutput, result, **structs.asdict(named), columns=table.columns, rows=table.rows)


def list_as_json(definitions: Iterable[Definition]) -> dict[str, Any]:
    return ExperimentsOutput(experiments=list(map(_named, definitions))).as_data()


def _named(definition: Definition) -> NamedExperiment:
    return copied(NamedExperiment, definition, experiment=definition.name)


def draw_list(out: Console, definitions: Iterable[Definition]) -> None:
    rows = ((one.name, one.title, one.source) for one in definitions)
    out.print(table("", left("experiment") + wrap("what", "source"), rows))


def draw(out: Console, found: Averaged) -> None:
    shown = [*found.results, *([found.mean] if found.mean else [])]
    for i, result in enumerate(shown):
        if i:
            out.print()
        _draw(out, result)
    if len(found.results) > 1 and found.mean is None:
        paragraph(out, "The tables have different rows, so they have no mean.")


def _draw(out: Console, result: Result) -> None:
    out.print(plain(f"{result.definition.title} ({result.definition.source}): {result.collection}", "bold"))
    out.print()
    words = [any(isinstance(row[i], str) for row in result.table.rows) for i in range(len(result.table.columns))]
    columns = [(name, "wrap" if word else "right") for name, word in zip(result.table.columns, words, strict=True)]
    out.print(table("", columns, (list(map(_cell, row)) for row in result.table.rows)))
    paragraphs(out, result.notes)


def write(found: Averaged, folder: Path) -> list[Path]:
    """Write NAME-COLLECTION.md and, if there is a plot, .svg into a folder, and NAME-mean for several collections.
    Returns what was written."""
    collections = [result.collection for result in found.results]
    shown = [(result, [result.collection]) for result in found.results]
    shown += [(found.mean, collections)] if found.mean else []
    return [path for result, made_from in shown for path in _write(result, made_from, folder)]


def _write(result: Result, made_from: Sequence[str], folder: Path) -> list[Path]:
    name = f"{result.definition.name}-{result.collection}"
    written = []
    if result.plot:
        written.append(folder / f"{name}.svg")
        write_file(written[-1], svg(result.plot).encode())
    written.append(folder / f"{name}.md")
    write_file(written[-1], markdown(result, made_from, f"{name}.svg" if result.plot else None).encode())
    return written


def markdown(result: Result, made_from: Sequence[str], plot: str | None) -> str:
    """A page with the table, its plot and the command that made it."""
    definition = result.definition
    named = [shlex.quote(name) for name in made_from]
    command = f"nuggeteer experiment {shlex.quote(definition.file or definition.name)}"
    command += "".join(f" --collection {name}" for name in named)
    lines = [f"# {_safe(definition.title)}: {_safe(result.collection)}", "", f"{_safe(definition.source)}. Made by", ""]
    lines += [f"    {escaped(command)}", ""]
    lines += [f"| {' | '.join(map(_safe, result.table.columns))} |", "|" + "---|" * len(result.table.columns)]
    lines += [f"| {' | '.join(_safe(_cell(cell)) for cell in row)} |" for row in result.table.rows]
    if plot:
        lines += ["", f"![{_safe(definition.title)}]({plot.replace(' ', '%20')})"]
    for note in result.notes:
        lines += ["", _safe(note)]
    return "\n".join([*lines, ""])


def _safe(text: str) -> str:
    """The text with Markdown's special characters escaped, because names of runs may contain them."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#&@~" else char for char in escaped(text))


def _cell(cell: Cell) -> str:
    if cell is None or isinstance(cell, float):
        return number(cell, 3 if cell is None or abs(cell) < 100 else 1)
    return f"{cell:,}" if isinstance(cell, int) else cell
