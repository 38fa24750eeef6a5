"""A threshold model of your own, from draws of its posterior, made with any tool (docs/guides/models.md).

You give the draws and one function, and get a model that decides guesses and knows how sure it is. Our own models are
made in the same way from draws by PyMC (`pymc_models`). Nothing here needs PyMC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import scipy

from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.records import Ints, Matrix, Vector
from nuggeteer.thresholds.model import LEVELS, Build, Evidence, Units, lowest_level
from nuggeteer.thresholds.rows import RandomRows, joined, key_of, random_rows
from nuggeteer.thresholds.steps import Steps, steps_of, units_of

Parameters = Mapping[str, Vector]
BLOCK = 1 << 21  # probabilities at a time


@dataclass(frozen=True, repr=False)
class SampledModel(Shown):
    """Decides guesses by draws from a posterior.

    `nuggets` is the number of nuggets in the key. `posterior` has an array for each parameter, with a row for each
    draw. `probability(pairs, parameters)` is called with some pairs (arrays `.scores`, `.nugget` and `.size`, with an
    entry for each pair) and some rows of the posterior. It returns the probability of a yes, draws × pairs.

    If systems differ, `for_group(parameters, group, rng)` returns the parameters for one group of systems. It may draw
    the effect of a group that nobody judged from `rng`. Without this function, all systems are alike.
    """

    name: str
    nuggets: int
    posterior: Parameters
    probability: Callable[[Units, Parameters], Matrix]
    for_group: Callable[[Parameters, str | None, np.random.Generator], Parameters] | None = None

    def __post_init__(self) -> None:
        rows = {np.shape(array)[:1] for array in self.posterior.values()}
        if len(rows) != 1 or rows & {(), (0,)}:
            raise NuggeteerError(
                f"the arrays in the posterior of {self.name!r} must all have one row for each draw; their shapes are "
                f"{ {name: np.shape(array) for name, array in self.posterior.items()} }"
            )

    @property
    def draws(self) -> int:
        return len(next(iter(self.posterior.values())))

    @cached_property
    def signature(self) -> str:
        return f"sampled({self.name},draws={self.draws},posterior={digest_of(self.posterior)})"

    def threshold(self, nugget: Ints) -> Vector:
        """The lowest match score at which a yes is more probable than a no, NaN if there is none."""
        asked, position = np.unique(nugget, return_inverse=True)
        return np.asarray(np.array([self._threshold_of(int(number)) for number in asked])[position])

    def _threshold_of(self, nugget: int) -> float:
        if nugget not in self._thresholds:
            parameters = self._parameters(self.posterior, None, 0)
            mean = self._chance(Units.of_scores(LEVELS, np.full(len(LEVELS), nugget)), parameters).mean(axis=0)
            self._thresholds[nugget] = float(lowest_level(mean >= 0.5))
        return self._thresholds[nugget]

    @cached_property
    def _thresholds(self) -> dict[int, float]:
        return {}

    def draw(self, count: int, seed: int) -> SampledDraws:
        """Resample the posterior's draws: each is used equally often, and some once more to reach `count`."""
        rows = rows_of(self.draws, count, seed)
        return SampledDraws(self, {name: np.asarray(array)[rows] for name, array in self.posterior.items()}, seed)

    def _parameters(self, parameters: Parameters, group: str | None, seed: int) -> Parameters:
        """The parameters for a group. The same group gets the same draws in every call."""
        if self.for_group is None:
            return parameters
        name = (group or "").encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(name, digest_size=8).digest(), "big")
        return self.for_group(parameters, group, np.random.Generator(np.random.PCG64([seed, 3, number])))

    def _chance(self, pairs: Units, parameters: Parameters) -> Matrix:
        """draws × pairs: the user's function, with its result checked."""
        chance = np.asarray(self.probability(pairs, parameters), dtype=float)
        shape = len(next(iter(parameters.values()))), len(pairs)
        if chance.shape != shape:
            raise NuggeteerError(f"{self.name!r}: probability must be draws × pairs, {shape}, and is {chance.shape}")
        if not ((chance >= 0) & (chance <= 1)).all():
            raise NuggeteerError(f"{self.name!r}: a probability is not between 0 and 1")
        return chance


