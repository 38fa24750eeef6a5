"""What a noisy threshold model has learned: its thresholds and error rates, and a picture of one threshold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from nuggeteer.formats.jsonl import write_file
from nuggeteer.records import Ints
from nuggeteer.reports.drawing import FONT_SIZE, GAP, ROOM_FOR_NAME, Drawing, Panel, Scale, round_numbers, text_width
from nuggeteer.reports.figure import MARGIN, WIDTH, add_style
from nuggeteer.reports.formatting import counted, number
from nuggeteer.reports.terminal import left, paragraph, right, say, table
from nuggeteer.scoring.parameters import EstimatedRate, Parameters, Picture, name_of
from nuggeteer.statistics.intervals import DRAWS

BINS, WIDEST = 20, 24  # of a picture: the ranges of scores, and the most marks of one verdict in a range


as_json = Parameters.as_data


def draw(out: Console, result: Parameters) -> None:
    by = "computed exactly" if result.engine == "exact" else "sampled by PyMC"
    say(out, f"{result.model}, {by}: {result.pairs:,} judged pairs, {result.positive:,} of them yes.")
    if result.alpha and result.beta:
        out.print(f"α (a yes below the threshold) {_shown(result.alpha)}, β (a no above it) {_shown(result.beta)}.")
    out.print(f"log10 P(data | model) {number(result.log10_evidence, 1)}")
    if result.sampled and result.agreement:
        drawn, near = result.sampled, result.agreement
        out.print(
            f"R̂ at most {drawn.r_hat:.3f}, effective draws at least {drawn.effective:,.0f}, {drawn.divergences} "
            "divergent transitions."
        )
        names = {"α": near.alpha, "β": near.beta, "θ": near.theta, "the chance of a judged pair": near.chance}
        shown = ", ".join(f"{name} {value:.2f}" for name, value in names.items() if value is not None)
        whose = "ours" if near.theta is None else "the exact ones"
        out.print(f"PyMC's means and {whose} differ by at most, in standard deviations of the posterior: {shown}.")
        say(out, *drawn.warnings)
    if not result.units:
        return
    out.print()
    if result.picture:
        _picture(out, result.picture)
        return
    own = any(unit.alpha for unit in result.units)
    columns = left("") + right("pairs", "yes", "θ") + left("95 % interval")
    columns += right("α") + left("interval") + right("β") + left("interval") if own else []
    sheet = table("Thresholds", columns)
    for unit in result.units:
        rates = [*_cells(unit.theta), *(_cells(unit.alpha) + _cells(unit.beta) if own else [])]
        sheet.add_row(name_of(unit), f"{unit.pairs:,}", f"{unit.yes:,}", *rates)
    out.print(sheet)
    paragraph(out, "θ: above this match score a response is taken to carry the nugget, but for α and β.")
    if own and result.engine == "exact":
        out.print(f"Means and θ are exact; the intervals of α and β are from {DRAWS:,} draws.")


def _cells(estimate: EstimatedRate | None) -> list[str]:
    return [] if estimate is None else [number(estimate.mean, 2), f"{estimate.low:.2f}–{estimate.high:.2f}"]


def _shown(estimate: EstimatedRate) -> str:
    return f"{number(estimate.mean)} ({estimate.low:.3f}–{estimate.high:.3f})"


def _picture(out: Console, picture: Picture) -> None:
    """Scores from high to low; at the left, where the threshold is."""
    theta, yes = picture.unit.theta, np.array(picture.yes)
    assert theta
    place = np.minimum((np.array(picture.scores) * BINS).astype(int), BINS - 1)
    say(out, f"{name_of(picture.unit)}: θ {_shown(theta)}", f"{'θ':>3}  {'score':<10}  yes {'':<{WIDEST}}no")
    for i in reversed(range(BINS)):
        low, high = i / BINS, (i + 1) / BINS
        mark = " "
        if low < theta.high and theta.low < high:
            mark = "█" if low <= theta.mean < high else "│"
        found, not_found = (int(((place == i) & (yes == verdict)).sum()) for verdict in (True, False))
        shown = f"{_marks('●', found):<{WIDEST + 4}}{_marks('○', not_found)}"
        say(out, f"{mark:>3}  {low:.2f}–{high:.2f}   {shown}".rstrip())
    paragraph(out, "● yes, ○ no; with a number where there are more. █ the mean of θ, │ its 95 % interval.")


def _marks(mark: str, count: int) -> str:
    return mark * count if count <= WIDEST else mark * (WIDEST - 6) + f" {count}"


BARS = 40
STRIP = 110.0  # the height of the yes, and of the no
BETWEEN = 1.4 * FONT_SIZE
ABOVE, BELOW = 1.8 * FONT_SIZE, 2 * FONT_SIZE + GAP + ROOM_FOR_NAME


def write(path: Path, result: Parameters) -> None:
    """The picture that was asked for, as a file."""
    assert result.picture
    write_file(path, svg(result.picture, result.model).encode())


def svg(picture: Picture, model: str) -> str:
    """The yes above, the no below, each with a scale of its own, because there are often many more no. A line is the
    mean of the threshold, the band behind it its 95 % interval."""
    theta, yes = picture.unit.theta, sum(picture.yes)
    assert theta
    height = ABOVE + 2 * STRIP + BELOW + BETWEEN
    where = f"{number(theta.mean)}, 95 % interval {theta.low:.3f}–{theta.high:.3f}"
    drawing = Drawing(
        WIDTH,
        height,
        "figure",
        f"Match scores and verdicts of {name_of(picture.unit)}, with its threshold",
        f"{counted(len(picture.yes), 'judged pair')}, {yes} of them yes. By the model {model}, θ is {where}.",
    )
    add_style(drawing)
    drawing.add("rect", "fill-page", {"width": WIDTH, "height": height})
    counts = [_counts(picture, verdict) for verdict in (True, False)]
    ticks = [_whole_numbers(int(found.max())) for found in counts]
    left = ROOM_FOR_NAME + GAP + max(text_width(label) for labels in ticks for label in labels.values())
    x = Scale(0, 1, left, WIDTH - MARGIN)
    tops = (ABOVE, ABOVE + STRIP + BETWEEN)
    panels = [
        Panel(drawing, x, Scale(0, max(int(found.max()), 1), top + STRIP, top + 4))
        for found, top in zip(counts, tops, strict=True)
    ]
    end = panels[1].y.start
    band = {"x": x(theta.low), "y": ABOVE, "width": x(theta.high) - x(theta.low), "height": end - ABOVE}
    drawing.add("rect", "fill-line", band)
    for panel, found, labels, name, colour in zip(panels, counts, ticks, ("yes", "no"), ("0", "1"), strict=True):
        for place, count in enumerate(found.tolist()):
            if count:
                panel.bar((place / BARS + 0.002, (place + 1) / BARS - 0.002), (0, count), f"fill-{colour}")
        panel.y_axis(labels, classes="stroke-muted")
        panel.y_name(name)
    panels[0].x_axis({}, classes="stroke-muted")
    panels[1].x_axis(round_numbers(0, 1), classes="stroke-muted")
    drawing.line([(x(theta.mean), ABOVE), (x(theta.mean), end)], "stroke-ink", 1.4)
    middle = min(max(x(theta.mean), left + text_width(f"θ {where}") / 2), WIDTH - text_width(f"θ {where}") / 2)
    drawing.text(middle, ABOVE / 2, f"θ {where}", "fill-ink", "middle")
    drawing.text((x.start + x.end) / 2, height - FONT_SIZE / 2 - 2, "match score", anchor="middle")
    return str(drawing)


def _counts(picture: Picture, verdict: bool) -> Ints:
    """How many pairs with this verdict have each range of scores."""
    own = np.array(picture.scores)[np.array(picture.yes) == verdict]
    return np.bincount(np.minimum((own * BARS).astype(int), BARS - 1), minlength=BARS)


def _whole_numbers(most: int) -> dict[float, str]:
    return {at: f"{at:,.0f}" for at in round_numbers(0, max(most, 1), 4) if at.is_integer()}
