"""An experiment's figure: an SVG file of its own, with a style sheet, in the reader's light or dark theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from nuggeteer.reports.drawing import (
    FONT_SIZE,
    GAP,
    ROOM_FOR_NAME,
    Drawing,
    Panel,
    Scale,
    round_numbers,
    shortened,
    text_width,
)
from nuggeteer.trust.experiments.definition import Plot

WIDTH, HEIGHT = 461.0, 302.0  # the height without a legend
MARGIN = 8.0
ROW, SAMPLE = 1.5 * FONT_SIZE, 22.0  # of the legend: the height of a row, and the line or mark before a name
DASHES = ("", "5 2", "1.5 2", "6 2 1.5 2")
MARKS = (  # around a point
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
    "m-2.7 -2.7h5.4v5.4h-5.4z",
    "m0 -3.4l3.4 6h-6.8z",
    "m0 -3.8l3.8 3.8l-3.8 3.8l-3.8 -3.8z",
)
LIGHT = ("#0a5ea8", "#b45309", "#1a7336", "#b42318", "#6b4fbb", "#7a4a2b", "#0f766e", "#9d2667")
DARK = ("#6cb3f0", "#f0a35c", "#6bc587", "#f28b82", "#b8a4f5", "#d0a588", "#5cc8bd", "#f08cc0")


def svg(plot: Plot) -> str:
    """The plot. The same data give the same bytes."""
    named = [series.name for series in plot.series] if len(plot.series) > 1 else []
    legend = _legend_places(named)
    above = MARGIN + (legend[-1][1] + ROW if legend else 0)
    names = {float(position): name for position, name in enumerate(plot.ticks)} if plot.kind == "bars" else {}
    low, high, bottom, top = _limits(plot, len(names))
    ticks = round_numbers(bottom, top)
    x_labels = names or round_numbers(low, high)
    left = ROOM_FOR_NAME + GAP + max(map(text_width, ticks.values()))
    turned = bool(names) and _overlap(names.values(), WIDTH - MARGIN - left)
    below = _height(x_labels.values(), turned) + GAP + ROOM_FOR_NAME
    height = HEIGHT + above - MARGIN
    drawing = Drawing(
        WIDTH,
        height,
        "figure",
        f"{plot.y}, by {plot.x}",
        f"Shown: {', '.join(named) or plot.y}. The table has the numbers.",
    )
    add_style(drawing)
    drawing.add("rect", "fill-page", {"width": WIDTH, "height": height})
    panel = Panel(drawing, Scale(low, high, left, WIDTH - MARGIN), Scale(bottom, top, height - below, above))
    panel.y_axis(ticks, grid=True, classes="stroke-muted")
    panel.x_axis({} if turned else x_labels, classes="stroke-muted")
    if turned:
        for position, name in names.items():
            drawing.text(panel.x(position) + 3, panel.y.start + GAP, name, anchor="end", turned=-45)
    panel.y_name(plot.y)
    panel.x_name(plot.x, height)
    for series, (x, y) in enumerate(legend):
        _sample(drawing, plot, series, x, y)
    _DRAW[plot.kind](panel, plot)
    return str(drawing)


def _lines(panel: Panel, plot: Plot) -> None:
    for i, series in enumerate(plot.series):
        panel.line(series.x, series.y, _stroke(i), 1.4, DASHES[i % len(DASHES)])


def _scatter(panel: Panel, plot: Plot) -> None:
    low, high = max(panel.x.low, panel.y.low), min(panel.x.high, panel.y.high)
    panel.line([low, high], [low, high], "stroke-muted", 0.8, "4 2")
    for series in plot.series:
        for x, low, high in zip(series.x, series.low, series.high, strict=False):
            panel.line([x, x], [low, high], "stroke-muted", 0.7)
    for i, series in enumerate(plot.series):
        for x, y in zip(series.x, series.y, strict=True):
            if not math.isnan(x + y):
                _mark(panel.drawing, i, panel.x(x), panel.y(y))


def _bars(panel: Panel, plot: Plot) -> None:
    """Bars of several series stand beside each other."""
    width = 0.8 / max(len(plot.series), 1)
    for i, series in enumerate(plot.series):
        for x, y in zip(series.x, series.y, strict=True):
            left = x - 0.4 + i * width
            panel.bar((left, left + width), (0, y), _fill(i))


_DRAW = {"lines": _lines, "scatter": _scatter, "bars": _bars}


def _limits(plot: Plot, names: int) -> tuple[float, float, float, float]:
    """The least and the greatest x and y, with some room around the points. Bars stand on the axis."""
    x = [number for series in plot.series for number in series.x]
    y = [number for series in plot.series for number in (*series.y, *series.low, *series.high)]
    if plot.kind == "bars":
        return -0.6, names - 0.4, min([0.0, *y]), _with_room([0.0, *y])[1]
    if plot.kind == "scatter":  # where both are equal is drawn too
        x, y = x + [number for series in plot.series for number in series.y], y + x
    return *_with_room(x), *_with_room(y)


def _with_room(numbers: Sequence[float]) -> tuple[float, float]:
    finite = [number for number in numbers if not math.isnan(number)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _overlap(names: Iterable[str], width: float) -> bool:
    widths = [text_width(name) for name in names]
    return max(widths) + GAP > width / len(widths)


def _height(labels: Iterable[str], turned: bool) -> float:
    """Of the row of labels below the axis."""
    return 0.71 * max(map(text_width, labels)) + FONT_SIZE if turned else 1.5 * FONT_SIZE


def _legend_places(names: Sequence[str]) -> list[tuple[float, float]]:
    """Where each name's sample begins: in rows above the plot, so that no data is covered."""
    places: list[tuple[float, float]] = []
    x, y = MARGIN, MARGIN + ROW / 2
    for name in names:
        width = SAMPLE + GAP + text_width(_legend_name(name))
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = MARGIN, y + ROW
        places.append((x, y))
        x += width + 2 * GAP
    return places


