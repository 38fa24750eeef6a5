"""Charts as SVG inside a page. Every fill and stroke is a class of the page's style sheet, so a chart follows the
reader's light or dark theme.

matplotlib draws the charts. They do not depend on the clock or the machine: the same data give the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from nuggeteer.history.trend import Trend
from nuggeteer.records import Vector
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped
from nuggeteer.trust.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours stand for roles; the page's style sheet says which colour a role has.
INK, MUTED, LINE, ACCENT, SOFT, GOOD, BAD, PAGE = ROLES = [f"#00000{number}" for number in range(1, 9)]
NAMES = dict(zip(ROLES, ("ink", "muted", "line", "accent", "soft", "good", "bad", "page"), strict=True))
LABELS, WIDTH = 10, 90  # that fit below the trend: labels, and characters of all of them
FEW = 30  # pairs: a share of fewer says little, so their points are hollow
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"


def parts(interval: Interval) -> str | None:
    """An interval and its two parts, as three bars below each other; None if there is no interval."""
    rows = [("both", _pair(interval.low, interval.high), ACCENT)]
    rows += [("judging", interval.judging, SOFT), ("sampling", interval.sampling, SOFT)]
    value = interval.value
    if value is None or rows[0][1] is None:
        return None

    def draw(axes: Axes) -> None:
        for row, (_, span, role) in enumerate(rows):
            if span is not None:
                axes.barh(-row, max(span[1] - span[0], 0.002), left=span[0], height=0.5, color=role)
        axes.axvline(value, color=INK, linewidth=1.2)
        axes.set_yticks([-row for row in range(3)], [name for name, _, _ in rows])
        axes.set_xlim(0, 1)
        axes.set_ylim(-2.5, 0.5)
        axes.tick_params(left=False)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", color=LINE, linewidth=0.6)

    return _svg("parts", "The interval and its two parts, from 0 to 1", (5.2, 1.5), draw)


def trend(found: Trend, last: int) -> str:
    """The scores of the last builds with their intervals. Builds that are not comparable with the newest are hollow."""
    builds = found.builds[-last:]
    first = len(found.builds) - len(builds)
    x = np.arange(len(builds))
    value, low, high = (each[first:] for each in (found.value, found.low, found.high))
    alike = found.comparable[first:]

    def draw(axes: Axes) -> None:
        axes.vlines(x, low, high, color=SOFT, linewidth=max(2.0, min(6.0, 120 / len(x))))
        axes.plot(x[alike], value[alike], color=ACCENT, linewidth=1.4)
        axes.plot(x[alike], value[alike], "o", color=ACCENT, markersize=4.5)
        axes.plot(x[~alike], value[~alike], "o", markerfacecolor=PAGE, markeredgecolor=MUTED, markersize=4.5)
        top = float(np.nanmax(np.where(np.isnan(high), value, high), initial=0.0))
        bottom = float(np.nanmin(np.where(np.isnan(low), value, low), initial=1.0))
        room = max(top - bottom, 0.02) * 0.12
        for change in found.alarm.changes:
            if change.since >= first:
                axes.axvline(change.since - first - 0.5, color=BAD if change.worse else GOOD, linewidth=1.2, ls="--")
                word = "worse" if change.worse else "better"
                axes.text(change.since - first - 0.4, top + room / 2, word, color=BAD if change.worse else GOOD, size=9)
        step = -(-len(x) // LABELS)
        shown = x[::-step][::-1]
        axes.set_xticks(
            shown, [_short(builds[i].scoring.label or builds[i].scoring.run, WIDTH // len(shown)) for i in shown]
        )
        axes.set_ylim(max(bottom - room, -0.02), min(top + room, 1.02))
        axes.set_xlim(-0.6, len(x) - 0.4)
        axes.grid(axis="y", color=LINE, linewidth=0.6)

    return _svg(
        "trend",
        f"Scores of the last {len(builds)} builds, with intervals; the table below has the numbers",
        (7.6, 2.9),
        draw,
    )


def reliability(found: Reliability) -> str:
    """Guessed probabilities against the share of yes, with the number of pairs of each point."""
    chance, yes, pairs = (np.array([getattr(b, name) for b in found.bins]) for name in ("chance", "yes", "pairs"))
    left: Vector = np.array([b.low for b in found.bins])
    width = found.bins[0].high - found.bins[0].low

    def draw(axes: Axes, below: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, ls="--")
        axes.plot(chance, yes, color=ACCENT, linewidth=1.2)
        for own, face in ((pairs >= FEW, ACCENT), (pairs < FEW, PAGE)):
            axes.plot(chance[own], yes[own], "o", markeredgecolor=ACCENT, markerfacecolor=face, markersize=5.5)
        axes.set_xlim(0, 1)
        axes.set_ylim(-0.02, 1.02)
        axes.set_ylabel("share that is yes")
        axes.grid(color=LINE, linewidth=0.6)
        axes.tick_params(labelbottom=False)
        below.bar(left + width / 2, pairs, width=width * 0.86, color=SOFT)
        below.set_yscale("log")
        below.set_ylim(0.7, float(pairs.max()) * 2)
        below.set_xlim(0, 1)
        below.set_xlabel("guessed probability")
        below.set_ylabel("pairs")
        below.minorticks_off()
        below.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")

    return _svg(
        "reliability",
        "Guessed probability against the share that is yes; the table has the numbers",
        (4.6, 4.6),
        draw,
        rows=(3.2, 1),
    )


def _svg(name: str, title: str, size: tuple[float, float], draw: Any, rows: Sequence[float] = (1,)) -> str:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",  # text stays text, in the page's font
        "text.parse_math": False,  # labels come from files
        "font.size": 10,
        "axes.edgecolor": LINE,
        "axes.labelcolor": MUTED,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "text.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none",
        "axes.axisbelow": True,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
    }
    with rc_context(style):
        figure: Figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(len(rows), 1, squeeze=False, height_ratios=list(rows))
        draw(*axes[:, 0])
        out = io.StringIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        with warnings.catch_warnings():
            # The reader's browser draws the letters, with fonts that matplotlib need not have.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _themed(out.getvalue(), name, title)


def _themed(drawn: str, name: str, title: str) -> str:
    """matplotlib's SVG with classes for colours, without inline styles, which the page's policy forbids, and with ids
    that are unique on the page."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(drawn)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        _restyle(element)
        for attribute in ("id", f"{{{XLINK}}}href", "clip-path"):
            if attribute in element.attrib:
                element.set(attribute, re.sub(r"^(url\(#|#|)", rf"\g<1>{name}-", element.attrib[attribute]))
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("class", f"chart {name}")
    root.set("role", "img")
    root.set("aria-label", title)
    return ElementTree.tostring(root, encoding="unicode")


def _restyle(element: ElementTree.Element) -> None:
    """The properties of a style attribute as attributes, and its colours as classes."""
    properties = dict(part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part)
    properties = {key.strip(): value.strip() for key, value in properties.items()}
    for key in ("fill", "stroke"):
        if key in element.attrib:
            properties.setdefault(key, element.attrib.pop(key))
    classes = []
    for key, value in properties.items():
        if key in ("fill", "stroke") and value in NAMES:
            classes.append(f"{key}-{NAMES[value]}")
        elif key == "font":  # all in one, as matplotlib before 3.11 writes it
            element.set("font-size", re.findall(r"[\d.]+px", value)[0])
        elif key != "font-family":
            element.set(key, value)
    if classes:
        element.set("class", " ".join(classes))


def _pair(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _short(label: str, longest: int) -> str:
    label = escaped(label)
    return label if len(label) <= longest else f"{label[: longest - 1]}…"
