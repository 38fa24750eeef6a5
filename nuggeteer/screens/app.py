"""The terminal application of `judge`: one screen, and one key press for a verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.filters import Filter
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import Session
from nuggeteer.languages import Language
from nuggeteer.matching.marks import Span, words_at
from nuggeteer.records import Importance
from nuggeteer.screens.layout import audit_headline, lay_out, status
from nuggeteer.screens.widgets import KEYS, MARKING, Help, TextPane
from nuggeteer.text import escaped

GRADES: dict[str, Importance] = {"v": "vital", "o": "okay"}
GRADING = "Is it vital or okay? v or o (Esc: do not propose it)"


class JudgeApp(App[None]):
    """Shows the questions of a session and passes on the answers."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = ""  # keys are verdicts until a prompt is opened
    CSS = """
    Screen { layout: vertical; }
    #headline { height: 1; text-style: bold; }
    #forecast { height: 1; color: $text-muted; }
    #asked { margin: 1 0 0 0; overflow: hidden; }
    #answer { height: 1fr; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
    #message { height: 1; text-style: bold; }
    #keys { height: 1; color: $text-muted; }
    Input { height: 1; border: none; padding: 0; display: none; }
    Input:focus { border: none; }
    """
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
        super().__init__()
        self.session = session
        self.width = width
        self._marking: tuple[int, int] | None = None  # the first and the last word
        self._words: list[Span] = []
        self._asking: Callable[[str], None] | None = None
        self._proposed: str | None = None  # a nugget whose importance is asked for
        self._refresh: Refresh | None = None
        self._unscored = not session.blind  # until the first score is begun, after the first question is in view
        self._stale = False
        self._message = ""

    def compose(self) -> ComposeResult:
        yield Static(id="headline", markup=False)
        yield Static(id="forecast", markup=False)
        yield TextPane("asked")
        yield TextPane("answer")
        yield Static(id="message", markup=False)
        yield Input()
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self._draw()
        self.call_after_refresh(self._draw)
        if self._unscored:
            self.call_after_refresh(self._work_out, anew=False)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    # What is on the screen.

    def _draw(self, keep: bool = False) -> None:
        """Draw everything and scroll to the response in question, unless it is to `keep` its position."""
        session = self.session
        self._draw_status()
        self._put("message", self._message)
        self._put("keys", KEYS if self._marking is None else MARKING)
        asked, answer = self.query_one("#asked", TextPane), self.query_one("#answer", TextPane)
        card = session.card()
        if card is None:
            only = "" if str(session.filter) == "all" else f" in {session.filter} (f, then Enter, for all)"
            asked.show([Text(escaped(f"Nothing left to ask{only}. q quits, u takes back the last verdict."), "bold")])
            asked.styles.height = 1
            answer.show([])
            return
        width = max(self.size.width - 2, 20)
        drawn = lay_out(card, width, max(self.size.height * 2 // 5, 4), self._chosen())
        asked.styles.height = len(drawn.asked)
        asked.show(drawn.asked)
        answer.show(drawn.answer)
        if keep:
            return
        top, bottom = drawn.top, drawn.bottom
        if self._marking is not None:
            top = next((y for y in range(top, bottom) if _is_chosen(drawn.answer[y])), top)
            height = max(answer.size.height, 1)
            if answer.scroll_offset.y <= top < answer.scroll_offset.y + height:
                return
        # Some of the response before it stays visible if there is room.
        height = max(answer.size.height, 1)
        above = max(0, min(3, height - (bottom - top)))
        answer.scroll_to(y=max(0, top - above), animate=False)

    def _draw_status(self) -> None:
        """Draw the two status lines, with dots while a new score is being computed."""
        state, session = self.session.state, self.session
        if session.audit is None:
            first, second = status(state, session.total, self.width, self.is_working)
        else:
            first = audit_headline(state.title, state.measure.title)
            second = f"audit: {session.left()} of {len(session.audit)} left; {session.total} verdicts so far"
        self._put("headline", first)
        self._put("forecast", second)

    def _put(self, name: str, text: str) -> None:
        self.query_one(f"#{name}", Static).update(Text(escaped(text), no_wrap=True, overflow="ellipsis"))

    def _say(self, text: str) -> None:
        self._message = text
        self._draw(keep=True)

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
        self._words = [(start, end) for _, start, end in words_at(card.response.text, language)]
        if not self._words:
            self._say("this response has no words")
            return
        marks = card.response.marks
        inside = [i for i, (a, b) in enumerate(self._words) if marks and marks[0][0] <= a and b <= marks[0][1]] or [0]
        self._marking, self._anchored = (inside[0], inside[-1]), False
        self._message = "which words carry the nugget?"
        self._draw()

    def _chosen(self) -> Span | None:
        if self._marking is None:
            return None
        first, last = sorted(self._marking)
        return self._words[first][0], self._words[last][1]

    def on_key(self, event: events.Key) -> None:
        if self._proposed is not None:
            if event.key != "escape":
                self._grade(self._proposed, event.key)
                event.stop()
            return
        if self._marking is None:
            return
        start, end = self._marking
        steps = {"left": -1, "right": 1, "up": -10, "down": 10, "shift+left": -1, "shift+right": 1}
        if event.key in steps:
            end = min(max(end + steps[event.key], 0), len(self._words) - 1)
            kept = self._anchored or event.key.startswith("shift")
            self._marking = (start if kept else end, end)
        elif event.key == "space":
            self._anchored = True
            self._marking = (end, end)
        elif event.key == "enter":
            span = self._chosen()
            self._marking = None
            self._judge(True, span=span)
        else:
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


def _is_chosen(line: Text) -> bool:
    return any(span.style == "reverse" for span in line.spans)
