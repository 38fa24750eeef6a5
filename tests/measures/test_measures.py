"""Measures: examples worked by hand, edge cases, properties, and AutoNuggetizer's own numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.errors import NuggeteerError
from nuggeteer.measures import DEFAULT, FIXED, Answers, parse
from nuggeteer.records import AnswerKey, Nugget, Question
from tests.conftest import shared

SIX = [name for name in FIXED if name.endswith("_score")]


def key_of(*questions: list[Nugget]) -> AnswerKey:
    return make_key([Question(q[0].qid, "") for q in questions], [n for q in questions for n in q])


def nugget(
    name: str, importance: str = "vital", votes: str = "", weight: float | None = None, qid: str = "q"
) -> Nugget:
    cast = {f"a{i}": "vital" if v == "V" else "okay" for i, v in enumerate(votes)}
    return Nugget(qid, name, ("x",), importance, weight, cast)


def value(measure: str, key: AnswerKey, found: list[int], length: int, partly: list[int] | None = None) -> float:
    flags = np.array(found, dtype=bool)
    half = np.array(partly or [0] * len(found), dtype=bool)
    return float(parse(measure)(Answers(key, flags, half, np.array([length])))[0])


VVO = key_of([nugget("1"), nugget("2"), nugget("3", "okay")])


@pytest.mark.parametrize(
    ("found", "length", "recall", "precision", "f3"),
    [
        # one vital and one okay nugget in 250 characters: allowance 200, precision 0.8
        ([1, 0, 1], 250, 0.5, 0.8, 4 / 7.7),
        # exactly the allowance, one more, one less: 1 − (l − a)/l is continuous there
        ([1, 0, 1], 200, 0.5, 1.0, 5 / 9.5),
        ([1, 0, 1], 199, 0.5, 1.0, 5 / 9.5),
        ([1, 0, 1], 400, 0.5, 0.5, 2.5 / 5.0),
        # only an okay nugget: precision, but no recall and so no F
        ([0, 0, 1], 100, 0.0, 1.0, 0.0),
        ([0, 0, 0], 100, 0.0, 0.0, 0.0),
        ([1, 1, 1], 100, 1.0, 1.0, 1.0),
        # no answer at all
        ([0, 0, 0], 0, 0.0, 0.0, 0.0),
    ],
)
def test_f3_recall_and_precision_worked_by_hand(found, length, recall, precision, f3):
    assert value("recall", VVO, found, length) == pytest.approx(recall)
    assert value("precision", VVO, found, length) == pytest.approx(precision)
    assert value("f3", VVO, found, length) == pytest.approx(f3)


def test_f_of_other_betas_worked_by_hand():
    assert value("f1", VVO, [1, 0, 1], 250) == pytest.approx(2 * 0.8 * 0.5 / 1.3)
    assert value("f0.5", VVO, [1, 0, 1], 250) == pytest.approx(1.25 * 0.8 * 0.5 / (0.25 * 0.8 + 0.5))


def test_a_question_without_vital_nuggets_has_no_f():
    key = key_of([nugget("1", "okay"), nugget("2", "okay")])
    assert math.isnan(value("f3", key, [1, 0], 80))
    assert math.isnan(value("recall", key, [1, 0], 80))
    assert value("precision", key, [1, 0], 80) == 1.0


def test_unrated_nuggets_earn_no_allowance_and_no_recall():
    key = key_of([nugget("1"), nugget("2", "unrated")])
    assert value("precision", key, [1, 1], 200) == 0.5
    assert value("recall", key, [1, 1], 200) == 1.0


def test_graded_votes_worked_by_hand():
    """Votes .7 and .5, and .3 and vital, of two assessors: weights .6 and .65. Each assessor's own recall of the first
    nugget is .7 and 1/3; the answer is short, so precision is 1."""
    key = make_key(
        [Question("q", "")],
        [
            Nugget("q", "1", ("x",), "vital", votes={"a": 0.7, "b": 0.5}),
            Nugget("q", "2", ("x",), "okay", votes={"a": 0.3, "b": "vital"}),
        ],
    )
    micro = 0.6 / 1.25
    assert value("pyramid_f3", key, [1, 0], 90) == pytest.approx(10 * micro / (9 + micro))
    each = [10 * recall / (9 + recall) for recall in (0.7, 0.5 / 1.5)]
    assert value("macro_f3", key, [1, 0], 90) == pytest.approx(sum(each) / 2)


def test_pyramid_worked_by_hand():
    """Weights 1, ⅔, ⅓ of three votes: the last two found are 1 of 2; 250 characters, allowance 200."""
    key = key_of([nugget("1", votes="VVV"), nugget("2", votes="VVO"), nugget("3", "okay", votes="VOO")])
    assert value("pyramid_f3", key, [0, 1, 1], 250) == pytest.approx(10 * 0.8 * 0.5 / (9 * 0.8 + 0.5))
    # Under a0 the recall is 2/3, under a1 1/2, under a2 0.
    each = [10 * 0.8 * r / (9 * 0.8 + r) for r in (2 / 3, 1 / 2, 0)]
    assert value("macro_f3", key, [0, 1, 1], 250) == pytest.approx(sum(each) / 3)


def test_pyramid_weights_come_from_votes_then_weight_then_importance():
    key = key_of([nugget("1", votes="VO", weight=0.9), nugget("2", weight=0.25), nugget("3"), nugget("4", "okay")])
    assert key.weight.tolist() == [0.5, 0.25, 1.0, 0.0]


def test_binary_votes_make_the_pyramid_the_official_f():
    """Dang & Lin's footnote 1: weights of one for vital and zero for okay give back the binary F."""
    key = key_of([nugget("1", weight=1.0), nugget("2", weight=1.0), nugget("3", "okay", weight=0.0)])
    for found in ([1, 0, 1], [0, 0, 1], [1, 1, 0]):
        assert value("pyramid_f3", key, found, 321) == value("f3", VVO, found, 321)