def digest_of(posterior: Parameters) -> str:
    """A hash of all draws."""
    digest = blake2b(digest_size=6)
    for name in sorted(posterior):
        array = np.ascontiguousarray(posterior[name], dtype=float)
        digest.update(f"{name}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def rows_of(draws: int, count: int, seed: int) -> Ints:
    """Which of the draws are used: each equally often, and some once more."""
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    whole, rest = divmod(count, draws)
    rows = np.concatenate([np.tile(np.arange(draws), whole), rng.permutation(draws)[:rest]])
    rng.shuffle(rows)
    return rows


@dataclass(frozen=True, repr=False)
class SampledDraws(Shown):
    """Draws from a posterior. The same draws serve all runs."""

    model: SampledModel
    parameters: Parameters
    seed: int

    @property
    def count(self) -> int:
        return len(next(iter(self.parameters.values())))

    def chances(self, units: Units) -> Matrix:
        """units × draws: an answer has the nugget if its best response has (`model.Draws`)."""
        of_unit = units.answers.build[units.answer]
        result = np.empty((len(units), self.count), dtype=np.float32)
        for number in np.unique(of_unit).tolist():
            own = np.flatnonzero(of_unit == number)
            parameters = self.model._parameters(self.parameters, units.answers.builds[number].system, self.seed)
            for begin in range(0, len(own), size := max(BLOCK // self.count, 1)):
                part = own[begin : begin + size]
                result[part] = self.model._chance(units[part], parameters).T
        return result


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
    """draws × units: θ, given draws of α and β, and in `pooled` of m and κ."""
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
    shapes = _shapes(posterior) if name == "pooled" else (np.ones((1, 1)), np.ones((1, 1)))  # of θ's Beta distribution
    for unit in range(steps.units):
        begin, end = (scipy.special.betainc(*shapes, ends[unit][None]) for ends in (low, high))
        with np.errstate(divide="ignore"):
            terms = logs[:, unit] @ counts[unit].T + np.log(end - begin)
        cumulative = np.cumsum(np.exp(terms - scipy.special.logsumexp(terms, axis=1, keepdims=True)), axis=1)
        uniform = rng.random(len(alpha))[:, None] * cumulative[:, -1:]
        interval = (cumulative < uniform).sum(axis=1)
        row = np.arange(len(alpha)) if len(begin) > 1 else 0
        at = begin[row, interval] + rng.random(len(alpha)) * (end - begin)[row, interval]
        theta[:, unit] = scipy.special.betaincinv(shapes[0][:, 0], shapes[1][:, 0], at)
    return theta


def _shapes(posterior: Parameters) -> tuple[Vector, Vector]:
    mean, kappa = posterior["mean"][:, None], np.exp(posterior["log_kappa"])[:, None]
    return mean * kappa, (1 - mean) * kappa


def from_posterior(name: str, evidence: Evidence, posterior: Parameters, seed: int = 0) -> SampledModel | SampledSmooth:
    """A model for `nuggeteer.score(..., model=...)`. For a model with steps, `posterior` has α and β, and may have
    θ."""
    return SampledSmooth.of(evidence, posterior) if name == "smooth" else _steps(name, evidence, posterior, seed)


@dataclass(frozen=True, repr=False)
class SampledSmooth(Shown):
    """The default model, from draws of its posterior: rows of b, of the effects of nuggets, questions, systems, builds
    and answers, and of the spreads, with which the effects of what nobody judged are drawn."""

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
        """By the means of the effects, for an otherwise usual answer (`smooth.SmoothFit.threshold`)."""
        level = self.posterior["nugget"].mean(axis=0)[nugget]
        level = level + self.posterior["question"].mean(axis=0)[self.question_of_nugget[nugget]]
        b = self.posterior["b"].mean(axis=0)
        return lowest_level(b[0] + b[1] * LEVELS[None, :] + level[:, None] >= 0)

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
    """The judged answers, builds and systems, and to which of these each unit belongs."""

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
    chosen["theta"] = posterior["theta"] if "theta" in posterior else draw_thresholds(name, evidence, posterior, seed)
    rates_of_unit = rates_of(name, chosen["theta"].shape[1])

    def probability(units: Units, parameters: Parameters) -> Vector:
        unit = unit_of_nugget[units.nugget]
        alpha, beta = (parameters[rate][:, rates_of_unit[unit]] for rate in ("alpha", "beta"))
        return np.where(units.scores > parameters["theta"][:, unit], 1 - beta, alpha)

    return SampledModel(f"pymc-{name}", evidence.nuggets, chosen, probability)
