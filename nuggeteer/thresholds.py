"""From match scores to verdicts: the models that decide guesses.

Scoring asks a model three things and nothing else; a fitted model takes the place of `FixedThreshold`
by answering them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nuggeteer.records import Ints, Vector


class ThresholdModel(Protocol):
    """Decides guesses. `nugget` is the position in the key of each score's nugget."""

    @property
    def signature(self) -> str:
        """The model and its parameters, for the signature of scores."""
        ...

    def probability(self, scores: Vector, nugget: Ints) -> Vector | None:
        """How probable it is that each response carries the nugget; None from a model that cannot say."""
        ...

    def threshold(self, nugget: Ints) -> Vector:
        """The match score above which each nugget is taken as present."""
        ...


@dataclass(frozen=True)
class FixedThreshold:
    """One threshold for all nuggets (Nuggeteer §2.3). It says yes or no and cannot say how surely."""

    value: float

    @property
    def signature(self) -> str:
        return f"fixed({self.value:g})"

    def probability(self, scores: Vector, nugget: Ints) -> Vector | None:
        return None

    def threshold(self, nugget: Ints) -> Vector:
        return np.full(len(nugget), self.value)
