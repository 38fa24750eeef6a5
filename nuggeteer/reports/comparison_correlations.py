"""How the measures of compared runs agree with each other and with official scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import field
from rich.console import Console

from nuggeteer.comparing.comparison import Comparison
from nuggeteer.comparing.correlations import Correlation, Official, Zeros
from nuggeteer.fields import Count, Ends, Number, Part, about, copied
from nuggeteer.reports.formatting import UNDEFINED, number, percent
from nuggeteer.reports.terminal import fixed, left, paragraph, plain, right, table
from nuggeteer.statistics.correlation import CLOSE, ScoreAgreement, Span, Swaps

SWAPS = ("pairs that swap", f"closer than {CLOSE}")  # heads of `_swapped`


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

    against: Annotated[
        str, about("Our measure that these scores are compared with; rmse is null if it is a different measure.")
    ]
    swaps: Swaps
    pooled: Annotated[PooledAgreement | None, about("The same for our scores with all questions taken as one.")]


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
    columns = left("", "over") + right("r") + fixed("95 % interval") + right("τ_b") + fixed("95 % interval")
    sheet = table("How the measures correlate (Pearson's r, Kendall's τ)", columns)
    for one in result.correlations:
        (a, b), answers, runs = one.measures, one.answers, one.runs
        r, tau = number(answers.pearson), number(answers.kendall_tau)
        sheet.add_row(f"{a.title}, {b.title}", "answers", r, _shown(one.by_question), tau, UNDEFINED)
        r, tau = number(runs.pearson), number(runs.kendall_tau)
        sheet.add_row("", "runs", r, _shown(runs.pearson_interval), tau, _shown(runs.tau_interval))
    paragraph(out, sheet)


def _zeros(out: Console, result: Comparison) -> None:
    columns = left("") + right("answers", "0 by the first", "and not by the second", *SWAPS)
    sheet = table("Answers that score 0, and runs that the measures rank differently", columns)
    for one in result.correlations:
        (a, b), zeros = one.measures, one.zeros
        shares = percent(zeros.first), percent(zeros.rescued)
        sheet.add_row(f"{a.title}, {b.title}", f"{zeros.answers:,}", *shares, *_swapped(one.swaps))
    paragraph(out, sheet)


def _pooled(out: Console, result: Comparison) -> None:
    assert result.pooled is not None
    first = result.standings[0]
    columns = left("run") + right("mean of questions", "all questions as one")
    sheet = table(f"{first.measure.title}, averaged over questions and over nuggets", columns)
    for i in first.order.tolist():
        run = result.scores.runs[i]
        value = number(run.measures[first.measure.name].value)
        sheet.add_row(plain(run.name, "bold"), value, number(result.pooled[i]))
    paragraph(out, sheet)


def _official(out: Console, result: Comparison) -> None:
    sheet = table("Against the official scores", left("") + right("runs", "τ_b", "R²", "RMSE", *SWAPS))
    for one in result.official:
        name = one.measure.title if one.same else f"{one.name}, and our {one.measure.title}"
        sheet.add_row(name, *_cells(one.agreement), *_swapped(one.swaps))
        if one.pooled:
            sheet.add_row("  with all questions as one", *_cells(one.pooled))
    paragraph(out, sheet)


def _cells(agreement: ScoreAgreement) -> list[str]:
    numbers = (agreement.kendall_tau, agreement.r_squared, agreement.rmse)
    return [str(agreement.n), *map(number, numbers)]


def _swapped(swaps: Swaps) -> list[str]:
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
