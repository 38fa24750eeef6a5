"""The page for an assessor, in a browser: what they can do, what comes back, and that hostile texts do nothing."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.importing import import_verdicts
from nuggeteer.collection.runs import run_hash
from nuggeteer.judging.cards import Filter
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.reports.html import sheet
from nuggeteer.scoring.scorer import Scorer
from tests.conftest import write_lines
from tests.judging.conftest import begin, fermi
from tests.reports.browsing import Visit, browser, needs_chromium
from tests.reports.hostile import hostile

__all__ = ["begin", "browser", "fermi"]
pytestmark = [needs_chromium, pytest.mark.slow]


def made(root, run="tonight", count=None, minutes=None, only=None, **subject):
    state = JudgingState.read(JudgingSubject(root, run, **subject))
    return sheet.make_sheet(state, only or Filter(), count, minutes)


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a sheet of a collection, by default in a browser of its own."""
    opened = []

    def start(root, context=None, name="sheet.html", **options):
        path = tmp_path / name
        sheet.write(
            path, made(root, **{k: options.pop(k) for k in ("run", "count", "minutes", "against") if k in options})
        )
        opened.append(context or browser.new_context(accept_downloads=True, **options))
        seen = Visit(opened[-1], path)
        return seen

    yield start
    for context in opened:
        context.close()


def handed_back(seen, path):
    """What the page hands back: saved as a file, and as lines."""
    seen.page.locator("#open-hand").click()
    with seen.page.expect_download() as waiting:
        seen.page.locator("#download").click()
    waiting.value.save_as(path)
    assert seen.page.locator("#lines").input_value() == path.read_text(encoding="utf-8")
    seen.page.keyboard.press("Escape")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked(seen):
    """The nugget in view and the answer beside it, as the assessor reads them."""
    answer = [one.inner_text() for one in seen.page.locator("#responses .text").all()]
    return seen.page.locator(".nugget.now .fact").inner_text(), answer


def said(seen):
    """What is chosen for each nugget of the card."""
    groups = seen.page.locator("#nuggets fieldset").all()
    return [group.locator("input:checked").get_attribute("value") for group in groups]


def choose(group, value):
    """With the mouse."""
    group.locator(f"input[value='{value}']").click()


def count(seen):
    return seen.page.locator("#count").inner_text()


def test_the_answers_are_those_of_the_terminal_in_its_order(begin, fermi, open_page):
    seen, session = open_page(fermi.root), begin()
    for _ in range(2):
        card = session.card()
        facts = [one.inner_text() for one in seen.page.locator("#nuggets .fact").all()]
        assert facts == [shown.nugget.descriptions[0] for shown in card.nuggets]
        assert asked(seen)[1] == [response.text for response in card.answer]
        seen.page.keyboard.press("n")
        session.judge(False)
        assert asked(seen)[0] == session.card().nugget.descriptions[0]
        seen.page.keyboard.press("a")
        seen.page.keyboard.press("Enter")
        session.judge_others()
        session.next()
    assert session.asked is None
    assert seen.page.locator("#done").is_visible()
    assert seen.complaints == []


def test_a_page_of_some_minutes_ends_with_a_whole_answer(fermi, begin):
    """At the usual pace, by counting words; and as many verdicts as were asked for."""
    session = begin()
    seconds = []
    while session.asked is not None:
        card = session.card()
        texts = [card.question.text, *(r.text for r in card.answer), *(n.nugget.descriptions[0] for n in card.nuggets)]
        seconds.append(4 * len(card.nuggets) + 60 / 238 * len(" ".join(texts).split()))
        session.skip()
        if len(seconds) == 2:
            break
    assert made(fermi.root, minutes=0.1).minutes == pytest.approx(seconds[0] / 60)
    assert made(fermi.root, minutes=(seconds[0] + 0.5) / 60).minutes == pytest.approx(sum(seconds) / 60)
    assert made(fermi.root, minutes=99).asked == made(fermi.root).asked == 4
    assert made(fermi.root, count=1).asked == 2


