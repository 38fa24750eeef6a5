"""Qaviar's match score (Breck et al. 2000): the recall of a description's stemmed content words.

Stop words are left out and words are stemmed. Each distinct stem counts once, all with the same weight. In Qaviar, an
answer is right if its recall is above a cut-off.
"""

from __future__ import annotations

from dataclasses import replace

from nuggeteer.matching.base import Material
from nuggeteer.matching.pourpre import PourpreMatcher


class QaviarMatcher(PourpreMatcher):
    """Pourpre with unit weights, on stems and without stop words."""

    @property
    def signature(self) -> str:
        return f"qaviar({self.language.signature[1:]})" if self.language.signature else "qaviar"


def make(material: Material) -> QaviarMatcher:
    settings = replace(material.settings, n=1, stem=True, stopwords="remove", weights="unit")
    return QaviarMatcher(material.key, settings, None)
