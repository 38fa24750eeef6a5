"""Our engines against PyMC, which samples what they integrate; and the page that shows a model of one's own."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence, Pairs
from nuggeteer.thresholds.prior import PRIOR
from nuggeteer.thresholds.steps import StepFit, fit_step_errors, fit_steps
from tests.test_docs import blocks

pytestmark = [
    pytest.mark.slow,  # any test may be the first to sample
    pytest.mark.filterwarnings("ignore:\\s*ArviZ is undergoing a major refactor:FutureWarning"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS installation:UserWarning"),
]
usual = Pairs.of_usual_size
STEPS = ["global", "question", "nugget", "nugget-errors"]


@pytest.fixture
def pymc_models():
    pytest.importorskip("pymc")
    from nuggeteer.thresholds import pymc_models

    return pymc_models


def steps_evidence() -> Evidence:
    """60 pairs of four nuggets, and a fifth nugget without any, in three questions."""
    rng = np.random.default_rng(5)
    nugget = np.repeat(np.arange(4), 15)
    scores = np.round(rng.random(60), 2)
    yes = rng.random(60) < np.where(scores > np.array([0.2, 0.35, 0.5, 0.3])[nugget], 0.85, 0.08)
    return Evidence(
        scores, np.zeros(60), yes, nugget, np.zeros(60, dtype=int), ("g",), np.array([0, 0, 1, 1, 2]), np.ones(5)
    )


def smooth_evidence() -> Evidence:
    """80 pairs of five nuggets in two questions, from three systems."""
    rng = np.random.default_rng(1)
    nugget, group = np.repeat(np.arange(5), 16), rng.integers(0, 3, 80)
    scores = rng.random(80) ** 2
    a, v, size = rng.normal(0, 1.5, 5), rng.normal(0, 0.4, 3), rng.normal(0, 1, 80)
    yes = rng.random(80) < expit(-1.5 + 9 * (np.sqrt(scores) - 0.5) + 0.5 * size + a[nugget] + v[group])
    return Evidence(scores, size, yes, nugget, group, ("x", "y", "z"), np.array([0, 0, 0, 1, 1]), np.ones(5))


@cache
def sampled(name: str) -> SimpleNamespace:
    """A model in PyMC, its draws, and as a model to score with; once for all tests."""
    from nuggeteer.thresholds import pymc_models

    evidence = smooth_evidence() if name == "smooth" else steps_evidence()
    model = pymc_models.build(name, evidence)
    idata = pymc_models.sample(model, seed=1, draws=1000, chains=2)
    return SimpleNamespace(
        evidence=evidence, model=model, idata=idata, scoring=pymc_models.as_model(name, evidence, idata)
    )


def exact(name: str, evidence: Evidence) -> StepFit:
    return fit_step_errors(evidence) if name == "nugget-errors" else fit_steps(name, evidence)


@pytest.mark.parametrize("name", [*STEPS, "smooth"])
def test_chains_agree(name, pymc_models):
    diagnosis = pymc_models.diagnose(sampled(name).idata)
    assert diagnosis.r_hat < 1.02
    assert diagnosis.divergences == 0
    assert diagnosis.effective > 100


@pytest.mark.parametrize("name", STEPS)
def test_posterior_means_are_those_of_the_exact_engine(name, pymc_models):
    """α, β and every θ, within three Monte Carlo standard errors."""
    import arviz as az

    found, fit = sampled(name), exact(name, steps_evidence())
    unit = np.unique(fit.unit_of_nugget)
    first = np.array([int(np.flatnonzero(fit.unit_of_nugget == u)[0]) for u in unit])
    shared = name != "nugget-errors"
    truth = {
        "alpha": fit.alpha[:1] if shared else fit.alpha,
        "beta": fit.beta[:1] if shared else fit.beta,
        "theta": fit.threshold(first),
    }
    for parameter, means in truth.items():
        draws = found.scoring.posterior[parameter].reshape(2, 1000, len(means))
        effective = np.array([az.ess(draws[:, :, i], method="mean") for i in range(len(means))])
        error = draws.std(axis=(0, 1)) / np.sqrt(effective)
        assert (error < 0.02).all()
        assert (np.abs(draws.mean(axis=(0, 1)) - means) < 3 * error).all(), parameter


@pytest.mark.parametrize("name", STEPS)
def test_the_probability_of_a_yes_is_that_of_the_exact_engine(name, pymc_models):
    draws, fit = sampled(name).scoring.draw(2000, seed=0), exact(name, steps_evidence())
    for score in (0.05, 0.3, 0.5, 0.9):
        chances = draws.chances(usual(np.full(5, score), np.arange(5)), None).mean(axis=0)
        assert chances == pytest.approx(fit.probability(usual(np.full(5, score), np.arange(5))), abs=0.03)


@pytest.mark.parametrize("name", ["nugget", "nugget-errors"])  # shared rates, and each nugget its own
def test_the_evidence_is_that_of_the_exact_engine(name, pymc_models):
    estimate = pymc_models.log10_evidence(sampled(name).model, seed=2, draws=2000, chains=6)
    assert estimate.error < 0.1
    assert abs(estimate.value - exact(name, steps_evidence()).log10_evidence) < 4 * estimate.error


def test_the_smooth_engines_curve_is_near_that_of_the_whole_posterior(pymc_models):
    """An approximation: on these 80 pairs each coefficient is within 0.52 posterior standard deviations of the mean
    that NUTS finds, and P(yes) within 0.12. (The intercept counts with the mean of nuggets, which may trade.)"""
    found, fit = sampled("smooth"), fit_smooth(smooth_evidence(), PRIOR)
    b = found.scoring.posterior["b"]
    assert (np.abs(fit.b - b.mean(axis=0)) < 0.6 * b.std(axis=0)).all()
    scores = np.linspace(0, 1, 21)
    for group in ("x", "y", "z", None):
        draws = found.scoring.draw(2000, seed=0)
        for nugget in range(5):
            own = np.full(21, nugget)
            ours = fit.probability(usual(scores, own), group)
            theirs = np.array(
                [draws.chances(usual(scores[i : i + 1], own[:1]), group)[:, nugget].mean() for i in range(21)]
            )
            assert ours == pytest.approx(theirs, abs=0.15)


def test_the_smooth_engines_chances_are_near_and_its_intervals_not_narrower(pymc_models):
    """Three responses to each nugget. The engine draws b, a, c and v apart, though what is known of one is known of
    the others, so its scores spread about twice as wide as they need to while pairs are this few."""
    rng = np.random.default_rng(0)
    scores, nugget = rng.random(15) ** 2, np.repeat(np.arange(5), 3)
    for group in ("x", None):
        ours = fit_smooth(smooth_evidence(), PRIOR).draw(2000, 0).chances(usual(scores, nugget), group)
        theirs = sampled("smooth").scoring.draw(2000, 0).chances(usual(scores, nugget), group)
        assert ours.mean(axis=0) == pytest.approx(theirs.mean(axis=0), abs=0.12)
        assert ours.mean() == pytest.approx(theirs.mean(), abs=0.03)
        assert 0.8 < ours.mean(axis=1).std() / theirs.mean(axis=1).std() < 2.5


def test_an_unknown_model_is_named(pymc_models):
    with pytest.raises(ValueError, match="no step model 'steep'"):
        pymc_models.build("steep", steps_evidence())


def test_the_page_on_models_runs_as_it_stands(tmp_path, monkeypatch, capsys, pymc_models):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("docs/guides/models.md", "python"):
        exec(compile(block, "docs/guides/models.md", "exec"), names)
    out = capsys.readouterr().out
    assert "|threshold:sampled(soft step,draws=1000,posterior=" in out
    for run, told in (("build-101", 0.379), ("build-102", 0.434)):
        assert names["scores"][run].measures["f3"].value == pytest.approx(told, abs=0.02)
