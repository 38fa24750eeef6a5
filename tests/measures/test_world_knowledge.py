"""Nuggets that take knowledge of the world credit who finds them and cost nobody recall (Babko-Malaya 2008, §4)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.measures import DEFAULT, FIXED, Answers, parse
from nuggeteer.records import WORLD_KNOWLEDGE, AnswerKey, Nugget, Question
from nuggeteer.scoring.scorer import score

SCORES = [name for name in FIXED if name.endswith("_score")]
RECALLS = ["recall", "f3", "pyramid_f3", "macro_f3", *SCORES]


def key_of(kinds: list[tuple[str, str, bool]]) -> AnswerKey:
    """Nuggets of one question: importance, votes (V or O), and whether they take knowledge of the world."""
    nuggets = [
        Nugget(
            "q",
            str(i),
            ("x",),
            importance,
            votes={f"a{k}": "vital" if vote == "V" else "okay" for k, vote in enumerate(votes)},
            tags=(WORLD_KNOWLEDGE, "other") if knowledge else ("other",),
        )
        for i, (importance, votes, knowledge) in enumerate(kinds)
    ]
    return make_key([Question("q", "")], nuggets)


def value(measure: str, key: AnswerKey, found: list[int], partly: list[int] | None = None, length: int = 100) -> float:
    half = np.array(partly or [0] * len(found), dtype=bool)
    return float(parse(measure)(Answers(key, np.array(found, dtype=bool), half, np.array([length])))[0])


def test_recall_leaves_it_out_unless_it_is_found():
    """Two ordinary vital nuggets and one that takes knowledge: 1/2 without it, 2/3 with it."""
    key = key_of([("vital", "", False), ("vital", "", False), ("vital", "", True)])
    assert value("recall", key, [1, 0, 0]) == 1 / 2
    assert value("recall", key, [1, 0, 1]) == pytest.approx(2 / 3)
    assert value("recall", key, [1, 1, 0]) == 1
    assert value("f3", key, [1, 1, 0]) == 1


def test_pyramid_and_macro_f_by_hand():
    """Weights 1, ½ and ½, the last of knowledge. First and last found: pyramid recall 1.5 / 2; under a0, who calls the
    last vital, 2/3, under a1, who calls it okay, 1/1. Only the first found: 1 / 1.5; under a0 1/2, under a1 1."""
    key = key_of([("vital", "VV", False), ("okay", "VO", False), ("okay", "VO", True)])

    def f3(recall):
        return 10 * recall / (9 + recall)  # in 100 characters, precision is 1

    assert value("pyramid_f3", key, [1, 0, 1]) == pytest.approx(f3(0.75))
    assert value("macro_f3", key, [1, 0, 1]) == pytest.approx((f3(2 / 3) + f3(1)) / 2)
    assert value("pyramid_f3", key, [1, 0, 0]) == pytest.approx(f3(1 / 1.5))
    assert value("macro_f3", key, [1, 0, 0]) == pytest.approx((f3(1 / 2) + f3(1)) / 2)


def test_partial_support_weighs_what_it_earns():
    key = key_of([("vital", "", False), ("vital", "", False), ("vital", "", True)])
    assert value("vital_score", key, [1, 0, 0], [0, 0, 1]) == pytest.approx(1.5 / 2.5)
    assert value("strict_vital_score", key, [1, 0, 0], [0, 0, 1]) == 1 / 2


def test_a_question_of_nothing_else_is_as_if_it_had_none_whoever_answers():
    """Whether a question counts must not depend on who answers it: nobody was asked for anything."""
    key = key_of([("vital", "V", True), ("okay", "O", False)])
    for found in ([0, 0], [1, 0], [1, 1]):
        assert all(math.isnan(value(measure, key, found)) for measure in ("recall", "f3", "pyramid_f3", "macro_f3"))
        assert value("vital_score", key, found) == 0


kinds = st.lists(
    st.tuples(st.sampled_from(["vital", "okay"]), st.text("VO", min_size=3, max_size=3), st.booleans()),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(kinds, st.data())
def test_who_does_not_find_it_scores_as_if_it_were_not_in_the_key(kinds, data):
    ordinary = [kind for kind in kinds if not kind[2]]
    assume(ordinary)
    own = data.draw(st.lists(st.booleans(), min_size=len(ordinary), max_size=len(ordinary)))
    rest = iter(own)
    found = [False if kind[2] else next(rest) for kind in kinds]
    whole, without = key_of(kinds), key_of(ordinary)
    for measure in RECALLS:
        assert value(measure, whole, found) == pytest.approx(value(measure, without, own), nan_ok=True)


@pytest.mark.slow
@given(kinds, st.data())
def test_who_finds_it_never_loses_by_it_and_no_score_is_above_1(kinds, data):
    found = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    partly = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    half = [p and not f for p, f in zip(partly, found, strict=True)]
    key = key_of(kinds)
    own = [i for i, kind in enumerate(kinds) if kind[2] and not found[i]]
    for measure in RECALLS:
        before = value(measure, key, found, half)
        assert math.isnan(before) or 0 <= before <= 1
        for i in own:
            more = [f or k == i for k, f in enumerate(found)]
            after = value(measure, key, more, [h and k != i for k, h in enumerate(half)])
            assert math.isnan(before) == math.isnan(after)
            assert math.isnan(before) or after >= before - 1e-12


@pytest.mark.slow
@given(kinds, st.data())
def test_drawn_verdicts_are_scored_one_by_one(kinds, data):
    size = len(kinds)
    draws = data.draw(st.lists(st.lists(st.booleans(), min_size=size, max_size=size), min_size=1, max_size=3))
    key, none = key_of(kinds), np.zeros(size, dtype=bool)
    for measure in (*DEFAULT, *(one for one in FIXED.values() if not one.by_text)):
        together = measure(Answers(key, np.array(draws), none, np.array([50])))[:, 0]
        alone = [value(measure.name, key, draw, length=50) for draw in draws]
        assert together.tolist() == pytest.approx(alone, nan_ok=True)


def test_score_honours_the_tag_and_its_signature_tells(collect):
    """One of two vital nuggets found; the other is missed, and takes knowledge in one of the collections."""
    nuggets = [{"qid": "q", "nugget": "1", "text": "a ship"}, {"qid": "q", "nugget": "2", "text": "a letter"}]
    tagged = [nuggets[0], {**nuggets[1], "tags": [WORLD_KNOWLEDGE]}]
    other = [nuggets[0], {**nuggets[1], "tags": ["of interest"]}]
    judgements = [{"qid": "q", "nugget": n, "text": "a ship", "verdict": n == "1"} for n in "12"]
    results = [
        score(collect(own, {"run": [("q", "a ship")]}, judgements, folder=name), ["run"], ["recall"])
        for name, own in (("plain", nuggets), ("tagged", tagged), ("other", other))
    ]
    assert [one.runs[0].measures["recall"].value for one in results] == [1 / 2, 1, 1 / 2]
    plain, with_tag, with_other = (one.signature for one in results)
    assert plain == with_other
    assert plain != with_tag
