"""What the regression of a text is made of: which of its words speak for a nugget and which against it, and which
judged texts are like it.

This takes more memory than all else about a question. So whoever explains guesses keeps that of one question at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul

import numpy as np

from nuggeteer.matching.clues import QuestionClues, TextGrams
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
class ClueBreakdown:
    """What makes up the regression of one pair: the part of each of `ComparedText.grams`; and judged texts that carry
    the nugget and then some that do not, by their rows, with their similarity, the most similar of each kind first."""

    parts: Vector
    near: list[tuple[int, float, bool]]


class Breakdowns:
    """Breaks down the regressions of texts of one question."""

    def __init__(self, clues: QuestionClues) -> None:
        self.judged = clues.judged
        self._rows, self._decided, self._yes = clues.rows.tolist(), clues.decided > 0, clues.yes > 0
        self._number, self._grams = clues.number, list(clues.number)
        self._judged = clues.vectors.tocsc()
        self._worth = np.asarray(clues.vectors.T @ clues.regression)  # grams × nuggets: what having a gram adds

    def compare(self, text: TextGrams) -> ComparedText:
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

    def _as_vector(self, text: TextGrams) -> tuple[Ints, Vector]:
        """The numbers of a text's grams that judged texts have, in order, and their weights in a vector of length 1."""
        all_ = text.grams.values()
        norm = sum(map(mul, all_, all_)) ** 0.5 or 1.0
        known = sorted((self._number[gram], weight) for gram, weight in text.grams.items() if gram in self._number)
        numbers = np.array([number for number, _ in known], dtype=np.int64)
        return numbers, np.array([weight for _, weight in known], dtype=float) / norm

    def breakdown(self, text: ComparedText, nugget: int) -> ClueBreakdown:
        """What a text says of a nugget of this question, and which judged texts speak."""
        decided, yes = self._decided[:, nugget], self._yes[:, nugget]
        near = [
            (self._rows[i], float(text.similarity[i]), kind)
            for kind in (True, False)
            for i in [i for i in text.near if decided[i] and yes[i] == kind][:NAMED]
        ]
        return ClueBreakdown(text.weights * self._worth[text.numbers, nugget], near)
