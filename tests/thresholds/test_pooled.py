"""`pooled` against sums over a grid of everything that is unknown."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from nuggeteer.thresholds.model import Units
from nuggeteer.thresholds.noisy import fit_pooled
from tests.thresholds.worlds import evidence_of

STEPS, PLACES = 60, 50


def by_sums(scores, yes, nugget):
    """log₁₀ of the evidence, and the posterior means of α and β: θ ~ Beta(mκ, (1 − m)κ), m uniform on [0, 1], log κ ~
    N(log 4, 1.5²), and (α, β) uniform on α + β < 1."""
    middle = (np.arange(STEPS) + 0.5) / STEPS
    alpha, beta = (grid.ravel() for grid in np.meshgrid(middle, middle, indexing="ij"))
    edge = np.add.outer(np.arange(STEPS), np.arange(STEPS)).ravel() - (STEPS - 1)
    weight = 2 * np.select([edge < 0, edge == 0], [1.0, 0.5], 0.0) / STEPS**2
    mean = (np.arange(PLACES) + 0.5) / PLACES
    kappa = np.exp(np.log(4) + 1.5 * stats.norm.ppf((np.arange(PLACES) + 0.5) / PLACES))
    m, k = (grid.ravel() for grid in np.meshgrid(mean, kappa))
    total = np.ones((len(alpha), len(m)))
    for unit in np.unique(nugget):
        own, said = scores[nugget == unit], yes[nugget == unit]
        whole = np.zeros_like(total)
        for low, high in pairwise(sorted({0.0, 1.0, *own.tolist()})):
            chance = np.where(own >= high, 1 - beta[:, None], alpha[:, None])
            likelihood = np.where(said, chance, 1 - chance).prod(axis=1)
            inside = stats.beta.cdf(high, m * k, (1 - m) * k) - stats.beta.cdf(low, m * k, (1 - m) * k)
            whole += np.outer(likelihood, inside)
        total *= whole
    by_rates = total.mean(axis=1) * weight
    evidence = by_rates.sum()
    return np.log10(evidence), (by_rates @ alpha) / evidence, (by_rates @ beta) / evidence


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_evidence_and_the_error_rates_are_near_those_of_sums_over_a_grid(seed):
    """Laplace's method around the best m and κ, on 40 pairs of five nuggets: the evidence within a fifth of a power of
    ten, the rates within 0.03."""
    rng = np.random.default_rng(seed)
    nugget, scores = np.repeat(np.arange(5), 8), rng.random(40).round(2)
    theta = rng.beta(3, 5, 5)[nugget]
    yes = rng.random(40) < np.where(scores > theta, 0.85, 0.08)
    fit = fit_pooled(evidence_of(scores, yes, nugget))
    log10_evidence, alpha, beta = by_sums(scores, yes, nugget)
    assert fit.log10_evidence == pytest.approx(log10_evidence, abs=0.2)
    assert fit.alpha.mean() == pytest.approx(alpha, abs=0.03)
    assert fit.beta.mean() == pytest.approx(beta, abs=0.03)


def test_between_scores_and_without_verdicts_the_threshold_is_as_the_distribution_has_it():
    """The chance of a yes by hand: a nugget without verdicts has θ from the Beta of the fit, and one with two verdicts
    from its part of the Beta between them, as α and β are there."""
    rng = np.random.default_rng(2)
    nugget, scores = np.repeat(np.arange(30), 12), rng.random(360).round(2)
    yes = rng.random(360) < np.where(scores > rng.beta(2, 12, 30)[nugget], 0.95, 0.03)
    fit = fit_pooled(evidence_of(scores, yes, nugget, 31, np.arange(31)))
    alone = Units.of_scores(np.array([0.02, 0.1, 0.3, 0.9]), np.full(4, 30))
    found = fit.probability(alone)
    alpha, beta = fit.alpha[30], fit.beta[30]
    # The thresholds that the other nuggets have, by their posterior means, say where that of the last may be.
    own = fit.mean_theta[:30]
    below = np.array([(own < score).mean() for score in (0.02, 0.1, 0.3, 0.9)])
    assert found == pytest.approx(alpha + (1 - alpha - beta) * below, abs=0.15)
    assert found[2] > 0.8  # 0.3, if θ were uniform
