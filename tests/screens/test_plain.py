"""Line by line: what is typed, what is said, what is in the ledger."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, PendingPair
from nuggeteer.judging.suggest import Forecast
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.screens.layout import forecast_line
from nuggeteer.screens.plain import PROMPT, PlainScreen
from tests.judging.test_session import in_view, texts, written


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


def test_a_contradiction_is_a_no_with_a_mark(judge, begin):
    asked = in_view(begin())
    session, said = judge("c", "u", "c")
    assert f"contradicts: {asked[0]}/{asked[1]}, written" in said
    assert f"taken back: contradicts on {asked[0]}/{asked[1]}" in said
    own = [j for j in read_collection(session.state.collection.root).judgements if j.extra.get("source") == "judge"]
    (judgement,) = own
    assert (judgement.verdict, judgement.contradicts, judgement.text) == (False, True, asked[2])


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
    """The first question comes without a score. Enter shows it, and so does a verdict."""
    session, out = begin(), io.StringIO()
    before = begin()
    before.state.score()
    screens = []
    screens.append(PlainScreen(session, Keyboard(["", "y", "n", "n", "q"], screens), out))
    screens[0].run()
    said = [line.removeprefix(PROMPT) for line in out.getvalue().splitlines()]
    scores = [line for line in said if line.startswith("tonight  F(3)")]
    assert scores[0] == "tonight  F(3)  …"
    assert "0 judged" in said
    assert f"F(3) {before.state.interval.value:.3f}  " in scores[1]
    assert [line.split(" ")[0] for line in said if " judged; judging" in line] == ["0", "1", "2", "3"]
    assert [line.endswith("  …") for line in scores] == [True, False, True, True, True]
    assert scores[2] == f"{scores[1]}  …"
    assert scores[3] != scores[2]
    after_one = begin()
    after_one.undo()
    after_one.undo()
    state = JudgingState.read(after_one.state.subject)
    assert f"F(3) {state.interval.value:.3f}  " in scores[3]


def test_a_script_gets_a_score_only_if_it_names_a_width(begin, monkeypatch):
    def type_(**how):
        session, out = begin(), io.StringIO()
        PlainScreen(session, io.StringIO("n\n"), out, **how).run()
        return session, out.getvalue().splitlines()

    session, said = type_(width=0.5)
    assert said[0].startswith(f"tonight  F(3) {session.state.interval.value:.3f}  judging ")
    assert said[1].startswith("0 judged; judging 1.000 wide; for 0.5, about ")
    monkeypatch.setattr(Scorer, "find", lambda *arguments: pytest.fail("nobody asked for a score"))
    session, said = type_()
    assert said[:2] == ["tonight  F(3)", "1 judged"]
    assert len(written(session)) == 2


@pytest.mark.parametrize(
    ("left", "says"),
    [
        (200, "likely 0.450 after 10 more, 0.050 after 50 more"),
        (50, "likely 0.450 after 10 more, 0.050 after 50 more"),
        (19, "likely 0.450 after 10 more, 0.360 after 19 more"),
        (7, "likely 0.480 after 7 more"),
        (0, "judging 0.550 wide"),
    ],
)
def test_no_more_verdicts_are_promised_than_are_left(left, says):
    counts = np.array([k for k in (0, 10, 50) if k < left] + [left])
    widths = np.where(counts < 50, 0.55 - 0.01 * counts, 0.05)
    assert forecast_line(Forecast((0.0, 0.55), counts, widths), None).endswith(says)


def test_a_file_of_answers_meets_the_same_questions_however_long_a_score_takes(judge, begin, monkeypatch):
    """In a script nothing is computed again."""
    session = begin()
    first = [(pair.nugget, pair.response) for pair in session.open_pairs()]

    def read(*args):
        raise AssertionError("a script must not wait for a score")

    asked = []

    def ask(self, verdict, *rest):
        asked.append((self.pending.nugget, self.pending.response))
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
    session, said = judge("f q2/2", "n", "n", "f", "N", "N", "N", "n", "u", "q", "this is not read")
    assert "Nothing left to ask in q2/2 (f: all)" in said
    assert "Nothing left to ask; " in said
    assert "not done: there is nothing left to judge" in said
    assert session.pending is not None, "taken back, and asked again"
    assert len(written(session)) == 10 - len(texts(session, in_view(session)[0]))
    assert "no command" not in said


@pytest.mark.slow
def test_every_command_does_what_the_help_says(judge):
    session, said = judge("f q1/1", "-", "+", "-", "y first nuclear reactor", "u", "r so it seems", "n", "g", "s", "q")
    own = [j for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann"]
    assert [(j.verdict, j.reason, j.span) for j in own] == [(False, "so it seems", None)]
    assert "taken back: yes on q1/1" in said
    assert "guess: " in said
    session, _ = judge("f q1/1", "u", "y first nuclear reactor")
    own = [j for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann"]
    text = own[0].text
    assert text[slice(*own[0].span)] == "first nuclear reactor"


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


def test_lines_fit_eighty_columns_and_marks_need_no_colour(judge):
    _, said = judge("f q1/1")
    assert max(map(len, said.splitlines())) <= 80
    assert "«the first nuclear reactor»" in re.sub(r"[\s|]+", " ", said)
    assert "\x1b" not in said


def test_an_audit_hides_the_score_and_marks_nothing(judge, begin):
    asks = [PendingPair(0, nugget, -1, audit={"id": "a1", "unit": nugget}) for nugget in (0, 1)]
    score = begin().state.interval.value
    session, said = judge("n", "y", "g", audit=asks)
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


def test_w_is_a_yes_to_the_whole_answer(judge):
    session, said = judge("w", "q")
    (judgement,) = [j for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann"]
    assert (judgement.verdict, judgement.scope) == (True, "answer")
    assert f"yes to the whole answer: {judgement.qid}/{judgement.nugget}, written" in said
