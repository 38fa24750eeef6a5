"""`pooled`: a hard step for every nugget; the thresholds of all nuggets come from one learned Beta distribution.

In the paper's per-nugget model θ is uniform, so the threshold of a nugget without a yes may be anywhere. Here
θ ~ Beta(mκ, (1 − m)κ), with m uniform on [0, 1] and log κ ~ N(log 4, 1.5²). Given m and κ everything is exact, as in
`steps`. Laplace's method around their mode integrates over m and κ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy

from nuggeteer.records import Vector
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.steps import LOG10, StepFit, Steps, fit_given, fit_steps, steps_of

PRIOR_LOG_KAPPA = (math.log(4), 1.5)
TINY = 1e-290


def fit_pooled(evidence: Evidence, uniform: StepFit | None = None) -> StepFit:
    """Fit the model. Its α, β and θ are those at the best m and κ. `uniform` is the fit of `nugget` to this evidence,
    if there is one already."""
    from scipy.optimize import minimize  # a quarter of a second, for this only

    own = np.arange(evidence.nuggets)
    steps = steps_of(evidence, evidence.nugget, evidence.nuggets)
    uniform = uniform or fit_steps("nugget", evidence)
    log_width = np.log(uniform.steps.high - uniform.steps.low)

    def log_prior(point: Vector) -> float:
        mean, (centre, spread) = float(scipy.special.expit(point[0])), PRIOR_LOG_KAPPA
        normal = -0.5 * ((point[1] - centre) / spread) ** 2 - math.log(spread * math.sqrt(2 * math.pi))
        return float(math.log(mean * (1 - mean)) + normal)

    def log_posterior(point: Vector) -> float:
        """Relative to the uniform model: the expected ratio of the two priors under its posterior of each θ."""
        ratio = np.exp(_log_mass(uniform.steps, *point) - log_width) * uniform.share
        return float(np.log(np.maximum(np.add.reduceat(ratio, uniform.steps.start), TINY)).sum()) + log_prior(point)

    low, high = np.array([-6.0, -2.0]), np.array([6.0, 8.0])
    best = minimize(
        lambda point: -log_posterior(np.clip(point, low, high)),
        np.array([-0.5, PRIOR_LOG_KAPPA[0]]),
        method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 0.001},
    )
    mode = np.clip(best.x, low, high)
    fit = fit_given("pooled", steps, _log_mass(steps, *mode), own, uniform.cells)
    volume = math.log(2 * math.pi) - 0.5 * math.log(_curvature(log_posterior, mode))
    log_evidence = fit.log10_evidence * LOG10 + log_prior(mode) + volume
    return replace(fit, log10_evidence=log_evidence / LOG10)


def _log_mass(steps: Steps, logit_mean: float, log_kappa: float) -> Vector:
    """The log probability of each interval of θ under the Beta distribution."""
    mean, kappa = float(scipy.special.expit(logit_mean)), math.exp(log_kappa)
    ends, position = np.unique(np.concatenate([steps.low, steps.high]), return_inverse=True)
    below = scipy.special.betainc(mean * kappa, (1 - mean) * kappa, ends)[position]
    half = len(steps.low)
    return np.asarray(np.log(np.maximum(below[half:] - below[:half], TINY)))


def _curvature(log_posterior: Callable[[Vector], float], mode: Vector, h: float = 0.1) -> float:
    """The determinant of the curvature at the mode, by finite differences."""
    f = {(i, j): log_posterior(mode + h * np.array([i, j])) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    xx = (f[1, 0] + f[-1, 0] - 2 * f[0, 0]) / h**2
    yy = (f[0, 1] + f[0, -1] - 2 * f[0, 0]) / h**2
    xy = (f[1, 1] + f[-1, -1] - f[1, -1] - f[-1, 1]) / (4 * h**2)
    return float(max(xx * yy - xy**2, 1e-6))
