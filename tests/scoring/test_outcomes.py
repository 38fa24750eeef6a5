"""Known or guessed, for one run or for several together: against enumeration and slow sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from nuggeteer.scoring.copula import VerdictNoise, copula_uniforms
from nuggeteer.scoring.outcomes import condition_on_verdicts
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds import random_orders
from nuggeteer.thresholds.sampled import SampledModel

NUGGETS = [{"qid": "p", "nugget": str(i), "text": f"word{i} of its own"} for i in range(4)]
NUGGETS += [{"qid": "q", "nugget": str(i), "text": f"thing{i} of its own"} for i in range(3)]


def even(pairs, parameters):
    """A model that gives each nugget its chance, whatever the response."""
    return parameters["chance"][:, pairs.nugget]


def scorer_of(collect, runs, chance=0.3, judgements=()) -> Scorer:
    model = SampledModel("even", len(NUGGETS), {"chance": np.full((1, len(NUGGETS)), chance)}, even)
    return Scorer(collect(NUGGETS, runs, judgements=list(judgements)), model=model)


def answer_correlation(scorer: Scorer, *names: str):
    found = scorer.draw_together([scorer.read(name) for name in names])
    assert found is not None
    return found


def test_what_two_runs_share_never_differs_and_the_rest_is_independent(collect):
    """Three texts, one of them in both runs: of each nugget, P(found) = 1 − 0.7²; P(found in both) as enumerated."""
    runs = {"old": [("p", "shared"), ("p", "only old")], "new": [("p", "only new"), ("p", "Shared")]}
    old, new = answer_correlation(scorer_of(collect, runs), "old", "new")
    p = slice(0, 4)
    assert old[:, p].mean() == pytest.approx(1 - 0.7**2, abs=0.02)
    assert new[:, p].mean() == pytest.approx(1 - 0.7**2, abs=0.02)
    assert (old & new)[:, p].mean() == pytest.approx(0.3 + 0.7 * 0.3 * 0.3, abs=0.02)
    assert not old[:, 4:].any()  # no answer


def test_the_same_texts_of_other_systems_in_another_order_are_the_same(collect):
    texts = [("p", "one text"), ("p", "another text"), ("q", "a third")]
    runs = {"old": texts, "new": [texts[1], texts[0], texts[2]]}
    old, new = answer_correlation(scorer_of(collect, runs), "old", "new")
    assert old.any()
    assert (old == new).all()


def test_each_run_together_with_others_is_found_as_often_as_alone(sample):
    scorer = Scorer(sample)
    matched_runs = [scorer.read(name) for name in ("build-101", "build-102", "build-103")]
    for matched, found in zip(matched_runs, scorer.draw_together(matched_runs), strict=True):
        alone = scorer.find(matched)
        assert (found[:, alone.known] == alone.found[alone.known]).all()
        # 2,000 draws of a chance: a standard error of 0.011 at most, over 170 nuggets.
        assert found.mean(axis=0) == pytest.approx(alone.probability, abs=0.06)
        assert (found.mean(axis=0) - alone.probability).mean() == pytest.approx(0, abs=0.006)


def test_a_text_that_an_answer_repeats_is_guessed_once(collect):
    scorer = scorer_of(collect, {"r": [("p", "said twice"), ("p", "Said  twice"), ("p", "and once")]})
    outcome = scorer.find(scorer.read("r"))
    assert outcome.probability[:4] == pytest.approx(1 - 0.7**2)
    assert outcome.pairs_guessed == 12


def test_verdicts_of_a_nugget_are_found_as_often_as_its_chance_whatever_the_seed(sample):
    for seed in range(3):
        verdicts = VerdictNoise(sample.key, 1000, seed, 0.0)
        assert (verdicts.copula_uniforms < 0.3).mean(axis=0) == pytest.approx(0.3, abs=0.001)


def test_the_nuggets_of_an_answer_go_together_as_normal_variables_do():
    rng = np.random.default_rng(0)
    own, common = rng.standard_normal((2, 100_000, 2), np.float32)
    uniform = copula_uniforms(own, common[:, [0, 0]], 0.4)
    both = (uniform < [0.3, 0.6]).all(axis=1).mean()
    exact = multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]]).cdf(norm.ppf([0.3, 0.6]))
    assert both == pytest.approx(exact, abs=0.005)
    assert (uniform < [0.3, 0.6]).mean(axis=0) == pytest.approx([0.3, 0.6], abs=0.005)


def test_known_nuggets_tell_of_the_others_in_their_answer(collect):
    """Three of four nuggets known, ρ = 0.5: the fourth's chance is that of a normal variable given the signs of three
    others, found by throwing away the draws in which these are otherwise."""
    verdicts = [
        {"qid": "p", "nugget": str(i), "text": "a response", "verdict": found}
        for i, found in enumerate((True, True, False))
    ]
    scorer = scorer_of(collect, {"r": [("p", "a response")]}, judgements=verdicts)
    object.__setattr__(scorer.draws, "answer_correlation", 0.5)
    outcome = scorer.find(scorer.read("r"))
    rng = np.random.default_rng(0)
    normal = np.sqrt(0.5) * rng.standard_normal((400_000, 4)) + np.sqrt(0.5) * rng.standard_normal((400_000, 1))
    has = normal < norm.ppf(0.3)
    kept = has[:, 0] & has[:, 1] & ~has[:, 2]
    expected = has[kept, 3].mean()
    assert expected > 0.36
    assert outcome.probability[3] == pytest.approx(expected, abs=0.01)
    assert outcome.drawn[:, 3].mean() == pytest.approx(expected, abs=0.03)
    assert outcome.known.tolist()[:3] == [True] * 3


def test_nothing_is_told_where_all_is_open(collect):
    scorer = scorer_of(collect, {"r": [("p", "a response")]})
    object.__setattr__(scorer.draws, "answer_correlation", 0.5)
    matched = scorer.read("r")
    every = np.ones(len(NUGGETS), dtype=bool)
    assert condition_on_verdicts(matched, scorer.key, scorer.draws, every) is None


def test_a_nugget_with_a_yes_tells_no_more_than_one_without_for_being_settled_by_it(collect):
    """Two responses, the first judged for every nugget: some are settled by a yes, none by its no. What is told of
    the rest is right on average: chances stay the same in the mean over what the judge may have found."""
    responses = [("p", "judged response"), ("p", "open response")]
    weights, chances = [], []
    for case in range(8):
        found = [bool(case >> i & 1) for i in range(3)]
        verdicts = [
            {"qid": "p", "nugget": str(i), "text": "judged response", "verdict": verdict}
            for i, verdict in enumerate(found)
        ]
        scorer = scorer_of(collect, {"r": responses}, judgements=verdicts)
        object.__setattr__(scorer.draws, "answer_correlation", 0.5)
        chances.append(scorer.find(scorer.read("r")).probability[3])
        rng = np.random.default_rng(0)
        normal = np.sqrt(0.5) * rng.standard_normal((200_000, 3)) + np.sqrt(0.5) * rng.standard_normal((200_000, 1))
        weights.append(((normal < norm.ppf(0.3)) == found).all(axis=1).mean())
    assert np.average(chances, weights=weights) == pytest.approx(1 - 0.7**2, abs=0.005)
    assert max(chances) - min(chances) > 0.2


def test_orders_are_orders_and_rows_are_not_alike():
    """Each row has every number once; rank correlations of rows are those of independent orders, but for few pairs,
    none of them neighbours; and no place in a row tells of another's."""
    rows = random_orders(np.random.default_rng(1), 200, 2000)
    assert (np.sort(rows, axis=1) == np.arange(2000)).all()
    correlations = np.corrcoef(rows)[np.triu_indices(200, 1)]
    assert correlations.std() == pytest.approx(1 / np.sqrt(1999), rel=0.05)
    assert (np.abs(correlations) > 5 / np.sqrt(1999)).mean() < 2e-4
    near = [np.corrcoef(rows[i : i + 30])[np.triu_indices(30, 1)] for i in range(0, 170, 30)]
    assert np.abs(near).max() < 5 / np.sqrt(1999)
    assert np.corrcoef(rows[:, :300].T)[np.triu_indices(300, 1)].std() == pytest.approx(1 / np.sqrt(199), rel=0.05)
