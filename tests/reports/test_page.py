"""The page in a browser: what a reader sees and can do, and that hostile texts do nothing.

Skipped, with a word, where there is no Chromium.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.history.briefing import brief
from nuggeteer.history.store import History, Scoring
from nuggeteer.history.trend import Build, NuggetTimelines, Trend
from nuggeteer.matching.base import Explanation, SimilarText, WordEvidence
from nuggeteer.reports import html
from nuggeteer.reports.html import sections
from nuggeteer.scoring.scorer import score
from nuggeteer.statistics.alarm import watch_trend
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped
from tests.reports.browsing import Visit, browser, needs_chromium
from tests.reports.hostile import TRICKS, hostile

__all__ = ["browser"]
pytestmark = [needs_chromium, pytest.mark.slow]
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module")
def demo(_sample_folder, tmp_path_factory):
    here = shutil.copytree(_sample_folder, tmp_path_factory.mktemp("browser") / "demo")
    for name in ("build-101", "build-102"):
        History.of(here).record(score(read_collection(here), [name]), label=f"night of {name}")
    return brief(read_collection(here))


@pytest.fixture(scope="module")
def demo_page(demo, tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "report.html"
    html.write(path, demo)
    return path


@pytest.fixture
def visit(browser, demo_page):
    seen = Visit(browser, demo_page)
    yield seen
    seen.page.close()


def test_it_opens_without_a_complaint_and_asks_for_nothing(visit):
    assert visit.complaints == []
    assert [url for url in visit.requests if url != visit.url and not url.startswith("data:")] == []
    assert visit.page.locator("h1").inner_text() == "build-102 (night of build-102)"
    assert visit.page.locator("svg.chart:not(.axis)").count() == 3
    visit.page.evaluate(UNFOLD)
    for chart in visit.page.locator("svg.chart").all():
        assert chart.bounding_box()["height"] > 60


def test_the_watcher_sees_what_a_page_does(browser, tmp_path):
    """So that the tests here can fail: the same tricks in a page without walls."""
    path = tmp_path / "open.html"
    path.write_text("<script>window.owned=1;console.log('x')</script><img src='http://127.0.0.1:9/x.png'>")
    seen = Visit(browser, path)
    seen.until(lambda: "x" in seen.complaints and "http://127.0.0.1:9/x.png" in seen.requests)
    assert seen.owned() == 1
    seen.page.close()


def test_a_press_shows_the_evidence_of_that_nugget(visit, demo):
    page, panel = visit.page, visit.page.locator("#evidence")
    page.locator("#every").click()
    assert not panel.is_visible()
    places = [i for i, one in enumerate(demo.sightings) if one.passage and one.passage.marks and one.found][:3]
    assert places
    for place in places:
        page.locator(f"[data-n='{place}']").click()
        nugget, passage = demo.key.nuggets[place], demo.sightings[place].passage
        assert panel.is_visible()
        assert nugget.descriptions[0] in panel.inner_text()
        assert f"{nugget.qid}/{nugget.nugget}" in panel.inner_text()
        now = panel.locator(".now")
        quote = now.locator("blockquote").inner_text().strip("…")
        assert quote == re.sub(r"\s+", " ", passage.text).strip("…")
        marked = [passage.text[a:b] for a, b in passage.marks]
        assert now.locator("blockquote mark").all_inner_texts() == marked
        now.locator("summary").click()
        answer = demo.new.run.answer(int(demo.key.question[place]))
        assert squeezed(words(now.locator(".record"))) == squeezed(escaped_lines(answer))
        assert now.locator(".record mark").all_inner_texts() == marked
        assert page.locator("[aria-pressed=true]").get_attribute("data-n") == str(place)
        sighting, threshold = demo.sightings[place], demo.scores.threshold[place]
        about = f"response {passage.rank}" + (f", {passage.docid}" if passage.docid else "")
        about += f" · match {sighting.score:.2f}"
        if not (sighting.known or np.isnan(threshold)):
            about += f", threshold {threshold:.2f}"
        assert now.locator("blockquote + .where").inner_text() == about
    panel.locator(".close").click()
    assert not panel.is_visible()
    assert visit.complaints == []


def words(records):
    """Their texts without the docids behind them."""
    said = "[...p.childNodes].filter(n => n.className !== 'docid').map(n => n.textContent).join('')"
    take = f"all => all.map(p => {said})"
    return "\n".join(records.evaluate_all(take))


def escaped_lines(text):
    return "\n".join(map(escaped, text.split("\n")))


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def test_a_question_has_its_nuggets_and_both_whole_answers(visit, demo):
    page, panel = visit.page, visit.page.locator("#evidence")
    q = next(q for q in range(len(demo.key.questions)) if not demo.diff.identical[q] and demo.diff.old.answered[q])
    page.locator("#every").click()
    page.locator(f"tr[data-q='{q}'] th a").click()
    assert panel.locator("h3").inner_text() == demo.key.questions[q].text
    assert panel.locator(".nuggets li").count() == demo.key.counts[q]
    panel.locator(".before summary").click()
    for side, run in (("now", demo.new.run), ("before", demo.old.run)):
        assert squeezed(words(panel.locator(f".{side} .record"))) == squeezed(escaped_lines(run.answer(q)))
    panel.locator(".nuggets a").first.click()
    assert panel.locator("h3").inner_text() == demo.key.nuggets[int(demo.key.offsets[q])].descriptions[0]
    page.go_back()
    assert panel.locator("h3").inner_text() == demo.key.questions[q].text
    assert visit.complaints == []


def test_a_link_to_a_question_or_a_nugget_opens_it_wherever_it_is(browser, demo_page, demo):
    """Also one that is not among the first rows."""
    seen = Visit(browser, demo_page)
    page = seen.page
    last = int(page.locator("#cells tbody tr").last.get_attribute("data-q"))
    assert not page.locator("#cells tbody tr").last.is_visible()
    nugget = demo.key.nuggets[int(demo.key.offsets[last])]
    for place, heading in (
        (sections.of_question(nugget.qid), demo.key.questions[last].text),
        (sections.of_nugget(nugget.qid, nugget.nugget), nugget.descriptions[0]),
    ):
        page.goto("about:blank")
        page.goto(f"{seen.url}#{place}")
        assert page.locator("#evidence h3").inner_text() == heading
        row = page.locator(f"tr[data-q='{last}']")
        assert row.is_visible()
        assert page.locator("#evidence .links a").first.get_attribute("href") == f"#{place}"
    change = demo.diff.lost[-1]
    page.goto("about:blank")
    page.goto(f"{seen.url}#{sections.of_nugget(change.question.qid, change.nugget.nugget)}")
    lost = page.locator(".change.lost").last
    assert lost.get_attribute("open") is not None
    box = lost.bounding_box()
    assert 0 <= box["y"] < 900, "what changed is in sight"
    page.goto("about:blank")
    page.goto(f"{seen.url}#question/nobody%")
    assert not page.locator("#evidence").is_visible()
    page.goto(f"{seen.url}#guesses")
    assert page.locator("#guesses figure").is_visible()
    assert seen.complaints == []
    page.close()


def test_pressing_a_cell_writes_the_address_and_closing_takes_it_back(visit, demo):
    page = visit.page
    cell = page.locator("button.cell").first
    nugget = demo.key.nuggets[int(cell.get_attribute("data-n"))]
    cell.click()
    assert page.url == f"{visit.url}#{sections.of_nugget(nugget.qid, nugget.nugget)}"
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: url.rstrip("#") == visit.url)  # a browser goes back in its own time
    more = page.locator(".change .more a").first
    for _ in range(2):  # the same link works again
        more.click()
        assert page.locator("#evidence").is_visible()
        assert page.evaluate("document.activeElement.id") == "evidence"
        page.keyboard.press("Escape")
        assert not page.locator("#evidence").is_visible()
        assert page.evaluate("document.activeElement.textContent").startswith("Whole answers")


def test_every_column_sorts_both_ways_and_undefined_comes_last(visit, demo):
    page = visit.page
    page.locator("#every").click()
    heads = page.locator("#cells th[data-by]")
    assert heads.count() == 6
    figures = "rows => rows.map(r => [r.cells[0].textContent, ...[...r.cells].slice(2).map(c => c.dataset.v ?? '')])"
    for column in range(heads.count()):
        for direction in ("ascending", "descending"):
            if heads.nth(column).get_attribute("aria-sort") != direction:
                heads.nth(column).locator("button").click()
            assert heads.nth(column).get_attribute("aria-sort") == direction
            assert page.locator("#cells [aria-sort]").count() == 1
            found = [row[column] for row in page.locator("#cells tbody tr").evaluate_all(figures)]
            assert len(found) == len(demo.key.questions)
            if column:
                defined = [float(value) for value in found if value]
                assert found[len(defined) :] == [""] * (len(found) - len(defined))
                assert defined == sorted(defined, reverse=direction == "descending")
    page.locator("#cells th[data-by=question] button").press("Enter")
    said = [row[0].lower() for row in page.locator("#cells tbody tr").evaluate_all(figures)]
    assert said[0] < said[-1]
    assert visit.complaints == []


@pytest.mark.parametrize(("width", "rows"), [(1280, 20), (400, 10)])
def test_only_the_first_questions_are_shown_until_more_are_asked_for(browser, demo_page, demo, width, rows):
    seen = Visit(browser, demo_page, viewport={"width": width, "height": 800})
    shown = seen.page.locator("#cells tbody tr:visible")
    assert shown.count() == rows
    seen.page.locator("#every").click()
    assert shown.count() == len(demo.key.questions)
    assert not seen.page.locator("#every").is_visible()
    seen.page.close()


def test_a_narrow_page_is_short_and_its_table_is_still_one(browser, demo_page, demo):
    """It was 15,000 pixels tall. Rows are laid out as cards, and remain rows to those who listen."""
    seen = Visit(browser, demo_page, viewport={"width": 400, "height": 800})
    page = seen.page
    assert page.evaluate("document.documentElement.scrollHeight") < 8000
    assert page.locator("#cells").get_by_role("row").count() >= 10
    assert page.locator("#cells").get_by_role("rowheader").count() == 10
    row = page.locator("#cells tbody tr").first
    assert row.bounding_box()["width"] <= 400
    assert page.evaluate("document.querySelector('.from-the-end').scrollLeft") == 0, "the newest build is in sight"
    edge = page.locator("#trend svg.trend").bounding_box()
    assert edge["x"] + edge["width"] <= 401
    axis, scroller = page.locator("#trend svg.axis"), page.locator("#trend .from-the-end")
    for end in (0, -1000):
        page.evaluate("end => document.querySelector('.from-the-end').scrollTo(end, 0)", end)
        assert axis.bounding_box()["x"] == scroller.bounding_box()["x"], "the numbers at the left are in sight"
        numbers = page.locator("#trend svg text", has_text="0.5").all()
        heights = [one.bounding_box()["y"] for one in numbers]
        assert max(heights) - min(heights) < 1, "each at its height"
    row.locator("button.cell").first.click()
    panel = page.locator("#evidence").bounding_box()
    assert (panel["x"], panel["width"]) == (0, 400)
    assert panel["height"] <= 481
    page.close()


def test_all_of_it_can_be_done_with_the_keyboard(visit, demo):
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#changed").focus()
    for _ in range(9):  # past the heads that sort
        page.keyboard.press("Tab")
        if visit.focused.isdigit():
            break
    start = visit.focused
    assert start.isdigit()
    assert page.locator("button.cell[tabindex='0']").count() == 1
    page.keyboard.press("ArrowRight")
    right = visit.focused
    assert right != start
    page.keyboard.press("ArrowLeft")
    assert visit.focused == start
    page.keyboard.press("ArrowDown")
    below = visit.focused
    rows = page.locator("#cells tbody tr").evaluate_all("rows => rows.map(row => Number(row.dataset.q))")
    assert rows.index(demo.key.question[int(below)]) == rows.index(demo.key.question[int(start)]) + 1
    page.keyboard.press("Enter")
    assert page.locator("#evidence").is_visible()
    before = page.locator("#evidence h3").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#evidence h3").inner_text() != before
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert visit.focused == below
    page.keyboard.press("Escape")
    assert not page.locator("#evidence").is_visible()
    assert visit.focused == below
    page.keyboard.press("Tab")  # on to the next question, which is a link
    assert visit.focused == "A"


def test_the_focus_can_be_seen(visit):
    cell = visit.page.locator("button.cell").first
    visit.page.locator("#changed").focus()
    for _ in range(9):
        visit.page.keyboard.press("Tab")
        if visit.focused.isdigit():
            break
    assert visit.focused.isdigit()
    assert cell.evaluate("e => getComputedStyle(e).outlineStyle + getComputedStyle(e).outlineWidth") == "solid3px"


def test_questions_can_be_sought_and_those_without_a_change_left_out(visit, demo):
    page = visit.page
    rows = page.locator("#cells tbody tr:visible")
    page.locator("#every").click()
    assert rows.count() == len(demo.key.questions)
    page.locator("#wanted").fill("DEF-0")
    assert rows.count() == sum("def-0" in q.qid.lower() for q in demo.key.questions)
    page.locator("#wanted").fill("")
    page.locator("#changed").check()
    changed = {change.question.qid for change in (*demo.diff.gained, *demo.diff.lost)}
    assert 0 < rows.count() == len(changed)
    page.locator("#wanted").fill("no such question")
    assert rows.count() == 0
    assert page.locator("#count").inner_text() == f"0 of {len(demo.key.questions)} questions"
    assert visit.complaints == []


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_reader_s_theme_and_width(browser, demo_page, scheme, width):
    seen = Visit(browser, demo_page, viewport={"width": width, "height": 800}, color_scheme=scheme)
    background = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)")
    label = seen.page.evaluate("getComputedStyle(document.querySelector('svg.chart text')).fill")
    assert label == ("rgb(87, 96, 106)" if scheme == "light" else "rgb(160, 170, 180)")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.close()


def test_on_paper_all_is_dark_on_white_and_tables_are_open(browser, demo_page):
    seen = Visit(browser, demo_page, color_scheme="dark")
    seen.page.locator("button.cell").first.click()
    seen.page.emulate_media(media="print", color_scheme="dark")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not seen.page.locator("#evidence").is_visible()
    assert not seen.page.locator("nav").is_visible()
    rows = seen.page.locator("#cells tbody tr:visible")
    assert rows.count() == 20
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert seen.page.locator("#trend details table").is_visible()
    assert rows.count() == seen.page.locator("#cells tbody tr").count() > 20
    seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert not seen.page.locator("#trend details table").is_visible()
    assert rows.count() == 20
    assert seen.page.pdf().startswith(b"%PDF")
    seen.page.close()


def test_it_says_the_same_to_those_who_listen(visit, demo):
    """What a screen reader is told, by the browser's own tree of roles and names."""
    page = visit.page
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Sections").count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("heading", name=demo.ruling.decision).count() == 1
    page.locator("#every").click()
    assert page.get_by_role("rowheader").count() >= len(demo.key.questions)
    assert page.get_by_role("columnheader", name="change").get_attribute("aria-sort") == "ascending"
    assert page.get_by_role("button", name=re.compile("^nugget ")).count() == len(demo.key.nuggets)
    assert page.get_by_role("button", name=re.compile("guessed: ")).count() == int((~demo.diff.new.known).sum())
    assert page.get_by_role("img", name=re.compile("Scores of the last")).count() == 1
    assert page.locator("#evidence .told").get_attribute("aria-live") == "polite"


