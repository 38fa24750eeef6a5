"""Our engines against PyMC, which samples what they integrate; and the page that shows a model of one's own."""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

from nuggeteer.thresholds.model import Evidence, Units
from nuggeteer.thresholds.noisy import fit_coin, fit_pooled
from nuggeteer.thresholds.propagation import fit_smooth
from nuggeteer.thresholds.steps import StepFit, fit_step_errors, fit_steps
from tests.conftest import ROOT
from tests.test_docs import blocks
from tests.thresholds.test_propagation import BUILDS, PRIOR
from tests.thresholds.worlds import World, evidence_of, world

pytestmark = [
    pytest.mark.slow,  # any test may be the first to sample
    pytest.mark.filterwarnings("ignore:\\s*ArviZ is undergoing a major refactor:FutureWarning"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS installation:UserWarning"),
]
usual = Units.of_scores
STEPS = ["global", "question", "nugget", "nugget-errors"]  # which both compute without an approximation


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
    return evidence_of(scores, yes, nugget, 5, [0, 0, 1, 1, 2])


@cache
def smooth_world() -> World:
    """Five questions with 17 nuggets in all, and five builds of three systems."""
    return world(np.random.default_rng(3), PRIOR, (4, 3, 5, 2, 3), BUILDS)


def smooth_evidence() -> Evidence:
    """All verdicts on three builds of two systems, and no others."""
    one = smooth_world()
    return one.judged(np.flatnonzero(one.place["build"] < 3))


@cache
def sampled(name: str) -> SimpleNamespace:
    """A model in PyMC, its draws, and as a model to score with; once for all tests."""
    from nuggeteer.thresholds import pymc_models

    evidence = smooth_evidence() if name == "smooth" else steps_evidence()
    model = pymc_models.build(name, evidence, PRIOR if name == "smooth" else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pymc_models, "TUNE", 500)
        idata = pymc_models.sample(model, seed=1, draws=1000, chains=2)
    return SimpleNamespace(
        evidence=evidence, model=model, idata=idata, scoring=pymc_models.as_model(name, evidence, idata)
    )


def log10_evidence(model, seed: int, draws: int = 1000, chains: int = 4) -> tuple[float, float]:
    """log₁₀ P(data | model) by sequential Monte Carlo, and its standard error from independent chains.

    The estimate is a little too low, more so with fewer draws. With nine parameters it was 0.03 too low at 1,000 draws
    per chain, and 0.017 too low at 2,000."""
    import pymc as pm

    with model:
        trace = pm.sample_smc(
            draws,
            chains=chains,
            cores=1,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            return_inferencedata=False,
        )
    logs = np.array([values[-1] for values in trace.report.log_marginal_likelihood], dtype=float)
    # Each chain's estimate of the evidence is unbiased, but its logarithm is not.
    relative = np.exp(logs - logs.max())
    value = float(logs.max() + np.log(relative.mean())) / np.log(10)
    return value, float(relative.std(ddof=1) / relative.mean() / np.sqrt(chains) / np.log(10))


def exact(name: str, evidence: Evidence) -> StepFit:
    return fit_step_errors(evidence) if name == "nugget-errors" else fit_steps(name, evidence)


@pytest.mark.parametrize("name", ["coin", *STEPS, "pooled", "smooth"])
def test_chains_agree(name, pymc_models):
    diagnosis = pymc_models.diagnose(sampled(name).idata)
    assert diagnosis.r_hat < 1.02
    assert diagnosis.divergences == 0
    assert diagnosis.effective > 100


def test_the_coin_is_that_of_the_exact_engine(pymc_models):
    found, judged = sampled("coin"), steps_evidence()
    fit = fit_coin(judged)
    chance = found.scoring.draw(1000, 0).chances(judged.units).mean(axis=1)
    assert chance == pytest.approx(fit.probability(judged.units), abs=0.01)
    evidence, error = log10_evidence(found.model, seed=1)
    assert evidence == pytest.approx(fit.log10_evidence, abs=max(4 * error, 0.05))


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
        chances = draws.chances(usual(np.full(5, score), np.arange(5))).mean(axis=1)
        assert chances == pytest.approx(fit.probability(usual(np.full(5, score), np.arange(5))), abs=0.03)


@pytest.mark.parametrize("name", ["nugget", "nugget-errors"])  # shared rates, and each nugget its own
def test_the_evidence_is_that_of_the_exact_engine(name, pymc_models):
    evidence, error = log10_evidence(sampled(name).model, seed=2, draws=2000, chains=6)
    assert error < 0.1
    assert abs(evidence - exact(name, steps_evidence()).log10_evidence) < 4 * error


def test_pooled_is_that_of_the_exact_engine_but_for_the_spread_of_its_distribution(pymc_models):
    """Ours has the best m and κ, PyMC all of them, so their chances are as near as the data leave m and κ open."""
    found, fit = sampled("pooled"), fit_pooled(steps_evidence())
    draws = found.scoring.draw(2000, seed=0)
    for score in (0.05, 0.3, 0.5, 0.9):
        units = usual(np.full(5, score), np.arange(5))  # the last nugget has no pairs
        assert draws.chances(units).mean(axis=1) == pytest.approx(fit.probability(units), abs=0.06)
    # Of the nugget without pairs, θ is from the distribution itself.
    posterior = pymc_models.posterior_of(found.idata)
    mean, kappa = posterior["mean"], np.exp(posterior["log_kappa"])
    below = beta.cdf(0.3, mean * kappa, (1 - mean) * kappa).mean()
    assert (found.scoring.posterior["theta"][:, 4] < 0.3).mean() == pytest.approx(below, abs=0.03)
    evidence, _ = log10_evidence(found.model, seed=2, draws=2000)
    assert evidence == pytest.approx(fit.log10_evidence, abs=0.15)


def test_propagation_has_the_means_and_widths_of_the_whole_posterior(pymc_models):
    """Of the clues, the systems and the builds: means within a tenth of a standard deviation, widths within a tenth,
    though the spreads are at their likeliest there and sampled here."""
    found, fit = sampled("smooth").scoring.posterior, fit_smooth(smooth_evidence(), PRIOR)
    drawn = np.concatenate([found["b"], found["system"], found["build"]], axis=1)
    spread = np.sqrt(np.diag(fit.core_covariance))
    assert drawn.shape[1] == len(fit.core)
    assert np.abs((drawn.mean(axis=0) - fit.core) / spread).max() < 0.1
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.1)


def test_its_scores_and_changes_are_those_of_the_whole_posterior(pymc_models):
    """Of a build that was judged, of one of the same system that nobody read, and of one of a new system."""
    one = smooth_world()
    ours = fit_smooth(smooth_evidence(), PRIOR).draw(4000, 0)
    theirs = sampled("smooth").scoring.draw(4000, 0)
    scores = []
    for draws in (ours, theirs):
        own = [draws.chances(one.units[one.place["build"] == build]).mean(axis=0) for build in (1, 3, 4)]
        scores.append([*own, own[1] - own[0]])
    for engine, sampler in zip(*scores, strict=True):
        assert abs(engine.mean() - sampler.mean()) < 0.15 * sampler.std()
        assert 0.9 < engine.std() / sampler.std() < 1.1


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
    page = (ROOT / "docs/guides/models.md").read_text(encoding="utf-8")
    told = re.search(r"It prints (\S+) \((\S+) to (\S+)\) and (\S+) \((\S+) to (\S+)\)\.", page)
    found = [names["scores"][run].measures["f3"] for run in ("build-101", "build-102")]
    printed = [end for f3 in found for end in (f3.value, f3.low, f3.high)]
    assert printed == pytest.approx(list(map(float, told.groups())), abs=0.03)
