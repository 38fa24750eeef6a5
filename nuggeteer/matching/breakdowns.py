"""What the regression of a text is made of: which of its words speak for a nugget and which against it, and which
judged texts are like it.

This takes more memory than all else about a question. So whoever explains guesses keeps that of one question at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from operator import mul

import numpy as np

from nuggeteer.matching.similar_texts import Grams, JudgedTexts
from nuggeteer.pairs import ragged
from nuggeteer.records import Ints, Vector

NAMED = 2  # judged texts of a kind that an explanation names


@dataclass(frozen=True)
class ComparedText:
    """A text beside the judged texts of its question: the grams that it shares with them, with their numbers there and
    their weights, its similarity to each judged text, and those that are similar at all, the most similar first."""

    grams: list[str]
    numbers: Ints
    weights: Vector
    similarity: Vector
    near: list[int]


@dataclass(frozen=True)
class Breakdown:
    """What makes up the regression of one pair: the part of each of `ComparedText.grams`; and judged texts that carry
    the nugget and then some that do not, by their rows, with their similarity, the most similar of each kind first."""

    parts: Vector
    near: list[tuple[int, float, bool]]


class Breakdowns:
    """Breaks down the regressions of texts of one question."""

    def __init__(self, judged: JudgedTexts) -> None:
        self.judged = judged.judged
        self._rows = judged.rows.tolist()
        # nuggets × judged texts: 1 is a yes, 0 a no, −1 nothing.
        self._verdicts: list[list[int]] = np.where(judged.decided > 0, judged.yes, -1).T.astype(int).tolist()
        self._number, self._grams = judged.number, list(judged.number)
        self._judged = judged.vectors.tocsc()
        self._worth = np.asarray(judged.vectors.T @ judged.regression)  # grams × nuggets: what having a gram adds

    def compare(self, text: Grams) -> ComparedText:
        """A text compared with the judged texts of the question."""
        numbers, weights = self._as_vector(text)
        begin, end = self._judged.indptr[numbers], self._judged.indptr[numbers + 1]
        _, entry = ragged(begin, end - begin)
        products = self._judged.data[entry] * np.repeat(weights, end - begin)
        similarity = np.asarray(np.bincount(self._judged.indices[entry], products, len(self._rows)), dtype=float)
        near = np.flatnonzero(similarity > 0)
        near = near[np.argsort(-similarity[near], kind="stable")]
        grams = list(map(self._grams.__getitem__, numbers.tolist()))
        return ComparedText(grams, numbers, weights, similarity, near.tolist())

    def _as_vector(self, text: Grams) -> tuple[Ints, Vector]:
        """The numbers of a text's grams that judged texts have, in order, and their weights in a vector of length 1."""
        all_ = text.values()
        norm = sum(map(mul, all_, all_)) ** 0.5 or 1.0
        known = [gram for gram in text if gram in self._number]
        numbers = np.array([self._number[gram] for gram in known], dtype=np.int64)
        order = np.argsort(numbers)
        return numbers[order], np.array([text[gram] for gram in known], dtype=float)[order] / norm

    def breakdown(self, text: ComparedText, nugget: int) -> Breakdown:
        """What a text says about a nugget of this question, and which judged texts speak for it."""
        verdicts = self._verdicts[nugget]
        near = [
            (self._rows[i], float(text.similarity[i]), kind == 1)
            for kind in (1, 0)
            for i in islice((i for i in text.near if verdicts[i] == kind), NAMED)
        ]
        return Breakdown(text.weights * self._worth[text.numbers, nugget], near)