def test_hostile_texts_do_nothing(browser, tmp_path):
    """Wherever they stand, and whatever is pressed."""
    path = tmp_path / "report.html"
    root = hostile(tmp_path / "bad")
    names = read_collection(root).run_names
    for name in names[1:]:
        History.of(root).record(score(read_collection(root), [name]), label=f"<script>window.owned=11</script>{name}")
    found = brief(read_collection(root))
    assert found.trend
    said = tuple(WordEvidence(trick, 1.0, True) for trick in TRICKS)
    whys = [
        Explanation("odds", (one,), (SimilarText(trick, True, 0.5),)) for one, trick in zip(said, TRICKS, strict=True)
    ]
    sightings = (replace(one, why=lambda least, i=i: whys[i % len(whys)]) for i, one in enumerate(found.sightings))
    html.write(path, replace(found, sightings=tuple(sightings)))
    seen = Visit(browser, path)
    page = seen.page
    page.evaluate(UNFOLD)
    if page.locator("#every").is_visible():
        page.locator("#every").click()
    for cell in page.locator("button.cell").all():
        cell.evaluate("one => one.click()")
        assert page.locator("#evidence blockquote :not(mark), #evidence .record :not(mark, .docid)").count() == 0
        assert page.locator("#evidence .why li").count() == 2
        assert page.locator("#evidence .why :not(li)").count() == 0
    for question in page.locator("#cells tbody th a").all():
        question.evaluate("one => one.click()")
        assert page.locator("#evidence .nuggets li").count() == 3
        assert page.locator("#evidence .record :not(.docid)").count() == 0
        assert page.evaluate("[...document.links].every(a => a.getAttribute('href').startsWith('#'))")
        there = page.url
        page.goto("about:blank")
        page.goto(there)  # the address itself is a text of somebody's
        assert page.locator("#evidence .nuggets li").count() == 3
    seen.requests = [url for url in seen.requests if not url.startswith((seen.url, "about:"))]
    page.locator("#wanted").fill("<script>")
    page.wait_for_timeout(100)
    assert seen.owned() is None
    assert seen.complaints == []
    assert [url for url in seen.requests if url != seen.url and not url.startswith("data:")] == []
    assert page.evaluate("[...document.links].every(a => a.getAttribute('href').startsWith('#'))")
    assert page.url.partition("#")[0] == seen.url
    page.evaluate(UNFOLD)
    assert "<script>window.owned = 1</script>" in page.locator("#changes").inner_text()
    page.close()


