"""The verdicts that hold in a session: those that its state has read, and those that were written or taken back since.

A screen shows the next question at once, and a newer state comes later. What the session does meanwhile is remembered
here until a state has it.
"""

from __future__ import annotations

from functools import cache

from nuggeteer.judging.state import JudgingState, PendingPair
from nuggeteer.records import Judgement, Scope
from nuggeteer.text import verdict_form


class SessionVerdicts:
    """A verdict belongs to a nugget and to the form of a text."""

    def __init__(self, state: JudgingState) -> None:
        self._state = state
        self.revision = 0  # grows with every verdict and retraction
        self._unread: dict[tuple[int, str], bool | None] = {}  # None: taken back
        self._revision_of: dict[tuple[int, str], int] = {}
        self._answers_judged = False  # by this session: a look at whole answers costs time
        self.form = cache(verdict_form)

    def remember(self, judgement: Judgement, verdict: bool | None) -> None:
        """A judgement was written, or taken back (None)."""
        pair = self.pair(judgement)
        self.revision += 1
        self._unread[pair], self._revision_of[pair] = verdict, self.revision
        self._answers_judged = self._answers_judged or (judgement.scope == "answer" and bool(verdict))

    def take_over(self, state: JudgingState, revision: int) -> None:
        """A newer state has all verdicts up to a revision."""
        self._state = state
        for pair in [pair for pair, since in self._revision_of.items() if since <= revision]:
            del self._revision_of[pair], self._unread[pair]

    def pair(self, judgement: Judgement) -> tuple[int, str]:
        """The nugget and the form of the text."""
        nugget = self._state.key.nugget_position[judgement.qid, judgement.nugget]
        return nugget, self._form_of(judgement.text, judgement.scope)

    def is_taken_back(self, judgement: Judgement) -> bool:
        """Whether a judgement that the state has was taken back since."""
        return self._unread.get(self.pair(judgement), True) is None

    def is_yes_still(self, nugget: int, form: str) -> bool:
        """Whether a yes that the state has on such a text holds."""
        return bool(self._unread.get((nugget, form), True))

    def verdict(self, side: int, nugget: int, response: int) -> bool | None:
        """The known verdict on a pair."""
        key = (nugget, self.form(self._state.run(side).texts[response]))
        return self._unread[key] if key in self._unread else self._state.verdict(side, nugget, response)

    def open_responses(self, pair: PendingPair) -> list[int]:
        """The responses of an answer without a known verdict."""
        positions = self._state.responses(pair.side, pair.nugget)
        return [position for position in positions if self.verdict(pair.side, pair.nugget, position) is None]

    def are_enough_for(self, pair: PendingPair) -> bool:
        """Whether nothing is left to ask about a pair or, in an audit, about a nugget of the answer."""
        if pair.audit is None and self.verdict(pair.side, pair.nugget, pair.response) is not None:
            return True
        if self._answers_judged:
            answer = self._state.run(pair.side).answer(int(self._state.key.question[pair.nugget]))
            if self._unread.get((pair.nugget, self._form_of(answer, "answer"))):
                return True
        positions = self._state.responses(pair.side, pair.nugget)
        verdicts = [self.verdict(pair.side, pair.nugget, position) for position in positions]
        return True in verdicts or None not in verdicts

    def _form_of(self, text: str, scope: Scope) -> str:
        """A verdict form has no line feed; one before it says that the text is a whole answer's."""
        return f"\n{self.form(text)}" if scope == "answer" else self.form(text)
