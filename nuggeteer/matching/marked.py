"""Marked words as further descriptions: the words that an assessor marked with a yes describe the nugget too.

With `[match] described = "responses"`, so does each whole response that people judged to carry the nugget, as Marton &
Radul 2006 (4.5) tried it: the match is the best of all. They found that a response also says other things, that its
other words match too, and that this costs much time.

A text cannot test a description that was taken from it. Nor can other texts of the same system, which tend to use the
same words. So thresholds learn from scores that judged texts get without the words that were marked in texts of their
own group.

With `[match] informative = "responses"`, responses decide instead how informative an n-gram is (equation 1 there). An
n-gram counts as another nugget's if a response that was judged to carry that nugget has it. With descriptions, which
are the default, it does if the other nugget's description has it. A judged text must not teach the matcher what it is
then tested on: thresholds learn from scores by the responses of other groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
from msgspec import structs

from nuggeteer.matching.base import Around, Judged, MarkedSpan, Matcher, Matches, Material
from nuggeteer.matching.ngram import Gram, GramWeights, NgramMatcher
from nuggeteer.records import Vector, ragged
from nuggeteer.text import words


def carriers(material: Material) -> tuple[MarkedSpan, ...]:
    """The whole responses that were judged to carry a nugget."""
    key, judged = material.key, material.judged
    begin, nugget = key.pairs(judged.question)
    row = np.repeat(np.arange(len(judged.texts)), np.diff(begin))
    yes = np.flatnonzero(judged.yes)
    return tuple(
        MarkedSpan(n, int(judged.group[r]), judged.texts[r])
        for n, r in zip(nugget[yes].tolist(), row[yes].tolist(), strict=True)
    )


class MarkedWords(Around):
    """Any matcher, with marked words as further descriptions of the nuggets."""

    uses_judgements = True

    def __init__(
        self, material: Material, make: Callable[[Material], Matcher], described: Sequence[MarkedSpan]
    ) -> None:
        self._material, self._make = material, make
        self._marked = sorted(set(described), key=lambda span: (span.nugget, span.words, span.group))
        self.matcher = make(self._described(self._marked))
        content = "\n".join(f"{span.nugget}\t{span.group}\t{span.words}" for span in self._marked)
        digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        self._digest = digest

    @property
    def signature(self) -> str:
        return f"{self.matcher.signature}+marked:{self._digest}"

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        return self.match_judged(judged, jobs).scores

    def match_judged(self, judged: Judged, jobs: int = 1) -> Matches:
        """The match of each judged text, without the words that were marked in texts of its own group."""
        counts = self._material.key.counts[judged.question]
        begin, _ = ragged(np.zeros(len(counts), dtype=np.int64), counts)
        found = self.matcher.match_judged(judged, jobs)
        for group in sorted({span.group for span in self._marked}):
            matcher = self._make(self._described([span for span in self._marked if span.group != group]))
            own = np.flatnonzero(judged.group == group)
            _, pairs = ragged(begin[own], counts[own])
            others = matcher.match_judged(judged, jobs)
            found.scores[pairs], found.clues[pairs] = others.scores[pairs], others.clues[pairs]
        return found

    def _described(self, marked: Collection[MarkedSpan]) -> Material:
        key = self._material.key
        more: dict[int, list[str]] = {}
        for span in marked:
            if words(span.words):
                more.setdefault(span.nugget, []).append(span.words)
        nuggets = tuple(
            structs.replace(nugget, descriptions=tuple(dict.fromkeys((*nugget.descriptions, *more.get(position, ())))))
            for position, nugget in enumerate(key.nuggets)
        )
        return replace(self._material, key=replace(key, nuggets=nuggets))


class ResponseNgrams(NgramMatcher):
    """n-grams whose informativeness comes from judged responses, except those of one group."""

    uses_judgements = True

    def __init__(self, material: Material, without: int | None = None) -> None:
        super().__init__(material.key, material.settings, material.idf)
        self._material, self._without = material, without

    @property
    def signature(self) -> str:
        return f"{super().signature}+informative:responses"

    def _weights(self, question: int, nuggets: Sequence[Sequence[Sequence[Gram]]]) -> GramWeights:
        return GramWeights(nuggets, self._idf, carriers=self._carriers[question])

    @cached_property
    def _carriers(self) -> list[dict[Gram, Set[int]]]:
        """For each question, the nuggets whose judged responses have an n-gram."""
        judged = self._material.judged
        begin, nugget = self.key.pairs(judged.question)
        found: list[dict[Gram, set[int]]] = [defaultdict(set) for _ in self.key.questions]
        for row, text in enumerate(judged.texts):
            own = nugget[begin[row] : begin[row + 1]][judged.yes[begin[row] : begin[row + 1]]].tolist()
            if own and judged.group[row] != self._without:
                for gram in self._grams(text):
                    found[int(judged.question[row])][gram].update(own)
        return [dict(grams) for grams in found]

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        """The score of each judged text, by the responses of other groups."""
        begin, nugget = self.key.pairs(judged.question)
        scores = np.zeros(len(nugget))
        for group in np.unique(judged.group).tolist():
            own = np.flatnonzero(judged.group == group)
            _, pairs = ragged(begin[own], np.diff(begin)[own])
            texts = [judged.texts[row] for row in own.tolist()]
            scores[pairs] = ResponseNgrams(self._material, group).score(texts, judged.question[own], jobs)
        return scores
