"""The default matcher: n-grams, and what judged texts say of texts that nobody judged.

The score of a pair is that of n-grams, by which the threshold model learns. Then the judged texts of the question
speak: their clues (`clues.py`) add log odds to what the model believes, so a verdict survives rewording. How much each
clue is worth was learned on public collections that humans judged (`carried_weights.py`), never on the collection that
is scored. So the first verdict already counts, from whichever system. Once several systems were judged, what all clues
together are worth is learned from the collection too (`thresholds/carrying.py`), from texts whose own system is left
out: no verdict is used to weigh the clues that it is part of.

A nugget about which nobody judged any text is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from itertools import repeat

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.base import LOG_ODDS, Explanation, Judged, Material, SimilarText, WordEvidence
from nuggeteer.matching.breakdowns import Breakdowns, ComparedText
from nuggeteer.matching.carried_weights import WEIGHTS
from nuggeteer.matching.clues import CLUES, GramReader, QuestionClues, TextGrams
from nuggeteer.matching.marks import as_written
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.pairs import ragged
from nuggeteer.records import Ints, Nugget, Vector
from nuggeteer.text import normalised, verdict_form_of_normalised

DIGITS = 4  # of log odds: the last bits of a product depend on what else is asked at once


class LearnedMatcher(NgramMatcher):
    """N-grams, with what is carried over from judged texts."""

    uses_judgements = True

    def __init__(self, material: Material) -> None:
        super().__init__(material.key, material.settings, material.idf)
        self._material = material
        self._read = GramReader(material.idf, material.settings)
        self._questions: dict[int, QuestionClues] = {}
        self._verdicts: dict[int, str] = {}  # a hash of those on each question
        self._last_read: dict[str, TextGrams] = {}  # the judged texts of one question
        self._explained: _ExplainedQuestion | None = None

    @property
    def signature(self) -> str:
        return f"learned[{super().signature}]"

    def depends_on(self, question: int, carried: bool) -> str | None:
        if type(self) is not LearnedMatcher:
            return None
        basis = self._depends_on(question)
        if not carried or question not in self._judged_rows:
            return basis
        if question not in self._verdicts:
            rows = self._judged_rows[question]
            pairs = self._begin[rows][:, None] + np.arange(self.key.counts[question])
            digest = blake2b(np.packbits([self._judged.decided[pairs], self._judged.yes[pairs]]).tobytes())
            digest.update("\n".join(self._texts_of(question)).encode("utf-8", "surrogatepass"))  # each is one line
            self._verdicts[question] = digest.hexdigest()
        return repr((basis, WEIGHTS, self._verdicts[question]))

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector:
        begin, _ = ragged(self.key.offsets[question], self.key.counts[question])
        result = np.zeros(int(begin[-1]))
        with _one_thread():
            for number, rows, clues in self._clues(texts, question):
                row_of = {form: i for i, form in enumerate(map(verdict_form_of_normalised, self._texts_of(number)))}
                own = [row_of.get(verdict_form_of_normalised(texts[row]), -1) for row in rows.tolist()]
                clues, judged = self._question(number).without_own(np.array(own), clues)
                result[begin[rows][:, None] + np.arange(judged.shape[1])] = np.where(judged, weigh(clues), np.nan)
        return np.round(result, DIGITS)

    def left_out(self, texts: Sequence[str], question: npt.NDArray[np.int32], group: Sequence[str]) -> Vector | None:
        begin, _ = ragged(self.key.offsets[question], self.key.counts[question])
        result = np.full(int(begin[-1]), np.nan)
        row_of = {asked: row for row, asked in enumerate(zip(question.tolist(), texts, strict=True))}
        with _one_thread():
            for number in np.unique(question).tolist():
                if number in self._judged_rows:
                    about = self._question(number)
                    judged = self._judged_rows[number][about.rows].tolist()
                    rows = [row_of[number, self._judged.texts[row]] for row in judged]
                    grams = [self._last_read.get(texts[row]) or self._read(texts[row]) for row in rows]
                    clues = about.left_out(grams, [group[row] for row in rows])
                    result[begin[np.array(rows)][:, None] + np.arange(clues.shape[1])] = weigh(clues)
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
                about = self._question(number)  # which reads the judged texts
                grams = [self._last_read.get(texts[row]) or self._read(texts[row]) for row in rows.tolist()]
                yield number, rows, about.clues(grams)

    def explain(self, text: str, nugget: int) -> Explanation:
        """The log odds that words add, because judged texts have them, and the most similar judged texts; as n-grams do
        where nobody judged any text for the nugget."""
        number = int(self.key.question[nugget])
        place = nugget - int(self.key.offsets[number])
        if number not in self._judged_rows:
            return super().explain(text, nugget)
        if self._explained is None or self._explained.number != number:
            self._explained = _ExplainedQuestion(
                number, Breakdowns(self._questions.get(number) or self._clues_of(number))
            )
        about = self._explained
        if not about.breakdowns.judged[place]:
            return super().explain(text, nugget)
        if text not in about.texts:
            compared = about.breakdowns.compare(self._read(normalised(text)))
            as_it_is = as_written(text, self._read.stem, (1, 2), self.language)
            written = [as_it_is.get(tuple(gram.split(" ")), gram) for gram in compared.grams]
            about.texts[text] = compared, written
        compared, written = about.texts[text]
        breakdown = about.breakdowns.breakdown(compared, place)
        weights = WEIGHTS["regression"] * breakdown.parts
        order = np.argsort(-np.abs(weights), kind="stable")
        words = map(WordEvidence, map(written.__getitem__, order.tolist()), weights[order].tolist(), repeat(True))
        rows = self._judged_rows[number]
        similar = [
            SimilarText(self._judged.texts[rows[row]], yes, min(similarity, 1.0))
            for row, similarity, yes in breakdown.near
        ]
        return Explanation(LOG_ODDS, tuple(words), tuple(similar))

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

    def _texts_of(self, number: int) -> list[str]:
        """The judged texts of a question, in the order of `_judged_rows`."""
        return [self._judged.texts[row] for row in self._judged_rows[number].tolist()]

    @cached_property
    def _begin(self) -> Ints:
        return ragged(self.key.offsets[self._judged.question], self.key.counts[self._judged.question])[0]

    def _question(self, number: int) -> QuestionClues:
        if number not in self._questions:
            self._questions[number] = self._clues_of(number)
        return self._questions[number]

    def _clues_of(self, number: int) -> QuestionClues:
        rows = self._judged_rows[number]
        pairs = self._begin[rows][:, None] + np.arange(self.key.counts[number])
        texts = self._texts_of(number)
        self._last_read = {text: self._read(text) for text in texts}
        nuggets = self.key.nuggets[self.key.offsets[number] : self.key.offsets[number + 1]]
        return QuestionClues(
            partial(_descriptions, self._read, nuggets),  # a method would keep a session's old matchers in memory
            list(map(self._last_read.__getitem__, texts)),
            self._judged.decided[pairs],
            self._judged.yes[pairs],
        )


def _descriptions(read: GramReader, nuggets: Sequence[Nugget]) -> list[list[TextGrams]]:
    return [[read(normalised(text)) for text in nugget.descriptions] for nugget in nuggets]


@dataclass(frozen=True)
class _ExplainedQuestion:
    """The question explained last, and of each text that was: its comparison, and its grams as they are written."""

    number: int
    breakdowns: Breakdowns
    texts: dict[str, tuple[ComparedText, list[str]]] = field(default_factory=dict)


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
