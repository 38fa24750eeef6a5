"""The same session line by line, for a pipe, a screen reader or a simple terminal.

Nobody waits for a score. For a person, a thread computes it, at first and after a verdict: the next status line has it,
and the next question comes from it. A script gets a fixed order, that of the first state, because a file of answers
must fit the questions however fast the machine is. It gets no scores, except of the first state if it names a width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.filters import Filter
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import Session
from nuggeteer.records import Importance
from nuggeteer.screens.layout import audit_headline, lay_out, status
from nuggeteer.text import escaped

WIDTH = 78
PROMPT = "y n c N w s u r p f g + - ? q > "
HELP = """\
y yes; n no; c no, for the response contradicts the nugget: it says the opposite
N no to all responses of this answer that are not judged yet; s skip, it comes back last
w          yes to the whole answer, wherever in it the nugget is
u          take back the last verdict
y WORDS    yes, and these words of the response carry the nugget
r TEXT     a reason, which is recorded with the next verdict
p v TEXT   propose a vital nugget that is in the response but not in the key; p o TEXT an okay one
f QID, f QID/NUGGET, f   ask only about these; ask about all
g          show the guess of the tool. It biases, and the verdict will record that it was shown
+ -        the next response of the answer, the previous one
Enter      the score, once it is there
q          quit; every verdict is already on disk
"""


class PlainScreen:
    """Asks on `out`, and reads the answers line by line from `source`.

    `failed` counts the verdicts and proposals that were not written, and the lines that are no command, for scripts."""

    def __init__(self, session: Session, source: TextIO, out: TextIO, width: float | None = None) -> None:
        self.session, self.source, self.out, self.width = session, source, out, width
        self.failed = 0
        self._interactive = source.isatty()
        self._newer: Refresh | None = None
        self._commands: dict[str, Callable[[str], str]] = {
            "y": self._yes,
            "n": lambda rest: self._judge(False),
            "c": lambda rest: self._judge(False, contradicts=True),
            "N": lambda rest: self._judge(False, whole=True),
            "w": self._judge_answer,
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
        """Ask until the assessor quits or the input ends."""
        if self.width is not None and not self._interactive:
            self.session.state.score()
        self._write_status()
        self._show()
        if self._interactive and not self.session.blind:
            self._newer = Refresh(self.session, anew=False)
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
                self._tell_score()
                continue
            if word not in self._commands:
                self.failed += 1
                self._write(f"{word!r} is not a command; ? lists them")
                continue
            before = (self.session.pending, self.session.response, self.session.reason, self.session.shown)
            try:
                message = self._commands[word](rest.strip())
            except (NuggeteerError, OSError) as error:
                self.failed += word in "yncNwubp"
                self._write(f"not done: {error}")
                continue
            for part in message.split("\n"):
                self._write(part)
            if word in "yncNwub":
                self._follow()
            if before != (self.session.pending, self.session.response, self.session.reason, self.session.shown):
                self._show()

    def _write(self, text: str) -> None:
        self.out.write(escaped(text) + "\n")

    def _write_status(self) -> None:
        state, session = self.session.state, self.session
        if session.audit is None:
            working = self._newer is not None or (self._interactive and not state.is_scored)
            for line in status(state, session.total, self.width, working):
                self._write(line)
        else:
            self._write(audit_headline(state.title, state.measure.title))
            self._write(f"audit: {session.left()} of {len(session.audit)} left")

    def _show(self) -> None:
        card = self.session.card()
        if card is None:
            only = "" if str(self.session.filter) == "all" else f" in {self.session.filter} (f: all)"
            self._write(f"Nothing left to ask{only}; u takes back the last verdict, q quits")
            return
        drawn = lay_out(card, WIDTH, plain=True)
        self.out.write("\n")
        for line in [*drawn.asked, None, *drawn.answer]:
            self.out.write((line.plain.rstrip() if line else "") + "\n")
        self.out.write("\n")

    def _follow(self) -> None:
        """Say how things stand after a verdict; a person also gets the newest score there is."""
        if self._interactive:
            self._take_over()
            if self._newer is None:
                self._newer = Refresh(self.session, anew=True)
            self._write_status()

    def _tell_score(self) -> None:
        """Say the score that has been worked out meanwhile, if there is one."""
        if self._take_over():
            self._write_status()

    def _take_over(self) -> bool:
        """Take over what has been worked out; whether that was anything."""
        if self._newer is None or not self._newer.is_done:
            return False
        newer, self._newer = self._newer, None
        if problem := newer.take_over():
            self._write(problem)
        return not problem

    def _yes(self, rest: str) -> str:
        if not rest:
            return self._judge(True)
        card = self.session.card()
        if card is None:
            raise NuggeteerError("there is nothing left to judge")
        start = card.response.text.find(rest)
        if start < 0:
            raise NuggeteerError("the response does not have these words in this form; copy them, or answer y alone")
        return self._judge(True, span=(start, start + len(rest)))

    def _judge(
        self, verdict: bool, whole: bool = False, span: tuple[int, int] | None = None, contradicts: bool = False
    ) -> str:
        written = self.session.judge(verdict, whole, span, contradicts)
        first = written[0]
        many = f" to {len(written)} responses" if whole else ""
        return f"{first.word}{many}: {first.qid}/{first.nugget}, written"

    def _judge_answer(self, rest: str) -> str:
        written = self.session.judge_answer()
        return f"yes to the whole answer: {written.qid}/{written.nugget}, written"

    def _skip(self, rest: str) -> str:
        self.session.skip()
        return "skipped"

    def _undo(self, rest: str) -> str:
        back = self.session.undo()
        if not back:
            return "there is no verdict of yours to take back here"
        return f"taken back: {back[0].word} on {back[0].qid}/{back[0].nugget}"

    def _reason(self, rest: str) -> str:
        self.session.reason = rest or None
        return "the reason will be recorded with your next verdict" if rest else "no reason"

    def _propose(self, rest: str) -> str:
        grades: dict[str, Importance] = {"v": "vital", "o": "okay"}
        grade, _, text = rest.partition(" ")
        if grade not in grades:
            raise NuggeteerError("write p v TEXT for a vital fact, p o TEXT for an okay one")
        self.session.propose(text, grades[grade])
        return "proposed, in proposals.jsonl"

    def _filter(self, rest: str) -> str:
        self.session.narrow(Filter.parse(rest))
        return f"asking about {self.session.filter}"

    def _guess(self, rest: str) -> str:
        self.session.show_guess()
        return "the guess is shown, and the verdict will record that"

    def _turn(self, by: int) -> str:
        return "" if self.session.move(by) else "there is no other response that way"
