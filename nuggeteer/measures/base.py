"""What a measure is: a name, a formula with its source, its edge cases, and a function of answers; and what that
is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from nuggeteer.display import Shown
from nuggeteer.records import AnswerKey, Bools, Ints, Vector

if TYPE_CHECKING:
    from nuggeteer.statistics.intervals import Interval

BLOCK = 1 << 21  # drawn verdicts that a measure sees at once: as numbers they take 16 MB
DRAWS_AT_ONCE = 256  # that are added up at once
Kind = Literal["linear", "precision", "f"]


@dataclass(frozen=True, repr=False)
class Answers(Shown):
    """What a run's answers contain: all that a measure needs to know about them.

    `found` says for each nugget of the key whether the answer has it. Axes before the last, such as draws, are kept.
    `partly` marks nuggets judged partly supported. `length` is the number of non-white-space characters in each
    question's whole answer. `by_text` has the values, by question, of the measures that compare texts with the key.
    """

    key: AnswerKey
    found: Bools
    partly: Bools
    length: Ints
    by_text: Mapping[str, Vector] = field(default_factory=dict)

    def some(self, draws: slice) -> Answers:
        """Those of some draws. What is partly supported may be the same for all of them."""
        partly = self.partly[draws] if self.partly.ndim > 1 and len(self.partly) > 1 else self.partly
        return Answers(self.key, self.found[draws], partly, self.length, self.by_text)

    @cached_property
    def counted(self) -> tuple[Bools, Bools]:
        """What counts as found and as partly supported: nuggets, and groups at their carriers."""
        if not self.key.groups:
            return self.found, self.partly
        levels = self.key.grouping.combine(np.maximum(2 * self.found.astype(np.int8), self.partly.astype(np.int8)))
        return levels == 2, levels == 1

    def found_weight(self, weight: npt.NDArray[Any]) -> Vector:
        """The total weight of the nuggets found, for each question."""
        return self._sum(self.counted[0], weight)

    def partly_weight(self, weight: npt.NDArray[Any]) -> Vector:
        """The total weight of the nuggets partly supported, for each question."""
        return self._sum(self.counted[1], weight)

    def asked_weight(self, weight: npt.NDArray[Any], partly: float = 0.0) -> Vector:
        """The denominator of recall: the total weight of a question's nuggets. A nugget that takes world knowledge adds
        only what it earns (`partly` is what partial support earns), so missing it costs nothing. A question that has no
        other nuggets asks for nothing, and has 0."""
        # Summed in the same order as `found_weight`, so that rounding never makes a part larger than its whole.
        asked = self._sum(~self.key.world_knowledge, weight)
        if not self.key.world_knowledge.any():
            return asked
        found, in_part = self.counted
        earned = np.where(self.key.world_knowledge, found + partly * in_part, 1.0)
        return np.where(asked > 0, self._sum(earned, weight), 0.0)

    def _sum(self, flags: Bools | Vector, weight: npt.NDArray[Any]) -> Vector:
        """Sums by question. A sparse product takes a tenth of the time of adding slices, for thousands of draws. Some
        draws at a time, because numbers take eight times the memory of flags. Small whole weights, as most are, are
        added up in single bytes."""
        weight = np.asarray(weight, dtype=float)
        if flags.ndim == 1:
            return np.bincount(self.key.question, flags * weight, len(self.key.questions)).astype(float, copy=False)
        from scipy.sparse import csr_array

        size = len(self.key.nuggets)
        place = (self.key.question, np.arange(size))
        by_question = csr_array((weight, place), shape=(len(self.key.questions), size))
        small = not (weight % 1).any() and np.bincount(self.key.question, abs(weight)).max(initial=0) < 128
        kind = np.int8 if flags.dtype == bool and small else float
        by_question = by_question.astype(kind)
        result = np.empty((by_question.shape[0], len(flags)))
        for begin in range(0, len(flags), DRAWS_AT_ONCE):
            some = slice(begin, begin + DRAWS_AT_ONCE)
            result[:, some] = by_question @ np.ascontiguousarray(flags[some].T, dtype=kind)
        return result.T


@dataclass(frozen=True)
class Composition:
    """What a measure is made of, which an audit must know to bound it. The measures that can be audited are linear in
    the nuggets found (recall and AutoNuggetizer's scores), or precision, or an F of precision and a linear recall.

    `weight` is that of each nugget in recall, under one key. `partly` is what partial support earns. `empty` is the
    value of a question that asks for nothing."""

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
        if self.kind == "precision":
            return np.asarray(per_question(self.count.astype(float), self.key) > 0)
        return np.asarray(per_question(np.where(self.key.world_knowledge, 0.0, self.weight), self.key) > 0)

    @property
    def defined(self) -> Bools:
        """The questions that have a value."""
        return np.asarray(self.asks | (not np.isnan(self.empty)))

    @property
    def matters(self) -> Bools:
        """The nuggets that can change the value of their question."""
        weighs = (self.weight > 0) & (self.kind != "precision")
        return np.asarray((weighs | self.count) & self.asks[self.key.question])


@dataclass(frozen=True, repr=False)
class Measure(Shown):
    """A measure of answers; calling it gives a value for each question, NaN where it is undefined."""

    name: str
    title: str
    formula: str
    citation: str
    edge_cases: str
    values: Callable[[Answers], Vector]
    applies: Callable[[AnswerKey], bool] = lambda key: True
    composition: Callable[[AnswerKey], Composition | None] = lambda key: None  # None: it cannot be audited
    by_text: bool = False  # it compares texts with the key
    least: Callable[[AnswerKey], float] = lambda key: 0.0  # that a question can have; the most is 1
    calibrated: bool = True  # whether its interval holds the truth as often as it says, where much is guessed

    def __str__(self) -> str:
        return self.name

    def promises_too_much(self, interval: Interval) -> bool:
        """Whether this interval is narrower than it should be."""
        return not self.calibrated and bool(interval.judging_share)

    def auditable(self, key: AnswerKey) -> Composition | None:
        """What an audit must know. None if the measure cannot be audited, or groups count as one, because then a score
        is not a sum over nuggets."""
        return None if key.groups else self.composition(key)

    def _summary(self) -> str:
        return f"{self.name}, {self.formula}"

    def __call__(self, answers: Answers) -> Vector:
        found = answers.found
        if found.ndim != 2 or found.size <= BLOCK:
            return self.values(answers)
        draws, step = len(found), max(1, BLOCK // found.shape[1])
        result = np.empty((len(answers.key.questions), draws)).T
        for begin in range(0, draws, step):
            result[begin : begin + step] = self.values(answers.some(slice(begin, begin + step)))
        return result


def per_question(values: npt.NDArray[Any], key: AnswerKey) -> Vector:
    """Sums over the nuggets of each question (each has at least one)."""
    total: Vector = np.add.reduceat(values, key.offsets[:-1], axis=-1, dtype=float)
    return total


def ratio(above: Vector, below: Vector, otherwise: float) -> Vector:
    """above / below, and `otherwise` where below is 0."""
    above, below = np.broadcast_arrays(above, below)
    result = np.full(above.shape, otherwise)
    np.divide(above, below, out=result, where=below != 0)
    return result
