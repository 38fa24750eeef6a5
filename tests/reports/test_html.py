"""The page as a file: what it holds, and that nothing in it comes out of its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import shutil
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import quote

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import copy_sample
from nuggeteer.comparing.gate import Gate
from nuggeteer.history.briefing import brief
from nuggeteer.history.ruling import Ruling
from nuggeteer.history.store import History
from nuggeteer.languages import Language
from nuggeteer.matching.base import Explanation, SimilarText, WordEvidence
from nuggeteer.reports import html
from nuggeteer.reports.briefing import as_json
from nuggeteer.reports.html import evidence
from nuggeteer.reports.html.evidence import WHY
from nuggeteer.reports.html.sections import JudgeNext
from nuggeteer.reports.passages import in_words
from nuggeteer.scoring.scorer import score
from nuggeteer.text import escaped
from tests.reports.hostile import TRICKS, hostile

VOID = {"meta", "link", "br", "input", "img", "hr", "base", "path", "use", "rect"}


class Reader(HTMLParser):
    """Elements with their attributes and the text inside each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in ("td", "th", "dt", "dd", "p", "li"):
            self.words.append(" ")
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        tag = self._open[-1] if self._open else ""
        self.inside.setdefault(tag, []).append(data)
        if tag not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def classes(self) -> Counter[str]:
        return Counter(name for _, attrs in self.elements for name in (attrs.get("class") or "").split())


@pytest.fixture(scope="module")
def folder(_sample_folder, tmp_path_factory):
    """The sample with two builds recorded."""
    here = shutil.copytree(_sample_folder, tmp_path_factory.mktemp("page") / "demo")
    for name in ("build-101", "build-102"):
        History.of(here).record(score(read_collection(here), [name]), label=f"night of {name}")
    return here


@pytest.fixture(scope="module")
def found(folder):
    return brief(read_collection(folder))


@pytest.fixture(scope="module")
def page(found):
    return html.page(found)


def cells(reader):
    return [attrs for tag, attrs in reader.elements if tag == "button" and "data-n" in attrs]


def test_the_headline_is_the_score_with_both_parts_of_its_interval(page, folder):
    """Against `score` and `diff`, asked for themselves."""
    text = Reader(page).text
    interval = score(read_collection(folder), ["build-102"])["build-102"].measures["f3"]
    assert f"{interval.value:.3f} F(3), 95 % interval {interval.low:.3f}–{interval.high:.3f}" in text
    assert f"judging {interval.judging[0]:.3f}–{interval.judging[1]:.3f}" in text
    assert f"sampling {interval.sampling[0]:.3f}–{interval.sampling[1]:.3f}" in text


def test_every_section_has_its_heading_and_says_something(page, found):
    reader = Reader(page)
    text = reader.text
    headings = [tag for tag, _ in reader.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert all(int(b[1]) <= int(a[1]) + 1 for a, b in pairwise(headings))
    ids = {attrs["id"] for _, attrs in reader.elements if attrs.get("id")}
    for tag, attrs in reader.elements:
        if tag == "a":
            assert attrs["href"].removeprefix("#") in ids
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set((attrs.get(name) or "").split()) <= ids
    assert len([1 for _, a in reader.elements if a.get("id")]) == len(ids)
    for change in (*found.diff.lost, *found.diff.gained)[:5]:
        assert change.nugget.descriptions[0] in text
    for model in found.trust.thresholds.models:
        assert model.name in text
    assert found.scores.signature in text
    assert "night of build-101" in text


def test_every_table_says_what_it_is_and_what_its_heads_are_of(page):
    reader = Reader(page)
    tags = Counter(tag for tag, _ in reader.elements)
    assert tags["caption"] == tags["table"] > 5
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in reader.elements if tag == "th")
    for tag, attrs in reader.elements:
        if tag == "svg" and attrs.get("aria-hidden") != "true":
            assert attrs["role"] == "img"
            assert attrs["aria-label"]
        if (attrs.get("class") or "").split()[:1] == ["scroll"]:
            assert attrs["tabindex"] == "0"
            assert attrs["aria-label"]
    assert dict(reader.elements)["html"]["lang"] == "en"


