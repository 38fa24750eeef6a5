"""A diff drawn: on a terminal, as Markdown, as JUnit XML, as JSON."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from itertools import groupby
from xml.etree import ElementTree as xml

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import rule
from nuggeteer.comparing.sightings import Passage, Sighting
from nuggeteer.reports import changes as report
from nuggeteer.reports import junit, markdown
from nuggeteer.reports.change_words import absence, difference, in_lines, in_words
from nuggeteer.reports.passages import GAP, beginning, excerpt, pieces, surroundings
from nuggeteer.text import escaped
from tests.conftest import write_lines

# What a terminal, Markdown, GitHub, HTML, XML or a table could take for something else than words.
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x9b5m\u202eevil\u202c\u200b\u2028\x00\ufffe\r\n\r\n# fake | heading\n\n"
    "[bold]B[/] :smile: <script>alert(1)</script><img src=x onerror=alert(1)> </code></td></table></details> "
    "<!-- --> ]]> &lt;b&gt; &#64; **x** `y` ``` ~~~ [l](javascript:alert(1)) ![i](http://example.org/i.png) "
    "@someone someone/else#12 #12 http://example.org www.example.org a@example.org | a | b | \\| $x$ $$y$$ 4f2c1ab"
)


@pytest.fixture(scope="module")
def sample(copy_of_sample, tmp_path_factory):
    return read_collection(copy_of_sample(tmp_path_factory.mktemp("changes") / "sample"))


@pytest.fixture(scope="module")
def builds(sample):
    return diff(sample, "build-102", "build-103")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Two runs, of hostile names, with a hostile text wherever a file has a place for one."""
    root = tmp_path_factory.mktemp("hostile") / "collection"
    qid = HOSTILE.replace("\x00", "")[60:]
    qids = [" ".join(f"{qid}{i}".split()) for i in range(2)]
    ids = ["".join(c for c in q if c.isprintable()) for q in qids]
    write_lines(
        root / "nuggets.jsonl",
        (
            {"qid": q, "nugget": ids[n], "text": f"{HOSTILE} {fact}", "importance": importance}
            for q in ids
            for n, (fact, importance) in enumerate([("nuclear reactor", "vital"), ("Rome", "okay")])
        ),
    )
    name = HOSTILE.replace("\x00", "").replace("/", "∕")[:90]
    for run, fact in ((f"old {name}", "nuclear reactor"), (f"new {name}", "Rome")):
        responses = ({"qid": q, "text": f"{HOSTILE} {fact} {HOSTILE}", "docid": HOSTILE} for q in ids)
        write_lines(root / "runs" / f"{run}.jsonl", responses)
    collection = read_collection(root)
    new, old = sorted(collection.run_names)
    (root / "judgements").mkdir()
    write_lines(
        root / "judgements" / "j.jsonl",
        (
            {"qid": q, "nugget": ids[n], "text": f"{HOSTILE} {fact} {HOSTILE}", "verdict": n == said}
            for q in ids
            for said, fact in enumerate(["nuclear reactor", "Rome"])
            for n in range(2)
        ),
    )
    return diff(read_collection(root), old, new)


def drawn(result, width=80, ruling=None, everything=False, **console):
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False, **console)
    report.draw(out, result, ruling, everything)
    return out.file.getvalue()


# On a terminal.


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("everything", [False, True])
def test_it_fits(builds, width, everything):
    lines = drawn(builds, width, everything=everything).splitlines()
    assert all(len(line) <= width for line in lines if not line.startswith("nuggeteer:"))


def test_without_colours_marked_words_are_between_quotes_and_with_them_underlined(builds):
    bare = drawn(builds)
    assert re.search(r"«\w", bare)
    assert "\x1b" not in bare
    coloured = drawn(builds, force_terminal=True, color_system="standard")
    assert "\x1b[1;4m" in coloured
    assert "«" not in coloured
    words = re.sub(r"\x1b\[[0-9;]*m|[«»]|\s+", "", bare)
    assert re.sub(r"\x1b\[[0-9;]*m|\s+", "", coloured)[:300] == words[:300]


