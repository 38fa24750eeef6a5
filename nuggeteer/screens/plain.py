"""The same session line by line, for a pipe, a screen reader or a terminal that cannot do more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.session import Filter, Session
from nuggeteer.judging.state import JudgingState
from nuggeteer.records import Importance
from nuggeteer.screens.page import audit_headline, forecast_line, headline, lay_out
from nuggeteer.text import escaped

WIDTH = 78
PROMPT = "y n N s u r p f g + - ? q > "
HELP = """\
y yes; n no; N no to all of this answer that is not judged; s skip, it comes back last; u take back the last verdict
y WORDS    yes, and these words of the response carry it
r TEXT     a reason, which goes with the next verdict
p v TEXT   propose a vital nugget that is in the response and not in the key; p o TEXT an okay one
f QID, f QID/NUGGET, f   only these; all
g          show the tool's guess: it biases, and the verdict will say that it was shown
+ -        the next response of the answer, the one before
q          leave; every verdict is on disk already
"""


class PlainScreen:
    """Asks on `out`, and reads a line at a time."""

    def __init__(self, session: Session, source: TextIO, out: TextIO, width: float | None = None) -> None:
        self.session, self.source, self.out, self.width = session, source, out, width
        self._commands: dict[str, Callable[[str], str]] = {
            "y": self._yes,
            "n": lambda rest: self._judge(False),
            "N": lambda rest: self._judge(False, whole=True),
            "s": self._skip,
            "u": self._undo,
            "b": self._undo,
            "r": self._reason,
            "p": self._propose,
            "f": self._filter,
            "g": self._guess,
            "+": lambda rest: self._turn(1),
            "-": lambda rest: self._turn(-1),
            "?": lambda rest: HELP.rstrip("\n"),
        }

    def run(self) -> None:
        """Ask until the assessor leaves or there is no more to read."""
        self._stand()
        self._show()
        while True:
            self.out.write(PROMPT)
            self.out.flush()
            line = self.source.readline()
            if not line:
                self.out.write("\n")
                return
            word, _, rest = line.strip().partition(" ")
            if word == "q":
                return
            if not word:
                continue
            if word not in self._commands:
                self._tell(f"{word!r} is no command; ? lists them")
                continue
            before = (self.session.pending, self.session.response, self.session.reason, self.session.shown)
            try:
                said = self._commands[word](rest.strip())
            except (NuggeteerError, OSError) as error:
                self._tell(f"not done: {error}")
                continue
            for part in said.split("\n"):
                self._tell(part)
            if word in "ynNub":
                self._look()
            if before != (self.session.pending, self.session.response, self.session.reason, self.session.shown):
                self._show()

    def _tell(self, text: str) -> None:
        self.out.write(escaped(text) + "\n")

    def _stand(self) -> None:
        state = self.session.state
        if self.session.audit is None:
            self._tell(headline(state.title, state.measure.title, state.interval, len(state.matched_runs) > 1))
            self._tell(f"{self.session.judged} judged; {forecast_line(state.forecast, self.width)}")
        else:
            self._tell(audit_headline(state.title, state.measure.title))
            self._tell(f"audit: {self.session.left()} of {len(self.session.audit)} left")

    def _show(self) -> None:
        card = self.session.card()
        if card is None:
            only = "" if str(self.session.filter) == "all" else f" in {self.session.filter} (f: all)"
            self._tell(f"Nothing left to ask{only}; u takes the last verdict back, q leaves")
            return
        drawn = lay_out(card, WIDTH, plain=True)
        self.out.write("\n")
        for line in [*drawn.asked, None, *drawn.answer]:
            self.out.write((line.plain.rstrip() if line else "") + "\n")
        self.out.write("\n")

    def _look(self) -> None:
        try:
            said = self.session.revision
            self.session.refresh(JudgingState(self.session.state.subject, self.session.state), said)
        except (NuggeteerError, OSError) as error:
            self._tell(f"the score stays as it was: {error}")
        self._stand()

    def _yes(self, rest: str) -> str:
        if not rest:
            return self._judge(True)
        card = self.session.card()
        if card is None:
            raise NuggeteerError("there is nothing left to judge")
        start = card.response.text.find(rest)
        if start < 0:
            raise NuggeteerError("these words do not stand in the response like that; copy them, or give y alone")
        return self._judge(True, span=(start, start + len(rest)))

    def _judge(self, verdict: bool, whole: bool = False, span: tuple[int, int] | None = None) -> str:
        written = self.session.judge(verdict, whole, span)
        one = written[0]
        many = f" to {len(written)} responses" if whole else ""
        return f"{'yes' if verdict else 'no'}{many}: {one.qid}/{one.nugget}, written"

    def _skip(self, rest: str) -> str:
        self.session.skip()
        return "skipped"

    def _undo(self, rest: str) -> str:
        back = self.session.undo()
        if not back:
            return "nothing of yours to take back here"
        return f"taken back: {'yes' if back[0].verdict else 'no'} on {back[0].qid}/{back[0].nugget}"

    def _reason(self, rest: str) -> str:
        self.session.reason = rest or None
        return "the reason goes with your next verdict" if rest else "no reason"

    def _propose(self, rest: str) -> str:
        grades: dict[str, Importance] = {"v": "vital", "o": "okay"}
        grade, _, text = rest.partition(" ")
        if grade not in grades:
            raise NuggeteerError("write p v TEXT for a vital fact, p o TEXT for an okay one")
        self.session.propose(text, grades[grade])
        return "proposed, in proposals.jsonl"

    def _filter(self, rest: str) -> str:
        qid, _, nugget = rest.partition("/")
        self.session.narrow(Filter(qid or None, nugget or None))
        return f"asking about {self.session.filter}"

    def _guess(self, rest: str) -> str:
        self.session.show_guess()
        return "the guess is shown, and the verdict will say so"

    def _turn(self, by: int) -> str:
        return "" if self.session.move(by) else "there is no other response that way"
