"""Rubrics: points above 1 and below 0 count in `rubric` alone, and points that are all 1 change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.collection.memory import make_collection
from nuggeteer.measures import ALL, DEFAULT, Answers, applicable, headline, parse
from nuggeteer.records import AnswerKey, Nugget, Question
from nuggeteer.scoring.scorer import score
from nuggeteer.statistics.intervals import Scale, mean_interval

RUBRICS = ("rubric", "strict_rubric")
OTHERS = [m.name for m in ALL if m.name not in RUBRICS and not m.by_text]
points = st.integers(-20, 20).map(float)
share = {"rubric": 0.5, "strict_rubric": 0.0}


def key_of(*weights: float | None, voted: bool = False) -> AnswerKey:
    nuggets = []
    for i, weight in enumerate(weights):
        forbidden = weight is not None and weight < 0
        votes = {"ann": "vital", "bob": "vital" if (weight or 0) > 5 else "okay"} if voted and not forbidden else {}
        nuggets.append(Nugget("q", str(i), ("x",), "forbidden" if forbidden else "vital", weight, votes))
    return make_key([Question("q", "")], nuggets)


def value(measure: str, key: AnswerKey, found: list[bool], partly: list[bool] | None = None) -> float:
    half = np.array(partly or [False] * len(found), dtype=bool)
    return float(parse(measure)(Answers(key, np.array(found, dtype=bool), half, np.array([150])))[0])


def test_the_example_of_the_module():
    key = key_of(5, 3, 2, -4)
    assert value("rubric", key, [True, False, False, True], [False, True, False, False]) == pytest.approx(0.25)
    assert value("strict_rubric", key, [True, False, False, True], [False, True, False, False]) == pytest.approx(0.1)


def test_nothing_is_clipped_and_no_positive_points_leave_it_undefined():
    assert value("rubric", key_of(2, -10), [False, True]) == -5
    assert np.isnan(value("rubric", key_of(-1, -2), [True, False]))
    assert np.isnan(value("rubric", key_of(0.0), [True]))
    assert np.isnan(value("rubric", key_of(1e-300, -1e6), [True, True]))
    assert parse("rubric").least(key_of(1e-300, -1e6)) == 0
    assert value("rubric", key_of(1e-6, -1e6), [True, True]) == pytest.approx(-1e12)


@pytest.mark.parametrize("name", RUBRICS)
@given(st.lists(st.tuples(points, st.sampled_from(["no", "partly", "yes"])), min_size=1, max_size=8))
def test_it_is_what_its_authors_programs_compute(name, criteria):
    """As calculate_compliance_score.py of ResearchRubrics and `calculate_score` of HealthBench add up, written anew."""
    above = sum(w * {"no": 0.0, "partly": share[name], "yes": 1.0}[said] for w, said in criteria)
    below = sum(w for w, _ in criteria if w > 0)
    assume(below > 0)
    key = key_of(*[w for w, _ in criteria])
    found, partly = ([said == word for _, said in criteria] for word in ("yes", "partly"))
    assert value(name, key, found, partly) == pytest.approx(above / below)
    assert value(name, key, found, partly) >= parse(name).least(key) - 1e-12


@given(st.data())
def test_points_that_are_all_1_give_the_unweighted_score(data):
    flags = data.draw(st.lists(st.sampled_from(["no", "partly", "yes"]), min_size=1, max_size=8))
    found, partly = ([said == word for said in flags] for word in ("yes", "partly"))
    ones, plain = key_of(*[1.0] * len(flags)), key_of(*[None] * len(flags))
    for rubric, unweighted in (("rubric", "all_score"), ("strict_rubric", "strict_all_score")):
        assert value(rubric, ones, found, partly) == pytest.approx(value(unweighted, plain, found, partly))
        assert value(rubric, plain, found, partly) == value(rubric, ones, found, partly)
    assert value("strict_rubric", ones, found) == pytest.approx(value("recall", plain, found))


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@given(st.lists(st.tuples(points, st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_no_other_measure_sees_what_is_forbidden(name, criteria):
    """The scores are those of the key without the forbidden nuggets."""
    wanted = [each for each in criteria if each[0] >= 0]
    assume(wanted)
    whole, rest = (key_of(*[w for w, _, _ in some], voted=name == "macro_f3") for some in (criteria, wanted))
    answers = [([f for _, f, _ in some], [p and not f for _, f, p in some]) for some in (criteria, wanted)]
    np.testing.assert_allclose(value(name, whole, *answers[0]), value(name, rest, *answers[1]))


def test_pyramids_do_not_depend_on_the_scale_of_the_weights():
    found = [True, False, True]
    assert value("pyramid_f3", key_of(5, 3, 2), found) == pytest.approx(value("pyramid_f3", key_of(1, 0.6, 0.4), found))


def test_of_a_rubric_the_default_measures_begin_with_its_own():
    assert applicable(DEFAULT, key_of(2, -1))[0].name == "rubric"
    assert headline(key_of(2)).name == "rubric"
    assert headline(key_of(1, 0.5)).name == headline(key_of(None)).name == "f3"
    assert not {"rubric"} & {m.name for m in applicable(DEFAULT, key_of(1, 0.5))}
    assert [m.name for m in applicable(["f1"], key_of(2, -1))] == ["f1"]


def test_its_interval_may_reach_below_0_and_never_below_the_least():
    rng = np.random.default_rng(0)
    values = rng.choice([-2.0, 0.0, 0.5, 1.0], 8)
    interval = mean_interval(values, certain=True, scale=Scale(-2.0, 1.0))
    assert interval.low is not None
    assert interval.high is not None
    assert -2 < interval.low < 0 < interval.high < 1


@pytest.mark.parametrize("questions", [5, 20])
def test_the_interval_of_questions_holds_the_true_mean_as_often_as_it_says(questions):
    """5,000 samples of questions from a world with two positive criteria and one costly claim."""
    rng = np.random.default_rng(1)
    chance, weight = np.array([0.6, 0.4, 0.15]), np.array([3.0, 1.0, -6.0])
    truth = float(chance @ weight) / 4
    inside = 0
    for _ in range(2000):
        values = (rng.random((questions, 3)) < chance) @ weight / 4
        interval = mean_interval(values, certain=True, scale=Scale(-1.5, 1.0))
        inside += interval.low is not None and interval.low <= truth <= (interval.high or 0)
    assert 0.9 < inside / 2000 < 0.985


def test_the_judging_part_is_that_of_a_simulation():
    """Guesses are drawn independently here, so the interval of the draws must be that of Σ points · yes."""
    rng = np.random.default_rng(2)
    chance, draws = np.array([0.5, 0.3, 0.2]), 40_000
    key = key_of(4, 2, -5)
    found = rng.random((draws, 3)) < chance
    values = parse("rubric")(Answers(key, found, np.zeros_like(found), np.array([100])))
    interval = mean_interval(values.mean(axis=0), values, scale=Scale(-5 / 6, 1.0))
    simulated = np.sort([((rng.random(3) < chance) @ [4.0, 2.0, -5.0]) / 6 for _ in range(20_000)])
    assert interval.value == pytest.approx(float(chance @ [4.0, 2.0, -5.0]) / 6, abs=0.01)
    assert interval.judging == pytest.approx((simulated[500], simulated[-500]), abs=0.01)


def test_a_key_with_points_is_scored_from_its_files():
    """Weights above 1, a negative one, and the word forbidden without a weight, which costs 1."""
    nuggets = [
        {"qid": "q1", "nugget": "1", "text": "drink water", "importance": "vital", "weight": 5},
        {"qid": "q1", "nugget": "2", "text": "give aspirin", "weight": -4},
        {"qid": "q1", "nugget": "3", "text": "ask a witch", "importance": "forbidden"},
    ]
    texts = ["drink water", "give aspirin", "ask a witch"]
    verdicts = [
        {"qid": "q1", "nugget": str(n), "text": t, "verdict": n == i} for i, t in enumerate(texts, 1) for n in (1, 2, 3)
    ]
    collection = make_collection(nuggets, {"new": [{"qid": "q1", "text": text} for text in texts]}, judgements=verdicts)
    assert not collection.problems
    result = score(collection)["new"]
    assert result.measures["rubric"].value == 0.0
    assert result.measures["recall"].value == 1.0
    assert not score(collection).notes
    assert score(collection, measures=["f3"]).notes == ("F(3) leaves out the 2 forbidden nuggets; rubric counts them.",)


@pytest.mark.parametrize("name", [*RUBRICS, "f3"])
def test_what_is_partly_supported_in_all_draws_counts_in_each(name, monkeypatch):
    """However few draws are worked on at a time: of many nuggets, they are not all worked on together."""
    measure = next(one for one in ALL if one.name == name)
    key, rng = key_of(5, 3, 2, 4), np.random.default_rng(0)
    found = rng.random((7, 4)) < 0.4
    partly = np.array([[True, False, True, False]]) if name in RUBRICS else np.zeros((1, 4), dtype=bool)
    partly = partly & ~found.any(axis=0)
    alone = [measure(Answers(key, one, partly[0], np.array([150])))[0] for one in found]
    for block in (4, 8, 1000):
        monkeypatch.setattr("nuggeteer.measures.base.BLOCK", block)
        np.testing.assert_allclose(measure(Answers(key, found, partly, np.array([150])))[:, 0], alone)
