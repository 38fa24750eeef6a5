"""A card as the assessor sees it: an answer with the nuggets that it may have."""

from __future__ import annotations

from dataclasses import dataclass

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.judging.state import JudgingState
from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Span
from nuggeteer.records import Nugget, Question


@dataclass(frozen=True)
class ShownResponse:
    """A response as the assessor sees it. The words that support the nugget in view are marked, except in an audit,
    because marks hint at the guess. `verdict` is the known one on that nugget."""

    response: int
    text: str
    docid: str | None
    rank: int
    marks: tuple[Span, ...]
    verdict: bool | None


@dataclass(frozen=True)
class ShownNugget:
    """A nugget as the assessor sees it: what is known about it in this answer (`yes`, `no`, `contradicts`; None if
    nothing), and whether it was `asked` on this card or was known before."""

    nugget: Nugget
    word: str | None
    asked: bool


@dataclass(frozen=True)
class Card:
    """What is asked, with everything needed to answer it. The nugget `in_view` of the `nuggets` is judged next. The
    response `marked` of the `answer` has it; None if none is marked. `examples` are texts judged yes for it. `guess`
    and `explanation` are None while the guess is hidden."""

    question: Question
    run: str  # its title
    answer: tuple[ShownResponse, ...]
    nuggets: tuple[ShownNugget, ...]
    in_view: int
    marked: int | None
    examples: tuple[tuple[str, tuple[Span, ...]], ...]
    blind: bool
    guess: tuple[float | None, float | None] | None
    explanation: Explanation | None
    reason: str | None

    @property
    def nugget(self) -> Nugget:
        return self.nuggets[self.in_view].nugget

    @property
    def left(self) -> int:
        """How many nuggets are open."""
        return sum(shown.word is None for shown in self.nuggets)


@dataclass(frozen=True)
class Filter:
    """The questions and nuggets to ask about."""

    qid: str | None = None
    nugget: str | None = None

    @classmethod
    def parse(cls, text: str) -> Filter:
        """The filter that an assessor types: QID, QID/NUGGET, or nothing for all."""
        qid, _, nugget = text.strip().partition("/")
        return cls(qid or None, nugget or None)

    def __call__(self, nugget: Nugget) -> bool:
        return self.qid in (None, nugget.qid) and self.nugget in (None, nugget.nugget)

    def __str__(self) -> str:
        return "/".join(part for part in (self.qid or "*", self.nugget) if part) if self.qid or self.nugget else "all"


def check_filter(state: JudgingState, only: Filter) -> None:
    """Raises if the filter lets nothing through."""
    if not any(map(only, state.key.nuggets)):
        questions = {question.qid for question in state.key.questions}
        if only.qid is not None and only.qid not in questions:
            raise NuggeteerError(f"{only.qid}: no such question; {did_you_mean(only.qid, questions)}".rstrip("; "))
        raise NuggeteerError(f"{only}: no such nugget")
