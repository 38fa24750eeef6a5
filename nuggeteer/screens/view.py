"""What the terminal application of `judge` shows: how things stand, an answer, its nuggets, the keys."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from nuggeteer.judging.session import Session
from nuggeteer.judging.state import AnswerCard
from nuggeteer.screens import layout
from nuggeteer.screens.widgets import KEYS, MARKING, Marking, TextPane
from nuggeteer.text import escaped

FIXED = 7  # lines that are always there
LEAST = 3  # lines of the question, of the answer and of the list


class JudgeView(App[None]):
    """Shows a session as it is. What keys do is added by `JudgeApp`."""

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

    def __init__(self, session: Session, width: float | None = None) -> None:
        super().__init__()
        self.session = session
        self.width = width
        self._marking: Marking | None = None
        self._message = ""
        self._drawn: AnswerCard | None = None
        self._answer = layout.Pane([], [0])

    @property
    def is_working(self) -> bool:
        """Whether a score is being worked out."""
        return False

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
