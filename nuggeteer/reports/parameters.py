"""What a noisy threshold model has learned: its thresholds and error rates, and a picture of one threshold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.reports.formatting import number
from nuggeteer.reports.terminal import plain, table
from nuggeteer.scoring.parameters import Estimate, Parameters, Picture, Unit, name_of

BINS, WIDEST = 20, 24  # of a picture: the ranges of scores, and the most marks of one verdict in a range


def as_json(result: Parameters) -> dict[str, Any]:
    drawn = result.sampled
    return {
        "model": result.model,
        "engine": result.engine,
        "pairs": result.pairs,
        "positive": result.positive,
        "log10_evidence": result.log10_evidence,
        "alpha": _estimate(result.alpha),
        "beta": _estimate(result.beta),
        "units": [_unit_as_json(unit) for unit in result.units],
        "picture": result.picture and _picture_as_json(result.picture),
        "sampled": drawn
        and {
            "r_hat": drawn.r_hat,
            "effective": drawn.effective,
            "divergences": drawn.divergences,
            "warnings": list(drawn.warnings),
        },
        "agreement": result.agreement and asdict(result.agreement),
    }


def _estimate(estimate: Estimate | None) -> dict[str, float] | None:
    return asdict(estimate) if estimate else None


def _unit_as_json(unit: Unit) -> dict[str, Any]:
    estimates = {name: _estimate(getattr(unit, name)) for name in ("theta", "alpha", "beta")}
    return {"qid": unit.qid, "nugget": unit.nugget, "pairs": unit.pairs, "yes": unit.yes, **estimates}


def _picture_as_json(picture: Picture) -> dict[str, Any]:
    return {"unit": _unit_as_json(picture.unit), "scores": picture.scores.tolist(), "yes": picture.yes.tolist()}


def draw(out: Console, result: Parameters) -> None:
    by = "computed exactly" if result.engine == "exact" else "sampled by PyMC"
    out.print(plain(f"{result.model}, {by}: {result.pairs:,} judged pairs, {result.positive:,} of them yes."))
    if result.alpha and result.beta:
        out.print(f"α (a yes below the threshold) {_shown(result.alpha)}, β (a no above it) {_shown(result.beta)}.")
    out.print(f"log10 P(data | model) {number(result.log10_evidence, 1)}")
    if result.sampled and result.agreement:
        drawn, near = result.sampled, result.agreement
        out.print(
            f"R̂ at most {drawn.r_hat:.3f}, effective draws at least {drawn.effective:,.0f}, {drawn.divergences} "
            "divergent transitions."
        )
        out.print(
            "PyMC's means and the exact ones differ by at most, in standard deviations of the posterior: α "
            f"{near.alpha:.2f}, β {near.beta:.2f}, θ {near.theta:.2f}."
        )
        for line in drawn.warnings:
            out.print(plain(line))
    out.print()
    if result.picture:
        _picture(out, result.picture)
        return
    own = any(unit.alpha for unit in result.units)
    columns = [("", "left"), ("pairs", "right"), ("yes", "right"), ("θ", "right"), ("95 % interval", "left")]
    columns += [("α", "right"), ("interval", "left"), ("β", "right"), ("interval", "left")] if own else []
    rows: list[list[str | Text]] = []
    for unit in result.units:
        row: list[str | Text] = [plain(name_of(unit)), f"{unit.pairs:,}", f"{unit.yes:,}", *_cells(unit.theta)]
        rows.append([*row, *_cells(unit.alpha), *_cells(unit.beta)] if own else row)
    out.print(table("Thresholds", columns, rows))
    out.print()
    out.print("θ: above this match score a response is taken to carry the nugget, but for α and β.")


def _cells(estimate: Estimate | None) -> list[str | Text]:
    return [] if estimate is None else [number(estimate.mean, 2), f"{estimate.low:.2f}–{estimate.high:.2f}"]


def _shown(estimate: Estimate) -> str:
    return f"{number(estimate.mean)} ({estimate.low:.3f}–{estimate.high:.3f})"


def _picture(out: Console, picture: Picture) -> None:
    """Scores from high to low; at the left, where the threshold is."""
    theta = picture.unit.theta
    out.print(plain(f"{name_of(picture.unit)}: θ {_shown(theta)}"))
    place = np.minimum((picture.scores * BINS).astype(int), BINS - 1)
    out.print(plain(f"{'θ':>3}  {'score':<10}  yes {'':<{WIDEST}}no"))
    for i in reversed(range(BINS)):
        low, high = i / BINS, (i + 1) / BINS
        mark = " "
        if low < theta.high and theta.low < high:
            mark = "█" if low <= theta.mean < high else "│"
        yes, no = (int(((place == i) & (picture.yes == verdict)).sum()) for verdict in (True, False))
        out.print(
            plain(f"{mark:>3}  {low:.2f}–{high:.2f}   {_marks('●', yes):<{WIDEST + 4}}{_marks('○', no)}".rstrip())
        )
    out.print()
    out.print("● yes, ○ no; with a number where there are more. █ the mean of θ, │ its 95 % interval.")


def _marks(mark: str, count: int) -> str:
    return mark * count if count <= WIDEST else mark * (WIDEST - 6) + f" {count}"
