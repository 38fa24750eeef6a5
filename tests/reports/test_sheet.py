"""The page for an assessor, in a browser: what they can do, what comes back, and that hostile texts do nothing."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.importing import import_verdicts
from nuggeteer.judging.filters import Filter
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.reports.html import sheet
from nuggeteer.scoring.known import YES
from nuggeteer.scoring.scorer import Scorer
from tests.conftest import write_lines
from tests.judging.conftest import begin, fermi
from tests.reports.browsing import Visit, browser, needs_chromium
from tests.reports.hostile import hostile

__all__ = ["begin", "browser", "fermi"]
pytestmark = needs_chromium


def made(root, run="tonight", count=50, only=None, **subject):
    state = JudgingState.read(JudgingSubject(root, run, **subject))
    return sheet.make_sheet(state, count, only or Filter())


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a sheet of a collection, by default in a browser of its own."""
    opened = []

    def start(root, context=None, name="sheet.html", **options):
        path = tmp_path / name
        sheet.write(path, made(root, **{k: options.pop(k) for k in ("run", "count", "against") if k in options}))
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
    """The nugget and the response in question, as the assessor reads them."""
    return seen.page.locator("#nugget").inner_text(), seen.page.locator("#asked-text").inner_text()


def count(seen):
    return seen.page.locator("#count").inner_text()


def test_the_questions_are_those_of_the_terminal_in_its_order(begin, fermi, open_page):
    seen, session = open_page(fermi.root), begin()
    seen.page.keyboard.press("n")
    session.judge(False)
    for _ in range(3):
        card = session.card()
        assert asked(seen) == (card.nugget.descriptions[0], card.response.text)
        seen.page.keyboard.press("s")
        session.skip()
    assert seen.complaints == []


def test_it_asks_for_nothing_over_the_network(fermi, open_page):
    seen = open_page(fermi.root)
    seen.page.keyboard.press("y")
    assert [url for url in seen.requests if url != seen.url and not url.startswith("data:")] == []
    assert seen.complaints == []


def test_nothing_on_it_says_what_the_tool_guesses(fermi):
    """Not even to somebody who reads its source."""
    found = made(fermi.root)
    assert {key for one in found.data["asked"] for key in one} == {"nugget", "answer", "response", "known", "recorded"}
    assert not re.search(r"\d\.\d{2}", json.dumps(found.data))


def test_what_comes_back_is_imported_as_that_assessor_s(fermi, open_page, tmp_path):
    """Keys and buttons, a reason, marked words, a whole answer, no to all, and a proposal."""
    seen = open_page(fermi.root)
    page = seen.page
    first = asked(seen)
    page.keyboard.press("r")
    page.keyboard.type("the date, y or n")
    page.locator("#why button[type=submit]").click()
    assert "the date, y or n" in page.locator("#reason-line").inner_text()
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    second = asked(seen)
    assert second != first
    page.locator("[data-act=no]").click()
    page.keyboard.press("p")
    page.locator("#proposal-text").fill("  Laura wrote  ")
    page.locator("#proposal input[value=okay]").check()
    page.locator("#proposal button[type=submit]").click()
    third = asked(seen)
    page.locator("[data-act=none]").click()
    fourth = asked(seen)
    page.locator("[data-act=whole]").click()
    assert page.locator("#done-head").is_visible() or count(seen) != "0"
    path = tmp_path / "back.jsonl"
    lines = handed_back(seen, path)
    assert len({line["page"] for line in lines}) == 1
    assert main(["judge", "--collection", str(fermi.root), "--import", str(path), "--assessor", "ann"]) == 0
    collection = read_collection(fermi.root)
    own = sorted((j for j in collection.judgements if j.assessor == "ann"), key=lambda j: j.at)
    yes, no, *rest = own
    assert (yes.verdict, yes.text, yes.reason) == (True, first[1], "the date, y or n")
    assert len(yes.text[slice(*yes.span)].split()) == 2
    assert (no.verdict, no.text, no.run) == (False, second[1], "tonight")
    assert [j.verdict for j in rest] == [False] * (len(rest) - 1) + [True]
    assert rest[0].text != rest[-1].text
    assert third[1] in [j.text for j in rest[:-1]]
    assert rest[-1].scope == "answer"
    assert fourth[1] in rest[-1].text
    assert all(j.at.endswith("Z") and j.extra["source"] == "page" for j in own)
    proposal = json.loads((fermi.root / "proposals.jsonl").read_text(encoding="utf-8"))
    assert (proposal["text"], proposal["importance"], proposal["assessor"]) == ("Laura wrote", "okay", "ann")
    # A score knows them now.
    matched = Scorer(collection).read("tonight")
    assert (matched.states == YES).sum() >= 1
    # Nothing twice.
    again = import_verdicts(collection, path, "ann")
    assert (len(again.written), again.proposed, again.withdrawn) == (0, 0, 0)
    assert again.already == len(own)


