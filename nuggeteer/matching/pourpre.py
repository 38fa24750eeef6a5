"""Pourpre's match score (Lin & Demner-Fushman 2005): what share of a description's words a response has.

The words that a response shares with a nugget's description weigh their idf, or 1 each (`weights = "unit"`, counts);
their sum over that of all words of the description is the match score. Each distinct word counts once. Unlike in
Nuggeteer, no word weighs less for standing in other nuggets too, and there are no longer n-grams.

Pourpre decides nothing: a score above its threshold is itself the credit that a nugget gets (`credit`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nuggeteer.matching.base import Material
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.ngram import Gram, NgramMatcher
from nuggeteer.records import Vector


class PourpreMatcher(NgramMatcher):
    """Unigrams that weigh the same whatever other nuggets say."""

    def _weights(self, descriptions: list[list[list[Gram]]], idf: Idf | None) -> Callable[[int, Gram], float]:
        return lambda nugget, gram: 1.0 if idf is None else float(idf[gram[0]])

    @property
    def signature(self) -> str:
        stem = "yes" if self.settings.stem else "no"
        return f"pourpre(stem={stem},weights={self.settings.weights},stopwords={self.settings.stopwords})"


def make(material: Material) -> PourpreMatcher:
    return PourpreMatcher(material.key, replace(material.settings, n=1), material.idf)


def credit(scores: Vector, threshold: float) -> Vector:
    """What a nugget counts in recall and in the allowance: its best match score, if that is above the threshold."""
    return np.where(scores > threshold, scores, 0.0)
