"""Charts as SVG inside a page. Every fill and stroke is a class of the page's style sheet, so a chart follows the
reader's light or dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from nuggeteer.history.trend import Build, Trend
from nuggeteer.reports.drawing import (
    FONT_SIZE,
    GAP,
    ROOM_FOR_NAME,
    Drawing,
    Panel,
    Scale,
    decimal,
    round_numbers,
    shortened,
    text_width,
)
from nuggeteer.reports.formatting import number
from nuggeteer.statistics.intervals import Interval
from nuggeteer.trust.reliability import Reliability

FEW = 30  # pairs: a share of fewer says little, so its point is hollow
TREND_WIDTH, TREND_HEIGHT = 547.0, 209.0
FEWEST_LABELS, MOST_LABELS = 4, 10  # below the trend: labels are shortened until so many fit
LABEL_ROW = GAP + 1.5 * FONT_SIZE  # the height of the labels below an axis
FULL, HOLLOW, UNLIKE = "fill-accent stroke-accent", "fill-page stroke-accent", "fill-page stroke-muted"


def parts(interval: Interval) -> str | None:
    """An interval and its two parts, as three bars below each other; None if there is no interval."""
    if interval.value is None or interval.low is None or interval.high is None:
        return None
    whole = (interval.low, interval.high)
    rows = [("both", whole, "fill-accent"), ("judging", interval.judging, "fill-soft")]
    rows.append(("sampling", interval.sampling, "fill-soft"))
    spans = [f"{name} from {number(span[0])} to {number(span[1])}" for name, span, _ in rows if span is not None]
    least = min(0.0, *(span[0] for _, span, _ in rows if span is not None))  # a rubric's may be below 0
    drawing = Drawing(
        374,
        108,
        "chart parts",
        f"The interval and its two parts, from {least:.3g} to 1".replace("-", "−"),
        f"The score is {number(interval.value)}. Its interval: {'; '.join(spans)}.",
    )
    left = text_width("sampling") + GAP
    panel = Panel(drawing, Scale(least, 1, left, 374 - FONT_SIZE), Scale(-2.5, 0.5, 108 - LABEL_ROW, 2))
    panel.x_axis(round_numbers(least, 1), grid=True)
    for row, (name, span, classes) in enumerate(rows):
        drawing.text(left - GAP, panel.y(-row), name, anchor="end")
        if span is not None:
            panel.bar((span[0], max(span[1], span[0] + 0.002)), (-row - 0.25, -row + 0.25), classes)
    panel.line([interval.value] * 2, [panel.y.low, panel.y.high], "stroke-ink", 1.2)
    return str(drawing)


def _hollow(builds: int) -> str:
    be, own = ("is", "its point is") if builds == 1 else ("are", "their points are")
    return f" {builds} of the builds {be} not comparable with the newest; {own} hollow." if builds else ""


def trend(found: Trend, last: int) -> str:
    """The scores of the last builds with their intervals. Builds that are not comparable with the newest are hollow."""
    builds = found.builds[-last:]
    first = len(found.builds) - len(builds)
    value, low, high = (numbers[first:].tolist() for numbers in (found.value, found.low, found.high))
    alike = found.comparable[first:].tolist()
    drawing = Drawing(
        TREND_WIDTH,
        TREND_HEIGHT,
        "chart trend",
        f"Scores of the last {len(builds)} builds, with intervals; the table below has the numbers",
        f"From {_label(builds[0])} to {_label(builds[-1])}.{_hollow(alike.count(False))}",
    )
    y, ticks, left = _trend_scale(found, last)
    right = 545.0
    longest = (right - left) / (min(len(builds), FEWEST_LABELS) + 0.2) - GAP
    labels = [shortened(_label(build), longest) for build in builds]
    beside = 0.6 / (len(builds) + 0.2)  # the newest build: how far from the right end, as a share of the axis
    fits = (right - text_width(labels[-1]) / 2 - beside * left) / (1 - beside)  # so that its label is not cut off
    x = Scale(-0.6, len(builds) - 0.4, left, min(right, fits))
    panel = Panel(drawing, x, y)
    panel.y_axis(ticks, grid=True)
    panel.x_axis({})
    for middle, label in _labels_that_fit(labels, x):
        drawing.text(middle, y.start + GAP + FONT_SIZE / 2, label, anchor="middle")
    for build in range(len(builds)):
        panel.line([build] * 2, [low[build], high[build]], "stroke-soft", max(2.0, min(6.0, 120 / len(builds))))
    compared = [build for build in range(len(builds)) if alike[build]]
    panel.line(compared, [value[build] for build in compared], "stroke-accent", 1.4)
    for build in range(len(builds)):
        hint = f"{_label(builds[build])}: {number(value[build])}"
        panel.point(build, value[build], FULL if alike[build] else UNLIKE, 2.3, hint)
    for change in found.alarm.changes:
        if change.since >= first:
            _mark_change(panel, change.since - first - 0.5, change.worse)
    return str(drawing)


def trend_axis(found: Trend, last: int) -> str:
    """The numbers at the left of `trend`. They stay in sight when a narrow page shows only the newest builds, and are
    as wide as in the whole chart."""
    y, ticks, left = _trend_scale(found, last)
    drawing = Drawing(left, TREND_HEIGHT, "chart axis", "", "")
    drawing.root.set("width", f"{decimal(100 * left / TREND_WIDTH)}%")
    drawing.root.set("aria-hidden", "true")
    drawing.add("rect", "fill-page", {"x": 0, "y": 0, "width": left, "height": TREND_HEIGHT})
    Panel(drawing, Scale(0, 1, left, left), y).y_axis(ticks)
    return str(drawing)


def _trend_scale(found: Trend, last: int) -> tuple[Scale, dict[float, str], float]:
    """Where scores lie, the numbers beside them, and the room that these need."""
    bottom, top = _extent([number for numbers in (found.value, found.low, found.high) for number in numbers[-last:]])
    room = max(top - bottom, 0.02) * 0.12
    y = Scale(max(bottom - room, min(bottom, -0.02)), min(top + room, max(top, 1.02)), TREND_HEIGHT - LABEL_ROW, 4)
    ticks = round_numbers(y.low, y.high, most=7)
    return y, ticks, max(map(text_width, ticks.values())) + GAP


def _mark_change(panel: Panel, x: float, worse: bool) -> None:
    """A dashed line before the build where the scores changed, and a word beside it that fits into the panel."""
    colour, word = ("bad", "worse") if worse else ("good", "better")
    panel.line([x, x], [panel.y.low, panel.y.high], f"stroke-{colour}", 1.2, "4 2")
    fits = panel.x(x) + 3 + text_width(word) <= panel.x.end
    beside, anchor = (3, "start") if fits else (-3, "end")
    panel.drawing.text(panel.x(x) + beside, panel.y.end + FONT_SIZE / 2, word, f"fill-{colour}", anchor)


def _label(build: Build) -> str:
    return build.scoring.label or build.scoring.run


def _extent(numbers: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest number that is not NaN."""
    finite = [number for number in numbers if not math.isnan(number)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


def _labels_that_fit(labels: Sequence[str], x: Scale) -> list[tuple[float, str]]:
    """The newest label and as many before it, in equal steps, as do not overlap; each with the middle of its words.

    The oldest may be moved to the right, so that its beginning is not cut off.
    """
    for step in range(-(-len(labels) // MOST_LABELS), len(labels) + 1):
        chosen = range(len(labels) - 1, -1, -step)[::-1]
        placed = [(max(x(build), text_width(labels[build]) / 2), labels[build]) for build in chosen]
        if _all_apart(placed):
            break
    return placed


def _all_apart(placed: Sequence[tuple[float, str]]) -> bool:
    edges = [(middle - text_width(label) / 2, middle + text_width(label) / 2) for middle, label in placed]
    return all(before[1] + GAP <= after[0] for before, after in pairwise(edges))


def agreement(x: Sequence[float], y: Sequence[float], x_name: str, y_name: str) -> str:
    """Scores by one measure against scores by another, from 0 to 1."""
    drawing = Drawing(
        331,
        331,
        "chart agreement",
        f"{y_name} against {x_name}",
        "On the dashed diagonal both are equal. Answers in the band at the left edge score 0 by the first only.",
    )
    left = ROOM_FOR_NAME + GAP + text_width("0.0")
    below = 331 - LABEL_ROW - ROOM_FOR_NAME
    panel = Panel(drawing, Scale(-0.02, 1.02, left, 331 - FONT_SIZE), Scale(-0.02, 1.02, below, 4))
    panel.x_axis(round_numbers(0, 1), grid=True)
    panel.y_axis(round_numbers(0, 1), grid=True)
    panel.line([0, 1], [0, 1], "stroke-muted", 1, "4 2")
    both = ((a, b) for a, b in zip(x, y, strict=True) if not (math.isnan(a) or math.isnan(b)))
    for across, up in sorted({(round(a, 3), round(b, 3)) for a, b in both}):
        panel.point(across, up, "fill-accent", 1.6)
    panel.y_name(y_name)
    panel.x_name(x_name, 331)
    return str(drawing)


def reliability(found: Reliability) -> str:
    """Guessed probabilities against the share of yes, with the number of pairs of each point."""
    drawing = Drawing(
        331,
        331,
        "chart reliability",
        "Guessed probability against the share that is yes; the table has the numbers",
        "Points on the dashed diagonal are guesses that are as often right as they say. Hollow points stand for "
        f"fewer than {FEW} pairs. The bars below show the number of pairs on a logarithmic scale.",
    )
    most = max(group.pairs for group in found.bins)
    powers = math.floor(math.log10(most)) + 1
    counts = {float(power): f"{10**power:,}" for power in range(0, powers, -(-powers // 4))}
    shares = round_numbers(0, 1)
    left = ROOM_FOR_NAME + GAP + max(map(text_width, [*counts.values(), *shares.values()]))
    x = Scale(0, 1, left, 331 - FONT_SIZE)
    above = Panel(drawing, x, Scale(-0.02, 1.02, 222, 4))
    above.x_axis({})
    for share in shares:
        above.line([share, share], [above.y.low, above.y.high], "stroke-line", 0.6)
    above.y_axis(shares, grid=True)
    above.y_name("share that is yes")
    above.line([0, 1], [0, 1], "stroke-muted", 1, "4 2")
    above.line([group.chance for group in found.bins], [group.yes for group in found.bins], "stroke-accent", 1.2)
    for group in found.bins:
        hint = f"{group.pairs:,} pairs: guessed {group.chance:.2f}, yes {group.yes:.2f}"
        above.point(group.chance, group.yes, HOLLOW if group.pairs < FEW else FULL, 2.8, hint)

    floor = math.log10(0.7)  # below one pair, so that a single pair has a bar
    below = Panel(drawing, x, Scale(floor, math.log10(most * 2), 331 - LABEL_ROW - ROOM_FOR_NAME, 234))
    for group in found.bins:
        margin = 0.07 * (group.high - group.low)
        below.bar((group.low + margin, group.high - margin), (floor, math.log10(group.pairs)), "fill-soft")
    below.x_axis(shares)
    below.y_axis(counts)
    below.y_name("pairs")
    below.x_name("guessed probability", 331)
    return str(drawing)
