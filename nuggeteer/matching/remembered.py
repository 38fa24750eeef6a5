"""Match scores that already exist: computed earlier, or read from a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.base import Matcher
from nuggeteer.records import AnswerKey, Vector, ragged


class Remembered(Matcher):
    """Scores of some texts (`text.normalised`), in the order of `Matcher.score`. All other texts get NaN."""

    def __init__(
        self,
        key: AnswerKey,
        signature: str,
        texts: Sequence[str],
        question: npt.NDArray[np.int32],
        scores: Vector,
        notes: tuple[str, ...] = (),
        scores_overlap: bool = False,
    ) -> None:
        self._key, self._signature, self._notes, self._scores_overlap = key, signature, notes, scores_overlap
        self._row = {asked: row for row, asked in enumerate(zip(question.tolist(), texts, strict=True))}
        # After the scores there are as many NaN as the largest question has nuggets, for texts without scores.
        self._begin = np.append(ragged(key.offsets[question], key.counts[question])[0][:-1], len(scores))
        self._scores = np.append(scores, np.full(int(key.counts.max(initial=0)), np.nan))

    @classmethod
    def of(
        cls, key: AnswerKey, matcher: Matcher, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1
    ) -> Remembered:
        """The scores that a matcher gives these texts."""
        scores = matcher.score(texts, question, jobs)
        return cls(key, matcher.signature, texts, question, scores, matcher.notes, matcher.scores_overlap)

    @property
    def signature(self) -> str:
        return self._signature

    @property
    def scores_overlap(self) -> bool:
        return self._scores_overlap

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        rows = [self._row.get(asked, -1) for asked in zip(question.tolist(), texts, strict=True)]
        _, index = ragged(self._begin[np.array(rows, dtype=np.int64)], self._key.counts[question])
        return self._scores[index]
