"""What a noisy threshold model has learned: θ of each nugget or question, α and β, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.fields import Count, Part, about
from nuggeteer.records import AnswerKey, Ints, Vector
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.fitted_model import unit_of
from nuggeteer.scoring.sampling import DrawsQuality, sampled
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import Threshold
from nuggeteer.statistics.intervals import DRAWS, ENDS
from nuggeteer.thresholds import Evidence, noisy
from nuggeteer.thresholds.noisy import NoisyThreshold, common_rates, theta_quantiles
from nuggeteer.thresholds.propagation import fit_smooth
from nuggeteer.thresholds.smooth import SmoothFit
from nuggeteer.thresholds.steps import StepFit, units_of

MODELS = ("global", "question", "nugget", "nugget-errors", "pooled")
WITHOUT_THRESHOLDS = ("coin", "smooth")


class EstimatedRate(Part):
    """A posterior's mean and 95 % interval."""

    mean: float
    low: float
    high: float


class Unit(Part):
    """What has a threshold of its own: a nugget, a question (`nugget` is null), or all (both are null)."""

    qid: str | None
    nugget: str | None
    pairs: Annotated[Count, about("Its judged pairs.")]
    yes: Annotated[Count, about("Those with a yes.")]
    theta: Annotated[EstimatedRate | None, about("The threshold.")]
    alpha: Annotated[EstimatedRate | None, about("null where all units share it.")]
    beta: Annotated[EstimatedRate | None, about("null where all units share it.")]


def name_of(unit: Unit) -> str:
    return "all" if unit.qid is None else unit.qid if unit.nugget is None else f"{unit.qid}/{unit.nugget}"


class Picture(Part):
    """The match scores and verdicts of the pairs of one unit."""

    unit: Unit
    scores: tuple[float, ...]
    yes: tuple[bool, ...]


class EnginesAgreement(Part):
    """How far PyMC's means are from ours, at most, in standard deviations of the posterior."""

    alpha: Annotated[float | None, about("null for coin and smooth.")] = None
    beta: Annotated[float | None, about("null for coin and smooth.")] = None
    theta: Annotated[float | None, about("null for coin and smooth.")] = None
    chance: Annotated[float | None, about("Of the chances of the judged pairs; null for the other models.")] = None


class Parameters(Part):
    """What a noisy threshold model has learned: with `--model`, `--nugget` or `--engine`."""

    model: str
    engine: Literal["exact", "pymc"]
    pairs: Annotated[Count, about("Judged pairs.")]
    positive: Annotated[Count, about("Those with a yes.")]
    log10_evidence: Annotated[float, about("log10 P(data | model).")]
    alpha: Annotated[
        EstimatedRate | None, about("The probability of a yes below the threshold; null where each unit has its own.")
    ]
    beta: Annotated[
        EstimatedRate | None, about("The probability of a no above the threshold; null where each unit has its own.")
    ]
    units: tuple[Unit, ...]
    picture: Annotated[Picture | None, about("null without `--nugget`.")]
    sampled: Annotated[DrawsQuality | None, about("null with the exact engine.")]
    agreement: Annotated[EnginesAgreement | None, about("null with the exact engine.")]


@dataclass(frozen=True)
class _Posterior:
    """θ of each unit, and α and β of each unit or of all together."""

    theta: tuple[EstimatedRate, ...]
    alpha: tuple[EstimatedRate, ...]
    beta: tuple[EstimatedRate, ...]


def parameters_of(
    collection: Collection,
    model: str,
    engine: Literal["exact", "pymc"] = "exact",
    nugget: str | None = None,
    jobs: int = 1,
) -> Parameters:
    """The parameters of one of the models in MODELS. `nugget` (QID/ID) asks for the picture of its unit. For those in
    WITHOUT_THRESHOLDS, PyMC says how well it agrees with us."""
    if model in WITHOUT_THRESHOLDS and engine == "pymc" and nugget is None:
        return _chances_by_pymc(collection, model, jobs)
    if model not in MODELS:
        also = f"; with --engine pymc and without --nugget also {' and '.join(WITHOUT_THRESHOLDS)}"
        listed = f"{did_you_mean(model, MODELS)}there are {', '.join(MODELS)}{also}"
        raise NuggeteerError(f"the model {model!r} has no thresholds of its own to show; {listed}")
    shown = _position(collection.key, nugget) if nugget is not None else None
    collection = collection.with_settings(threshold=Threshold(model))
    scorer = Scorer(collection, jobs=jobs)
    evidence = _judged(scorer, jobs, "response")
    fitted = noisy.fit_noise_model(model, evidence)
    assert isinstance(fitted.fit, StepFit)
    found = fitted.draw(DRAWS, 0)
    exact, by_pymc, agreement = _exact(fitted.fit, found), None, None
    found_by = exact
    if engine == "pymc":
        by_pymc = sampled(model, collection, scorer.matcher, evidence, scorer.fit_basis)
        found_by = _Posterior(*(_of_draws(by_pymc.posterior[name].T) for name in ("theta", "alpha", "beta")))
        distances = {
            name: _distance(getattr(found_by, name), getattr(exact, name), getattr(found, name))
            for name in ("alpha", "beta", "theta")
        }
        agreement = EnginesAgreement(**distances)
    units = tuple(_units(collection.key, model, evidence, found_by))
    common = len(found_by.alpha) == 1
    unit_of_nugget = units_of(model, evidence)
    return Parameters(
        model,
        engine,
        len(evidence),
        int(evidence.yes.sum()),
        fitted.fit.log10_evidence,
        found_by.alpha[0] if common else None,
        found_by.beta[0] if common else None,
        units,
        None if shown is None else _picture(evidence, unit_of_nugget, int(unit_of_nugget[shown]), units),
        by_pymc.quality if by_pymc else None,
        agreement,
    )


