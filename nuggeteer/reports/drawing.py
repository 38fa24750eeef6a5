"""SVG drawings: axes with round numbers, and labels that do not overlap.

Every fill and stroke is a class. The style sheet of the page or of the figure says which colours these are. The same
data make the same bytes, because nothing depends on the clock, the machine or its fonts.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from nuggeteer.text import escaped

FONT_SIZE = 10.0
BASELINE = 0.35 * FONT_SIZE  # from the middle of a line of text down to its baseline
GAP = 6.0  # between an axis and its labels, and at least between two labels
ROOM_FOR_NAME = 15.0  # for an axis's name beside its labels


class Drawing:
    """An SVG element and what is drawn in it. All texts may be hostile: they are escaped here."""

    def __init__(self, width: float, height: float, classes: str, title: str, description: str) -> None:
        self.root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {decimal(width)} {decimal(height)}",
                "class": classes,
                "role": "img",
                "aria-label": escaped(title),
                "font-size": decimal(FONT_SIZE),
            },
        )
        ElementTree.SubElement(self.root, "title").text = escaped(title)
        ElementTree.SubElement(self.root, "desc").text = escaped(description)

    def add(self, tag: str, classes: str, attributes: Mapping[str, float | str]) -> ElementTree.Element:
        written = {key: value if isinstance(value, str) else decimal(value) for key, value in attributes.items()}
        return ElementTree.SubElement(self.root, tag, {"class": classes, **written})

    def text(
        self, x: float, y: float, words: str, classes: str = "fill-muted", anchor: str = "start", turned: float = 0
    ) -> None:
        """Words whose line has its middle at y. They are turned around their anchor by degrees."""
        position: dict[str, float | str] = {"x": x, "y": y + BASELINE, "text-anchor": anchor}
        if turned:
            position["transform"] = f"rotate({decimal(turned)} {decimal(x)} {decimal(y)})"
        self.add("text", classes, position).text = escaped(words)

    def line(self, points: Sequence[tuple[float, float]], classes: str, width: float, dashes: str = "") -> None:
        attributes: dict[str, float | str] = {
            "points": " ".join(f"{decimal(x)},{decimal(y)}" for x, y in points),
            "fill": "none",
            "stroke-width": width,
        }
        if dashes:
            attributes["stroke-dasharray"] = dashes
        self.add("polyline", classes, attributes)

    def __str__(self) -> str:
        return ElementTree.tostring(self.root, encoding="unicode")


@dataclass(frozen=True)
class Scale:
    """Where numbers from `low` to `high` lie between two positions."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, number: float) -> float:
        return self.start + (number - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True)
class Panel:
    """A rectangle of a drawing with two scales."""

    drawing: Drawing
    x: Scale
    y: Scale

    def x_axis(self, labels: Mapping[float, str], grid: bool = False, classes: str = "stroke-line") -> None:
        """The axis at the bottom, and labels below it at the numbers that they stand for."""
        for number, label in labels.items():
            if grid:
                self.line([number, number], [self.y.low, self.y.high], "stroke-line", 0.6)
            self.drawing.text(self.x(number), self.y.start + GAP + FONT_SIZE / 2, label, anchor="middle")
        self.line([self.x.low, self.x.high], [self.y.low, self.y.low], classes, 0.8)

    def y_axis(self, labels: Mapping[float, str], grid: bool = False, classes: str = "stroke-line") -> None:
        """The axis at the left, and labels beside it."""
        for number, label in labels.items():
            if grid:
                self.line([self.x.low, self.x.high], [number, number], "stroke-line", 0.6)
            self.drawing.text(self.x.start - GAP, self.y(number), label, anchor="end")
        self.line([self.x.low, self.x.low], [self.y.low, self.y.high], classes, 0.8)

    def x_name(self, name: str, height: float) -> None:
        """What the axis at the bottom shows, at the lower edge of a drawing of this height."""
        self.drawing.text((self.x.start + self.x.end) / 2, height - FONT_SIZE / 2 - 2, name, anchor="middle")

    def y_name(self, name: str) -> None:
        """What the axis at the left shows, at the left edge of the drawing."""
        middle = (self.y.start + self.y.end) / 2
        self.drawing.text(FONT_SIZE / 2 + 1, middle, name, anchor="middle", turned=-90)

    def line(self, x: Sequence[float], y: Sequence[float], classes: str, width: float, dashes: str = "") -> None:
        """A line through points. Where one is NaN, the line is interrupted."""
        piece: list[tuple[float, float]] = []
        for number_x, number_y in [*zip(x, y, strict=True), (math.nan, math.nan)]:
            if not math.isnan(number_x + number_y):
                piece.append((self.x(number_x), self.y(number_y)))
            else:
                if len(piece) > 1:
                    self.drawing.line(piece, classes, width, dashes)
                piece = []

    def point(self, x: float, y: float, classes: str, radius: float, hint: str = "") -> None:
        """A round marker. A browser shows the hint under the pointer."""
        if not math.isnan(y):
            at = {"cx": self.x(x), "cy": self.y(y), "r": radius}
            marker = self.drawing.add("circle", classes, at)
            if hint:
                ElementTree.SubElement(marker, "title").text = escaped(hint)

    def bar(self, x: tuple[float, float], y: tuple[float, float], classes: str) -> None:
        """A rectangle between two numbers of each scale."""
        left, right = sorted(map(self.x, x))
        top, bottom = sorted(map(self.y, y))
        self.drawing.add("rect", classes, {"x": left, "y": top, "width": right - left, "height": bottom - top})


def round_numbers(low: float, high: float, most: int = 6) -> dict[float, str]:
    """The multiples of 1, 2 or 5 times a power of ten between two numbers, with their labels.

    There are at most `most` steps.
    """
    power = math.floor(math.log10((high - low) / most))
    steps = (factor * 10.0**exponent for exponent in (power, power + 1) for factor in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= most + 1e-9)
    digits = max(-math.floor(math.log10(step) + 1e-9), 0)
    multiples = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {number * step: f"{number * step:,.{digits}f}" for number in multiples}


def text_width(words: str) -> float:
    """An estimate: the font is the reader's."""
    return FONT_SIZE * sum(map(_letter_width, words))


def _letter_width(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(char) in "WF" else 0.6


def shortened(words: str, width: float) -> str:
    """As much of the words as fits, with an ellipsis where something is left out."""
    words = escaped(words)
    if text_width(words) <= width:
        return words
    while words and text_width(words + "…") > width:
        words = words[:-1]
    return words.rstrip() + "…"


def decimal(number: float) -> str:
    """A number as it is written in SVG, to a thousandth."""
    return f"{round(number, 3) + 0.0:.3f}".rstrip("0").rstrip(".")
