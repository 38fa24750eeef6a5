"""What a matcher is: texts and nuggets in, match scores out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.idf import Idf
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.settings import Match


class Matcher(ABC):
    """Match scores of texts for every nugget of their question. The same input gives the same scores, to the bit, for
    any number of workers and whatever else is asked in the same call.

    Only `signature` and `score` have to be written. The rest has defaults for a matcher that learns nothing."""

    uses_judgements: bool = False
    """Whether scores depend on what was judged. If they do, each fold of a cross-validation makes its own matcher."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """The matcher and its settings, for the signature of scores."""

    @abstractmethod
    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        """For each text one score from 0 to 1 a nugget of its question, laid end to end; NaN where there is none.

        `texts` are in the form in which texts are compared (`text.normalised`), `question` the position in the key of
        each one's question."""

    @property
    def scores_overlap(self) -> bool:
        """Whether a score is the share of a description's words that the text has. Public collections show how such
        scores relate to verdicts; scores of other kinds may mean anything."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines that are printed with the scores."""
        return ()

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        """Scores of the judged texts, laid end to end. A matcher that learns from judgements gives each text the score
        that it would have if nobody had judged the systems of its group, so that thresholds learn what its scores are
        worth on a new system. `judged` is then what it was made from."""
        return self.score(judged.texts, judged.question, jobs)

    def explain(self, text: str, nugget: int) -> Explanation | None:
        """Why a text, as it was written, has its score for a nugget, by position in the key. Judged texts are named as
        they stand in `Material.judged`. None if there is nothing to say."""
        return None

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector | None:
        """The log odds that similar judged texts add to what the threshold model believes of each pair, laid out as
        scores are. None if judged texts say nothing of other texts."""
        return None


@dataclass(frozen=True)
class WordEvidence:
    """Words as they stand in a text or, if they are not `in_text`, in a nugget's description; and what they say of the
    nugget: above 0 for it, below 0 against it."""

    words: str
    weight: float
    in_text: bool


@dataclass(frozen=True)
class SimilarText:
    """A judged text: whether it carries the nugget, how like another text it is, from 0 to 1, and where in it stands
    what speaks for the nugget. `differing_words` is how many words would have to be inserted, deleted or replaced to
    make one text the other, if they are nearly the same."""

    text: str
    yes: bool
    similarity: float
    marks: tuple[tuple[int, int], ...] = ()
    differing_words: int | None = None


@dataclass(frozen=True)
class Explanation:
    """What spoke for a nugget in a text, and what against it; what says most comes first. `unit` is that of the words'
    weights."""

    unit: str
    words: tuple[WordEvidence, ...]
    similar_texts: tuple[SimilarText, ...] = ()

    @property
    def beyond_marks(self) -> bool:
        """Whether this says more than the n-grams that are marked in the text."""
        return self.unit != SHARE


SHARE = "share of the match score"


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
class MarkedSpan:
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
    marked: tuple[MarkedSpan, ...] = ()
