"""The threshold models in PyMC: an independent check of our own fits, and an example of a model of your own.

`global`, `question`, `nugget` and `nugget-errors` are the models of `steps.py`, with the same priors: θ uniform on [0,
1] and summed out, (α, β) uniform on α + β < 1. Here NUTS samples α and β, while `steps.py` gets them by quadrature. The
two share only the counts between scores. In `coin`, α and 1 − β are one bias, uniform on [0, 1]. In `pooled`, θ comes
from a Beta distribution with the prior of `noisy.py`. Its m and κ are sampled here, while there they are the best ones.

`smooth` is the model of `smooth.py`, which `propagation.py` fits by normal approximations. Here everything is sampled
jointly, the spreads too, with a prior of the same weight. So the two make the same assumptions, and differ only in
their approximations.

Effects are not centred (an effect is its spread times a standard normal number). This samples well while nuggets have
dozens of pairs, not thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor import shared

from nuggeteer.records import Vector
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.noisy import PRIOR_LOG_KAPPA, TINY
from nuggeteer.thresholds.prior import Prior
from nuggeteer.thresholds.sampled import (
    SPREADS,
    SampledModel,
    SampledSmooth,
    SmoothPlaces,
    from_posterior,
    rates_of,
    steps_and_units,
    table_of,
)
from nuggeteer.thresholds.steps import Steps

STEPS = ("global", "question", "nugget", "nugget-errors", "pooled")
NAMES = ("coin", *STEPS, "smooth")
TUNE = 1000  # draws of each chain that are not kept


@dataclass(frozen=True)
class Diagnosis:
    """Whether the chains agree: the largest R̂ of any parameter, the smallest effective number of draws, and the number
    of divergent transitions."""

    r_hat: float
    effective: float
    divergences: int


def build(name: str, evidence: Evidence, prior: Prior | None = None) -> pm.Model:
    """The model of this name for these judged pairs. Only the smooth model uses `prior`."""
    if name == "smooth":
        if prior is None:
            raise ValueError("the smooth model needs a prior")
        return _smooth(evidence, prior)
    return _coin(evidence) if name == "coin" else _step(name, evidence)


def sample(
    model: pm.Model,
    seed: int,
    draws: int = 1000,
    chains: int = 4,
    cores: int = 1,
    notify: Callable[[int, int], None] | None = None,
) -> az.InferenceData:
    """Draws from the posterior by NUTS. Check them with `diagnose`. With one core, `notify` is told how many draws are
    done, and of how many."""
    total, done = chains * (draws + TUNE), count(1)

    def tell(trace: object, draw: object) -> None:
        if notify is not None:
            notify(next(done), total)

    with model:
        return pm.sample(
            draws,
            tune=TUNE,
            chains=chains,
            cores=cores,
            random_seed=seed,
            target_accept=0.997,  # at 0.99, the spreads of the smooth model diverge now and then
            progressbar=False,
            callback=tell if notify else None,
            compute_convergence_checks=False,
        )


def diagnose(idata: az.InferenceData) -> Diagnosis:
    """Diagnostics of the draws of `sample`. Look at them first."""
    columns = [
        column
        for array in idata.posterior.data_vars.values()
        for column in np.moveaxis(array.values.reshape(*array.shape[:2], -1), 2, 0)
    ]
    return Diagnosis(
        max(float(az.rhat(column)) for column in columns),
        min(float(az.ess(column)) for column in columns),
        int(idata.sample_stats["diverging"].sum()),
    )


# Steps


def _coin(evidence: Evidence) -> pm.Model:
    yes, pairs = int(evidence.yes.sum()), len(evidence)
    with pm.Model() as model:
        bias = pm.Beta("bias", 1, 1, shape=1)
        pm.Deterministic("alpha", bias)
        pm.Deterministic("beta", 1 - bias)
        pm.Potential("verdicts", (yes * pt.log(bias) + (pairs - yes) * pt.log1p(-bias)).sum())
    return model


def _step(name: str, evidence: Evidence) -> pm.Model:
    steps, _ = steps_and_units(name, evidence)
    own = rates_of(name, steps.units)
    # The shapes are left unknown, so all but `pooled` are the same graph and PyTensor compiles it once.
    counts, log_width = (shared(table, shape=(None,) * table.ndim) for table in table_of(steps))
    with pm.Model() as model:
        # Uniform on the triangle: α, β and 1 − α − β.
        rates = pm.Dirichlet("rates", shared(np.ones((own.max() + 1, 3)), shape=(None, 3)))
        alpha = pm.Deterministic("alpha", rates[:, 0])
        beta = pm.Deterministic("beta", rates[:, 1])
        logs = pt.log(pt.stack([1 - beta, beta, alpha, 1 - alpha], axis=-1))
        if name == "pooled":
            log_width = _log_mass(steps, log_width.get_value())
        terms = (counts * logs[shared(own, shape=(None,))][:, None, :]).sum(axis=-1) + log_width
        pm.Potential("verdicts", pt.logsumexp(terms, axis=1).sum())
    return model


def _log_mass(steps: Steps, outside: Vector) -> pt.TensorVariable:
    """The log probability of each interval of θ under its Beta distribution, as in `table_of`; m and κ are sampled."""
    mean = pm.Beta("mean", 1, 1)
    kappa = pt.exp(pm.Normal("log_kappa", *PRIOR_LOG_KAPPA))
    ends, position = np.unique(np.concatenate([steps.low, steps.high]), return_inverse=True)  # from 0 to 1
    inner = pt.betainc(mean * kappa, (1 - mean) * kappa, ends[1:-1])
    below = pt.concatenate([np.zeros(1), inner, np.ones(1)])
    low, high = position[: len(steps.low)], position[len(steps.low) :]
    column = np.arange(len(steps.low)) - steps.start[steps.unit]
    mass = pt.log(pt.maximum(below[high] - below[low], TINY))
    return pt.set_subtensor(pt.as_tensor(outside)[steps.unit, column], mass)


# Smooth


def _smooth(evidence: Evidence, prior: Prior) -> pm.Model:
    places = SmoothPlaces.of(evidence)
    questions = int(evidence.question_of_nugget.max(initial=-1)) + 1
    sizes = (evidence.nuggets, questions, len(places.systems), len(places.builds), len(places.answers))
    nugget = evidence.nugget
    of = (nugget, evidence.question_of_nugget[nugget], places.system, places.build, places.answer)
    root = np.linalg.cholesky(prior.b_covariance)
    positive = prior.positive
    spread_of = np.sqrt(np.diag(prior.b_covariance))
    with pm.Model() as model:
        b = prior.b + pt.dot(root, pm.Normal("b_raw", shape=len(prior.b)))
        if positive:  # which depend on no other weight
            above = pm.TruncatedNormal("above", prior.b[positive], spread_of[positive], lower=0, shape=len(positive))
            b = pt.set_subtensor(b[positive], above)
        b = pm.Deterministic("b", b)
        logit = pt.dot(evidence.units.clues.astype(float), b)
        for name, spread, size, which in zip(SPREADS, prior.spreads, sizes, of, strict=True):
            # As much as `weight` observed effects would say of the spread.
            variance = pm.InverseGamma(f"variance_{name}", prior.weight / 2, prior.weight * spread**2 / 2)
            sigma = pm.Deterministic(f"sigma_{name}", pt.sqrt(variance))
            effect = pm.Deterministic(name, sigma * pm.Normal(f"{name}_raw", shape=max(size, 1)))
            logit = logit + effect[which]
        pm.Bernoulli("verdicts", logit_p=logit, observed=evidence.yes.astype(int))
    return model


# Into scoring


def posterior_of(idata: az.InferenceData) -> dict[str, Vector]:
    """The draws of `sample`, all chains together: an array for each parameter, with a row for each draw."""
    arrays = {str(key): array.values for key, array in idata.posterior.data_vars.items()}
    return {key: array.reshape(-1, *array.shape[2:]) for key, array in arrays.items()}


def as_model(name: str, evidence: Evidence, idata: az.InferenceData, seed: int = 0) -> SampledModel | SampledSmooth:
    """A model for `nuggeteer.score(..., model=...)`, from the draws of `sample` for a model that `build` made."""
    return from_posterior(name, evidence, posterior_of(idata), seed)
