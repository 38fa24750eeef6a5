"""The terminal application, driven by keys: what is on the screen, and what is in the ledger after each."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from math import ceil

import pytest
from textual.widgets import Input

from nuggeteer.cli.main import main
from nuggeteer.collection.ledger import Ledger
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.cards import Filter
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import AnswerCard, JudgingState, JudgingSubject
from nuggeteer.records import Judgement
from nuggeteer.screens.app import JudgeApp
from nuggeteer.screens.widgets import TextPane
from tests import excerpts
from tests.conftest import ROOT
from tests.judging.test_session import in_view, own, texts, written
from tests.screens import hostile

pytestmark = pytest.mark.slow


def drive(session, *keys, size=(80, 24), width=None, settle=True):
    """Press keys one after the other; the lines on the screen after each, those at first before them."""
    screens = []

    async def press():
        app = JudgeApp(session, width)
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            screens.append(lines(app))
            for key in keys:
                if isinstance(key, tuple):
                    await pilot.resize_terminal(*key)
                else:
                    await pilot.press(key)
                await drawn(app, pilot)
                screens.append(lines(app))
            if settle:
                await settled(app, pilot)
            screens.append(lines(app))

    asyncio.run(press())
    return screens


async def settled(app, pilot):
    """Until the score is there."""
    await drawn(app, pilot)
    while app.is_working:
        await asyncio.sleep(0.01)
    await drawn(app, pilot)


async def drawn(app, pilot):
    """Until the screen shows what it has been told, and what follows from that. The pilot itself only pauses until the
    process is idle, and on a busy machine every process looks idle."""
    for _ in range(3):
        done = asyncio.Event()
        if app.is_running and app.call_after_refresh(done.set):
            while app.is_running and not done.is_set() and app._exception is None:
                await asyncio.sleep(0.01)


def lines(app):
    """What is on the screen, as text; a line a row."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def typed(text):
    return ["space" if char == " " else char for char in text]


