"""Integrals over the triangle against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln

from nuggeteer.thresholds.quadrature import WHOLE, locate, resolve


def dirichlet(a, b, rest):
    """The logarithm of the density of (α, β), rest = 1 − α − β, on the unit square."""
    scale = gammaln(a + b + rest) - gammaln(a) - gammaln(b) - gammaln(rest)

    def log_density(u, v):
        alpha, beta, remaining = u, (1 - u) * v, (1 - u) * (1 - v)
        logs = (a - 1) * np.log(alpha) + (b - 1) * np.log(beta) + (rest - 1) * np.log(remaining)
        return scale + logs + np.log(1 - u)

    return log_density


PEAKS = [(1, 1, 1), (2, 3, 1), (500, 1, 1), (1, 500, 1), (3, 4000, 20_000), (1, 1, 1e5), (40, 700, 1), (3e4, 5e4, 2)]


def integral(log_density):
    return resolve(log_density, locate(log_density, WHOLE, 20.0))


@pytest.mark.parametrize("peak", PEAKS)
def test_a_dirichlet_density_integrates_to_1_around_its_mean(peak):
    nodes = integral(dirichlet(*peak))
    mass = np.exp(nodes.log_mass)
    alpha, beta = nodes.u, (1 - nodes.u) * nodes.v
    assert nodes.log_total == pytest.approx(0, abs=1e-6)
    assert (alpha @ mass, beta @ mass) == pytest.approx((peak[0] / sum(peak), peak[1] / sum(peak)), rel=1e-5)


def test_no_peak_is_missed():
    """A narrow peak far from a wide one, a hundred times as high and with a quarter of the mass."""
    densities = [(3 / 4, dirichlet(2, 8, 10)), (1 / 4, dirichlet(6000, 300, 600))]

    def log_density(u, v):
        return np.logaddexp(*(math.log(part) + density(u, v) for part, density in densities))

    nodes = integral(log_density)
    mean = 0.75 * 2 / 20 + 0.25 * 6000 / 6900
    assert nodes.log_total == pytest.approx(0, abs=1e-6)
    assert nodes.u @ np.exp(nodes.log_mass) == pytest.approx(mean, rel=1e-5)


def test_cells_lie_where_the_density_is():
    log_density = dirichlet(3, 4000, 20_000)
    corners = locate(log_density, WHOLE, 20.0)
    area = ((corners[:, 1] - corners[:, 0]) * (corners[:, 3] - corners[:, 2])).sum()
    assert area < 1e-3
