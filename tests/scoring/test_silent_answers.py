"""An answer without words has no nugget, and nobody is asked to read it."""

from __future__ import annotations

import pytest

from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import basis_of, rule
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.measures import parse
from nuggeteer.scoring.known import NO, YES
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import says_nothing

QIDS = [f"q{i}" for i in range(8)]
NUGGETS = [{"qid": qid, "nugget": str(n), "text": f"fact {n} of {qid}"} for qid in QIDS for n in (1, 2)]


def answers(**instead):
    return [(qid, instead.get(qid, f"Here are fact 1 of {qid} and fact 2 of {qid}.")) for qid in QIDS]


READ = [
    {"qid": qid, "nugget": str(n), "text": text, "verdict": True, "run": "old"}
    for qid, text in answers()
    for n in (1, 2)
]


@pytest.fixture
def nights(collect):
    def made(silence, judgements=READ):
        return collect(
            NUGGETS, {"old": answers(), "new": answers(q3=silence, q5="Fact 1 and another of q5.")}, judgements
        )

    return made


@pytest.mark.parametrize("silence", ["", "   ", ".", "-- …\n***", "\u200b"])
def test_what_an_answer_without_words_had_is_lost_for_sure(nights, silence):
    collection = nights(silence)
    result = diff(collection, "old", "new", ["f3"])
    at = [collection.key.nugget_position["q3", n] for n in "12"]
    assert result.new.known[at].all()
    assert not result.new.found[at].any()
    assert result.loss[at].tolist() == [1.0, 1.0]
    assert not result.new.answered[collection.key.position["q3"]]
    assert {(c.question.qid, c.probability) for c in result.lost if c.question.qid == "q3"} == {("q3", 1.0)}


def test_nobody_is_asked_to_read_it(nights):
    collection = nights("")
    scorer = Scorer(collection, ["f3"])
    new, old = (scorer.read(collection.run(name)) for name in ("new", "old"))
    cards = ReadingOrder(scorer, new, parse("f3"), old).cards
    assert {collection.key.questions[card.question].qid for card in cards} == {"q5"}


def test_it_is_not_something_that_people_read(nights):
    """So a night in which one answer is gone, and another is guessed, rests on guesses, as if no line were there."""
    result = diff(nights("..."), "old", "new", ["f3"])
    assert basis_of(result) == "guessed"
    assert rule(result, 0.05).title.endswith("(guessed)") or rule(result, 0.05).decision == "UNDECIDED"
    assert (result.new.pairs_known, result.new.pairs_guessed) == (12, 2)


def test_a_run_in_which_only_a_word_is_gone_was_not_read(collect):
    judged = [{"qid": "q0", "nugget": "1", "text": "Something else.", "verdict": False, "run": "before"}]
    runs = {"old": answers(), "new": answers(q3="...")}
    result = diff(collect(NUGGETS, runs, judged), "old", "new", ["f3"])
    assert (basis_of(result), result.new.pairs_known) == ("guessed", 0)


def test_without_any_verdict_it_scores_nothing_at_all(nights):
    outcome = score(nights("", []), ["new"], ["f3"])["new"].outcome
    assert outcome.probability[6:8].tolist() == [0.0, 0.0]
    assert (outcome.probability[8:] > 0).any()


def test_whoever_said_yes_is_believed(collect):
    """People may know what a sign means."""
    said = [{"qid": "q3", "nugget": "1", "text": "...", "verdict": True, "run": "new"}]
    collection = collect(NUGGETS, {"new": answers(q3="...")}, said)
    scorer = Scorer(collection, ["f3"])
    states = scorer.read(collection.run("new")).states
    assert states[6:8].tolist() == [YES, NO]


def test_empty_code_is_nothing():
    assert says_nothing("```\n```")


@pytest.mark.parametrize("text", ["5", "∞", "🫨", "ß", "日", "+", "€", "no."])
def test_signs_and_words_of_any_script_say_something(text):
    assert not says_nothing(text)
    assert not says_nothing(f"... {text}")


def test_a_response_without_words_beside_others_is_no_change(collect):
    with_stop = [(qid, text) for pair in answers() for qid, text in (pair, (pair[0], "..."))]
    result = diff(collect(NUGGETS, {"old": answers(), "new": with_stop}, READ[:4]), "old", "new", ["recall"])
    assert (result.headline.interval.value, result.gained, result.lost) == (0.0, (), ())
