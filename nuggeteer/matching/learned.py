"""The default matcher: n-grams, and what judged texts say of texts that nobody judged.

The score of a pair is that of n-grams, by which the threshold model learns. Then the judged texts of the question
speak: their clues (`clues.py`) add log odds to what the model believes, so a verdict survives rewording. How much each
clue is worth was learned on public collections that humans judged (`carried_weights.py`), never on the collection that
is scored. So the first verdict already counts, from whichever system, and nothing has to be held out: no verdict is
used to weigh the clues that it is part of.

A nugget about which nobody judged any text is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import repeat

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.base import Explanation, Judged, Material, SimilarText, WordEvidence
from nuggeteer.matching.carried_weights import WEIGHTS
from nuggeteer.matching.clues import CLUES, ComparedText, GramReader, QuestionClues
from nuggeteer.matching.marks import as_written
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.pairs import ragged
from nuggeteer.records import Ints, Vector
from nuggeteer.text import normalised, verdict_form_of_normalised

NAMED = 2  # judged texts of a kind that an explanation names
DIGITS = 4  # of log odds: the last bits of a product depend on what else is asked at once


class LearnedMatcher(NgramMatcher):
    """N-grams, with what is carried over from judged texts."""

    uses_judgements = True

    def __init__(self, material: Material) -> None:
        super().__init__(material.key, material.settings, material.idf)
        self._material = material
        self._read = GramReader(material.idf, material.settings)
        self._questions: dict[int, QuestionClues] = {}
        # The text explained last, often for many nuggets, and its grams as they are written.
        self._compared: tuple[int, str, ComparedText, list[str]] | None = None

    @property
    def signature(self) -> str:
        return f"learned[{super().signature}]"

    def depends_on(self, question: int, carried: bool) -> str | None:
        if type(self) is not LearnedMatcher:
            return None
        basis = self._depends_on(question)
        if not carried or question not in self._judged_rows:
            return basis
        rows = self._judged_rows[question]
        pairs = self._begin[rows][:, None] + np.arange(self.key.counts[question])
        verdicts = np.packbits([self._judged.decided[pairs], self._judged.yes[pairs]]).tobytes()
        return repr((basis, WEIGHTS, [self._judged.texts[row] for row in rows.tolist()], verdicts))

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector:
        begin, _ = ragged(self.key.offsets[question], self.key.counts[question])
        result = np.zeros(int(begin[-1]))
        with _one_thread():
            for number, rows, clues in self._clues(texts, question):
                about = self._question(number)
                judged = np.repeat(about.judged[None, :], len(rows), axis=0)
                for i, row in enumerate(rows.tolist()):
                    own = self._row_of_text.get((number, verdict_form_of_normalised(texts[row])))
                    if own is not None:
                        clues[i], judged[i] = about.without_own(own, clues[i])
                result[begin[rows][:, None] + np.arange(judged.shape[1])] = np.where(judged, weigh(clues), 0.0)
        return np.round(result, DIGITS)

    def features(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector:
        """pairs × CLUES, to learn weights from; NaN for nuggets about which nobody judged any text."""
        begin, _ = ragged(self.key.offsets[question], self.key.counts[question])
        result = np.full((int(begin[-1]), len(CLUES)), np.nan)
        for number, rows, clues in self._clues(texts, question):
            judged = np.flatnonzero(self._question(number).judged)
            result[begin[rows][:, None] + judged] = clues[:, judged]
        return result

    def _clues(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Iterator[tuple[int, Ints, Vector]]:
        """For each question of which something was judged: its number, rows of texts, texts × nuggets × CLUES."""
        order = np.argsort(question, kind="stable")
        numbers, start = np.unique(question[order], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, start)[1:], strict=True):
            if number in self._judged_rows:
                yield number, rows, self._question(number).clues([self._read(texts[row]) for row in rows.tolist()])

    def explain(self, text: str, nugget: int) -> Explanation:
        """The log odds that words add, because judged texts have them, and the most similar judged texts; as n-grams do
        where nobody judged any text for the nugget."""
        number = int(self.key.question[nugget])
        first = int(self.key.offsets[number])
        if number not in self._judged_rows or not self._question(number).judged[nugget - first]:
            return super().explain(text, nugget)
        if self._compared is None or self._compared[:2] != (number, text):
            compared = self._question(number).compare(self._read(normalised(text)))
            as_it_is = as_written(text, self._read.stem, (1, 2), self.language)
            self._compared = (
                number,
                text,
                compared,
                [as_it_is.get(tuple(gram.split(" ")), gram) for gram in compared.grams],
            )
        breakdown = self._question(number).breakdown(self._compared[2], nugget - first)
        weights, written = WEIGHTS["regression"] * breakdown.parts, self._compared[3]
        order = np.argsort(-np.abs(weights), kind="stable").tolist()
        words = map(WordEvidence, map(written.__getitem__, order), weights[order].tolist(), repeat(True))
        rows = self._judged_rows[number]
        similar = [
            SimilarText(self._judged.texts[rows[row]], yes, min(similarity, 1.0))
            for kind in (True, False)
            for row, similarity, yes in [near for near in breakdown.near if near[2] is kind][:NAMED]
        ]
        return Explanation("log odds", tuple(words), tuple(similar))

    @property
    def _judged(self) -> Judged:
        return self._material.judged

    @cached_property
    def _judged_rows(self) -> dict[int, Ints]:
        """The judged texts of each question that has any, in an order of their own."""
        texts, question = self._judged.texts, self._judged.question.tolist()
        order = np.array(sorted(range(len(texts)), key=lambda row: (question[row], texts[row])), dtype=np.int64)
        numbers, start = np.unique(self._judged.question[order], return_index=True)
        return dict(zip(numbers.tolist(), np.split(order, start)[1:], strict=True))

    @cached_property
    def _row_of_text(self) -> dict[tuple[int, str], int]:
        """The row of each judged text among those of its question."""
        return {
            (number, verdict_form_of_normalised(self._judged.texts[row])): i
            for number, rows in self._judged_rows.items()
            for i, row in enumerate(rows.tolist())
        }

    @cached_property
    def _begin(self) -> Ints:
        return ragged(self.key.offsets[self._judged.question], self.key.counts[self._judged.question])[0]

    def _question(self, number: int) -> QuestionClues:
        if number not in self._questions:
            rows = self._judged_rows[number]
            pairs = self._begin[rows][:, None] + np.arange(self.key.counts[number])
            nuggets = self.key.nuggets[self.key.offsets[number] : self.key.offsets[number + 1]]
            self._questions[number] = QuestionClues(
                [[self._read(normalised(text)) for text in nugget.descriptions] for nugget in nuggets],
                [self._read(self._judged.texts[row]) for row in rows.tolist()],
                self._judged.decided[pairs],
                self._judged.yes[pairs],
            )
        return self._questions[number]


def weigh(clues: Vector) -> Vector:
    """The log odds that clues add."""
    return np.asarray(clues @ np.array([WEIGHTS[clue] for clue in CLUES]))


def make(material: Material) -> LearnedMatcher:
    return LearnedMatcher(material)


def _one_thread() -> AbstractContextManager[object]:
    """Within it, sums are added in the same order however many workers and processors there are."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
