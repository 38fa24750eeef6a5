"""Many runs compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.comparison import Comparison, PairOfRuns, Standing
from nuggeteer.records import number_or_none
from nuggeteer.reports import comparison_correlations as correlations
from nuggeteer.reports import comparison_slices
from nuggeteer.reports.formatting import (
    UNDEFINED,
    between,
    judging_share,
    no_interval,
    number,
    p_value,
    percent,
    signed_span,
)
from nuggeteer.reports.json_values import interval_as_json
from nuggeteer.reports.terminal import plain, table
from nuggeteer.scoring.scores import RunScore
from nuggeteer.statistics.variance import Factor

MANY = 7  # more have too many pairs to read one by one
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def as_json(result: Comparison) -> dict[str, Any]:
    first = result.standings[0]
    return {
        "signature": result.scores.signature,
        "notes": list(result.scores.notes),
        "as_truth": list(result.scores.as_truth),
        "measure": first.measure.name,
        "runs": [_run_as_json(result, position, result.scores.runs[i]) for position, i in enumerate(first.order)],
        "measures": {standing.measure.name: _standing_as_json(result, standing) for standing in result.standings},
        **correlations.as_json(result),
        "by": comparison_slices.as_json(result, result.slices) if result.slices else None,
    }


def _run_as_json(result: Comparison, position: int, run: RunScore) -> dict[str, Any]:
    return {
        "run": run.name,
        "place": position + 1,
        **{measure.name: interval_as_json(run.measures[measure.name]) for measure in result.scores.measures},
        "pooled": None if result.pooled is None else number_or_none(result.pooled[result.scores.runs.index(run)]),
        "official": dict(run.run.info.official),
        "pairs": {"known": run.outcome.pairs_known, "guessed": run.outcome.pairs_guessed},
    }


def _standing_as_json(result: Comparison, standing: Standing) -> dict[str, Any]:
    names = [run.name for run in result.scores.runs]
    variance, tukey = standing.variance, standing.tukey
    return {
        "questions": standing.questions,
        "variance": {
            "questions": _factor_as_json(variance.questions),
            "runs": _factor_as_json(variance.runs),
            "residual": {"mean_square": number_or_none(variance.mean_square), "freedom": variance.freedom},
        },
        "tukey": {"pairs": tukey.pairs, "significant": tukey.significant},
        "groups": [[names[i] for i in group] for group in standing.groups],
        "ranks": {
            names[i]: None if standing.ranks is None else [int(end) for end in standing.ranks[i]]
            for i in standing.order
        },
        "pairs": [_pair_as_json(pair, names) for pair in standing.pairs],
    }


def _pair_as_json(pair: PairOfRuns, names: Sequence[str]) -> dict[str, Any]:
    return {
        "higher": names[pair.higher],
        "lower": names[pair.lower],
        "difference": number_or_none(pair.difference),
        "low": number_or_none(pair.low),
        "high": number_or_none(pair.high),
        "p": number_or_none(pair.p),
        "above": pair.above,
        "significant": pair.significant,
    }


def _factor_as_json(factor: Factor) -> dict[str, Any]:
    return {
        "squares": number_or_none(factor.squares),
        "freedom": factor.freedom,
        "f": number_or_none(factor.f),
        "p": number_or_none(factor.p),
    }


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
    for line in _remarks(result, wide):
        out.print()
        out.print(plain(line))


def _lettered(standing: Standing, wide: bool) -> bool:
    """Whether a column of letters is narrow enough to be readable."""
    return len(standing.groups) <= (len(LETTERS) if wide else 8)


def _ranking(out: Console, result: Comparison, wide: bool) -> None:
    first, *others = result.standings
    lettered = _lettered(first, wide)
    official = any(first.measure.name in run.run.info.official for run in result.scores.runs)
    columns = [("", "right"), ("run", "left"), (first.measure.title, "right"), ("95 % interval", "fixed")]
    columns += [("ranks", "right"), ("groups" if lettered else "alike", "fixed" if lettered else "right")]
    columns += [(standing.measure.title, "right") for standing in others]
    if wide:
        columns += [("judging", "right")]
        columns += [("official", "right")] if official else []
    columns += [("known", "right")]
    rows: list[list[str | Text]] = []
    for rank, i in enumerate(first.order.tolist(), 1):
        run = result.scores.runs[i]
        headline = run.measures[first.measure.name]
        known = run.outcome.pairs_known
        row: list[str | Text] = [str(rank), plain(run.name, "bold"), Text(number(headline.value), "bold")]
        row += [between(headline), _ranks(first.ranks[i]) if first.ranks is not None else UNDEFINED]
        if not first.tukey.tested:
            row.append(UNDEFINED)
        elif lettered:
            row.append("".join(LETTERS[n] if i in group else " " for n, group in enumerate(first.groups)).rstrip())
        else:
            row.append(_ranks(first.alike(i)))
        row += [number(run.measures[standing.measure.name].value) for standing in others]
        if wide:
            row.append(judging_share(headline))
            row += [number(run.run.info.official.get(first.measure.name))] if official else []
        row.append(percent(known, known + run.outcome.pairs_guessed))
        rows.append(row)
    out.print(table("", columns, rows))


def _ranks(ends: Iterable[int]) -> str:
    low, high = map(int, ends)
    return str(low) if low == high else f"{low}–{high}"


def _tests(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("questions", "right"), ("F runs", "right"), ("p", "right")]
    columns += [("F questions", "right"), ("p", "right"), ("pairs apart", "right")]
    rows: list[list[str | Text]] = []
    for standing in result.standings:
        runs, questions, tukey = standing.variance.runs, standing.variance.questions, standing.tukey
        row: list[str | Text] = [standing.measure.title, str(standing.questions), number(runs.f, 2), p_value(runs.p)]
        row += [number(questions.f, 2), p_value(questions.p)]
        rows.append([*row, f"{tukey.significant:,}" if tukey.tested else UNDEFINED])
    pairs = result.standings[0].tukey.pairs
    out.print()
    out.print(table(f"Analysis of variance, and Tukey's test of {pairs:,} pairs", columns, rows))


def _pairs(out: Console, result: Comparison) -> None:
    standing = result.standings[0]
    columns = [("higher", "left"), ("lower", "left"), ("difference", "right")]
    columns += [("95 % interval", "fixed"), ("p", "right"), ("draws", "right")]
    rows = []
    names = [run.name for run in result.scores.runs]
    for pair in standing.pairs:
        style = "bold" if pair.significant else ""
        above = UNDEFINED if pair.above is None else percent(pair.above)
        cells = [names[pair.higher], names[pair.lower], number(pair.difference)]
        cells += [signed_span(pair.low, pair.high), p_value(pair.p), above]
        rows.append([plain(cell, style) for cell in cells])
    out.print()
    out.print(table(f"{standing.measure.title}, pair by pair", columns, rows))


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
        yield "groups: runs that share a letter cannot be told apart (Tukey's honestly significant difference)."
    else:
        yield "alike: the ranks that cannot be told apart from this one (Tukey's honestly significant difference)."
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
