"""The smooth model: against its own formula written out, and against simulations of known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from nuggeteer.thresholds.cells import cells_of
from nuggeteer.thresholds.curve import COEFFICIENTS, GRID, SIZE_STEP, SIZES, SMALLEST, features
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence, Pairs
from nuggeteer.thresholds.prior import PRIOR
from nuggeteer.thresholds.smooth import SmoothFit

usual = Pairs.of_usual_size

NUGGETS, QUESTIONS, GROUPS = 60, 12, 8
SIZE = 0.6  # what a response's length says in simulations


def evidence_of(scores, yes, nugget, group=None, groups=("g",), nuggets=None, questions=1, size=0.0) -> Evidence:
    nugget = np.asarray(nugget, dtype=np.int64)
    nuggets = nuggets or int(nugget.max(initial=-1)) + 1
    group = np.zeros(len(nugget), dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
    question = np.arange(nuggets) * questions // nuggets
    weight = 1 / np.bincount(question)[question]
    scores, size = np.asarray(scores, float), np.asarray(size, float) + np.zeros(len(nugget))
    return Evidence(scores, size, np.asarray(yes, bool), nugget, group, tuple(groups), question, weight)


def simulated(seed: int, per: int = 4, groups: int = GROUPS, slopes=0.0, answer_correlation: float = 0.0):
    """Evidence drawn from the model itself, and what it was drawn with."""
    rng = np.random.default_rng(seed)
    b = np.zeros(COEFFICIENTS)
    b[[0, 1, 2, -1]] = [-1.0, 7.0, -1.0, SIZE]
    a, c, v = rng.normal(0, 1.3, NUGGETS), rng.normal(0, 0.5, QUESTIONS), rng.normal(0, 0.4, groups)
    nugget = np.tile(np.repeat(np.arange(NUGGETS), per), groups)
    group = np.repeat(np.arange(groups), NUGGETS * per)
    scores = (rng.integers(0, 101, len(nugget)) / 100) ** 2
    size = rng.choice(SMALLEST + SIZE_STEP * np.arange(SIZES), len(nugget))
    question = np.arange(NUGGETS) * QUESTIONS // NUGGETS
    x = features(scores, size) @ b
    logit = x + a[nugget] + c[question[nugget]] + v[group] + np.broadcast_to(slopes, groups)[group] * (x - x.mean())
    common = rng.standard_normal((groups, QUESTIONS))[group, question[nugget]]
    normal = np.sqrt(1 - answer_correlation) * rng.standard_normal(len(nugget)) - np.sqrt(answer_correlation) * common
    yes = norm.cdf(normal) < 1 / (1 + np.exp(-logit))
    names = [f"g{i}" for i in range(groups)]
    return evidence_of(scores, yes, nugget, group, names, NUGGETS, QUESTIONS, size), b, a + c[question], v


def test_without_any_judgement_it_is_the_prior_and_says_little():
    """Cold start: more match is more likely, nothing is certain, and a score's chance is wide open."""
    nothing = evidence_of([], [], [], nuggets=5)
    fit = fit_smooth(nothing, PRIOR)
    assert fit.b == pytest.approx(PRIOR.b)
    assert fit.pairs == 0
    scores = np.array([0.0, 0.1, 0.4, 0.9])
    chance = fit.probability(usual(scores, np.zeros(4, np.int64)))
    assert (np.diff(chance) > 0).all()
    assert 0.01 < chance[0] < chance[-1] < 0.99
    drawn = fit.draw(2000, 0).chances(usual(np.array([0.4]), np.array([0])), None)[:, 0]
    low, high = np.quantile(drawn, [0.05, 0.95])
    assert low < 0.15
    assert high > 0.85


def test_the_curve_and_the_effects_of_a_simulation_are_recovered():
    evidence, b, of_nugget, v = simulated(1)
    fit = fit_smooth(evidence, PRIOR)
    scores = np.array([0.04, 0.16, 0.36, 0.64])
    mean = (fit.nugget_weights @ np.tile(GRID, 3)) + fit.question[fit.question_of_nugget]
    x = features(scores, np.zeros(4))
    estimated = x @ fit.b + mean.mean() + fit.effects[:, 0].mean()
    assert estimated == pytest.approx(x @ b + of_nugget.mean() + v.mean(), abs=0.5)
    assert fit.b[-1] == pytest.approx(SIZE, abs=0.15)
    assert np.corrcoef(mean, of_nugget)[0, 1] > 0.85
    assert 0.9 < fit.spreads[0] < 1.8
    assert v.std() / 2 < fit.spreads[3] < 2 * v.std()


