"""What a matcher is: texts and nuggets in, match scores out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.idf import Idf
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.settings import Match


class Matcher(Protocol):
    """Match scores of texts for every nugget of their question. The same input gives the same scores, to the bit, for
    any number of workers and whatever else is asked in the same call."""

    @property
    def signature(self) -> str:
        """The matcher and its settings, for the signature of scores."""
        ...

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        """For each text one score from 0 to 1 a nugget of its question, laid end to end; NaN where there is none.

        `texts` are in the form in which texts are compared (`text.normalised`), `question` the position in the key of
        each one's question."""
        ...


def notes_of(matcher: Matcher) -> tuple[str, ...]:
    """What a matcher has to tell the readers of its scores: lines in its attribute `notes`, if it has one."""
    return tuple(map(str, getattr(matcher, "notes", ())))


@runtime_checkable
class Learner(Protocol):
    """A matcher that learns from judged texts. It scores those as if nobody had judged the systems that they are from,
    so that thresholds learn what its scores are worth on a new system."""

    @property
    def signature(self) -> str: ...

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector: ...

    def score_judged(self, jobs: int = 1) -> Vector:
        """Scores of the texts of `Material.judged`, laid end to end, each by what was learned without its group."""
        ...


@runtime_checkable
class Keeper(Protocol):
    """A matcher that takes a while to learn: what it learned is kept as numbers, and restored while nothing changes."""

    def state(self) -> Vector: ...

    def restore(self, state: Vector) -> None:
        """Raises ValueError if this cannot be its state."""
        ...


@runtime_checkable
class Undecided(Protocol):
    """A matcher that is to be the best of some: by the log score that each reached on systems left out."""

    @property
    def open(self) -> bool: ...

    @property
    def candidates(self) -> Sequence[Matcher]: ...

    @property
    def signature(self) -> str: ...

    def decide(self, log_scores: Sequence[float]) -> None: ...


@dataclass(frozen=True)
class Said:
    """Words as they stand in a text or, if they are not `there`, in a nugget's description; and what they say of the
    nugget: above 0 for it, below 0 against it."""

    words: str
    weight: float
    there: bool


@dataclass(frozen=True)
class Alike:
    """A judged text: whether it carries the nugget, how like another text it is, from 0 to 1, and where in it stands
    what speaks for the nugget."""

    text: str
    yes: bool
    likeness: float
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """What spoke for a nugget in a text, and what against it; what says most comes first. `unit` is that of the words'
    weights."""

    unit: str
    said: tuple[Said, ...]
    alike: tuple[Alike, ...] = ()

    @property
    def beyond_marks(self) -> bool:
        """Whether this says more than the n-grams that are marked in the text."""
        return self.unit != SHARE


SHARE = "share of the match score"


@runtime_checkable
class Explains(Protocol):
    """A matcher that can say how it comes to a score."""

    def explain(self, text: str, nugget: int) -> Explanation | None:
        """Of a text as it was written and a nugget, by its position in the key. Judged texts are named as they stand
        in `Material.judged`. None where there is nothing to say."""
        ...


@dataclass(frozen=True)
class Judged:
    """What humans said, as matchers learn from it: texts (`text.normalised`), their questions' positions in the key,
    the number of the group whose systems they are from; and for each pair of a text and a nugget of its question, laid
    end to end, whether it was decided, and how."""

    texts: Sequence[str]
    question: npt.NDArray[np.int32]
    group: Ints
    decided: Bools
    yes: Bools


@dataclass(frozen=True)
class Words:
    """The words in a judged text that carry a nugget, as an assessor marked them: the nugget's position in the key, the
    number of the group (as in `Judged`) whose text it was."""

    nugget: int
    group: int
    words: str


@dataclass(frozen=True)
class Material:
    """All that a matcher is made from: the key, the settings and word weights of the collection, what was judged, and
    which words were marked."""

    key: AnswerKey
    settings: Match
    idf: Idf | None
    judged: Judged
    marked: tuple[Words, ...] = ()
