"""The interface of threshold models, the evidence that they learn from, and the fixed threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.records import Bools, Ints, Vector


@dataclass(frozen=True, repr=False)
class Opinions(Shown):
    """What judges (language models) say of pairs: of each pair, the row of `rows` with the clues of their verdicts.
    Row 0 has zeros only, for pairs of which no judge says anything."""

    which: Ints
    rows: Vector  # combinations of verdicts × clues

    def __getitem__(self, pairs: Ints | Bools | slice) -> Opinions:
        return Opinions(self.which[pairs], self.rows)

    @classmethod
    def none(cls, pairs: int, clues: int = 0) -> Opinions:
        return cls(np.zeros(pairs, dtype=np.int32), np.zeros((1, clues)))


@dataclass(frozen=True, repr=False)
class Pairs(Shown):
    """(nugget, response) pairs with all that a model needs to know about them: the match score, the nugget's position
    in the key, the response's size (`size_of`), the log odds that similar judged texts add, and what judges say (None
    if they add or say nothing)."""

    scores: Vector
    nugget: Ints
    size: Vector
    carried: Vector | None = None
    opinions: Opinions | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, which: Ints | Bools | slice) -> Pairs:
        carried = None if self.carried is None else self.carried[which]
        opinions = None if self.opinions is None else self.opinions[which]
        return Pairs(self.scores[which], self.nugget[which], self.size[which], carried, opinions)

    @classmethod
    def of_usual_size(cls, scores: Vector, nugget: Ints) -> Pairs:
        """Pairs whose responses have a hundred characters each."""
        return cls(scores, nugget, np.zeros(len(scores)))


@dataclass(frozen=True, repr=False)
class LeftOut(Shown):
    """What would be known of judged pairs if nobody had judged their systems: the log odds that are `carried` over from
    the texts of others, and the `share` of these that have the nugget. NaN where that was not worked out."""

    carried: Vector
    share: Vector

    def __getitem__(self, pairs: Ints | Bools | slice) -> LeftOut:
        return LeftOut(self.carried[pairs], self.share[pairs])


class CarryOver(NamedTuple):
    """What a collection makes of log odds that are carried over (`carrying.py`); nothing of NaN, which is what they are
    where nobody judged anything."""

    level: float = 0.0
    weight: float = 1.0

    def __call__(self, carried: Vector) -> Vector:
        return np.where(np.isnan(carried), 0.0, self.level + self.weight * carried)


def size_of(characters: Ints) -> Vector:
    """The sizes of responses: the logarithm of their non-white-space characters, in hundreds."""
    return np.log(np.maximum(characters, 1) / 100).astype(np.float16)  # small, for a million responses


@dataclass(frozen=True, repr=False)
class Evidence(Shown):
    """Judged pairs: the match score and the verdict of each (nugget, text) that a human decided.

    `nugget` is the position in the key, and `size` is the size of the text (`size_of`). `group` is the index of the
    group whose system returned the text. `weight_of_nugget` is the weight of each nugget in its question's recall.
    `opinions` are those of judges on the same pairs, None if there are no judges. `carried` are the log odds that the
    verdicts on other texts carry over (NaN if none do), where the pair was chosen to be judged and not only read like
    all others: whoever chose it had them in mind. None if no pair was. `partly` marks the pairs whose verdict says that
    the nugget is supported in part, and `whole` numbers the texts and answers that were judged; None if there are none.
    `represents` says how many open pairs each pair stands for that `judge` drew at random, 0 for the others; None if
    none was drawn. `left_out` tells what carried-over log odds are worth; None if nothing does.
    """

    scores: Vector
    size: Vector
    yes: Bools
    nugget: Ints
    group: Ints
    groups: tuple[str, ...]
    question_of_nugget: Ints
    weight_of_nugget: Vector
    opinions: Opinions | None = None
    carried: Vector | None = None
    partly: Bools | None = None
    whole: Ints | None = None
    represents: Vector | None = None
    left_out: LeftOut | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def nuggets(self) -> int:
        return len(self.question_of_nugget)

    @property
    def pairs(self) -> Pairs:
        """The pairs, without the verdicts."""
        return Pairs(self.scores, self.nugget, self.size, self.carried, self.opinions)

    def only(self, kept: Bools | Ints) -> Evidence:
        """The same evidence, but only the `kept` pairs, in their order."""
        return replace(
            self,
            scores=self.scores[kept],
            size=self.size[kept],
            yes=self.yes[kept],
            nugget=self.nugget[kept],
            group=self.group[kept],
            opinions=None if self.opinions is None else self.opinions[kept],
            carried=None if self.carried is None else self.carried[kept],
            partly=None if self.partly is None else self.partly[kept],
            whole=None if self.whole is None else self.whole[kept],
            represents=None if self.represents is None else self.represents[kept],
            left_out=None if self.left_out is None else self.left_out[kept],
        )


class Draws(Protocol):
    """Joint draws of everything that a model does not know. The same draws serve all runs. `answer_correlation` is the
    remaining correlation between the nuggets of one answer: ρ of a Gaussian copula. `count` says how many draws."""

    @property
    def answer_correlation(self) -> float: ...

    @property
    def count(self) -> int: ...

    def kinds(self, pairs: Pairs) -> Ints:
        """A number for each pair. Pairs with the same number have the same nugget and the same chance, and the numbers
        are in the order of nuggets."""
        ...

    def chances(self, pairs: Pairs, group: str | None, cell: Ints | None = None) -> Vector:
        """draws × cells: the probability that at least one of a cell's responses carries its nugget. All responses
        are of systems of one group. `cell` is the cell of each pair, from 0. All pairs of a cell have the same nugget.
        Without `cell`, each nugget is a cell."""
        ...


def rates(draws: Draws, pairs: Pairs, groups: tuple[str, ...], group: Ints) -> Vector:
    """pairs × draws: −log of the probability that a response does not carry its nugget. `group` has the number of each
    pair's in `groups`. Draws that work it out on the way to their chances have a method `rates`."""
    if hasattr(draws, "rates"):
        return np.asarray(draws.rates(pairs, groups, group))
    result = np.empty((len(pairs), draws.count), dtype=np.float32)
    for number in np.unique(group).tolist():
        own = np.flatnonzero(group == number)
        with np.errstate(divide="ignore"):
            result[own] = -np.log1p(-draws.chances(pairs[own], groups[number], np.arange(len(own))).T)
    return result


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
        """Draws from the posterior of the model; None if the model gives no probabilities."""
        ...


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
