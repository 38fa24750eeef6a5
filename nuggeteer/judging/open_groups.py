"""The open pairs of runs in groups, with drawn verdicts, from which suggestions and forecasts are computed.

A group is one (nugget, response text); the texts that match a nugget least and are in the same runs share a group.
After a yes the other responses of the nugget no longer matter. So a group's verdict is that one of its responses is the
first, by match score, that carries the nugget.

A large key has tens of thousands of groups, and each has thousands of draws. So they are drawn some questions at a
time, and kept small: chances in 16 bits, verdicts in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.copula import miss_exponent
from nuggeteer.scoring.matched_run import MatchedRun, shared_texts
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import DRAWS

INDIVIDUAL_RESPONSES = 3  # of a nugget, the best matching ones are asked for one by one; the rest is one group
BLOCK = 256  # groups at once
LARGEST = 65535


@dataclass(frozen=True)
class KeptChances:
    """groups × draws: chances, kept in 16 bits."""

    kept: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, chances: Vector) -> KeptChances:
        return cls(np.rint(chances * np.float32(LARGEST)).astype(np.uint16))

    def __getitem__(self, groups: slice | Ints | int) -> Vector:
        return np.asarray(self.kept[groups] * np.float32(1 / LARGEST))


@dataclass(frozen=True)
class KeptVerdicts:
    """groups × draws: verdicts, kept in one bit."""

    kept: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, verdicts: Bools) -> KeptVerdicts:
        return cls(np.packbits(verdicts, axis=1))

    def __getitem__(self, groups: slice | Ints | int) -> Bools:
        return np.unpackbits(self.kept[groups], axis=-1, count=DRAWS).view(bool)


@dataclass(frozen=True)
class OpenGroups:
    """The groups of the pairs that may be asked about, in the order of nuggets.

    `probability` that some response of the group carries the nugget. `chances` that one does and that none that matches
    better does, and the `drawn` verdicts on that, are groups × draws."""

    nugget: Ints
    response: Ints
    run: Ints  # the run that the position of the response refers to
    runs: Ints  # the runs that return the text, as bits
    size: Ints
    probability: Vector
    chances: KeptChances
    drawn: KeptVerdicts

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Groups, from and to, of whole nuggets."""
        return _blocks(self.nugget)

    @classmethod
    def together(cls, parts: Sequence[OpenGroups]) -> OpenGroups:
        """The groups of several parts, in the order of nuggets."""
        if len(parts) == 1:
            return parts[0]
        order = np.argsort(np.concatenate([part.nugget for part in parts]), kind="stable")

        def column(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])[order]

        return cls(
            column("nugget"),
            column("response"),
            column("run"),
            column("runs"),
            column("size"),
            column("probability"),
            KeptChances(np.concatenate([part.chances.kept for part in parts])[order]),
            KeptVerdicts(np.concatenate([part.drawn.kept for part in parts])[order]),
        )


def draw_open_groups(scorer: Scorer, matched_runs: Sequence[MatchedRun]) -> OpenGroups:
    """The open pairs of some runs, with drawn verdicts that the runs share."""
    rng = np.random.Generator(np.random.PCG64([scorer.seed, 5]))
    certain = [matched.certain(len(scorer.key.nuggets)) for matched in matched_runs]
    parts = []
    for run, (matched, (responses, bits)) in enumerate(zip(matched_runs, shared_texts(matched_runs), strict=True)):
        repeat, pair = ragged(matched.begin[responses], np.diff(matched.begin)[responses])
        response, runs = (np.repeat(column, np.diff(repeat)) for column in (responses, np.array(bits, dtype=np.int64)))
        nugget = matched.pairs.nugget[pair].astype(np.int64)
        # A text matters if a run that returns it is not already known to have the nugget.
        lacking = np.stack([(runs >> i & 1).astype(bool) & ~has[nugget] for i, has in enumerate(certain)])
        asked = np.flatnonzero(matched.guessed[pair] & lacking.any(axis=0))
        asked = asked[np.lexsort((asked, -matched.pairs.scores[pair[asked]], runs[asked], nugget[asked]))]
        pair, response, runs, nugget = pair[asked], response[asked], runs[asked], nugget[asked]
        begin = np.flatnonzero(np.diff(nugget * 4 + runs, prepend=-1))
        rank = np.arange(len(asked)) - np.repeat(begin, np.diff(begin, append=len(asked)))
        first = np.flatnonzero(rank <= INDIVIDUAL_RESPONSES)
        asked_of = nugget[first], response[first], np.full(len(first), run), runs[first]
        parts.append(_drawn(scorer, matched, asked_of, pair, first, rank[first], rng))
    return OpenGroups.together(parts)