def test_a_response_that_says_the_opposite(fermi, open_page, tmp_path):
    """By its key, by its button, and taken back."""
    seen = open_page(fermi.root)
    first = asked(seen)
    seen.page.keyboard.press("c")
    assert "opposite" in seen.page.locator("#said").inner_text()
    second = asked(seen)
    assert second != first
    seen.page.keyboard.press("c")
    seen.page.keyboard.press("u")
    assert asked(seen) == second
    seen.page.locator("[data-act=no]").click()
    path = tmp_path / "back.jsonl"
    opposite, no = handed_back(seen, path)
    assert (opposite["verdict"], opposite["contradicts"], opposite["text"]) == (False, True, first[1])
    assert (no["verdict"], "contradicts" in no) == (False, False)
    assert main(["judge", "--collection", str(fermi.root), "--import", str(path), "--assessor", "ann"]) == 0
    own = [j for j in read_collection(fermi.root).judgements if j.assessor == "ann"]
    assert sorted(j.word for j in own) == ["contradicts", "no"]


def test_undo_takes_back_and_asks_again(fermi, open_page):
    seen = open_page(fermi.root)
    first = asked(seen)
    seen.page.keyboard.press("n")
    second = asked(seen)
    seen.page.keyboard.press("y")
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
    other = open_page(fermi.root, context, name="other.html", count=2)
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
    for broken in ("{", '{"steps": [{"asked": 999}]}', "null", '{"steps": 1}'):
        key = seen.page.evaluate("Object.keys(localStorage).find((key) => !key.endsWith('unreadable'))")
        seen.page.evaluate("([key, text]) => localStorage.setItem(key, text)", [key, broken])
        seen.page.reload()
        if broken != "null":
            assert "set aside" in seen.page.locator("#warning").inner_text()
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
    """Half-selected words are marked whole."""
    seen = open_page(fermi.root)
    text = asked(seen)[1]
    seen.page.evaluate("""() => {
        const node = document.getElementById('asked-text').firstChild, end = node.data.indexOf(' ', 4) + 3;
        document.getSelection().setBaseAndExtent(node, 1, node, end);
    }""")
    words = text.split()[:2] if len(text.split()[0]) > 3 else text.split()[:3]
    seen.page.wait_for_function("!document.getElementById('span').hidden")
    assert " ".join(words).rstrip(".,") in seen.page.locator("#span").inner_text()
    seen.page.locator("[data-act=yes]").click()
    (line,) = handed_back(seen, tmp_path / "x.jsonl")
    assert line["text"][slice(*line["span"])] == " ".join(words).rstrip(".,")


STRANGE = "😀😀 שלום עולם e\u0301 a\u202eb 漢字 reactor first nuclear \u200bend"


def test_spans_count_characters_and_what_nobody_sees_is_written_out(collect, open_page, tmp_path):
    root = collect([{"qid": "q1", "nugget": "1", "text": "first nuclear reactor"}], {"tonight": [("q1", STRANGE)]}).root
    seen = open_page(root)
    shown = seen.page.locator("#asked-text")
    assert "a\\u202eb" in shown.inner_text()
    assert "\u202e" not in shown.inner_text()
    assert shown.get_attribute("dir") == "auto"
    seen.page.evaluate("""() => {
        const node = [...document.getElementById('asked-text').childNodes].find((n) => n.data?.includes('reactor'));
        const at = node.data.indexOf('reactor');
        document.getSelection().setBaseAndExtent(node, at, node, at + 13);
    }""")
    seen.page.keyboard.press("y")
    (line,) = handed_back(seen, tmp_path / "x.jsonl")
    assert line["text"] == STRANGE
    assert STRANGE[slice(*line["span"])] == "reactor first"


def test_what_is_recorded_with_a_pair_comes_back_with_its_verdict(demo_page_of_an_audit, tmp_path):
    seen, root = demo_page_of_an_audit
    seen.page.keyboard.press("N")
    seen.page.keyboard.press("N")
    lines = handed_back(seen, tmp_path / "x.jsonl")
    assert lines
    assert all(line["audit"] for line in lines)
    import_verdicts(read_collection(root), tmp_path / "x.jsonl", "ann")
    assert main(["score", "--collection", str(root), "build-103", "--audited"]) == 0


def test_whatever_is_recorded_belongs_to_the_pair_that_was_drawn(fermi, browser, tmp_path):
    """A chance is carried through to the ledger, but not to a response that the assessor turned to."""
    found, path = made(fermi.root), tmp_path / "sheet.html"
    for one in found.data["asked"]:
        one["recorded"] = {"chance": 0.25, "draw": {"seed": 1}}
    sheet.write(path, found)
    context = browser.new_context(accept_downloads=True)
    seen = Visit(context, path)
    first = asked(seen)[1]
    seen.page.keyboard.press("ArrowRight")
    other = asked(seen)[1]
    seen.page.keyboard.press("n")
    while asked(seen)[1] != first:
        seen.page.keyboard.press("s")
    seen.page.keyboard.press("n")
    lines = handed_back(seen, tmp_path / "x.jsonl")
    assert {line["text"]: line.get("chance") for line in lines} == {other: None, first: 0.25}
    import_verdicts(read_collection(fermi.root), tmp_path / "x.jsonl", "ann")
    kept = {j.text: j.extra for j in read_collection(fermi.root).judgements if j.assessor == "ann"}
    assert kept[first]["draw"] == {"seed": 1}
    assert "draw" not in kept[other]
    context.close()


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
    for _ in range(30):
        if seen.page.locator("#done").is_visible():
            break
        seen.page.keyboard.press("n")
    lines = handed_back(seen, tmp_path / "x.jsonl")
    assert {line["run"] for line in lines} == {"tonight", "earlier"}
    assert len({(line["qid"], line["nugget"], line["text"]) for line in lines}) == len(lines)


