"""The parts of the terminal application: its help and key lines, a pane of text, and the choice of words in it."""

from __future__ import annotations

from collections.abc import Sequence
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

from nuggeteer.matching.marks import Span

KEYS = "↑↓ nugget  y yes  n no  c contradicts  a others no  Enter next  ? help  q quit"
MARKING = "←→ word  ↑↓ ten words  space from here on  Enter yes, these  Esc leave"
HELP = """\
Read the answer, and say which of the nuggets below it has. A paraphrase
has it; a hint that the reader must finish does not.

  ↑ ↓     the nugget before or after
  y       yes, the answer has it
  n       no: no sentence of it does
  c       no, and worse: the answer contradicts it, it says the opposite
  a       no to all nuggets of this answer that are open
  Enter   the next answer
  s       leave what is open for later; it comes back after all others
  u, b    take back the last verdict
  space   mark the sentence that has it, if you like; ← → choose another.
          Then y is about that sentence, wherever else it is said
  m       mark the words of the sentence that carry it, and say yes
  r       give a reason; it is recorded with the next verdict
  p       propose a nugget: a fact in this answer that the key lacks
  f       ask only about one question or nugget
  g       show the guess of the tool. It biases: anyone who sees a guess
          tends to agree with it. The verdict will record that it was shown
  [ ]     scroll the answer (also Page Up, Page Down, Home, End)
  q       quit. Every verdict is already on disk; start again to go on

Underlined words are those that the nugget's description shares with the
answer. In an audit no words are underlined, and neither guess nor score is
shown, because they would reveal what the tool thinks."""


class TextPane(ScrollView, can_focus=False):
    """Lines of text. Only those in view are drawn, so a long text scrolls as fast as a short one."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._lines: list[Text] = []

    def show(self, lines: list[Text], height: int | None = None) -> None:
        """Show lines, and take so much room."""
        self._lines = lines
        self.virtual_size = Size(0, len(lines))
        if height is not None:
            self.styles.height = height
        self.refresh()

    def bring(self, top: int, bottom: int) -> None:
        """Scroll as little as it takes to see some lines, and a line around them."""
        room, at = max(self.size.height, 1), self.scroll_offset.y
        low, high = max(bottom + 1 - room, 0), max(top - 1, 0)
        if not low <= at <= high:
            self.scroll_to(y=min(max(at, low), high), animate=False, force=True)

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
    Help VerticalScroll { padding: 0 1; }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(HELP, markup=False)
            yield Static("\nEsc closes this.", markup=False)


STEPS = {"left": -1, "right": 1, "up": -10, "down": 10, "shift+left": -1, "shift+right": 1}


class Marking:
    """One end of the choice moves. The other end goes with it until it is kept in its place, by the space bar for good
    or by the shift key for one step."""

    def __init__(self, words: Sequence[Span], marks: Sequence[Span]) -> None:
        """At first, the words of the first mark, or the first word."""
        self._words, self._kept = words, False
        inside = [i for i, (a, b) in enumerate(words) if marks and marks[0][0] <= a and b <= marks[0][1]] or [0]
        self._start, self._end = inside[0], inside[-1]

    @property
    def span(self) -> Span:
        """From the first word to the last."""
        first, last = sorted((self._start, self._end))
        return self._words[first][0], self._words[last][1]

    def press(self, key: str) -> bool:
        """Whether this is a key that chooses words."""
        if key in STEPS:
            self._end = min(max(self._end + STEPS[key], 0), len(self._words) - 1)
            if not (self._kept or key.startswith("shift")):
                self._start = self._end
        elif key == "space":
            self._kept, self._start = True, self._end
        return key in STEPS or key == "space"
