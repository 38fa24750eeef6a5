"""What the terminal application of `judge` shows: how things stand, the question, the answer, a message, the keys."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from nuggeteer.judging.session import Session
from nuggeteer.screens.layout import audit_headline, lay_out, status
from nuggeteer.screens.marking import Marking
from nuggeteer.screens.widgets import KEYS, MARKING, TextPane
from nuggeteer.text import escaped


class JudgeView(App[None]):
    """Shows a session as it is. What keys do is added by `JudgeApp`."""

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

    def __init__(self, session: Session, width: float | None = None) -> None:
        super().__init__()
        self.session = session
        self.width = width
        self._marking: Marking | None = None
        self._message = ""

    @property
    def is_working(self) -> bool:
        """Whether a score is being worked out."""
        return False

    def compose(self) -> ComposeResult:
        yield Static(id="headline", markup=False)
        yield Static(id="forecast", markup=False)
        yield TextPane("asked")
        yield TextPane("answer")
        yield Static(id="message", markup=False)
        yield Input()
        yield Static(KEYS, id="keys", markup=False)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

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
        chosen = None if self._marking is None else self._marking.span
        drawn = lay_out(card, width, max(self.size.height * 2 // 5, 4), chosen)
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


def _is_chosen(line: Text) -> bool:
    return any(span.style == "reverse" for span in line.spans)
