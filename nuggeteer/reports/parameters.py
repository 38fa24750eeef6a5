"""What a noisy threshold model has learned: its thresholds and error rates, and a picture of one threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.fields import about
from nuggeteer.reports.formatting import number
from nuggeteer.reports.model import Count, Part, copied
from nuggeteer.reports.terminal import plain, table
from nuggeteer.scoring.parameters import Estimate, Parameters, Picture, Unit, name_of
from nuggeteer.statistics.intervals import DRAWS

BINS, WIDEST = 20, 24  # of a picture: the ranges of scores, and the most marks of one verdict in a range


class EstimatedRate(Part):
    """A posterior's mean and 95 % interval."""

    mean: float
    low: float
    high: float


class ThresholdUnit(Part):
    """What has a threshold of its own: a nugget, a question (`nugget` is null), or all (both are null)."""

    qid: str | None
    nugget: str | None
    pairs: Annotated[Count, about("Its judged pairs.")]
    yes: Annotated[Count, about("Those with a yes.")]
    theta: Annotated[EstimatedRate | None, about("The threshold.")]
    alpha: Annotated[EstimatedRate | None, about("null where all units share it.")]
    beta: Annotated[EstimatedRate | None, about("null where all units share it.")]


class ThresholdPicture(Part):
    """The match scores and verdicts of the pairs of one unit."""

    unit: ThresholdUnit
    scores: Sequence[float]
    yes: Sequence[bool]


class DrawsQuality(Part):
    """How good PyMC's draws are."""

    r_hat: float
    effective: float
    divergences: Count
    warnings: Sequence[str]


class EnginesAgreement(Part):
    """How far PyMC's means are from the exact ones, at most, in standard deviations of the posterior."""

    alpha: float
    beta: float
    theta: float


class ParametersOutput(Part):
    """What a noisy threshold model has learned: with `--model`, `--nugget` or `--engine`."""

    model: str
    engine: Literal["exact", "pymc"]
    pairs: Annotated[Count, about("Judged pairs.")]
    positive: Annotated[Count, about("Those with a yes.")]
    log10_evidence: Annotated[float, about("log10 P(data | model).")]
    alpha: Annotated[
        EstimatedRate | None,
        about("The probability of a yes below the threshold; null where each unit has its own."),
    ]
    beta: Annotated[
        EstimatedRate | None, about("The probability of a no above the threshold; null where each unit has its own.")
    ]
    units: Sequence[ThresholdUnit]
    picture: Annotated[ThresholdPicture | None, about("null without `--nugget`.")]
    sampled: Annotated[DrawsQuality | None, about("null with the exact engine.")]
    agreement: Annotated[EnginesAgreement | None, about("null with the exact engine.")]


def as_json(result: Parameters) -> dict[str, Any]:
    picture = result.picture
    return copied(
        ParametersOutput,
        result,
        alpha=_estimate(result.alpha),
        beta=_estimate(result.beta),
        units=[_unit(unit) for unit in result.units],
        picture=picture
        and ThresholdPicture(unit=_unit(picture.unit), scores=picture.scores.tolist(), yes=picture.yes.tolist()),
        sampled=result.sampled and copied(DrawsQuality, result.sampled, warnings=list(result.sampled.warnings)),
        agreement=result.agreement and copied(EnginesAgreement, result.agreement),
    ).as_data()


def _estimate(estimate: Estimate | None) -> EstimatedRate | None:
    return copied(EstimatedRate, estimate) if estimate else None


def _unit(unit: Unit) -> ThresholdUnit:
    estimates = {name: _estimate(getattr(unit, name)) for name in ("theta", "alpha", "beta")}
    return copied(ThresholdUnit, unit, **estimates)


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
    if own and result.engine == "exact":
        out.print(f"Means and θ are exact; the intervals of α and β are from {DRAWS:,} draws.")


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
