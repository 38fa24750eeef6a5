"""The matcher that the settings name: one of ours, or one that another package brings.

A package brings a matcher by an entry point of the group `nuggeteer.matchers`, whose object makes a `Matcher`
from `Material`. What it returns is checked, for nobody here has seen its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import Explains, Explanation, Learner, Matcher, Material, notes_of
from nuggeteer.matching.marked import MarkedWords
from nuggeteer.records import Vector
from nuggeteer.settings import MATCHERS, installed_matchers


def make(material: Material) -> Matcher:
    """The matcher that the settings name; with marked words among the descriptions, if they say so."""
    if material.settings.marked and material.marked:
        return MarkedWords(material, _make)
    return _make(material)


def _make(material: Material) -> Matcher:
    name = material.settings.matcher
    if name in MATCHERS:
        matcher: Matcher = import_module(f"nuggeteer.matching.{name}").make(material)
        return matcher
    installed = installed_matchers()
    if name not in installed:
        known = ", ".join((*MATCHERS, *installed))
        raise NuggeteerError(f"there is no matcher {name!r}; there are {known}, and those of packages that you install")
    try:
        theirs = installed[name].load()(material)
    except Exception as error:  # whatever it is, it is not ours
        raise NuggeteerError(f"the matcher {name!r} ({installed[name].value}) cannot be made: {error!r}") from error
    return CheckedLearner(name, theirs, material) if isinstance(theirs, Learner) else Checked(name, theirs, material)


class Checked:
    """A matcher of another package, whose scores are looked at before they are used."""

    def __init__(self, name: str, theirs: Matcher, material: Material) -> None:
        self.name, self._counts, self._judged = name, material.key.counts, material.judged
        self._theirs, self.notes = theirs, notes_of(theirs)

    @property
    def signature(self) -> str:
        return f"{self.name}[{self._theirs.signature}]"

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        return self._look(self._theirs.score(texts, question, jobs), question)

    def explain(self, text: str, nugget: int) -> Explanation | None:
        found = self._theirs.explain(text, nugget) if isinstance(self._theirs, Explains) else None
        if found is not None and not isinstance(found, Explanation):
            raise NuggeteerError(f"the matcher {self.name!r} explains by {type(found)!r}, not by an Explanation")
        return found

    def _look(self, scores: Vector, question: npt.NDArray[np.int32]) -> Vector:
        scores, wanted = np.asarray(scores, dtype=float), int(self._counts[question].sum())
        if scores.shape != (wanted,):
            raise NuggeteerError(
                f"the matcher {self.name!r} gave scores of the shape {scores.shape}, not one for each of {wanted} pairs"
            )
        if (~np.isnan(scores) & ~((scores >= 0) & (scores <= 1))).any():
            raise NuggeteerError(f"the matcher {self.name!r} gave scores that are not numbers from 0 to 1")
        return scores


class CheckedLearner(Checked):
    """The same of a matcher that learns."""

    _theirs: Learner

    def score_judged(self, jobs: int = 1) -> Vector:
        return self._look(self._theirs.score_judged(jobs), self._judged.question)