def test_hostile_texts_do_nothing(tmp_path, open_page):
    root = hostile(tmp_path / "bad")
    run = next(name for name in read_collection(root).run_names if name.startswith("new"))
    seen = open_page(root, run=run)
    for _ in range(12):
        assert seen.page.locator("#responses :not(li, p, span, div, button)").count() == 0
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("n")
    lines = handed_back(seen, tmp_path / "x.jsonl")
    assert len(lines) == 12
    assert seen.owned() is None
    assert seen.complaints == []
    assert [url for url in seen.requests if url != seen.url and not url.startswith(("data:", "blob:"))] == []
    import_verdicts(read_collection(root), tmp_path / "x.jsonl", "ann")


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(browser, demo_folder, tmp_path, scheme, width):
    """At least 4.5 : 1 between every letter and what is behind it (WCAG 2, AA), by computation."""
    path = tmp_path / "x.html"
    sheet.write(path, made(demo_folder, "build-103", 5))
    seen = Visit(browser, path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    seen.page.keyboard.press("n")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    box = seen.page.locator("#asked-text").bounding_box()
    yes = seen.page.locator("[data-act=yes]").bounding_box()
    assert 0 <= box["y"] < 800
    assert yes["y"] + yes["height"] <= 800
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
        return [...document.querySelectorAll("body *")].filter((n) => !n.closest("script, .skip, dialog:not([open])")
            && [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) && n.offsetParent).map((n) => {
                const [a, b] = [light(getComputedStyle(n).color), light(behind(n))].sort((x, y) => y - x);
                return [(a + 0.05) / (b + 0.05), n.textContent.slice(0, 30)];
            }).filter(([ratio]) => ratio < 4.5);
    }""")
    assert low == []
    seen.page.close()


def test_it_says_the_same_to_those_who_listen(fermi, open_page):
    """Roles, names and where the focus goes: to the new question, which is read with the response in question."""
    seen = open_page(fermi.root)
    page = seen.page
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("progressbar", name=re.compile("0 of .* judged")).count() == 1
    assert page.get_by_role("button", name=re.compile("^Yes")).count() == 1
    assert page.get_by_role("group", name="Your verdict").count() == 1
    assert page.get_by_role("button", name=re.compile("Judge response . instead")).count() >= 1
    page.locator("[data-act=no]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "nugget"
    described = page.locator("#nugget").get_attribute("aria-describedby").split()
    assert all(page.locator(f"#{name}").inner_text() for name in described)
    assert page.locator("#said").get_attribute("aria-live") == "polite"
    assert "No" in page.locator("#said").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.locator("[data-act=yes]").focus()
    seen_style = page.locator("[data-act=yes]").evaluate("e => getComputedStyle(e).outlineStyle")
    assert seen_style in ("solid", "auto", "none")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.act") == "no"


def test_single_keys_can_be_turned_off(fermi, open_page):
    seen = open_page(fermi.root)
    seen.page.keyboard.press("?")
    seen.page.locator("#keys").uncheck()
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("y")
    assert count(seen).startswith("0 of")
    seen.page.locator("[data-act=yes]").click()
    assert not count(seen).startswith("0 of")


def test_a_long_answer_scrolls_to_the_response_in_question(collect, open_page):
    texts = [("q1", f"Sentence {i} says nothing of it. " * 8) for i in range(60)]
    texts[45] = ("q1", "The first nuclear reactor was built.")
    root = collect([{"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"}], {"tonight": texts}).root
    seen = open_page(root)
    assert asked(seen)[1] == texts[45][1]
    box = seen.page.locator("#asked-text").bounding_box()
    assert 0 <= box["y"] < 900
    assert seen.page.locator("[data-act=yes]").bounding_box()["y"] < 900


def test_no_to_texts_that_are_the_same_is_one_verdict(collect, open_page, tmp_path):
    twice = [("q1", "A reactor."), ("q1", "a  reactor"), ("q1", "Something else.")]
    root = collect([{"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"}], {"tonight": twice}).root
    seen = open_page(root)
    seen.page.keyboard.press("N")
    assert len(handed_back(seen, tmp_path / "x.jsonl")) == 2
    assert seen.page.locator("#done").is_visible()


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
