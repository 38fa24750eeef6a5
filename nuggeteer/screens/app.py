"""The terminal application of `judge`: one screen, and one key press for a verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.filters import Filter
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import Session
from nuggeteer.languages import Language
from nuggeteer.matching.marks import Span, words_at
from nuggeteer.records import Importance
from nuggeteer.screens.marking import Marking
from nuggeteer.screens.view import JudgeView
from nuggeteer.screens.widgets import Help, TextPane

GRADES: dict[str, Importance] = {"v": "vital", "o": "okay"}
GRADING = "Is it vital or okay? v or o (Esc: do not propose it)"


class JudgeApp(JudgeView):
    """Shows the questions of a session and passes on the answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "judge(True)"),
        Binding("n", "judge(False)"),
        Binding("c", "contradicts"),
        Binding("N", "none"),
        Binding("w", "judge_answer"),
        Binding("s", "skip"),
        Binding("u,b", "undo"),
        Binding("m", "mark"),
        Binding("r", "reason"),
        Binding("p", "propose"),
        Binding("f", "filter"),
        Binding("g", "guess"),
        Binding("question_mark", "help"),
        Binding("q", "leave"),
        Binding("ctrl+c", "leave", priority=True),
        Binding("left", "turn(-1)"),
        Binding("right", "turn(1)"),
        Binding("up", "scroll(-1)"),
        Binding("down", "scroll(1)"),
        Binding("pageup", "page(-1)"),
        Binding("pagedown", "page(1)"),
        Binding("home", "ends(0)"),
        Binding("end", "ends(1)"),
        Binding("escape", "escape"),
    ]

    def __init__(self, session: Session, width: float | None = None) -> None:
        super().__init__(session, width)
        self._asking: Callable[[str], None] | None = None
        self._proposed: str | None = None  # a nugget whose importance is asked for
        self._refresh: Refresh | None = None
        self._unscored = not session.blind  # until the first score is begun, after the first question is in view
        self._stale = False

    def on_mount(self) -> None:
        self._draw()
        self.call_after_refresh(self._draw)
        if self._unscored:
            self.call_after_refresh(self._work_out, anew=False)

    def _attempt(self, act: Callable[[], str]) -> None:
        """Do what a key asks for. If it fails, show why and stay at the question."""
        try:
            self._message = act()
        except (NuggeteerError, OSError) as error:
            self._message = f"NOT DONE: {error}"
            self.bell()
        self._draw()

    # Keys.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While words are being marked, or a proposed nugget graded, keys have other meanings."""
        return (self._marking is None and self._proposed is None) or action == "escape"

    def action_judge(self, verdict: bool) -> None:
        self._judge(verdict)

    def action_contradicts(self) -> None:
        self._judge(False, contradicts=True)

    def action_none(self) -> None:
        self._judge(False, whole=True)

    def _judge(self, verdict: bool, whole: bool = False, span: Span | None = None, contradicts: bool = False) -> None:
        card = self.session.card()
        if card is None:
            return

        def act() -> str:
            written = self.session.judge(verdict, whole, span, contradicts)
            many = f" to {len(written)} responses" if whole else ""
            where = f"{card.question.qid}/{card.nugget.nugget}"
            return f"{written[0].word}{many}: {where}, written. u takes it back"

        self._attempt(act)
        self.call_after_refresh(self._refresh_state)

    def action_judge_answer(self) -> None:
        def act() -> str:
            written = self.session.judge_answer()
            return f"yes to the whole answer: {written.qid}/{written.nugget}, written. u takes it back"

        if self.session.pending is not None:
            self._attempt(act)
            self.call_after_refresh(self._refresh_state)

    def action_skip(self) -> None:
        def act() -> str:
            self.session.skip()
            return "skipped; it comes back at the end"

        if self.session.pending is not None:
            self._attempt(act)

    def action_undo(self) -> None:
        def act() -> str:
            back = self.session.undo()
            if not back:
                return "there is no verdict of yours to take back here"
            return f"taken back: {back[0].word} on {back[0].qid}/{back[0].nugget}; asked again"

        self._attempt(act)
        self._refresh_state()

    def action_turn(self, by: int) -> None:
        if self.session.move(by):
            self._message = ""
            self._draw()

    def action_scroll(self, by: int) -> None:
        self.query_one("#answer", TextPane).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        answer = self.query_one("#answer", TextPane)
        answer.scroll_relative(y=by * max(answer.size.height - 1, 1), animate=False)

    def action_ends(self, end: int) -> None:
        answer = self.query_one("#answer", TextPane)
        answer.scroll_to(y=answer.max_scroll_y if end else 0, animate=False)

    def action_guess(self) -> None:
        def act() -> str:
            self.session.show_guess()
            return "the guess is shown, and the verdict will record that"

        if self.session.pending is not None:
            self._attempt(act)

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_leave(self) -> None:
        self.exit()

    # What is typed.

    def action_reason(self) -> None:
        def keep(text: str) -> None:
            self.session.reason = text.strip() or None
            self._message = "the reason will be recorded with your next verdict" if self.session.reason else ""

        if self.session.pending is not None:
            self._prompt("Why? (Enter keeps it, Esc cancels)", keep, self.session.reason or "")

    def action_filter(self) -> None:
        def narrow(text: str) -> None:
            self.session.narrow(Filter.parse(text))
            self._message = f"asking about {self.session.filter}"

        now = str(self.session.filter)
        self._prompt("Only which question, or question/nugget? (empty: all)", narrow, "" if now == "all" else now)

    def action_propose(self) -> None:
        def importance(text: str) -> None:
            if not text.strip():
                raise NuggeteerError("a nugget needs at least one word; nothing was proposed")
            self._proposed = text
            self._message = GRADING

        if self.session.pending is not None:
            self._prompt("Which fact does the key lack? (Esc cancels)", importance)

    def _grade(self, text: str, key: str) -> None:
        grade = GRADES.get(key)
        if grade is None:
            self._say(GRADING)
            self.bell()
            return

        def act() -> str:
            self._proposed = None
            self.session.propose(text, grade)
            return "proposed, in proposals.jsonl; it counts once the owner of the key adds it"

        self._attempt(act)

    def _prompt(self, label: str, then: Callable[[str], None], value: str = "") -> None:
        field = self.query_one(Input)
        self._asking = then
        field.value = value
        field.display = True
        self.set_focus(field)
        self._say(label)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        then = self._close_prompt()
        if then is None:
            return

        def act() -> str:
            self._message = ""
            then(event.value)
            return self._message

        self._attempt(act)

    def _close_prompt(self) -> Callable[[str], None] | None:
        then, self._asking = self._asking, None
        field = self.query_one(Input)
        field.display = False
        field.value = ""
        self.set_focus(None)
        return then

    def action_escape(self) -> None:
        self._close_prompt()
        message = "" if self._proposed is None else "nothing was proposed"
        self._marking = self._proposed = None
        self._say(message)

    # Marking words.

    def action_mark(self) -> None:
        card = self.session.card()
        if card is None:
            return
        language = Language(self.session.state.collection.settings.match.language)
        words = [(start, end) for _, start, end in words_at(card.response.text, language)]
        if not words:
            self._say("this response has no words")
            return
        self._marking = Marking(words, card.response.marks)
        self._message = "which words carry the nugget?"
        self._draw()

    def on_key(self, event: events.Key) -> None:
        if self._proposed is not None:
            if event.key != "escape":
                self._grade(self._proposed, event.key)
                event.stop()
            return
        if self._marking is None:
            return
        if event.key == "enter":
            span, self._marking = self._marking.span, None
            self._judge(True, span=span)
        elif not self._marking.press(event.key):
            return
        event.stop()
        self._draw()

    # The score, worked out in a thread while a question is in view.

    @property
    def is_working(self) -> bool:
        return self._unscored or self._refresh is not None

    def _refresh_state(self) -> None:
        self._work_out(anew=True)

    def _work_out(self, anew: bool) -> None:
        """Read everything `anew`, or only work out the score of the first state. One at a time."""
        if self._refresh is not None:
            self._stale = self._stale or anew
        else:
            self._unscored, self._refresh = False, Refresh(self.session, anew, self._when_done)
            self._draw_status()

    def _when_done(self) -> None:
        with suppress(RuntimeError):  # the assessor has left
            self.call_later(self._take_over)

    def _take_over(self) -> None:
        done, self._refresh = self._refresh, None
        if done is not None and (problem := done.take_over()):
            self._message = problem
        if self._stale:
            self._stale = False
            self._refresh_state()
        self._draw(keep=True)

    def _fatal_error(self) -> None:
        """Leave the screen silently. `run` raises the error, and its caller shows it with texts escaped. (The library
        would show local variables, and with them texts of the collection.)"""
        self._close_messages_no_wait()


def run(session: Session, width: float | None) -> None:
    """Judge until the assessor leaves."""
    # The thread that works out the score lets go of the interpreter sooner: on a busy machine nine in ten keys took 58
    # ms instead of 77.
    sys.setswitchinterval(0.0005)
    app = JudgeApp(session, width)
    app.run()
    if app._exception is not None:
        raise app._exception
