"""How the smooth model is fitted: its steps against an optimizer and against the whole matrix; and its cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from nuggeteer.thresholds.cells import cells_of
from nuggeteer.thresholds.curvature import Curvature
from nuggeteer.thresholds.curve import BINS, features
from nuggeteer.thresholds.learning import _Newton, fit_smooth
from nuggeteer.thresholds.prior import PRIOR
from tests.growth import grows_less_than
from tests.thresholds.test_smooth import NUGGETS, QUESTIONS, evidence_of, simulated


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

    def fit(questions):
        rng = np.random.default_rng(1)
        scores = rng.random(questions)
        verdicts = rng.random(questions) < scores
        found = fit_smooth(evidence_of(scores, verdicts, np.arange(questions), questions=questions), PRIOR)
        assert found.pairs == questions

    assert grows_less_than(5**2, lambda: fit(600), lambda: fit(3000))


@pytest.mark.parametrize("seed", range(3))
def test_effects_and_coefficients_are_the_mode_that_an_optimizer_finds(seed):
    """Given the spreads, on the joint posterior over all pairs, none of them merged."""
    evidence, *_ = simulated(seed, per=1, groups=3)
    newton = _Newton(cells_of(evidence), evidence, PRIOR)
    for _ in range(30):
        newton._step()
    x = features((np.rint(np.sqrt(evidence.scores) * BINS) / BINS) ** 2, evidence.size)
    spreads = [newton.spread_nugget] * NUGGETS + [newton.spread_question] * QUESTIONS + [newton.spread_group] * 3
    effects = np.concatenate([newton.nugget, newton.question, newton.group])
    question = evidence.question_of_nugget[evidence.nugget]
    design = np.concatenate(
        [x, np.eye(NUGGETS)[evidence.nugget], np.eye(QUESTIONS)[question], np.eye(3)[evidence.group]], axis=1
    )
    precision = np.zeros((design.shape[1],) * 2)
    precision[: x.shape[1], : x.shape[1]] = np.linalg.inv(PRIOR.b_covariance)
    precision[x.shape[1] :, x.shape[1] :] = np.diag(np.array(spreads) ** -2.0)
    prior = np.concatenate([PRIOR.b, np.zeros(len(spreads))])

    def loss(at):
        eta = design @ at
        value = np.logaddexp(0, eta).sum() - eta[evidence.yes].sum() + (at - prior) @ precision @ (at - prior) / 2
        return value, design.T @ (expit(eta) - evidence.yes) + precision @ (at - prior)

    found = minimize(loss, prior, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    assert np.concatenate([newton.b, effects]) == pytest.approx(found.x, abs=1e-4)
    assert loss(np.concatenate([newton.b, effects]))[0] <= found.fun + 1e-8
