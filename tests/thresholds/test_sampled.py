"""Models from posterior draws: what they answer, by a slower way, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from nuggeteer.errors import NuggeteerError
from nuggeteer.scoring.scorer import score
from nuggeteer.thresholds import FixedThreshold, sampled
from nuggeteer.thresholds.model import AnswerSet, Build, Units
from nuggeteer.thresholds.sampled import SampledModel

usual = Units.of_scores
RNG = np.random.default_rng(0)
POSTERIOR = {"slope": RNG.uniform(5, 20, 50), "theta": RNG.random((50, 4))}


def logistic(pairs, p):
    return expit(p["slope"][:, None] * (pairs.scores - p["theta"][:, pairs.nugget]))


def model_of(probability=logistic, posterior=POSTERIOR, nuggets=4, **more) -> SampledModel:
    return SampledModel("test", nuggets, posterior, probability, **more)


@pytest.mark.parametrize("block", [1, 170, 1 << 21])
def test_chances_are_the_function_at_each_draw(monkeypatch, block):
    """However many are worked out at once."""
    monkeypatch.setattr(sampled, "BLOCK", block)
    scores, nugget = RNG.random(13), RNG.integers(0, 3, 13)
    draws = model_of().draw(50, seed=1)
    chances = draws.chances(usual(scores, nugget))
    assert chances.shape == (13, 50)
    for draw in range(50):
        slope, theta = draws.parameters["slope"][draw], draws.parameters["theta"][draw]
        assert chances[:, draw] == pytest.approx(expit(slope * (scores - theta[nugget])), rel=1e-6)


@pytest.mark.parametrize("count", [20, 50, 120])
def test_draws_are_the_posteriors_each_as_often_as_can_be(count):
    drawn = model_of().draw(count, seed=3)
    assert len(drawn.parameters["theta"]) == count
    times = [(drawn.parameters["slope"] == slope).sum() for slope in POSTERIOR["slope"]]
    assert set(times) <= {count // 50, -(-count // 50)}
    for slope, theta in zip(drawn.parameters["slope"], drawn.parameters["theta"], strict=True):
        assert (POSTERIOR["theta"][POSTERIOR["slope"] == slope] == theta).all()


def test_the_same_seed_gives_the_same_draws_and_another_others():
    one, same, other = (model_of().draw(30, seed).parameters["slope"] for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_a_threshold_is_where_a_yes_becomes_the_likelier():
    model = model_of()
    for nugget, threshold in enumerate(model.threshold(np.arange(4))):
        at, before = (expected(model, score, nugget) for score in (threshold, (np.sqrt(threshold) - 0.01) ** 2))
        assert at >= 0.5 > before
    never = model_of(lambda pairs, p: np.full((50, len(pairs)), 0.4))
    assert np.isnan(never.threshold(np.array([2, 2]))).all()


def expected(model, score, nugget) -> float:
    return float(model.draw(50, 0).chances(usual(np.array([score]), np.array([nugget]))).mean())


def test_the_effect_of_a_group_is_drawn_once_and_for_each_its_own():
    def for_group(p, group, rng):
        return {**p, "shift": np.zeros(len(p["slope"])) if group == "judged" else rng.standard_normal(len(p["slope"]))}

    def shifted(pairs, p):
        return expit(p["shift"][:, None] + pairs.scores)

    draws = model_of(shifted, for_group=for_group).draw(40, seed=0)

    def of_system(name):
        one = usual(np.array([0.5]), np.array([0]))
        where, key = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint64)
        answers = AnswerSet.without_pieces(where, where, (Build(name, "any run"),), key)
        return draws.chances(replace(one, answers=answers))[0]

    judged, new, again, another = map(of_system, ("judged", "a", "a", "b"))
    assert np.ptp(judged) == 0
    assert (new == again).all()
    assert np.abs(np.corrcoef(new, another)[0, 1]) < 0.6


def test_the_signature_knows_the_draws():
    same = model_of(posterior={name: array.copy() for name, array in POSTERIOR.items()})
    other = model_of(posterior={**POSTERIOR, "slope": POSTERIOR["slope"] + 1e-9})
    assert model_of().signature == same.signature != other.signature
    assert model_of().signature.startswith("sampled(test,draws=50,posterior=")


@pytest.mark.parametrize(
    "posterior", [{}, {"a": np.float64(1)}, {"a": np.zeros(0)}, {"a": np.zeros(2), "b": np.zeros(3)}]
)
def test_a_posterior_without_equally_many_draws_is_refused(posterior):
    with pytest.raises(NuggeteerError, match="posterior of 'test' must all have one row"):
        model_of(posterior=posterior)


@pytest.mark.parametrize(
    ("probability", "what"),
    [
        (lambda pairs, p: np.zeros(len(pairs)), "must be draws × pairs, \\(5, 2\\), and is \\(2,\\)"),
        (lambda pairs, p: np.full((5, len(pairs)), 1.1), "not between 0 and 1"),
        (lambda pairs, p: np.full((5, len(pairs)), np.nan), "not between 0 and 1"),
    ],
)
def test_what_is_no_probability_is_refused(probability, what):
    with pytest.raises(NuggeteerError, match=what):
        model_of(probability).draw(5, 0).chances(usual(np.array([0.1, 0.2]), np.array([0, 1])))


def test_a_model_of_hard_steps_scores_as_a_fixed_threshold_does(sample):
    def above(pairs, p):
        return np.broadcast_to(pairs.scores > 0.2, (len(p["x"]), len(pairs)))

    hard = SampledModel("hard", len(sample.key.nuggets), {"x": np.zeros(10)}, above)
    runs = ["build-101", "build-102"]
    ours, fixed = score(sample, runs, model=hard), score(sample, runs, model=FixedThreshold(0.2))
    for one, other in zip(ours.runs, fixed.runs, strict=True):
        assert one.measures["f3"].value == pytest.approx(other.measures["f3"].value)
        assert (one.outcome.found == other.outcome.found).all()
        assert one.measures["f3"].judging == pytest.approx((one.measures["f3"].value,) * 2)
    assert "threshold:sampled(hard" in ours.signature
