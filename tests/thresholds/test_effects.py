"""The effects of systems: verdicts that were chosen, and systems unlike all others, in simulations of known truth."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from nuggeteer.thresholds.effects import SystemEffects, _Likelihood
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence, Pairs
from nuggeteer.thresholds.prior import PRIOR
from tests.thresholds.test_blind import CELLS, blind_of, written_out
from tests.thresholds.test_smooth import GROUPS, NUGGETS, simulated

LAST = f"g{GROUPS - 1}"


def of_last(evidence: Evidence) -> tuple[Evidence, np.ndarray, Pairs, np.ndarray]:
    """A simulation without the verdicts of one system; that system's pairs, and how likely a yes is to the others."""
    own = evidence.group == GROUPS - 1
    others = evidence.only(~own)
    pairs = evidence.pairs[own]
    return others, own, pairs, fit_smooth(others, PRIOR).probability(pairs)


def with_verdicts(evidence: Evidence, own: np.ndarray, asked: np.ndarray, yes: np.ndarray, represents=None) -> Evidence:
    """The simulation, where only some pairs of the system are judged."""
    places = np.flatnonzero(own)[asked]
    kept = ~own
    kept[places] = True
    verdicts = evidence.yes.copy()
    verdicts[places] = yes
    weights = None
    if represents is not None:
        weights = np.zeros(len(own))
        weights[places] = represents
    return replace(evidence, yes=verdicts, represents=weights).only(kept)


def test_chosen_verdicts_mislead_less_about_a_system_if_they_represent_the_others():
    """A system has more of the doubtful nuggets than its words say, and fewer of the likely ones, which no combination
    of level and sharpness shows. The doubtful pairs are asked for. Then it is taken to be better everywhere, less so in
    each simulation where a verdict counts by the root of the pairs that it was drawn from."""
    errors = {"drawn": [], "chosen": []}
    for seed in range(12):
        evidence, *_ = simulated(seed)
        _, own, pairs, chance = of_last(evidence)
        rng = np.random.default_rng(seed)
        doubtful = np.abs(chance - 0.5) < 0.2
        shift = np.where(doubtful, 1.2, -0.6)
        true = rng.random(len(chance)) < expit(logit(np.clip(chance, 1e-3, 1 - 1e-3)) + shift)
        size = np.where(doubtful, 1.0, 0.08)
        share = np.minimum(60 * size / size.sum(), 1.0)
        asked = np.flatnonzero(rng.random(len(share)) < share)
        for name, represents in (("drawn", 1 / share[asked]), ("chosen", None)):
            fit = fit_smooth(with_verdicts(evidence, own, asked, true[asked], represents), PRIOR)
            rest = np.setdiff1d(np.arange(len(true)), asked)
            errors[name].append(fit.probability(pairs[rest], LAST).mean() - true[rest].mean())
    assert np.mean(errors["chosen"]) > 0.1
    assert np.mean(errors["drawn"]) < 0.8 * np.mean(errors["chosen"])
    assert (np.array(errors["drawn"]) < np.array(errors["chosen"])).all()


def test_a_system_whose_guesses_are_the_wrong_way_round_is_found_out():
    """After 40 verdicts it is unlike all others, and what its words promise is turned around."""
    evidence, *_ = simulated(3)
    _, own, pairs, chance = of_last(evidence)
    rng = np.random.default_rng(1)
    true = rng.random(len(chance)) < 1 - chance
    asked = rng.permutation(len(chance))[:40]
    fit = fit_smooth(with_verdicts(evidence, own, asked, true[asked]), PRIOR)
    at = fit.group_names.index(LAST)
    assert fit.odd[at] > 0.99
    assert fit.odd_effects[at, 2] < -1
    assert np.corrcoef(fit.probability(pairs, LAST), 1 - chance)[0, 1] > 0.8
    assert fit.odd[np.arange(len(fit.odd)) != at] == pytest.approx(0, abs=0.1)


def test_a_usual_system_stays_usual():
    evidence, *_ = simulated(3)
    assert (fit_smooth(evidence, PRIOR).odd < 0.2).all()


def test_weights_of_one_are_no_weights():
    """Where every pair of a system represents itself, its effects are those without a draw."""
    evidence, *_ = simulated(4)
    plain, weighed = (
        fit_smooth(replace(evidence, represents=weights), PRIOR) for weights in (None, np.ones(len(evidence)))
    )
    assert weighed.effects == pytest.approx(plain.effects, rel=1e-9)
    assert weighed.nugget_weights == pytest.approx(plain.nugget_weights)
    assert len(plain.nugget_weights) == NUGGETS


