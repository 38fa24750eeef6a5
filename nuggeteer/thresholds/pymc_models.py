"""The threshold models in PyMC: an independent check of our own fits, and an example of a model of your own.

`global`, `question`, `nugget` and `nugget-errors` are the models of `steps.py`, with the same priors: θ uniform on
[0, 1] and summed out, (α, β) uniform on α + β < 1. Here NUTS samples α and β, and sequential Monte Carlo estimates the
evidence, while `steps.py` gets both by quadrature. The two share only the counts between scores.

`smooth` is the model of `smooth.py`, which `learning.py` fits. The differences are:

- Here the spreads have half-normal priors, at the scale of the prior's spreads and 0.5 for the steepness, and are
  sampled. `learning.py` takes the best value of each, with a prior that weighs as much as four effects (empirical
  Bayes).
- Here log t is normal. There it has three values.
- Here the effects of nuggets have mean 0. There they have a mean of their own, beside b₀.
- Here everything is sampled jointly. There b, c and v are approximated as normal around their mode, at t = 1.
- Here a system's effect v comes from its pairs, which all count equally. There it comes from the system's score,
  compared with a guess from the other systems.
- Here systems differ only in level, not in slope (k), and the nuggets of an answer are independent (ρ = 0).

Effects are not centred (an effect is its spread times a standard normal number). This samples well while nuggets have
dozens of pairs, not thousands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor import shared
from scipy.special import expit, logsumexp

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Evidence, Pairs
from nuggeteer.thresholds.prior import PRIOR
from nuggeteer.thresholds.sampled import Parameters, SampledModel
from nuggeteer.thresholds.smooth import CURVE, Prior, curve
from nuggeteer.thresholds.steps import Steps, steps_of, units_of

STEPS = ("global", "question", "nugget", "nugget-errors")
NAMES = (*STEPS, "smooth")
STEEPNESS = 0.5  # scale of the prior of σ_t


@dataclass(frozen=True)
class Diagnosis:
    """Whether the chains agree: the largest R̂ of any parameter, the smallest effective number of draws, and the number
    of divergent transitions."""

    r_hat: float
    effective: float
    divergences: int


@dataclass(frozen=True)
class Estimate:
    """A Monte Carlo estimate and its standard error, over chains."""

    value: float
    error: float


def build(name: str, evidence: Evidence, prior: Prior = PRIOR) -> pm.Model:
    """The model of this name for these judged pairs. Only the smooth model uses `prior`."""
    if name == "smooth":
        return _smooth(evidence, prior)
    return _step(name, evidence)


def sample(model: pm.Model, seed: int, draws: int = 1000, chains: int = 4, cores: int = 1) -> az.InferenceData:
    """Draws from the posterior by NUTS. Check them with `diagnose`."""
    with model:
        return pm.sample(
            draws,
            tune=1000,
            chains=chains,
            cores=cores,
            random_seed=seed,
            target_accept=0.997,  # at 0.99, the spreads of the smooth model diverge now and then
            progressbar=False,
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


def log10_evidence(model: pm.Model, seed: int, draws: int = 1000, chains: int = 4, cores: int = 1) -> Estimate:
    """log₁₀ P(data | model) by sequential Monte Carlo, and its standard error from independent chains.

    The estimate is a little too low, more so with fewer draws. With nine parameters it was 0.03 too low at 1,000 draws
    per chain, and 0.017 too low at 2,000."""
    with model:
        trace = pm.sample_smc(
            draws,
            chains=chains,
            cores=cores,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            return_inferencedata=False,
        )
    logs = np.array([values[-1] for values in trace.report.log_marginal_likelihood], dtype=float)
    # Each chain's estimate of the evidence is unbiased, but its logarithm is not.
    relative = np.exp(logs - logs.max())
    value = float(logs.max() + math.log(relative.mean())) / math.log(10)
    return Estimate(value, float(relative.std(ddof=1) / relative.mean() / math.sqrt(chains) / math.log(10)))


# Steps


def _steps_of(name: str, evidence: Evidence) -> tuple[Steps, Ints]:
    unit_of_nugget = units_of(name, evidence)
    return steps_of(evidence, unit_of_nugget[evidence.nugget], int(unit_of_nugget.max(initial=0)) + 1), unit_of_nugget


def _table(steps: Steps) -> tuple[Vector, Vector]:
    """Counts (units × intervals × 4) and log widths (units × intervals, −∞ where a unit has fewer intervals)."""
    column = np.arange(len(steps.low)) - steps.start[steps.unit]
    counts = np.zeros((steps.units, column.max() + 1, 4))
    log_width = np.full(counts.shape[:2], -np.inf)
    counts[steps.unit, column] = steps.counts
    log_width[steps.unit, column] = np.log(steps.high - steps.low)
    return counts, log_width


def _rates_of(name: str, units: int) -> Ints:
    """The position of each unit's α and β among all of them."""
    return np.arange(units) if name == "nugget-errors" else np.zeros(units, dtype=np.int64)