def test_an_assessor_without_vital_votes_is_left_out_of_macro_f():
    key = key_of([nugget("1", votes="VO"), nugget("2", votes="VO")])
    assert value("macro_f3", key, [1, 0], 100) == pytest.approx(10 * 0.5 / (9 + 0.5))


def test_all_weights_zero_leave_pyramid_and_macro_undefined():
    key = key_of([nugget("1", "okay", votes="OO"), nugget("2", "okay", votes="OO")])
    assert math.isnan(value("pyramid_f3", key, [1, 0], 10))
    assert math.isnan(value("macro_f3", key, [1, 0], 10))


@pytest.mark.parametrize(("importance", "weight"), [("forbidden", -1.0), ("unrated", None)])
def test_precision_is_undefined_where_nothing_could_earn_it(importance, weight):
    """As recall is. A question with nothing but what is forbidden pulled the mean towards 0."""
    key = key_of([nugget("1")], [nugget("1", importance, weight=weight, qid="r")])
    asked = Answers(key, np.array([True, False]), np.zeros(2, dtype=bool), np.array([50, 50]))
    for name in ("precision", "recall", "f3"):
        one, other = parse(name)(asked)
        assert one == 1.0
        assert math.isnan(other), name
    composition = parse("precision").composition(key)
    assert composition.asks.tolist() == composition.defined.tolist() == [True, False]


def test_pyramids_do_not_apply_without_votes_or_weights():
    applies = {m.name: m.applies(VVO) for m in DEFAULT}
    assert applies == {"f3": True, "recall": True, "precision": True, "pyramid_f3": False, "macro_f3": False}


def test_autonuggetizers_six_worked_by_hand():
    """Vital: supported, partly, not; okay: supported, partly; one unrated, supported."""
    kinds = ["vital"] * 3 + ["okay"] * 2 + ["unrated"]
    key = key_of([nugget(str(i), kind) for i, kind in enumerate(kinds)])
    found, partly = [1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 1, 0]
    expected = {
        "strict_vital_score": 1 / 3,
        "vital_score": 1.5 / 3,
        "strict_all_score": 3 / 6,
        "all_score": 4 / 6,
        "strict_weighted_score": (1 + 0.5) / (3 + 1),
        "weighted_score": (1.5 + 0.75) / (3 + 1),
    }
    assert {m: value(m, key, found, 1, partly) for m in SIX} == pytest.approx(expected)


def test_autonuggetizers_scores_of_an_empty_set_are_zero():
    key = key_of([nugget("1", "okay")])
    assert value("vital_score", key, [1], 1) == 0.0


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("run", ["command-r-plus", "gpt4o"])
def test_autonuggetizers_own_metrics_are_reproduced(run):
    """All rows of the public assignments, garbled ones too, give its metrics files' numbers to 1e-9."""
    folder = shared("autonuggetizer")
    rows = lines(folder / f"assignments.{run}.jsonl")
    expected = {row["qid"]: row for row in lines(folder / f"metrics.{run}.jsonl")}
    assert len(rows) == len(expected) == 100
    for row in rows:
        kinds = [n["importance"] if n["importance"] in ("vital", "okay") else "unrated" for n in row["nuggets"]]
        key = key_of([nugget(str(i), kind) for i, kind in enumerate(kinds)])
        found = [n["assignment"] == "support" for n in row["nuggets"]]
        partly = [n["assignment"] == "partial_support" for n in row["nuggets"]]
        for name in SIX:
            assert value(name, key, found, 1, partly) == pytest.approx(expected[row["qid"]][name], abs=1e-9)


nuggets = st.lists(
    st.tuples(st.sampled_from(["vital", "okay"]), st.text("VO", min_size=3, max_size=3)), min_size=1, max_size=6
)


