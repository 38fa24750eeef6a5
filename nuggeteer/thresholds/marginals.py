"""What the posterior of a step model says of each parameter by itself, computed and not drawn.

θ of a unit lies in each interval between two scores with the probability that `steps` finds, and anywhere within it, so
its distribution function is made of straight lines. A common α or β is what `quadrature` integrates: α is the first
axis of its square, and for β the square is laid out the other way round.
"""

from __future__ import annotations

import numpy as np

from nuggeteer.records import Vector
from nuggeteer.thresholds.quadrature import Marginal, Nodes, locate, resolve
from nuggeteer.thresholds.steps import BEYOND, Likelihood, StepFit

Matrix = Vector
ROOM = 0.05  # of the box in which the density lies, on each side
WITHIN = 30.0  # nodes below e^−30 of the heaviest are not in the box


def theta_quantiles(fit: StepFit, level: float) -> Vector:
    """The θ of each unit below which this share of its posterior lies."""
    steps = fit.steps
    ends = np.append(steps.start[1:], len(steps.low)) - 1
    upto = np.cumsum(fit.share)
    before = np.append(0.0, upto)[steps.start]
    wanted = before + level * (upto[ends] - before)
    interval = np.clip(np.searchsorted(upto, wanted), steps.start, ends)
    share = fit.share[interval]
    part = np.divide(wanted - (upto[interval] - share), share, out=np.zeros_like(wanted), where=share > 0)
    return np.asarray(steps.low[interval] + part.clip(0, 1) * (steps.high - steps.low)[interval])


def common_rates(fit: StepFit) -> tuple[Marginal, Marginal]:
    """The posteriors of α and β that all units share."""
    assert fit.nodes is not None
    return Marginal(fit.nodes), Marginal(_other_way_round(fit, fit.nodes))


def _other_way_round(fit: StepFit, nodes: Nodes) -> Nodes:
    """The same posterior with β = u and α = (1 − u) v."""
    likelihood = Likelihood(fit.steps, fit.log_width)

    def log_density(u: Vector, v: Vector) -> Vector:
        alpha = (1 - u) * v
        # The density of (α, β) itself, then that of (u, v): the squares are stretched by 1 − α and by 1 − u.
        return likelihood(alpha, (u / (1 - alpha)).clip(max=1.0)) - np.log1p(-alpha) + np.log1p(-u)

    heavy = nodes.log_mass > nodes.log_mass.max() - WITHIN
    alpha, beta = nodes.u[heavy], ((1 - nodes.u) * nodes.v)[heavy]
    box = []
    for own in (beta, alpha / (1 - beta)):
        room = ROOM * np.ptp(own) + 1e-9
        box += [max(own.min() - room, 0.0), min(own.max() + room, 1.0)]
    return resolve(log_density, locate(log_density, np.array([box]), BEYOND))