def test_the_numbers_are_those_of_the_json(builds):
    data = report.as_json(builds)
    rows = {line[:13].strip(): line[13:].split() for line in drawn(builds).splitlines()}
    for name, title in (("f3", "F(3)"), ("recall", "recall"), ("precision", "precision")):
        delta = data["delta"][name]
        old, new, change, low, _, high = rows[title][:6]
        assert [old, new] == [f"{delta['old']:.3f}", f"{delta['new']:.3f}"]
        assert float(change.replace("−", "-")) == pytest.approx(delta["value"], abs=0.0006)
        for shown, end in ((low, "low"), (high, "high")):
            assert float(shown.replace("−", "-")) == pytest.approx(delta[end], abs=0.0006)


@pytest.mark.parametrize(
    ("old", "new", "value", "shown"),
    [
        (0.4006, 0.4124, 0.0118, "+0.012"),
        (0.41251, 0.41249, -0.00002, "<0.0005"),
        (0.4121, 0.4122, 0.0001, "<0.0005"),
        (0.4122, 0.4121, -0.0006, "−0.001"),
        (0.4, 0.4, 0.0, "0"),
        (None, None, None, "–"),
    ],
)
def test_the_change_is_that_of_the_gates_and_never_a_signed_zero(builds, old, new, value, shown):
    from dataclasses import replace

    delta = replace(builds.headline, old=old, new=new, interval=replace(builds.headline.interval, value=value))
    assert difference(delta) == shown


def test_an_interval_that_promises_too_much_is_said_to_where_something_is_guessed(sample, builds):
    said = "The interval of precision is not calibrated"
    assert said in " ".join(drawn(builds).split())
    assert said not in " ".join(drawn(diff(sample, "build-101", "build-103", ["f3", "recall"])).split())
    assert said not in " ".join(drawn(diff(sample, "aurora", "cobalt")).split())  # all is known


@pytest.mark.slow
def test_thousands_of_changes_do_not_flood_the_screen(tmp_path):
    simulate(tmp_path / "made", Shape(questions=100, nuggets=10, systems=2, judged=2, responses=3), seed=1)
    result = diff(read_collection(tmp_path / "made"), "s1", "s2")
    assert len(result.gained) + len(result.lost) > 200
    shown = drawn(result)
    assert len(shown.splitlines()) < 120
    assert re.search(r"\.\.\. and \d+ more.*; --all shows them", shown)
    every = drawn(result, everything=True)
    assert all(f"{c.question.qid}/{c.nugget.nugget} " in every for c in (*result.gained, *result.lost))
    assert "--all" not in every


def test_a_change_that_is_less_probable_than_not_is_only_counted(builds):
    doubtful = [f"{change.question.qid}/{change.nugget.nugget} " for change in builds.doubtful]
    assert doubtful
    shown, every = drawn(builds), drawn(builds, everything=True)
    assert not any(name in shown for name in doubtful)
    assert f"{len(doubtful)} perhaps changed" in shown
    assert all(name in every.split("Less probable than not")[1] for name in doubtful)
    expected = builds.expected_gained, builds.expected_lost
    counted = "Counting every guess by its chance: about {:.0f} gained, {:.0f} lost".format(*expected)
    assert counted in " ".join(shown.split())
    listed = [*builds.gained, *builds.lost]
    assert all(f"{change.question.qid}/{change.nugget.nugget} " in every for change in listed)


def test_the_ruling_comes_last(builds):
    for ruling, said in ((rule(builds, 0.9), "PASS: F(3) "), (rule(builds, 0.9, 0, 0.5), "FAIL: ")):
        shown = drawn(builds, ruling=ruling)
        assert shown.splitlines()[-len(in_lines(ruling)) :] == in_lines(ruling)
        assert f"\n{said}" in shown