def test_it_asks_for_nothing_over_the_network(fermi, open_page):
    seen = open_page(fermi.root)
    seen.page.keyboard.press("y")
    assert [url for url in seen.requests if url != seen.url and not url.startswith("data:")] == []
    assert seen.complaints == []


def test_nothing_on_it_says_what_the_tool_guesses(fermi):
    """Not even to somebody who reads its source."""
    found = made(fermi.root)
    assert {key for one in found.data["cards"] for key in one} == {"answer", "nuggets", "known", "recorded", "seconds"}
    assert not re.search(r"\d\.\d{2}", json.dumps(found.data))


def test_what_comes_back_is_imported_as_that_assessor_s(fermi, open_page, tmp_path):
    """Keys and the mouse, a reason, marked words, no to all others, and a proposal."""
    seen = open_page(fermi.root)
    page = seen.page
    fact, answer = asked(seen)
    page.keyboard.press("r")
    page.keyboard.type("the date, y or n")
    page.locator("#why button[type=submit]").click()
    assert "the date, y or n" in page.locator("#reason-line").inner_text()
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert said(seen) == ["yes", ""]
    assert asked(seen)[0] != fact
    choose(page.locator(".nugget.now"), "no")
    assert said(seen) == ["yes", "no"]
    page.keyboard.press("p")
    page.locator("#proposal-text").fill("  Laura wrote  ")
    page.locator("#proposal input[value=okay]").check()
    page.locator("#proposal button[type=submit]").click()
    page.locator("[data-act=next]").click()
    assert asked(seen)[1] != answer
    page.locator("[data-act=others]").click()
    page.locator("[data-act=next]").click()
    assert page.locator("#done-head").is_visible()
    path = tmp_path / "back.jsonl"
    lines = handed_back(seen, path)
    assert len({line["page"] for line in lines}) == 1
    assert main(["judge", "--collection", str(fermi.root), "--import", str(path), "--assessor", "ann"]) == 0
    collection = read_collection(fermi.root)
    own = sorted((j for j in collection.judgements if j.assessor == "ann"), key=lambda j: j.at)
    yes, no, *rest = own
    assert (yes.verdict, yes.text, yes.scope, yes.reason) == (True, answer[0], "response", "the date, y or n")
    assert len(yes.text[slice(*yes.span)].split()) == 2
    assert (no.verdict, no.scope, no.text, no.run) == (False, "answer", "\n".join(answer), "tonight")
    assert [(j.verdict, j.scope) for j in rest] == [(False, "answer")] * 2
    assert all(j.at.endswith("Z") and j.extra["source"] == "page" for j in own)
    proposal = json.loads((fermi.root / "proposals.jsonl").read_text(encoding="utf-8"))
    assert (proposal["text"], proposal["importance"], proposal["assessor"]) == ("Laura wrote", "okay", "ann")
    # A score knows them now.
    matched = Scorer(collection).read("tonight")
    assert not matched.open_nuggets.any()
    assert matched.certain.sum() == 1
    # Nothing twice.
    again = import_verdicts(collection, path, "ann")
    assert (len(again.written), again.proposed, again.withdrawn) == (0, 0, 0)
    assert again.already == len(own)


def test_what_it_says_of_an_answer_is_what_the_terminal_says(begin, fermi, open_page, tmp_path):
    """Line for line, but for the time and who said it."""
    seen, session = open_page(fermi.root), begin()
    session.mark(1)
    session.judge(True)
    session.mark(0)
    session.judge(False, contradicts=True)
    for key in ("Space", "ArrowRight", "y", "Space", "c"):
        seen.page.keyboard.press(key)
    lines = handed_back(seen, tmp_path / "back.jsonl")
    ledger = (fermi.root / "judgements" / "ann.jsonl").read_text(encoding="utf-8").splitlines()

    def content(line):
        return {
            k: line.get(k) for k in ("qid", "nugget", "text", "verdict", "contradicts", "scope", "run") if line.get(k)
        }

    assert [content(line) for line in lines] == [content(json.loads(line)) for line in ledger]


