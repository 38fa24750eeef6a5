"""How the smooth model is fitted: what eliminates nuggets and questions, against the whole matrix; and its cost."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nuggeteer.thresholds.curvature import Curvature
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.prior import PRIOR
from tests.thresholds.test_smooth import evidence_of


@pytest.mark.parametrize("seed", range(5))
def test_eliminating_nuggets_and_questions_is_what_the_whole_matrix_gives(seed):
    """Newton steps, variances and the determinant, from the dense matrix over everything. Some questions have no
    evidence."""
    rng = np.random.default_rng(seed)
    core, questions, nuggets, pairs = 4, 7, 15, 40
    question = np.sort(rng.integers(0, questions - 1, nuggets))
    x, weight = rng.normal(size=(pairs, core)), rng.random(pairs)
    nugget = rng.integers(0, nuggets - 2, pairs)
    penalty = np.concatenate([np.full(core, 0.3), np.full(questions, 2.0), np.full(nuggets, 0.7)])

    design = np.concatenate([x, np.eye(questions)[question[nugget]], np.eye(nuggets)[nugget]], axis=1)
    whole = design.T @ (design * weight[:, None]) + np.diag(penalty)
    gradient = rng.normal(size=len(whole))
    at_question, at_nugget = core, core + questions

    across = np.stack([np.bincount(nugget, x[:, k] * weight, nuggets) for k in range(core)])
    curvature = Curvature.eliminated(
        whole[:core, :core],
        across,
        np.bincount(nugget, weight, nuggets),
        question,
        0.7,
        np.full(questions, 2.0),
    )
    step = curvature.solve(gradient[:core], gradient[at_question:at_nugget], gradient[at_nugget:])
    assert np.concatenate(step) == pytest.approx(np.linalg.solve(whole, gradient), rel=1e-9)
    inverse = np.linalg.inv(whole)
    covariance, of_questions, of_nuggets = curvature.variances()
    assert covariance == pytest.approx(inverse[:core, :core], rel=1e-9)
    assert np.concatenate([of_questions, of_nuggets]) == pytest.approx(np.diag(inverse)[core:], rel=1e-9)
    without_nuggets = np.linalg.slogdet(whole)[1] - np.log(curvature.nugget).sum()
    assert curvature.log_determinant == pytest.approx(without_nuggets, rel=1e-9)


def test_questions_without_evidence_keep_their_prior():
    fit = fit_smooth(evidence_of([0.2, 0.4, 0.3], [False, True, True], [0, 1, 0], nuggets=8, questions=4), PRIOR)
    assert fit.question[0] != 0
    assert fit.question[1:].tolist() == [0.0] * 3
    assert (fit.question_spread[1:] > fit.question_spread[0]).all()
    assert np.ptp(fit.question_spread[1:]) == 0


def test_fitting_does_not_grow_with_the_cube_of_the_number_of_questions():
    """3,000 questions took half a minute when their block was dense."""
    rng = np.random.default_rng(1)
    scores = rng.random(3000)
    begin = time.process_time()
    fit = fit_smooth(evidence_of(scores, rng.random(3000) < scores, np.arange(3000), questions=3000), PRIOR)
    assert time.process_time() - begin < 10
    assert fit.pairs == 3000
