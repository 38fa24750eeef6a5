"""The same session line by line, for a pipe, a screen reader or a simple terminal.

The answer is written once, and then its nuggets are asked about one by one. After the last, the next answer follows.

Nobody waits for a score. For a person, a thread computes it, at first and after an answer: the next status line has it,
and the next answer comes from it. A script gets a fixed order, that of the first state, because a file of verdicts
must fit the nuggets however fast the machine is. It gets no scores, except of the first state if it names a width.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill
from typing import TextIO

from rich.text import Text

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.cards import Filter
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import NOTHING_LEFT, Session
from nuggeteer.judging.state import AnswerCard
from nuggeteer.records import Importance, Judgement
from nuggeteer.reports.formatting import counted
from nuggeteer.screens import layout
from nuggeteer.text import escaped

WIDTH = 78
ALONE = frozenset("nasubg+-?")  # commands that nothing follows
PROMPT = "y n c a s u r p f g + - ? q > "
HELP = """\
y          yes, the answer has the nugget; n no, no sentence of it does
c          no, and worse: the answer contradicts it, it says the opposite
y 3, c 3   the same, and it is response 3 that does
y WORDS    yes, and these words of the answer carry the nugget
a          no to all nuggets of this answer that are open
s          leave them for later; they come back last
+ -        the next nugget of the answer, the one before
u          take back the last verdict
r TEXT     a reason, which is recorded with the next verdict
p v TEXT   propose a vital nugget that is in the answer but not in the key;
           p o TEXT an okay one
f QID, f QID/NUGGET, f   ask only about these; ask about all
g          show the guess of the tool. It biases, and the verdict will record
           that it was shown
Enter      the score, once it is there
q          quit; every verdict is already on disk
"""


class PlainScreen:
    """Asks on `out`, and reads the answers line by line from `source`.

    `failed` counts the lines that were not carried out, for scripts."""

    def __init__(self, session: Session, source: TextIO, out: TextIO, width: float | None = None) -> None:
        self.session, self.source, self.out, self.width = session, source, out, width
        self.failed = 0
        self._interactive = source.isatty()
        self._newer: Refresh | None = None
        self._written: AnswerCard | None = None  # the card whose answer stands above
        self._commands: dict[str, Callable[[str], str]] = {
            "y": lambda rest: self._judge(rest, True),
            "n": lambda rest: self._judge("", False),
            "c": lambda rest: self._judge(rest, False, contradicts=True),
            "a": self._others,
            "s": self._skip,
            "u": self._undo,
            "b": self._undo,
            "r": self._reason,
            "p": self._propose,
            "f": self._filter,
            "g": self._guess,
            "+": lambda rest: self._move(1),
            "-": lambda rest: self._move(-1),
            "?": lambda rest: HELP.rstrip("\n"),
        }

    def run(self) -> None:
        """Ask until the assessor quits, the time is over, or the input ends."""
        if self.width is not None and not self._interactive:
            self.session.state.score()
        self._write_status()
        self._show()
        if self._interactive and not self.session.blind:
            self._newer = Refresh(self.session, anew=False)
        while not self.session.is_over:
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
            before, card = self._place, self.session.asked
            try:
                if rest.strip() and word in ALONE:
                    raise NuggeteerError(f"{word} takes nothing after it; r TEXT gives the next verdict a reason")
                message = self._commands[word](rest.strip())
            except (NuggeteerError, OSError) as error:
                self.failed += word != "g"  # without a guess, all that follows is the same
                self._write(f"not done: {error}")
                continue
            for part in message.splitlines():
                self._write(part)
            if self.session.asked is not None and not self.session.open_nuggets and word in "ynca":
                self.session.next()
            if self.session.asked != card:
                self._follow()
            if before != self._place:
                self._show()

    @property
    def _place(self) -> tuple[object, ...]:
        session = self.session
        return session.asked, session.nugget, session.reason, session.shown

    def _write(self, text: str) -> None:
        self.out.write(fill(escaped(text), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n")

    def _write_status(self) -> None:
        session = self.session
        scores = self._interactive and not session.blind
        working = scores and (self._newer is not None or not session.state.is_scored)
        for line in layout.status(session, self.width, working):
            self._write(line)

    def _show(self) -> None:
        """Write the nugget in view, and before it the answer, if it does not stand above."""
        card = self.session.card()
        if card is None:
            only = "" if str(self.session.filter) == "all" else f" in {self.session.filter} (f: all)"
            what = f"Nothing left to ask{only}; u takes back the last verdict, q quits"
            self._write("The time is over." if self.session.is_over else what)
            return
        if self.session.asked != self._written:
            self._written = self.session.asked
            self._lines(layout.question_lines(card, WIDTH))
            self._lines([layout.answer_head(card), *layout.answer_pane(card, WIDTH, plain=True).lines])
            if known := layout.known_lines(card, WIDTH):
                self._lines(known)
        self._lines(layout.asked_lines(card, WIDTH))
        self.out.write("\n")

    def _lines(self, lines: list[Text]) -> None:
        self.out.write("\n" + "".join(f"{line.plain.rstrip()}\n" for line in lines))

    def _follow(self) -> None:
        """Say how things stand after an answer; a person also gets the newest score there is."""
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

    def _judge(self, rest: str, verdict: bool, contradicts: bool = False) -> str:
        """`rest` is the number of a response, or words of one."""
        card, span = self.session.card(), None
        if card is None:
            raise NuggeteerError(NOTHING_LEFT)
        if rest.isdecimal():
            if not 0 < int(rest) <= len(card.answer):
                several = f"responses 1 to {len(card.answer)}"
                raise NuggeteerError(f"the answer has {several if len(card.answer) > 1 else '1 response'}")
            if len(card.answer) > 1:
                self.session.mark(int(rest) - 1)
        elif rest:
            places = range(len(card.answer)) if card.marked is None else [card.marked]
            place = next((place for place in places if rest in card.answer[place].text), None)
            if place is None:
                raise NuggeteerError("the answer does not have these words in this form; copy them, or answer y alone")
            start = card.answer[place].text.index(rest)
            span = (start, start + len(rest))
            if len(card.answer) > 1:
                self.session.mark(place)
        return _said(self.session.judge(verdict, contradicts, span))

    def _others(self, rest: str) -> str:
        written = self.session.judge_others()
        return _said(written) if len(written) == 1 else f"no to {counted(len(written), 'nugget')}, written"

    def _skip(self, rest: str) -> str:
        self.session.skip()
        return "skipped"

    def _undo(self, rest: str) -> str:
        back = self.session.undo()
        if not back:
            return "there is no verdict of yours to take back here"
        return f"taken back: {back[0].word} on " + ", ".join(f"{one.qid}/{one.nugget}" for one in back)

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

    def _move(self, by: int) -> str:
        return "" if self.session.move(by) else "there is no other nugget that way"


def _said(written: list[Judgement]) -> str:
    return f"{written[0].word}: {written[0].qid}/{written[0].nugget}, written"
