"""Our own models from draws of their posteriors, whoever drew them: `pymc_models` does. Nothing here needs PyMC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from nuggeteer.display import Shown
from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Build, Evidence, Matrix, Units
from nuggeteer.thresholds.rows import RandomRows, joined, key_of, random_rows
from nuggeteer.thresholds.sampled import LEVELS, Parameters, SampledModel, digest_of, rows_of
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


def from_posterior(name: str, evidence: Evidence, posterior: Parameters, seed: int = 0) -> SampledModel | SampledSmooth:
    """A model for `nuggeteer.score(..., model=...)`. Of a model with steps, `posterior` has α and β, and may have θ."""
    return SampledSmooth.of(evidence, posterior) if name == "smooth" else _steps(name, evidence, posterior, seed)


@dataclass(frozen=True, repr=False)
class SampledSmooth(Shown):
    """The default model, from draws of its posterior: rows of b, of the effects of nuggets, questions, systems, builds
    and answers, and of the spreads, by which those that nobody judged are drawn."""

    posterior: Parameters
    question_of_nugget: Ints
    systems: tuple[str, ...]
    builds: tuple[Build, ...]
    answers: dict[int, int]  # the columns of judged answers, by their numbers

    @classmethod
    def of(cls, evidence: Evidence, posterior: Parameters) -> SampledSmooth:
        places = SmoothPlaces.of(evidence)
        kept = ("b", *SPREADS, *(f"sigma_{name}" for name in SPREADS))
        chosen = {key: np.asarray(posterior[key]) for key in kept}
        keys = evidence.units.answers.key[places.answers].tolist()
        columns = {int(key): column for column, key in enumerate(keys)}
        return cls(chosen, evidence.question_of_nugget, places.systems, places.builds, columns)

    @property
    def signature(self) -> str:
        return f"sampled(pymc-smooth,draws={len(self.posterior['b'])},posterior={digest_of(self.posterior)})"

    def threshold(self, nugget: Ints) -> Vector:
        """By the means of the effects, of an answer that is usual otherwise (`smooth.SmoothFit.threshold`)."""
        level = self.posterior["nugget"].mean(axis=0)[nugget]
        level = level + self.posterior["question"].mean(axis=0)[self.question_of_nugget[nugget]]
        b = self.posterior["b"].mean(axis=0)
        likely = b[0] + b[1] * LEVELS[None, :] + level[:, None] >= 0
        return np.where(likely.any(axis=1), LEVELS[likely.argmax(axis=1)], np.nan)

    def draw(self, count: int, seed: int) -> SampledSmoothDraws:
        rows = rows_of(len(self.posterior["b"]), count, seed)
        drawn = {name: array[rows].astype(np.float32) for name, array in self.posterior.items()}
        return SampledSmoothDraws(self, drawn, random_rows(count, seed))


@dataclass(frozen=True, repr=False)
class SampledSmoothDraws(Shown):
    """Draws of the default model."""

    model: SampledSmooth
    drawn: Parameters
    rows: RandomRows

    @property
    def count(self) -> int:
        return len(self.drawn["b"])

    def chances(self, units: Units) -> Matrix:
        """units × draws (`model.Draws`)."""
        drawn, answers = self.drawn, units.answers
        logit = np.asarray(units.clues.astype(np.float32) @ drawn["b"].T)
        logit += drawn["nugget"][:, units.nugget].T + drawn["question"][:, answers.question[units.answer]].T
        for place in np.unique(units.answer).tolist():
            own, build = units.answer == place, answers.builds[int(answers.build[place])]
            column = self.model.answers.get(int(answers.key[place]))
            logit[own] += self._effect("system", self.model.systems, build.system)
            logit[own] += self._effect("build", self.model.builds, build)
            new = drawn["sigma_answer"] * self._normal(int(answers.key[place]))
            logit[own] += new if column is None else drawn["answer"][:, column]
        return np.asarray(scipy.special.expit(logit))

    def _effect(self, name: str, judged: tuple[object, ...], one: object) -> Vector:
        if one in judged:
            return np.asarray(self.drawn[name][:, judged.index(one)])
        return np.asarray(self.drawn[f"sigma_{name}"] * self._normal(key_of(repr(one))))

    def _normal(self, key: int) -> Vector:
        return np.asarray(self.rows.normal(joined(np.array([key], dtype=np.uint64), 18))[0])


SPREADS = ("nugget", "question", "system", "build", "answer")


@dataclass(frozen=True)
class SmoothPlaces:
    """The judged answers, builds and systems, and which of these each unit is of."""

    answers: Ints
    builds: tuple[Build, ...]
    systems: tuple[str, ...]
    answer: Ints
    build: Ints
    system: Ints

    @classmethod
    def of(cls, evidence: Evidence) -> SmoothPlaces:
        units = evidence.units
        answers, answer = np.unique(units.answer, return_inverse=True)
        used, build = np.unique(units.answers.build[answers], return_inverse=True)
        builds = tuple(units.answers.builds[number] for number in used.tolist())
        systems = tuple(sorted({one.system for one in builds}))
        system = np.array([systems.index(one.system) for one in builds], dtype=np.int64)
        return cls(answers, builds, systems, answer, build[answer], system[build[answer]] if len(answers) else answer)


def _steps(name: str, evidence: Evidence, posterior: Parameters, seed: int) -> SampledModel:
    unit_of_nugget = units_of(name, evidence)
    chosen = {key: posterior[key] for key in ("alpha", "beta")}
    chosen["theta"] = posterior["theta"] if "theta" in posterior else draw_thresholds(name, evidence, chosen, seed)
    rates_of_unit = rates_of(name, chosen["theta"].shape[1])

    def probability(units: Units, parameters: Parameters) -> Vector:
        unit = unit_of_nugget[units.nugget]
        alpha, beta = (parameters[rate][:, rates_of_unit[unit]] for rate in ("alpha", "beta"))
        return np.where(units.scores > parameters["theta"][:, unit], 1 - beta, alpha)

    return SampledModel(f"pymc-{name}", evidence.nuggets, chosen, probability)
