"""Line by line: what is typed, what is said, what is in the ledger."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from nuggeteer.collection.ledger import Ledger
from nuggeteer.judging.forecast import Forecast
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import AnswerCard, JudgingState
from nuggeteer.records import Judgement
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.screens.layout import forecast_line, status
from nuggeteer.screens.plain import PROMPT, PlainScreen
from tests.judging.test_session import in_view, open_cards, own, texts, written


@pytest.fixture
def judge(begin):
    """Types lines into a new session; gives the session and all that was said."""

    def type_(*lines, **how):
        session, out = begin(**how), io.StringIO()
        PlainScreen(session, io.StringIO("".join(f"{line}\n" for line in lines)), out).run()
        return session, out.getvalue()

    return type_


def test_verdicts_are_written(judge, begin):
    asked = in_view(begin())
    session, said = judge("y", "n")
    assert written(session)[0] == (*asked, True)
    assert [verdict for *_, verdict in written(session)] == [True, False]
    assert f"yes: {asked[0]}/{asked[1]}, written" in said


def test_the_answer_is_written_once_and_then_its_nuggets_are_asked_about(judge):
    _, said = judge("f q1", "n", "n")
    assert said.count("1 In 1942 his team started the first nuclear reactor.") == 1
    after = said[said.index("In 1942") :]
    assert after.index("nugget 1: vital") < after.index("nugget 2: okay")
    assert "Nothing left to ask in q1" in said


def test_of_what_is_known_the_nugget_is_named_and_not_asked(judge, fermi, begin):
    Ledger(fermi.root, "bob").append(Judgement("q1", "2", texts(begin(), "q1")[1], True))
    session, said = judge("f q1", "n")
    assert "known: yes, born in Rome" in said
    assert [j.nugget for j in own(session)] == ["1"]


def test_a_contradiction_is_a_no_with_a_mark(judge, begin):
    asked = in_view(begin())
    session, said = judge("c", "u", "c")
    assert f"contradicts: {asked[0]}/{asked[1]}, written" in said
    assert f"taken back: contradicts on {asked[0]}/{asked[1]}" in said
    (judgement,) = own(session)
    assert (judgement.verdict, judgement.contradicts, judgement.scope) == (False, True, "answer")


def test_a_number_names_the_response(judge):
    session, said = judge("f q1", "y 1", "c 3", "f q2", "y 9")
    assert [(j.word, j.scope, j.text in texts(session, "q1")) for j in own(session)] == [
        ("yes", "response", True),
        ("contradicts", "response", True),
        ("contradicts", "answer", False),
    ]
    assert "not done: the answer has responses 1 to 2" in said


def test_one_line_says_no_to_all_others_and_one_takes_that_back(judge):
    session, said = judge("f q1", "y", "a", "q")
    assert [(j.nugget, j.verdict) for j in own(session)] == [("1", True), ("2", False)]
    session, said = judge("u", "u", "q")
    assert written(session) == []
    session, said = judge("f q1", "a")
    assert "no to 2 nuggets, written" in said
    assert [(j.nugget, j.verdict) for j in own(session)] == [("1", False), ("2", False)]


class Keyboard(io.StringIO):
    """Somebody who types each line when the score of the line before is there."""

    def __init__(self, lines, screens):
        super().__init__("".join(f"{line}\n" for line in lines))
        self.screens = screens

    def isatty(self):
        return True

    def readline(self):
        if self.screens[0]._newer:
            self.screens[0]._newer.wait()
        return super().readline()


def test_for_a_person_the_score_follows(begin):
    """The first question comes without a score. Enter shows it, and so does the next answer."""
    session, out = begin(), io.StringIO()
    before = begin()
    before.state.score()
    screens = []
    screens.append(PlainScreen(session, Keyboard(["", "y", "n", "q"], screens), out))
    screens[0].run()
    said = [line.removeprefix(PROMPT) for line in out.getvalue().splitlines()]
    scores = [line for line in said if line.startswith("tonight  F(3)")]
    assert scores[0] == "tonight  F(3)  …"
    assert "0 verdicts" in said
    assert f"F(3) {before.state.interval.value:.3f}  " in scores[1]
    assert [line.removesuffix("  …").split("  ")[-1] for line in scores[1:]] == ["0 verdicts", "2 verdicts"]
    assert [line.endswith("  …") for line in scores] == [True, False, True]
    assert scores[2] == f"{scores[1].replace('0 verdicts', '2 verdicts')}  …"


def test_a_script_gets_a_score_only_if_it_names_a_width(begin, monkeypatch):
    def type_(**how):
        session, out = begin(), io.StringIO()
        PlainScreen(session, io.StringIO("n\n"), out, **how).run()
        return session, out.getvalue().splitlines()

    session, said = type_(width=0.5)
    assert said[0].startswith(f"tonight  F(3) {session.state.interval.value:.3f}  95 % ")
    assert re.match(r"Guesses alone leave \d\.\d{3} open; for 0\.5, about \d minutes? \(\d verdicts?\)", said[1])
    assert said[0].endswith("  0 verdicts")
    monkeypatch.setattr(Scorer, "score", lambda *arguments: pytest.fail("nobody asked for a score"))
    session, said = type_()
    assert said[:2] == ["tonight  F(3) is not worked out yet", "1 verdict"]
    assert len(written(session)) == 2


@pytest.mark.parametrize(
    ("minutes", "says"),
    [
        (100, "Guesses alone leave 0.550 open; probably 0.450 after 10, 0.350 after 20 minutes"),
        (17, "Guesses alone leave 0.550 open; probably 0.450 after 10, 0.380 after 17 minutes"),
        (7, "Guesses alone leave 0.550 open; probably 0.480 after 7 minutes"),
        (0, "Guesses alone leave 0.550 open"),
    ],
)
def test_no_more_reading_is_promised_than_there_is(minutes, says):
    seconds = 60.0 * np.arange(minutes + 1)
    widths = 0.55 - 0.01 * np.arange(minutes + 1)
    ahead = Forecast(0.0, seconds, np.arange(minutes + 1), widths.clip(0), np.zeros(minutes + 1))
    assert forecast_line(ahead, None, None) == says
    if minutes == 100:
        now = "Guesses alone leave 0.550 open"
        assert forecast_line(ahead, 0.3, None) == f"{now}; for 0.3, about 26 minutes (26 verdicts)"
        assert forecast_line(ahead, 0.6, None) == f"{now}: the target 0.6 is reached"
        assert forecast_line(ahead, None, 12.0) == f"{now}; after that, probably 0.430"


def test_what_is_left_open_by_nothing_is_said_once():
    ahead = Forecast(0.0, np.array([0.0, 170.0]), np.array([0, 9]), np.array([0.034, 1e-9]), np.zeros(2))
    assert forecast_line(ahead, None, None) == "Guesses alone leave 0.034 open; all is read after about 3 minutes"
    assert forecast_line(ahead, None, 10.0) == "Guesses alone leave 0.034 open; after that, probably nothing"


def test_a_file_of_answers_meets_the_same_questions_however_long_a_score_takes(begin, monkeypatch):
    """In a script nothing is computed again."""
    session = begin()
    first = [(card.side, nugget) for card in open_cards(session) for nugget in card.nuggets]

    def read(*args):
        raise AssertionError("a script must not wait for a score")

    asked = []

    def ask(self, verdict, *rest):
        asked.append((self.asked.side, self.nugget))
        return judged(self, verdict, *rest)

    judged = Session.judge
    monkeypatch.setattr(Session, "judge", ask)
    out = io.StringIO()
    monkeypatch.setattr(JudgingState, "read", read)
    PlainScreen(session, io.StringIO("n\n" * len(first)), out).run()
    assert asked == first
    assert session.judged == session.total == len(first)


def test_the_end_of_the_input_ends_the_session(judge):
    session, said = judge("y")
    assert len(written(session)) == 1
    assert said.endswith("> \n")


def test_when_all_is_judged_it_says_so_and_still_takes_commands(judge):
    session, said = judge("f q2/2", "n", "f", "a", "a", "n", "u", "q", "this is not read")
    assert "Nothing left to ask in q2/2 (f: all)" in said
    assert "Nothing left to ask; " in said
    assert "not done: there is nothing left to judge" in said
    assert session.asked is not None, "taken back, and asked again"
    assert len(written(session)) in (2, 3)
    assert "no command" not in said


@pytest.mark.slow
def test_every_command_does_what_the_help_says(judge):
    session, said = judge("f q1", "+", "-", "y first nuclear reactor", "u", "r so it seems", "n", "g", "s", "q")
    assert [(j.verdict, j.reason, j.span) for j in own(session)] == [(False, "so it seems", None)]
    assert "taken back: yes on q1/1" in said
    assert "guess: " in said
    session, _ = judge("f q1", "u", "y first nuclear reactor")
    (judgement,) = own(session)
    assert judgement.text[slice(*judgement.span)] == "first nuclear reactor"
    assert judgement.scope == "response"


def test_a_proposal(judge, fermi):
    judge("p v a fact", "p x a fact", "p o")
    assert (fermi.root / "proposals.jsonl").read_text().count("\n") == 1


def test_what_makes_no_sense_is_said_and_changes_nothing(judge):
    session, said = judge("maybe", "", "y words that are not there", "f nowhere", "?")
    assert written(session) == []
    assert "'maybe' is not a command" in said
    assert "copy them" in said
    assert "no such question" in said
    assert "which is recorded with the next verdict" in said


def test_lines_fit_eighty_columns_and_marks_need_no_colour(judge, fermi, begin):
    nuggets = (fermi.root / "nuggets.jsonl").read_text(encoding="utf-8")
    long = nuggets.replace("born in Rome", "born in Rome " + "and other things that take room " * 5)
    (fermi.root / "nuggets.jsonl").write_text(long, encoding="utf-8")
    Ledger(fermi.root, "bob").append(Judgement("q1", "2", texts(begin(), "q1")[1], True))
    _, said = judge("f q1")
    assert max(map(len, said.splitlines())) <= 80
    assert "«the first nuclear reactor»" in re.sub(r"[\s|]+", " ", said)
    assert "\x1b" not in said


def test_an_audit_hides_the_score_and_marks_nothing(judge, begin):
    drawn = [AnswerCard(0, 0, (0, 1), audit={"id": "a1"}), AnswerCard(0, 1, (2,), audit={"id": "a1"})]
    score = begin().state.interval.value
    session, said = judge("n", "y", "g", audit=drawn)
    assert len(written(session)) == 2
    assert "tonight  F(3) stays hidden in an audit" in said
    assert f"{score:.3f}" not in said
    assert "judging" not in said
    assert "«" not in said
    assert "an audit is blind" in said


@pytest.mark.slow
def test_a_text_can_do_nothing_to_the_terminal(collect, judge, fermi):
    """Of question, nugget, answer and example, each with all that is bad."""
    from nuggeteer.collection.ledger import Ledger
    from nuggeteer.judging.session import Session
    from nuggeteer.judging.state import JudgingState, JudgingSubject
    from tests.screens.hostile import collection

    root = collection(collect)
    out = io.StringIO()
    session = Session(JudgingState.read(JudgingSubject(root, "tonight")), Ledger(root, "ann"))
    PlainScreen(session, io.StringIO("r \x1b[31mred\ng\nn\n"), out).run()
    said = out.getvalue()
    assert all(char.isprintable() or char == "\n" for char in said)
    assert "[red]" in said
    assert "\\x1b]0;owned" in said
    assert "\\u202e" in said
    assert texts(session, "q1")


def test_an_answer_that_moves_nothing_is_said_to(begin, monkeypatch):
    session = begin()
    session.state.score()
    assert status(session, None, False)[1].startswith("Guesses alone leave ")
    monkeypatch.setattr(type(session.state), "tells", lambda state, question: False)
    assert status(session, None, False)[1] == "No verdict on this answer moves F(3)"


def test_an_audit_says_how_long_it_takes(begin):
    units = [AnswerCard(0, question, nuggets, audit={"id": "a1", "place": 1}) for question, nuggets in [(1, (2, 3))]]
    assert status(begin(audit=units), None, False)[1].startswith("audit: 1 of 1 left, about 1 minute; ")


@pytest.mark.parametrize("line", ["n because it is old", "a 3", "s 3", "g 1", "+ 2"])
def test_what_stands_behind_a_command_is_not_dropped(judge, line):
    session, said = judge(line)
    assert f"not done: {line[0]} takes nothing after it; r TEXT gives the next verdict" in said
    assert own(session) == []


def test_a_script_that_moved_elsewhere_than_it_says_has_failed(begin):
    session = begin()
    screen = PlainScreen(session, io.StringIO("+ 2\nf q99\ny\n"), io.StringIO())
    screen.run()
    assert screen.failed == 2


def test_a_number_is_never_words_of_the_answer(judge, fermi):
    (fermi.root / "runs" / "tonight.jsonl").write_text(
        '{"qid": "q1", "text": "He won the Nobel Prize 2 years before 1940."}\n'
    )
    session, said = judge("f q1", "y 2", "c 0")
    assert said.count("not done: the answer has 1 response") == 2
    assert own(session) == []
    session, _ = judge("f q1", "y 1")
    assert [(j.word, j.extra.get("span")) for j in own(session)] == [("yes", None)]
