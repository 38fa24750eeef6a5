"""Drawn verdicts: in each draw, which open nuggets an answer has.

A response carries a nugget in a draw if a random number that belongs to the nugget and the response's *text* is below
the chance. So the verdicts on a run do not depend on the other runs in a call, and equal texts get equal verdicts in
all runs.

In one draw, let λ be −log P(no) of a response, Λ the sum over the answer's responses, and E the exponential number of
the text and the nugget. The answer has the nugget if some E < λ. As the smallest E / λ times Λ is again exponential, it
is the number of the nugget, and becomes a normal one; and so the nuggets of an answer can have a normal number in
common (`copula`). That one is made of numbers of the answer's texts. So answers with few different texts have nearly
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.copula import AnswerPosterior, level_of, mean_chance
from nuggeteer.scoring.partly import PartialSupport
from nuggeteer.thresholds import Draws, Pairs
from nuggeteer.thresholds.model import rates
from nuggeteer.thresholds.rows import joined, key_of, random_rows

CELLS = 256  # kinds of pairs whose chances are worked out at once
SURE = np.float32(50.0)  # the largest λ: a chance of 1
NEVER = np.float32(1e-20)  # the smallest


class VerdictNoise:
    """The random numbers that turn chances into verdicts."""

    def __init__(self, key: AnswerKey, draws: int, seed: int) -> None:
        self.count, self._rows = draws, random_rows(draws, seed)
        self._nugget = np.array([key_of(f"{n.qid}\0{n.nugget}") for n in key.nuggets], dtype=np.uint64)
        self._question = np.array([key_of(question.qid) for question in key.questions], dtype=np.uint64)

    def least(self, nugget: Ints, text: Ints, begin: Ints) -> Vector:
        """The least exponential number of some (nugget, text) pairs: begin × draws. Each begins a sequence of pairs."""
        return self._rows.least_exponential(joined(self._nugget[nugget], text), begin)

    def common(self, question: int, texts: Ints) -> Vector:
        """A normal number for each draw that all nuggets of an answer have in common, from its different texts."""
        keys = joined(joined(self._question[question], 8), texts)
        total = np.zeros(self.count, dtype=np.float32)
        for begin in range(0, len(keys), CELLS):
            total += self._rows.normal(keys[begin : begin + CELLS]).sum(axis=0)
        return total / np.float32(np.sqrt(len(keys)))


@dataclass(frozen=True)
class Guesses:
    """The pairs of a run to guess, by nuggets or other cells: chances and verdicts are worked out kind by kind
    (`Draws.kinds`)."""

    pairs: Pairs  # the first of each kind
    groups: tuple[str, ...]
    group: Ints  # the number in `groups` of each kind's
    count: Ints  # how many pairs are of each kind
    begin: Ints  # where the pairs of each kind begin in `text`
    text: Ints  # of each pair
    cell: Ints  # in order, each once; these are nuggets if nothing else was asked for
    start: Ints  # where the kinds of each cell begin; as the last entry, where they end

    @classmethod
    def of(
        cls,
        pairs: Pairs,
        groups: tuple[str, ...],
        group: Ints,
        draws: Draws,
        text: Ints | None = None,
        cell: Ints | None = None,
    ) -> Guesses:
        """`group` has the number of each pair's in `groups`. Without `text`, no verdicts can be drawn. All pairs of a
        `cell` have the same nugget."""
        kinds = draws.kinds(pairs) * len(groups) + group
        cell = pairs.nugget if cell is None else cell
        order = np.lexsort((kinds, cell))
        new = np.diff(kinds[order], prepend=-1) != 0
        new |= np.diff(cell[order], prepend=-1) != 0
        begin = np.flatnonzero(new)
        first, count = order[begin], np.diff(begin, append=len(order))
        cells, start = np.unique(cell[first], return_index=True)
        texts = np.zeros(0, dtype=np.int64) if text is None else text[order]
        start = np.append(start, len(begin))
        return cls(pairs[first], groups, group[first], count, begin, texts, cells, start)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Cells, from and to, that have not many kinds together. A cell by itself may have more."""
        first, start = 0, self.start.tolist()
        for i in range(1, len(self.cell)):
            if start[i + 1] - start[first] > CELLS:
                yield first, i
                first = i
        yield first, len(self.cell)

    def draw(
        self, first: int, last: int, draws: Draws, noise: VerdictNoise | None = None
    ) -> tuple[Vector, Vector | None]:
        """cells × draws: Λ; and the least E / λ, if there is `noise`."""
        total = np.zeros((last - first, draws.count), dtype=np.float32)
        least = None if noise is None else np.full_like(total, np.inf)
        kinds = range(int(self.start[first]), int(self.start[last]))
        for begin in kinds[::CELLS]:
            end = min(begin + CELLS, kinds.stop)
            rate = rates(draws, self.pairs[begin:end], self.groups, self.group[begin:end])
            np.clip(rate, NEVER, SURE, out=rate)
            if noise is not None:
                stop = self.begin[end] if end < len(self.begin) else len(self.text)
                texts = slice(int(self.begin[begin]), int(stop))
                nugget = np.repeat(self.pairs.nugget[begin:end], self.count[begin:end])
                ratio = noise.least(nugget, self.text[texts], self.begin[begin:end] - self.begin[begin]) / rate
            rate *= self.count[begin:end, None].astype(np.float32)
            for i in range(first, last):
                a, b = max(int(self.start[i]), begin) - begin, min(int(self.start[i + 1]), end) - begin
                if a < b:
                    total[i - first] += rate[a] if b == a + 1 else rate[a:b].sum(axis=0)
                    if least is not None:
                        np.minimum(least[i - first], ratio[a:b].min(axis=0), out=least[i - first])
        return total, least


