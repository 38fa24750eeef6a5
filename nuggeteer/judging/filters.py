"""Which questions and nuggets to ask about."""

from __future__ import annotations

from dataclasses import dataclass

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.judging.state import JudgingState
from nuggeteer.records import Nugget


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
    """Raises if there is nothing that the filter lets through."""
    if not any(map(only, state.key.nuggets)):
        questions = {question.qid for question in state.key.questions}
        if only.qid is not None and only.qid not in questions:
            raise NuggeteerError(f"{only.qid}: no such question; {did_you_mean(only.qid, questions)}".rstrip("; "))
        raise NuggeteerError(f"{only}: no such nugget")
