"""The open pairs of runs in groups, with drawn verdicts, from which suggestions and forecasts are computed.

A group is one (nugget, response text); the texts that match a nugget least and are in the same runs share a group.
After a yes the other responses of the nugget no longer matter. So a group's verdict is that one of its responses is the
first, by match score, that carries the nugget.

The groups of a nugget that are in the same runs are a sequence. Let Λ be −log of the chance that no response does,
added up from the first group on, and E one exponential number for the sequence. Group i has the first response that
carries the nugget if Λ before it is at most E, and Λ with it is above.

A large key has tens of thousands of groups, and each has thousands of draws. So they are drawn some questions at a
time, and kept small: chances in eight bits, verdicts in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from nuggeteer.pairs import ragged
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.scoring.copula import miss_exponent
from nuggeteer.scoring.matched_run import MatchedRun, shared_texts
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import DRAWS

INDIVIDUAL_RESPONSES = 3  # of a nugget, the best matching ones are asked for one by one; the rest is one group
BLOCK = 128  # groups at once


@dataclass(frozen=True)
class KeptChances:
    """groups × draws: chances, kept as their square roots in 8 bits. So small ones have enough digits too."""

    kept: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, chances: Vector) -> KeptChances:
        root = np.sqrt(chances)
        root *= np.float32(255)
        root += np.float32(0.5)
        return cls(root.astype(np.uint8))

    def __getitem__(self, groups: slice | Ints | int) -> Vector:
        root = self.kept[groups].astype(np.float32)
        root *= root
        root *= np.float32(1 / 255**2)
        return root


@dataclass(frozen=True)
class KeptVerdicts:
    """groups × draws: verdicts, kept in one bit; read as 0 or 1."""

    kept: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, verdicts: Bools) -> KeptVerdicts:
        return cls(np.packbits(verdicts, axis=1))

    def __getitem__(self, groups: slice | Ints | int) -> Vector:
        return np.unpackbits(self.kept[groups], axis=-1, count=DRAWS).astype(np.float32)


@dataclass(frozen=True)
class OpenGroups:
    """The groups of the pairs that may be asked about, in the order of nuggets.

    `probability` that some response of the group carries the nugget."""

    nugget: Ints
    response: Ints
    run: Ints  # the run that the position of the response refers to
    runs: Ints  # the runs that return the text, as bits
    size: Ints
    probability: Vector


@dataclass(frozen=True)
class DrawnGroups:
    """What was drawn of open groups.

    `chances` that some response of a group carries the nugget and that none that matches better does, and the drawn
    `verdicts` on that, are groups × draws; `expected` are the means of the chances. `found` has, for each run, draws ×
    nuggets: what its answers have with these verdicts and the known ones."""

    expected: Vector
    chances: KeptChances
    verdicts: KeptVerdicts
    found: list[Bools]


@dataclass(frozen=True)
class _Grouped:
    """The groups of one run, in the order of nuggets. Each has the pairs from `first` on, and is the one of `rank` in
    its sequence."""

    nugget: Ints
    response: Ints
    runs: Ints
    pair: Ints
    first: Ints
    rank: Ints

    @property
    def size(self) -> Ints:
        return np.diff(self.first, append=len(self.pair))

    @classmethod
    def of(cls, matched: MatchedRun, responses: Ints, bits: Sequence[int], certain: Sequence[Bools]) -> _Grouped:
        """`responses` have the texts that no earlier run has, and `bits` the runs that return each. `certain` are the
        nuggets that the runs are known to have."""
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
        return cls(nugget[first], response[first], runs[first], pair, first, rank[first])


def draw_open_groups(scorer: Scorer, matched_runs: Sequence[MatchedRun]) -> tuple[OpenGroups, DrawnGroups]:
    """The open pairs of some runs, and drawn verdicts that the runs share."""
    certain = [matched.certain for matched in matched_runs]
    texts = shared_texts(matched_runs)
    parts = [_Grouped.of(matched, *own, certain) for matched, own in zip(matched_runs, texts, strict=True)]
    run = np.repeat(np.arange(len(parts)), [len(part.nugget) for part in parts])
    order = np.argsort(np.concatenate([part.nugget for part in parts]), kind="stable")
    columns = ("nugget", "response", "runs", "size")
    nugget, response, runs, size = (np.concatenate([getattr(part, name) for part in parts])[order] for name in columns)
    run = run[order]
    probability, expected = np.zeros((2, len(run)))
    chances, verdicts = np.zeros((len(run), DRAWS), np.uint8), np.zeros((len(run), -(-DRAWS // 8)), np.uint8)
    found = [np.repeat(has[:, None], DRAWS, axis=1) for has in certain]
    for number, (matched, part) in enumerate(zip(matched_runs, parts, strict=True)):
        place = np.flatnonzero(run == number)
        for begin, end in _blocks(part.nugget):
            own, rates = place[begin:end], _rates(scorer, matched, part, begin, end)
            probability[own] = 1 - np.exp(-rates).mean(axis=1)
            first = begin + np.flatnonzero(part.rank[begin:end] == 0)
            noise = scorer.noise.least(part.nugget[first], part.runs[first], np.arange(len(first)))
            chance, drawn, has = _first_of_sequence(rates, part.rank[begin:end], noise)
            expected[own] = chance.mean(axis=1)
            chances[own], verdicts[own] = KeptChances.of(chance).kept, KeptVerdicts.of(drawn).kept
            for i, bits in product(range(len(found)), np.unique(part.runs[first]).tolist()):
                if bits >> i & 1:  # each nugget once
                    same = part.runs[first] == bits
                    found[i][part.nugget[first[same]]] |= has[same]
    groups = OpenGroups(nugget, response, run, runs, size, probability)
    return groups, DrawnGroups(expected, KeptChances(chances), KeptVerdicts(verdicts), [has.T for has in found])


def _rates(scorer: Scorer, matched: MatchedRun, part: _Grouped, begin: int, end: int) -> Vector:
    """groups × draws: −log of the chance that no response of a group carries its nugget, given what the nuggets of its
    answer have in common. The mean chance of each nugget stays the same."""
    draws, size, nugget = scorer.draws, part.size[begin:end], part.nugget[begin:end]
    assert draws is not None
    own = part.pair[part.first[begin] : part.first[begin] + int(size.sum())]
    rates = matched.rates(draws, own, np.repeat(np.arange(end - begin), size))
    if not draws.answer_correlation:
        return rates
    posterior = scorer.posterior(matched)
    start = np.flatnonzero(np.diff(nugget, prepend=-1))
    asked, row = np.unique(scorer.key.question[nugget[start]], return_inverse=True)
    common = [scorer.noise.common(question, matched.texts_of(question)) for question in asked.tolist()]
    if posterior is not None:
        common = [posterior.common(q, drawn) for q, drawn in zip(asked.tolist(), common, strict=True)]
    exponent = miss_exponent(_added_up(rates, start), np.stack(common)[row], draws.answer_correlation)
    rates *= np.repeat(exponent, np.diff(start, append=len(nugget)), axis=0)
    return rates


def _first_of_sequence(rates: Vector, rank: Ints, noise: Vector) -> tuple[Vector, Bools, Bools]:
    """groups × draws: the chance that a group has the first response that carries the nugget, and the drawn verdict on
    that. sequences × draws: whether any group has. Changes `rates`."""
    start, later = np.flatnonzero(rank == 0), np.flatnonzero(rank)
    for further in range(1, INDIVIDUAL_RESPONSES + 1):
        one = np.flatnonzero(rank == further)
        rates[one] += rates[one - 1]
    size = np.diff(start, append=len(rank))
    carries = np.repeat(noise, size, axis=0) < rates
    found = carries[start + size - 1]
    carries[later] &= ~carries[later - 1]
    missed = np.exp(np.negative(rates, out=rates), out=rates)
    chance = np.empty_like(missed)
    np.subtract(missed[:-1], missed[1:], out=chance[1:])
    chance[start] = 1 - missed[start]
    np.maximum(chance, 0, out=chance)
    return chance, carries, found


def _added_up(rows: Vector, start: Ints) -> Vector:
    """The sums of rows from each start to the next."""
    total, size = rows[start], np.diff(start, append=len(rows))
    for further in range(1, int(size.max())):
        more = np.flatnonzero(size > further)
        total[more] += rows[start[more] + further]
    return total


def _blocks(nugget: Ints) -> Iterator[tuple[int, int]]:
    """Groups, from and to, of whole nuggets that have not many together."""
    begin = np.flatnonzero(np.diff(nugget, prepend=-1))
    cuts = begin[np.diff(begin // BLOCK, prepend=-1) > 0].tolist()
    yield from pairwise([*cuts, len(nugget)])
