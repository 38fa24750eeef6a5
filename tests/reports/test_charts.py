"""Charts: that they show the data, take the page's colours, and treat labels as text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from nuggeteer.history.store import Scoring
from nuggeteer.history.trend import Build, Trend
from nuggeteer.reports import charts
from nuggeteer.reports.drawing import round_numbers
from nuggeteer.statistics.alarm import watch_trend
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped
from nuggeteer.trust.reliability import reliability

STYLE_SHEET = Path(charts.__file__).parent / "html" / "style.css"
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
        (float(circle.get("cx")), float(circle.get("cy")))
        for circle in ElementTree.fromstring(svg).iter(f"{SVG}circle")
        if circle.get("class", "").split() == role
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
    for bar in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        wide.setdefault(bar.get("class"), []).append(float(bar.get("width")))
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
    "label", ["$\\frac{1}{2}$", "$\\nonsense$ $", "<script>x</script>", "a\u202eb\x1b[0m", "日本語 🙂", "&amp; \"'"]
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
    known = set(re.findall(r"\.((?:fill|stroke)-\w+) \{", STYLE_SHEET.read_text(encoding="utf-8")))
    for svg in drawn.values():
        assert "style" not in svg
        assert "#" not in svg
        for element in list(ElementTree.fromstring(svg).iter())[1:]:
            assert element.get("fill", "none") == "none"
            assert element.get("stroke", "none") == "none"
            classes = element.get("class", "").split()
            assert classes or element.tag in (f"{SVG}title", f"{SVG}desc")
            assert set(classes) <= known
            assert not {"id", "clip-path"} & element.attrib.keys()
            assert not [name for name in element.attrib if name.endswith("href")]


def test_a_chart_has_a_title_and_a_description():
    for svg in (charts.trend(made([0.3, 0.5, 0.1], unlike={0}), 60), charts.parts(Interval(0.4, 0.4, 0.2, 0.6))):
        title, description = list(ElementTree.fromstring(svg))[:2]
        assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
        assert len(title.text) > 20
        assert len(description.text) > 20


def test_the_whole_label_and_the_score_of_a_point_are_a_hint():
    label = "a label that is much too long for the axis " * 3
    root = ElementTree.fromstring(charts.trend(made([0.3, 0.512], ["old", label]), 60))
    hints = [circle.find(f"{SVG}title").text for circle in root.iter(f"{SVG}circle")]
    assert hints == ["old: 0.300", f"{label}: 0.512"]
    assert label not in [text.text for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("builds", [1, 2, 3, 4, 9, 10, 11, 25, 60])
@pytest.mark.parametrize("label", ["{}", "2026-11-{:02}", "night {} of a long, long name of a build", "日本語の夜 {}"])
def test_labels_of_the_trend_do_not_overlap_and_none_is_cut_off(builds, label):
    svg = charts.trend(made([0.3] * builds, [label.format(i) for i in range(builds)]), 60)
    root = ElementTree.fromstring(svg)
    rows: dict[str, list[tuple[float, float]]] = {}
    for text in root.iter(f"{SVG}text"):
        if text.get("text-anchor") == "middle":
            half = sum(10 if unicodedata.east_asian_width(char) in "WF" else 6 for char in text.text) / 2
            rows.setdefault(text.get("y"), []).append((float(text.get("x")) - half, float(text.get("x")) + half))
    (spans,) = rows.values()
    assert min(builds, 3) <= len(spans) <= 10
    assert all(before[1] < after[0] for before, after in pairwise(sorted(spans)))
    assert min(spans)[0] >= 0
    assert max(spans)[1] <= 547
    # The newest build's label stands below its point.
    assert (spans[-1][0] + spans[-1][1]) / 2 == pytest.approx(points(svg, FULL)[-1][0], abs=0.01)


def test_a_score_that_is_not_known_has_no_point_and_interrupts_the_line():
    found = made([0.3, 0.4, 0.5, 0.3, 0.4])
    unknown = replace(found.builds[2].scoring, interval=None)
    builds = (*found.builds[:2], replace(found.builds[2], scoring=unknown), *found.builds[3:])
    root = ElementTree.fromstring(charts.trend(replace(found, builds=builds), 60))
    assert len(list(root.iter(f"{SVG}circle"))) == 4
    assert len([line for line in root.iter(f"{SVG}polyline") if line.get("class") == "stroke-accent"]) == 2
    assert "nan" not in charts.trend(replace(found, builds=builds[2:3]), 60).replace("2: nan", "")


def test_bars_of_pairs_are_as_high_as_their_logarithms():
    chance = np.array([0.05] * 1000 + [0.95] * 10)
    root = ElementTree.fromstring(charts.reliability(reliability(chance, chance > 0.5)))
    many, few = (float(bar.get("height")) for bar in root.iter(f"{SVG}rect"))
    assert many / few == pytest.approx(np.log(1000 / 0.7) / np.log(10 / 0.7), abs=1e-3)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"1", "10", "100", "1,000", "pairs"} <= set(texts)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.33, 0.352, ["0.330", "0.335", "0.340", "0.345", "0.350"]),
        (-0.02, 0.31, ["0.0", "0.1", "0.2", "0.3"]),
        (-3, 17, ["0", "5", "10", "15"]),
        (0, 6000, ["0", "1,000", "2,000", "3,000", "4,000", "5,000", "6,000"]),
    ],
)
def test_numbers_on_an_axis_are_round(low, high, labels):
    found = round_numbers(low, high)
    assert list(found.values()) == labels
    assert [float(label.replace(",", "")) for label in labels] == pytest.approx(list(found))


def test_answers_without_a_score_have_no_point_and_do_not_change_the_order_of_others():
    """Undefined scores are NaN, which no sort can order, and which is not equal to itself."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(size=(2, 200)).round(3)
    some_x, some_y = x.copy(), y.copy()
    some_x[::3] = some_y[::4] = np.nan
    places = points(charts.agreement(some_x.tolist(), some_y.tolist(), "a", "b"), ["fill-accent"])
    both = ~np.isnan(some_x + some_y)
    assert places == points(charts.agreement(x[both].tolist(), y[both].tolist(), "a", "b"), ["fill-accent"])
    assert len(places) == both.sum()
    assert [x for x, _ in places] == sorted(x for x, _ in places)
