"""Match scores that are there already: worked out before, or read from a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.base import Matcher, notes_of
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Vector


class Remembered:
    """Scores of some texts (`text.normalised`), laid end to end as `Matcher.score` does; NaN of all others."""

    def __init__(
        self,
        key: AnswerKey,
        signature: str,
        texts: Sequence[str],
        question: npt.NDArray[np.int32],
        scores: Vector,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._key, self.signature, self.notes = key, signature, notes
        self._row = {asked: row for row, asked in enumerate(zip(question.tolist(), texts, strict=True))}
        # Behind the scores as many NaN as any question has nuggets, for texts that are not there.
        self._begin = np.append(ragged(key.offsets[question], key.counts[question])[0][:-1], len(scores))
        self._scores = np.append(scores, np.full(int(key.counts.max(initial=0)), np.nan))

    @classmethod
    def of(
        cls, key: AnswerKey, matcher: Matcher, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1
    ) -> Remembered:
        """A matcher's scores of these texts."""
        return cls(key, matcher.signature, texts, question, matcher.score(texts, question, jobs), notes_of(matcher))

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        rows = [self._row.get(asked, -1) for asked in zip(question.tolist(), texts, strict=True)]
        _, place = ragged(self._begin[np.array(rows, dtype=np.int64)], self._key.counts[question])
        return self._scores[place]
