"""Pourpre's match score (Lin & Demner-Fushman 2005): the share of a description's words that a response has.

A word weighs its idf, or 1 (`weights = "unit"`, counts). The match score is the weight of the words that the response
shares with the description, divided by the weight of all words of the description. Each distinct word counts once.
Unlike in Nuggeteer, words that other nuggets have too weigh no less, and there are only unigrams.

Pourpre makes no yes-or-no decisions. A score above its threshold is itself the credit of the nugget.
"""

from __future__ import annotations

from dataclasses import replace

from nuggeteer.matching.base import Material
from nuggeteer.matching.ngram import NgramMatcher


class PourpreMatcher(NgramMatcher):
    """Unigrams, whose weights do not depend on other nuggets."""

    informative = False

    @property
    def signature(self) -> str:
        stem = "yes" if self.settings.stem else "no"
        own = f"stem={stem},weights={self.settings.weights},stopwords={self.settings.stopwords}"
        return f"pourpre({own}{self.language.signature})"


def make(material: Material) -> PourpreMatcher:
    return PourpreMatcher(material.key, replace(material.settings, n=1), material.idf)