@pytest.mark.slow
def test_effects_of_systems_are_recovered_and_slopes_not_made_up():
    """Over 8 simulations, in which systems differ in level only."""
    levels, slopes = [], []
    for seed in range(1, 9):
        evidence, _, _, v = simulated(seed)
        fit = fit_smooth(evidence, PRIOR)
        levels.append(np.corrcoef(fit.effects[:, 0], v)[0, 1])
        slopes.append(fit.spreads[4])
    assert np.mean(levels) > 0.85
    assert np.mean(slopes) < 0.1


@pytest.mark.slow
def test_slopes_of_systems_are_recovered():
    """Half of 16 systems follow score and length more than the others."""
    true = np.where(np.arange(16) % 2, 0.3, -0.3)
    found, spreads = [], []
    for seed in range(4):
        fit = fit_smooth(simulated(seed, groups=16, slopes=true)[0], PRIOR)
        found.append(np.corrcoef(fit.effects[:, 1], true)[0, 1])
        spreads.append(fit.spreads[4])
    assert np.mean(found) > 0.85
    assert 0.2 < np.mean(spreads) < 0.4


@pytest.mark.parametrize(("answer_correlation", "low", "high"), [(0.0, 0.0, 0.08), (0.3, 0.12, 0.3)])
def test_what_the_nuggets_of_an_answer_have_in_common_is_recovered(answer_correlation, low, high):
    """A normal number of each answer in a Gaussian copula. With 12 answers a system, its level and slope take a part
    of what they have in common, and the prior, 0.06, weighs a third."""
    fits = [
        fit_smooth(simulated(seed, per=1, groups=16, answer_correlation=answer_correlation)[0], PRIOR)
        for seed in range(6)
    ]
    assert low <= np.mean([fit.answer for fit in fits]) <= high


def test_chances_are_the_formula_written_out():
    """For a few responses, 1 − Π(1 − p) draw by draw, from the draws' own effects."""
    evidence, *_ = simulated(2)
    fit = fit_smooth(evidence, PRIOR)
    draws = fit.draw(400, 3)
    scores, nugget = np.array([0.0, 0.09, 0.49, 0.25]), np.array([7, 7, 7, 30])
    size = np.array([-0.5, 0.0, 1.5, 0.25])
    got = draws.chances(Pairs(scores, nugget, size), "g2")
    v, k, g = draws.effects("g2")
    shift, steepness = draws.of_nuggets(np.arange(NUGGETS))
    for draw in range(0, 400, 13):
        b = draws.b[min(draw * len(draws.b) // 400, len(draws.b) - 1)]
        none = np.ones(NUGGETS)
        for s, n, z in zip(scores, nugget, size, strict=True):
            x = features(np.array([s]), np.array([z]))[0]
            own = b[0] + steepness[n, draw] * (x[1:-1] @ b[1:-1]) + x[-1] * b[-1] + shift[n, draw]
            logit = own + v[draw] + k[draw] * (x[1:] @ b[1:] - fit.centre) + g[draw] * (own - fit.level)
            none[n] *= 1 - 1 / (1 + np.exp(-logit))
        assert got[draw] == pytest.approx(1 - none, abs=1e-5)
    assert (got[:, [n for n in range(NUGGETS) if n not in (7, 30)]] == 0).all()


def test_verdicts_on_pairs_that_others_speak_for_are_no_merit_of_the_system():
    """A system of usual quality. Only pairs that similar judged texts speak for were judged, though no word matches."""
    evidence, *_ = simulated(4)
    rng = np.random.default_rng(0)
    new = np.flatnonzero(evidence.group == GROUPS - 1)
    usual = fit_smooth(evidence.only(evidence.group != GROUPS - 1), PRIOR)
    carried = np.full(len(new), 3.0)
    pairs = Pairs(np.zeros(len(new)), evidence.nugget[new], evidence.size[new], carried)
    yes = evidence.yes.copy()
    yes[new] = rng.random(len(new)) < usual.probability(pairs)
    scores = evidence.scores.copy()
    scores[new] = 0.0
    chosen = replace(evidence, yes=yes, scores=scores)
    whole = np.zeros(len(yes))
    whole[new] = 3.0
    with_them, without = (fit_smooth(given, PRIOR) for given in (replace(chosen, carried=whole), chosen))
    name = f"g{GROUPS - 1}"
    assert abs(with_them.effects_of_group(name)[0].mean[0]) < 0.3
    assert without.effects_of_group(name)[0].mean[0] > 0.6


def test_the_mean_chance_of_one_response_is_its_probability():
    """Two ways to integrate everything out: draws, and the grid with a probit approximation."""
    evidence, *_ = simulated(3)
    fit = fit_smooth(evidence, PRIOR)
    for group in ("g1", "a system that nobody judged"):
        draws = fit.draw(4000, 1)
        for score in (0.01, 0.16, 0.49):
            nugget = np.arange(NUGGETS)
            drawn = draws.chances(usual(np.full(NUGGETS, score), nugget), group).mean(axis=0)
            exact = fit.probability(usual(np.full(NUGGETS, score), nugget), group)
            assert drawn == pytest.approx(exact, abs=0.03)


@pytest.mark.slow
def test_probabilities_of_held_out_systems_are_calibrated():
    """Over 24 simulated collections: expected calibration error of held-out pairs below 0.03."""
    chance, truth = [], []
    for seed in range(24):
        evidence, *_ = simulated(100 + seed)
        out = evidence.group == GROUPS - 1
        fit, left = fit_smooth(evidence.only(~out), PRIOR), evidence.only(out)
        chance.append(fit.probability(left.pairs, f"g{GROUPS - 1}"))
        truth.append(left.yes)
    p, y = np.concatenate(chance), np.concatenate(truth)
    place = np.clip((p * 10).astype(int), 0, 9)
    error = sum(abs(p[place == k].mean() - y[place == k].mean()) * (place == k).mean() for k in np.unique(place))
    assert error < 0.03


@pytest.mark.slow
def test_intervals_of_held_out_systems_hold_the_truth():
    """40 simulated collections, the share of a held-out system's nuggets that were found: at least 35 of the
    95 % intervals hold the truth (fewer would happen once in 70 times, were they right), and they are not
    so wide that they cannot fail."""
    hits, widths = 0, []
    for seed in range(40):
        evidence, *_ = simulated(300 + seed, per=2)
        out = evidence.group == GROUPS - 1
        fit, left = fit_smooth(evidence.only(~out), PRIOR), evidence.only(out)
        chances = fit.draw(600, seed).chances(left.pairs, f"g{GROUPS - 1}")
        found = (np.random.default_rng(seed).random(chances.shape) < chances).mean(axis=1)
        true = np.isin(np.arange(NUGGETS), left.nugget[left.yes]).mean()
        low, high = np.quantile(found, [0.025, 0.975])
        hits += low <= true <= high
        widths.append(high - low)
    assert hits >= 35
    assert np.mean(widths) < 0.4


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 50), order=st.randoms(use_true_random=False))
def test_the_order_of_pairs_changes_no_bit(seed, order):
    evidence, *_ = simulated(seed, per=1, groups=3)
    places = list(range(len(evidence)))
    order.shuffle(places)
    mixed = evidence_of(
        evidence.scores[places],
        evidence.yes[places],
        evidence.nugget[places],
        evidence.group[places],
        evidence.groups,
        NUGGETS,
        QUESTIONS,
        evidence.size[places],
    )
    one, two = fit_smooth(evidence, PRIOR), fit_smooth(mixed, PRIOR)
    assert one.b.tolist() == two.b.tolist()
    assert one.nugget_weights.tolist() == two.nugget_weights.tolist()