@pytest.mark.parametrize("steepness", [1, 3])
def test_the_likeliest_effects_are_those_that_an_optimizer_finds_from_wherever_they_are_sought(steepness):
    blind, rng = blind_of(4, steepness), np.random.default_rng(4)
    weight, scales = rng.random(CELLS), np.array([0.6, 0.3, 0.2])
    true = written_out(blind, np.array([0.7, -0.3, 0.4]))[blind.place]
    yes = weight * (rng.random(CELLS) < true)
    effects = object.__new__(SystemEffects)
    effects._cells = SimpleNamespace(weight=weight, weight_yes=yes)

    def loss(at):
        p = written_out(blind, at)[blind.place]
        return -(yes @ np.log(p) + (weight - yes) @ np.log1p(-p)) + (at**2 / scales**2).sum() / 2

    expected = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
    for start in (np.zeros(3), np.array([-1.0, 0.5, -0.5]), expected.x):
        found, _ = effects._likelihood_of_effects(blind, scales, start)
        assert found == pytest.approx(expected.x, abs=1e-5)


@pytest.mark.parametrize("steepness", [1, 3])
def test_the_usual_level_makes_up_for_what_the_spreads_add_to_the_expected_score(steepness):
    """Against many points of each spread, written out. Where nearly all is a no, what they add is much."""
    blind, rng = blind_of(5, steepness), np.random.default_rng(5)
    weight, eta = rng.random(CELLS), blind.eta - 6
    blind = replace(blind, eta=eta, x=eta.mean(axis=1), at_rest=()).seeing_effects(weight)
    spreads = np.array([0.6, 0.3, 0.2])
    effects = object.__new__(SystemEffects)
    effects._cells = SimpleNamespace(count=np.ones(CELLS))
    gain = effects._gain(blind, weight, spreads)
    nodes, of_node = np.polynomial.hermite_e.hermegauss(21)

    def expected(effect, level):
        points = [written_out(blind, level * np.eye(3)[0] + at * np.eye(3)[effect]) for at in spreads[effect] * nodes]
        return float(of_node @ np.array([weight @ p[blind.place] for p in points]) / of_node.sum())

    at_rest = float(weight @ written_out(blind, np.zeros(3))[blind.place])
    assert gain[0] == 0
    for effect in (1, 2):
        added = expected(effect, 0.0) / at_rest - 1
        left = expected(effect, -gain[effect] * spreads[effect] ** 2) / at_rest - 1
        assert added > 0.004
        assert abs(left) < 0.1 * added


def test_a_usual_group_that_is_not_at_nought_is_the_beginning_of_every_posterior():
    """Against the integral over all effects of one group, by sampling where the prior is."""
    rng = np.random.default_rng(6)
    root, usual, spreads = rng.normal(0, 1, (3, 3)), np.array([-0.4, 0.1, 0.0]), np.array([0.6, 0.3, 0.2])
    likelihood = _Likelihood(4 * (root @ root.T)[None], rng.normal(0, 3, (1, 3)), np.array([-7.0]))
    (mean,), (covariance,), (log,) = likelihood.posterior(np.eye(3)[None], 2.0, usual, spreads)
    theta = usual + spreads * rng.standard_normal((400_000, 3))
    curve = np.einsum("ni,ij,nj->n", theta, likelihood.curvature[0], theta)
    weight = np.exp((likelihood.log[0] + theta @ likelihood.pull[0] - curve / 2) / 2)
    assert log == pytest.approx(np.log(weight.mean()), abs=0.02)
    assert mean == pytest.approx(weight @ theta / weight.sum(), abs=0.01)
    assert covariance == pytest.approx(np.cov(theta.T, aweights=weight), abs=0.005)


def test_one_system_shows_nothing_of_what_spreads_add_and_several_nearly_all():
    evidence, *_ = simulated(7)
    evidence = replace(evidence, yes=evidence.yes & (np.random.default_rng(7).random(len(evidence)) < 0.1))
    one, several = fit_smooth(evidence.only(evidence.group == 0), PRIOR), fit_smooth(evidence, PRIOR)
    assert one.usual.tolist() == [0, 0, 0]
    assert several.usual[0] < -0.01
    assert several.usual[1:].tolist() == [0, 0]