def harmless(text):
    bad = {
        char
        for char in text
        if char != "\n" and (unicodedata.category(char)[0] == "C" or unicodedata.category(char) in ("Zl", "Zp"))
    }
    assert not bad, bad
    assert not re.search("^# fake", text, re.MULTILINE)
    return text


@pytest.mark.parametrize("everything", [False, True])
def test_hostile_texts_are_shown_as_they_are(hostile, everything):
    ruling = rule(hostile, most=0)
    shown = harmless(drawn(hostile, 200, ruling, everything))
    assert "[bold]B[/] :smile:" in shown
    assert "\\u202e" in shown
    coloured = drawn(hostile, 200, ruling, everything, force_terminal=True, color_system="standard")
    harmless(re.sub(r"\x1b\[[0-9;]*m", "", coloured))
    assert set(re.findall(r"\x1b\[([0-9;]*)m", coloured)) <= {"0", "1", "2", "1;31", "1;32", "1;4", "3;33"}


# An answer's words.


@given(st.text(st.sampled_from("ab \n\t\r\u00a0\u2028\u202e\u3000\x1fé"), max_size=8), st.integers(4, 8))
def test_a_text_that_needs_no_change_is_shown_as_it_is(text, size):
    """The short way to see that a text is one harmless line agrees with making one of it."""
    line = escaped(re.sub(r"\s+", " ", text))
    shown = beginning(text, size)
    assert shown == line if len(line) <= size else shown.endswith(GAP)
    assert "".join(piece for piece, _ in pieces(Passage(text, (), None, 1))) == line


@given(
    st.lists(st.sampled_from(["word", "a", "<b>", "\u202e", "\n", "x" * 30, "é", "  "]), max_size=60),
    st.lists(st.integers(0, 300), max_size=8),
    st.integers(10, 120),
)
def test_an_excerpt_is_a_stretch_of_the_text_with_what_is_marked(parts, cuts, size):
    text = " ".join(parts)
    ends = sorted({min(cut, len(text)) for cut in cuts})
    marks = tuple(zip(ends[::2], ends[1::2], strict=False))
    passage = Passage(text, marks, None, 1)
    whole = "".join(piece for piece, _ in pieces(passage))
    shown = excerpt(passage, size)
    inner = [piece for piece in shown if piece != (GAP, False)]
    joined = "".join(piece for piece, _ in inner)
    assert joined in whole
    assert len(joined) <= max(size, 0) or joined == whole
    assert joined.isprintable()
    if any(text[a:b].strip() for a, b in marks):
        assert any(marked for _, marked in inner)
    # Pieces of one kind are not next to each other twice, but where two marks touch.
    assert all(len(list(same)) <= len(marks) + 1 for _, same in groupby(marked for _, marked in inner))


def test_a_long_answer_is_cut_around_the_marked_words():
    text = "many words " * 50 + "the nuclear reactor was built " + "more words " * 50
    start = text.index("nuclear reactor")
    shown = excerpt(Passage(text, ((start, start + 15),), None, 1), 80)
    assert ("nuclear reactor", True) in shown
    assert shown[0] == shown[-1] == (GAP, False)
    inner = "".join(piece for piece, _ in shown[1:-1])
    assert len(inner) <= 80
    assert f" {inner} ".startswith(" words ") or f" {inner} ".startswith(" many ")


def test_of_a_long_description_the_beginning_is_shown(builds):
    from dataclasses import replace

    from msgspec import structs

    change = builds.lost[0]
    long = replace(change, nugget=structs.replace(change.nugget, descriptions=("a most lengthy description " * 100,)))
    shown = drawn(replace(builds, lost=(long,)))
    assert shown.count("lengthy") in range(3, 8)
    assert GAP in shown
    assert len(in_words(long)[0]) < 250


# Markdown.

ALLOWED = {"h3", "h4", "p", "code", "b", "br", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}