def test_a_verdict_moves_its_own_nugget_most_and_the_others_of_its_question_a_little():
    scores, nugget = np.full(4, 0.2), np.arange(4)
    fits = {
        verdict: fit_smooth(evidence_of([0.2] * 6, [verdict] * 6, [0] * 6, nuggets=4, questions=2), PRIOR)
        for verdict in (False, True)
    }
    no, yes = (fits[v].probability(usual(scores, nugget)) for v in (False, True))
    change = yes - no
    assert change[0] > 0.3
    assert change[0] > change[1] > 0
    assert change[1] >= change[2] - 1e-9


def test_a_nugget_without_a_single_yes_gets_a_threshold_between_all_and_nothing():
    """Twenty noes at low scores make a yes at a low score unlikely, and leave one at a high score open."""
    evidence, *_ = simulated(5)
    none = evidence.nugget == 3
    fit = fit_smooth(
        replace(evidence, scores=np.where(none, 0.01, evidence.scores), yes=evidence.yes & ~none),
        PRIOR,
    )
    low, high = fit.probability(usual(np.array([0.01, 0.81]), np.array([3, 3])))
    assert low < 0.1
    assert 0.2 < high < 0.99


def test_draws_of_a_group_do_not_depend_on_what_was_asked_before():
    evidence, *_ = simulated(6)
    fit = fit_smooth(evidence, PRIOR)
    pairs = usual(np.full(NUGGETS, 0.2), np.arange(NUGGETS))
    first, second = fit.draw(100, 9), fit.draw(100, 9)
    first.chances(pairs, "another")
    assert first.chances(pairs, "x").tolist() == second.chances(pairs, "x").tolist()
    assert first.chances(pairs, "x").tolist() != first.chances(pairs, "y").tolist()


