"""Our own models from draws of their posteriors, whoever drew them: `pymc_models` does. Nothing here needs PyMC."""

from __future__ import annotations

import numpy as np
import scipy

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.curve import CURVE, curve
from nuggeteer.thresholds.model import Evidence, Pairs
from nuggeteer.thresholds.sampled import Parameters, SampledModel
from nuggeteer.thresholds.steps import Steps, steps_of, units_of


def steps_and_units(name: str, evidence: Evidence) -> tuple[Steps, Ints]:
    """The intervals of θ, and the unit of each nugget."""
    unit_of_nugget = units_of(name, evidence)
    return steps_of(evidence, unit_of_nugget[evidence.nugget], int(unit_of_nugget.max(initial=0)) + 1), unit_of_nugget


def table_of(steps: Steps) -> tuple[Vector, Vector]:
    """Counts (units × intervals × 4) and log widths (units × intervals, −∞ where a unit has fewer intervals)."""
    column = np.arange(len(steps.low)) - steps.start[steps.unit]
    counts = np.zeros((steps.units, column.max() + 1, 4))
    log_width = np.full(counts.shape[:2], -np.inf)
    counts[steps.unit, column] = steps.counts
    log_width[steps.unit, column] = np.log(steps.high - steps.low)
    return counts, log_width


def rates_of(name: str, units: int) -> Ints:
    """The position of each unit's α and β among all of them."""
    return np.arange(units) if name == "nugget-errors" else np.zeros(units, dtype=np.int64)


def draw_thresholds(name: str, evidence: Evidence, posterior: Parameters, seed: int) -> Vector:
    """draws × units: θ, given draws of α and β."""
    steps, _ = steps_and_units(name, evidence)
    counts, log_width = table_of(steps)
    column = np.arange(len(steps.low)) - steps.start[steps.unit]
    low, high = np.zeros(log_width.shape), np.zeros(log_width.shape)
    low[steps.unit, column], high[steps.unit, column] = steps.low, steps.high
    rng = np.random.default_rng(seed)
    own = rates_of(name, steps.units)
    alpha, beta = posterior["alpha"][:, own], posterior["beta"][:, own]
    logs = np.log(np.stack([1 - beta, beta, alpha, 1 - alpha], axis=-1))
    theta = np.zeros((len(alpha), steps.units))
    for unit in range(steps.units):
        terms = logs[:, unit] @ counts[unit].T + log_width[unit]
        cumulative = np.cumsum(np.exp(terms - scipy.special.logsumexp(terms, axis=1, keepdims=True)), axis=1)
        uniform = rng.random(len(alpha))[:, None] * cumulative[:, -1:]
        interval = (cumulative < uniform).sum(axis=1)
        theta[:, unit] = low[unit, interval] + rng.random(len(alpha)) * (high - low)[unit, interval]
    return theta


def from_posterior(name: str, evidence: Evidence, posterior: Parameters, seed: int = 0) -> SampledModel:
    """A model for `nuggeteer.score(..., model=...)`. Of a model with steps, `posterior` has α and β, and may have θ."""
    return (_smooth if name == "smooth" else _steps)(name, evidence, posterior, seed)


def _smooth(name: str, evidence: Evidence, posterior: Parameters, seed: int) -> SampledModel:
    kept = ("b", "nugget", "steepness", "question", "group", "sigma_group")
    chosen = {key: posterior[key] for key in kept}
    names, question_of_nugget = evidence.groups, evidence.question_of_nugget

    def with_group(parameters: Parameters, group: str | None, rng: np.random.Generator) -> Parameters:
        if group in names:
            v = parameters["group"][:, names.index(group)]
        else:
            v = parameters["sigma_group"] * rng.standard_normal(len(parameters["sigma_group"]))
        return {**parameters, "v": v}

    def probability(pairs: Pairs, parameters: Parameters) -> Vector:
        nugget = pairs.nugget
        b, t = parameters["b"], np.exp(parameters["steepness"][:, nugget])
        shift = parameters["nugget"][:, nugget] + parameters["question"][:, question_of_nugget[nugget]]
        shift = shift + b[:, :1] + b[:, CURVE:] * pairs.size + parameters["v"][:, None]
        return np.asarray(scipy.special.expit(shift + t * (b[:, 1:CURVE] @ curve(pairs.scores)[:, 1:].T)))

    return SampledModel("pymc-smooth", evidence.nuggets, chosen, probability, with_group)


def _steps(name: str, evidence: Evidence, posterior: Parameters, seed: int) -> SampledModel:
    unit_of_nugget = units_of(name, evidence)
    chosen = {key: posterior[key] for key in ("alpha", "beta")}
    chosen["theta"] = posterior["theta"] if "theta" in posterior else draw_thresholds(name, evidence, chosen, seed)
    rates_of_unit = rates_of(name, chosen["theta"].shape[1])

    def probability(pairs: Pairs, parameters: Parameters) -> Vector:
        unit = unit_of_nugget[pairs.nugget]
        alpha, beta = (parameters[rate][:, rates_of_unit[unit]] for rate in ("alpha", "beta"))
        return np.where(pairs.scores > parameters["theta"][:, unit], 1 - beta, alpha)

    return SampledModel(f"pymc-{name}", evidence.nuggets, chosen, probability)
