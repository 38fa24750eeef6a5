"""Charts: that they show the data, take the page's colours, and treat labels as text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from nuggeteer.history.store import Scoring
from nuggeteer.history.trend import Build, Trend
from nuggeteer.reports import charts
from nuggeteer.statistics.alarm import watch_trend
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped
from nuggeteer.trust.reliability import reliability

SVG = "{http://www.w3.org/2000/svg}"


def made(values, labels=None, unlike=()):
    builds = [
        Build(
            Scoring(i, i, "run", labels[i] if labels else None, "", None, "s", 1, 1, Interval(v, v, v - 0.1, v + 0.1)),
            ("idf",) if i in unlike else (),
        )
        for i, v in enumerate(values)
    ]
    return Trend(None, "f3", tuple(builds), watch_trend(np.array(values)))


def points(svg, role):
    """Where markers of a colour stand: x and y, in the order of drawing."""
    return [
        (float(use.get("x")), float(use.get("y")))
        for use in ElementTree.fromstring(svg).iter(f"{SVG}use")
        if use.get("class", "").split() == role
    ]


FULL, HOLLOW = ["fill-accent", "stroke-accent"], ["fill-page", "stroke-muted"]


def test_points_of_the_trend_stand_where_the_scores_are():
    values = [0.3, 0.5, 0.4, 0.35]
    found = np.array(points(charts.trend(made(values), 60), FULL))
    assert len(found) == 4
    assert np.allclose(np.diff(found[:, 0]), found[1, 0] - found[0, 0])
    # Upwards on paper is downwards in SVG; a line fits exactly.
    slope, start = np.polyfit(values, found[:, 1], 1)
    assert slope < 0
    assert np.allclose(slope * np.array(values) + start, found[:, 1], atol=1e-3)


def test_builds_that_do_not_compare_are_hollow_and_old_ones_left_out():
    svg = charts.trend(made([0.3, 0.5, 0.4, 0.35], unlike={1}), 60)
    assert (len(points(svg, FULL)), len(points(svg, HOLLOW))) == (3, 1)
    assert len(points(charts.trend(made([0.3] * 50), 20), FULL)) == 20


def test_an_alarm_is_marked():
    values = [0.5 + 0.001 * (i % 3) for i in range(30)] + [0.2 - 0.001 * (i % 3) for i in range(10)]
    trend = made(values)
    assert [change.worse for change in trend.alarm.changes] == [True]
    assert ">worse<" in charts.trend(trend, 60)
    assert ">worse<" not in charts.trend(made([0.5] * 40), 60)


def test_bars_of_the_interval_are_as_wide_as_its_parts():
    svg = charts.parts(Interval(0.4, 0.4, 0.2, 0.6, (0.3, 0.5), (0.25, 0.55)))
    wide = {}
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        role = path.get("class", "")
        if role in ("fill-accent", "fill-soft"):
            x = [float(number) for number in re.findall(r"[ML] ([\d.]+) ", path.get("d"))]
            wide.setdefault(role, []).append(max(x) - min(x))
    (whole,), (judging, sampling) = wide["fill-accent"], wide["fill-soft"]
    assert judging / whole == pytest.approx(0.5, abs=1e-4)
    assert sampling / whole == pytest.approx(0.75, abs=1e-4)
    assert charts.parts(Interval(0.4)) is None


def test_points_of_few_pairs_are_hollow():
    chance = np.array([0.05] * 100 + [0.95] * 5)
    svg = charts.reliability(reliability(chance, chance > 0.5))
    assert len(points(svg, FULL)) == 1
    assert len(points(svg, ["fill-page", "stroke-accent"])) == 1


@pytest.mark.parametrize(
    "label",
    [
        "$\\frac{1}{2}$",
        "$\\nonsense$ $",
        "<script>x</script>",
        "a\u202eb\x1b[0m",
        "日本語 🙂",
        "&amp; \"'",
    ],
)
def test_labels_are_text_whatever_they_say(label):
    svg = charts.trend(made([0.3, 0.5], ["plain", label]), 60)
    texts = ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert escaped(label) in texts
    assert "<script" not in svg


def test_charts_have_no_style_of_their_own_and_no_colour_that_the_page_does_not_know():
    drawn = {
        "trend": charts.trend(made([0.3, 0.5, 0.1], unlike={0}), 60),
        "parts": charts.parts(Interval(0.4, 0.4, 0.2, 0.6, (0.3, 0.5), (0.25, 0.55))),
        "reliability": charts.reliability(reliability(np.linspace(0, 1, 99), np.linspace(0, 1, 99) > 0.5)),
    }
    ids: list[str] = []
    for svg in drawn.values():
        assert "style" not in svg
        assert "#0000" not in svg
        for element in ElementTree.fromstring(svg).iter():
            assert element.get("fill", "none") == "none"
            assert element.get("stroke", "none") == "none"
            own = element.get("id")
            ids += [own] if own else []
            for name, value in element.attrib.items():
                if name.endswith("href") or name == "clip-path":
                    assert re.search(r'id="' + re.escape(re.sub(r"url\(#|\)|#", "", value)) + '"', svg)
    assert len(ids) == len(set(ids))


def test_the_same_data_make_the_same_bytes():
    assert charts.trend(made([0.3, 0.5]), 60) == charts.trend(made([0.3, 0.5]), 60)