def _drawn(
    scorer: Scorer,
    matched: MatchedRun,
    asked_of: tuple[Ints, Ints, Ints, Ints],
    pair: Ints,
    first: Ints,
    rank: Ints,
    rng: np.random.Generator,
) -> OpenGroups:
    """The groups of one run: each has the pairs from `first` on, and is one of `rank` for its nugget."""
    nugget, draws = asked_of[0], scorer.draws
    assert draws is not None
    size = np.diff(first, append=len(pair))
    probability = np.zeros(len(first))
    chances, verdicts = np.zeros((len(first), DRAWS), np.uint16), np.zeros((len(first), -(-DRAWS // 8)), np.uint8)
    common = _common(scorer.key, matched, scorer, rng)
    for begin, end in _blocks(nugget):
        own = pair[first[begin] : first[begin] + int(size[begin:end].sum())]
        rates = matched.rates(draws, own, np.repeat(np.arange(end - begin), size[begin:end]))
        if common is not None:
            _share(rates, nugget[begin:end], scorer.key, common, draws.answer_correlation)
        chance = -np.expm1(-rates)
        drawn = chance > rng.random(chance.shape, np.float32)
        probability[begin:end] = chance.mean(axis=1, dtype=float)
        none, lacks = np.ones_like(chance), np.ones_like(drawn)
        for later in (np.flatnonzero(rank[begin:end] == better) for better in range(1, INDIVIDUAL_RESPONSES + 1)):
            none[later] = none[later - 1] * (1 - chance[later - 1])
            lacks[later] = lacks[later - 1] & ~drawn[later - 1]
        none *= chance
        lacks &= drawn
        chances[begin:end], verdicts[begin:end] = KeptChances.of(none).kept, KeptVerdicts.of(lacks).kept
    return OpenGroups(*asked_of, size, probability, KeptChances(chances), KeptVerdicts(verdicts))


def _common(key: AnswerKey, matched: MatchedRun, scorer: Scorer, rng: np.random.Generator) -> Vector | None:
    """What the nuggets of each answer have in common in each draw: questions × draws. None if that is nothing."""
    draws = scorer.draws
    if draws is None or not draws.answer_correlation:
        return None
    common = rng.standard_normal((len(key.questions), DRAWS), np.float32)
    posterior = scorer.posterior(matched)
    return common if posterior is None else np.stack([posterior.common(q, row) for q, row in enumerate(common)])


def _share(rates: Vector, nugget: Ints, key: AnswerKey, common: Vector, correlation: float) -> None:
    """Give groups their rates given what the nuggets of their answer have in common. The mean chance of each nugget
    stays the same."""
    begin = np.flatnonzero(np.diff(nugget, prepend=-1))
    chance = -np.expm1(-np.add.reduceat(rates, begin, axis=0))
    exponent = miss_exponent(chance, common[key.question[nugget[begin]]], correlation)
    rates *= np.repeat(exponent, np.diff(begin, append=len(nugget)), axis=0)


def _blocks(nugget: Ints) -> Iterator[tuple[int, int]]:
    """Groups, from and to, of whole nuggets that have not many together."""
    begin = np.flatnonzero(np.diff(nugget, prepend=-1))
    cuts = begin[np.diff(begin // BLOCK, prepend=-1) > 0].tolist()
    yield from pairwise([*cuts, len(nugget)])
