"""An experiment's figure, as SVG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from nuggeteer.text import escaped
from nuggeteer.trust.experiments.result import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")


def svg(plot: Plot, name: str) -> str:
    """The plot. The same data give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": name, "svg.fonttype": "none", "text.parse_math": False, "font.size": 9}
    with rc_context(style):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        _DRAW[plot.kind](axes, plot)
        axes.set_xlabel(plot.x)
        axes.set_ylabel(plot.y)
        axes.spines[["top", "right"]].set_visible(False)
        if len(plot.series) > 1:
            axes.legend(frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return out.getvalue()


def _lines(axes: Axes, plot: Plot) -> None:
    for i, series in enumerate(plot.series):
        axes.plot(series.x, series.y, LINES[i % len(LINES)], label=escaped(series.name), linewidth=1.4)


def _scatter(axes: Axes, plot: Plot) -> None:
    for i, series in enumerate(plot.series):
        if series.low:
            axes.vlines(series.x, series.low, series.high, color="0.7", linewidth=1)
        axes.plot(series.x, series.y, MARKS[i % len(MARKS)], label=escaped(series.name), markersize=4)
        ends = [*series.x, *series.y]
        if ends:
            axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="0.4", linewidth=0.8, linestyle="--")


def _bars(axes: Axes, plot: Plot) -> None:
    for series in plot.series:
        axes.bar(series.x, series.y, label=escaped(series.name))
    axes.set_xticks(range(len(plot.ticks)), list(plot.ticks), rotation=45 if len(plot.ticks) > 8 else 0)


_DRAW = {"lines": _lines, "scatter": _scatter, "bars": _bars}
