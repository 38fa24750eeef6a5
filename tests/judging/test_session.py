"""A session without a screen: what is asked, and what is in the ledger after each thing that an assessor does."""

from __future__ import annotations

import gc
import json
from weakref import ref

import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.filters import Filter
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, JudgingSubject, PendingPair
from nuggeteer.judging.suggest import forecast, suggest
from nuggeteer.records import Judgement
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.screens.layout import lay_out


def written(session, assessor="ann"):
    """(qid, nugget, text, verdict) of all that stands of an assessor's, as the next command would read it."""
    judgements = read_collection(session.state.collection.root).judgements
    return [(j.qid, j.nugget, j.text, j.verdict) for j in judgements if j.assessor == assessor]


def in_view(session):
    nugget = session.state.key.nuggets[session.pending.nugget]
    return nugget.qid, nugget.nugget, session.state.run(session.pending.side).texts[session.response]


def everything(session, verdict=False, most=100):
    """Judge until nothing is left; what was asked."""
    asked = []
    while session.pending is not None:
        assert len(asked) < most
        asked.append(in_view(session))
        session.judge(verdict)
    return asked


def test_the_first_question_is_what_suggest_says(begin):
    session = begin()
    scorer = Scorer(session.state.collection, ["f3"])
    best = suggest(scorer, scorer.read("tonight"), scorer.measures[0], 1)[0]
    assert (session.pending.nugget, session.response) == (best.nugget, best.response)


def test_a_verdict_is_on_disk_when_the_next_question_is_in_view(begin):
    session = begin()
    asked = in_view(session)
    session.judge(True)
    assert written(session) == [(*asked, True)]
    assert in_view(session) != asked
    session.judge(False)
    assert len(written(session)) == 2
    assert session.judged == 2


