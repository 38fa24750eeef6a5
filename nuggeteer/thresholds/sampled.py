"""A threshold model of your own, from draws of its posterior, made with any tool (docs/guides/models.md).

You give the draws and one function, and get a model that decides guesses and knows how sure it is. Nothing here needs
PyMC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Units

Matrix = Vector
Parameters = Mapping[str, Vector]
LEVELS = (np.arange(101) / 100) ** 2  # the scores that are tried as thresholds
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
            likely = mean >= 0.5
            self._thresholds[nugget] = float(LEVELS[likely.argmax()]) if likely.any() else np.nan
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
