"""What carried-over log odds are worth: against other ways to work it out, and in simulations of known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from nuggeteer.thresholds.carrying import OF_LEVEL, OF_WEIGHT, learn_level, learn_weight
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import CarryOver, LeftOut, Opinions, Pairs
from nuggeteer.thresholds.prior import PRIOR
from tests.thresholds.test_smooth import GROUPS, NUGGETS, evidence_of

PER = 12  # pairs of a nugget and a group


def with_texts(seed: int, weight: float, rare: float = 0.0):
    """Verdicts that hang on match scores, nuggets and log odds that are carried over, which deserve this weight."""
    rng = np.random.default_rng(seed)
    nugget = np.tile(np.repeat(np.arange(NUGGETS), PER), GROUPS)
    group = np.repeat(np.arange(GROUPS), NUGGETS * PER)
    scores = rng.random(len(nugget)) ** 2
    carried = np.round(rng.normal(0, 0.8, len(nugget)) ** 3, 4)  # most are small, as they are in fact
    logits = 5 * np.sqrt(scores) - 3.5 - rare + rng.normal(0, 0.7, NUGGETS)[nugget] + weight * carried
    yes = rng.random(len(nugget)) < expit(logits)
    evidence = evidence_of(scores, yes, nugget, group, [f"g{i}" for i in range(GROUPS)], NUGGETS, 6)
    found, pairs = (np.bincount(nugget, w, NUGGETS) for w in (yes, np.ones(len(yes))))
    own = group * NUGGETS + nugget
    of_group = [np.bincount(own, w, NUGGETS * GROUPS) for w in (yes, np.ones(len(yes)))]
    share = (found[nugget] - of_group[0][own] + 0.5) / (pairs[nugget] - of_group[1][own] + 1)
    return replace(evidence, left_out=LeftOut(carried, share))


@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0, 2.5])
def test_the_weight_of_a_simulation_is_found(weight):
    assert learn_weight(with_texts(1, weight)) == pytest.approx(weight, abs=0.15)


def test_the_weight_is_that_of_an_optimizer():
    sample = with_texts(2, 1.7)
    sample = replace(sample, opinions=Opinions(sample.nugget % 3, np.array([[0.0], [0.7], [-0.4]])))
    x = np.column_stack(
        [
            np.ones(len(sample)),
            np.sqrt(sample.scores),
            sample.scores,
            np.log(sample.left_out.share / (1 - sample.left_out.share)),
            sample.opinions.rows[sample.opinions.which],
            sample.left_out.carried,
        ]
    )
    usual = np.array([0, 0, 0, 1, 0, 1])
    precision = np.array([0.01, 0.01, 0.01, 0.1, 0.01, OF_WEIGHT**-2])

    def loss(found):
        logits = x @ found
        value = np.logaddexp(0, logits).sum() - logits @ sample.yes + precision @ (found - usual) ** 2 / 2
        return value, x.T @ (expit(logits) - sample.yes) + precision * (found - usual)

    expected = minimize(loss, usual, jac=True, method="BFGS", options={"gtol": 1e-8}).x[-1]
    assert learn_weight(sample) == pytest.approx(expected, abs=0.006)


def test_a_few_pairs_hardly_change_what_was_believed():
    sample = with_texts(3, 2.5)
    assert learn_weight(sample.only(np.arange(8))) == pytest.approx(1, abs=0.3)


def test_what_speaks_against_the_nugget_is_worth_nothing_and_not_less():
    assert learn_weight(with_texts(4, -1.5)) == 0


@pytest.mark.parametrize("rare", [2.0, 4.0])
def test_with_the_level_systems_have_as_many_nuggets_as_they_have(rare):
    """By other draws. Without the level there are too many, because a yes is rare."""
    sample = with_texts(5, 2.0, rare)
    fit = fit_smooth(replace(sample, left_out=None), PRIOR)
    level = learn_level(sample, 2.0, fit)
    own = sample.nugget * GROUPS + sample.group
    has = (np.bincount(own, sample.yes) > 0).sum()

    def expected(level):
        carried = level + 2.0 * sample.left_out.carried
        pairs = Pairs(sample.scores, sample.nugget, sample.size, carried)
        return fit.draw(400, 5).chances(pairs, None, own).mean(axis=0).sum()

    assert level < -0.1
    assert expected(0.0) > 1.05 * has
    assert expected(level) == pytest.approx(has - level / OF_LEVEL**2, rel=0.015)  # as much as was believed before


def test_the_fit_knows_what_they_are_worth_and_others_are_not_touched():
    sample = with_texts(6, 2.0)
    fit, plain = fit_smooth(sample, PRIOR), fit_smooth(replace(sample, left_out=None), PRIOR)
    assert fit.carry_over.weight == pytest.approx(2.0, abs=0.15)
    assert plain.carry_over == CarryOver(0.0, 1.0)
    for name in ("b", "nugget_weights", "effects", "usual"):
        np.testing.assert_array_equal(getattr(fit, name), getattr(plain, name))
    assert f"carried={fit.carry_over.level:.3g},{fit.carry_over.weight:.3g}" in fit.signature


def test_pairs_that_were_chosen_for_their_log_odds_are_fitted_with_what_these_are_worth():
    sample = with_texts(7, 2.0)
    chosen = np.where(sample.group == 0, sample.left_out.carried, np.nan)
    fit = fit_smooth(replace(sample, carried=chosen), PRIOR)
    weighed = fit_smooth(replace(sample, carried=fit.carry_over(chosen), left_out=None), PRIOR)
    np.testing.assert_array_equal(fit.b, weighed.b)
    assert (fit.b != fit_smooth(replace(sample, carried=chosen, left_out=None), PRIOR).b).any()


def test_nothing_is_made_of_nothing():
    assert CarryOver(-0.5, 2.0)(np.array([np.nan, 0.0, 1.0])).tolist() == [0.0, -0.5, 1.5]


@pytest.mark.parametrize("yes", [True, False])
def test_where_all_verdicts_are_the_same_nothing_is_learned(yes):
    sample = with_texts(8, 2.0).only(np.arange(40))
    assert fit_smooth(replace(sample, yes=np.full(40, yes)), PRIOR).carry_over == CarryOver()
