"""Which threshold model explains the judgements best: the paper's table 4, with a held-out score added.

There are two criteria. The *evidence*, log₁₀ P(data | model), weighs fit against flexibility. The *held-out log score*
is closer to what users notice: each group of systems is left out in turn, and the score is the mean logarithm of the
probability that the model gave to these verdicts. The model with the best held-out log score is chosen. If there are
fewer than two groups, it is the one with the best evidence.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Protocol

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.fields import Count, Number, OrNaN, Part, about
from nuggeteer.records import Bools, Vector
from nuggeteer.thresholds import noisy
from nuggeteer.thresholds.model import Evidence, Units
from nuggeteer.thresholds.noisy import fit_pooled
from nuggeteer.thresholds.prior import Prior
from nuggeteer.thresholds.propagation import fit_smooth

FOLDS = 5
PAPER = ("coin", "global", "question", "nugget", "nugget-errors")
OWN_PARAMETERS = {  # what has its own parameters in a model
    "coin": "nothing: one bias, whatever the score",
    "global": "nothing: one threshold for all",
    "question": "each question its threshold",
    "nugget": "each nugget its threshold",
    "nugget-errors": "each nugget its threshold and error rates",
    "pooled": "each nugget its threshold, from one distribution",
    "smooth": "each nugget, question and system; no steps",
}


class Fit(Protocol):
    @property
    def log10_evidence(self) -> float: ...

    def probability(self, units: Units) -> Vector: ...


class ComparedModel(Part):
    """A threshold model and how well it fits."""

    name: str
    log10_evidence: Annotated[OrNaN, about("log10 P(data | model); higher is better.")]
    log_score: Annotated[
        Number,
        about("The mean logarithm of the probability of verdicts on groups that were left out; higher is better."),
    ]
    seconds: float  # that a fit took

    @property
    def own_parameters(self) -> str:
        return OWN_PARAMETERS[self.name]


class Thresholds(Shown, Part):
    """Threshold models, compared."""

    pairs: Annotated[Count, about("Judged pairs.")]
    positive: Annotated[Count, about("Those with a yes.")]
    groups: Annotated[Count, about("Groups of systems.")]
    models: tuple[ComparedModel, ...]
    chosen: Annotated[str | None, about("The best model.")]


@dataclass(frozen=True)
class ModelCandidate:
    """A model that can be fitted. A fit may begin with that of another model, `begins_with`. If there is one already,
    it takes it as an argument after the evidence."""

    name: str
    fit: Callable[..., Fit]
    begins_with: str = ""


def models(prior: Prior) -> dict[str, ModelCandidate]:
    """All models by name: the paper's five, and ours."""
    candidates = (
        *(ModelCandidate(name, partial(noisy.fit, name)) for name in PAPER),
        ModelCandidate("pooled", fit_pooled, "nugget"),
        ModelCandidate("smooth", lambda seen: fit_smooth(seen, prior)),
    )
    return {candidate.name: candidate for candidate in candidates}


@dataclass(frozen=True)
class ModelComparison:
    """The models and the name of the best one. For each model, the chance that it gives each pair when fitted without
    the group of the pair; None if nothing could be left out."""

    models: list[ComparedModel]
    chosen: str
    held_out: dict[str, Vector] | None


def compare(evidence: Evidence, prior: Prior) -> ModelComparison:
    """All models fitted to the same evidence."""
    folds = folds_of(evidence)
    parts = [evidence, *(evidence.only(~out) for out in folds)]
    candidates = models(prior)
    begun, seconds = dict[str, list[Fit]](), dict[str, float]()  # of the models that others begin with
    compared, held_out = [], dict[str, Vector]()
    for name, candidate in candidates.items():
        earlier, start = begun.get(candidate.begins_with, []), time.perf_counter()
        fits = [candidate.fit(evidence, *earlier[:1])]
        seconds[name] = time.perf_counter() - start + seconds.get(candidate.begins_with, 0.0)
        fits += [candidate.fit(part, *earlier[i : i + 1]) for i, part in enumerate(parts[1:], 1)]
        if any(one.begins_with == name for one in candidates.values()):
            begun[name] = fits
        log_score = None
        if folds:
            chance = held_out[name] = np.zeros(len(evidence))
            for fit, out in zip(fits[1:], folds, strict=True):
                chance[out] = fit.probability(evidence.only(out).units)
            log_score = float(np.log(np.where(evidence.yes, chance, 1 - chance)).mean())
        compared.append(ComparedModel(name, float(fits[0].log10_evidence), log_score, seconds[name]))
    if folds:
        best = max(compared, key=lambda model: model.log_score if model.log_score is not None else -np.inf)
    else:
        best = max(compared, key=lambda model: model.log10_evidence)
    return ModelComparison(compared, best.name, held_out if folds else None)


def folds_of(evidence: Evidence) -> list[Bools]:
    """Masks of the pairs to leave out. Each mask covers whole groups."""
    present = np.unique(evidence.group)
    if len(present) < 2:
        return []
    return [np.isin(evidence.group, present[fold::FOLDS]) for fold in range(min(FOLDS, len(present)))]