@given(kinds=nuggets, data=st.data(), length=st.integers(1, 2000), beta=st.sampled_from([0.5, 1, 3, 5]))
def test_macro_f_is_not_zero_where_pyramid_f_is_not(kinds, data, length, beta):
    """Proved in Dang & Lin §4.1."""
    key = key_of([nugget(str(i), kind, votes) for i, (kind, votes) in enumerate(kinds)])
    found = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    pyramid = value(f"pyramid_f{beta:g}", key, found, length)
    assume(pyramid > 0)
    assert value(f"macro_f{beta:g}", key, found, length) > 0


@pytest.mark.slow
@given(kinds=nuggets, data=st.data(), length=st.integers(0, 2000))
def test_finding_one_more_vital_nugget_never_lowers_a_measure(kinds, data, length):
    """The text stays the same; only a nugget more is seen in it."""
    key = key_of([nugget(str(i), kind, votes) for i, (kind, votes) in enumerate(kinds)])
    found = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    missing = [i for i, (kind, _) in enumerate(kinds) if kind == "vital" and not found[i]]
    assume(missing)
    more = [f or i == missing[0] for i, f in enumerate(found)]
    for measure in ["recall", "precision", "f3", "pyramid_f3", "macro_f3", *SIX]:
        before, after = value(measure, key, found, length), value(measure, key, more, length)
        assert math.isnan(before) or after >= before - 1e-12


@given(kinds=nuggets, data=st.data(), length=st.integers(0, 2000))
def test_every_measure_lies_between_0_and_1(kinds, data, length):
    key = key_of([nugget(str(i), kind, votes) for i, (kind, votes) in enumerate(kinds)])
    found = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    for measure in ["recall", "precision", "f3", "pyramid_f3", "macro_f3", *SIX]:
        score = value(measure, key, found, length)
        assert math.isnan(score) or 0 <= score <= 1


@pytest.mark.slow
@given(kinds=nuggets, data=st.data(), length=st.integers(0, 2000))
def test_the_order_of_nuggets_never_matters(kinds, data, length):
    found = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    order = data.draw(st.permutations(range(len(kinds))))

    def scores(places):
        key = key_of([nugget(str(i), kinds[i][0], kinds[i][1]) for i in places])
        return [value(m, key, [found[i] for i in places], length) for m in ("f3", "pyramid_f3", "macro_f3", *SIX)]

    assert scores(order) == pytest.approx(scores(range(len(kinds))), nan_ok=True)


def test_measures_take_many_draws_at_once():
    """Axes before the nuggets are kept: three draws of two questions give 3 × 2 values."""
    key = key_of([nugget("1", qid="p"), nugget("2", "okay", qid="p")], [nugget("1", qid="r")])
    draws = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=bool)
    answers = Answers(key, draws, np.zeros(3, bool), np.array([100, 400]))
    together = parse("f3")(answers)
    alone = [parse("f3")(Answers(key, d, np.zeros(3, bool), np.array([100, 400]))) for d in draws]
    assert together.shape == (3, 2)
    assert together.tolist() == np.stack(alone).tolist()


@pytest.mark.parametrize("weight", [[1] * 200, [-1] * 200, [True, False] * 100, [3] * 200, [0.5] * 200, [1e9, 1] * 100])
def test_sums_over_many_nuggets_are_whole_numbers_however_they_are_added(weight):
    """Small weights are added up in bytes, as long as no sum leaves a byte."""
    key = key_of(*([nugget(str(i), qid=f"q{q}") for i in range(100)] for q in range(2)))
    found = np.random.default_rng(0).random((300, 200)) < 0.9
    found[0] = True
    sums = Answers(key, found, np.zeros_like(found), np.ones(2)).found_weight(np.array(weight))
    assert (sums == (found * np.array(weight)).reshape(300, 2, 100).sum(axis=2)).all()


@pytest.mark.parametrize("name", ["f", "f0", "F3", "pyramid", "vital", "f3 ", "f3.", ""])
def test_an_unknown_measure_is_named_and_the_known_ones_listed(name):
    with pytest.raises(NuggeteerError, match="there are f3"):
        parse(name)


@pytest.mark.parametrize("measure", [name for name, one in FIXED.items() if not one.by_text])
def test_many_draws_are_measured_in_blocks_of_the_same_values(measure, monkeypatch):
    """Otherwise a key of 100,000 questions takes gigabytes for each step of a formula."""
    rng = np.random.default_rng(0)
    questions = [
        [nugget(str(i), rng.choice(["vital", "okay"]), "VO", qid=f"q{q}") for i in range(q % 3 + 1)] for q in range(9)
    ]
    key = key_of(*questions)
    found, partly = (rng.random((len(key.nuggets), 100)) < 0.5 for _ in range(2))
    answers = Answers(key, found.T, (partly & ~found).T, rng.integers(0, 500, 9))
    whole, seen = parse(measure)(answers), []
    monkeypatch.setattr("nuggeteer.measures.base.BLOCK", 7 * len(key.nuggets))
    monkeypatch.setattr(Answers, "some", lambda self, draws, some=Answers.some: seen.append(draws) or some(self, draws))
    np.testing.assert_array_equal(parse(measure)(answers), whole)
    assert len(seen) == 15
