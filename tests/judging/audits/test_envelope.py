"""Linear functions below and above a measure: against the measure itself, on everything that might be found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from nuggeteer.collection.answer_key import make_key
from nuggeteer.judging.audits.envelope import linear_bounds
from nuggeteer.measures import Answers, parse
from nuggeteer.records import Nugget, Question

MEASURES = (
    "recall",
    "precision",
    "f3",
    "f1",
    "f0.5",
    "pyramid_f3",
    "vital_score",
    "weighted_score",
    "strict_all_score",
)


def question(rng, size, world=0.15):
    nuggets = [
        Nugget(
            "q",
            str(i),
            ("x",),
            str(rng.choice(["vital", "okay", "unrated"], p=[0.5, 0.4, 0.1])),
            weight=float(rng.choice([0, 0.25, 1 / 3, 0.7, 1])),
            tags=("world-knowledge",) if rng.random() < world else (),
        )
        for i in range(size)
    ]
    return make_key([Question("q", "")], nuggets)


def every_outcome(key, open_, found, partly, length, measure):
    """(what is found of the open nuggets, value) of all that might be."""
    count = int(open_.sum())
    outcomes = np.array(list(product([False, True], repeat=count)), dtype=bool).reshape(2**count, count)
    whole = np.repeat((found & ~open_)[None, :], len(outcomes), axis=0)
    whole[:, open_] = outcomes
    values = measure(Answers(key, whole, np.repeat(partly[None, :], len(whole), axis=0), np.array([length])))
    return outcomes, values[:, 0]


@pytest.mark.parametrize("name", MEASURES)
def test_one_is_never_above_and_one_never_below_whatever_is_found(name):
    rng, measure, apart = np.random.default_rng(0), parse(name), []
    for _ in range(120):
        key = question(rng, size := int(rng.integers(1, 8)))
        length = int(rng.choice([0, 50, 200, 500, 1500, 4000]))
        open_, found, partly = rng.random(size) < 0.7, rng.random(size) < 0.5, rng.random(size) < 0.3
        partly &= ~open_ & ~found
        composition = measure.composition(key)
        outcomes, values = every_outcome(key, open_, found, partly, length, measure)
        assert np.isnan(values).all() == (not composition.defined[0])
        if not composition.defined[0]:
            continue
        below, above = linear_bounds(composition, 0, length, open_, found, partly, rng.random(size).round(1))
        assert (below.constant + outcomes @ below.slope <= values + 1e-9).all()
        assert (above.constant + outcomes @ above.slope >= values - 1e-9).all()
        assert np.ptp(values) == 0 or composition.matters[open_].any()
        apart.append(np.mean((above.slope - below.slope) @ outcomes.T + above.constant - below.constant))
    assert np.mean(apart) < 0.2


def test_nuggets_that_count_for_recall_only_have_bounds_too():
    """All that might be found lies on one line then, not in a polygon."""
    weights = {"a": 0.25, "b": 0.7, "c": 0.4, "d": 1.0}
    nuggets = [Nugget("q", name, ("x",), "unrated", weight=weight) for name, weight in weights.items()]
    nuggets.append(Nugget("q", "e", ("x",), "vital", weight=1.0))
    key, measure = make_key([Question("q", "")], nuggets), parse("pyramid_f3")
    found = np.array([False, False, False, False, True])
    outcomes, values = every_outcome(key, ~found, found, ~found & found, 400, measure)
    below, above = linear_bounds(measure.composition(key), 0, 400, ~found, found, ~found & found, np.full(5, 0.5))
    ends = values[[0, -1]]
    assert below.constant + outcomes[[0, -1]] @ below.slope == pytest.approx(ends)  # as high as the ends allow
    assert (below.constant + outcomes @ below.slope <= values + 1e-9).all()
    assert (above.constant + outcomes @ above.slope >= values - 1e-9).all()


@pytest.mark.parametrize("name", ["recall", "strict_vital_score", "vital_score"])
def test_what_is_linear_is_its_own_envelope(name):
    """But for nuggets of world knowledge, whose finding changes what recall is out of."""
    rng, measure = np.random.default_rng(1), parse(name)
    key = question(rng, 6, world=0)
    open_, found, partly = rng.random((3, 6)) < 0.5
    partly &= ~open_ & ~found
    outcomes, values = every_outcome(key, open_, found, partly, 100, measure)
    for line in linear_bounds(measure.composition(key), 0, 100, open_, found, partly, np.full(6, 0.5)):
        assert line.constant + outcomes @ line.slope == pytest.approx(values)


@pytest.mark.parametrize("name", ["precision", "f3", "f1", "pyramid_f3"])
def test_the_one_below_is_as_high_at_the_guesses_as_any_can_be(name):
    """Against a linear program with all 2^n outcomes as constraints; the one above touches the curve there."""
    rng, measure = np.random.default_rng(2), parse(name)
    for _ in range(40):
        size = int(rng.integers(1, 8))
        key = question(rng, size, world=0)
        composition, length = measure.composition(key), int(rng.choice([50, 300, 900, 3000]))
        if not composition.defined[0]:
            continue
        none, all_, guess = np.zeros(size, dtype=bool), np.ones(size, dtype=bool), rng.random(size)
        below, above = linear_bounds(composition, 0, length, all_, none, none, guess)
        outcomes, values = every_outcome(key, all_, none, none, length, measure)
        weight = composition.weight / composition.weight.sum() if composition.weight.any() else composition.weight
        axes = np.column_stack([np.ones(size), weight, composition.count])  # linear in these two, as R and c are
        rows = np.column_stack([np.ones(len(outcomes)), outcomes @ axes[:, 1:]])
        here = np.array([1.0, *(guess @ axes[:, 1:])])
        best = linprog(-here, A_ub=rows, b_ub=values, bounds=[(None, None)] * 3)
        assert below.constant + below.slope @ guess == pytest.approx(-best.fun, abs=1e-9)
        recall, count = here[1], here[2]
        precision = min(100 * count / length, 1)
        square = float(name.removeprefix("pyramid_").removeprefix("f")) ** 2 if name != "precision" else 0
        f = (square + 1) * precision * recall / (square * precision + recall) if recall else 0.0
        assert above.constant + above.slope @ guess == pytest.approx(precision if name == "precision" else f)


def test_macro_f_has_none():
    assert parse("macro_f3").composition(question(np.random.default_rng(0), 3)) is None