def _judged(scorer: Scorer, jobs: int, by: Literal["answer", "response"]) -> Evidence:
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known, jobs, by)
    if not len(evidence):
        raise NuggeteerError("nobody has judged anything, so there are no thresholds; start with nuggeteer judge RUN")
    return evidence


def _chances_by_pymc(collection: Collection, name: str, jobs: int) -> Parameters:
    """A model by our engine and by PyMC: the chances that they give to the judged pairs."""
    settings = Threshold(name)
    scorer = Scorer(collection.with_settings(threshold=settings), jobs=jobs)
    evidence = _judged(scorer, jobs, unit_of(settings))
    fit: SmoothFit | NoisyThreshold
    if name == "smooth":
        fit = fit_smooth(evidence, prior_of(scorer.matcher))
        log10_evidence = float(fit.log10_evidence)
    else:
        fit = noisy.fit_noise_model(name, evidence)
        log10_evidence = fit.fit.log10_evidence
    by_pymc = sampled(name, collection, scorer.matcher, evidence, scorer.fit_basis)
    ours, theirs = (model.draw(DRAWS, 0).chances(evidence.units) for model in (fit, by_pymc.model))
    distance = np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) / np.maximum(theirs.std(axis=1), 1e-9)
    agreement = EnginesAgreement(chance=float(distance.max()))
    sizes = len(evidence), int(evidence.yes.sum())
    return Parameters(name, "pymc", *sizes, log10_evidence, None, None, (), None, by_pymc.quality, agreement)


def _exact(fit: StepFit, drawn: noisy.NoisyDraws) -> _Posterior:
    """Means and quantiles from the fit. The intervals of error rates that belong to one unit are drawn."""
    thetas = _estimates(fit.mean_theta, *(theta_quantiles(fit, level) for level in ENDS))
    if fit.nodes is not None:
        rates = ((EstimatedRate(one.mean, *map(one.quantile, ENDS)),) for one in common_rates(fit))
        return _Posterior(thetas, *rates)
    own = ((fit.alpha, drawn.alpha), (fit.beta, drawn.beta))
    return _Posterior(thetas, *(_estimates(mean, *np.quantile(draws, ENDS, axis=1)) for mean, draws in own))


def _estimates(mean: Vector, low: Vector, high: Vector) -> tuple[EstimatedRate, ...]:
    return tuple(map(EstimatedRate, mean.tolist(), low.tolist(), high.tolist()))


def _of_draws(draws: Vector) -> tuple[EstimatedRate, ...]:
    """Of parameters × draws."""
    return _estimates(draws.mean(axis=1), *np.quantile(draws, ENDS, axis=1))


def _distance(one: tuple[EstimatedRate, ...], other: tuple[EstimatedRate, ...], draws: Vector) -> float:
    """The largest distance of the means, in standard deviations."""
    means = (np.array([estimate.mean for estimate in each]) for each in (one, other))
    return float((np.abs(np.subtract(*means)) / np.maximum(draws.std(axis=1), 1e-9)).max())


def _position(key: AnswerKey, name: str) -> int:
    qid, _, nugget = name.rpartition("/")
    if (qid, nugget) not in key.nugget_position:
        raise NuggeteerError(f"no nugget is called {name!r}; write the question's id and the nugget's, as in def-01/3")
    return key.nugget_position[qid, nugget]


def _units(key: AnswerKey, model: str, evidence: Evidence, found: _Posterior) -> list[Unit]:
    unit = units_of(model, evidence)[evidence.nugget]
    size = len(found.theta)
    pairs, yes = (np.bincount(unit, weights, size).astype(int) for weights in (None, evidence.yes))
    own = len(found.alpha) > 1
    units = []
    for i in range(size):
        qid = nugget = None
        if model == "question":
            qid = key.questions[i].qid
        elif model != "global":
            qid, nugget = key.nuggets[i].qid, key.nuggets[i].nugget
        rates = (found.alpha[i], found.beta[i]) if own else (None, None)
        units.append(Unit(qid, nugget, int(pairs[i]), int(yes[i]), found.theta[i], *rates))
    return units


def _picture(evidence: Evidence, unit_of_nugget: Ints, unit: int, units: tuple[Unit, ...]) -> Picture:
    own = unit_of_nugget[evidence.nugget] == unit
    return Picture(units[unit], tuple(evidence.scores[own].tolist()), tuple(evidence.yes[own].tolist()))
