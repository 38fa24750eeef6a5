"""A threshold as an SVG file: how many yes and no there are at each match score, and where the threshold is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nuggeteer.formats.jsonl import write_whole
from nuggeteer.records import Ints
from nuggeteer.reports.drawing import FONT_SIZE, GAP, ROOM_FOR_NAME, Drawing, Panel, Scale, round_numbers, text_width
from nuggeteer.reports.figure import MARGIN, WIDTH, add_style
from nuggeteer.reports.formatting import counted, number
from nuggeteer.scoring.parameters import Parameters, Picture, name_of

BINS = 40
STRIP = 110.0  # the height of the yes, and of the no
BETWEEN = 1.4 * FONT_SIZE
ABOVE, BELOW = 1.8 * FONT_SIZE, 2 * FONT_SIZE + GAP + ROOM_FOR_NAME


def write(path: Path, result: Parameters) -> None:
    """The picture that was asked for, as a file."""
    assert result.picture
    body = svg(result.picture, result.model).encode()
    write_whole(path, lambda file: file.write(body))


def svg(picture: Picture, model: str) -> str:
    """The yes above, the no below, each with a scale of its own, because there are often many more no. A line is the
    mean of the threshold, the band behind it its 95 % interval."""
    theta, yes = picture.unit.theta, int(picture.yes.sum())
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
                panel.bar((place / BINS + 0.002, (place + 1) / BINS - 0.002), (0, count), f"fill-{colour}")
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
    own = picture.scores[picture.yes == verdict]
    return np.bincount(np.minimum((own * BINS).astype(int), BINS - 1), minlength=BINS)


def _whole_numbers(most: int) -> dict[float, str]:
    return {at: f"{at:,.0f}" for at in round_numbers(0, max(most, 1), 4) if at.is_integer()}
