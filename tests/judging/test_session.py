"""A session without a screen: what is asked, and what is in the ledger after each thing that an assessor does."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from weakref import ref

import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.runs import run_hash
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.cards import Filter
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import AnswerCard, JudgingState, JudgingSubject
from nuggeteer.records import Judgement
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.screens.layout import notes
from tests.conftest import write_lines


def own(session, assessor="ann"):
    """What stands of an assessor's, in the order of giving, as the next command would read it."""
    judgements = read_collection(session.state.collection.root).judgements
    return sorted((j for j in judgements if j.assessor == assessor), key=lambda j: j.at)


def written(session, assessor="ann"):
    return [(j.qid, j.nugget, j.text, j.verdict) for j in own(session, assessor)]


def texts(session, qid):
    run, key = session.state.run(0), session.state.key
    return run.texts[slice(*run.offsets[key.position[qid] : key.position[qid] + 2])]


def in_view(session):
    """The question, the nugget, and the text that a no is about."""
    asked, nugget = session.asked, session.state.key.nuggets[session.nugget]
    run = session.state.run(asked.side)
    return (
        nugget.qid,
        nugget.nugget,
        run.answer(asked.question) if asked.response is None else run.texts[session.marked],
    )


def open_cards(session):
    """What is to be asked, each once and in order, as of the verdicts so far."""
    return [replace(card, nuggets=left) for card in session._in_order() if (left := session._open(card))]


def everything(session, verdict=False, most=100):
    """Judge until nothing is left; what was asked."""
    asked = []
    while session.asked is not None:
        assert len(asked) < most
        while session.asked is not None and session.open_nuggets:
            asked.append(in_view(session))
            session.judge(verdict)
        if session.asked is not None:
            session.next()
    return asked


def test_the_first_card_is_the_first_of_the_reading_order(begin):
    session = begin()
    scorer = Scorer(session.state.collection, ["f3"])
    first = ReadingOrder(scorer, scorer.read("tonight"), scorer.measures[0]).cards[0]
    assert session.asked.question == first.question
    assert session.asked.nuggets == tuple(one.nugget for one in first.suggestions)


def test_a_card_is_an_answer_with_its_open_nuggets_and_what_is_known_is_shown_as_known(begin, fermi):
    """What the answer has is known where a sentence of it was judged yes, or all of it no."""
    text = "He was born in Rome, and his team started the first nuclear reactor."
    Ledger(fermi.root, "bob").append(Judgement("q1", "2", texts(begin(), "q1")[1], True))
    session = begin(filter=Filter("q1"))
    card = session.card()
    assert [(shown.nugget.nugget, shown.word, shown.asked) for shown in card.nuggets] == [
        ("1", None, True),
        ("2", "yes", False),
    ]
    assert text not in [response.text for response in card.answer]
    assert [response.text for response in card.answer] == texts(session, "q1")
    assert card.left == 1


def test_a_verdict_is_on_disk_when_the_next_nugget_is_in_view(begin):
    session = begin()
    first = in_view(session)
    session.judge(True)
    assert written(session) == [(*first, True)]
    assert in_view(session)[0] == first[0], "of the same answer"
    assert in_view(session)[1] != first[1]
    session.judge(False)
    assert len(written(session)) == 2
    assert session.judged == 2


def test_a_verdict_is_about_the_whole_answer(begin):
    """It says so, and the same answer in another run is known as well."""
    session = begin()
    session.judge(True)
    session.judge(False)
    for judgement in own(session):
        question = session.state.key.position[judgement.qid]
        assert judgement.scope == "answer"
        assert judgement.docid is None
        assert judgement.text == session.state.run(0).answer(question) == "\n".join(texts(session, judgement.qid))
    state = JudgingState.read(session.state.subject)
    verdicts = [state.verdict(0, nugget) for nugget in session.asked.nuggets]
    assert verdicts == [True, False]


