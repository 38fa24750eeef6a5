"""Results on a terminal: tables that fit 80 columns, and a few plain words under them.

Whatever came from a file goes through `text.escaped` and into `rich.text.Text`, never into markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.errors import Problem
from nuggeteer.measures import DEFAULT, Measure
from nuggeteer.records import AnswerKey
from nuggeteer.reports.as_json import found_of_total
from nuggeteer.scoring.scorer import RunScore, Scores, Thresholds
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped

UNDEFINED = "–"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the error that is being handled; rich would leave with 1, which is a failed gate's


def console() -> Console:
    """The standard output, without anything that could read markup or emoji codes out of a text."""
    return _Console(markup=False, highlight=False, emoji=False)


def plain(value: str, style: str = "") -> Text:
    """A text from a file, harmless."""
    return Text(escaped(value), style)


def table(title: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str | Text]]) -> Table:
    """`columns` are (head, "left" | "right" | "wrap"); only the last kind gives way on a narrow screen."""
    heading = plain(title, "bold") if title else None
    result = Table(
        box=SIMPLE_HEAD,
        title=heading,
        title_justify="left",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for head, kind in columns:
        result.add_column(
            Text(head.replace(" ", "\n") if kind == "right" else head),
            justify="right" if kind == "right" else "left",
            no_wrap=kind != "wrap",
        )
    for row in rows:
        result.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return result


def scores(out: Console, result: Scores) -> None:
    """One line a run."""
    first, *others = _shown(result)
    columns = [("run", "left"), (first.title, "right"), ("95 % interval", "left"), ("judging", "right")]
    columns += [(measure.title, "right") for measure in others]
    columns += [("known", "right")]
    rows: list[list[str | Text]] = []
    for score in result.runs:
        headline = score.measures[first.name]
        row: list[str | Text] = [plain(score.name, "bold"), Text(number(headline.value), "bold")]
        row += [between(headline), judging_share(headline)]
        row += [number(score.measures[measure.name].value) for measure in others]
        known = score.outcome.pairs_known
        row.append(share(known, known + score.outcome.pairs_guessed))
        rows.append(row)
    out.print(table("", columns, rows))
    for line in remarks(result):
        out.print()
        out.print(plain(line))
    out.print()
    out.print(plain(result.signature, "dim"), soft_wrap=True)


def _shown(result: Scores) -> list[Measure]:
    """The measures with a column: macro F, which hardly ever says more than the pyramid (Dang & Lin 2007,
    table 1), only when it was asked for."""
    chosen = list(result.measures)
    usual = {measure.name for measure in chosen} <= {measure.name for measure in DEFAULT}
    return [m for m in chosen if not (usual and m.name == "macro_f3")] or chosen


def judging_share(interval: Interval) -> str:
    """How much of the interval's width guessed verdicts alone would make."""
    if interval.judging is None or interval.low is None or interval.high is None:
        return UNDEFINED
    whole, part = interval.high - interval.low, interval.judging[1] - interval.judging[0]
    return "none" if part == 0 else f"{min(round(100 * part / whole), 100)} %" if whole else UNDEFINED


def remarks(result: Scores) -> list[str]:
    """What a reader of the table must know to read it right."""
    lines = list(result.notes)
    guessed = sum(score.outcome.pairs_guessed for score in result.runs)
    drawn = any(score.outcome.drawn is not None for score in result.runs)
    known = "known: the share of (response, nugget) pairs with a human verdict"
    if guessed and drawn:
        lines.append(
            f"{known}; the others are guessed, and scores are expectations over what the guesses may be. "
            "judging: the width that these alone give the interval, against the whole."
        )
    elif guessed:
        lines.append(
            f"{known}; the others are guessed, by match score and threshold. The interval is for the choice of "
            "questions; it does not count that guesses can be wrong."
        )
    undefined = np.isnan(result.runs[0].by_question[result.measures[0].name]) if result.runs else np.zeros(0)
    if undefined.any():
        qids = _some([q.qid for q, missing in zip(result.key.questions, undefined, strict=True) if missing])
        lines.append(f"{result.measures[0].title} is undefined, and left out of the mean, for {qids}.")
    for score in result.runs:
        silent = [
            q.qid for q, answered in zip(result.key.questions, score.outcome.answered, strict=True) if not answered
        ]
        if silent:
            lines.append(f"{score.name} does not answer {_some(silent)}: 0 there.")
    return lines


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def questions(out: Console, result: Scores, score: RunScore) -> None:
    """One line a question."""
    shown = _shown(result)
    columns = [("qid", "left"), *((m.title, "right") for m in shown)]
    columns += [("length", "right"), ("vital", "right"), ("okay", "right")]
    rows: list[list[str | Text]] = []
    for i, question in enumerate(result.key.questions):
        vital, okay = found_of_total(result.key, score, i)
        values = [number(float(score.by_question[m.name][i])) for m in shown]
        length = str(score.outcome.length[i]) if score.outcome.answered[i] else "empty"
        rows.append([plain(question.qid), *values, length, "/".join(map(str, vital)), "/".join(map(str, okay))])
    out.print()
    out.print(table(f"{score.name}, by question", columns, rows))


