"""Informativeness from judged responses, as Marton & Radul 2006 (equation 1) have it: `[match] informative =
"responses"`.

An n-gram counts as another nugget's if a response that was judged to carry that nugget has it. With descriptions, which
are the default, it does if the other nugget's description has it. A judged text must not teach the matcher what it is
then tested on: thresholds learn from scores by the responses of other groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from functools import cached_property

import numpy as np

from nuggeteer.matching.base import Judged, Material
from nuggeteer.matching.gram_tables import Gram, GramTables
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.pairs import ragged
from nuggeteer.records import Nugget, Vector


class ResponseNgrams(NgramMatcher):
    """n-grams whose informativeness comes from judged responses, but for those of one group."""

    uses_judgements = True

    def __init__(self, material: Material, without: int | None = None) -> None:
        super().__init__(material.key, material.settings, material.idf)
        self._material, self._without = material, without

    @property
    def signature(self) -> str:
        return f"{super().signature}+informative:responses"

    def _tables_of(self, nuggets: Sequence[Nugget | None]) -> GramTables:
        return GramTables(self.key, self._described(nuggets), self.settings.n, self._idf, carriers=self._carriers)

    @cached_property
    def _carriers(self) -> list[dict[Gram, Set[int]]]:
        """For each question, the nuggets whose judged responses have an n-gram."""
        judged = self._material.judged
        begin, nugget = ragged(self.key.offsets[judged.question], self.key.counts[judged.question])
        found: list[dict[Gram, set[int]]] = [defaultdict(set) for _ in self.key.questions]
        for row, text in enumerate(judged.texts):
            own = nugget[begin[row] : begin[row + 1]][judged.yes[begin[row] : begin[row + 1]]].tolist()
            if own and judged.group[row] != self._without:
                for gram in self._grams(text):
                    found[int(judged.question[row])][gram].update(own)
        return [dict(grams) for grams in found]

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        """The score of each judged text, by the responses of other groups."""
        begin, nugget = ragged(self.key.offsets[judged.question], self.key.counts[judged.question])
        scores = np.zeros(len(nugget))
        for group in np.unique(judged.group).tolist():
            own = np.flatnonzero(judged.group == group)
            _, pairs = ragged(begin[own], np.diff(begin)[own])
            texts = [judged.texts[row] for row in own.tolist()]
            scores[pairs] = ResponseNgrams(self._material, group).score(texts, judged.question[own], jobs)
        return scores
