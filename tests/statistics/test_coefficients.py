"""Coefficients of agreement: against other libraries, published examples and the definition; their intervals against
scipy's and known truth."""

from __future__ import annotations

from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score

from nuggeteer.statistics.coefficients import (
    alpha,
    coincidences,
    contingency_tables,
    estimate,
    kappa,
    percent,
    positive,
    two_rater_coincidences,
)
from nuggeteer.statistics.intervals import MIN_QUESTIONS, Estimate

VERDICTS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40)


def of_two(table):
    return alpha(two_rater_coincidences(table))


def one_table(first, second):
    a, b = np.array(first, dtype=bool), np.array(second, dtype=bool)
    return contingency_tables(a, b, np.zeros(len(a), dtype=int), 1)[0]


@given(VERDICTS)
def test_two_raters_are_as_other_libraries_have_them(verdicts):
    """Where those are defined: sklearn makes of undefined κ a NaN with a warning."""
    first, second = np.array(verdicts).T
    table = one_table(first, second)
    assert percent(table) == pytest.approx((first == second).mean())
    if first.any() or second.any():
        assert positive(table) == pytest.approx(f1_score(first, second))
    else:
        assert np.isnan(positive(table))
    if len({*first, *second}) == 2:
        assert kappa(table) == pytest.approx(cohen_kappa_score(first, second))
        ours = krippendorff.alpha(np.array([first, second], dtype=float), level_of_measurement="nominal")
        assert of_two(table) == pytest.approx(ours)
    else:
        assert np.isnan(kappa(table))
        assert np.isnan(of_two(table))


@given(st.integers(2, 5), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_alpha_of_several_raters_with_gaps_is_krippendorffs(raters, things, seed):
    rng = np.random.default_rng(seed)
    said = np.where(rng.random((raters, things)) < 0.3, np.nan, rng.random((raters, things)) < 0.5)
    given_, yes = (~np.isnan(said)).sum(axis=0), np.nansum(said, axis=0).astype(int)
    table = coincidences(yes, given_, np.arange(things), things).sum(axis=0)
    pairable = said[:, given_ > 1]
    if len(set(pairable[~np.isnan(pairable)])) < 2:
        assert np.isnan(alpha(table))
        return
    assert alpha(table) == pytest.approx(krippendorff.alpha(said, level_of_measurement="nominal"))


@given(st.lists(st.lists(st.sampled_from([True, False]), max_size=5), min_size=1, max_size=12))
def test_coincidences_are_each_verdict_against_each_other(things):
    """By the definition, pair by pair: each of m verdicts is in m − 1 pairs, which share its weight."""
    expected = np.zeros(4)
    for verdicts in things:
        for one, other in permutations(range(len(verdicts)), 2):
            expected[3 - 2 * verdicts[one] - verdicts[other]] += 1 / (len(verdicts) - 1)
    yes, raters = np.array([sum(v) for v in things]), np.array([len(v) for v in things])
    found = coincidences(yes, raters, np.zeros(len(things), dtype=int), 1)[0]
    assert found == pytest.approx(expected)
    assert found.sum() == pytest.approx(sum(len(v) for v in things if len(v) > 1))


def test_krippendorffs_own_example():
    """Krippendorff 2011, "Computing Krippendorff's alpha-reliability", A: two observers, ten units, α = 0.095."""
    meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    coincidence = two_rater_coincidences(one_table(meg, owen))
    assert coincidence.tolist() == [2, 4, 4, 10]
    assert round(float(alpha(coincidence)), 3) == 0.095


def test_kappa_by_hand():
    """Of 50 things both take 20 and refuse 15: they agree on 0.7, and by chance on 0.5 · 0.6 + 0.5 · 0.4 = 0.5."""
    assert kappa(np.array([20.0, 5.0, 10.0, 15.0])) == pytest.approx((0.7 - 0.5) / (1 - 0.5))


def random_tables(questions, seed, pairs=10):
    return of_pairs(questions, seed, pairs).reshape(questions, pairs, 4).sum(axis=1)


def of_pairs(questions, seed, pairs=10):
    """Two raters who err more in some questions than in others; a table for each pair."""
    rng = np.random.default_rng(seed)
    yes = np.repeat(rng.beta(1.5, 2.5, questions), pairs)
    error = np.repeat(rng.beta(1, 6, (2, questions)), pairs, axis=1)
    truth = rng.random(len(yes)) < yes
    first, second = truth ^ (rng.random(error.shape) < error)
    return contingency_tables(first, second, np.arange(len(truth)), len(truth))


@pytest.mark.parametrize("coefficient", [percent, positive, kappa, of_two])
def test_intervals_are_about_those_of_the_bootstrap_with_many_questions(coefficient):
    table = random_tables(400, 1)
    theirs = stats.bootstrap(
        (np.arange(400),),
        lambda which: float(coefficient(table[which].sum(axis=0))),
        vectorized=False,
        n_resamples=2000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = estimate(coefficient, table)
    assert found.value == pytest.approx(float(coefficient(table.sum(axis=0))))
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.1 * (theirs.high - theirs.low))


@pytest.mark.slow
def test_intervals_hold_the_truth_where_questions_differ_and_those_of_single_pairs_do_not():
    """Of 300 made-up collections with 40 questions of 20 pairs. Taking pairs for questions takes them for independent.
    experiments/agreement.md has more of this."""
    truth = float(kappa(random_tables(200_000, 1).sum(axis=0)))
    held: dict[str, list[bool]] = {"questions": [], "pairs": []}
    for seed in range(300):
        pairs = of_pairs(40, 1000 + seed, 20)
        held["questions"].append(holds(pairs.reshape(40, 20, 4).sum(axis=1), truth))
        if seed < 40:
            held["pairs"].append(holds(pairs, truth))
    assert 0.90 <= np.mean(held["questions"]) <= 0.99
    assert np.mean(held["pairs"]) < 0.90


def holds(table, truth):
    found = estimate(kappa, table)
    return found.low <= truth <= found.high


def test_what_cannot_be_said_is_not_said():
    agreeing = np.tile([3.0, 0, 0, 4], (MIN_QUESTIONS, 1))
    assert estimate(kappa, agreeing) == Estimate(1.0)  # that they never differed here shows nothing of elsewhere
    assert estimate(kappa, np.tile([0.0, 0, 0, 4], (MIN_QUESTIONS, 1))) == Estimate(None)
    few = random_tables(MIN_QUESTIONS - 1, 0)
    assert estimate(kappa, few) == Estimate(float(kappa(few.sum(axis=0))))
    padded = np.vstack([few, np.zeros((50, 4))])  # questions without a shared pair are no questions
    assert estimate(kappa, padded).low is None
    rare = np.vstack([np.tile([0.0, 0, 0, 9], (30, 1)), [[1.0, 0, 1, 7]]])
    assert estimate(positive, rare) == Estimate(pytest.approx(2 / 3))  # one question decides whether it is defined
    assert estimate(percent, np.zeros((0, 4))) == Estimate(None)


@settings(max_examples=25)
@given(st.integers(MIN_QUESTIONS, 20), st.integers(0, 99))
def test_an_interval_is_ordered_and_within_bounds(questions, seed):
    table = random_tables(questions, seed, 4)
    for coefficient, least in ((percent, 0), (positive, 0), (kappa, -1), (of_two, -1)):
        found = estimate(coefficient, table)
        if found.low is not None:
            assert least <= found.low <= found.high <= 1