def test_the_map_has_each_nugget_once_and_tells_known_from_guessed_without_colour(page, found):
    reader = Reader(page)
    marks = dict(zip((int(c["data-n"]) for c in cells(reader)), reader.inside["button"], strict=False))
    shown = sorted(int(cell["data-n"]) for cell in cells(reader))
    assert shown == list(range(len(found.key.nuggets)))
    outcome = found.diff.new
    for cell in cells(reader):
        place = int(cell["data-n"])
        look, said = cell["class"].split(), cell["aria-label"]
        assert ("known" in said) == bool(outcome.known[place])
        assert ("not found" not in said) == bool(outcome.found[place])
        assert bool({"yes", "no"} & set(look)) == bool(outcome.known[place])
        gained, lost = place in found.diff.gained_places, place in found.diff.lost_places
        assert (("gained" in look), ("lost" in look)) == (gained, lost)
        mark = marks[place].lstrip("+−")
        assert (mark in "✓×") if outcome.known[place] else (1 <= int(mark) <= 99)
        if not outcome.known[place]:
            assert abs(int(mark) - 100 * outcome.probability[place]) <= 1
    assert outcome.known.any()
    assert not outcome.known.all()


def units(text):
    """A text as browsers count it: a list of its UTF-16 code units."""
    return [text.encode("utf-16-le")[i : i + 2] for i in range(0, len(text.encode("utf-16-le")), 2)]


def between(text, start, end):
    return b"".join(units(text)[start:end]).decode("utf-16-le")


def visible(text):
    return "\n".join(map(escaped, text.replace("\r", "").replace("\t", " ").split("\n")))


def test_the_evidence_is_of_the_nugget_that_it_names_and_stands_in_the_whole_answer(page, found):
    data = island(page)
    assert len(data["nuggets"]) == len(found.key.nuggets)
    for row, nugget, sighting in zip(data["nuggets"], found.key.nuggets, found.sightings, strict=True):
        question, name, importance, description, _, side, _ = row
        now, place, score, threshold, why = told(data, side)
        qid, _, answer, _ = data["questions"][question]
        assert qid == nugget.qid
        assert (name, data["words"][importance]) == (nugget.nugget, nugget.importance)
        shown = sighting.passage and sighting.score is not None
        assert score == (float(f"{sighting.score:.2f}") if shown else None)
        assert threshold is None or not sighting.known
        assert description.rstrip("…") in escaped(nugget.descriptions[0])
        assert now.startswith("found" if sighting.found else "not found")
        assert ("known" in now) == sighting.known
        if sighting.known:
            assert why == [], "what is known needs no explanation"
        assert (place is None) == (sighting.passage is None)
        if sighting.passage:
            record, start, end, marks, rank = place
            assert between(answer[record][0], start, end) == visible(sighting.passage.text)
            marked = [between(answer[record][0], *marks[i : i + 2]) for i in range(0, len(marks), 2)]
            assert marked == [visible(sighting.passage.text[a:b]) for a, b in sighting.passage.marks]
            assert rank == sighting.passage.rank
            assert answer[record][1:] == ([escaped(sighting.passage.docid)] if sighting.passage.docid else [])
    assert any(told(data, row[5])[4] for row in data["nuggets"]), "similar judged texts explain guesses"


def test_why_a_nugget_was_guessed_is_what_its_whole_explanation_says(page, found):
    """Though the page asks only for the texts that it shows."""
    data, told_of = island(page), 0
    for row, sighting in zip(data["nuggets"], found.sightings, strict=True):
        whole = sighting.explanation
        lines = told(data, row[5])[4]
        assert lines == (in_words(whole, WHY) if whole and whole.beyond_marks else [])
        told_of += bool(lines)
    assert told_of > 10


def test_what_is_said_of_many_nuggets_stands_in_the_page_once(page, found):
    data = island(page)
    for words in (data["words"], data["lines"]):
        assert len(set(words)) == len(words)
    single = [line for row in data["nuggets"] for line in (row[5][4:] or [[]])[0] if isinstance(line, str)]
    assert len(single) == len(set(single))
    assert not set(single) & set(data["lines"])
    # What a nugget takes besides its description and the lines on why it was guessed.
    sizes = [
        len(json.dumps([*row[:3], *row[4:5], row[5][:4], row[6]], separators=(",", ":"))) for row in data["nuggets"]
    ]
    assert np.mean(sizes) < 80


