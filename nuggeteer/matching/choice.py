"""The matcher that the settings name: a built-in one, or one from another package.

A package provides a matcher by an entry point of the group `nuggeteer.matchers`, or is named as `package.module:make`,
which runs only if the user's environment variable NUGGETEER_MATCHERS or their command line names it too. The object
there makes a `Matcher` from `Material`, or a classifier (`estimator`). The scores of such a matcher are checked,
because its code is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.matching.base import Explanation, Judged, Matcher, Material
from nuggeteer.records import Vector
from nuggeteer.settings import ALLOWED_MATCHERS, MATCHERS, installed_matchers, users_own


def make(material: Material) -> Matcher:
    """The matcher that the settings name. If the settings ask for it, marked words and judged responses are further
    descriptions, and judges' verdicts are evidence."""
    matcher = _described(material)
    if not material.settings.judges:
        return matcher
    from nuggeteer.matching.panel import with_judges

    return with_judges(matcher, material)


def _described(material: Material) -> Matcher:
    settings = material.settings
    if (settings.marked and material.marked) or settings.described == "responses":
        from nuggeteer.matching.marked import MarkedWords, carriers

        more = material.marked if settings.marked else ()
        more += carriers(material) if settings.described == "responses" else ()
        if more:
            return MarkedWords(material, _make, more)
    return _make(material)


def _make(material: Material) -> Matcher:
    name = material.settings.matcher
    if name == "ngram" and material.settings.informative == "responses":
        from nuggeteer.matching.marked import ResponseNgrams

        return ResponseNgrams(material)
    if name in MATCHERS:
        matcher: Matcher = import_module(f"nuggeteer.matching.{name}").make(material)
        return matcher
    installed = installed_matchers()
    if name not in installed and ":" not in name:
        known = (*MATCHERS, *installed)
        listed = f"there are {', '.join(known)}, and those of packages that you install"
        raise NuggeteerError(f"there is no matcher {name!r}; {did_you_mean(name, known)}{listed}")
    where = f"{name!r} ({installed[name].value})" if name in installed else repr(name)
    try:
        theirs = _maker(name, installed)(material)
    except NuggeteerError:
        raise
    except Exception as error:  # the code of another package may raise anything
        raise NuggeteerError(f"the matcher {where} cannot be made: {error!r}") from error
    if hasattr(theirs, "fit") and hasattr(theirs, "predict_proba"):  # a classifier
        from nuggeteer.matching.estimator import EstimatorMatcher

        return EstimatorMatcher(name, theirs, material)
    if missing := [part for part in ("signature", "score") if not hasattr(theirs, part)]:
        has = f"{type(theirs).__name__}, which has no {', '.join(missing)}"
        raise NuggeteerError(f"the matcher {where} is a {has} (docs/guides/matchers.md)")
    return Checked(name, theirs, material)


def _maker(name: str, installed: Mapping[str, EntryPoint]) -> Any:
    if name in installed:
        return installed[name].load()
    return users_own("matcher", name, ALLOWED_MATCHERS, "--matcher")


class Checked(Matcher):
    """A matcher of another package, whose scores are checked before they are used.

    It may be any object with `signature` and `score`, and may also have `notes`, `explain(text, nugget)`,
    `carried(texts, question)` and `score_judged(jobs)` (docs/guides/matchers.md); or a subclass of `Matcher`. Its
    scores are not taken to be overlaps, even if its class is derived from one of the built-in matchers."""

    def __init__(self, name: str, theirs: Any, material: Material) -> None:
        self.name, self._theirs, self._counts = name, theirs, material.key.counts
        learns = hasattr(theirs, "score_judged") or hasattr(theirs, "carried")
        self.uses_judgements = getattr(theirs, "uses_judgements", learns)
        self._notes = tuple(map(str, getattr(theirs, "notes", ())))

    @property
    def signature(self) -> str:
        return f"{self.name}[{self._theirs.signature}]"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        return self._checked(self._theirs.score(texts, question, jobs), question)

    def explain(self, text: str, nugget: int) -> Explanation | None:
        found = self._theirs.explain(text, nugget) if hasattr(self._theirs, "explain") else None
        if found is not None and not isinstance(found, Explanation):
            raise NuggeteerError(f"the matcher {self.name!r} explains by {type(found)!r}, not by an Explanation")
        return found

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        if not hasattr(self._theirs, "score_judged"):
            return self.score(judged.texts, judged.question, jobs)
        # A plain object knows the judged texts from its material.
        arguments = (judged, jobs) if isinstance(self._theirs, Matcher) else (jobs,)
        return self._checked(self._theirs.score_judged(*arguments), judged.question)

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector | None:
        found = self._theirs.carried(texts, question) if hasattr(self._theirs, "carried") else None
        if found is None:
            return None
        added = self._one_for_each_pair(found, question)
        if not np.isfinite(added).all():
            raise NuggeteerError(f"the matcher {self.name!r} carries over log odds that are not finite numbers")
        return added

    def left_out(self, texts: Sequence[str], question: npt.NDArray[np.int32], group: Sequence[str]) -> Vector | None:
        found = self._theirs.left_out(texts, question, group) if isinstance(self._theirs, Matcher) else None
        return None if found is None else self._one_for_each_pair(found, question)

    def _checked(self, scores: Vector, question: npt.NDArray[np.int32]) -> Vector:
        scores = self._one_for_each_pair(scores, question)
        if (~np.isnan(scores) & ~((scores >= 0) & (scores <= 1))).any():
            raise NuggeteerError(f"the matcher {self.name!r} gave scores that are not numbers from 0 to 1")
        return scores

    def _one_for_each_pair(self, values: Vector, question: npt.NDArray[np.int32]) -> Vector:
        values, wanted = np.asarray(values, dtype=float), int(self._counts[question].sum())
        if values.shape != (wanted,):
            raise NuggeteerError(
                f"the matcher {self.name!r} gave values of the shape {values.shape}, not one for each of {wanted} pairs"
            )
        return values