@pytest.mark.parametrize("walled", [True, False], ids=["with its policy", "without"])
def test_were_something_not_escaped_the_policy_would_stop_it(browser, demo_page, tmp_path, walled):
    """Tricks put into the page by hand: the second wall holds by itself, and without it they do their work."""
    text = demo_page.read_text(encoding="utf-8")
    tricks = (
        "<script>window.owned = 1</script><img src='data:x' onerror='window.owned = 2'>"
        "<img src='http://127.0.0.1:9/x.png'><style>body { color: red }</style>"
    )
    broken = text.replace('<main id="main" tabindex="-1">', f'<main id="main" tabindex="-1">{tricks}')
    assert broken != text
    if not walled:
        broken = re.sub(r"<meta http-equiv=.*?>", "", broken, count=1)
    path = tmp_path / "broken.html"
    path.write_text(broken, encoding="utf-8")
    seen = Visit(browser, path)
    stopped = "Content Security Policy"
    seen.until(lambda: any(stopped in line for line in seen.complaints) if walled else seen.owned() is not None)
    red = seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(255, 0, 0)"
    assert (seen.owned() is None) == walled
    assert red == (not walled)
    seen.page.close()


def thirty(found):
    """Thirty builds, as if recorded."""
    score_ = found.score.measures["f3"]
    builds = tuple(
        Build(
            Scoring(i, i, "nightly", f"build {i}", f"2026-01-{i + 1:02d}T03:00:00Z", None, found.scores.signature, 5, 5,
                    Interval(0.4 + i / 200, 0.4, 0.3, 0.6, score_.judging, score_.sampling))
        )
        for i in range(30)
    )  # fmt: skip
    value = np.array([build.interval.value for build in builds])
    nuggets = (len(found.key.nuggets), 30)
    flags = np.random.default_rng(0).random(nuggets) < 0.5
    timelines = NuggetTimelines(
        (), builds, np.ones(nuggets, bool), flags, flags, np.full(nuggets, 0.5), np.ones(nuggets, int)
    )
    return replace(found, trend=Trend(None, "f3", builds, watch_trend(value)), timelines=timelines)