@pytest.mark.slow
def test_a_page_that_is_made_again_finds_all_words_remembered(tmp_path, monkeypatch, few_pairs):
    """So that the table of all words need not be read: explanations look up words that no score needs any more."""
    copy_sample(root := tmp_path / "c")

    def page():
        html.write(path := tmp_path / "page.html", brief(read_collection(root), "build-103", "build-102"))
        return path.read_bytes()

    first = page()
    (root / ".nuggeteer" / "words").unlink()  # but match scores are remembered
    assert page() == first
    monkeypatch.setattr(Language, "frequencies", lambda language, stems: pytest.fail("read the table of words"))
    assert page() == first


def as_in(new, old):
    """The records of an old answer, each with its text."""
    return [new[one[0]] if isinstance(one, list) and isinstance(one[0], int) else one for one in old]


def told(data, side):
    """How a nugget stands in a run, with all in its place."""
    said, place, score, threshold, why = [*side, *[None] * (5 - len(side))]
    lines = [data["lines"][line] if isinstance(line, int) else line for line in why or []]
    return data["words"][said], place, score, threshold, lines


def test_both_answers_are_there_whole_and_once(page, found):
    shared = 0
    for q, (_, _, new, old) in enumerate(island(page)["questions"]):
        assert "\n".join(text for text, *_ in new) == visible(found.new.run.answer(q))
        if old == "same":
            assert found.diff.identical[q]
            continue
        shared += sum(isinstance(one[0], int) for one in old)
        assert not {tuple(one) for one in new} & {tuple(one) for one in old}
        assert "\n".join(text for text, *_ in as_in(new, old)) == visible(found.old.run.answer(q))
    assert shared, "the builds have some responses in common"


def test_a_nugget_of_either_run_has_its_old_passage(page, found):
    data = island(page)
    for change in (*found.diff.lost, *found.diff.kept):
        row = data["nuggets"][found.key.nugget_position[change.question.qid, change.nugget.nugget]]
        said, place, *_ = told(data, row[6])
        assert said.startswith("found")
        new, old = data["questions"][row[0]][2:]
        answer = new if old == "same" else as_in(new, old)
        assert between(answer[place[0]][0], *place[1:3]) == visible(change.old.passage.text)


def test_places_are_counted_as_browsers_count_them_whatever_stands_before_them(collect):
    strange = "a\tb 𝒳 \u202e \r\n x\x07 alpha 𝒳 beta. "
    collection = collect(
        [{"qid": "q", "nugget": "1", "text": "alpha beta gamma"}, {"qid": "r", "nugget": "1", "text": "delta"}],
        {"a": [("q", f"{strange}\n\nand gamma"), ("r", "delta")], "b": [("q", "x"), ("r", "delta")]},
        [{"qid": "q", "nugget": "1", "text": "other", "verdict": True}],
    )
    found = brief(collection, "a", "b")
    data = island(html.page(found))
    record, start, end, marks, _ = data["nuggets"][0][5][1]
    text = data["questions"][0][2][record][0]
    assert between(text, start, end) == visible(found.sightings[0].passage.text)
    said = [between(text, *marks[i : i + 2]) for i in range(0, len(marks), 2)]
    assert said == ["alpha", "beta", "gamma"]
    assert "\\u202e" in text
    assert "\n\nand" in text


