"""What a threshold model is, what it learns from, and the one that does not learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nuggeteer.records import Bools, Ints, Vector


@dataclass(frozen=True)
class Evidence:
    """Judged pairs: the match score and the verdict of each (nugget, text) that a human decided.

    `nugget` is the position in the key. `group` numbers the systems whose answers the texts are from.
    `weight_of_nugget` is what a nugget is worth in its question's recall.
    """

    scores: Vector
    yes: Bools
    nugget: Ints
    group: Ints
    groups: tuple[str, ...]
    question_of_nugget: Ints
    weight_of_nugget: Vector

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def nuggets(self) -> int:
        return len(self.question_of_nugget)

    def only(self, kept: Bools) -> Evidence:
        """The same without some of the pairs."""
        return Evidence(
            self.scores[kept],
            self.yes[kept],
            self.nugget[kept],
            self.group[kept],
            self.groups,
            self.question_of_nugget,
            self.weight_of_nugget,
        )


class Draws(Protocol):
    """Joint draws of everything that a model does not know. The same draws serve all runs."""

    def chances(self, scores: Vector, nugget: Ints, group: str | None) -> Vector:
        """draws × nuggets: the probability that some of these guessed responses carries the nugget."""
        ...


class ThresholdModel(Protocol):
    """Decides guesses. `nugget` is the position in the key of each score's nugget."""

    @property
    def signature(self) -> str:
        """The model and its parameters, for the signature of scores."""
        ...

    def threshold(self, nugget: Ints) -> Vector:
        """The match score above which a response is taken to carry the nugget."""
        ...

    def draw(self, count: int, seed: int) -> Draws | None:
        """Draws from what the model believes; None from a model that cannot say how sure it is."""
        ...


@dataclass(frozen=True)
class FixedThreshold:
    """One threshold for all nuggets (Nuggeteer §2.3). It says yes or no and cannot say how surely."""

    value: float

    @property
    def signature(self) -> str:
        return f"fixed({self.value:g})"

    def threshold(self, nugget: Ints) -> Vector:
        return np.full(len(nugget), self.value)

    def draw(self, count: int, seed: int) -> Draws | None:
        return None
