"""The results of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from rich.console import Console

from nuggeteer.fields import Count, Number, Part, about, copied
from nuggeteer.reports.formatting import counted, number, percent, span
from nuggeteer.reports.model import AsTruth
from nuggeteer.reports.terminal import fixed, left, paragraph, right, say, table
from nuggeteer.trust.crossval import Crossval, LeftOutRun
from nuggeteer.trust.reliability import GuessQuality


class RunsQuality(Part):
    """How good the scores of the runs are that were left out."""

    n: Count
    kendall_tau: Annotated[Number, about("Of the order by guesses and the true one.")]
    pearson: Number
    rmse: Number
    coverage95: Annotated[Number, about("The share of judging intervals that hold the true score.")]


class CrossvalOutput(Part):
    """How good guesses are when each group of runs is left out in turn."""

    matcher: str
    model: str
    measure: Annotated[str | None, about("The score by which runs are compared; null for recall by weight.")]
    groups: Count
    pairs: Annotated[GuessQuality, about("(response, nugget) pairs.")]
    guessed: Annotated[GuessQuality, about("Those pairs that were guessed.")]
    answers: Annotated[GuessQuality, about("(run, nugget) pairs.")]
    runs: RunsQuality
    scores: Sequence[LeftOutRun]
    seconds: float
    as_truth: AsTruth


def as_json(result: Crossval) -> dict[str, Any]:
    return copied(
        CrossvalOutput,
        result,
        measure=str(result.measure) if result.measure else None,
        runs=copied(RunsQuality, result.runs, coverage95=result.coverage95),
    ).as_data()


def draw(out: Console, result: Crossval) -> None:
    how = f"Matcher: {result.matcher}. Threshold model: {result.model}."
    say(out, f"{counted(result.groups, 'group')} of runs, each left out in turn. {how}")
    if result.as_truth:
        say(out, f"Verdicts of machines count as a human's: {', '.join(result.as_truth)}.")
    out.print()
    columns = left("guesses of") + right("number", "yes", "precision", "recall", "F1", "κ", "AP", "Brier", "ECE")
    rows = [_row("pairs", result.pairs), _row("those guessed", result.guessed), _row("answers", result.answers)]
    if result.guessed.n == result.pairs.n:
        del rows[1]
    out.print(table("", columns, rows))
    paragraph(
        out,
        "pairs: (response, nugget), with each text of an answer once. If another group returned the same text, its "
        "verdict is known and not guessed. answers: (run, nugget). κ: Cohen's. AP: average precision, the surest pairs "
        "first. Brier: mean squared error of the probabilities. ECE: expected calibration error, how far the "
        "probabilities are from the shares that are yes.",
    )
    out.print()
    runs = result.runs
    compared = result.measure.title if result.measure else "recall"
    sheet = table("", left("run") + right(f"true {compared}", "guessed") + fixed("judging interval"))
    for run in sorted(result.scores, key=lambda run: -run.true):
        sheet.add_row(run.run, number(run.true), number(run.value), span(*(run.judging or (None, None))))
    out.print(sheet)
    out.print()
    held = "" if result.coverage95 is None else f"; {percent(result.coverage95)} of the intervals hold the true score"
    tau, pearson, rmse = (number(value) for value in (runs.kendall_tau, runs.pearson, runs.rmse))
    out.print(f"{counted(runs.n, 'run')}: Kendall's tau {tau}, Pearson {pearson}, rmse {rmse}{held}.")


def _row(name: str, quality: GuessQuality) -> list[str]:
    q = quality
    values = (q.precision, q.recall, q.f1, q.kappa, q.average_precision, q.brier, q.ece)
    return [name, f"{q.n:,}", f"{q.positive:,}", *(number(value) for value in values)]
