"""The verdicts that hold in a session: those that its state has read, and those that were written or taken back since.

A screen shows the next question at once, and a newer state comes later. What the session does meanwhile is remembered
here until a state has it.
"""

from __future__ import annotations

from functools import cache

from nuggeteer.judging.state import AnswerCard, JudgingState
from nuggeteer.records import Judgement, Scope
from nuggeteer.text import verdict_form


class SessionVerdicts:
    """A verdict belongs to a nugget and to the form of a text, a response's or a whole answer's."""

    def __init__(self, state: JudgingState) -> None:
        self._state = state
        self.revision = 0  # grows with every verdict and retraction
        # For each nugget with a verdict: by form, the verdict (None if it was taken back) and its revision.
        self._unread: dict[int, dict[str, tuple[bool | None, int]]] = {}
        self.form = cache(verdict_form)

    def remember(self, judgement: Judgement, verdict: bool | None) -> None:
        """A judgement was written, or taken back (None)."""
        nugget, form = self.pair(judgement)
        self.revision += 1
        self._unread.setdefault(nugget, {})[form] = verdict, self.revision

    def take_over(self, state: JudgingState, revision: int) -> None:
        """A newer state has all verdicts up to a revision."""
        self._state = state
        for nugget, own in list(self._unread.items()):
            self._unread[nugget] = {form: said for form, said in own.items() if said[1] > revision}
            if not self._unread[nugget]:
                del self._unread[nugget]

    def pair(self, judgement: Judgement) -> tuple[int, str]:
        """The nugget and the form of the text."""
        nugget = self._state.key.nugget_position[judgement.qid, judgement.nugget]
        return nugget, self._form_of(judgement.text, judgement.scope)

    def is_taken_back(self, judgement: Judgement) -> bool:
        """Whether a judgement that the state has was taken back since."""
        nugget, form = self.pair(judgement)
        return self._unread.get(nugget, {}).get(form, (True, 0))[0] is None

    def is_yes_still(self, nugget: int, form: str) -> bool:
        """Whether a yes that the state has on such a text holds."""
        return bool(self._unread.get(nugget, {}).get(form, (True, 0))[0])

    def on_response(self, side: int, nugget: int, response: int) -> bool | None:
        """The known verdict on a response."""
        known, own = self._state.verdict_on(side, nugget, response), self._unread.get(nugget)
        return own.get(self.form(self._state.run(side).texts[response]), (known, 0))[0] if own else known

    def on_answer(self, side: int, nugget: int) -> bool | None:
        """Whether an answer is known to have a nugget. After a verdict was taken back, that is open."""
        known, own = self._state.verdict(side, nugget), self._unread.get(nugget)
        if not own:
            return known
        question = int(self._state.key.question[nugget])
        run, responses = self._state.run(side), self._state.responses(side, question)
        forms = [self.form(run.texts[response]) for response in responses]
        whole = self._form_of(run.answer(question), "answer")
        said = {own[form][0] for form in (whole, *forms) if form in own}
        if True in said:
            return True
        if whole in own:
            return own[whole][0]
        if None in said:
            return None
        # What is left is a no on some of the responses.
        on_each = {self.on_response(side, nugget, response) for response in responses}
        return False if known is None and on_each == {False} else known

    def is_open(self, card: AnswerCard, nugget: int) -> bool:
        """Whether something is left to ask about a nugget of a card."""
        if self.on_answer(card.side, nugget) is not None:
            return False
        return card.response is None or self.on_response(card.side, nugget, card.response) is None

    def _form_of(self, text: str, scope: Scope) -> str:
        """A verdict form has no line feed; one before it says that the text is a whole answer's."""
        return f"\n{self.form(text)}" if scope == "answer" else self.form(text)
