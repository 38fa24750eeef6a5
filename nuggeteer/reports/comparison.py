"""Many runs compared, also by slices: kinds or targets of questions, or tags of nuggets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.comparison import Comparison, Slice, Slices, Standing
from nuggeteer.fields import Count, Number, Of, Part, Share, about, copied
from nuggeteer.reports import comparison_correlations as correlations
from nuggeteer.reports.comparison_correlations import MeasureCorrelation, OfficialAgreement
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
    signed,
    signed_span,
)
from nuggeteer.reports.model import BY_MEASURE, AsTruth, Interval, Notes, Pairs, Signature
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, table
from nuggeteer.scoring.scores import RunScore
from nuggeteer.statistics.significance import LEVEL
from nuggeteer.statistics.variance import Factor
from nuggeteer.text import escaped

MANY = 7  # runs: more have too many pairs to read one by one, and slices are columns
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
        by=_slices(result, result.slices) if result.slices else None,
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
        _by_slices(out, result, result.slices)
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
        yield from _slice_remarks(result, result.slices)


def _slices(result: Comparison, slices: Slices) -> SlicesOutput:
    names = list(enumerate(run.name for run in result.scores.runs))
    parts = [copied(SliceOutput, part, runs=[_slice_run(part, i, name) for i, name in names]) for part in slices.slices]
    return copied(SlicesOutput, slices, correction="holm", slices=parts)


def _slice_run(part: Slice, i: int, name: str) -> SliceRun:
    measures = {measure: values[i] for measure, values in part.scores.items()}
    return SliceRun(run=name, measures=measures, difference=part.difference[i], p=part.p[i], p_holm=part.p_holm[i])


def _by_slices(out: Console, result: Comparison, slices: Slices) -> None:
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


def _slice_remarks(result: Comparison, slices: Slices) -> Iterator[str]:
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
