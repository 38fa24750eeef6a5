"""What a measure is made of, which an audit must know to bound it.

The measures that can be audited are linear in the nuggets found (recall and AutoNuggetizer's scores), or precision, or
an F of precision and a linear recall.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from nuggeteer.measures.base import per_question
from nuggeteer.records import AnswerKey, Bools, Vector

Kind = Literal["linear", "precision", "f"]


@dataclass(frozen=True)
class Composition:
    """The parts of a measure under one key: the `weight` of each nugget in recall, and what is done with recall.

    `partly` is what partial support earns. `empty` is the value of a question that asks for nothing."""

    key: AnswerKey
    kind: Kind
    weight: Vector
    beta: float = 1.0
    partly: float = 0.0
    empty: float = float("nan")

    @cached_property
    def count(self) -> Bools:
        """The nuggets that count towards the allowance of precision."""
        return (self.key.vital | self.key.okay) & (self.kind != "linear")

    @cached_property
    def asks(self) -> Bools:
        """The questions whose value depends on the answer."""
        asked = np.where(self.key.world_knowledge, 0.0, self.weight)
        return np.asarray((self.kind == "precision") | (per_question(asked, self.key) > 0))

    @property
    def defined(self) -> Bools:
        """The questions that have a value."""
        return np.asarray(self.asks | (not np.isnan(self.empty)))

    @property
    def matters(self) -> Bools:
        """The nuggets that can change the value of their question."""
        weighs = (self.weight > 0) & (self.kind != "precision")
        return np.asarray((weighs | self.count) & self.asks[self.key.question])
