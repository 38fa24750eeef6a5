"""A question as the assessor sees it: the nugget, and the whole answer with the response that is asked about."""

from __future__ import annotations

from dataclasses import dataclass

from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Span
from nuggeteer.records import Nugget, Question


@dataclass(frozen=True)
class ShownResponse:
    """A response as the assessor sees it. The words that support the nugget are marked, except in an audit, because
    marks hint at the guess. `verdict` is the known one."""

    response: int
    text: str
    docid: str | None
    rank: int
    marks: tuple[Span, ...]
    verdict: bool | None


@dataclass(frozen=True)
class Card:
    """A question with everything needed to answer it. `focus` is the index in `answer` of the response asked about.
    `guess` and `explanation` are None while the guess is hidden."""

    question: Question
    nugget: Nugget
    run: str
    answer: tuple[ShownResponse, ...]
    focus: int
    examples: tuple[tuple[str, tuple[Span, ...]], ...]
    blind: bool
    guess: tuple[float | None, float] | None
    explanation: Explanation | None
    reason: str | None

    @property
    def response(self) -> ShownResponse:
        return self.answer[self.focus]
