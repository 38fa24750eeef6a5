"""What a model is asked about: an answer and a nugget, by the answer's best response for it.

The best response is that with the highest match score, the first if several are equal. Its clues stand for the answer,
with the logarithm of the number of responses that it is the best of, and its size. What is carried over from judged
texts, and what judges say, comes from the response that has most of it. If a judge read the answer, the level is that
of what such judges say, not that of the words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from nuggeteer.records import Ints, Vector
from nuggeteer.thresholds.model import Keys
from nuggeteer.thresholds.prior import INTERCEPT, OF_ANSWERS, READ_IT, SAYS_YES
from nuggeteer.thresholds.public_prior import JUDGE

LITTLE = 0.2  # of log odds that the regression on judged texts carries over, before they are weighed
LONGEST, SHORTEST = 2.0, -1.5  # sizes: of other lengths public data says nothing
MOST = 16  # pieces of an answer: those with the smallest numbers, so that similar answers have similar pieces
FEW = 8  # responses of an answer that are cut into sentences
_sentence = re.compile(r"(?<=[.!?])\s+|\n+")


def names_of(words: Sequence[str], judges: Sequence[str]) -> tuple[str, ...]:
    """The names of a unit's clues: those of its best response, and those of the answer."""
    of_judges = (name for judge in judges for name in (judge + READ_IT, judge + SAYS_YES))
    return (INTERCEPT, *words, *OF_ANSWERS, *of_judges)


@dataclass(frozen=True)
class BestPairs:
    """For each cell (a nugget of an answer), in order: the best of its pairs, how many pairs it has, and the largest of
    what is said about any of them."""

    cell: Ints
    pair: Ints
    count: Ints
    carried: Vector
    opinions: Vector  # cells × 2 · judges

    @classmethod
    def of(cls, cell: Ints, pair: Ints, scores: Vector, carried: Vector | None, opinions: Vector | None) -> BestPairs:
        """`pair` are some pairs, with the cell of each; scores, what is carried over and opinions are of all pairs."""
        order = np.lexsort((pair, -scores[pair], cell))
        cells, begin = np.unique(cell[order], return_index=True)
        count = np.diff(begin, append=len(order))
        best = pair[order[begin]]
        if not len(cells):
            return cls(cells, best, count, np.zeros(0), np.zeros((0, 0 if opinions is None else opinions.shape[1])))
        most = np.zeros(len(cells)) if carried is None else np.maximum.reduceat(carried[pair[order]], begin)
        return cls(cells, best, count, most, _said(opinions, pair[order], begin))

    def clues(self, words: Vector, size: Vector) -> Vector:
        """cells × clues, in the order of `names_of`. `words` and `size` are those of the best pairs."""
        size = np.clip(size.astype(float), SHORTEST, LONGEST)
        own = np.stack([np.log(self.count), size, *hint_and_rest(self.carried)], axis=1)
        unread = 1 - self.opinions[:, ::2].sum(axis=1, keepdims=True)
        return np.concatenate([unread, words, own, self.opinions], axis=1, dtype=np.float32)


def hint_and_rest(carried: Vector) -> tuple[Vector, Vector]:
    """What is carried over, up to a little and beyond it. A little likeness to many texts and a lot to one text are
    different things, and a collection that has only one of them does not show what the other is worth."""
    hint = np.clip(carried, -LITTLE, LITTLE)
    return hint, carried - hint


def _said(opinions: Vector | None, pair: Ints, begin: Ints) -> Vector:
    """cells × 2 · judges: for each judge, its share among those that said something about a cell's pairs, and the most
    of a yes that it said. Judges err on the same pairs, so each of n says as much as one alone, divided by 1 + (n −
    1)ρ."""
    if opinions is None:
        return np.zeros((len(begin), 0))
    spoke, yes = opinions[pair, ::2] > 0, opinions[pair, 1::2]
    spoken = np.maximum.reduceat(spoke, begin, axis=0)
    most = np.maximum.reduceat(np.where(spoke, yes, -np.inf), begin, axis=0)
    count = np.maximum(spoken.sum(axis=1, keepdims=True), 1)
    result = np.empty((len(begin), opinions.shape[1]))
    result[:, ::2] = spoken / count
    result[:, 1::2] = np.where(spoken, most, 0.0) / (1 + (count - 1) * JUDGE["correlation"][0])
    return result


def pieces_of(texts: Sequence[str]) -> Keys:
    """Numbers of the sentences of an answer, or of its responses, if it has many."""
    sentences = texts if len(texts) > FEW else [piece for text in texts for piece in _sentence.split(text)]
    numbers = {crc32(piece.encode("utf-8", "surrogatepass")) for piece in sentences if piece}
    return np.array(sorted(numbers)[:MOST], dtype=np.uint64)
