"""The better of two matchers, `ngram` and `learned`: the one whose guesses of systems left out were nearer to what
humans said."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Explanation, Judged, Matcher, Material
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.records import Vector

NAMES = ("ngram", "learned")


class AutoMatcher(Matcher):
    """Holds both until it knows how good each is; n-grams alone where nothing can be learned."""

    uses_judgements = True

    def __init__(self, material: Material) -> None:
        self._learned = LearnedMatcher(material)
        self.candidates: tuple[NgramMatcher, LearnedMatcher] = (self._learned.ngrams, self._learned)
        self._log_scores = np.zeros(0)
        self._chosen: NgramMatcher | LearnedMatcher | None = None if self._learned.learns else self._learned.ngrams

    def choose(self, log_score: Callable[[Matcher], float]) -> None:
        if self._chosen is None:
            self._take_best([log_score(candidate) for candidate in self.candidates])

    def _take_best(self, log_scores: Sequence[float]) -> None:
        self._log_scores = np.array(log_scores)
        self._chosen = self.candidates[int(self._log_scores.argmax())]  # of equals the simpler

    @property
    def _taken(self) -> NgramMatcher | LearnedMatcher:
        if self._chosen is None:
            raise NuggeteerError('matcher = "auto" needs thresholds that learn; write [threshold] model = "smooth"')
        return self._chosen

    @property
    def signature(self) -> str:
        return f"auto[{self._learned.signature}]" if self._learned.learns else self._learned.signature

    @property
    def scores_overlap(self) -> bool:
        return not self._learned.learns

    @property
    def notes(self) -> tuple[str, ...]:
        if not self._learned.learns:
            return tuple(note.replace("`learned`", "`auto`") for note in self._learned.notes)
        if self._chosen is None:
            return ()
        which = NAMES[self.candidates.index(self._chosen)]
        told = ", ".join(f"{name} {score:.4f}" for name, score in zip(NAMES, self._log_scores, strict=True))
        return (f"The matcher `auto` took `{which}`: log scores on systems left out are {told}.",)

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        return self._taken.score(texts, question, jobs)

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        return self._taken.score_judged(judged, jobs)

    def explain(self, text: str, nugget: int) -> Explanation:
        return self._taken.explain(text, nugget)

    def state(self) -> Vector:
        """The log scores, and what `learned` learned if it was taken."""
        return np.concatenate([self._log_scores, self._learned.state() if self._taken is self._learned else []])

    def restore(self, state: Vector) -> None:
        scores, rest = state[: len(NAMES)], state[len(NAMES) :]
        if len(scores) != (len(NAMES) if self._learned.learns else 0) or np.isnan(scores).any():
            raise ValueError("the state of another matcher")
        if len(scores) and self.candidates[int(scores.argmax())] is self._learned:
            self._learned.restore(rest)
        elif len(rest):
            raise ValueError("the state of another matcher")
        if len(scores):
            self._take_best(scores.tolist())


def make(material: Material) -> AutoMatcher:
    return AutoMatcher(material)
