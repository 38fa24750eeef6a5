"""ROUGE recall of a nugget's description, as the package rouge-score computes it.

rouge1 and rouge2 count the words or pairs of words that the description and the response share, with repetitions.
rougeL counts the longest sequence of words that both have in the same order. Words are as in rouge-score: ASCII letters
and digits, with Porter's stems if `stem` is set. If a nugget has several descriptions, the best score counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Matcher, Material
from nuggeteer.records import AnswerKey, Vector
from nuggeteer.settings import Match

CHUNK = 512  # texts that a worker takes at once


class RougeMatcher(Matcher):
    """Scores by rouge-score. Only pairs with a word in common are passed to it."""

    def __init__(self, key: AnswerKey, settings: Match) -> None:
        try:
            tokenizer: Any = import_module("rouge_score.tokenizers").DefaultTokenizer
        except ImportError as error:
            raise NuggeteerError("the matcher rouge needs the package rouge-score: install nuggeteer[rouge]") from error
        self._key, self._kind, self._stem = key, settings.rouge, settings.stem
        self._tokens = tokenizer(settings.stem).tokenize
        self._descriptions = [[self._tokens(d) for d in nugget.descriptions] for nugget in key.nuggets]

    @property
    def signature(self) -> str:
        from importlib.metadata import version

        return f"{self._kind}(stem={'yes' if self._stem else 'no'},rouge-score={version('rouge-score')})"

    @property
    def scores_overlap(self) -> bool:
        return True

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        from joblib import Parallel, delayed

        cuts = range(0, len(texts), CHUNK)
        parts = Parallel(n_jobs=min(jobs, max(len(cuts), 1)))(
            delayed(self._score)(texts[i : i + CHUNK], question[i : i + CHUNK]) for i in cuts
        )
        return np.concatenate([np.zeros(0), *parts])

    def _score(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector:
        scorer = import_module("rouge_score.rouge_scorer").RougeScorer([self._kind], tokenizer=_Ready())
        result = []
        for text, asked in zip(texts, question.tolist(), strict=True):
            tokens = self._tokens(text)
            words = set(tokens)
            for descriptions in self._descriptions[self._key.own(asked)]:
                best = 0.0
                for description in descriptions:
                    common = words.intersection(description)
                    if common:
                        # Other words are in no common sequence; pairs of words need their neighbours.
                        compared = tokens if self._kind == "rouge2" else [word for word in tokens if word in common]
                        best = max(best, scorer.score(description, compared)[self._kind].recall)
                result.append(best)
        return np.array(result, dtype=float)


class _Ready:
    """A tokenizer for texts that are already lists of words."""

    def tokenize(self, words: list[str]) -> list[str]:
        return words


def make(material: Material) -> RougeMatcher:
    return RougeMatcher(material.key, material.settings)
