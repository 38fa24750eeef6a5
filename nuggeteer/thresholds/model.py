"""The interface of threshold models, what they are asked and what they learn from; and the fixed threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from nuggeteer.display import Shown
from nuggeteer.records import Bools, Ints, Matrix, Vector

DRAWN, BLOCK = 1000, 1024  # draws behind a probability, and units of which it is worked out at once
Keys = npt.NDArray[np.uint64]


class Build(NamedTuple):
    """A version of a system: the group of its runs, and the run."""

    system: str
    run: str


@dataclass(frozen=True, repr=False)
class AnswerSet(Shown):
    """Answers: the question and the build of each, and a number that distinguishes it from all other answers.

    `pieces` are numbers of its sentences, some of them if there are many; those of answer i begin at `begin[i]`. Its
    luck is made of theirs, so answers that share sentences share luck. Judged answers need none."""

    question: Ints
    build: Ints  # of each, in `builds`
    builds: tuple[Build, ...]
    key: Keys
    begin: Ints
    pieces: Keys

    def __len__(self) -> int:
        return len(self.question)

    @classmethod
    def without_pieces(cls, question: Ints, build: Ints, builds: tuple[Build, ...], key: Keys) -> AnswerSet:
        return cls(question, build, builds, key, np.zeros(len(question) + 1, dtype=np.int64), key[:0])


@dataclass(frozen=True, repr=False)
class Units(Shown):
    """What a model is asked: does this answer have this nugget? If a part of the answer was judged, the question is
    about the rest, and what people said is about that part.

    `scores` are the match scores of the best response, `size` is its size (`size_of`), and `text` a number of its text.
    `clues` has everything that the default model weighs, in the order of its names."""

    nugget: Ints  # the position in the key
    answer: Ints  # in `answers`
    answers: AnswerSet
    scores: Vector
    size: Vector
    clues: Matrix
    text: Keys

    def __len__(self) -> int:
        return len(self.nugget)

    def __getitem__(self, which: Ints | Bools | slice) -> Units:
        own = (self.scores[which], self.size[which], self.clues[which], self.text[which])
        return Units(self.nugget[which], self.answer[which], self.answers, *own)

    @classmethod
    def of_scores(cls, scores: Vector, nugget: Ints) -> Units:
        """Units for models that know nothing but scores."""
        count, nowhere = len(scores), np.zeros(len(scores), dtype=np.int64)
        answers = AnswerSet.without_pieces(nowhere, nowhere, (Build("", ""),), nowhere.astype(np.uint64))
        zeros = np.zeros(count)
        return cls(nugget, np.arange(count), answers, scores, zeros, zeros[:, None], nowhere.astype(np.uint64))


def size_of(characters: Ints) -> Vector:
    """The sizes of responses: the logarithm of their non-white-space characters, in hundreds."""
    return np.log(np.maximum(characters, 1) / 100).astype(np.float16)  # small, for a million responses


@dataclass(frozen=True, repr=False)
class Evidence(Shown):
    """Units that humans judged, and whether the verdict was `yes`.

    `partly` marks those whose verdict says that the nugget is supported in part; None if no verdict says so.
    `nugget_key` and `question_key` are numbers of their names, by which their luck is drawn."""

    units: Units
    yes: Bools
    question_of_nugget: Ints
    nugget_key: Keys
    question_key: Keys
    partly: Bools | None = None

    def __len__(self) -> int:
        return len(self.units)

    @property
    def nuggets(self) -> int:
        return len(self.question_of_nugget)

    @property
    def nugget(self) -> Ints:
        return self.units.nugget

    @property
    def scores(self) -> Vector:
        return self.units.scores

    @property
    def group(self) -> Ints:
        """The number, in `groups`, of the system of each unit."""
        return self._group[self.units.answers.build[self.units.answer]]

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(sorted({build.system for build in self.units.answers.builds}))

    @cached_property
    def _group(self) -> Ints:
        number = {name: i for i, name in enumerate(self.groups)}
        return np.array([number[build.system] for build in self.units.answers.builds], dtype=np.int64)

    def only(self, kept: Bools | Ints) -> Evidence:
        """The same evidence, but only the `kept` units, in their order."""
        partly = None if self.partly is None else self.partly[kept]
        return replace(self, units=self.units[kept], yes=self.yes[kept], partly=partly)


class Draws(Protocol):
    """Joint draws of everything that a model does not know. The same draws serve all runs; `count` says how many."""

    @property
    def count(self) -> int: ...

    def chances(self, units: Units) -> Matrix:
        """units × draws: the probability that the answer has the nugget."""
        ...


@runtime_checkable
class SupportsPartly(Protocol):
    """Draws that know how much likelier it is that a nugget is supported at least in part, in odds; None if nobody says
    partly."""

    @property
    def odds_in_part(self) -> Vector | None: ...


class ThresholdModel(Protocol):
    """Decides guesses. `nugget` is the position in the key of each score's nugget."""

    @property
    def signature(self) -> str:
        """The model and its parameters, for the signature of scores."""
        ...

    def threshold(self, nugget: Ints) -> Vector:
        """The match score above which an answer is taken to have the nugget."""
        ...

    def draw(self, count: int, seed: int) -> Draws | None:
        """Draws from the posterior of the model; None if the model gives no probabilities."""
        ...


LEVELS = (np.arange(101) / 100) ** 2  # the scores that are tried as thresholds


def lowest_level(likely: Bools) -> Vector:
    """The lowest of the LEVELS that is likely, in each row; NaN if none is."""
    return np.where(likely.any(axis=-1), LEVELS[likely.argmax(axis=-1)], np.nan)


def probability(model: ThresholdModel, units: Units) -> Vector:
    """P(yes) of each unit, with everything that the model does not know integrated out; NaN if it gives none."""
    draws = model.draw(DRAWN, 0)
    if draws is None:
        return np.full(len(units), np.nan)
    parts = [draws.chances(units[i : i + BLOCK]).mean(axis=1) for i in range(0, len(units), BLOCK)]
    return np.concatenate(parts, dtype=float) if parts else np.zeros(0)


@dataclass(frozen=True, repr=False)
class FixedThreshold(Shown):
    """One threshold for all nuggets (Nuggeteer §2.3). It decides yes or no and gives no probabilities."""

    value: float

    @property
    def signature(self) -> str:
        return f"fixed({self.value:g})"

    def threshold(self, nugget: Ints) -> Vector:
        return np.full(len(nugget), self.value)

    def draw(self, count: int, seed: int) -> Draws | None:
        return None