def test_cells_count_pairs():
    evidence, *_ = simulated(7, per=3)
    cells = cells_of(evidence)
    assert cells.count.sum() == len(evidence)
    assert cells.yes.sum() == evidence.yes.sum()
    for cell in range(0, len(cells.nugget), 97):
        same = (evidence.nugget == cells.nugget[cell]) & (evidence.group == cells.group[cell])
        same &= np.abs(np.sqrt(evidence.scores) - np.sqrt(cells.score[cell])) < 0.005
        same &= np.abs(evidence.size - cells.size[cell]) <= SIZE_STEP / 2
        assert cells.count[cell] == same.sum()
        assert cells.yes[cell] == evidence.yes[same].sum()


def test_cells_are_chances_of_their_own():
    """Pairs of one nugget in two cells: each as if it were alone; the cells' order is the caller's."""
    evidence, *_ = simulated(8)
    draws = fit_smooth(evidence, PRIOR).draw(100, 2)
    pairs = Pairs(np.array([0.1, 0.3, 0.2, 0.6]), np.array([5, 5, 9, 5]), np.array([0.0, 1.0, -1.0, 0.5]))
    got = draws.chances(pairs, "g1", np.array([2, 0, 1, 2]))
    assert got.shape == (100, 3)
    for cell, members, nugget in ((2, [0, 3], 5), (0, [1], 5), (1, [2], 9)):
        assert (got[:, cell] == draws.chances(pairs[np.array(members)], "g1")[:, nugget]).all()


@pytest.mark.parametrize("verdict", [True, False])
def test_all_verdicts_alike_are_no_trouble(verdict):
    fit = fit_smooth(evidence_of([0.0, 0.5, 1.0], [verdict] * 3, [0, 1, 2]), PRIOR)
    chance = fit.probability(usual(np.array([0.5]), np.array([1])))[0]
    assert (chance > 0.5) == verdict
    assert np.isfinite(fit.log10_evidence)


def test_draws_of_effects_have_their_posteriors_moments():
    """The draws of t and a occur as often as their weights say; c, v, k and g have their means and covariances."""
    evidence, *_ = simulated(9, per=1, groups=2)
    fit = fit_smooth(evidence, PRIOR)  # without systems that are unlike all others
    fit = replace(fit, steepness=np.array([0.5, 1.0, 2.0]), odd=np.zeros_like(fit.odd))
    draws = fit.draw(2000, 4)
    shift, steepness = draws.of_nuggets(np.arange(NUGGETS))
    weights = fit.nugget_weights.reshape(NUGGETS, len(fit.steepness), -1)
    share = np.stack([(steepness == np.float32(t)).mean(axis=1) for t in fit.steepness], axis=1)
    assert share == pytest.approx(weights.sum(axis=2), abs=1 / 1000)
    assert shift.mean(axis=1) == pytest.approx(
        weights.sum(axis=1) @ GRID + fit.question[fit.question_of_nugget], abs=0.02
    )
    for group in ("g1", "nobody's"):
        drawn = np.stack(draws.effects(group))
        (effects,) = fit.effects_of_group(group)
        mean, covariance = effects.mean, effects.covariance
        spread = np.sqrt(np.diag(covariance))
        assert (np.abs(drawn.mean(axis=1) - mean) < 0.05 * spread).all()
        assert np.cov(drawn) == pytest.approx(covariance, abs=0.1 * spread.max() ** 2)


def test_a_nugget_is_drawn_alike_alone_and_among_others():
    evidence, *_ = simulated(9, per=1, groups=2)
    draws = fit_smooth(evidence, PRIOR).draw(101, 4)
    shift, steepness = draws.of_nuggets(np.arange(NUGGETS))
    alone = draws.of_nuggets(np.array([5]))
    assert (shift[5] == alone[0][0]).all()
    assert (steepness[5] == alone[1][0]).all()


def test_nuggets_without_evidence_share_a_threshold_that_is_worked_out_once(monkeypatch):
    evidence, *_ = simulated(5)
    fit = fit_smooth(replace(evidence, yes=evidence.yes & (evidence.nugget < 6), nugget=evidence.nugget % 6), PRIOR)
    levels = (np.arange(101) / 100) ** 2
    each = fit.probability(
        Pairs(np.tile(levels, NUGGETS), np.repeat(np.arange(NUGGETS), 101), np.full(101 * NUGGETS, fit.usual_size))
    )
    likely = each.reshape(NUGGETS, 101) >= 0.5
    asked, probability = [], SmoothFit.probability
    monkeypatch.setattr(SmoothFit, "probability", lambda self, pairs: asked.append(pairs) or probability(self, pairs))
    found = fit.threshold(np.arange(NUGGETS))
    np.testing.assert_array_equal(found, np.where(likely.any(axis=1), levels[likely.argmax(axis=1)], np.nan))
    assert sum(len(np.unique(pairs.nugget)) for pairs in asked) < NUGGETS / 2
    some = np.array([NUGGETS - 1, 0, 3, 0, 7])
    np.testing.assert_array_equal(fit.threshold(some), found[some])
    assert fit.threshold(some[:0]).shape == (0,)
