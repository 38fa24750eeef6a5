"""A comparison of runs, on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.comparing.comparison import Comparison, Slice, Slices, Standing
from nuggeteer.reports.as_json import each_pair
from nuggeteer.reports.terminal import UNDEFINED, between, judging_share, number, plain, share, table
from nuggeteer.statistics.significance import LEVEL
from nuggeteer.text import escaped

MANY = 7  # more have too many pairs to read one by one
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def comparison(out: Console, result: Comparison) -> None:
    """The ranking, what can be told apart, and how the measures agree."""
    wide = out.width >= 100
    _ranking(out, result, wide)
    _tests(out, result)
    if len(result.scores.runs) <= MANY:
        _pairs(out, result)
    if result.correlations:
        _correlations(out, result)
    if result.official:
        _official(out, result)
    if result.slices and len(result.scores.runs) <= MANY:
        _slices(out, result, result.slices)
    elif result.slices:
        _slices_across(out, result, result.slices)
    for line in _remarks(result, wide):
        out.print()
        out.print(plain(line))
    out.print()
    out.print(plain(result.scores.signature, "dim"), soft_wrap=True)


def _table(title: str, columns: list[tuple[str, str]], rows: Sequence[Sequence[str | Text]]) -> Table:
    """Names of runs are broken where they are too long, and not cut: their ends are what tells them apart."""
    result = table(title, columns, rows)
    for column in result.columns:
        column.overflow = "fold"
    return result


def _lettered(standing: Standing, wide: bool) -> bool:
    """Whether a column of letters is narrow enough to be read."""
    return len(standing.groups) <= (len(LETTERS) if wide else 8)


def _ranking(out: Console, result: Comparison, wide: bool) -> None:
    first, *others = result.standings
    lettered = _lettered(first, wide)
    official = any(first.measure.name in run.run.info.official for run in result.scores.runs)
    columns = [("", "right"), ("run", "wrap"), (first.measure.title, "right"), ("95 % interval", "left")]
    columns += [("ranks", "right"), ("groups" if lettered else "alike", "left" if lettered else "right")]
    columns += [(standing.measure.title, "right") for standing in others]
    if wide:
        columns += [("judging", "right")]
        columns += [("official", "right")] if official else []
    columns += [("known", "right")]
    rows: list[list[str | Text]] = []
    places = np.argsort(first.order)
    for place, i in enumerate(first.order):
        run = result.scores.runs[i]
        headline = run.measures[first.measure.name]
        known = run.outcome.pairs_known
        row: list[str | Text] = [str(place + 1), plain(run.name, "bold"), Text(number(headline.value), "bold")]
        row += [between(headline), _span(first.ranks[i]) if first.ranks is not None else UNDEFINED]
        if not first.tukey.tested:
            row.append(UNDEFINED)
        elif lettered:
            row.append("".join(LETTERS[n] if i in group else " " for n, group in enumerate(first.groups)).rstrip())
        else:
            alike = [places[other] + 1 for group in first.groups if i in group for other in group]
            row.append(_span((min(alike), max(alike))))
        row += [number(run.measures[standing.measure.name].value) for standing in others]
        if wide:
            row.append(judging_share(headline))
            row += [number(run.run.info.official.get(first.measure.name))] if official else []
        row.append(share(known, known + run.outcome.pairs_guessed))
        rows.append(row)
    out.print(_table("", columns, rows))


def _span(ends: Any) -> str:
    low, high = map(int, ends)
    return str(low) if low == high else f"{low}–{high}"


def _tests(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("questions", "right"), ("F runs", "right"), ("p", "right")]
    columns += [("F questions", "right"), ("p", "right"), ("pairs apart", "right")]
    rows: list[list[str | Text]] = []
    for standing in result.standings:
        runs, questions, tukey = standing.variance.runs, standing.variance.questions, standing.tukey
        row: list[str | Text] = [standing.measure.title, str(standing.questions), number(runs.f, 2), chance(runs.p)]
        row += [number(questions.f, 2), chance(questions.p)]
        rows.append([*row, f"{tukey.significant:,}" if tukey.tested else UNDEFINED])
    pairs = result.standings[0].tukey.pairs
    out.print()
    out.print(_table(f"Analysis of variance, and Tukey's test of {pairs:,} pairs", columns, rows))


def chance(p: float) -> str:
    """A p-value; never 0."""
    if math.isnan(p):
        return UNDEFINED
    return "<0.0001" if p < 0.00005 else "1" if p >= 0.99995 else f"{p:.4f}"


def _pairs(out: Console, result: Comparison) -> None:
    standing = result.standings[0]
    columns = [("higher", "wrap"), ("lower", "wrap"), ("difference", "right")]
    columns += [("95 % interval", "left"), ("p", "right"), ("draws", "right")]
    rows = []
    for pair in each_pair(result, standing):
        style = "bold" if pair["significant"] else ""
        low, high, p, above = (math.nan if pair[key] is None else pair[key] for key in ("low", "high", "p", "above"))
        cells = [pair["higher"], pair["lower"], number(pair["difference"])]
        cells += [UNDEFINED if math.isnan(low) else f"{signed(low)} to {signed(high)}", chance(p), percent(above)]
        rows.append([plain(cell, style) for cell in cells])
    out.print()
    out.print(_table(f"{standing.measure.title}, pair by pair", columns, rows))


def percent(share: float) -> str:
    """0 % only of none and 100 % only of all."""
    if math.isnan(share):
        return UNDEFINED
    rounded = round(100 * share)
    if share > 0 and rounded == 0:
        return "<1 %"
    return ">99 %" if share < 1 and rounded == 100 else f"{rounded} %"


def _correlations(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("Pearson answers", "right"), ("Pearson runs", "right")]
    columns += [("Kendall answers", "right"), ("Kendall runs", "right")]
    rows: list[list[str | Text]] = []
    for one in result.correlations:
        a, b = one.measures
        row: list[str | Text] = [f"{a.title} and {b.title}", number(one.answers.pearson), number(one.runs.pearson)]
        rows.append([*row, number(one.answers.kendall_tau), number(one.runs.kendall_tau)])
    out.print()
    out.print(_table("How the measures correlate, over answers and over runs", columns, rows))


def _official(out: Console, result: Comparison) -> None:
    columns = [("", "left"), ("runs", "right"), ("τ_b", "right"), ("R²", "right"), ("RMSE", "right")]
    rows: list[list[str | Text]] = [
        [measure.title, str(one.n), number(one.kendall_tau), number(one.r_squared), number(one.rmse)]
        for measure, one in result.official
    ]
    out.print()
    out.print(_table("Against the official scores", columns, rows))


def _slices(out: Console, result: Comparison, slices: Slices) -> None:
    tags = slices.by == "tag"
    title = slices.measured if tags else result.standings[0].measure.title
    columns = [(slices.by, "wrap"), *([("nuggets", "right")] if tags else []), ("questions", "right"), ("run", "wrap")]
    columns += [(title, "right"), ("difference", "right"), ("p", "right"), ("corrected p", "right")]
    names = [run.name for run in result.scores.runs]
    rows = _table(f"By {slices.by}, against {slices.against}", columns, [])
    for one in slices.slices:
        values = next(iter(one.scores.values()))
        for i, name in enumerate(names):
            counts = [str(one.nuggets), str(one.questions)] if tags else [str(one.questions)]
            head = [plain("(none)" if one.value is None else one.value, "bold"), *map(Text, counts)]
            told = [Text(number(float(values[i])))]
            if i:
                style = "bold" if one.p_holm[i] < LEVEL else ""
                told += [Text(signed(float(one.difference[i])), style), Text(chance(float(one.p[i])))]
                told += [Text(chance(float(one.p_holm[i])), style)]
            rows.add_row(
                *(head if i == 0 else [Text("")] * len(head)), plain(name), *told, end_section=i == len(names) - 1
            )
    out.print()
    out.print(rows)


def _slices_across(out: Console, result: Comparison, slices: Slices) -> None:
    """A column for each slice, as many beside each other as fit."""
    names = [escaped(run.name) for run in result.scores.runs]
    left = min(max(map(len, names)), out.width // 3)
    rest = list(slices.slices)
    while rest:
        heads: list[str] = []
        for one in rest:
            heads.append("(none)" if one.value is None else escaped(one.value))
            if left + sum(3 + max(8, *map(len, head.split(" "))) for head in heads) > out.width and len(heads) > 1:
                heads.pop()
                break
        block, rest = rest[: len(heads)], rest[len(heads) :]
        counts = [Text(str(one.nuggets if slices.by == "tag" else one.questions), "dim") for one in block]
        rows: list[list[str | Text]] = [[Text("nuggets" if slices.by == "tag" else "questions", "dim"), *counts]]
        for i in result.standings[0].order:
            rows.append([Text(names[i], "bold" if i == 0 else ""), *(_marked(one, int(i)) for one in block)])
        title = slices.measured if slices.by == "tag" else result.standings[0].measure.title
        out.print()
        out.print(
            _table(
                f"{title} by {slices.by}, against {slices.against}",
                [("run", "wrap"), *((head, "right") for head in heads)],
                rows,
            )
        )


def _marked(one: Slice, run: int) -> Text:
    """A run's score, with a sign where it differs significantly from the first run's."""
    value = number(float(next(iter(one.scores.values()))[run]))
    if run and one.p_holm[run] < LEVEL:
        return Text(f"{value} {'+' if one.difference[run] > 0 else '−'}", "bold")
    return Text(f"{value}  ")


def signed(value: float) -> str:
    return UNDEFINED if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _remarks(result: Comparison, wide: bool) -> Iterator[str]:
    """What a reader of the tables must know to read them right."""
    first = result.standings[0]
    runs = result.scores.runs
    yield from result.scores.notes
    guessed = any(run.outcome.pairs_guessed for run in runs)
    if first.ranks is not None:
        drawn = "guesses and of questions" if any(run.outcome.drawn is not None for run in runs) else "questions"
        listed = "; draws: in how many of them the one is above the other" if len(runs) <= MANY else ""
        yield f"ranks: where 95 % of draws of {drawn} put the run{listed}."
    if not first.tukey.tested:
        yield "One question tells nothing of others: there is no interval and no test."
    elif _lettered(first, wide):
        yield "groups: runs that share a letter cannot be told apart (Tukey's honestly significant difference)."
    else:
        yield "alike: the ranks from which a run cannot be told apart (Tukey's honestly significant difference)."
    if guessed:
        known = "known: the share of (response, nugget) pairs with a human verdict"
        yield (
            f"{known}. Tests count that guesses may be wrong, as the intervals do."
            if any(run.outcome.drawn is not None for run in runs)
            else f"{known}. Neither intervals nor tests count that guesses may be wrong."
        )
    if result.official:
        have = [run.outcome for run in runs if result.official[0][0].name in run.run.info.official]
        known, guesses = (sum(getattr(one, what) for one in have) for what in ("pairs_known", "pairs_guessed"))
        yield f"Of the pairs of the runs with official scores {share(known, known + guesses)} are known, not guessed."
    few = [f"{measure.title} ({one.n})" for measure, one in result.official if one.n < 3]
    if few:
        yield f"τ_b and R² take three runs with official scores; there are fewer for {', '.join(few)}."
    if result.slices:
        yield from _slice_remarks(result, result.slices)


def _slice_remarks(result: Comparison, slices: Slices) -> Iterator[str]:
    if slices.by == "tag":
        weight = "weight" if result.scores.key.weighted else "vital nuggets"
        yield (
            f"{slices.measured}: {weight} found over {weight} in the key, of the nuggets with the tag; the mean over "
            "questions. A nugget with several tags counts in each."
        )
    tests = sum(int((~np.isnan(one.p)).sum()) for one in slices.slices)
    if len(result.scores.runs) <= MANY:
        yield (
            f"Differences are from {slices.against}, the first run. p: by the slice's own analysis of variance; "
            f"corrected p: for being one of {tests} (Holm)."
        )
    else:
        yield (
            f"+ and −: significantly above or below {slices.against}, the first run, in that slice, by the slice's own "
            f"analysis of variance, corrected for being one of {tests} (Holm)."
        )
