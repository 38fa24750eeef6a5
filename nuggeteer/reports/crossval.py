"""The results of a cross-validation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.records import number_or_none
from nuggeteer.reports.formatting import number, percent, span
from nuggeteer.reports.json_values import file_name
from nuggeteer.reports.terminal import plain, table
from nuggeteer.trust.crossval import Crossval
from nuggeteer.trust.quality import Quality


def as_json(result: Crossval) -> dict[str, Any]:
    runs = result.runs
    return {
        "matcher": result.matcher,
        "model": result.model,
        "measure": str(result.measure) if result.measure else None,
        "groups": result.groups,
        "pairs": asdict(result.pairs),
        "guessed": asdict(result.guessed),
        "answers": asdict(result.answers),
        "runs": {
            "n": runs.n,
            "kendall_tau": number_or_none(runs.kendall_tau),
            "pearson": number_or_none(runs.pearson),
            "rmse": number_or_none(runs.rmse),
            "coverage95": result.coverage95,
        },
        "scores": [
            {"run": file_name(run.run), "true": run.true, "value": run.value, "judging": run.judging}
            for run in result.scores
        ],
        "seconds": result.seconds,
        "as_truth": list(result.as_truth),
    }


def draw(out: Console, result: Crossval) -> None:
    how = f"Matcher: {result.matcher}. Threshold model: {result.model}."
    out.print(plain(f"{result.groups} groups of runs, each left out in turn. {how}"))
    if result.as_truth:
        out.print(plain(f"Verdicts of machines count as a human's: {', '.join(result.as_truth)}."))
    out.print()
    columns = [("guesses of", "left"), ("number", "right"), ("yes", "right"), ("precision", "right")]
    columns += [("recall", "right"), ("F1", "right"), ("κ", "right"), ("AP", "right")]
    columns += [("Brier", "right"), ("ECE", "right")]
    rows = [_row("pairs", result.pairs), _row("those guessed", result.guessed), _row("answers", result.answers)]
    if result.guessed.n == result.pairs.n:
        del rows[1]
    out.print(table("", columns, rows))
    out.print()
    out.print(
        "pairs: (response, nugget), with each text of an answer once. If another group returned the same text, its "
        "verdict is known and not guessed. answers: (run, nugget). κ: Cohen's. AP: average precision, the surest pairs "
        "first. Brier: mean squared error of the probabilities. ECE: expected calibration error, how far the "
        "probabilities are from the shares that are yes."
    )
    out.print()
    runs = result.runs
    compared = result.measure.title if result.measure else "recall"
    columns = [("run", "left"), (f"true {compared}", "right"), ("guessed", "right"), ("judging interval", "fixed")]
    scores: list[list[str | Text]] = [
        [plain(run.run), number(run.true), number(run.value), span(*(run.judging or (None, None)))]
        for run in sorted(result.scores, key=lambda run: -run.true)
    ]
    out.print(table("", columns, scores))
    out.print()
    held = "" if result.coverage95 is None else f"; {percent(result.coverage95)} of the intervals hold the true score"
    tau, pearson, rmse = (number(value) for value in (runs.kendall_tau, runs.pearson, runs.rmse))
    out.print(f"{runs.n} runs: Kendall's tau {tau}, Pearson {pearson}, rmse {rmse}{held}.")


def _row(name: str, quality: Quality) -> list[str]:
    q = quality
    values = (q.precision, q.recall, q.f1, q.kappa, q.average_precision, q.brier, q.ece)
    return [name, f"{q.n:,}", f"{q.positive:,}", *(number(value) for value in values)]