def nuggets(out: Console, result: Scores, score: RunScore) -> None:
    """One line a nugget: found or not, how we know, and where."""
    columns = [("qid", "left"), ("#", "left"), ("", "left"), ("found", "left"), ("", "right")]
    columns += [("rank", "right"), ("match", "right"), ("description", "wrap")]
    rows: list[list[str | Text]] = []
    outcome = score.outcome
    for i, nugget in enumerate(result.key.nuggets):
        found, known = bool(outcome.found[i]), bool(outcome.known[i])
        row: list[str | Text] = [plain(nugget.qid), plain(nugget.nugget), nugget.importance]
        row.append(Text("yes", "bold green") if found else Text("no"))
        row.append(Text("known") if known else Text(chance(float(outcome.probability[i])), "italic yellow"))
        row += [str(score.rank[i] or ""), number(float(outcome.best[i]), 2)]
        rows.append([*row, plain(nugget.descriptions[0])])
    out.print()
    out.print(table(f"{score.name}, by nugget", columns, rows))


def chance(probability: float) -> str:
    """A guess's probability; never 0 or 100 %, for a guess is not known."""
    if math.isnan(probability):
        return "guess"
    percent = round(100 * probability)
    return "<1 %" if percent == 0 else ">99 %" if percent == 100 else f"{percent} %"


def number(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None or math.isnan(value) else f"{value:.{digits}f}"


def between(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return UNDEFINED
    return f"{interval.low:.3f}–{interval.high:.3f}"


def share(part: int, whole: int) -> str:
    """A percentage that says 0 % only of none and 100 % only of all."""
    if whole == 0:
        return UNDEFINED
    percent = round(100 * part / whole)
    if part and percent == 0:
        return "<1 %"
    if part < whole and percent == 100:
        return ">99 %"
    return f"{percent} %"


def problems(out: Console, found: Sequence[Problem]) -> None:
    for problem in found:
        style = "bold red" if problem.severity == "error" else "yellow"
        out.print(Text.assemble((problem.severity, style), " ", plain(str(problem))), soft_wrap=True)


def key_size(key: AnswerKey) -> str:
    return f"{len(key.questions)} questions, {len(key.nuggets)} nuggets"


def thresholds(out: Console, result: Thresholds) -> None:
    """The paper's table 4, with what was chosen and why."""
    out.print(f"{result.pairs:,} judged pairs, {result.positive:,} of them yes, of {result.groups} groups of systems.")
    out.print()
    columns = [("model", "left"), ("what has its own", "wrap"), ("evidence", "right"), ("held-out", "right")]
    rows = []
    for model in result.models:
        style = "bold" if model.name == result.chosen else ""
        score = UNDEFINED if model.log_score is None else f"{model.log_score:.4f}"
        cells = (model.name, model.own_parameters, f"{model.log10_evidence:,.1f}", score)
        rows.append([Text(cell, style) for cell in cells])
    out.print(table("", columns, rows))
    out.print()
    out.print(
        "evidence: log10 P(data | model). held-out: the mean logarithm of the probability given to the verdicts on "
        "systems that were left out. Higher is better in both."
    )
    out.print()
    if any(model.log_score is not None for model in result.models):
        why = "it says most about systems that it has not seen"
    else:
        why = "it has the highest evidence; with fewer than two groups of systems none can be left out"
    out.print(plain(f"Best here: {result.chosen}, for {why}."))
    if result.chosen != "smooth":
        out.print(
            "score uses smooth all the same: of these models it alone says how unlike the others a new system may be."
        )