def test_a_verdict_says_what_the_tool_had_guessed_and_whether_it_was_shown(begin):
    session = begin()
    nugget = session.nugget
    session.judge(True)
    session.show_guess()
    assert session.card().guess is not None
    session.judge(False)
    assert session.card().guess is None, "hidden again with the next nugget"
    first, second = own(session)
    assert first.extra["source"] == "judge"
    assert first.run_hash == run_hash(session.state.run(0), session.state.key)
    assert first.nugget_hash == session.state.key.nuggets[nugget].hash
    assert first.extra["tool"].startswith("nuggeteer ")
    assert (first.run, second.run) == ("tonight", "tonight")
    assert first.extra["guess"]["shown"] is False
    assert second.extra["guess"]["shown"] is True
    # The probability that the score has, and the match score of the best response.
    scored = score(session.state.collection, ["tonight"], ["f3"]).runs[0].outcome
    assert first.extra["guess"]["probability"] == pytest.approx(scored.probability[nugget], rel=1e-6)
    matched = session.state.matched_runs[0]
    of_nugget = [
        matched.scores[matched.begin[response] + nugget % 2] for response in session.state.responses(0, nugget // 2)
    ]
    assert first.extra["guess"]["score"] == max(of_nugget)
    assert 0 < first.extra["guess"]["probability"] < 1


@pytest.mark.parametrize("verdict", [True, False])
def test_everything_is_asked_once_and_then_nothing(begin, verdict):
    session = begin()
    asked = everything(session, verdict)
    assert sorted(asked) == sorted(
        (n.qid, n.nugget, "\n".join(texts(session, n.qid))) for n in session.state.key.nuggets
    )
    assert session.card() is None
    with pytest.raises(NuggeteerError, match="nothing left"):
        session.judge(True)


def test_a_session_goes_on_where_another_was_broken_off(begin):
    """The ledger is the state: nothing that was judged is asked again."""
    first = begin()
    first.judge(False)
    done = {one[:2] for one in written(first)}
    rest = {one[:2] for one in everything(begin())}
    assert not done & rest
    assert done | rest == {(n.qid, n.nugget) for n in first.state.key.nuggets}


def test_what_others_judge_meanwhile_is_not_asked(begin, fermi):
    session = begin()
    peek = begin()
    peek.skip()
    theirs = in_view(peek)
    Ledger(fermi.root, "carl").append(Judgement(*theirs, False, scope="answer"))
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    session.skip()
    assert theirs not in everything(session)


def test_a_second_thought_on_the_card_in_view_takes_the_first_verdict_back(begin):
    """Whoever moves up and says otherwise has changed his mind, and has not contradicted himself."""
    session = begin(filter=Filter("q1"))
    first = in_view(session)
    session.judge(False)
    assert session.move(-1)
    session.judge(True)
    assert written(session) == [(*first, True)]
    assert session.judged == 1
    lines = (session.state.collection.root / "judgements" / "ann.jsonl").read_text().splitlines()
    assert ["retracted" in json.loads(line) for line in lines] == [False, True, False]
    session.undo()
    assert written(session) == []


def test_what_somebody_else_was_quicker_to_judge_is_not_judged_again(begin, fermi):
    session = begin(filter=Filter("q1", "1"))
    Ledger(fermi.root, "carl").append(Judgement(*in_view(session), False, scope="answer"))
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    with pytest.raises(NuggeteerError, match="judged already"):
        session.judge(True)
    with pytest.raises(NuggeteerError, match="judged already"):
        session.judge_others()
    assert written(session) == []
    session.next()
    assert session.asked is None


def test_all_others_no_is_one_key_and_one_undo(begin):
    session = begin(filter=Filter("q1"))
    first = in_view(session)
    session.judge(True)
    session.judge_others()
    assert [(one[:2], one[3]) for one in written(session)] == [(first[:2], True), (("q1", "2"), False)]
    assert not session.open_nuggets
    session.undo()
    assert written(session) == [(*first, True)]
    session.undo()
    session.judge_others()
    assert [one[3] for one in written(session)] == [False, False]
    session.undo()
    assert written(session) == []
    assert in_view(session) == first


def test_the_next_answer_comes_when_all_nuggets_are_decided(begin):
    session = begin()
    first = session.asked
    session.judge(False)
    with pytest.raises(NuggeteerError, match="1 nugget is open: a says no"):
        session.next()
    session.judge(True)
    assert session.asked == first, "one may still think otherwise"
    session.next()
    assert session.asked.question != first.question


def test_a_card_with_one_nugget_is_done_with_its_verdict(begin):
    session = begin(filter=Filter(None, "1"))
    first = session.asked
    session.judge(True)
    assert session.asked.question != first.question
    session.judge(True)
    assert session.asked is None


def test_skipped_answers_come_last_the_first_skipped_first(begin):
    session = begin()
    skipped = [session.asked.question]
    session.skip()
    everything_else = session.asked.question
    session.skip()
    skipped.append(everything_else)
    assert session.asked.question == skipped[0]
    assert written(session) == []
    session.judge_others()
    session.next()
    assert session.asked.question == skipped[1]


def test_of_a_skipped_answer_what_was_said_stands(begin):
    session = begin()
    card = session.asked
    session.judge(True)
    session.skip()
    session.judge_others()
    session.next()
    assert session.asked.question == card.question
    assert session.asked.nuggets == card.nuggets[1:]
    session.skip()
    assert session.asked.nuggets == card.nuggets[1:], "the only one that is left can be skipped for ever"


def test_undo_retracts_and_asks_again(begin):
    session = begin()
    asked = in_view(session)
    session.judge(True)
    back = session.undo()
    assert [(j.qid, j.nugget, j.text) for j in back] == [asked]
    assert written(session) == []
    assert in_view(session) == asked
    session.judge(False)
    assert written(session) == [(*asked, False)]
    assert session.judged == 1


def test_undo_goes_back_as_far_as_one_likes_over_cards_and_into_earlier_sessions(begin):
    first = begin()
    asked = []
    for session in (first, begin):
        session = session if isinstance(session, Session) else session()
        while session.open_nuggets and len(asked) < 3:
            asked.append(in_view(session)[:2])
            session.judge(False)
            if not session.open_nuggets:
                session.next()
                break
    later = session
    for expected in reversed(asked):
        later.undo()
        assert in_view(later)[:2] == expected
    assert written(later) == []
    assert later.undo() == ()
    assert written(later, "bob"), "nobody else's verdicts are touched"


def test_after_a_newer_state_undo_still_works(begin):
    session = begin()
    asked = in_view(session)
    session.judge(True)
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    session.undo()
    assert in_view(session) == asked
    assert session.verdicts.on_answer(session.asked.side, session.nugget) is None
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    assert session.verdicts.on_answer(session.asked.side, session.nugget) is None
    assert asked in everything(session)


def test_a_newer_state_does_not_forget_what_was_said_while_it_was_worked_out(begin):
    session = begin()
    session.judge(False)
    said, state = session.revision, JudgingState.read(session.state.subject)
    asked = in_view(session)
    session.judge(False)
    session.refresh(state, said)
    assert asked not in everything(session)


def test_the_card_in_view_stays_when_a_newer_state_arrives(begin):
    """Nothing jumps, and what was decided on the card still shows."""
    session = begin()
    session.judge(True)
    before = session.asked, session.nugget
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    assert (session.asked, session.nugget) == before
    assert [shown.word for shown in session.card().nuggets] == ["yes", None]


@pytest.mark.slow
def test_an_earlier_state_leaves_memory_when_a_newer_one_takes_over(begin):
    """At once, because circles are looked for seldom, and a state has the whole collection."""
    session = begin()
    gc.collect()
    gc.disable()
    try:
        session.judge(False)
        refresh = Refresh(session, anew=True)
        refresh.wait()
        earlier, matcher = ref(session.state.collection), ref(session.state.scorer.matcher)
        assert refresh.take_over() == ""
        del refresh
        assert (earlier(), matcher()) == (None, None)
    finally:
        gc.enable()


def test_a_verdict_that_cannot_be_written_is_not_taken_for_given(begin, monkeypatch):
    session = begin()

    def full(judgements):
        raise NuggeteerError("no space left")

    asked = in_view(session)
    monkeypatch.setattr(session.ledger, "extend", full)
    for act in (lambda: session.judge(False), session.judge_others):
        with pytest.raises(NuggeteerError, match="no space"):
            act()
    assert in_view(session) == asked
    assert session.judged == 0
    assert session.verdicts.on_answer(session.asked.side, session.nugget) is None
    assert session.undo() == ()


def test_a_reason_goes_with_one_verdict(begin):
    session = begin()
    session.reason = "a paraphrase"
    assert session.card().reason == "a paraphrase"
    session.judge(True)
    session.judge(True)
    assert [j.reason for j in own(session)] == ["a paraphrase", None]


class TestMarked:
    """A yes may name the sentence that has it."""

    @pytest.fixture
    def session(self, begin):
        return begin(filter=Filter("q1"))

    def test_a_yes_on_the_marked_response_is_about_that_response(self, session):
        session.mark(0)
        session.judge(True)
        (judgement,) = own(session)
        assert (judgement.scope, judgement.text) == ("response", texts(session, "q1")[0])
        assert session.marked is None, "the mark was for one nugget"
        state = JudgingState.read(session.state.subject)
        nugget = state.key.nugget_position[judgement.qid, judgement.nugget]
        assert state.verdict(0, nugget) is True
        assert session.undo() == (judgement,)
        assert written(session) == []

    def test_a_no_is_about_the_answer_whatever_is_marked(self, session):
        session.mark(0)
        session.judge(False)
        assert [(j.scope, j.verdict) for j in own(session)] == [("answer", False)]

    def test_what_contradicts_is_the_marked_response_and_the_answer_has_it_not(self, session):
        session.mark(2)
        session.judge(False, contradicts=True)
        assert [(j.scope, j.word, j.text) for j in own(session)] == [
            ("response", "contradicts", texts(session, "q1")[2]),
            ("answer", "contradicts", "\n".join(texts(session, "q1"))),
        ]
        assert session.card().nuggets[0].word == "contradicts"
        session.undo()
        assert written(session) == []

    def test_marked_words_are_in_the_verdict(self, session):
        text = texts(session, "q1")[0]
        start = text.index("first")
        session.mark(0)
        session.judge(True, span=(start, len(text)))
        (judgement,) = own(session)
        assert text[slice(*judgement.span)] == "first nuclear reactor."

    def test_a_mark_stays_inside_the_answer(self, session):
        session.mark(99)
        assert session.card().marked == 2
        session.mark(-5)
        assert session.card().marked == 0
        session.mark(None)
        assert session.card().marked is None

    def test_an_answer_of_one_response_needs_no_mark(self, collect):
        root = collect([{"qid": "q1", "nugget": "1", "text": "a reactor"}], {"tonight": [("q1", "One reactor.")]}).root
        session = Session(JudgingState.read(JudgingSubject(root, "tonight")), Ledger(root, "ann"))
        with pytest.raises(NuggeteerError, match="is one response"):
            session.mark(0)
        session.judge(True, span=(4, 11))
        (judgement,) = own(session)
        assert (judgement.scope, judgement.text, judgement.span) == ("response", "One reactor.", [4, 11])


class TestPairs:
    """The old way: one response and one nugget at a time."""

    @pytest.fixture
    def session(self, begin):
        return begin(pairs=True)

    def test_of_each_nugget_the_best_response_comes_first(self, session):
        state = session.state
        cards = open_cards(session)
        assert [card.response for card in cards[:4]] == [state.best_response(0, card.nuggets[0]) for card in cards[:4]]
        assert len({card.nuggets for card in cards[:4]}) == 4
        assert sorted((card.nuggets[0], card.response) for card in cards) == sorted(
            (n, response) for n, nugget in enumerate(state.key.nuggets) for response in state.responses(0, n // 2)
        )

    def test_a_no_is_about_the_response_alone(self, session):
        asked = in_view(session)
        session.judge(False)
        (judgement,) = own(session)
        assert (judgement.scope, judgement.text) == ("response", asked[2])
        assert asked[2] in texts(session, asked[0])

    def test_all_noes_ask_about_every_pair_once(self, session):
        asked = everything(session)
        assert sorted(asked) == sorted(
            (n.qid, n.nugget, text) for n in session.state.key.nuggets for text in texts(session, n.qid)
        )

    def test_a_yes_settles_the_nugget_for_the_answer(self, session):
        asked = everything(session, True)
        assert len(asked) == len({one[:2] for one in asked}) == 4

    def test_one_can_turn_to_another_response_and_judge_that(self, session):
        session.narrow(Filter("q1", "1"))
        session.mark(1)
        session.judge(True)
        assert written(session) == [("q1", "1", texts(session, "q1")[1], True)]

    def test_undo_asks_again_about_what_a_yes_had_settled(self, begin):
        session = begin(filter=Filter("q1", "1"), pairs=True)
        asked = {in_view(session)[2]}
        session.judge(True)
        assert session.asked is None
        session.undo()
        asked |= {text for _, _, text in everything(session)}
        assert asked == set(texts(session, "q1"))

    def test_undo_goes_back_to_the_response_of_an_earlier_session(self, session, begin):
        asked = in_view(session)
        session.judge(False)
        later = begin(pairs=True)
        later.undo()
        assert in_view(later) == asked


class TestMinutes:
    """A sitting has an end, and ends between two questions."""

    @pytest.fixture
    def clock(self):
        return [0.0]

    @pytest.fixture
    def session(self, begin, clock):
        return begin(minutes=10, clock=lambda: clock[0])

    def test_it_says_what_is_left(self, session, clock):
        assert session.minutes_left == 10
        clock[0] = 150
        assert session.minutes_left == pytest.approx(7.5)
        clock[0] = 1000
        assert session.minutes_left == 0
        assert not session.is_over, "the card in view is the last"

    def test_the_card_in_view_is_finished(self, session, clock):
        session.judge(True)
        clock[0] = 601
        session.judge(True)
        assert session.asked is not None
        session.next()
        assert session.asked is None
        assert session.is_over
        assert len(written(session)) == 2

    def test_both_answers_to_a_question_are_finished(self, begin, clock):
        session = begin("earlier", minutes=10, clock=lambda: clock[0])
        first = session.asked
        clock[0] = 601
        session.judge_others()
        session.next()
        assert (session.asked.question, session.asked.side) == (first.question, 0)
        session.judge_others()
        session.next()
        assert session.is_over

    def test_undo_after_the_end_is_possible(self, session, clock):
        session.judge(True)
        clock[0] = 601
        session.judge(True)
        session.next()
        session.undo()
        assert session.asked is not None
        assert len(written(session)) == 1


def test_a_filter_asks_about_nothing_else(begin):
    session = begin()
    session.narrow(Filter("q2"))
    assert {qid for qid, _, _ in everything(session)} == {"q2"}
    session.narrow(Filter(None, "2"))
    assert {nugget for _, nugget, _ in everything(session)} == {"2"}
    session.narrow(Filter())
    assert everything(session)
    for wrong, what in ((Filter("q9"), "q9: no such question"), (Filter("q1", "9"), "q1/9: no such nugget")):
        with pytest.raises(NuggeteerError, match=what):
            session.narrow(wrong)
        with pytest.raises(NuggeteerError, match=what):
            begin(filter=wrong)


def test_the_card_has_the_answer_the_marks_and_the_texts_judged_yes(begin):
    session = begin()
    session.narrow(Filter("q1", "1"))
    card = session.card()
    assert [one.text for one in card.answer] == texts(session, "q1")
    assert [one.rank for one in card.answer] == [1, 2, 3]
    assert [text for text, _ in card.examples] == ["He built the first reactor ever."]
    text, marks = card.answer[0].text, card.answer[0].marks
    assert "nuclear reactor" in " ".join(text[a:b] for a, b in marks)
    assert [one.verdict for one in card.answer] == [None, None, None]


def test_a_proposal_goes_to_a_file_of_its_own_and_not_into_the_key(begin, fermi):
    session = begin(filter=Filter("q1"))
    session.propose("  a fact that the key lacks ", "okay")
    session.mark(1)
    session.propose("another", "vital")
    lines = [json.loads(line) for line in (fermi.root / "proposals.jsonl").read_text().splitlines()]
    assert [(one["text"], one["importance"]) for one in lines] == [
        ("a fact that the key lacks", "okay"),
        ("another", "vital"),
    ]
    assert [one["from"] for one in lines] == ["\n".join(texts(session, "q1")), texts(session, "q1")[1]]
    assert lines[0]["assessor"] == "ann"
    assert lines[0]["at"] <= lines[1]["at"]
    assert len(read_collection(fermi.root).key.nuggets) == 4
    with pytest.raises(NuggeteerError, match="a nugget needs at least one word"):
        session.propose(" ", "okay")


def test_the_interval_is_that_of_score_and_the_forecast_begins_there(begin, fermi):
    session = begin()
    session.judge(True)
    state = JudgingState.read(session.state.subject)
    assert state.interval == score(read_collection(fermi.root), ["tonight"], ["f3"]).runs[0].measures["f3"]
    low, high = state.interval.judging
    assert state.forecast.now == pytest.approx(high - low)


def test_against_another_run_both_answers_come_together_the_old_one_first(begin):
    session = begin("earlier")
    assert session.state.title == "earlier → tonight"
    cards = []
    while session.asked is not None:
        cards.append((session.asked.question, session.asked.side))
        session.judge_others()
        session.next()
    assert [side for _, side in cards] == [1, 0, 1, 0]
    assert cards[0][0] == cards[1][0] != cards[2][0] == cards[3][0]
    assert {j.run for j in own(session)} == {"tonight", "earlier"}
    state = JudgingState.read(session.state.subject)
    assert state.interval.judging == (state.interval.value, state.interval.value)
    assert state.cards == ()


class TestAudit:
    """What an audit drew: blind, in its own order."""

    @pytest.fixture
    def audit(self, begin):
        drawn = [
            AnswerCard(0, question, nuggets, audit={"id": "a1", "place": place})
            for place, (question, nuggets) in enumerate([(1, (2, 3)), (0, (0,))], 1)
        ]
        return begin(audit=drawn)

    def test_it_asks_in_its_order_and_marks_its_verdicts(self, audit):
        assert audit.left() == 2
        assert in_view(audit)[:2] == ("q2", "1")
        audit.judge(False)
        assert in_view(audit)[:2] == ("q2", "2")
        audit.judge(True)
        audit.next()
        assert in_view(audit)[:2] == ("q1", "1")
        assert audit.left() == 1
        audit.judge(False)
        assert audit.asked is None
        assert audit.left() == 0
        assert [j.extra["audit"]["place"] for j in own(audit)] == [1, 1, 2]
        assert all("guess" not in j.extra for j in own(audit))

    def test_it_is_blind(self, audit):
        with pytest.raises(NuggeteerError, match="blind"):
            audit.show_guess()

    def test_nothing_is_marked_in_the_answer(self, audit, begin):
        """It would show what the match score is made of."""
        only = audit.state.key.nuggets[audit.nugget]
        assert any(one.marks for one in begin(filter=Filter(only.qid, only.nugget)).card().answer)
        assert [one.marks for one in audit.card().answer] == [(), ()]

    def test_skipped_units_come_last(self, audit):
        audit.skip()
        assert in_view(audit)[:2] == ("q1", "1")
        audit.judge(True)
        assert in_view(audit)[:2] == ("q2", "1")

    def test_undo_goes_back_to_the_unit(self, audit):
        audit.judge(False)
        audit.undo()
        assert in_view(audit)[:2] == ("q2", "1")
        assert audit.left() == 2


def test_a_model_that_cannot_say_how_sure_it_is_asks_in_the_order_of_the_key(collect):
    from tests.judging.conftest import NUGGETS, TONIGHT

    root = collect(NUGGETS, {"tonight": TONIGHT}, toml='[threshold]\nmodel = "fixed"\n').root
    session = Session(JudgingState.read(JudgingSubject(root, "tonight")), Ledger(root, "ann"))
    assert session.state.forecast is None
    assert [one[:2] for one in everything(session)] == [("q1", "1"), ("q1", "2"), ("q2", "1"), ("q2", "2")]


@pytest.mark.slow
def test_what_spoke_for_a_guess_is_shown_with_it_and_not_before(learned):
    session = Session(JudgingState.read(JudgingSubject(learned.root, "build-103")), Ledger(learned.root, "ann"))
    assert session.card().explanation is None
    session.show_guess()
    state, card = session.state, session.card()
    assert card.explanation.unit == "log odds"
    best = state.run(0).texts[state.best_response(0, session.nugget)]
    alone = state.scorer.matcher.explain(best, session.nugget).words
    carried = sum(word.weight for word in alone)
    weight = state.scorer.worth_of_carried(carried) / carried
    assert card.explanation.words == tuple(word._replace(weight=word.weight * weight) for word in alone)
    lines = [line.plain for line in notes(card, 78)]
    assert any(line.startswith("  words: ") or line.startswith("  lacking: ") for line in lines)
    assert all(len(line) <= 78 for line in lines)
    session.skip()
    assert session.card().explanation is None


def test_with_ngrams_the_guess_is_one_line(begin, fermi):
    (fermi.root / "nuggeteer.toml").write_text('[match]\nmatcher = "ngram"\n', encoding="utf-8")
    session = begin()
    before = [line.plain for line in notes(session.card(), 78)]
    session.show_guess()
    after = [line.plain for line in notes(session.card(), 78)]
    assert len(after) == len(before) + 1
    assert after[-1].startswith("guess: ")


def test_a_measure_that_does_not_apply_is_refused(fermi):
    with pytest.raises(NuggeteerError, match="votes or weights"):
        JudgingState.read(JudgingSubject(fermi.root, "tonight", measure="pyramid_f3"))


def test_what_was_judged_in_earlier_sessions_is_counted(begin):
    first = begin()
    first.judge(False)
    first.judge(False)
    again = begin()
    assert (again.judged, again.total) == (0, 2)
    again.judge(False)
    assert (again.judged, again.total) == (1, 3)
    again.undo()
    assert (again.judged, again.total) == (0, 2)
    again.undo()
    assert (again.judged, again.total) == (0, 1)
    assert begin().total == 1


def test_the_answer_in_view_comes_back_after_undoing(begin):
    session = begin()
    before = [card.nuggets for card in open_cards(session)]
    session.judge(False)
    session.undo()
    assert [card.nuggets for card in open_cards(session)] == before
    assert len(everything(session)) == 4


def test_a_judge_who_begins_meanwhile_is_heard_by_the_next_command(collect):
    """`ask` wrote its first verdict between the score of a session and its audit, which then heard one judge more."""
    nuggets = [{"qid": "q", "nugget": str(n), "text": text, "importance": "vital"} for n, text in enumerate("ab")]
    toml = '[judge.fake]\nurl = "http://127.0.0.1:9"\nmodel = "m"\n'
    root = collect(nuggets, {"r": [("q", "a fox"), ("q", "a hen")]}, toml=toml).root
    state = JudgingState.read(JudgingSubject(root, "r"))
    assert state.cards
    said = {"qid": "q", "nugget": "0", "text": "a fox\na hen", "scope": "answer", "assignment": "support"}
    write_lines(root / "judges" / "fake.jsonl", [{**said, "judge": "fake", "model": "m", "prompt": "p", "pair": "0"}])
    assert state.audit(2)
    assert JudgingState.read(JudgingSubject(root, "r")).collection.judges == (str(root / "judges" / "fake.jsonl"),)