def _legend_name(name: str) -> str:
    return shortened(name, WIDTH - 2 * MARGIN - SAMPLE - GAP)


def _sample(drawing: Drawing, plot: Plot, series: int, x: float, y: float) -> None:
    """An entry of the legend."""
    if plot.kind == "lines":
        drawing.line([(x, y), (x + SAMPLE, y)], _stroke(series), 1.4, DASHES[series % len(DASHES)])
    elif plot.kind == "scatter":
        _mark(drawing, series, x + SAMPLE / 2, y)
    else:
        drawing.add("rect", _fill(series), {"x": x + 6, "y": y - 4, "width": SAMPLE - 6, "height": 8})
    drawing.text(x + SAMPLE + GAP, y, _legend_name(plot.series[series].name), "fill-ink")


def _mark(drawing: Drawing, series: int, x: float, y: float) -> None:
    drawing.add("path", _fill(series), {"d": f"M{x:.3f} {y:.3f}{MARKS[series % len(MARKS)]}"})


def _fill(series: int) -> str:
    return f"fill-{series % len(LIGHT)}"


def _stroke(series: int) -> str:
    return f"stroke-{series % len(LIGHT)}"


def add_style(drawing: Drawing) -> None:
    """An SVG file has no page around it that knows the classes."""
    light = _rules({"page": "#ffffff", "ink": "#1b1f24", "muted": "#57606a", "line": "#c3c9d0"}, LIGHT)
    dark = _rules({"page": "#14171a", "ink": "#e6e9ec", "muted": "#a0aab4", "line": "#3d444d"}, DARK)
    style = ElementTree.SubElement(drawing.root, "style")
    style.text = f"svg {{ font-family: sans-serif }} {light} @media (prefers-color-scheme: dark) {{ {dark} }}"


def _rules(roles: dict[str, str], series: Sequence[str]) -> str:
    colours = roles | {str(number): colour for number, colour in enumerate(series)}
    return " ".join(f".fill-{name} {{ fill: {it} }} .stroke-{name} {{ stroke: {it} }}" for name, it in colours.items())