def test_an_answer_that_says_the_opposite(fermi, open_page, tmp_path):
    """By its key, by the mouse, and taken back."""
    seen = open_page(fermi.root)
    first = asked(seen)
    seen.page.keyboard.press("c")
    assert "opposite" in seen.page.locator("#said").inner_text()
    assert said(seen) == ["opposite", ""]
    choose(seen.page.locator(".nugget.now"), "opposite")
    seen.page.keyboard.press("u")
    assert said(seen) == ["opposite", ""]
    choose(seen.page.locator(".nugget.now"), "no")
    path = tmp_path / "back.jsonl"
    opposite, no = handed_back(seen, path)
    assert (opposite["verdict"], opposite["contradicts"], opposite["text"]) == (False, True, "\n".join(first[1]))
    assert (no["verdict"], "contradicts" in no) == (False, False)
    assert main(["judge", "--collection", str(fermi.root), "--import", str(path), "--assessor", "ann"]) == 0
    own = [j for j in read_collection(fermi.root).judgements if j.assessor == "ann"]
    assert sorted(j.word for j in own) == ["contradicts", "no"]


def test_a_click_changes_what_was_said_and_undecided_takes_it_back(fermi, open_page, tmp_path):
    seen = open_page(fermi.root)
    first = seen.page.locator("#nuggets fieldset").first
    choose(first, "yes")
    choose(first, "no")
    assert said(seen) == ["no", ""]
    choose(first, "")
    assert said(seen) == ["", ""]
    assert count(seen).startswith("0 of")
    for expected in (["no", ""], ["yes", ""], ["", ""]):
        seen.page.keyboard.press("u")
        assert said(seen) == expected


def test_the_next_answer_comes_when_this_one_is_decided(fermi, open_page):
    seen = open_page(fermi.root)
    first = asked(seen)[1]
    seen.page.keyboard.press("Enter")
    assert "2 facts open" in seen.page.locator("#said").inner_text()
    assert asked(seen)[1] == first
    seen.page.keyboard.press("s")
    second = asked(seen)[1]
    assert second != first
    seen.page.keyboard.press("a")
    seen.page.keyboard.press("Enter")
    assert asked(seen)[1] == first, "what was skipped comes back"


def test_undo_takes_back_and_asks_again(fermi, open_page):
    seen = open_page(fermi.root)
    first = asked(seen)
    seen.page.keyboard.press("n")
    second = asked(seen)
    seen.page.keyboard.press("y")
    seen.page.keyboard.press("Enter")
    seen.page.keyboard.press("a")
    seen.page.keyboard.press("u")
    assert said(seen) == ["", ""]
    seen.page.keyboard.press("u")
    assert asked(seen) == second
    seen.page.locator("[data-act=undo]").first.click()
    assert asked(seen) == first
    assert count(seen).startswith("0 of")
    assert seen.page.locator("#open-hand").is_disabled()


def test_it_goes_on_where_it_was_after_it_was_closed(browser, fermi, open_page):
    context = browser.new_context()
    seen = open_page(fermi.root, context)
    seen.page.keyboard.press("n")
    seen.page.keyboard.press("s")
    here, far = asked(seen), count(seen)
    seen.page.reload()
    assert (asked(seen), count(seen)) == (here, far)
    seen.page.close()
    again = open_page(fermi.root, context)
    assert (asked(again), count(again)) == (here, far)
    assert "1 verdict of yours is kept here" in again.page.locator("#said").inner_text()
    other = open_page(fermi.root, context, name="other.html", count=1)
    assert count(other).startswith("0 of 2")  # another page has a memory of its own


