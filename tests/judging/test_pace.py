"""The pace of an assessor, from verdicts given by a clock that the test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from nuggeteer.collection.answer_key import make_key
from nuggeteer.judging.forecast import ENOUGH, FASTEST, SLOWEST, Pace, pace_of
from nuggeteer.records import Judgement, Nugget, Question

WORDS = 119  # of an answer: half a minute at 238 a minute
NUGGETS = 5


@pytest.fixture
def key():
    questions = [Question(f"q{i}", "") for i in range(30)]
    nuggets = [Nugget(q.qid, str(n), ("one two three",), "vital") for q in questions for n in range(NUGGETS)]
    return make_key(questions, nuggets)


def sitting(factor=1.0, answers=8, breaks=(), assessor="ann", source="judge"):
    """Whole answers read and decided by somebody who takes `factor` times the usual time; `breaks` are seconds that
    somebody was away before an answer."""
    now, given = datetime(2026, 11, 2, 9, tzinfo=UTC), []
    text = " ".join(["word"] * WORDS)
    for i in range(answers):
        now += timedelta(seconds=dict(breaks).get(i, 0.0) + factor * WORDS * 60 / 238)
        for n in range(NUGGETS):
            now += timedelta(seconds=factor * (4.0 + 3 * 60 / 238))
            at = now.isoformat().replace("+00:00", "Z")
            given.append(
                Judgement(f"q{i}", str(n), text, True, run="r", assessor=assessor, at=at, extra={"source": source})
            )
    return given


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.7])
def test_the_pace_is_what_the_verdicts_took(key, factor):
    pace = pace_of(key, sitting(factor))
    assert pace.words_a_minute == pytest.approx(238 / factor, rel=1e-4)
    assert pace.seconds_a_decision == pytest.approx(4 * factor, rel=1e-4)


def test_breaks_are_cut(key):
    assert pace_of(key, sitting(1.3, breaks=[(2, 3600), (5, 200)])).seconds_a_decision == pytest.approx(5.2, rel=0.1)


def test_until_there_are_enough_it_is_the_usual_one(key):
    given = sitting(2.0, answers=ENOUGH // NUGGETS)
    assert pace_of(key, given) == Pace()
    assert pace_of(key, sitting(2.0, answers=ENOUGH // NUGGETS + 1)) != Pace()


def test_it_is_that_of_the_assessor_who_asks_and_that_of_all_without_a_name(key):
    both = [*sitting(0.5), *sitting(2.0, assessor="bob")]
    assert pace_of(key, both, "ann").seconds_a_decision == pytest.approx(2)
    assert pace_of(key, both, "bob").seconds_a_decision == pytest.approx(8)
    assert pace_of(key, both).seconds_a_decision == pytest.approx(5)
    assert pace_of(key, both, "carl") == Pace()


def test_a_script_says_nothing_of_a_readers_pace(key):
    """It writes a verdict in a millisecond, which nobody does who reads."""
    assert pace_of(key, sitting(0.001)) == Pace()
    assert pace_of(key, [*sitting(0.001), *sitting(2.0, assessor="bob")]) == pace_of(key, sitting(2.0, assessor="bob"))


def test_one_key_may_decide_all_that_is_left(key):
    """It takes its time once, and the verdicts that it writes have one time."""
    given = sitting(0.5)
    together = [replace(one, at=given[i - i % NUGGETS + NUGGETS - 1].at) for i, one in enumerate(given)]
    assert pace_of(key, together).seconds_a_decision == pytest.approx(pace_of(key, given).seconds_a_decision, rel=0.1)


def test_verdicts_from_elsewhere_say_nothing_of_a_pace(key):
    """Those of an imported file may all have one time."""
    assert pace_of(key, sitting(2.0, source="import")) == Pace()


def test_nobody_is_believed_to_be_a_hundred_times_as_fast(key):
    assert pace_of(key, sitting(0.12)) == Pace().times(FASTEST)
    assert pace_of(key, sitting(7.0)) == Pace().times(SLOWEST)