class Page(HTMLParser):
    """Tags, attributes, and the text within and outside of <code>."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.coded, self.bare = set(), set(), [], "", ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" in self.open:
            self.coded += data
        else:
            self.bare += data

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def rendered(result, ruling=None):
    text = markdown.changes(result, ruling)
    return Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def test_markdown_says_what_the_terminal_says(builds):
    ruling = rule(builds, 0.01, 0)
    page = rendered(builds, ruling)
    assert page.tags <= ALLOWED
    assert page.open == []
    for line in in_lines(ruling):
        assert line in page.coded
    for change in builds.vital_lost:
        assert f"{change.question.qid}/{change.nugget.nugget}" in page.coded
    assert f"{builds.headline.new:.3f}" in page.bare
    assert f"{len(builds.vital_lost)} vital nuggets lost" in page.bare


def test_nothing_hostile_is_read_as_markdown_or_html(hostile):
    ruling = rule(hostile, most=0)
    text = markdown.changes(hostile, ruling)
    harmless(text)
    page = rendered(hostile, ruling)
    assert page.open == []
    assert page.tags <= ALLOWED
    assert page.attributes <= {"style", "colspan"}  # the alignment of numbers
    for part in ("<script>alert(1)</script>", "<img src=x onerror", "@someone", "http://example.org", "**x**", "`y`"):
        assert part in page.coded
        assert part not in page.bare
    for sign in ("@", "#", "http", "www", "\\", "smile", "$", "4f2c1ab"):
        assert sign not in page.bare
    # A block of HTML ends at a blank line: there is none inside.
    for block in text.split("\n\n"):
        assert block.startswith(("<h", "<p>", "<table>", "<details>", "| ", "Nuggets: "))
        assert block.count("<code>") == block.count("</code>")


@pytest.mark.slow
def test_markdown_stays_within_what_a_summary_may_be(tmp_path):
    simulate(tmp_path / "made", Shape(questions=100, nuggets=10, systems=2, judged=2, responses=3), seed=1)
    result = diff(read_collection(tmp_path / "made"), "s1", "s2")
    text = markdown.changes(result)
    assert len(text.encode()) < 200_000  # GitHub's limit is a megabyte
    assert f"and {len(result.vital_lost) - markdown.VITAL} more" in text


# JUnit XML.


def cases(document):
    root = xml.fromstring(document)
    assert root.tag == "testsuites"
    (suite,) = root
    found = suite.findall("testcase")
    for counts in (root, suite):
        assert counts.get("tests") == str(len(found))
        assert counts.get("failures") == str(len(suite.findall("testcase/failure")))
        assert counts.get("skipped") == str(len(suite.findall("testcase/skipped")))
        assert counts.get("errors") == "0"
    names = [(case.get("classname"), case.get("name")) for case in found]
    assert len(set(names)) == len(names)
    assert [child.tag for child in suite] == ["testcase"] * len(found) + ["system-out"]
    return {name: case for (_, name), case in zip(names, found, strict=True)}


def test_junit_fails_what_the_gate_counts_and_skips_the_rest(builds):
    lost = {f"{c.question.qid}/{c.nugget.nugget}": c for c in builds.vital_lost}
    sure = sorted(change.probability for change in lost.values())[-1]  # so that some are and some are not
    ruling = rule(builds, 0.9, 0, sure)
    found = cases(junit.changes(builds, ruling))
    assert set(found) == {*lost, *(gate.rule for gate in ruling.gates)}
    assert [gate.decision for gate in ruling.gates] == ["PASS", "FAIL"]
    assert list(found[ruling.gates[0].rule]) == []
    assert found[ruling.gates[1].rule].find("failure").get("message") == ruling.gates[1].why
    assert 0 < sum(change.probability >= sure for change in lost.values()) < len(lost)
    for name, change in lost.items():
        assert (found[name].find("failure") is not None) == (change.probability >= sure)
        assert (found[name].find("skipped") is not None) == (change.probability < sure)
    # A gate that passes blames nothing.
    found = cases(junit.changes(builds, rule(builds, most=99)))
    assert all(found[name].find("failure") is None for name in lost)


def test_junit_without_gates_has_a_case_that_passes(sample):
    found = cases(junit.changes(diff(sample, "build-101", "build-101"), None))
    assert [list(case) for case in found.values()] == [[]]


def test_junit_is_valid_whatever_the_texts_hold(hostile):
    document = junit.changes(hostile, rule(hostile, most=0))
    harmless(document.decode())
    failures = [case.find("failure") for case in cases(document).values()]
    assert len(failures) == 3
    assert "<script>alert(1)</script>" in failures[-1].get("message")
    assert "\\x00" in failures[-1].text


def test_a_change_in_words_is_lines_of_harmless_text(hostile):
    for change in (*hostile.lost, *hostile.gained):
        assert len(in_words(change)) == 3
        assert all(line.isprintable() for line in in_words(change))


# JSON.


def test_the_json_has_the_keys_that_scripts_read(builds):
    """The contract, written down here again."""
    data = json.loads(json.dumps(report.as_json(builds, rule(builds, most=0, sure=0.5)), allow_nan=False))
    assert set(data) >= {"old", "new", "delta", "gained", "lost"}
    assert (data["old"], data["new"]) == ("build-102", "build-103")
    assert set(data["delta"]) == {"f3", "recall", "precision", "pyramid_f3", "macro_f3"}
    assert all(set(delta) >= {"value", "low", "high", "p"} for delta in data["delta"].values())
    keys = {"qid", "nugget", "importance", "probability", "source", "text"}
    for kind in ("gained", "lost"):
        assert data[kind]
        for change in data[kind]:
            assert set(change) >= keys
            has, other = ("new", "old") if kind == "gained" else ("old", "new")
            assert change[has]["found"] > change[other]["found"]
            known = change["old"]["source"] == change["new"]["source"] == "known"
            assert change["source"] == ("known" if known else "guessed")
            assert change["text"] == change[has]["text"]
            for side in ("old", "new"):
                for start, end in change[side]["marks"] or []:
                    assert 0 <= start < end <= len(change[side]["text"])
    assert (data["decision"], data["passed"]) == ("FAIL", False)
    assert [row["qid"] for row in data["per_question"]] == [q.qid for q in builds.key.questions]


def test_what_is_known_on_both_sides_is_known_and_certain(hostile):
    data = report.as_json(hostile)
    assert {(c["source"], c["probability"]) for c in data["gained"] + data["lost"]} == {("known", 1.0)}


@pytest.mark.parametrize("size", [20, 60, 90, 200])
def test_a_sentence_is_shown_in_its_answer_as_far_as_there_is_room(size):
    before, text, after = "It is old. " * 9, "Paris is the capital.", "\n\n- It has \x1b[31m parks.\n" * 9
    left, right = surroundings(Passage(text, (), None, 1, before + text + after, len(before)), size)
    assert len(left) + len(text) + len(right) <= size + 4 or (left, right) == ("", "")
    assert (left + text + right).isprintable()
    if size == 200:
        assert left.startswith("…")
        assert left.endswith("It is old. ")
        assert right.startswith(" - It has")
        assert right.endswith("…")
    if size == 20:
        assert (left, right) == ("", "")


def test_a_response_that_is_a_whole_record_has_no_surroundings():
    assert surroundings(Passage("Paris is the capital.", (), None, 1), 200) == ("", "")


@pytest.mark.parametrize(
    ("known", "probability", "words"),
    [(True, 0.0, "nothing like it"), (False, 0.02, "nothing like it"), (False, 0.29, "none of its words, but perhaps")],
)
def test_an_answer_is_not_said_to_have_nothing_like_it_beside_a_probability(known, probability, words):
    sighting = Sighting(found=False, known=known, probability=probability, score=0.0, look=lambda: None)
    assert absence(sighting).startswith(words)
    assert absence(sighting, answered=False) == "no answer"
