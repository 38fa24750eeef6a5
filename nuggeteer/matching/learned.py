"""The default matcher: what the words of a text say about a nugget (`clues`), and what judged texts say about texts
that nobody judged (`similar_texts`).

A pair's score is the share of the description that stands together in the text. The default model weighs it, the other
clues and what is carried over. How much each is worth was learned on public collections that humans judged, and is then
learned from the collection's own verdicts (`thresholds.prior`, `thresholds.propagation`). So a verdict survives
rewording, and the first one already counts, from whichever system.

If nobody judged any text for a nugget, nothing is carried over to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import numpy as np
import numpy.typing as npt

from nuggeteer.languages import Language
from nuggeteer.matching.base import (
    LOG_ODDS,
    SHARE,
    Explanation,
    Judged,
    Matcher,
    Matches,
    Material,
    SimilarText,
    WordEvidence,
)
from nuggeteer.matching.clues import CLUES, ClueTables
from nuggeteer.matching.similar_texts import Breakdowns, ComparedText, JudgedTexts
from nuggeteer.records import Ints, Vector
from nuggeteer.text import normalised

DIGITS = 4  # of predictions: the last bits of a product depend on what else is asked at once


class LearnedMatcher(Matcher):
    """Words in windows, with what is carried over from judged texts."""

    uses_judgements = True

    def __init__(self, material: Material) -> None:
        self._material, self._key = material, material.key
        self._language = Language(material.settings.language)
        self._read = material.grams
        self._questions: dict[int, JudgedTexts] = {}
        self._explained: _ExplainedQuestion | None = None

    @property
    def signature(self) -> str:
        settings = self._material.settings
        own = f"weights={settings.weights},informative={settings.informative}{self._language.signature}"
        return f"learned({own})"

    @property
    def scores_overlap(self) -> bool:
        return True

    @cached_property
    def _tables(self) -> ClueTables:
        return ClueTables(self._key, self._material.settings, self._material.idf)

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        return self.match(texts, question, jobs).scores

    def match(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Matches:
        clues = self._tables.clues(texts, question)
        return Matches(clues[:, 0].astype(float), CLUES, clues)

    def match_judged(self, judged: Judged, jobs: int = 1) -> Matches:
        return self.match(judged.texts, judged.question, jobs)

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector:
        begin, _ = self._key.pairs(question)
        result = np.zeros(int(begin[-1]))
        order = np.argsort(question, kind="stable")
        numbers, start = np.unique(question[order], return_index=True)
        with _one_thread():
            for number, rows in zip(numbers.tolist(), np.split(order, start)[1:], strict=True):
                if number in self._judged_rows:
                    own = self._read.read([texts[row] for row in rows.tolist()])
                    predictions = self._question(number).predictions(own)
                    result[begin[rows][:, None] + np.arange(predictions.shape[1])] = predictions
        return np.round(result, DIGITS)

    def left_out(self, texts: Sequence[str], question: npt.NDArray[np.int32], group: Sequence[str]) -> Vector:
        begin, _ = self._key.pairs(question)
        result = np.zeros(int(begin[-1]))
        row_of = {asked: row for row, asked in enumerate(zip(question.tolist(), texts, strict=True))}
        with _one_thread():
            for number in np.unique(question).tolist():
                if number in self._judged_rows:
                    about = self._question(number)
                    judged = self._judged_rows[number][about.rows].tolist()
                    rows = [row_of[number, self._judged.texts[row]] for row in judged]
                    if len({group[row] for row in rows}) > 1:
                        predictions = about.left_out([group[row] for row in rows])
                        result[begin[np.array(rows)][:, None] + np.arange(predictions.shape[1])] = predictions
        return np.round(result, DIGITS)

    def explain(self, text: str, nugget: int) -> Explanation:
        """What words add, because judged texts have them, and the most similar judged texts; where nobody judged any
        text for the nugget, the words of its description that the text has and lacks."""
        number = int(self._key.question[nugget])
        place = nugget - int(self._key.offsets[number])
        if number in self._judged_rows:
            if self._explained is None or self._explained.number != number:
                self._explained = _ExplainedQuestion(number, Breakdowns(self._question(number)))
            if self._explained.breakdowns.judged[place]:
                return self._explain_likeness(self._explained, text, place)
        return self._explain_words(text, nugget)

    def _explain_likeness(self, about: _ExplainedQuestion, text: str, place: int) -> Explanation:
        from nuggeteer.matching.marks import as_written

        if text not in about.texts:
            compared = about.breakdowns.compare(self._read(normalised(text)))
            as_it_is = as_written(text, self._read.stem, (1, 2), self._language)
            written = [as_it_is.get(tuple(gram.split(" ")), gram) for gram in compared.grams]
            about.texts[text] = compared, written
        compared, written = about.texts[text]
        breakdown = about.breakdowns.breakdown(compared, place)
        order = np.argsort(-np.abs(breakdown.parts), kind="stable")
        parts = breakdown.parts[order].tolist()
        words = map(WordEvidence, map(written.__getitem__, order.tolist()), parts, repeat(True))
        rows = self._judged_rows[about.number]
        similar = [
            SimilarText(self._judged.texts[rows[row]], yes, min(similarity, 1.0))
            for row, similarity, yes in breakdown.near
        ]
        return Explanation(LOG_ODDS, tuple(words), tuple(similar))

    def _explain_words(self, text: str, nugget: int) -> Explanation:
        """By the description that the text has most of."""
        from nuggeteer.matching.marks import as_written

        stem = self._read.stem
        have = set(map(stem, self._language.find(normalised(text))))
        shares = self._tables.words_of(nugget)
        best = max(range(len(shares)), key=lambda i: (sum(shares[i][word] for word in shares[i] if word in have), -i))
        described = as_written(self._key.nuggets[nugget].descriptions[best], stem, (1,), self._language)
        written = {**described, **as_written(text, stem, (1,), self._language)}
        evidence = [
            WordEvidence(written.get((word,), word), share if word in have else -share, word in have)
            for word, share in shares[best].items()
            if share
        ]
        return Explanation(SHARE, tuple(sorted(evidence, key=lambda word: -abs(word.weight))))

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
    def _begin(self) -> Ints:
        return self._key.pairs(self._judged.question)[0]

    def _question(self, number: int) -> JudgedTexts:
        if number not in self._questions:
            rows = self._judged_rows[number]
            pairs = self._begin[rows][:, None] + np.arange(self._key.counts[number])
            grams = self._read.read([self._judged.texts[row] for row in rows.tolist()])
            self._questions[number] = JudgedTexts(grams, self._judged.decided[pairs], self._judged.yes[pairs])
        return self._questions[number]


@dataclass(frozen=True)
class _ExplainedQuestion:
    """The question explained last, and for each explained text its comparison and its grams as written."""

    number: int
    breakdowns: Breakdowns
    texts: dict[str, tuple[ComparedText, list[str]]] = field(default_factory=dict)


def make(material: Material) -> LearnedMatcher:
    return LearnedMatcher(material)


def _one_thread() -> AbstractContextManager[object]:
    """Within it, sums are added in the same order, however many workers and processors there are."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