@pytest.fixture
def recompute():
    """For tests in which scores are worked out after each verdict, as they are for a user. It is what takes time, and
    the others are about other things."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch, request):
    if "recompute" not in request.fixturenames:
        monkeypatch.setattr(JudgeApp, "_refresh_state", lambda self: None)


@pytest.fixture
def drawn_audit():
    """Two units: an answer with both nuggets, and one with one."""
    return [
        AnswerCard(0, question, nuggets, audit={"id": "a1", "place": place})
        for place, (question, nuggets) in enumerate([(1, (2, 3)), (0, (0,))], 1)
    ]


def test_the_screen_shows_the_question_the_answer_its_nuggets_and_how_things_stand(begin):
    session = begin(filter=Filter("q1"))
    screen = drive(session)[0]
    shown = "\n".join(screen)
    assert "tonight  F(3) 0." in shown
    assert re.search(r"guesses 0\.\d{3}–\d\.\d{3}", shown)
    assert "nugget 1: vital" in shown
    assert "> [ ] vital  built the first nuclear reactor" in screen
    assert "  [ ] okay   born in Rome" in screen
    assert "1 text judged yes: He built the first reactor ever." in shown
    assert "The answer of tonight, 3 responses" in screen
    assert "  1 In 1942 his team started the first nuclear reactor." in screen
    assert "  2 Fermi was born in Rome in 1901." in screen
    assert "Which of these 2 nuggets does it have?  2 open" in screen
    assert "y yes  n no" in shown
    assert "guess:" not in shown


@pytest.mark.parametrize(("key", "verdict"), [("y", True), ("n", False)])
def test_one_key_is_a_verdict(begin, key, verdict):
    session = begin()
    asked = in_view(session)
    screens = drive(session, key)
    assert written(session) == [(*asked, verdict)]
    assert any("written" in line for line in screens[1])
    assert in_view(session)[1] != asked[1]
    assert any(line.startswith(f"  [{key}] ") for line in screens[1]), "what was said is on the card"


def test_a_card_is_played_with_keys_alone(begin):
    """Up and down move, `a` says no to the others, Enter brings the next answer, and its screen begins at its top."""
    session = begin()
    first = session.asked
    screens = drive(session, "down", "y", "enter", "a", "enter")
    assert [(j.nugget, j.verdict) for j in own(session)] == [("2", True), ("1", False)]
    assert any("NOT DONE: 1 nugget is open" in line for line in screens[3])
    assert any("no to 1 nugget, written" in line and "Enter for the next answer" in line for line in screens[4])
    assert session.asked.question != first.question
    assert any("2 open" in line for line in screens[5])


def test_what_is_known_is_shown_as_known(begin, fermi):
    Ledger(fermi.root, "bob").append(Judgement("q1", "2", texts(begin(), "q1")[1], True))
    screen = drive(begin(filter=Filter("q1")))[0]
    assert any("[y] okay   born in Rome · known before" in line for line in screen)
    assert any("Fermi was born in Rome in 1901." in line for line in screen)


def test_a_sitting_ends_with_the_card_in_view(begin):
    clock = [0.0]
    session = begin(minutes=5, clock=lambda: clock[0])
    screens = drive(session, "y")
    assert screens[0][1].startswith("5 minutes left. Guesses alone leave ")
    assert "probably" in screens[0][1]
    clock[0] = 301
    session = begin(minutes=5, clock=lambda: clock[0])
    clock[0] = 700
    screens = drive(session, "a", "enter", settle=False)
    assert screens[0][1].startswith("the time is over, this answer is the last. Guesses ")
    assert session.is_over


def test_a_contradiction_is_a_no_with_a_mark(begin):
    session = begin()
    seen = drive(session, "c")
    (judgement,) = own(session)
    assert (judgement.verdict, judgement.contradicts, judgement.scope) == (False, True, "answer")
    assert any("contradicts: " in line for line in seen[-1])
    assert any(line.startswith("  [c] ") for line in seen[-1])


def test_in_an_audit_nothing_is_underlined_and_the_score_is_hidden(begin, recompute, drawn_audit):
    """Neither words nor a score that moves with a verdict tell what is guessed."""
    underlined = []

    async def look(session):
        app = JudgeApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            styles = [
                segment.style
                for pane in app.query(TextPane)
                for y in range(pane.size.height)
                for segment in pane.render_line(y)
            ]
            underlined.append(any(style and style.underline for style in styles))

    asyncio.run(look(begin(filter=Filter("q1", "1"))))
    asyncio.run(look(begin(audit=drawn_audit)))
    assert underlined == [True, False]
    for screen in drive(begin(audit=drawn_audit), "g", "n", "y", "enter", settle=False):
        assert screen[0].startswith("tonight  F(3) stays hidden in an audit")
        assert screen[1].startswith("audit: ")
        assert not re.search(r"\d\.\d{3}|judging|guess:", "\n".join(screen))


@pytest.mark.parametrize("key", ["u", "b"])
def test_undo_is_a_retraction_in_the_file(begin, key):
    session = begin()
    asked = in_view(session)
    drive(session, "y", key)
    assert written(session) == []
    assert in_view(session) == asked
    lines = (session.state.collection.root / "judgements" / "ann.jsonl").read_text().splitlines()
    assert ["retracted" in json.loads(line) for line in lines] == [False, True]


def test_a_reason(begin):
    session = begin()
    screens = drive(session, "r", *typed("for n and y [b]"), "enter", "y")
    assert [(j.verdict, j.reason) for j in own(session)] == [(True, "for n and y [b]")]
    assert any("reason: for n and y [b]" in line for line in screens[-3])


def test_escape_leaves_a_prompt_and_the_keys_are_verdicts_again(begin):
    session = begin()
    drive(session, "r", *typed("yn"), "escape", "y")
    assert [(j.verdict, j.reason) for j in own(session)] == [(True, None)]


def test_the_guide_shows_the_card_that_comes_after_the_demo(tmp_path, monkeypatch, capsys, few_pairs):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    capsys.readouterr()
    page = ROOT / "docs" / "guides" / "judging.md"
    text = page.read_text(encoding="utf-8")
    block = next(block for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) if "10 minutes left" in block)
    state = JudgingState.read(JudgingSubject(tmp_path / "nuggeteer-demo", "build-101"))
    session = Session(state, Ledger(tmp_path / "nuggeteer-demo", "ann"), minutes=10, clock=lambda: 0.0)
    excerpts.check(page, block, drive(session, size=(80, 40))[-1], from_start=True)


def test_escape_from_marking_leaves_no_sentence_marked(begin):
    """The next verdict is then about the answer, as the one before it would have been."""
    session, plain = begin(), begin()
    drive(session, "m", "right", "escape", "y")
    drive(plain, "y")
    said = [(j.text, j.scope, j.span, j.verdict) for j in own(session)]
    assert said == [(j.text, j.scope, j.span, j.verdict) for j in own(plain)]


def test_keys_typed_faster_than_the_screen_follows_are_not_lost(begin):
    """A prompt takes what is typed right behind the key that opens it."""
    session = begin()

    async def press():
        async with JudgeApp(session).run_test(size=(80, 24)) as pilot:
            await pilot.press("f", *typed("q2"), "enter", "y")

    asyncio.run(press())
    assert written(session)[0][0] == "q2"


def test_the_space_bar_marks_the_sentence_that_has_it(begin):
    session = begin(filter=Filter("q1", "1"))
    screens = drive(session, "space", "right", "right", "right", "left")
    assert [next((line[:3] for line in screen if line.startswith("> ")), None) for screen in screens[1:6]] == [
        f"> {number}" for number in (1, 2, 3, 3, 2)
    ]
    assert any("Does response 2 have it?" in line for line in screens[5])
    drive(session, "y")
    assert written(session) == [("q1", "1", texts(session, "q1")[1], True)]
    session.undo()
    drive(session, "space", "space", "y")
    assert [j.scope for j in own(session)] == ["answer"]


def test_marked_words_go_with_a_yes(begin):
    """At first the words that match; arrows go from word to word, space starts anew there."""
    session = begin(filter=Filter("q1", "1"))
    drive(session, "m", "enter")
    session.undo()
    drive(session, "m", "left", "left", "space", "right", "right", "right", "enter")
    entries = (session.state.collection.root / "judgements" / "ann.jsonl").read_text().splitlines()
    first, _, second = map(json.loads, entries)
    assert first["text"][slice(*first["span"])] == "the first nuclear reactor"
    assert second["text"][slice(*second["span"])] == "first nuclear reactor"
    assert second["verdict"] is True


def test_while_words_are_marked_letters_do_nothing(begin):
    session = begin()
    asked = in_view(session)
    drive(session, "m", "y", "n", "a", "s", "u", "q", "escape")
    assert in_view(session) == asked
    assert written(session) == []


def test_a_proposal_is_asked_for_its_text_and_its_importance(begin, fermi):
    session = begin()
    drive(session, "p", *typed("a new fact"), "enter", "x", "o")
    line = json.loads((fermi.root / "proposals.jsonl").read_text())
    assert (line["text"], line["importance"], line["from"]) == ("a new fact", "okay", in_view(session)[2])
    screens = drive(session, "p", "x", "enter", "escape")
    assert any("nothing was proposed" in line for line in screens[-1])
    screens = drive(session, "p", "enter")
    assert any("nothing was proposed" in line for line in screens[-1])
    assert (fermi.root / "proposals.jsonl").read_text().count("\n") == 1


def test_a_filter(begin):
    session = begin()
    screens = drive(session, "f", *typed("q2/2"), "enter")
    assert in_view(session)[:2] == ("q2", "2")
    screens = drive(session, "f", *["backspace"] * 4, *typed("q9"), "enter")
    assert any("q9: no such question" in line for line in screens[-1])
    drive(session, "f", *["backspace"] * 4, "enter")
    assert str(session.filter) == "all"


def test_the_guess_is_hidden_until_it_is_asked_for(begin):
    session = begin()
    screens = drive(session, "g", "y")
    assert not any("guess:" in line for line in screens[0])
    assert any(line.startswith("guess: ") and "%" in line for line in screens[1])
    assert not any("guess:" in line for line in screens[2])
    assert own(session)[0].extra["guess"]["shown"] is True


def test_help_and_back(begin):
    session = begin()
    screens = drive(session, "question_mark", "y", "escape", "y")
    assert any("Underlined words" in line or "paraphrase" in line for line in screens[1])
    assert len(written(session)) == 1, "y on the help is no verdict"


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 14)])
def test_it_fits_the_terminal(begin, size):
    session = begin(filter=Filter("q1"))
    screen = drive(session, size=size)[0]
    assert len(screen) == size[1]
    assert max(map(len, screen)) <= size[0]
    assert any(line.startswith("> [ ] vital") for line in screen)
    assert any("In 1942" in line for line in screen)
    assert any("nugget  y yes" in line for line in screen)


LONG = [("q1", f"Sentence {i} of a long answer goes on for quite some words before it ends here.") for i in range(60)]
MANY = [{"qid": "q1", "nugget": str(i), "text": f"fact {i} of what a long answer may say of it"} for i in range(20)]


def test_with_a_long_answer_and_many_nuggets_nothing_jumps(collect):
    """A verdict and a move change neither where the answer is scrolled to nor where a nugget stands, until the nugget
    in view would be outside."""
    root = collect(MANY, {"tonight": LONG}).root
    session = Session(JudgingState.read(JudgingSubject(root, "tonight")), Ledger(root, "ann"))
    screens = drive(session, "pagedown", "y", "n", "down", "r", *typed("why"), "enter", "y", "u")
    places = []
    for screen in screens[1:]:
        nugget = [i for i, line in enumerate(screen) if line[2:4] in ("[ ", "[y", "[n")]
        places.append((next(line for line in screen if "Sentence " in line), nugget[0]))
    assert len(set(places)) == 1
    for screen in screens:
        assert max(map(len, screen)) <= 80
        assert sum(line.startswith("> [") for line in screen) == 1, "the nugget in view is in view"
    for screen in drive(session, *["down"] * 19):
        assert sum(line.startswith("> [") for line in screen) == 1


def test_it_follows_when_the_terminal_changes_its_size(begin):
    session = begin(filter=Filter("q1", "1"))
    screens = drive(session, (40, 20), (120, 40))
    assert max(map(len, screens[1])) <= 40
    assert any("In 1942 his team started the first nuclear reactor." in line for line in screens[2])


def test_the_score_follows_behind_the_next_question(begin, recompute):
    session = begin()
    before = session.state.interval
    screens = drive(session, "y", "n", "enter")
    root = session.state.collection.root
    assert session.state.interval == JudgingState.read(JudgingSubject(root, "tonight")).interval != before
    assert any(line.startswith(f"tonight  F(3) {session.state.interval.value:.3f}") for line in screens[-1])
    assert any(line.endswith("  2 verdicts") for line in screens[-1])
    assert any(line.startswith("Guesses alone leave ") for line in screens[-1])


def test_what_is_left_to_a_target_is_said_in_minutes(begin):
    session = begin()
    minutes = session.state.forecast.minutes_for(0.5)
    verdicts = session.state.forecast.verdicts_after(minutes)
    said = f"for 0.5, about {ceil(minutes)} minute"
    assert any(said in line and f"({verdicts} verdicts)" in line for line in drive(session, width=0.5)[0])


@pytest.fixture
def gate(monkeypatch):
    """Opens the way to scores, for which everything else does not wait."""
    opened, score = threading.Event(), JudgingState.score

    def slow(state):
        opened.wait()
        score(state)

    monkeypatch.setattr(JudgingState, "score", slow)
    yield opened
    opened.set()


def test_the_first_question_and_the_first_keys_do_not_wait_for_the_score(begin, gate):
    """The first question is there without a score, which comes later."""
    session, asked = begin(), []

    async def press():
        async with JudgeApp(session).run_test(size=(80, 24)) as pilot:
            await drawn(pilot.app, pilot)
            first = lines(pilot.app)
            assert first[:2] == ["tonight  F(3)  …", "0 verdicts"]
            assert any(line.startswith("> [ ] ") for line in first)
            for key in ("n", "n", "enter", "n"):
                if key == "n":
                    asked.append(in_view(session))
                await pilot.press(key)
            await drawn(pilot.app, pilot)
            assert lines(pilot.app)[:2] == ["tonight  F(3)  …", "3 verdicts"]
            assert len(written(session)) == 3
            gate.set()
            await settled(pilot.app, pilot)
            now = lines(pilot.app)
            assert now[0].startswith(f"tonight  F(3) {session.state.interval.value:.3f}  95 % ")
            assert now[1].startswith("Guesses alone leave ")
            assert now[0].endswith("  3 verdicts")

    asyncio.run(press())
    assert sorted((*one, False) for one in asked) == sorted(written(session))


def test_whoever_leaves_does_not_wait_for_the_score(begin, gate):
    session = begin()

    async def press():
        app = JudgeApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("n", "q")
        return app

    app = asyncio.run(press())
    assert not app._refresh.is_done
    assert not gate.is_set()
    assert len(written(session)) == 1
    gate.set()
    app._refresh.wait()


def test_a_bug_in_the_thread_ends_the_session_like_any_other(begin, monkeypatch):
    def bug(state):
        raise ZeroDivisionError("a bug")

    session = begin()
    monkeypatch.setattr(JudgingState, "score", bug)
    with pytest.raises(ZeroDivisionError):
        drive(session)


def test_keys_do_not_wait_for_a_newer_score(begin, recompute, gate):
    """Verdicts are written, and the next questions shown, while a score is being worked out that does not end."""
    session = begin()
    session.state.interval, session.state.forecast = session.state.interval, session.state.forecast

    async def press():
        app = JudgeApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            for key in ("n", "n", "enter", "n"):
                await pilot.press(key)
            assert app.is_working
            assert len(written(session)) == 3
            gate.set()
            await settled(app, pilot)

    asyncio.run(press())
    assert session.judged == 3


def test_an_audit_orders_no_cards_and_works_out_no_score(begin, recompute, monkeypatch, drawn_audit):
    def never(*arguments):
        raise AssertionError("an audit shows no score")

    monkeypatch.setattr(JudgingState, "score", never)
    monkeypatch.setattr("nuggeteer.judging.state.ReadingOrder", never)
    session = begin(audit=drawn_audit)
    drive(session, "a", "enter")
    assert len(written(session)) == 2
    assert session.left() == 1


def test_a_verdict_that_cannot_be_written_is_said_and_the_question_stays(begin, monkeypatch):
    session = begin()

    def full(judgements):
        raise NuggeteerError("judgements/ann.jsonl: the disk is full; make room")

    monkeypatch.setattr(session.ledger, "extend", full)
    asked = in_view(session)
    screens = drive(session, "y")
    assert any("NOT DONE: judgements/ann.jsonl: the disk is full" in line for line in screens[1])
    assert in_view(session) == asked
    assert session.judged == 0


def test_a_broken_file_of_somebody_elses_does_not_stop_the_judging(begin, recompute, fermi):
    session = begin()
    (fermi.root / "judgements" / "all.jsonl").write_text("{broken\n")
    screens = drive(session, "a", "enter")
    assert any("the score stays as it was" in line for line in screens[-1])
    assert (fermi.root / "judgements" / "ann.jsonl").read_text().count("\n") == 2


def test_our_own_bug_ends_it_without_a_word_on_the_screen_and_every_verdict_on_disk(begin, monkeypatch):
    session = begin()
    asked = in_view(session)

    def bug(self, *arguments, **options):
        raise ZeroDivisionError("a bug")

    async def press():
        async with JudgeApp(session).run_test(size=(80, 24)) as pilot:
            await pilot.press("y")
            monkeypatch.setattr(Session, "skip", bug)
            await pilot.press("s")
            await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(press())
    assert written(session) == [(*asked, True)]


def test_nothing_in_a_text_is_interpreted_and_all_of_it_can_be_read(collect):
    """Control characters, directions, markup, links, emoji names; a text of 200 KB, scrolled to its end."""
    root = hostile.collection(collect)
    session = Session(JudgingState.read(JudgingSubject(root, "tonight")), Ledger(root, "ann"))
    screens = drive(session, "end", "home", "space", "right", "g", "down", "r", *typed("[b]"), "enter", "up")
    for screen in screens:
        assert all(line.isprintable() for line in screen)
    everything = "\n".join(line for screen in screens for line in screen)
    for harmless in (
        "\\x1b]0;owned\\x07",
        "[red]not red[/red]",
        "\\u202e",
        "\\x9b31m",
        "漢字",
        ":bomb:",
        "reason: [b]",
    ):
        assert harmless in re.sub(r"\n[|> ]*", "", everything), harmless
    assert any(line.strip() == "4  · no words" for line in screens[1]), "the end, behind the long texts"


def test_without_colour_marks_are_underlined_and_the_choice_is_reversed(begin, monkeypatch):
    session = begin(filter=Filter("q1", "1"))
    found = {}

    async def press():
        app = JudgeApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            await drawn(app, pilot)
            for name, key in (("marks", None), ("chosen", "m")):
                if key:
                    await pilot.press(key)
                    await drawn(app, pilot)
                reader = app.query_one("#answer", TextPane)
                strips = [reader.render_line(y) for y in range(reader.size.height)]
                found[name] = [s for strip in strips for s in strip if s.style and (s.style.underline, s.style.reverse)]
            assert isinstance(app.query_one(Input), Input)

    monkeypatch.setenv("NO_COLOR", "1")
    asyncio.run(press())
    underlined = [s.text for s in found["marks"] if s.style.underline]
    assert underlined[0] == "the first nuclear reactor"
    assert "".join(s.text for s in found["chosen"] if s.style.reverse) == "the first nuclear reactor"
