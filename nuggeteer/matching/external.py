"""Match scores that already exist: computed earlier (`Remembered.of`), or in a file that another program wrote
(`formats.matches`), for example an LLM judge.

They are calibrated against human verdicts like all other scores. A pair with a human verdict needs no score, but
without one it is not used in the calibration. A pair to be guessed must have a score, because another matcher's score
would have another meaning. With the setting `missing`, the mean of all scores takes its place, which says nothing for
or against the nugget.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError, Problem, stop_at_errors
from nuggeteer.formats.matches import read_matches
from nuggeteer.matching.base import Judged, Matcher, Material
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
        self._begin = np.append(key.pairs(question)[0][:-1], len(scores))
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


def make(material: Material) -> Remembered:
    key, name = material.key, material.settings.external
    if not name:
        raise NuggeteerError('the matcher external reads scores from a file: name it, [match] external = "FILE"')
    problems: list[Problem] = []
    matches = read_matches(Path(name), key, problems)
    stop_at_errors(problems)
    row: dict[tuple[int, str], int] = {}
    for match in matches:
        row.setdefault((match.question, match.text), len(row))
    question = np.array([asked for asked, _ in row], dtype=np.int32)
    begin, _ = key.pairs(question)
    scores = np.full(int(begin[-1]), np.nan)
    digest = blake2b(digest_size=4)
    for match in sorted(matches, key=lambda match: (match.nugget, match.text)):
        place = begin[row[match.question, match.text]] + match.nugget - key.offsets[match.question]
        scores[place] = match.score
        digest.update(f"{match.nugget}\t{match.text}\t{match.score!r}\n".encode("utf-8", "surrogatepass"))
    texts, notes = [text for _, text in row], tuple(map(str, problems))
    if material.settings.missing == "mean" and matches:
        name = f"external({digest.hexdigest()},missing=mean)"
        return Tolerant(key, name, texts, question, scores, notes)
    return Remembered(key, f"external({digest.hexdigest()})", texts, question, scores, notes)


class Tolerant(Remembered):
    """Scores of some texts. Pairs without a score get the mean of the others, but teach nothing."""

    uses_judgements = True  # what is judged has other scores than what is guessed, so they are not to be remembered

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        scores = super().score(texts, question, jobs)
        return np.where(np.isnan(scores), np.nanmean(self._scores), scores)

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        return super().score(judged.texts, judged.question, jobs)
