"""Chances for those who did not see a group, against the mean over the grid written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from nuggeteer.thresholds.blind import Blind
from nuggeteer.thresholds.curve import GRID

CELLS, CHANCES, BELIEFS = 2000, 700, 40


def blind_of(seed: int, steepness: int) -> Blind:
    rng = np.random.default_rng(seed)
    beliefs = rng.dirichlet(np.full(steepness * len(GRID), 0.2), BELIEFS).astype(np.float32)
    place = np.concatenate([np.arange(CHANCES), rng.integers(0, CHANCES, CELLS - CHANCES)])
    eta, x = 3 * rng.standard_normal((CHANCES, steepness)) - 2, rng.standard_normal(CHANCES)
    of_chance = rng.integers(0, BELIEFS, CHANCES)
    blind = Blind(np.arange(CELLS), beliefs, np.arange(BELIEFS), place, of_chance, eta, x)
    return blind.seeing_effects(rng.random(CELLS))


def written_out(blind: Blind, effects: np.ndarray) -> np.ndarray:
    v, k, g = effects
    eta = blind.eta[:, :, None] + GRID
    logit = eta + v + k * (blind.x - blind.centre)[:, None, None] + g * (eta - blind.level)
    weight = blind.beliefs[blind.belief].reshape(eta.shape).astype(float)
    return (weight * expit(logit)).sum(axis=(1, 2))


@pytest.mark.parametrize("steepness", [1, 3])
@pytest.mark.parametrize("effects", [(0.0, 0.0, 0.0), (-2.5, 0.7, 0.0), (1.0, -0.4, -1.6), (40.0, 3.0, 2.0)])
def test_chances_are_means_over_the_grid(steepness, effects):
    blind = blind_of(1, steepness)
    chance, _ = blind.chance(np.array(effects))
    assert chance == pytest.approx(written_out(blind, np.array(effects)), rel=2e-5, abs=1e-7)


@pytest.mark.parametrize("effects", [(0.0, 0.0, 0.0), (-1.0, 0.5, 0.3)])
def test_slopes_are_differences_of_chances(effects):
    blind, at = blind_of(2, 3), np.array(effects)
    _, rising = blind.chance(at)
    for i, one in enumerate(np.eye(3)):
        slope = (written_out(blind, at + 1e-4 * one) - written_out(blind, at - 1e-4 * one)) / 2e-4
        assert rising[:, i] == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_at_the_centre_and_the_level_other_effects_leave_the_expected_score():
    rng = np.random.default_rng(3)
    importance = rng.random(CELLS)
    blind = blind_of(3, 1).seeing_effects(importance)
    rising = blind.chance(np.zeros(3))[1][blind.place]  # of the cells
    assert importance @ rising[:, 1:] == pytest.approx(0, abs=1e-6 * float(importance @ rising[:, 0]))