def test_two_windows_of_one_page_know_of_each_other(browser, fermi, open_page):
    context = browser.new_context()
    one, two = open_page(fermi.root, context), open_page(fermi.root, context)
    one.page.keyboard.press("n")
    two.page.wait_for_function("document.getElementById('count').textContent.startsWith('1 of')")
    two.page.keyboard.press("n")
    one.page.wait_for_function("document.getElementById('count').textContent.startsWith('2 of')")


def test_where_a_browser_keeps_nothing_it_says_so_and_works(browser, fermi, open_page, tmp_path):
    context = browser.new_context(accept_downloads=True)
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    seen = open_page(fermi.root, context)
    assert "keeps nothing" in seen.page.locator("#warning").inner_text()
    seen.page.keyboard.press("n")
    assert len(handed_back(seen, tmp_path / "x.jsonl")) == 1


def test_a_memory_that_cannot_be_read_is_set_aside(browser, fermi, open_page):
    context = browser.new_context()
    seen = open_page(fermi.root, context)
    seen.page.keyboard.press("n")
    # Before the page reads it: what is written before a page is left may come too late for the next.
    seen.page.add_init_script("if (window.name) localStorage.setItem(...JSON.parse(window.name));")
    for broken in ("{", '{"said": {"9 9": {"kind": "no"}}}', "null", '{"undo": 1}'):
        own = "Object.keys(localStorage).find((key) => !key.endsWith('unreadable'))"
        key = seen.page.wait_for_function(own).json_value()
        seen.page.evaluate("(both) => { window.name = JSON.stringify(both); }", [key, broken])
        seen.page.reload()
        if broken != "null":
            seen.page.locator("#warning", has_text="set aside").wait_for()
            assert seen.page.evaluate("(key) => localStorage.getItem(key + '-unreadable')", key) == broken
        assert count(seen).startswith("0 of")
    assert seen.complaints == []


def test_a_verdict_taken_back_after_it_was_handed_back_is_withdrawn(fermi, open_page, tmp_path):
    seen, path = open_page(fermi.root), tmp_path / "x.jsonl"
    seen.page.keyboard.press("n")
    (first,) = handed_back(seen, path)
    import_verdicts(read_collection(fermi.root), path, "ann")
    seen.page.keyboard.press("u")
    seen.page.keyboard.press("y")
    lines = handed_back(seen, tmp_path / "y.jsonl")
    assert [line.get("verdict", "gone") for line in lines] == ["gone", True]
    done = import_verdicts(read_collection(fermi.root), tmp_path / "y.jsonl", "ann")
    assert (done.withdrawn, len(done.written)) == (1, 1)
    own = [j for j in read_collection(fermi.root).judgements if j.assessor == "ann"]
    assert [(j.text, j.verdict) for j in own] == [(first["text"], True)]
    # An older file that comes late changes nothing, and neither does the newer one a second time.
    for late in (path, tmp_path / "y.jsonl"):
        before = (fermi.root / "judgements" / "ann.jsonl").read_bytes()
        done = import_verdicts(read_collection(fermi.root), late, "ann")
        assert (done.withdrawn, done.written) == (0, ())
        assert (fermi.root / "judgements" / "ann.jsonl").read_bytes() == before


def test_words_are_marked_with_the_mouse(fermi, open_page, tmp_path):
    """Half-selected words are marked whole, and their sentence with them."""
    seen = open_page(fermi.root)
    text = asked(seen)[1][1]
    seen.page.evaluate("""() => {
        const node = document.querySelectorAll("#responses .text")[1].firstChild, end = node.data.indexOf(' ', 4) + 3;
        document.getSelection().setBaseAndExtent(node, 1, node, end);
    }""")
    words = text.split()[:2] if len(text.split()[0]) > 3 else text.split()[:3]
    seen.page.wait_for_function("!document.getElementById('mark-line').hidden")
    assert " ".join(words).rstrip(".,") in seen.page.locator("#mark-line").inner_text()
    choose(seen.page.locator(".nugget.now"), "yes")
    (line,) = handed_back(seen, tmp_path / "x.jsonl")
    assert line["text"] == text
    assert line["text"][slice(*line["span"])] == " ".join(words).rstrip(".,")


