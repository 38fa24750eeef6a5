"""A classifier of the user's own as a matcher: anything that scikit-learn would call one, with `fit` and
`predict_proba`, over what the default matcher sees of each pair.

It learns from the collection's own verdicts. A judged text gets the probability that it would have if nobody had judged
the systems of its group, by a copy that was fitted to the others. So the threshold model learns what the probabilities
are worth on a new system. If only one system was judged, its texts take turns, a fifth at a time. Until there are both
a yes and a no, a pair has the default's score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Explanation, Judged, Matcher, Matches, Material
from nuggeteer.matching.clues import CLUES
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.records import Bools, Ints, Vector, ragged
from nuggeteer.thresholds.model import size_of

FEATURES: Final = (*CLUES, "size", "carried")
VERSION = 1  # of the features
FOLDS = 5
DIGITS = 6  # of probabilities: the last bits may depend on what else is asked at once
_address = re.compile(r" at 0x[0-9a-f]+")


class EstimatorMatcher(Matcher):
    """The probability of a yes by a classifier, as a match score."""

    uses_judgements = True

    def __init__(self, name: str, estimator: Any, material: Material) -> None:
        self.name, self._material, self._counts = name, material, material.key.counts
        self._words = LearnedMatcher(material)
        self._estimator = _same_every_time(estimator)

    @property
    def signature(self) -> str:
        digest = blake2b(_described(self._estimator).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        return f"{self.name}[{type(self._estimator).__name__},{digest},features={VERSION}]"

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self._can_learn else (f"{self.name} has no yes and no to learn from, so words alone decide.",)

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        words = self._words.match(texts, question, jobs)
        if not self._can_learn or not len(words.scores):
            return words.scores
        carried = self._words.carried(texts, question)
        return self._predicted(self._fitted, self._features(words, texts, question, carried))

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        if not self._can_learn:
            return self._words.match_judged(judged, jobs).scores
        features, fold = self._of_judged
        decided = judged.decided
        result = np.full(len(decided), np.nan)  # of a fold that, left out, leaves nothing to learn from
        for number in np.unique(fold).tolist():
            others = decided & (fold != number)
            if _both(judged.yes[others]):
                own = fold == number
                result[own] = self._predicted(self._fit(features[others], judged.yes[others]), features[own])
        return result

    def explain(self, text: str, nugget: int) -> Explanation | None:
        """What the words and similar judged texts say, which is what the classifier sees."""
        return self._words.explain(text, nugget)

    @property
    def _judged(self) -> Judged:
        return self._material.judged

    @cached_property
    def _can_learn(self) -> bool:
        return _both(self._judged.yes[self._judged.decided])

    @cached_property
    def _of_judged(self) -> tuple[Vector, Ints]:
        """The features of all pairs of judged texts, each as it would be without its fold, and the fold of each
        pair."""
        judged = self._judged
        fold = judged.group
        if len(np.unique(fold)) < 2:
            fold = np.array([crc32(text.encode("utf-8", "surrogatepass")) % FOLDS for text in judged.texts])
        words = self._words.match_judged(judged)
        carried = self._words.left_out(judged.texts, judged.question, [str(number) for number in fold.tolist()])
        features = self._features(words, judged.texts, judged.question, np.nan_to_num(carried))
        return features, np.repeat(fold, self._counts[judged.question])

    @cached_property
    def _fitted(self) -> Any:
        decided = self._judged.decided
        return self._fit(self._of_judged[0][decided], self._judged.yes[decided])

    def _features(
        self, words: Matches, texts: Sequence[str], question: npt.NDArray[np.int32], carried: Vector
    ) -> Vector:
        """pairs × FEATURES."""
        characters = np.array([len(text) - text.count(" ") for text in texts], dtype=np.int64)
        text = np.repeat(np.arange(len(texts)), np.diff(ragged(question, self._counts[question])[0]))
        return np.column_stack([words.clues, size_of(characters)[text], carried]).astype(float)

    def _fit(self, features: Vector, yes: Bools) -> Any:
        from sklearn.base import clone

        try:
            return clone(self._estimator).fit(features, yes)
        except Exception as error:  # the code of another package may raise anything
            raise NuggeteerError(f"the classifier {self.name!r} cannot be fitted: {error!r}") from error

    def _predicted(self, fitted: Any, features: Vector) -> Vector:
        try:
            chances = np.asarray(fitted.predict_proba(features), dtype=float)
            found = chances[:, list(fitted.classes_).index(True)]
        except Exception as error:
            raise NuggeteerError(f"the classifier {self.name!r} cannot predict: {error!r}") from error
        if found.shape != (len(features),) or not ((found >= 0) & (found <= 1)).all():
            raise NuggeteerError(f"the classifier {self.name!r} gave probabilities that are not numbers from 0 to 1")
        return np.round(found, DIGITS)


def _both(yes: Bools) -> bool:
    return bool(yes.any() and not yes.all())


def _same_every_time(estimator: Any) -> Any:
    """A copy whose random numbers are the same again, unless its maker chose them."""
    from sklearn.base import clone

    try:
        copy = clone(estimator)
        seeds = [name for name, value in copy.get_params().items() if name.endswith("random_state") and value is None]
        return copy.set_params(**dict.fromkeys(seeds, 0))
    except (TypeError, AttributeError) as error:
        what = f"{type(estimator).__name__} has fit and predict_proba, but scikit-learn cannot copy it: {error}"
        raise NuggeteerError(f"{what}; derive it from sklearn.base.BaseEstimator") from error


def _described(estimator: Any) -> str:
    """Its class and all that it was made with, also inside."""
    params = estimator.get_params()
    own = [f"{name}={_described(v) if hasattr(v, 'get_params') else v!r}" for name, v in sorted(params.items())]
    return _address.sub("", f"{type(estimator).__module__}.{type(estimator).__qualname__}({','.join(own)})")