@pytest.fixture(scope="module")
def big_page(tmp_path_factory):
    """500 questions of 10 nuggets, 30 builds."""
    root = tmp_path_factory.mktemp("big")
    simulate(root / "c", Shape(questions=500, nuggets=10, systems=3, judged=1, responses=10, words=25))
    path = root / "report.html"
    html.write(path, thirty(brief(read_collection(root / "c"))))
    return path


def test_a_large_page_is_small_and_every_cell_can_be_pressed(browser, big_page):
    """Under 5 MB. How fast it opens is measured (`scripts/bench`), not tested."""
    assert big_page.stat().st_size < 5_000_000
    seen = Visit(browser, big_page)
    assert seen.page.locator("button.cell").count() == 5000
    assert seen.complaints == []
    assert seen.page.locator("#cells tbody tr:visible").count() == 20
    seen.page.evaluate("document.querySelectorAll('button.cell')[2500].click()")
    assert seen.page.locator("#evidence").is_visible()
    seen.page.close()


def test_labels_of_a_chart_do_not_overlap_in_a_browser(visit):
    """With the letters that the browser draws; the charts only estimate how wide they are."""
    overlapping = """
        Array.from(document.querySelectorAll("svg.chart")).flatMap((chart) => {
            const texts = Array.from(chart.querySelectorAll("text"));
            const boxes = texts.map((text) => text.getBoundingClientRect()), whole = chart.getBoundingClientRect();
            return texts.flatMap((text, i) => [
                ...(boxes[i].left < whole.left - 1 || boxes[i].right > whole.right + 1 ? [text.textContent] : []),
                ...texts.slice(i + 1).filter((_, k) => {
                    const a = boxes[i], b = boxes[i + 1 + k];
                    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                    return across > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
                }).map((other) => `${text.textContent} | ${other.textContent}`),
            ]);
        })"""
    visit.page.evaluate(UNFOLD)
    assert visit.page.locator("svg.chart text").count() > 20
    assert visit.page.evaluate(overlapping) == []
    visit.page.evaluate("document.querySelectorAll('svg.chart text').forEach((t) => t.setAttribute('x', 0))")
    assert visit.page.evaluate(overlapping) != []
