"""The effects of nuggets, against all that may be tried and against the formula written out."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.thresholds import nugget_effects
from nuggeteer.thresholds.cells import GridLikelihood, cells_of
from nuggeteer.thresholds.curve import COEFFICIENTS, CURVE, GRID, STEEPNESS, rise
from nuggeteer.thresholds.nugget_effects import (
    MEANS,
    RATIOS,
    STEEPNESS_WEIGHT,
    NuggetEffects,
    packed_weights,
    unpacked_weights,
)
from nuggeteer.thresholds.prior import PRIOR
from tests.thresholds.test_smooth import GROUPS, NUGGETS, simulated

START = 1.1


def likelihood_of(seed: int, per: int) -> GridLikelihood:
    evidence, b, _, v = simulated(seed, per)
    cells = cells_of(evidence)
    assert len(b) == COEFFICIENTS
    base = b[0] + b[CURVE] * cells.size
    return GridLikelihood(cells, base, rise(cells.score, b), v, evidence.nuggets)


def written_out(likelihood: GridLikelihood, steepness: np.ndarray) -> np.ndarray:
    cells = likelihood.cells
    base = likelihood.base + likelihood.group[cells.group]
    eta = base[:, None, None] + steepness[:, None] * likelihood.rise[:, None, None] + GRID
    of_cells = cells.yes[:, None, None] * eta - cells.count[:, None, None] * np.logaddexp(0, eta)
    result = np.zeros((likelihood.nuggets, len(steepness), len(GRID)))
    np.add.at(result, cells.nugget, of_cells)
    return result


@pytest.mark.parametrize("steepness", [np.ones(1), np.exp(0.6 * STEEPNESS)])
def test_likelihoods_on_the_grid_are_the_formula_written_out(steepness):
    likelihood = likelihood_of(1, 4)
    asked, found = likelihood.of_nuggets(steepness)
    assert asked.tolist() == list(range(NUGGETS))
    expected = written_out(likelihood, steepness).reshape(NUGGETS, -1)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-8)


def test_cells_of_one_group_add_up_with_the_others():
    likelihood = likelihood_of(2, 3)
    whole = likelihood.of_nuggets(np.ones(1))[1]
    parts = np.zeros_like(whole)
    for group in range(GROUPS):
        asked, own = likelihood.of_nuggets(np.ones(1), np.flatnonzero(likelihood.cells.group == group))
        parts[asked] += own
    assert parts == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_spread_is_the_best_of_all_that_may_be_tried(seed):
    """Only some of them are tried."""
    likelihood = likelihood_of(seed, 1 + seed % 4)
    effects = NuggetEffects(likelihood, START, PRIOR)
    of_steepness = np.exp(effects.steepness * STEEPNESS)
    chance = np.exp(written_out(likelihood, of_steepness))
    best = -np.inf, 0.0, 0.0, None
    for mean in MEANS:
        for sigma in START * RATIOS:
            density = np.exp(-0.5 * ((GRID - mean) / sigma) ** 2)
            joint = STEEPNESS_WEIGHT[:, None] * density / density.sum()
            marginal = np.log((chance * joint).sum(axis=(1, 2))).sum()
            belief = -0.5 * PRIOR.weight * ((mean / PRIOR.nugget) ** 2 + np.log(sigma / PRIOR.nugget) ** 2)
            if marginal + belief > best[0]:
                best = marginal + belief, sigma, marginal, joint
    _, sigma, marginal, joint = best
    assert effects.sigma == pytest.approx(sigma, rel=1e-9)
    assert effects.log_marginal == pytest.approx(marginal, rel=1e-9)
    posterior = (chance * joint).reshape(NUGGETS, -1)
    assert effects.posterior == pytest.approx(posterior / posterior.sum(axis=1, keepdims=True), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("steepness", [0.0, 0.6])
def test_packed_weights_come_back_to_the_bit(steepness, monkeypatch):
    monkeypatch.setattr(nugget_effects, "STEEPNESS_SPREADS", (steepness,))
    posterior = NuggetEffects(likelihood_of(1, 2), START, PRIOR).posterior
    packed = packed_weights(posterior)
    assert packed.dtype == np.float32
    assert packed.shape == (NUGGETS, len(GRID) * (3 if steepness else 1))
    assert unpacked_weights(packed).tobytes() == posterior.tobytes()