def _step(name: str, evidence: Evidence) -> pm.Model:
    steps, _ = _steps_of(name, evidence)
    own = _rates_of(name, steps.units)
    # The shapes are left unknown, so all four models are the same graph and PyTensor compiles it once.
    counts, log_width = (shared(table, shape=(None,) * table.ndim) for table in _table(steps))
    with pm.Model() as model:
        # Uniform on the triangle: α, β and 1 − α − β.
        rates = pm.Dirichlet("rates", shared(np.ones((own.max() + 1, 3)), shape=(None, 3)))
        alpha = pm.Deterministic("alpha", rates[:, 0])
        beta = pm.Deterministic("beta", rates[:, 1])
        logs = pt.log(pt.stack([1 - beta, beta, alpha, 1 - alpha], axis=-1))
        terms = (counts * logs[shared(own, shape=(None,))][:, None, :]).sum(axis=-1) + log_width
        pm.Potential("verdicts", pt.logsumexp(terms, axis=1).sum())
    return model


def draw_thresholds(name: str, evidence: Evidence, posterior: Parameters, seed: int) -> Vector:
    """draws × units: θ, given draws of α and β."""
    steps, _ = _steps_of(name, evidence)
    counts, log_width = _table(steps)
    column = np.arange(len(steps.low)) - steps.start[steps.unit]
    low, high = np.zeros(log_width.shape), np.zeros(log_width.shape)
    low[steps.unit, column], high[steps.unit, column] = steps.low, steps.high
    rng = np.random.default_rng(seed)
    own = _rates_of(name, steps.units)
    alpha, beta = posterior["alpha"][:, own], posterior["beta"][:, own]
    logs = np.log(np.stack([1 - beta, beta, alpha, 1 - alpha], axis=-1))
    theta = np.zeros((len(alpha), steps.units))
    for unit in range(steps.units):
        terms = logs[:, unit] @ counts[unit].T + log_width[unit]
        cumulative = np.cumsum(np.exp(terms - logsumexp(terms, axis=1, keepdims=True)), axis=1)
        uniform = rng.random(len(alpha))[:, None] * cumulative[:, -1:]
        interval = (cumulative < uniform).sum(axis=1)
        theta[:, unit] = low[unit, interval] + rng.random(len(alpha)) * (high - low)[unit, interval]
    return theta


# Smooth


def _smooth(evidence: Evidence, prior: Prior) -> pm.Model:
    questions = int(evidence.question_of_nugget.max(initial=-1)) + 1
    root = np.linalg.cholesky(prior.b_covariance)
    features = curve(evidence.scores)
    with pm.Model() as model:
        b = pm.Deterministic("b", prior.b + pt.dot(root, pm.Normal("b_raw", shape=len(prior.b))))

        def effects(name: str, scale: float, size: int) -> Any:
            spread = pm.HalfNormal(f"sigma_{name}", scale)
            return pm.Deterministic(name, spread * pm.Normal(f"{name}_raw", shape=size))

        a = effects("nugget", prior.nugget, evidence.nuggets)
        log_t = effects("steepness", STEEPNESS, evidence.nuggets)
        c = effects("question", prior.question, questions)
        v = effects("group", prior.group, max(len(evidence.groups), 1))
        nugget = evidence.nugget
        shift = b[0] + b[CURVE] * evidence.size + a[nugget] + c[evidence.question_of_nugget[nugget]] + v[evidence.group]
        rise = (features[:, 1:] * b[1:CURVE]).sum(axis=1)
        pm.Bernoulli("verdicts", logit_p=shift + pt.exp(log_t[nugget]) * rise, observed=evidence.yes.astype(int))
    return model


# Into scoring


def as_model(name: str, evidence: Evidence, idata: az.InferenceData, seed: int = 0) -> SampledModel:
    """A model for `nuggeteer.score(..., model=...)`, from the draws of `sample` for a model that `build` made."""
    arrays = {key: array.values for key, array in idata.posterior.data_vars.items()}
    posterior = {key: array.reshape(-1, *array.shape[2:]) for key, array in arrays.items()}
    if name == "smooth":
        kept = ("b", "nugget", "steepness", "question", "group", "sigma_group")
        chosen = {key: posterior[key] for key in kept}
        names, question_of_nugget = evidence.groups, evidence.question_of_nugget

        def with_group(parameters: Parameters, group: str | None, rng: np.random.Generator) -> Parameters:
            if group in names:
                v = parameters["group"][:, names.index(group)]
            else:
                v = parameters["sigma_group"] * rng.standard_normal(len(parameters["sigma_group"]))
            return {**parameters, "v": v}

        def smooth_probability(pairs: Pairs, parameters: Parameters) -> Vector:
            nugget = pairs.nugget
            b, t = parameters["b"], np.exp(parameters["steepness"][:, nugget])
            shift = parameters["nugget"][:, nugget] + parameters["question"][:, question_of_nugget[nugget]]
            shift = shift + b[:, :1] + b[:, CURVE:] * pairs.size + parameters["v"][:, None]
            return np.asarray(expit(shift + t * (b[:, 1:CURVE] @ curve(pairs.scores)[:, 1:].T)))

        return SampledModel("pymc-smooth", evidence.nuggets, chosen, smooth_probability, with_group)

    unit_of_nugget = units_of(name, evidence)
    chosen = {key: posterior[key] for key in ("alpha", "beta")}
    chosen["theta"] = draw_thresholds(name, evidence, chosen, seed)

    rates_of_unit = _rates_of(name, chosen["theta"].shape[1])

    def step_probability(pairs: Pairs, parameters: Parameters) -> Vector:
        unit = unit_of_nugget[pairs.nugget]
        alpha, beta = (parameters[rate][:, rates_of_unit[unit]] for rate in ("alpha", "beta"))
        return np.where(pairs.scores > parameters["theta"][:, unit], 1 - beta, alpha)

    return SampledModel(f"pymc-{name}", evidence.nuggets, chosen, step_probability)
