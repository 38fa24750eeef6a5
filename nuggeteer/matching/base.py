"""The interface of matchers, which give each text a match score for each nugget of its question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.idf import Idf
from nuggeteer.matching.similar_texts import GramReader
from nuggeteer.records import AnswerKey, Bools, Ints, Judgement, Vector
from nuggeteer.settings import Match, Split


class Matcher(ABC):
    """Match scores of texts for every nugget of their question. The same input gives the same scores, to the bit, for
    any number of workers and whatever other texts are in the same call.

    Only `signature` and `score` have to be written. The rest has defaults for a matcher that learns nothing."""

    uses_judgements: bool = False
    """Whether scores depend on the verdicts. If they do, each fold of a cross-validation makes its own matcher."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """The matcher and its settings, for the signature of scores."""

    @abstractmethod
    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        """For each text, a score from 0 to 1 for each nugget of its question, one after the other; NaN if there is
        none.

        `texts` are in the form in which texts are compared (`text.normalised`). `question` has the position in the key
        of the question of each text."""

    def match(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Matches:
        """The scores, with whatever else the default model weighs for each pair."""
        return Matches.of_scores(self.score(texts, question, jobs))

    @property
    def scores_overlap(self) -> bool:
        """Whether a score is the share of a description's words that the text has. Public collections show how such
        scores relate to verdicts. Scores of other kinds may mean anything."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines that are printed with the scores."""
        return ()

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        """Scores of the judged texts, one after the other. A matcher that learns from judgements gives each text the
        score that it would have if nobody had judged the systems of its group. So thresholds learn how reliable its
        scores are on a new system. `judged` is then the data that the matcher was made from."""
        return self.score(judged.texts, judged.question, jobs)

    def match_judged(self, judged: Judged, jobs: int = 1) -> Matches:
        """`score_judged`, with whatever else the default model weighs."""
        return Matches.of_scores(self.score_judged(judged, jobs))

    def explain(self, text: str, nugget: int) -> Explanation | None:
        """Why a text has its score for a nugget. `text` is as it was written, and `nugget` is the position in the key.
        Judged texts are named as in `Material.judged`. None if the matcher has no explanation."""
        return None

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector | None:
        """The log odds that similar judged texts add to the threshold model's belief about each pair, in the order of
        scores. A verdict on the pair itself adds nothing. NaN, or 0, where nobody judged any other text. None if the
        matcher does not use similar texts."""
        return None

    def left_out(self, texts: Sequence[str], question: npt.NDArray[np.int32], group: Sequence[str]) -> Vector | None:
        """The log odds that would be carried over to judged texts if nobody had judged the texts of their group, in the
        order of scores; NaN where they are not known. `texts` are all judged ones of each question. None if the matcher
        knows none."""
        return None

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that say something about some pairs."""
        return ()

    @property
    def digests(self) -> tuple[str, ...]:
        """What identifies the verdicts of each judge."""
        return ()

    def opinions(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Vector | None:
        """What judges say about each pair, in the order of scores: pairs × 2 · judges, whether each said anything and,
        from −1 to 1, how much of a yes it was. None if there are no judges."""
        return None


class Around(Matcher):
    """Passes on to another `matcher`, except for notes and what judges say. Its subclasses change something."""

    matcher: Matcher

    @property
    def signature(self) -> str:
        return self.matcher.signature

    @property
    def scores_overlap(self) -> bool:
        return self.matcher.scores_overlap

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        return self.matcher.score(texts, question, jobs)

    def match(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Matches:
        return self.matcher.match(texts, question, jobs)

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        return self.matcher.score_judged(judged, jobs)

    def match_judged(self, judged: Judged, jobs: int = 1) -> Matches:
        return self.matcher.match_judged(judged, jobs)

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector | None:
        return self.matcher.carried(texts, question)

    def left_out(self, texts: Sequence[str], question: npt.NDArray[np.int32], group: Sequence[str]) -> Vector | None:
        return self.matcher.left_out(texts, question, group)

    def explain(self, text: str, nugget: int) -> Explanation | None:
        return self.matcher.explain(text, nugget)


@dataclass(frozen=True)
class Matches:
    """The match scores of pairs, and pairs × `names` of clues, which the default model weighs."""

    scores: Vector
    names: tuple[str, ...]
    clues: Vector

    @classmethod
    def of_scores(cls, scores: Vector) -> Matches:
        """All clues that the scores of any matcher give: how they rise, and how steeply."""
        return cls(scores, SCORE, np.stack([np.sqrt(scores) - 0.5, scores - 0.3], axis=1, dtype=np.float32))


SCORE = ("root", "score")


class WordEvidence(NamedTuple):
    """Words as they are written in a text or, if they are not `in_text`, in a nugget's description. A `weight` above 0
    is evidence for the nugget, below 0 against it."""

    words: str
    weight: float
    in_text: bool


@dataclass(frozen=True)
class SimilarText:
    """A judged text: whether it carries the nugget, its similarity to the explained text from 0 to 1, and where the
    words are that match the nugget. `differing_words` is how many words would have to be inserted, deleted or replaced
    to make one text the other, if they are nearly the same."""

    text: str
    yes: bool
    similarity: float
    marks: tuple[tuple[int, int], ...] = ()
    differing_words: int | None = None


@dataclass(frozen=True)
class Explanation:
    """The evidence in a text for a nugget and against it, strongest first. `unit` is the unit of the words' weights."""

    unit: str
    words: tuple[WordEvidence, ...]
    similar_texts: tuple[SimilarText, ...] = ()

    @property
    def beyond_marks(self) -> bool:
        """Whether this says more than the n-grams that are marked in the text."""
        return self.unit != SHARE


SHARE, LOG_ODDS = "share of the match score", "log odds"


@dataclass(frozen=True)
class Judged:
    """The human verdicts, in the form in which matchers learn from them: texts (`text.normalised`), the position of
    each text's question in the key, and the index of its group. For each pair of a text and a nugget of its question,
    one after the other: whether it was decided, and whether the verdict was yes."""

    texts: Sequence[str]
    question: npt.NDArray[np.int32]
    group: Ints
    decided: Bools
    yes: Bools


@dataclass(frozen=True)
class MarkedSpan:
    """The words in a judged text that carry a nugget, as an assessor marked them: the nugget's position in the key, and
    the index of the text's group (as in `Judged`)."""

    nugget: int
    group: int
    words: str


@dataclass(frozen=True)
class Material:
    """The data that a matcher is made from: the key, the settings and word weights of the collection, the verdicts, the
    words that assessors marked, machines' verdicts, and how whole answers are cut into responses."""

    key: AnswerKey
    settings: Match
    idf: Idf | None
    verdicts: Callable[[], Judged]  # asked for by matchers that learn, and only when they match something
    marked: tuple[MarkedSpan, ...] = ()
    machine: tuple[Judgement, ...] = ()
    split: Split = "none"

    @cached_property
    def judged(self) -> Judged:
        return self.verdicts()

    @cached_property
    def grams(self) -> GramReader:
        """The grams of texts, by which they are alike."""
        return GramReader(self.idf, self.settings)
