"""Choosing the words of a response that carry the nugget, with the arrow keys."""

from __future__ import annotations

from collections.abc import Sequence

from nuggeteer.matching.marks import Span

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
