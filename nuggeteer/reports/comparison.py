"""Many runs compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.comparison import Comparison, Standing
from nuggeteer.fields import Count, Number, Of, Part, Share, about, copied
from nuggeteer.reports import comparison_correlations as correlations
from nuggeteer.reports import comparison_slices
from nuggeteer.reports.comparison_correlations import MeasureCorrelation, OfficialAgreement
from nuggeteer.reports.comparison_slices import SlicesOutput
from nuggeteer.reports.formatting import (
    UNDEFINED,
    between,
    counted,
    difference_of,
    judging_share,
    no_interval,
    number,
    p_value,
    percent,
    signed_span,
)
from nuggeteer.reports.model import BY_MEASURE, AsTruth, Interval, Notes, Pairs, Signature
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, table
from nuggeteer.scoring.scores import RunScore
from nuggeteer.statistics.variance import Factor

MANY = 7  # more have too many pairs to read one by one
LARGEST_F = 9_999  # that is printed
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ComparedRun(Part):
    """A run in the order of the first measure."""

    run: str
    place: Annotated[Count, about("From 1.")]
    measures: Annotated[Mapping[str, Interval], BY_MEASURE]
    pooled: Annotated[
        Number,
        about(
            "The score by the measure that ranks the runs, with all questions taken as one; null if the measure is not "
            "an F."
        ),
    ]
    official: Annotated[Mapping[str, float], about("What the manifest says.")]
    pairs: Pairs


class Residual(Part):
    """What the parts leave."""

    mean_square: Number
    freedom: Count


class VarianceParts(Part):
    """The analysis of variance of the scores by question and run."""

    questions: Factor
    runs: Factor
    residual: Residual


class TukeyPairs(Part):
    """Tukey's test of honestly significant differences."""

    pairs: Count
    significant: Count


class RunPair(Part):
    """Two runs."""

    higher: str
    lower: str
    difference: Number
    low: Number
    high: Number
    p: Number
    above: Annotated[Share | None, about("The share of draws in which higher is above lower.")]
    significant: bool


class MeasureStanding(Part):
    """The runs by one measure."""

    questions: Count
    variance: VarianceParts
    tukey: TukeyPairs
    groups: Annotated[Sequence[Sequence[str]], about("Runs that cannot be told apart.")]
    ranks: Annotated[Mapping[str, Of | None], about("By run: the best and the worst place that it may have.")]
    pairs: Sequence[RunPair]


class CompareOutput(Part):
    """Which of many runs can be told apart."""

    signature: Signature
    notes: Notes
    as_truth: AsTruth
    measure: Annotated[str, about("It ranks the runs.")]
    runs: Sequence[ComparedRun]
    measures: Mapping[str, MeasureStanding]
    correlations: Sequence[MeasureCorrelation]
    official: Annotated[Mapping[str, OfficialAgreement], about("By the name of the official score.")]
    by: Annotated[SlicesOutput | None, about("With `--by`.")]


def as_json(result: Comparison) -> dict[str, Any]:
    first = result.standings[0]
    return CompareOutput(
        signature=result.scores.signature,
        notes=result.scores.notes,
        as_truth=result.scores.as_truth,
        measure=first.measure.name,
        runs=[_run(result, position, result.scores.runs[i]) for position, i in enumerate(first.order)],
        measures={standing.measure.name: _standing(result, standing) for standing in result.standings},
        correlations=[correlations.correlation_of(one) for one in result.correlations],
        official={one.name: correlations.official_of(one) for one in result.official},
        by=comparison_slices.slices_of(result, result.slices) if result.slices else None,
    ).as_data()


def _run(result: Comparison, position: int, run: RunScore) -> ComparedRun:
    return ComparedRun(
        run=run.name,
        place=position + 1,
        measures={measure.name: Interval.of(run.measures[measure.name], measure) for measure in result.scores.measures},
        pooled=None if result.pooled is None else result.pooled[result.scores.runs.index(run)],
        official=run.run.info.official,
        pairs=Pairs(known=run.outcome.pairs_known, guessed=run.outcome.pairs_guessed),
    )


def _standing(result: Comparison, standing: Standing) -> MeasureStanding:
    names, variance = [run.name for run in result.scores.runs], standing.variance
    return copied(
        MeasureStanding,
        standing,
        variance=copied(VarianceParts, variance, residual=variance),
        groups=[[names[i] for i in group] for group in standing.groups],
        ranks={
            names[i]: None if standing.ranks is None else [int(end) for end in standing.ranks[i]]
            for i in standing.order
        },
        pairs=[copied(RunPair, pair, higher=names[pair.higher], lower=names[pair.lower]) for pair in standing.pairs],
    )


def draw(out: Console, result: Comparison) -> None:
    """The ranking, which runs differ, and how the measures agree."""
    wide = out.width >= 100
    _ranking(out, result, wide)
    _tests(out, result)
    if len(result.scores.runs) <= MANY:
        _pairs(out, result)
    correlations.draw(out, result, len(result.scores.runs) <= MANY)
    if result.slices:
        comparison_slices.draw(out, result, result.slices)
    paragraphs(out, _remarks(result, wide))


