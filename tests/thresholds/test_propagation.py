"""Expectation propagation against ways that share nothing with it: an integral over the logits, the same fixed point
with one dense matrix, and worlds of which the truth is known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, log_expit, logit
from scipy.stats import chisquare

from nuggeteer.thresholds.model import AnswerSet, Build, Units
from nuggeteer.thresholds.prior import Prior
from nuggeteer.thresholds.propagation import ROUNDS, enough_of, fit_smooth
from tests.thresholds.worlds import SPREADS, World, covariance, evidence_of, world

# Two clues; as a collection has them.
PRIOR = Prior(("one", "window"), np.array([-0.8, 3.0]), np.array([[1.0, -0.4], [-0.4, 2.0]]), 1.2, 0.7, 0.3, 0.4, 0.8)
FIRM = replace(PRIOR, weight=1e12)  # the spreads are as they are


def logits_given(prior: Prior, one: World, judged: np.ndarray, nodes: int = 24):
    """By brute force over the judged logits: the log evidence, and their mean and covariance."""
    mean = (one.units.clues @ prior.b)[judged]
    root = np.linalg.cholesky(covariance(prior, prior.spreads, one)[np.ix_(judged, judged)])
    at, weight = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*[at] * len(judged), indexing="ij")], axis=1)
    log_weight = sum(np.log(weight / weight.sum())[np.searchsorted(at, axis)] for axis in grid.T)
    values = mean + grid @ root.T
    log_joint = log_weight + log_expit(np.where(one.yes[judged], 1, -1) * values).sum(axis=1)
    evidence = np.logaddexp.reduce(log_joint)
    mass = np.exp(log_joint - evidence)
    means = mass @ values
    return float(evidence), means, (values - means).T @ (mass[:, None] * (values - means))


def dense_propagation(prior_mean, prior_covariance, yes):
    """Expectation propagation as textbooks have it (Rasmussen & Williams 2006, algorithm 3.5): the log evidence, and
    the mean and covariance of the logits."""
    sign, at = np.where(yes, 1.0, -1.0), np.linspace(-9, 9, 1801)
    weight = np.exp(-0.5 * at**2)
    weight /= weight.sum()
    precision, shift = np.full(len(sign), 1e-6), np.zeros(len(sign))
    for _ in range(200):
        root = np.sqrt(precision)[:, None]
        inside = np.linalg.inv(np.eye(len(sign)) + root * prior_covariance * root.T)
        after = prior_covariance - prior_covariance @ (root * inside * root.T) @ prior_covariance
        mean = prior_mean + after @ (shift - precision * prior_mean)
        cavity = 1 / (1 / np.diag(after) - precision)
        centre = cavity * (mean / np.diag(after) - shift)
        values = centre[:, None] + np.sqrt(cavity)[:, None] * at
        chance = expit(sign[:, None] * values) * weight
        total = chance.sum(axis=1)
        first = (chance * values).sum(axis=1) / total
        second = (chance * values**2).sum(axis=1) / total - first**2
        before = shift.copy()
        precision += 0.5 * (1 / second - 1 / cavity - precision)
        shift += 0.5 * (first / second - centre / cavity - shift)
        if np.abs(shift - before).max() < 1e-9:
            break
    # The integral of the prior and the sites, and what makes each site as large as what it stands for.
    site_mean = shift / precision
    spread = prior_covariance + np.diag(1 / precision)
    away = site_mean - prior_mean
    log_evidence = -0.5 * (np.linalg.slogdet(spread)[1] + away @ np.linalg.solve(spread, away))
    log_evidence += np.log(total).sum() + 0.5 * np.log(cavity + 1 / precision).sum()
    log_evidence += 0.5 * ((centre - site_mean) ** 2 / (cavity + 1 / precision)).sum()
    return float(log_evidence), mean, after


def given_logits(prior: Prior, spreads, one: World, judged, mean, after):
    """What normal theory says of all units and effects, given the mean and covariance of the judged logits: their
    means and covariances, effects in the order of the core (b, systems, builds) and then the others."""
    clues, parts = np.asarray(one.units.clues, dtype=float), [prior.b_covariance]
    design = [clues]
    for name in ("system", "build", "nugget", "question", "answer"):
        spread, size = spreads[SPREADS.index(name)], len(one.effects[name])
        parts.append(spread**2 * np.eye(size))
        design.append((one.place[name][:, None] == np.arange(size)).astype(float))
    before = np.zeros((sum(map(len, parts)),) * 2)
    at = 0
    for part in parts:
        before[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    of_effects = np.concatenate(design, axis=1)
    every = np.concatenate([np.eye(at), of_effects])  # effects, then logits
    prior_mean = every @ np.concatenate([prior.b, np.zeros(at - len(prior.b))])
    across = every @ before @ of_effects[judged].T
    gain = across @ np.linalg.pinv(of_effects[judged] @ before @ of_effects[judged].T, 1e-10, hermitian=True)
    moved = prior_mean + gain @ (mean - prior_mean[at + judged])
    own = every @ before @ every.T - gain @ (across.T - after @ gain.T)
    return moved, own, at


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_it_is_near_the_integral(seed):
    """Four verdicts, of which some share a nugget, an answer, a build: their logits by brute force, and what follows
    from these for the clues, the systems and the builds."""
    rng = np.random.default_rng(seed)
    one = world(rng, FIRM, nuggets=(2, 1), spreads=FIRM.spreads)
    judged = np.sort(rng.permutation(len(one.yes))[:4])
    fit = fit_smooth(one.judged(judged), FIRM)
    log_evidence, mean, after = logits_given(FIRM, one, judged)
    moved, own, _ = given_logits(FIRM, FIRM.spreads, one, judged, mean, after)
    size = len(fit.core)
    known = size == 2 + len(one.effects["system"]) + len(one.effects["build"])
    which = np.arange(size) if known else np.arange(2)
    spread = np.sqrt(np.diag(own))[which]
    assert fit.log10_evidence * np.log(10) == pytest.approx(log_evidence, abs=0.01)
    assert np.abs(fit.core[which] - moved[which]).max() < 0.01 * spread.min()
    assert np.sqrt(np.diag(fit.core_covariance))[which] == pytest.approx(spread, rel=0.01)


BUILDS = (Build("x", "x1"), Build("x", "x2"), Build("y", "y1"), Build("y", "y2"), Build("z", "z1"))
NUGGETS = (3, 2, 5, 1, 4, 3)


def some_judged(seed: int, questions: int = 5) -> tuple[World, np.ndarray]:
    """A world, and some verdicts: on three builds of two systems, and not on all questions, nuggets and answers."""
    rng = np.random.default_rng(seed)
    one = world(rng, PRIOR, NUGGETS, BUILDS)
    asked = (one.place["build"] < 3) & (one.place["question"] < questions)
    return one, np.flatnonzero(asked & (rng.random(len(asked)) < 0.6))


def dense_fit(one: World, judged: np.ndarray, prior: Prior):
    """As `fit_smooth` does it, with the spreads by EM and one matrix: the log evidence, the spreads, and the means and
    covariance of `given_logits`."""
    spreads = np.array(prior.spreads)
    for round_ in range(ROUNDS):
        mean = (one.units.clues @ prior.b)[judged]
        own = covariance(prior, spreads, one)[np.ix_(judged, judged)]
        evidence, mean, after = dense_propagation(mean, own, one.yes[judged])
        moved, spread, at = given_logits(prior, spreads, one, judged, mean, after)
        if round_ == ROUNDS - 1:
            break
        squares, place, learned = moved**2 + np.diag(spread), len(prior.b), dict[str, float]()
        for name in ("system", "build", "nugget", "question", "answer"):
            some = place + np.unique(one.place[name][judged])
            first = prior.weight * prior.spreads[SPREADS.index(name)] ** 2
            learned[name] = np.sqrt((first + squares[some].sum()) / (prior.weight + len(some)))
            place += len(one.effects[name])
        before, spreads = spreads, np.array([learned[name] for name in SPREADS])
        if np.abs(np.log(spreads / before)).max() < 0.02:
            mean = (one.units.clues @ prior.b)[judged]
            own = covariance(prior, spreads, one)[np.ix_(judged, judged)]
            evidence, mean, after = dense_propagation(mean, own, one.yes[judged])
            moved, spread, at = given_logits(prior, spreads, one, judged, mean, after)
            break
    return evidence, spreads, moved, spread, at


@pytest.mark.parametrize("seed", range(3))
def test_eliminating_nuggets_and_answers_loses_nothing(seed):
    """The same fixed point as with one dense matrix of all verdicts; and the same spreads, by EM."""
    one, judged = some_judged(seed)
    fit = fit_smooth(one.judged(judged), PRIOR)
    evidence, spreads, moved, own, _ = dense_fit(one, judged, PRIOR)
    core = np.array([0, 1, 2, 3, 5, 6, 7])  # b, the systems x and y (not z), the builds x1, x2 and y1
    assert (fit.systems, fit.builds) == (("x", "y"), BUILDS[:3])
    assert fit.spreads == pytest.approx(spreads, rel=2e-3)
    assert fit.core == pytest.approx(moved[core], abs=5e-3)
    assert fit.core_covariance == pytest.approx(own[np.ix_(core, core)], abs=5e-3)
    assert fit.log10_evidence * np.log(10) == pytest.approx(evidence, abs=0.02)


@pytest.mark.slow
def test_draws_are_of_all_unknowns_together():
    """The means and covariances of the logits of every unit: judged ones, and those of answers, builds, systems,
    nuggets and questions that nobody judged."""
    one, judged = some_judged(4)
    fit = fit_smooth(one.judged(judged), PRIOR)
    _, _, moved, own, at = dense_fit(one, judged, PRIOR)
    count = 20_000
    drawn = logit(fit.draw(count, 3).chances(one.units).astype(float))
    spread = np.sqrt(np.diag(own)[at:])
    assert np.abs(drawn.mean(axis=1) - moved[at:]).max() < 0.05 * spread.min()
    assert drawn.std(axis=1) == pytest.approx(spread, rel=0.03)
    correlation = own[at:, at:] / np.outer(spread, spread)
    assert np.abs(np.corrcoef(drawn) - correlation).max() < 0.04
    others = correlation[np.triu_indices(len(spread), 1)]
    assert others.min() < 0.05
    assert others.max() > 0.7


@pytest.mark.slow
def test_the_difference_of_two_builds_is_that_of_the_draws():
    one, judged = some_judged(5)
    fit = fit_smooth(one.judged(judged), PRIOR)
    draws = fit.draw(20_000, 0)
    strangers = Build("x", "x9"), Build("q", "q1"), Build("q", "q2")
    for old, new in ((BUILDS[0], BUILDS[1]), (BUILDS[1], BUILDS[2]), (BUILDS[0], strangers[0]), strangers[1:]):
        mean, variance, before = fit.difference(old, new)
        change = draws.level(new).astype(float) - draws.level(old)
        assert change.mean() == pytest.approx(mean, abs=0.03 * np.sqrt(variance) + 1e-6)
        assert change.var() == pytest.approx(variance, rel=0.05)
        _, _, system, build, _ = fit.spreads
        assert before == pytest.approx(2 * build**2 + (old.system != new.system) * 2 * system**2)
        assert variance <= before * (1 + 1e-9)


def test_answers_that_share_sentences_share_luck():
    """The luck of an answer is made of that of its pieces: of answers with k of n pieces in common, k / n."""
    fit = fit_smooth(world(np.random.default_rng(0), PRIOR).judged(np.zeros(0, dtype=int)), PRIOR)
    pieces = [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 9], [1, 2, 8, 9], [5, 6, 7, 8]]
    count = len(pieces)
    begin, zeros = np.arange(count + 1) * 4, np.zeros(count)
    answers = AnswerSet(
        np.zeros(count, dtype=int),
        np.zeros(count, dtype=int),
        (Build("x", "x1"),),
        np.arange(count, dtype=np.uint64),
        begin,
        np.array(pieces, dtype=np.uint64).ravel(),
    )
    clues = np.tile([1.0, 0.0], (count, 1))
    units = Units(np.zeros(count, dtype=int), np.arange(count), answers, zeros, zeros, clues, np.arange(count))
    drawn = logit(fit.draw(20_000, 0).chances(units).astype(float))
    apart = np.cov(drawn[0] - drawn[1:])  # the differences that are only luck
    answer = fit.spreads[4] ** 2
    assert apart.diagonal() == pytest.approx(2 * answer * np.array([0, 1 / 4, 1 / 2, 1]), rel=0.04, abs=1e-6)


@pytest.mark.slow
def test_without_verdicts_it_is_the_prior():
    one = world(np.random.default_rng(1), PRIOR)
    fit = fit_smooth(one.judged(np.zeros(0, dtype=int)), PRIOR)
    assert (fit.systems, fit.builds, fit.pairs, fit.log10_evidence) == ((), (), 0, 0.0)
    assert fit.core == pytest.approx(PRIOR.b)
    assert fit.core_covariance == pytest.approx(PRIOR.b_covariance)
    assert fit.spreads == PRIOR.spreads
    drawn = logit(fit.draw(20_000, 0).chances(one.units).astype(float))
    own = covariance(PRIOR, PRIOR.spreads, one)
    assert drawn.mean(axis=1) == pytest.approx(one.units.clues @ PRIOR.b, abs=0.05)
    assert np.cov(drawn) == pytest.approx(own, abs=0.05 * own.max())


def test_it_is_the_same_to_the_bit_whatever_else_is_asked_and_in_whatever_order():
    one, judged = some_judged(6)
    fit = fit_smooth(one.judged(judged), PRIOR)
    turned = fit_smooth(one.judged(judged[::-1]), PRIOR)
    assert turned.core == pytest.approx(fit.core, abs=1e-9)
    draws = fit.draw(100, 0)
    whole = draws.chances(one.units)
    order = np.random.default_rng(0).permutation(len(one.units))
    np.testing.assert_array_equal(fit.draw(100, 0).chances(one.units[order]), whole[order])
    for i in (0, 7, len(order) - 1):
        np.testing.assert_array_equal(draws.chances(one.units[[i]])[0], whole[i])
    stored = type(fit).from_arrays(fit.arrays())
    np.testing.assert_array_equal(stored.draw(100, 0).chances(one.units), whole)


@pytest.mark.slow
def test_the_truth_is_anywhere_among_the_draws():
    """Calibration by simulation (Talts et al. 2018), on worlds with every effect of the model: the rank of the truth
    among the draws is uniform, for a clue, for the level of a build, for a score, and for a change of score between a
    build that was judged in part and one that nobody read."""
    worlds, count, bins = 240, 119, 12
    ranks = dict[str, list[int]]()
    for seed in range(worlds):
        rng = np.random.default_rng([9, seed])
        one = world(rng, PRIOR, (3, 2, 4, 1, 3), BUILDS)
        judged = np.flatnonzero((one.place["build"] < 3) & (rng.random(len(one.yes)) < 0.5))
        fit = fit_smooth(one.judged(judged), PRIOR)
        draws = fit.draw(count, seed)
        scores = {}
        for name, build in (("old", 2), ("new", 3)):
            own = one.place["build"] == build
            chances = draws.chances(one.units[own]).astype(float)
            scores[name] = expit(one.logit[own]).mean(), chances.mean(axis=0)
        truth = one.effects["system"][0] + one.effects["build"][0]
        found = {
            "clue": (one.b[1], draws.b[1]),
            "level": (truth, draws.level(BUILDS[0])),
            "score": scores["new"],
            "change": tuple(new - old for new, old in zip(scores["new"], scores["old"], strict=True)),
        }
        for name, (true, drawn) in found.items():
            ranks.setdefault(name, []).append(int((np.asarray(drawn) < true).sum()))
    for name, own in ranks.items():
        counts = np.bincount(np.array(own) * bins // (count + 1), minlength=bins)
        assert chisquare(counts).pvalue > 0.01, (name, counts)


@pytest.mark.parametrize("most", [1, 7, 60, 99, 100, 500])
def test_of_much_evidence_each_build_keeps_as_much_as_any_other(most):
    """The builds of which little was read keep all."""
    sizes = np.array([3, 50, 1, 46])
    build = np.repeat(np.arange(4), sizes)
    units = SimpleNamespace(
        answers=SimpleNamespace(build=build, key=np.arange(100, dtype=np.uint64)[::-1]),
        answer=np.arange(100),
        nugget=np.zeros(100, dtype=np.int64),
    )

    class Some(SimpleNamespace):
        def __len__(self):
            return 100

        def only(self, kept):
            return kept

    kept = enough_of(Some(units=units), most)
    if most >= 100:
        assert len(kept) == 100
        return
    own = np.bincount(build[kept], minlength=4)
    share = max(s for s in range(100) if np.minimum(sizes, s).sum() <= most)
    assert own.tolist() == np.minimum(sizes, share).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("weight", [2.0, 0.0, -2.0])
def test_a_weight_that_cannot_be_negative_is_not(weight):
    """Where effects are next to nothing, the model is a logistic regression: by brute force on a grid of the weights'
    values, all above 0 of the second. Of the names of the prior's clues, `carried` says so."""
    tiny = dict.fromkeys(("nugget", "question", "system", "build", "answer"), 1e-3)
    prior = Prior(("one", "carried"), np.array([-0.5, 1.0]), np.diag([1.0, 1.5**2]), **tiny, weight=1e12)
    rng = np.random.default_rng(0)
    clue = rng.normal(size=60)
    evidence = evidence_of(clue, rng.random(60) < expit(-0.3 + weight * clue), np.arange(60))
    fit = fit_smooth(evidence, prior)
    level, slope = np.meshgrid(np.linspace(-4, 4, 401), np.linspace(0, 9, 3601), indexing="ij")
    log_mass = -0.5 * ((level + 0.5) ** 2 + ((slope - 1) / 1.5) ** 2)
    for value, yes in zip(clue, evidence.yes, strict=True):
        log_mass += log_expit(np.where(yes, 1, -1) * (level + slope * value))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    for place, values in enumerate((level, slope)):
        mean = (mass * values).sum()
        spread = np.sqrt((mass * (values - mean) ** 2).sum())
        assert fit.b[place] == pytest.approx(mean, abs=0.1 * spread)
        assert np.sqrt(fit.core_covariance[place, place]) == pytest.approx(spread, rel=0.1)
    assert fit.weight("carried") > 0
