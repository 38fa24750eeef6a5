"""Draws of the noisy threshold models against what `steps` computes exactly, and against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.thresholds import noisy
from nuggeteer.thresholds.model import Evidence, Units
from nuggeteer.thresholds.steps import steps_of
from tests.thresholds.test_steps import simulated
from tests.thresholds.worlds import evidence_of

COUNT = 2000
EVIDENCE = simulated(5, 6, 90, high=0.8, low=0.15)
FEW = evidence_of([0.2, 0.6, 0.3, 0.7, 0.5], [0, 1, 0, 1, 1], [0, 0, 1, 1, 2], nuggets=4)


def also(evidence: Evidence, pairs: Units, yes) -> Evidence:
    """More judged pairs."""
    return evidence_of(
        np.append(evidence.scores, pairs.scores),
        np.append(evidence.yes, yes),
        np.append(evidence.nugget, pairs.nugget),
        evidence.nuggets,
        evidence.question_of_nugget,
    )


@pytest.mark.slow
@pytest.mark.parametrize("evidence", [EVIDENCE, FEW], ids=["ninety pairs", "five pairs"])
@pytest.mark.parametrize("name", noisy.NAMES)
def test_the_mean_of_the_draws_is_the_exact_probability(name, evidence):
    model = noisy.fit_noise_model(name, evidence)
    scores, nuggets = np.linspace(0, 1, 21), np.arange(evidence.nuggets)
    pairs = Units.of_scores(np.tile(scores, len(nuggets)), np.repeat(nuggets, len(scores)))
    chances = model.draw(COUNT, 0).chances(pairs)
    assert chances.mean(axis=1) == pytest.approx(model.fit.probability(pairs), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin", "global", "question", "nugget", "nugget-errors"])
@pytest.mark.parametrize("evidence", [EVIDENCE, FEW], ids=["ninety pairs", "five pairs"])
def test_verdicts_are_as_probable_together_as_the_evidence_says(name, evidence):
    """P(two more verdicts | data) is the evidence with them, divided by the evidence without them. It is right only if
    θ, α and β are drawn together, and once for all nuggets that share them."""
    model, draws = noisy.fit_noise_model(name, evidence), noisy.fit_noise_model(name, evidence).draw(8000, 1)
    for nugget in ((0, 0), (0, 1), (2, 3)):
        for yes in ([True, True], [True, False], [False, False]):
            pairs = Units.of_scores(np.array([0.33, 0.62]), np.array(nugget))
            more = noisy.fit(name, also(evidence, pairs, yes))
            expected = 10 ** (more.log10_evidence - model.fit.log10_evidence)
            chance = draws.chances(pairs)
            found = np.where(np.array(yes)[:, None], chance, 1 - chance).prod(axis=0).mean()
            assert found == pytest.approx(expected, abs=0.012)


@pytest.mark.slow
def test_the_error_rates_and_thresholds_are_distributed_as_on_a_fine_grid():
    """Brute force: the posterior of (α, β) on 400 × 400 places, every θ summed out there."""
    steps = steps_of(EVIDENCE, EVIDENCE.nugget, EVIDENCE.nuggets)
    at = (np.arange(400) + 0.5) / 400
    alpha, beta = (grid.ravel() for grid in np.meshgrid(at, at, indexing="ij"))
    alpha, beta = alpha[alpha + beta < 1], beta[alpha + beta < 1]
    logs = np.log([1 - beta, beta, alpha, 1 - alpha])
    terms = np.exp(steps.counts @ logs) * (steps.high - steps.low)[:, None]
    each = np.add.reduceat(terms, steps.start, axis=0)
    weight = each.prod(axis=0)
    weight /= weight.sum()
    first = slice(0, int(steps.start[1]))
    theta = ((terms[first] * ((steps.low + steps.high) / 2)[first, None]).sum(axis=0) / each[0]) @ weight
    draws = noisy.fit_noise_model("nugget", EVIDENCE).draw(20_000, 2)
    for values, grid in ((draws.alpha[0], alpha), (draws.beta[0], beta)):
        mean = grid @ weight
        spread = np.sqrt((grid - mean) ** 2 @ weight)
        assert values.mean() == pytest.approx(mean, abs=0.15 * spread)
        assert values.std() == pytest.approx(spread, rel=0.12)
    assert draws.theta[0].mean() == pytest.approx(theta, abs=0.01)


def test_a_nugget_without_verdicts_has_its_threshold_anywhere():
    theta = noisy.fit_noise_model("nugget", FEW).draw(COUNT, 0).theta[3]
    assert np.quantile(theta, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.01)


def test_without_any_verdict_the_prior_speaks():
    nothing = evidence_of([], [], [], nuggets=2)
    draws = noisy.fit_noise_model("nugget", nothing).draw(4000, 0)
    assert draws.alpha.mean() == pytest.approx(1 / 3, abs=0.02)  # uniform on the triangle
    assert (draws.alpha + draws.beta < 1).all()


def test_the_same_seed_gives_the_same_draws():
    one, other = (noisy.fit_noise_model("nugget", EVIDENCE).draw(100, 7) for _ in range(2))
    assert (one.theta == other.theta).all()
    assert (one.alpha == other.alpha).all()
    assert (noisy.fit_noise_model("nugget", EVIDENCE).draw(100, 8).theta != one.theta).any()