def test_a_sentence_that_has_it_is_chosen_with_one_click(fermi, open_page, tmp_path):
    seen = open_page(fermi.root)
    text = asked(seen)[1][1]
    seen.page.locator("#responses .this-one").nth(1).click()
    (line,) = handed_back(seen, tmp_path / "x.jsonl")
    assert (line["text"], line["verdict"], line.get("scope")) == (text, True, None)


STRANGE = "😀😀 שלום עולם e\u0301 a\u202eb 漢字 reactor first nuclear \u200bend"


def test_spans_count_characters_and_what_nobody_sees_is_written_out(collect, open_page, tmp_path):
    root = collect([{"qid": "q1", "nugget": "1", "text": "first nuclear reactor"}], {"tonight": [("q1", STRANGE)]}).root
    seen = open_page(root)
    shown = seen.page.locator("#responses .text")
    assert "a\\u202eb" in shown.inner_text()
    assert "\u202e" not in shown.inner_text()
    assert shown.get_attribute("dir") == "auto"
    seen.page.evaluate("""() => {
        const nodes = [...document.querySelector('#responses .text').childNodes];
        const node = nodes.find((n) => n.data?.includes('reactor'));
        const at = node.data.indexOf('reactor');
        document.getSelection().setBaseAndExtent(node, at, node, at + 13);
    }""")
    seen.page.keyboard.press("y")
    (line,) = handed_back(seen, tmp_path / "x.jsonl")
    assert line["text"] == STRANGE
    assert STRANGE[slice(*line["span"])] == "reactor first"


def test_what_is_recorded_with_an_answer_comes_back_with_its_verdicts(demo_page_of_an_audit, tmp_path):
    seen, root = demo_page_of_an_audit
    while not seen.page.locator("#done").is_visible():
        seen.page.keyboard.press("a")
        seen.page.keyboard.press("Enter")
    lines = handed_back(seen, tmp_path / "x.jsonl")
    assert lines
    assert all(line["audit"] for line in lines)
    collection = read_collection(root)
    position, nuggets = collection.key.nugget_position, collection.key.nuggets
    assert all(line["nugget_hash"] == nuggets[position[line["qid"], line["nugget"]]].hash for line in lines)
    assert {line["run_hash"] for line in lines} == {run_hash(collection.run("build-103"), collection.key)}
    import_verdicts(read_collection(root), tmp_path / "x.jsonl", "ann")
    assert main(["score", "--collection", str(root), "build-103", "--audited"]) == 0


@pytest.fixture
def demo_folder(_sample_folder, tmp_path):
    return shutil.copytree(_sample_folder, tmp_path / "demo")


@pytest.fixture
def demo_page_of_an_audit(demo_folder, browser, tmp_path):
    path = tmp_path / "audit.html"
    assert main(["judge", "--collection", str(demo_folder), "build-103", "--audit", "5", "--page", str(path)]) == 0
    context = browser.new_context(accept_downloads=True)
    yield Visit(context, path), demo_folder
    context.close()


def test_with_a_difference_both_builds_are_judged_and_shared_texts_once(fermi, open_page, tmp_path):
    seen = open_page(fermi.root, against="earlier")
    heads = []
    while not seen.page.locator("#done").is_visible():
        heads.append(seen.page.locator("#answer-head").inner_text())
        seen.page.keyboard.press("a")
        seen.page.keyboard.press("Enter")
    assert heads == ["The answer of earlier", "The answer of tonight"] * 2
    lines = handed_back(seen, tmp_path / "x.jsonl")
    assert {line["run"] for line in lines} == {"tonight", "earlier"}
    assert len({(line["qid"], line["nugget"], line["text"]) for line in lines}) == len(lines)


