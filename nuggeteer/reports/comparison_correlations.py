"""How the measures of compared runs agree with each other and with official scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import field
from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.comparison import Comparison
from nuggeteer.comparing.correlations import Correlation, Official, Zeros
from nuggeteer.fields import Count, Ends, Number, Part, about, copied
from nuggeteer.reports.formatting import UNDEFINED, number, percent
from nuggeteer.reports.terminal import paragraph, plain, table
from nuggeteer.statistics.correlation import CLOSE, ScoreAgreement, Span, Swaps


class Agreement(Part):
    """How two scores agree."""

    n: Count
    pearson: Number
    pearson_interval: Annotated[Ends | None, about("By Fisher's z, for independent scores.")]
    pearson_at_least: Annotated[Number, about("The end of the one-sided 95 % interval, as Dang & Lin 2007 print it.")]
    kendall_tau: Number
    tau_interval: Ends | None = field(name="kendall_tau_interval")


class AnswersAgreement(Agreement):
    """The same of answers."""

    by_question: Annotated[
        Ends | None, about("The interval of Pearson's r that allows for answers to one question resembling each other.")
    ]


class RunsAgreement(Agreement):
    """The same of runs."""

    swaps: Swaps


class MeasureCorrelation(Part):
    """How two measures agree."""

    measures: Annotated[Sequence[str], about("The first and the second.")]
    answers: AnswersAgreement
    runs: RunsAgreement
    zeros: Zeros


class PooledAgreement(Agreement):
    """The same with errors."""

    r_squared: Number
    rmse: Number


class OfficialAgreement(PooledAgreement, kw_only=True):
    """How our scores agree with official ones."""

    against: Annotated[str, about("Our measure that these scores are held against; rmse is null if it is another one.")]
    swaps: Swaps
    pooled: Annotated[PooledAgreement | None, about("The same for our scores with all questions as one.")]


def correlation_of(correlation: Correlation) -> MeasureCorrelation:
    return copied(
        MeasureCorrelation,
        correlation,
        measures=list(map(str, correlation.measures)),
        answers=copied(AnswersAgreement, correlation.answers, by_question=correlation.by_question),
        runs=copied(RunsAgreement, correlation.runs, swaps=correlation.swaps),
    )


def official_of(one: Official) -> OfficialAgreement:
    return copied(OfficialAgreement, one.agreement, against=str(one.measure), swaps=one.swaps, pooled=one.pooled)


def draw(out: Console, result: Comparison, pooled: bool) -> None:
    """`pooled`: also each run's score with all questions as one."""
    if result.correlations:
        _correlations(out, result)
        _zeros(out, result)
    if result.pooled is not None and pooled:
        _pooled(out, result)
    if result.official:
        _official(out, result)


def _correlations(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("over", "left"), ("r", "right"), ("95 % interval", "fixed")]
    columns += [("τ_b", "right"), ("95 % interval", "fixed")]
    rows: list[list[str | Text]] = []
    for one in result.correlations:
        a, b = one.measures
        answers, runs = one.answers, one.runs
        rows.append([f"{a.title}, {b.title}", "answers", number(answers.pearson), _shown(one.by_question)])
        rows[-1] += [number(answers.kendall_tau), UNDEFINED]
        rows.append(["", "runs", number(runs.pearson), _shown(runs.pearson_interval)])
        rows[-1] += [number(runs.kendall_tau), _shown(runs.tau_interval)]
    paragraph(out, table("How the measures correlate (Pearson's r, Kendall's τ)", columns, rows))


def _zeros(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("answers", "right"), ("0 by the first", "right"), ("and not by the second", "right")]
    columns += [("pairs that swap", "right"), (f"closer than {CLOSE}", "right")]
    rows: list[list[str | Text]] = []
    for one in result.correlations:
        a, b = one.measures
        row: list[str | Text] = [f"{a.title}, {b.title}", f"{one.zeros.answers:,}", percent(one.zeros.first)]
        rows.append([*row, percent(one.zeros.rescued), *_swapped(one.swaps)])
    paragraph(out, table("Answers that score 0, and runs that the measures rank differently", columns, rows))


def _pooled(out: Console, result: Comparison) -> None:
    assert result.pooled is not None
    first = result.standings[0]
    columns = [("run", "left"), ("mean of questions", "right"), ("all questions as one", "right")]
    rows: list[list[str | Text]] = []
    for i in first.order.tolist():
        run = result.scores.runs[i]
        value = number(run.measures[first.measure.name].value)
        rows.append([plain(run.name, "bold"), value, number(result.pooled[i])])
    paragraph(out, table(f"{first.measure.title}, averaged over questions and over nuggets", columns, rows))


def _official(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("runs", "right"), ("τ_b", "right"), ("R²", "right"), ("RMSE", "right")]
    columns += [("pairs that swap", "right"), (f"closer than {CLOSE}", "right")]
    rows: list[list[str | Text]] = []
    for one in result.official:
        name = one.measure.title if one.same else f"{one.name}, and our {one.measure.title}"
        rows.append([plain(name), *_cells(one.agreement), *_swapped(one.swaps)])
        if one.pooled:
            rows.append(["  with all questions as one", *_cells(one.pooled), "", ""])
    paragraph(out, table("Against the official scores", columns, rows))


def _cells(agreement: ScoreAgreement) -> list[str | Text]:
    numbers = (agreement.kendall_tau, agreement.r_squared, agreement.rmse)
    return [str(agreement.n), *map(number, numbers)]


def _swapped(swaps: Swaps) -> list[str | Text]:
    return [f"{swaps.swapped:,} of {swaps.pairs:,}", f"{swaps.close_swapped:,}"]


def _shown(span: Span | None) -> str:
    return UNDEFINED if span is None else f"{number(span[0])}–{number(span[1])}"


def remarks(result: Comparison, pooled: bool) -> Iterator[str]:
    if result.official:
        yield f"In the runs with official scores, {percent(*result.official_known)} of the pairs are known."
    few = [f"{one.name} ({one.agreement.n})" for one in result.official if one.agreement.n < 3]
    if few:
        yield f"τ_b and R² need three runs with official scores; there are fewer for {', '.join(few)}."
    if result.pooled is not None and (result.official or pooled):
        yield "all questions as one: recall of all nuggets, and precision of all characters (a micro-average)."
    if not all(one.same for one in result.official):
        yield "Scores by different measures are compared by rank (τ_b) and correlation (R²) only."