def test_a_verdict_says_what_the_tool_had_guessed_and_whether_it_was_shown(begin):
    session = begin()
    nugget, response = session.pending.nugget, session.response
    session.judge(True)
    session.show_guess()
    assert session.card().guess is not None
    session.judge(False)
    assert session.card().guess is None, "hidden again with the next question"
    first, second = (j for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann")
    assert first.extra["source"] == "judge"
    assert first.extra["tool"].startswith("nuggeteer ")
    assert (first.run, second.run) == ("tonight", "tonight")
    assert first.extra["guess"]["shown"] is False
    assert second.extra["guess"]["shown"] is True
    # Against the match score and the mean of the draws' chances of the pair alone.
    scorer, matched = session.state.scorer, session.state.matched_runs[0]
    pairs = [
        p for p in range(matched.begin[response], matched.begin[response + 1]) if matched.pairs.nugget[p] == nugget
    ]
    assert first.extra["guess"]["score"] == matched.pairs.scores[pairs[0]]
    alone = scorer.draws.chances(matched.pairs[pairs], matched.group)
    assert first.extra["guess"]["probability"] == pytest.approx(alone[:, nugget].mean(), rel=1e-6)
    assert 0 < first.extra["guess"]["probability"] < 1


def test_everything_is_asked_once_and_then_nothing(begin):
    """All noes, without a new state: every pair of the run but what a yes has settled, each once."""
    session = begin()
    asked = everything(session)
    pairs = {(n.qid, n.nugget, t) for n in session.state.key.nuggets for t in dict.fromkeys(texts(session, n.qid))}
    assert sorted(asked) == sorted(pairs)
    assert session.card() is None
    with pytest.raises(NuggeteerError, match="nothing left"):
        session.judge(True)


def texts(session, qid):
    run, key = session.state.run(0), session.state.key
    return run.texts[slice(*run.offsets[key.position[qid] : key.position[qid] + 2])]


def test_a_yes_settles_the_nugget_for_the_answer(begin):
    session = begin()
    asked = everything(session, True)
    assert len(asked) == len({(qid, nugget) for qid, nugget, _ in asked}) == 4


def test_a_session_goes_on_where_another_was_broken_off(begin):
    """The ledger is the state: nothing that was judged is asked again."""
    first = begin()
    done = []
    for _ in range(3):
        done.append(in_view(first))
        first.judge(False)
    rest = everything(begin())
    assert not set(done) & set(rest)
    whole = {(n.qid, n.nugget, t) for n in first.state.key.nuggets for t in texts(first, n.qid)}
    assert set(done) | set(rest) == whole


def test_what_others_judge_meanwhile_is_not_asked(begin, fermi):
    session = begin()
    peek = begin()
    peek.skip()
    theirs = in_view(peek)
    Ledger(fermi.root, "carl").append(Judgement(*theirs, False))
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    session.skip()
    assert theirs not in everything(session)


def test_what_is_judged_already_is_not_judged_again(begin, fermi):
    """Neither by turning back to it, nor when somebody else was quicker: nobody contradicts himself by mistake."""
    session = begin(filter=Filter("q1", "1"))
    first = in_view(session)
    session.judge(False)
    while in_view(session) != first:
        assert session.move(-1) or session.move(1)
    with pytest.raises(NuggeteerError, match="judged already"):
        session.judge(True)
    assert written(session) == [(*first, False)]
    other = Ledger(fermi.root, "carl")
    for text in texts(session, "q1"):
        other.append(Judgement("q1", "1", text, False))
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    for whole in (False, True):
        with pytest.raises(NuggeteerError, match="s goes on"):
            session.judge(False, whole)
    session.skip()
    assert session.pending is None


def test_skipped_questions_come_last_the_first_skipped_first(begin):
    session = begin()
    skipped = []
    for _ in range(2):
        skipped.append(in_view(session))
        session.skip()
    assert written(session) == []
    assert everything(session)[-2:] == skipped


def test_a_question_that_is_the_only_one_left_can_be_skipped_for_ever(begin):
    session = begin(filter=Filter("q1", "2"))
    session.judge(False)
    session.judge(False)
    only = in_view(session)
    session.skip()
    assert in_view(session) == only


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


def test_undo_goes_back_as_far_as_one_likes_and_into_earlier_sessions(begin):
    first = begin()
    asked = []
    for _ in range(2):
        asked.append(in_view(first))
        first.judge(False)
    later = begin()
    asked.append(in_view(later))
    later.judge(False)
    for expected in reversed(asked):
        later.undo()
        assert in_view(later) == expected
    assert written(later) == []
    assert later.undo() == ()
    assert written(later, "bob"), "nobody else's verdicts are touched"


def test_after_a_new_outlook_undo_still_works(begin):
    session = begin()
    asked = in_view(session)
    session.judge(True)
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    session.undo()
    assert in_view(session) == asked
    assert session.verdicts.verdict(session.pending.side, session.pending.nugget, session.response) is None
    session.refresh(JudgingState.read(session.state.subject), session.revision)
    assert session.verdicts.verdict(session.pending.side, session.pending.nugget, session.response) is None


def test_a_new_state_does_not_forget_what_was_said_while_it_was_worked_out(begin):
    session = begin()
    session.judge(False)
    said, state = session.revision, JudgingState.read(session.state.subject)
    asked = in_view(session)
    session.judge(False)
    session.refresh(state, said)
    assert asked not in everything(session)


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


def test_none_of_them_is_a_no_on_every_response_that_nobody_judged(begin):
    session = begin()
    qid, nugget, first = in_view(session)
    session.judge(False)
    session.narrow(Filter(qid, nugget))
    rest = [text for text in texts(session, qid) if text != first]
    session.judge(False, whole=True)
    assert sorted(written(session)) == sorted((qid, nugget, text, False) for text in [first, *rest])
    session.undo()
    assert written(session) == [(qid, nugget, first, False)], "one key, one undo"


def test_a_verdict_that_cannot_be_written_is_not_taken_for_given(begin, monkeypatch):
    session = begin()

    def full(judgements):
        raise NuggeteerError("no space left")

    asked = in_view(session)
    monkeypatch.setattr(session.ledger, "extend", full)
    for whole in (False, True):
        with pytest.raises(NuggeteerError, match="no space"):
            session.judge(False, whole)
    assert in_view(session) == asked
    assert session.judged == 0
    assert session.verdicts.verdict(session.pending.side, session.pending.nugget, session.response) is None
    assert session.undo() == ()


def test_where_the_next_draw_cannot_be_recorded_the_verdict_is_kept_and_the_last_question_stays(begin):
    session = begin()
    draws = session.state.collection.root / "judgements" / "draws"
    (draws / "tonight.jsonl").unlink(missing_ok=True)
    (draws / "tonight.jsonl").mkdir(parents=True)  # where a file is wanted
    asked = in_view(session)
    with pytest.raises(NuggeteerError, match=r"no next question: .*tonight\.jsonl.*; every verdict given is kept"):
        session.judge(True)
    assert written(session) == [(*asked, True)]
    assert in_view(session) == asked
    (draws / "tonight.jsonl").rmdir()
    session.skip()
    assert in_view(session) != asked
    assert not {in_view(session)} & {tuple(other[:3]) for other in written(session)}
    assert asked not in everything(session)


def test_a_reason_goes_with_one_verdict(begin):
    session = begin()
    session.reason = "a paraphrase"
    assert session.card().reason == "a paraphrase"
    session.judge(True)
    session.judge(True)
    own = [j for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann"]
    assert [j.reason for j in own] == ["a paraphrase", None]


def test_marked_words_are_in_the_verdict(begin):
    session = begin()
    session.narrow(Filter("q1", "1"))
    text = in_view(session)[2]
    start = text.index("first")
    session.judge(True, span=(start, len(text)))
    own = [j for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann"]
    assert text[slice(*own[0].span)] == "first nuclear reactor."


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


def test_one_can_turn_to_another_response_of_the_answer_and_judge_that(begin):
    session = begin()
    session.narrow(Filter("q1", "1"))
    while session.move(-1):
        pass
    assert in_view(session)[2] == texts(session, "q1")[0]
    assert session.move(1)
    asked = in_view(session)
    assert asked[2] == texts(session, "q1")[1]
    session.judge(True)
    assert written(session) == [(*asked, True)]
    session.narrow(Filter("q2"))
    while session.move(1):
        pass
    assert in_view(session)[2] == texts(session, "q2")[-1]


def test_the_card_has_the_answer_the_marks_and_the_texts_judged_yes(begin):
    session = begin()
    session.narrow(Filter("q1", "1"))
    card = session.card()
    assert [one.text for one in card.answer] == texts(session, "q1")
    assert [one.rank for one in card.answer] == [1, 2, 3]
    assert card.response.text == in_view(session)[2]
    assert [text for text, _ in card.examples] == ["He built the first reactor ever."]
    text, marks = card.answer[0].text, card.answer[0].marks
    assert "nuclear reactor" in " ".join(text[a:b] for a, b in marks)
    assert [one.verdict for one in card.answer] == [None, None, None]


def test_a_proposal_goes_to_a_file_of_its_own_and_not_into_the_key(begin, fermi):
    session = begin()
    text = in_view(session)[2]
    session.propose("  a fact that the key lacks ", "okay")
    session.propose("another", "vital")
    lines = [json.loads(line) for line in (fermi.root / "proposals.jsonl").read_text().splitlines()]
    assert [(one["text"], one["importance"]) for one in lines] == [
        ("a fact that the key lacks", "okay"),
        ("another", "vital"),
    ]
    assert lines[0]["from"] == text
    assert lines[0]["assessor"] == "ann"
    assert lines[0]["at"] <= lines[1]["at"]
    assert len(read_collection(fermi.root).key.nuggets) == 4
    with pytest.raises(NuggeteerError, match="a nugget needs at least one word"):
        session.propose(" ", "okay")


def test_the_interval_is_that_of_score_and_the_forecast_that_of_forecast(begin, fermi):
    session = begin()
    session.judge(True)
    state = JudgingState.read(session.state.subject)
    assert state.interval == score(read_collection(fermi.root), ["tonight"], ["f3"]).runs[0].measures["f3"]
    scorer = Scorer(read_collection(fermi.root), ["f3"])
    assert state.forecast.now == forecast(scorer, scorer.read("tonight"), scorer.measures[0]).now
    assert state.forecast.now == state.interval.judging


def test_against_another_run_both_answers_are_asked_about(begin):
    session = begin("earlier")
    assert session.state.title == "earlier → tonight"
    while session.pending is not None:
        session.judge(False)
    runs = {j.run for j in read_collection(session.state.collection.root).judgements if j.assessor == "ann"}
    assert runs == {"tonight", "earlier"}
    state = JudgingState.read(session.state.subject)
    assert state.interval.judging == (state.interval.value, state.interval.value)
    assert state.suggested == []


class TestAudit:
    """What an audit drew: blind, in its own order, answer by answer."""

    @pytest.fixture
    def audit(self, begin):
        asks = [PendingPair(0, nugget, -1, audit={"id": "a1", "probability": 0.5, "unit": nugget}) for nugget in (2, 0)]
        return begin(audit=asks)

    def test_it_asks_in_its_order_and_marks_its_verdicts(self, audit):
        assert in_view(audit) == ("q2", "1", texts(audit, "q2")[0]), "at the first response, whatever the guess"
        audit.judge(False)
        assert in_view(audit) == ("q2", "1", texts(audit, "q2")[1]), "until the whole answer is read"
        audit.judge(True)
        assert in_view(audit)[:2] == ("q1", "1")
        assert audit.left() == 1
        audit.judge(False, whole=True)
        assert audit.pending is None
        assert audit.left() == 0
        own = [j for j in read_collection(audit.state.collection.root).judgements if j.assessor == "ann"]
        assert [j.extra["audit"]["unit"] for j in sorted(own, key=lambda j: j.at)] == [2, 2, 0, 0, 0]

    def test_it_is_blind(self, audit):
        with pytest.raises(NuggeteerError, match="blind"):
            audit.show_guess()

    def test_nothing_is_marked_in_the_answer(self, audit, begin):
        """It would show what the match score is made of."""
        only = audit.state.key.nuggets[audit.pending.nugget]
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
        assert in_view(audit) == ("q2", "1", texts(audit, "q2")[0])
        assert audit.left() == 2


def test_a_model_that_cannot_say_how_sure_it_is_asks_in_the_order_of_the_key(collect):
    from tests.judging.conftest import NUGGETS, TONIGHT

    root = collect(NUGGETS, {"tonight": TONIGHT}, toml='[threshold]\nmodel = "fixed"\n').root
    session = Session(JudgingState.read(JudgingSubject(root, "tonight")), Ledger(root, "ann"))
    assert session.state.forecast is None
    assert in_view(session)[:2] == ("q1", "1")
    assert len(everything(session)) == 10


@pytest.mark.slow
def test_what_spoke_for_a_guess_is_shown_with_it_and_not_before(learned):
    session = Session(JudgingState.read(JudgingSubject(learned.root, "build-103")), Ledger(learned.root, "ann"))
    assert session.card().explanation is None
    session.show_guess()
    state, card = session.state, session.card()
    assert card.explanation.unit == "log odds"
    assert card.explanation.words == state.scorer.matcher.explain(card.response.text, session.pending.nugget).words
    lines = [line.plain for line in lay_out(card, 78).asked]
    assert any(line.startswith("  words: ") or line.startswith("  lacking: ") for line in lines)
    assert all(len(line) <= 78 for line in lines)
    session.move(1) or session.move(-1)
    moved = session.card()
    assert (moved.explanation is None) == (moved.response.verdict is not None), "of what is known there is no guess"
    session.skip()
    assert session.card().explanation is None


def test_with_ngrams_the_guess_is_shown_as_ever(begin, fermi):
    (fermi.root / "nuggeteer.toml").write_text('[match]\nmatcher = "ngram"\n', encoding="utf-8")
    session = begin()
    before = [line.plain for line in lay_out(session.card(), 78).asked]
    session.show_guess()
    after = [line.plain for line in lay_out(session.card(), 78).asked]
    assert len(after) == len(before) + 1
    assert after[-1].startswith("guess: ")


def test_a_measure_that_does_not_apply_is_refused(fermi):
    with pytest.raises(NuggeteerError, match="votes or weights"):
        JudgingState.read(JudgingSubject(fermi.root, "tonight", measure="pyramid_f3"))


def test_a_yes_on_the_whole_answer_settles_it_at_once_and_can_be_taken_back(begin):
    session = begin()
    qid, nugget, _ = in_view(session)
    judgement = session.judge_answer()
    question = session.state.key.position[qid]
    answer = session.state.run(0).answer(question)
    assert (judgement.qid, judgement.nugget, judgement.text, judgement.scope) == (qid, nugget, answer, "answer")
    assert read_collection(session.state.collection.root).judgements[-1] == judgement
    assert (qid, nugget) not in {(q, n) for q, n, _ in everything(session, most=1000)}
    while session.judged:
        session.undo()
    assert written(session) == []
    assert in_view(session)[:2] == (qid, nugget)


def test_a_whole_answer_is_not_judged_twice(begin):
    session = begin()
    pair = session.pending
    session.judge_answer()
    session._go_to(pair)
    with pytest.raises(NuggeteerError, match="judged already"):
        session.judge_answer()


def test_what_was_judged_in_earlier_sessions_is_counted(begin):
    first = begin()
    for _ in range(3):
        first.judge(False)
    again = begin()
    assert (again.judged, again.total) == (0, 3)
    again.judge(False)
    assert (again.judged, again.total) == (1, 4)
    again.undo()
    assert (again.judged, again.total) == (0, 3)
    again.undo()
    assert (again.judged, again.total) == (0, 2)
    assert begin().total == 2


def test_nothing_is_left_out_after_undoing(begin):
    """Pairs that a yes settled are asked again when it is taken back, also if others were passed over since."""
    session = begin(filter=Filter("q1", "1"))
    asked = {in_view(session)[2]}
    session.judge(True)
    assert session.pending is None
    session.undo()
    asked |= {text for _, _, text in everything(session)}
    assert asked == set(texts(session, "q1"))


def test_the_question_in_view_comes_back_after_undoing(begin):
    session = begin()
    before = [pair.nugget for pair in session.open_pairs()]
    session.judge(False)
    session.undo()
    session.judge(False)
    assert len(everything(session)) == len(before) - 1
