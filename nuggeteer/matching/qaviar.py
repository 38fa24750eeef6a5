"""Qaviar's match score (Breck et al. 2000): the recall of a description's stemmed content words.

Stop words are left out, words are stemmed, each distinct stem counts once and all alike. Qaviar takes an answer as
right when its recall is above a cut-off.
"""

from __future__ import annotations

from dataclasses import replace

from nuggeteer.matching.base import Material
from nuggeteer.matching.pourpre import PourpreMatcher


class QaviarMatcher(PourpreMatcher):
    """Pourpre's counts of stems without stop words."""

    @property
    def signature(self) -> str:
        return "qaviar"


def make(material: Material) -> QaviarMatcher:
    settings = replace(material.settings, n=1, stem=True, stopwords="remove", weights="unit")
    return QaviarMatcher(material.key, settings, None)
