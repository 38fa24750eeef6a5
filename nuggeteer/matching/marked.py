"""Marked words as further descriptions: what an assessor marked in a text, when saying yes, describes the nugget too.

A text is no test of a description that was taken from it, nor are its system's other texts, which tend to say things in
the same words. So thresholds learn from the scores that judged texts get without the words that were marked in texts of
their own group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.base import Explanation, Judged, MarkedSpan, Matcher, Material
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Vector
from nuggeteer.text import words


class MarkedWords(Matcher):
    """Any matcher, with marked words among the descriptions of nuggets."""

    uses_judgements = True

    def __init__(self, material: Material, make: Callable[[Material], Matcher]) -> None:
        self._material, self._make = material, make
        self._marked = sorted(set(material.marked), key=lambda one: (one.nugget, one.words, one.group))
        self._matcher = make(self._described(self._marked))
        content = "\n".join(f"{one.nugget}\t{one.group}\t{one.words}" for one in self._marked)
        digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        self._digest = digest

    @property
    def signature(self) -> str:
        return f"{self._matcher.signature}+marked:{self._digest}"

    @property
    def scores_overlap(self) -> bool:
        return self._matcher.scores_overlap

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        return self._matcher.score(texts, question, jobs)

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector | None:
        return self._matcher.carried(texts, question)

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        """Of each judged text, without what was marked in texts of its own group."""
        counts = self._material.key.counts[judged.question]
        begin, _ = ragged(np.zeros(len(counts), dtype=np.int64), counts)
        scores = self._matcher.score_judged(judged, jobs)
        for group in sorted({one.group for one in self._marked}):
            matcher = self._make(self._described([one for one in self._marked if one.group != group]))
            own = np.flatnonzero(judged.group == group)
            _, pairs = ragged(begin[own], counts[own])
            scores[pairs] = matcher.score_judged(judged, jobs)[pairs]
        return scores

    def explain(self, text: str, nugget: int) -> Explanation | None:
        return self._matcher.explain(text, nugget)

    def _described(self, marked: Collection[MarkedSpan]) -> Material:
        key = self._material.key
        more: dict[int, list[str]] = {}
        for one in marked:
            if words(one.words):
                more.setdefault(one.nugget, []).append(one.words)
        nuggets = tuple(
            replace(nugget, descriptions=tuple(dict.fromkeys((*nugget.descriptions, *more.get(place, ())))))
            for place, nugget in enumerate(key.nuggets)
        )
        return replace(self._material, key=AnswerKey(key.questions, nuggets, key.offsets))