def test_hostile_texts_do_nothing(tmp_path, open_page):
    root = hostile(tmp_path / "bad")
    run = next(name for name in read_collection(root).run_names if name.startswith("new"))
    seen = open_page(root, run=run)
    cards = 0
    while not seen.page.locator("#done").is_visible():
        assert seen.page.locator("#responses :not(li, p, span, div, button)").count() == 0
        for key in ("Space", "y", "m", "Enter", "a", "Enter"):
            seen.page.keyboard.press(key)
        cards += 1
        assert cards < 50
    assert handed_back(seen, tmp_path / "x.jsonl")
    assert seen.owned() is None
    assert seen.complaints == []
    assert [url for url in seen.requests if url != seen.url and not url.startswith(("data:", "blob:"))] == []
    import_verdicts(read_collection(root), tmp_path / "x.jsonl", "ann")


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(browser, demo_folder, tmp_path, scheme, width):
    """At least 4.5 : 1 between every letter and what is behind it (WCAG 2, AA), by computation."""
    path = tmp_path / "x.html"
    sheet.write(path, made(demo_folder, "build-103", 20))
    seen = Visit(browser, path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    seen.page.keyboard.press("n")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.locator(".nugget.now").scroll_into_view_if_needed()
    fact, acts = seen.page.locator(".nugget.now .fact").bounding_box(), seen.page.locator(".acts").bounding_box()
    assert 0 <= fact["y"] < 800
    assert acts["y"] + acts["height"] <= 800, "what one can do is always in view"
    low = seen.page.evaluate("""() => {
        const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255)
            .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const behind = (node) => {
            for (let n = node; n; n = n.parentElement) {
                const colour = getComputedStyle(n).backgroundColor;
                if ((parts(colour)[3] ?? 1) > 0) return colour;
            }
        };
        const hidden = "script, .skip, .this-one, dialog:not([open])";
        return [...document.querySelectorAll("body *")].filter((n) => !n.closest(hidden)
            && [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) && n.offsetParent).map((n) => {
                const [a, b] = [light(getComputedStyle(n).color), light(behind(n))].sort((x, y) => y - x);
                return [(a + 0.05) / (b + 0.05), n.textContent.slice(0, 30)];
            }).filter(([ratio]) => ratio < 4.5);
    }""")
    assert low == []
    seen.page.close()


def test_it_says_the_same_to_those_who_listen(fermi, open_page):
    """Roles, names and where the focus goes: to the next fact, which is a group of choices with the fact as its
    name; and to the head of the next answer."""
    seen = open_page(fermi.root)
    page = seen.page
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("progressbar", name=re.compile("0 of .* judged")).count() == 1
    facts = [one.inner_text() for one in page.locator("#nuggets .fact").all()]
    for fact in facts:
        group = page.get_by_role("group", name=fact)
        assert group.count() == 1
        names = ["Yes", "No", "Says the opposite", "Undecided"]
        assert [group.get_by_role("radio", name=name, exact=True).count() for name in names] == [1] * 4
    assert page.get_by_role("list").get_by_role("listitem").count() == len(asked(seen)[1])
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.querySelector('.fact').textContent") == facts[1]
    assert page.locator("#said").get_attribute("aria-live") == "polite"
    assert "No" in page.locator("#said").inner_text()
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answer-head"
    described = page.locator("#answer-head").get_attribute("aria-describedby").split()
    assert all(page.locator(f"#{name}").inner_text() for name in described)
    # By the tab key and the keys of radio buttons alone.
    page.locator("#nuggets input[value='']").first.focus()
    page.keyboard.press("ArrowRight")
    assert said(seen) == ["yes", ""]
    page.keyboard.press("ArrowRight")
    assert said(seen) == ["no", ""]
    assert page.evaluate("document.activeElement.value") == "no"


def test_single_keys_can_be_turned_off(fermi, open_page):
    seen = open_page(fermi.root)
    seen.page.keyboard.press("?")
    seen.page.locator("#keys").uncheck()
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("y")
    assert count(seen).startswith("0 of")
    choose(seen.page.locator(".nugget.now"), "yes")
    assert not count(seen).startswith("0 of")


def test_with_a_long_answer_the_facts_stay_in_view(collect, open_page):
    texts = [("q1", f"Sentence {i} says nothing of it. " * 8) for i in range(60)]
    nuggets = [{"qid": "q1", "nugget": str(i), "text": f"fact {i} of the first nuclear reactor"} for i in range(20)]
    seen = open_page(collect(nuggets, {"tonight": texts}).root)
    page = seen.page
    page.mouse.wheel(0, 3000)
    page.wait_for_function("scrollY > 2000")
    before = page.evaluate("scrollY")
    for _ in range(19):
        page.keyboard.press("n")
        box = page.locator(".nugget.now").bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900
    assert page.evaluate("scrollY") == before, "the answer stays where it was"


def test_an_answer_of_one_piece_is_judged_as_it_is(collect, open_page, tmp_path):
    nuggets = [{"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"}]
    seen = open_page(collect(nuggets, {"tonight": [("q1", "A reactor was built.")]}).root)
    assert seen.page.locator(".this-one").count() == 0
    seen.page.keyboard.press("y")
    (line,) = handed_back(seen, tmp_path / "x.jsonl")
    assert (line["text"], line["verdict"], "scope" in line) == ("A reactor was built.", True, False)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"qid": "q1", "nugget": "9", "text": "x", "verdict": True}, "no nugget '9'"),
        ({"qid": "q1", "nugget": "1", "text": "x", "retracted": True}, "no 'at'"),
        ({"qid": "q1", "text": "x", "importance": "great", "from": "y", "run": "r", "proposed": True}, "importance"),
    ],
)
def test_a_file_that_was_changed_is_refused_whole(fermi, tmp_path, capsys, line, says):
    about = {"source": "page", "page": "00"}
    good = {"qid": "q1", "nugget": "1", "text": "x", "verdict": True, "at": "2026-01-01T00:00:00Z", **about}
    path = write_lines(tmp_path / "x.jsonl", [good, {**line, **about}])
    before = {p.name: p.read_bytes() for p in (fermi.root / "judgements").iterdir()}
    assert main(["judge", "--collection", str(fermi.root), "--import", str(path), "--assessor", "ann"]) == 2
    error = capsys.readouterr().err
    assert "x.jsonl:2" in error
    assert says in error
    assert {p.name: p.read_bytes() for p in (fermi.root / "judgements").iterdir()} == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--count", "3"], "--count needs --page"),
        (["--page", "x.html", "--list"], "--page and --list"),
        (["--page", "x.html", "--assessor", "ann"], "--page and --assessor"),
        (["--page", "x.html", "--question", "q9"], "no such question"),
        (["--page", "x.html", "--audit", "3", "--count", "3"], "--audit and --count"),
    ],
)
def test_options_that_mean_nothing_with_a_page_are_refused(fermi, monkeypatch, tmp_path, capsys, options, says):
    monkeypatch.chdir(tmp_path)
    assert main(["judge", "--collection", str(fermi.root), "tonight", *options]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_the_same_verdicts_make_the_same_page(fermi):
    assert sheet.page(made(fermi.root)) == sheet.page(made(fermi.root))


def test_a_page_can_ask_pair_by_pair(demo_folder, tmp_path, capsys):
    """A card has one response and one nugget then, and the page says how long it takes."""
    path = tmp_path / "p.html"
    asked = ["judge", "--collection", str(demo_folder), "build-103", "--page", str(path), "--pairs", "--count", "4"]
    assert main(asked) == 0
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1])
    assert len(data["cards"]) == 4
    assert all(len(card["nuggets"]) == 1 and card["seconds"] > 0 for card in data["cards"])
    assert all(len(answer["responses"]) == 1 for answer in data["answers"])
