"""The terminal application of `judge`: one screen for an answer, and one key press for a verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import ClassVar, Concatenate, ParamSpec

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.cards import Filter
from nuggeteer.judging.refresh import Refresh
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import AnswerCard
from nuggeteer.languages import Language
from nuggeteer.matching.marks import Span, words_at
from nuggeteer.records import Importance
from nuggeteer.reports.formatting import counted
from nuggeteer.screens import layout
from nuggeteer.screens.widgets import KEYS, MARKING, Help, Marking, TextPane
from nuggeteer.text import escaped

CLOCK = 15  # seconds after which the time that is left is shown anew
GRADES: dict[str, Importance] = {"v": "vital", "o": "okay"}
GRADING = "Is it vital or okay? v or o (Esc: do not propose it)"
FIXED = 7  # lines that are always there
LEAST = 3  # lines of the question, of the answer and of the list
P = ParamSpec("P")


def attempted(act: Callable[Concatenate[JudgeApp, P], str]) -> Callable[Concatenate[JudgeApp, P], None]:
    """A method that does what a key asks for and returns what to say."""

    @wraps(act)
    def perform(self: JudgeApp, /, *args: P.args, **options: P.kwargs) -> None:
        self._attempt(partial(act, self, *args, **options))

    return perform


class JudgeApp(App[None]):
    """Shows the cards of a session and passes on the answers."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = ""  # keys are verdicts until a prompt is opened
    CSS = """
    Screen { layout: vertical; }
    .line { height: 1; }
    #headline { text-style: bold; }
    #forecast { color: $text-muted; }
    #asked { margin: 1 0 0 0; overflow: hidden; }
    #answer { height: 1fr; scrollbar-size-vertical: 1; }
    #nuggets { scrollbar-size-vertical: 1; }
    #notes { overflow: hidden; }
    #message { text-style: bold; }
    #keys { color: $text-muted; }
    Input { height: 1; border: none; padding: 0; display: none; }
    Input:focus { border: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "judge(True)"),
        Binding("n", "judge(False)"),
        Binding("c", "judge(False, True)"),
        Binding("a", "others"),
        Binding("enter", "next"),
        Binding("s", "skip"),
        Binding("u,b", "undo"),
        Binding("space", "sentence"),
        Binding("left", "turn(-1)"),
        Binding("right", "turn(1)"),
        Binding("m", "mark"),
        Binding("r", "reason"),
        Binding("p", "propose"),
        Binding("f", "filter"),
        Binding("g", "guess"),
        Binding("question_mark", "help"),
        Binding("q", "leave"),
        Binding("ctrl+c", "leave", priority=True),
        Binding("up", "move(-1)"),
        Binding("down", "move(1)"),
        Binding("left_square_bracket", "scroll(-1)"),
        Binding("right_square_bracket", "scroll(1)"),
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
        self._marking: Marking | None = None
        self._message = ""
        self._drawn: AnswerCard | None = None
        self._answer = layout.Pane([], [0])
        self._asking: Callable[[str], str] | None = None
        self._marked_before: int | None = None  # the response that was marked before words are chosen
        self._proposed: str | None = None  # a nugget whose importance is asked for
        self._refresh: Refresh | None = None
        self._unscored = not session.blind  # until the first score is begun, after the first card is in view
        self._stale = False

    def compose(self) -> ComposeResult:
        yield Static(id="headline", classes="line", markup=False)
        yield Static(id="forecast", classes="line", markup=False)
        yield TextPane("asked")
        yield Static(id="whose", classes="line", markup=False)
        yield TextPane("answer")
        yield Static(id="which", classes="line", markup=False)
        yield TextPane("nuggets")
        yield TextPane("notes")
        yield Static(id="message", classes="line", markup=False)
        yield Input()
        yield Static(KEYS, id="keys", classes="line", markup=False)

    def on_mount(self) -> None:
        self._draw()
        if self._unscored:
            self.call_after_refresh(self._work_out, anew=False)
        if self.session.minutes is not None:
            self.set_interval(CLOCK, self._draw_status)

    # What is shown.

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def pane(self, name: str) -> TextPane:
        return self.query_one(f"#{name}", TextPane)

    def _draw(self) -> None:
        """Draw everything. A new card begins at its top, and on the same card nothing moves but what must be seen."""
        session, card = self.session, self.session.card()
        self._draw_status()
        self._put("message", self._message)
        self._put("keys", KEYS if self._marking is None else MARKING)
        asked, answer, nuggets, notes = map(self.pane, ("asked", "answer", "nuggets", "notes"))
        if card is None:
            only = "" if str(session.filter) == "all" else f" in {session.filter} (f, then Enter, for all)"
            asked.show(
                [Text(escaped(f"Nothing left to ask{only}. q quits, u takes back the last verdict."), "bold")], 1
            )
            for name in ("whose", "which"):
                self._put(name, "")
            for pane in (answer, nuggets, notes):
                pane.show([])
            return
        width, new = max(self.size.width - 2, 20), session.asked != self._drawn
        self._drawn = session.asked
        question = layout.question_lines(card, width)
        listed = layout.nugget_pane(card, width)
        chosen = None if self._marking is None else self._marking.span
        self._answer = text = layout.answer_pane(card, width, chosen)
        room = self.size.height - FIXED
        if len(question) > max(room // 5, LEAST):  # the whole question follows the answer
            head = Text("The question in full:", layout.HEAD)
            text.lines.extend([Text(), head, *question])
            question = [*question[: max(room // 5, LEAST) - 1], Text("  … and more, below the answer", layout.QUIET)]
        room -= len(question)
        height = min(len(listed.lines), max(room // 2, room - len(text.lines), LEAST))
        lines = layout.notes(card, width)
        asked.show(question, len(question))
        self._put("whose", layout.answer_head(card))
        answer.show(text.lines)
        self._put("which", layout.nugget_head(card))
        nuggets.show(listed.lines, height)
        notes.show(lines, len(lines) if new else max(len(lines), notes.size.height))
        if new:
            answer.scroll_to(y=0, animate=False)
        if card.marked is not None:
            answer.bring(*text.begins[card.marked : card.marked + 2])
        nuggets.bring(*listed.begins[card.in_view : card.in_view + 2])
        if new:  # the panes have got other sizes
            self.call_after_refresh(self._draw)

    def _draw_status(self) -> None:
        """Draw the two status lines, with dots while a new score is being computed."""
        for name, line in zip(
            ("headline", "forecast"), layout.status(self.session, self.width, self.is_working), strict=True
        ):
            self._put(name, line)

    def _put(self, name: str, text: str | Text) -> None:
        line = text.copy() if isinstance(text, Text) else Text(escaped(text))
        line.no_wrap, line.overflow = True, "ellipsis"
        self.query_one(f"#{name}", Static).update(line)

    def _say(self, text: str) -> None:
        self._message = text
        self._draw()

    # Keys.

    def _attempt(self, act: Callable[[], str]) -> None:
        """Do what a key asks for. If it fails, show why and stay at the card."""
        before = self.session.asked
        try:
            self._message = act()
        except (NuggeteerError, OSError) as error:
            self._message = f"NOT DONE: {error}"
            self.bell()
        self._draw()
        if self.session.is_over and before is not None:
            self.exit()
        elif self.session.asked != before:
            self.call_after_refresh(self._refresh_state)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While words are being marked, or a proposed nugget graded, keys have other meanings. Where nothing is left to
        ask, only some have one."""
        if self._marking is not None or self._proposed is not None:
            return action == "escape"
        return self.session.asked is not None or action in ("undo", "filter", "help", "leave", "escape")

    @attempted
    def action_judge(self, verdict: bool, contradicts: bool = False, span: Span | None = None) -> str:
        written = self.session.judge(verdict, contradicts, span)
        return f"{written[0].word}: {written[0].nugget}, written{self._what_next()}"

    def _what_next(self) -> str:
        asked = self.session.asked
        done = asked is not None and not self.session.open_nuggets
        return ". All decided: Enter for the next answer" if done else ". u takes it back"

    @attempted
    def action_others(self) -> str:
        written = self.session.judge_others()
        return f"no to {counted(len(written), 'nugget')}, written{self._what_next()}"

    @attempted
    def action_next(self) -> str:
        self.session.next()
        return ""

    @attempted
    def action_skip(self) -> str:
        self.session.skip()
        return "skipped; it comes back at the end"

    @attempted
    def action_undo(self) -> str:
        back = self.session.undo()
        if not back:
            return "there is no verdict of yours to take back here"
        many = f" and {len(back) - 1} more" if len(back) > 1 else ""
        return f"taken back: {back[0].word} on {back[0].qid}/{back[0].nugget}{many}; asked again"

    def action_move(self, by: int) -> None:
        if self.session.move(by):
            self._say("")

    def action_sentence(self) -> None:
        """Mark the first sentence in view, or none."""
        if self.session.marked is None:
            self._mark(self._first_in_view())
        else:
            self._mark(None)

    def action_turn(self, by: int) -> None:
        card = self.session.card()
        if card is not None and card.marked is not None:
            self._mark(card.marked + by)
        else:
            self._mark(self._first_in_view())

    def _first_in_view(self) -> int:
        """The place of the first response that is in view."""
        return self._answer.at(self.pane("answer").scroll_offset.y)

    @attempted
    def _mark(self, place: int | None) -> str:
        self.session.mark(place)
        return "" if place is None else "y: this sentence has it. ← → another, m its words, space none"

    def action_scroll(self, by: int) -> None:
        self.pane("answer").scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        answer = self.pane("answer")
        answer.scroll_relative(y=by * max(answer.size.height - 1, 1), animate=False)

    def action_ends(self, end: int) -> None:
        answer = self.pane("answer")
        answer.scroll_to(y=answer.max_scroll_y if end else 0, animate=False)

    @attempted
    def action_guess(self) -> str:
        self.session.show_guess()
        return "the guess is shown, and the verdict will record that"

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_leave(self) -> None:
        self.exit()

    # What is typed.

    def action_reason(self) -> None:
        def keep(text: str) -> str:
            self.session.reason = text.strip() or None
            return "the reason will be recorded with your next verdict" if self.session.reason else ""

        if self.session.asked is not None:
            self._prompt("Why? (Enter keeps it, Esc cancels)", keep, self.session.reason or "")

    def action_filter(self) -> None:
        def narrow(text: str) -> str:
            self.session.narrow(Filter.parse(text))
            return f"asking about {self.session.filter}"

        now = str(self.session.filter)
        self._prompt("Only which question, or question/nugget? (empty: all)", narrow, "" if now == "all" else now)

    def action_propose(self) -> None:
        def importance(text: str) -> str:
            if not text.strip():
                raise NuggeteerError("a nugget needs at least one word; nothing was proposed")
            self._proposed = text
            return GRADING

        if self.session.asked is not None:
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

    def _prompt(self, label: str, then: Callable[[str], str], value: str = "") -> None:
        field = self.query_one(Input)
        self._asking = then
        field.value = value
        field.display, self.query_one("#keys").display = True, False  # in the place of the keys, so that nothing jumps
        self.set_focus(field)
        self._say(label)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        then = self._close_prompt()
        if then is not None:
            self._attempt(partial(then, event.value))

    def _close_prompt(self) -> Callable[[str], str] | None:
        then, self._asking = self._asking, None
        field = self.query_one(Input)
        field.display, self.query_one("#keys").display = False, True
        field.value = ""
        self.set_focus(None)
        return then

    def action_escape(self) -> None:
        self._close_prompt()
        message = "" if self._proposed is None else "nothing was proposed"
        if self._marking is not None and self.session.card() is not None:
            self._mark(self._marked_before)
        self._marking = self._proposed = None
        self._say(message)

    # Marking words.

    def action_mark(self) -> None:
        """The words of the marked sentence; without one, of the first in view."""
        card = self.session.card()
        self._marked_before = None if card is None else card.marked
        if card is not None and card.marked is None and len(card.answer) > 1:
            self.session.mark(self._first_in_view())
            card = self.session.card()
        if card is None:
            return
        response = card.answer[card.marked or 0]
        language = Language(self.session.state.collection.settings.match.language)
        words = [(start, end) for _, start, end in words_at(response.text, language)]
        if not words:
            self._say("this response has no words")
            return
        self._marking = Marking(words, response.marks)
        self._say("which words carry the nugget?")

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
            self.action_judge(True, span=span)
        elif not self._marking.press(event.key):
            return
        event.stop()
        self._draw()

    # The score, worked out in a thread while a question is in view.

    @property
    def is_working(self) -> bool:
        """Whether a score is being worked out."""
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
        self._draw()

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