def slices(offsets: Ints, begin: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Responses, from and to, of whole answers that have at most so many pairs together. An answer by itself may have
    more."""
    first, sizes = 0, begin[offsets]
    for question in range(1, len(offsets) - 1):
        if sizes[question + 1] - sizes[first] > most:
            yield int(offsets[first]), int(offsets[question])
            first = question
    yield int(offsets[first]), int(offsets[-1])


def mean_chances(guesses: Guesses, draws: Draws) -> tuple[Ints, Vector]:
    """The nuggets of some pairs, and the chance that some pair of each is a yes, in the mean over the draws."""
    means = [_mean_chance(guesses.draw(*block, draws)[0]) for block in guesses.blocks()]
    return guesses.cell, np.concatenate(means)


def draw_verdicts(
    guesses: Guesses,
    key: AnswerKey,
    draws: Draws,
    noise: VerdictNoise,
    texts_of: Callable[[int], Ints],
    posterior: AnswerPosterior | None,
    partial: PartialSupport | None = None,
) -> Iterator[tuple[Ints, Bools, Bools | None, Vector]]:
    """Some nuggets at a time: whether the answer has them, nuggets × draws; whether it has them or supports them in
    part, if verdicts say partly; and the mean chance that it has them.

    `texts_of` gives the texts of the answer to a question. `posterior` is what known verdicts show about answers."""
    correlation = draws.answer_correlation
    own, shared = np.float32(np.sqrt(1 - correlation)), np.float32(np.sqrt(correlation))

    @lru_cache(maxsize=1)  # blocks may end within a question
    def common_of(question: int) -> Vector:
        common = noise.common(question, texts_of(question))
        return common if posterior is None else posterior.common(question, common).astype(np.float32)

    for first, last in guesses.blocks():
        nugget = guesses.cell[first:last]
        total, least = guesses.draw(first, last, draws, noise)
        assert least is not None
        chance = _mean_chance(total)
        in_part: Vector | None = None if partial is None else total + partial.added(nugget)
        if not correlation:
            yield nugget, least < 1, None if in_part is None else least * total < in_part, chance
            continue
        level = np.log(total)
        number = own * level_of(np.log(least) + level)
        level = level_of(level)
        asked, row = np.unique(key.question[nugget], return_inverse=True)
        common = np.stack([common_of(question) for question in asked.tolist()])
        number -= shared * common[row]
        found = number < level
        supported = None if in_part is None else number < level_of(np.log(in_part))
        if posterior is not None and (known := posterior.row[key.question[nugget]] >= 0).any():
            given = level[known] + shared * common[row[known]]
            given /= own
            chance[known] = mean_chance(given)
        yield nugget, found, supported, chance


def _mean_chance(total: Vector) -> Vector:
    return np.asarray(-np.expm1(-total).mean(axis=1, dtype=float))
