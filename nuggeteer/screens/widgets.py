"""The parts of the terminal application: its help and key lines, and a pane of text."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

KEYS = "y yes  n no  c contradicts  N none of them  s skip  u undo  m mark  ? help  q quit"
MARKING = "←→ word  ↑↓ ten words  space from here on  Enter yes, these  Esc leave"
HELP = """\
Does the response between the bars carry the nugget? A paraphrase does; a hint that the reader must finish does not.

  y        yes
  n        no, not this response
  c        no, and worse: this response contradicts the nugget, it says the opposite
  N        no to all responses of this answer that are not judged yet
  w        yes to the whole answer, wherever in it the nugget is
  s        skip; the question comes back after all others
  u, b     take back the last verdict; the question is asked again
  m        mark the words that carry the nugget, and say yes
  r        give a reason; it is recorded with the next verdict
  p        propose a nugget: a fact in this response that the key lacks
  ← →      the previous or the next response
  ↑ ↓      scroll (also Page Up, Page Down, Home, End)
  f        ask only about one question or nugget
  g        show the guess of the tool. It biases: anyone who sees a guess tends
           to agree with it. The verdict will record that it was shown
  q        quit. Every verdict is already on disk; start again to go on

Underlined words are those that the nugget's description shares with the text.
In an audit no words are underlined, and neither guess nor score is shown,
because they would reveal what the tool thinks."""


class TextPane(ScrollView, can_focus=False):
    """Lines of text. Only those in view are drawn, so a long text scrolls as fast as a short one."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._lines: list[Text] = []

    def show(self, lines: list[Text]) -> None:
        self._lines = lines
        self.virtual_size = Size(0, len(lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        width = self.size.width
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = Strip(self._lines[row].render(self.app.console))
        return line.adjust_cell_length(width).apply_style(self.rich_style)


class Help(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter,space", "dismiss", "close")]
    DEFAULT_CSS = """
    Help { background: $background; }
    Help VerticalScroll { padding: 1 2; }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(HELP, markup=False)
            yield Static("\nEsc closes this.", markup=False)