@pytest.mark.slow
def test_what_spoke_for_a_guess_is_in_its_evidence_and_harmless(found):
    said = (WordEvidence("ran aground", 2.0, True), WordEvidence(TRICKS[0], -1.0, False))
    why = Explanation("log odds", said, (SimilarText(f"It ran aground. {TRICKS[5]}", True, 0.83),))
    place = next(i for i, one in enumerate(found.sightings) if one.passage and not one.known)
    sightings = [replace(sighting, why=None) for sighting in found.sightings]
    sightings[place] = replace(sightings[place], why=lambda least: why)
    page = html.page(replace(found, sightings=tuple(sightings)))
    data = island(page)
    lines = [told(data, row[5])[4] for row in data["nuggets"]]
    assert [i for i, own in enumerate(lines) if own] == [place]
    assert lines[place][0].startswith("words: ran aground; lacking: <script>")
    assert lines[place][1].startswith("like a judged yes (0.83): “It ran aground. </script>")
    assert Counter(tag for tag, _ in Reader(page).elements)["script"] == 2
    assert "owned" not in re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)


def island(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_of_answers_that_are_too_long_only_passages_are_there_and_this_is_said(found, monkeypatch):
    """The shortest answers stay whole."""
    runs = (found.new.run, found.diff.old_run)
    lengths = sorted(len(run.answer(q)) for run in runs for q in range(len(found.key.questions)))
    monkeypatch.setattr(evidence, "ANSWERS", sum(lengths) // 2)
    monkeypatch.setattr(evidence, "SIZE", 80)
    page = html.page(found)
    data = island(page)
    answers = [as_in(both[0], answer) for _, _, *both in data["questions"] for answer in both if answer != "same"]
    cut = [answer for answer in answers if answer and isinstance(answer[0], int)]
    whole = ["\n".join(text for text, *_ in answer) for answer in answers if answer not in cut]
    assert f"{len(cut)} long answers are left out" in Reader(page).text
    assert max(map(len, whole)) < min(answer[0] for answer in cut)
    assert sum(map(len, whole)) <= sum(lengths) // 2
    for row, sighting in zip(data["nuggets"], found.sightings, strict=True):
        answer = data["questions"][row[0]][2]
        if answer in cut and sighting.passage:
            record, start, end, marks, _ = row[5][1]
            text = answer[1 + record][0]
            assert (start, end) == (0, len(text))
            assert len(text) <= 82
            said = "".join(text[marks[i] : marks[i + 1]] for i in range(0, len(marks), 2))
            assert not sighting.passage.marks or said
            assert text.strip("…")[:20] in re.sub(r"\s+", " ", sighting.passage.text)


def test_the_answers_that_stay_whole_are_the_shortest_ones_that_fit():
    """Against trying every limit; answers of one length stay or go together."""
    lengths = np.array([3, 0, 5, 3, 1])
    for most in range(20):
        fitting = [limit for limit in [0, 1, 3, 5] if lengths[lengths <= limit].sum() <= most]
        assert evidence._longest_whole(lengths, most) == max(fitting, default=0), most


def test_the_policy_names_this_style_and_this_script_and_nothing_else(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    rules = dict(part.strip().split(" ", 1) for part in policy.replace("&#39;", "'").split(";"))
    assert rules["default-src"] == "'none'"
    for kind in ("style", "script"):
        (inside,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "unsafe" not in policy


def test_nothing_is_asked_of_the_network_and_no_style_or_handler_stands_in_an_element(page):
    reader = Reader(page)
    for tag, attrs in reader.elements:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], (tag, attrs)
        for name in ("src", "href", "xlink:href", "action", "formaction", "data"):
            value = attrs.get(name)
            assert value is None or value.startswith("#") or (tag, value) == ("link", "data:,")
    style = "".join(reader.inside["style"])
    assert "url(" not in style
    assert "@import" not in style
    script = page[page.rindex("<script>") :]
    for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "http"):
        assert risky not in script


@pytest.mark.slow
def test_hostile_texts_stand_in_the_page_as_text(tmp_path):
    """The elements and attributes are those of a page of harmless texts; the texts are all there to read."""
    found = brief(read_collection(hostile(tmp_path / "bad")))
    page = html.page(found)
    reader = Reader(page)
    names = {name for _, attrs in reader.elements for name in attrs}
    assert {tag for tag, _ in reader.elements} & {"img", "iframe", "base", "object", "embed", "form"} == {"form"}
    assert not [name for name in names if name.startswith("on")]
    assert "autofocus" not in names
    assert Counter(tag for tag, _ in reader.elements)["script"] == 2
    assert Counter(tag for tag, _ in reader.elements)["style"] == 1
    assert Counter(tag for tag, _ in reader.elements)["meta"] == 5
    shown = reader.text
    for i, trick in enumerate(TRICKS):
        assert escaped(f"q{i} {trick}").split()[0] in shown
        assert re.sub(r"\s+", " ", escaped(trick)) in shown
    for character in ("\u202e", "\x1b", "\x07", "\u2028", "\x00"):
        assert character not in page
    raw = page[page.index('id="data">') :].split("</script>")[0].removeprefix('id="data">')
    assert not set("<>&") & set(raw)
    assert len(json.loads(raw)["nuggets"]) == 3 * len(TRICKS)


def test_where_to_judge_next_names_a_command_that_asks_for_it_and_shows_no_guess(tmp_path):
    """Even with a hostile name: what a shell makes of the command is the name."""
    root = hostile(tmp_path / "bad")
    found = brief(read_collection(root))
    assert found.suggested
    assert shlex.split(JudgeNext(found).command) == ["nuggeteer", "judge", found.new.run.name]
    told = replace(found.suggested[0], suggestion=replace(found.suggested[0].suggestion, probability=0.4242))
    section = html.page(replace(found, suggested=(told,))).split('<section id="judge"')[1].split("</section>")[0]
    shown = Reader(section).text
    assert escaped(JudgeNext(found).command) in shown
    assert "of the variance" in shown
    assert "42" not in shown


def luminance(colour):
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    ]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_counted_as_wcag_counts_it():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", range(3), ids=["light", "dark", "print"])
def test_every_colour_of_text_can_be_read_on_its_ground(page, theme):
    themes = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    assert len(themes) == 3
    colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", themes[theme]))
    pairs = [
        (text, ground) for text in ("ink", "muted", "accent", "guess", "good", "bad") for ground in ("page", "raised")
    ]
    pairs += [("ink", ground) for ground in ("mark", "g0", "g1", "g2", "g3", "g4")] + [("on-yes", "yes")]
    poor = {pair: contrast(*(colour[name] for name in pair)) for pair in pairs}
    assert all(value >= 4.5 for value in poor.values()), poor
    # Lines and bars need less, but must be seen.
    assert contrast(colour["soft"], colour["page"]) > 1.5


@pytest.mark.slow
def test_without_a_history_the_trend_says_how_to_start_one(sample):
    found = brief(read_collection(sample.root))
    text = Reader(html.page(found)).text
    assert "nuggeteer nightly RUN" in text
    assert found.trend is None


def test_one_run_alone_has_no_changes_and_one_group_no_plot(collect):
    collection = collect(
        [{"qid": "q", "nugget": "1", "text": "alpha beta gamma"}, {"qid": "r", "nugget": "1", "text": "delta"}],
        {"a": [("q", "alpha beta"), ("r", "delta")]},
        [{"qid": "q", "nugget": "1", "text": "alpha beta", "verdict": True}],
        {"a": "every"},
    )
    text = Reader(html.page(brief(collection))).text
    assert "There is no earlier run to compare with" in text
    assert "at least two groups of systems" in text
    assert "Everything in this run is known" in text


def test_where_nobody_judged_anything_it_says_so(collect):
    nuggets = [{"qid": q, "nugget": "1", "text": f"alpha {q}"} for q in "qrs"]
    collection = collect(nuggets, {"a": [("q", "alpha q")], "b": [("q", "beta"), ("r", "alpha r")]})
    text = Reader(html.page(brief(collection))).text
    assert "Nobody has judged anything" in text


def test_a_fixed_threshold_has_guesses_without_probabilities(collect):
    nuggets = [{"qid": q, "nugget": "1", "text": f"alpha {q} beta"} for q in "qr"]
    runs = {"a": [("q", "alpha q beta"), ("r", "nothing")], "b": [("q", "nothing"), ("r", "nothing")]}
    collection = collect(nuggets, runs, toml='[threshold]\nmodel = "fixed"\nvalue = 0.3\n')
    reader = Reader(html.page(brief(collection, "a", "b")))
    assert sorted(mark for mark in reader.inside["button"] if "?" in mark) == ["+y?", "n?"]
    assert "no pair is more worth judging than another" in reader.text


def test_the_decision_comes_first_in_a_word_a_sign_and_its_reason(found):
    """The same as `nightly` takes, by the settings."""
    for decided, sign in (("PASS", "✓"), ("FAIL", "✗"), ("UNDECIDED", "?")):
        gate = Gate("F(3) kept", decided, "because")
        other = Gate("nuggets <b>kept</b>", "PASS", "none lost")
        page = html.page(replace(found, ruling=Ruling((gate, other), "read")))
        text = Reader(page).text
        assert page.index(f'class="decision {decided.lower()}"') < page.index('id="score"')
        assert f"{sign} {decided}" in text
        assert f"{sign} {decided} F(3) kept. because." in text
        assert "✓ PASS nuggets <b>kept</b>. none lost." in text
        assert f"<title>{decided}: build-102" in page
    assert "FAIL" not in Reader(html.page(found)).text
    assert found.ruling.reason in Reader(html.page(found)).text


def test_the_questions_that_lost_most_come_first_each_with_its_text(page, found):
    reader = Reader(page)
    rows = [attrs for tag, attrs in reader.elements if tag == "tr" and "data-q" in attrs]
    change = found.diff.headline.by_question
    order = [int(row["data-q"]) for row in rows]
    assert sorted(order) == list(range(len(found.key.questions)))
    said = [np.inf if np.isnan(change[q]) else round(float(change[q]), 3) for q in order]
    assert said == sorted(said)
    for row, q in zip(rows, order, strict=True):
        question = found.key.questions[q]
        assert row["id"] == f"question/{quote(question.qid, safe='')}"
        assert html.sections.beginning(question.text) in reader.text
    figures = [attrs for tag, attrs in reader.elements if tag == "td" and attrs.get("data-name") == "F(3)"]
    by_question = found.score.by_question["f3"]
    for figure, q in zip(figures, order, strict=True):
        assert float(figure.get("data-v", "nan")) == pytest.approx(by_question[q], nan_ok=True)


@pytest.mark.slow
def test_equal_runs_have_nothing_to_tell(folder):
    found = brief(read_collection(folder), "build-101", str(folder / "runs" / "build-101.jsonl"))
    reader = Reader(html.page(found))
    assert "No difference from build-101." in reader.text
    assert not [cell for cell in cells(reader) if {"gained", "lost"} & set(cell["class"].split())]


# The command


@pytest.mark.slow
def test_the_command_writes_the_page_and_says_where_and_of_what(folder, page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--collection", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "build-102 (night of build-102) against build-101 (night of build-101)" in out
    assert "report.html" in out
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_json_has_what_the_page_has(folder, found, tmp_path, capsys):
    where = ["--collection", str(folder), "--output", str(tmp_path / "r.html")]
    assert main(["report", *where, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(json.dumps(as_json(found)))
    assert data["new"] == {"run": "build-102", "build": 2, "label": "night of build-102", "time": data["new"]["time"]}
    assert data["scores"]["runs"][0]["f3"]["value"] == found.score.measures["f3"].value
    assert len(data["evidence"]) == len(found.key.nuggets)
    assert [one["share"] for one in data["judge_next"]] == [one.suggestion.share for one in found.suggested]
    assert data["changes"]["old"] == "build-101"
    assert len(data["history"]["trends"][0]["builds"]) == 2
    assert sum(one["pairs"] for one in data["reliability"]["bins"]) == data["thresholds"]["pairs"]
    assert (tmp_path / "r.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["nobody"], ["--against", "nobody"], ["--output", "."], ["--output", "x/../runs.jsonl/y.html"]]
)
def test_what_cannot_be_done_is_said_with_code_2_and_leaves_nothing_behind(folder, arguments, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = {path for path in folder.rglob("*") if ".nuggeteer" not in path.parts}
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.err
    left = {path for path in folder.rglob("*") if ".nuggeteer" not in path.parts} - before
    assert not {path.name for path in left} - {"history.sqlite3-wal", "history.sqlite3-shm"}