def _lettered(standing: Standing, wide: bool) -> bool:
    """Whether a column of letters is narrow enough to be readable."""
    return len(standing.groups) <= (len(LETTERS) if wide else 8)


def _ranking(out: Console, result: Comparison, wide: bool) -> None:
    first, *others = result.standings
    lettered = _lettered(first, wide)
    official = wide and any(first.measure.name in run.run.info.official for run in result.scores.runs)
    columns = right("") + left("run") + right(first.measure.title) + fixed("95 % interval") + right("ranks")
    columns += fixed("groups") if lettered else right("alike")
    columns += right(*(standing.measure.title for standing in others))
    sheet = table("", columns + right(*["judging"] * wide, *["official"] * official, "known"))
    for rank, i in enumerate(first.order.tolist(), 1):
        run = result.scores.runs[i]
        headline, known = run.measures[first.measure.name], run.outcome.pairs_known
        row = [between(headline), _ranks(first.ranks[i]) if first.ranks is not None else UNDEFINED]
        if not first.tukey.tested:
            row.append(UNDEFINED)
        elif lettered:
            row.append("".join(LETTERS[n] if i in group else " " for n, group in enumerate(first.groups)).rstrip())
        else:
            row.append(_ranks(first.alike(i)))
        row += [number(run.measures[standing.measure.name].value) for standing in others]
        row += [judging_share(headline)] * wide
        row += [number(run.run.info.official.get(first.measure.name))] * official
        row.append(percent(known, known + run.outcome.pairs_guessed))
        sheet.add_row(str(rank), plain(run.name, "bold"), Text(number(headline.value), "bold"), *row)
    out.print(sheet)


def _ranks(ends: Iterable[int]) -> str:
    low, high = map(int, ends)
    return str(low) if low == high else f"{low}–{high}"


def _tests(out: Console, result: Comparison) -> None:
    pairs = counted(result.standings[0].tukey.pairs, "pair")
    title = f"Analysis of variance, and {how_tested(result.standings[0])} of {pairs}"
    sheet = table(title, left("") + right("questions", "F runs", "p", "F questions", "p", "pairs apart"))
    for standing in result.standings:
        runs, questions, tukey = standing.variance.runs, standing.variance.questions, standing.tukey
        apart = f"{tukey.significant:,}" if tukey.tested else UNDEFINED
        sheet.add_row(standing.measure.title, str(standing.questions), *_f(runs), *_f(questions), apart)
    paragraph(out, sheet)


def _f(factor: Factor) -> tuple[str, str]:
    """F and its p; neither if the runs leave no residual, as equal runs do."""
    if not math.isfinite(factor.f):
        return UNDEFINED, UNDEFINED
    return number(factor.f, 2) if factor.f < LARGEST_F else f">{LARGEST_F:,}", p_value(factor.p)


def _pairs(out: Console, result: Comparison) -> None:
    standing = result.standings[0]
    columns = left("higher", "lower") + right("difference") + fixed("95 % interval") + right("p", "draws")
    sheet = table(f"{standing.measure.title}, pair by pair", columns)
    names = [run.name for run in result.scores.runs]
    for pair in standing.pairs:
        style = "bold" if pair.significant else ""
        above = UNDEFINED if pair.above is None else percent(pair.above)
        cells = [names[pair.higher], names[pair.lower], difference_of(pair.difference).removeprefix("+")]
        cells += [signed_span(pair.low, pair.high), p_value(pair.p), above]
        sheet.add_row(*(plain(cell, style) for cell in cells))
    paragraph(out, sheet)


def how_tested(standing: Standing) -> str:
    return "the test of nuggeteer diff" if standing.change else "Tukey's test of honest significant differences"


def _remarks(result: Comparison, wide: bool) -> Iterator[str]:
    """The notes below the tables."""
    first = result.standings[0]
    runs = result.scores.runs
    yield from result.scores.notes
    guessed = any(run.outcome.pairs_guessed for run in runs)
    if first.ranks is not None:
        drawn = "guesses and of questions" if any(run.outcome.drawn is not None for run in runs) else "questions"
        listed = "; draws: the share of draws in which the first run is above the second" if len(runs) <= MANY else ""
        yield f"ranks: the ranks that the run has in 95 % of the draws of {drawn}{listed}."
    if not first.tukey.tested:
        yield f"{no_interval()} There are no tests either."
    elif _lettered(first, wide):
        yield f"groups: runs that share a letter cannot be told apart by {how_tested(first)}."
    else:
        yield f"alike: the ranks that cannot be told apart from this one by {how_tested(first)}."
    if guessed:
        known = "known: the share of (response, nugget) pairs with a human verdict"
        yield (
            f"{known}. Intervals and tests allow for wrong guesses."
            if any(run.outcome.drawn is not None for run in runs)
            else f"{known}. Intervals and tests do not allow for wrong guesses."
        )
    yield from correlations.remarks(result, len(runs) <= MANY)
    if result.slices:
        yield from comparison_slices.remarks(result, result.slices)
