"""Comparing the threshold models: evidence prefers the truth, and freedom only where it pays."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.prior import prior_for
from nuggeteer.thresholds.selection import PAPER, compare, models
from tests.thresholds.worlds import evidence_of

PRIOR = prior_for(["one", "score"], True)


def from_steps(seed: int, per_nugget: bool, groups: int = 3, nuggets: int = 16) -> Evidence:
    rng = np.random.default_rng(seed)
    per = 12
    nugget = np.tile(np.repeat(np.arange(nuggets), per), groups)
    group = np.repeat(np.arange(groups), nuggets * per)
    theta = rng.random(nuggets) if per_nugget else np.full(nuggets, 0.4)
    scores = rng.random(len(nugget)).round(2)
    yes = rng.random(len(nugget)) < np.where(scores > theta[nugget], 0.8, 0.05)
    return evidence_of(scores, yes, nugget, nuggets, np.arange(nuggets) // 4, group)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("per_nugget", "truth"), [(False, "global"), (True, "nugget")])
def test_evidence_finds_the_model_that_made_the_data(seed, per_nugget, truth):
    """Among the paper's five: one threshold where there was one, one a nugget where each had its own."""
    evidence = from_steps(seed, per_nugget)
    found = {name: models(PRIOR)[name].fit(evidence).log10_evidence for name in PAPER}
    assert max(found, key=found.__getitem__) == truth


@pytest.mark.slow
def test_the_chosen_model_has_the_best_held_out_score():
    found = compare(from_steps(3, True, nuggets=8), PRIOR)
    compared, chosen = found.models, found.chosen
    scores = {one.name: one.log_score for one in compared}
    assert scores[chosen] == max(scores.values())
    assert scores["coin"] == min(scores.values())


def test_with_one_group_nothing_is_left_out_and_evidence_decides():
    found = compare(from_steps(4, False, groups=1, nuggets=8), PRIOR)
    compared, chosen = found.models, found.chosen
    assert found.held_out is None
    assert all(one.log_score is None for one in compared)
    assert chosen == max(compared, key=lambda one: one.log10_evidence).name


def test_the_coins_evidence_is_that_of_a_beta_binomial():
    """Against the product of predictive probabilities, verdict by verdict."""
    evidence = from_steps(5, True, groups=1)
    yes = no = 1
    log10 = 0.0
    for verdict in evidence.yes:
        log10 += np.log10((yes if verdict else no) / (yes + no))
        yes, no = yes + verdict, no + (not verdict)
    assert models(PRIOR)["coin"].fit(evidence).log10_evidence == pytest.approx(log10)


@pytest.mark.slow
def test_a_model_that_begins_with_the_fit_of_another_is_the_same_as_by_itself():
    evidence = from_steps(6, True, nuggets=8)
    compared = compare(evidence, PRIOR).models
    found = {one.name: one for one in compared}
    alone = models(PRIOR)["pooled"].fit(evidence)
    assert found["pooled"].log10_evidence == alone.log10_evidence
    assert found["pooled"].seconds > found["nugget"].seconds  # it includes that fit
