"""Each parameter by itself: against sums over a fine grid of all of them, and against a case with a formula."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from nuggeteer.thresholds import Evidence
from nuggeteer.thresholds.model import Units
from nuggeteer.thresholds.noisy import common_rates, fit_noise_model, theta_quantiles
from nuggeteer.thresholds.steps import fit_step_errors, fit_steps

LEVELS = (0.025, 0.5, 0.975)


def evidence_of(rows, questions):
    """From rows of (nugget, score, verdict)."""
    nugget, scores, yes = (np.array(column) for column in zip(*rows, strict=True))
    keys = np.arange(len(questions), dtype=np.uint64)
    return Evidence(Units.of_scores(scores, nugget), yes.astype(bool), np.array(questions), keys, keys)


def by_sums(rows, units, steps=400):
    """The distribution functions of α, β and each unit's θ: sums over a grid of α and β, with every θ between two
    scores summed out."""
    middle = (np.arange(steps) + 0.5) / steps
    alpha, beta = np.meshgrid(middle, middle, indexing="ij")
    edge = np.subtract.outer(np.arange(steps), np.arange(steps)[::-1])  # 0 in cells that the edge cuts in half
    total, thetas = np.select([edge < 0, edge == 0], [1.0, 0.5], 0.0), []
    for unit in range(units):
        own = [(score, yes) for at, score, yes in rows if at == unit]
        parts = []
        for low, high in pairwise(sorted({0.0, 1.0, *(score for score, _ in own)})):
            part = np.full_like(alpha, high - low)
            for score, yes in own:
                chance = 1 - beta if score >= high else alpha
                part = part * (chance if yes else 1 - chance)
            parts.append((low, high, part))
        whole = sum(part for _, _, part in parts)
        thetas.append([(low, high, part / whole) for low, high, part in parts])
        total = total * whole
    total /= total.sum()
    rates = [np.interp(LEVELS, np.cumsum(total.sum(axis=axis)), middle + 0.5 / steps) for axis in (1, 0)]
    found = []
    for parts in thetas:
        shares = np.array([(total * part).sum() for *_, part in parts])
        ends = [0.0, *(high for _, high, _ in parts)]
        mean = sum(share * (low + high) / 2 for share, (low, high, _) in zip(shares, parts, strict=True))
        found.append((mean, np.interp(LEVELS, [0.0, *np.cumsum(shares)], ends)))
    means = [(total * each).sum() for each in (alpha, beta)]
    return means, rates, found


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [6, 40])
@pytest.mark.parametrize("model", ["global", "nugget"])
def test_means_and_quantiles_are_those_of_sums_over_a_grid(model, pairs):
    rng = np.random.default_rng(pairs)
    nugget, scores = rng.integers(3, size=pairs), rng.random(pairs).round(2)
    yes = rng.random(pairs) < np.where(scores > 0.5, 0.7, 0.15)
    rows = list(zip(nugget.tolist(), scores.tolist(), yes.tolist(), strict=True))
    fit = fit_steps(model, evidence_of(rows, [0, 0, 1]))
    units = 1 if model == "global" else 3
    means, rates, thetas = by_sums([(0 if model == "global" else n, s, y) for n, s, y in rows], units)
    for marginal, mean, expected in zip(common_rates(fit), means, rates, strict=True):
        assert marginal.mean == pytest.approx(mean, abs=1e-4)
        assert [marginal.quantile(level) for level in LEVELS] == pytest.approx(expected, abs=2e-3)
        assert [marginal.below(marginal.quantile(level)) for level in LEVELS] == pytest.approx(LEVELS, abs=1e-6)
    for unit, (mean, expected) in enumerate(thetas):
        assert fit.mean_theta[unit] == pytest.approx(mean, abs=1e-4)
        assert [theta_quantiles(fit, level)[unit] for level in LEVELS] == pytest.approx(expected, abs=2e-3)


def test_where_the_score_says_nothing_the_rates_have_a_formula():
    """All scores are 0, so each is below θ: α is Beta(3, 9) of 2 yes and 8 no, weighed by 1 − α for β; θ is uniform."""
    rows = [(0, 0.0, i < 2) for i in range(10)]
    fit = fit_steps("global", evidence_of(rows, [0]))
    alpha, _ = common_rates(fit)
    assert [alpha.quantile(level) for level in LEVELS] == pytest.approx(stats.beta(3, 10).ppf(LEVELS), abs=1e-6)
    assert [theta_quantiles(fit, level)[0] for level in LEVELS] == pytest.approx(LEVELS)


def test_rates_that_each_nugget_has_for_itself_leave_theta_exact():
    rng = np.random.default_rng(2)
    rows = [(n, s, s > 0.4) for n in (0, 1) for s in rng.random(12)]
    evidence = evidence_of(rows, [0, 0])
    fit, drawn = fit_step_errors(evidence), fit_noise_model("nugget-errors", evidence).draw(4000, 0)
    for level in LEVELS:
        expected = np.quantile(drawn.theta, level, axis=1)
        assert theta_quantiles(fit, level) == pytest.approx(expected, abs=0.03)
