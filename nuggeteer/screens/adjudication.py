"""Two annotations adjudicated line by line: where they differ, a person says which nugget is kept."""

from __future__ import annotations

from typing import TextIO

from nuggeteer.formats.annotation import Extent
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.adjudication import Adjudication, Difference
from nuggeteer.text import escaped

HELP = """\
1 the first annotator's nugget; 2 the second's; b both, as two nuggets; m one nugget of both; n none
y  keep the nugget that only one annotator has; n  do not
s  skip, it comes back last; u  take back the last decision; q  quit, every decision is already on disk"""


class AdjudicationScreen:
    """Asks on `out`, and reads the answers line by line from `source`. `failed` counts lines that are no answer."""

    def __init__(self, adjudication: Adjudication, names: tuple[str, str], source: TextIO, out: TextIO) -> None:
        self.adjudication, self.names, self.source, self.out = adjudication, names, source, out
        self.failed = 0
        self._skipped: list[Difference] = []
        self._done: list[Difference] = []

    def run(self) -> bool:
        """Ask until all is decided, or the person quits or the input ends; returns whether all is decided."""
        total = len(self.adjudication.differences)
        self._write(f"{self.adjudication.agreed} nuggets are the same; {total} differ, {self._left()} not decided yet")
        while (difference := self._next()) is not None:
            keys = " ".join((*difference.choices, "s", "u", "q", "?"))
            self._show(difference)
            while True:
                self.out.write(f"{keys} > ")
                self.out.flush()
                line = self.source.readline()
                answer = line.strip()
                if not line or answer == "q":
                    self.out.write("" if line else "\n")
                    self._write(f"{self._left()} left; the same command goes on")
                    return False
                if self._answered(difference, answer):
                    break
        return True

    def _answered(self, difference: Difference, answer: str) -> bool:
        """Do what a line says; returns whether another question is next."""
        if answer in difference.choices:
            self.adjudication.decide(difference, answer)
            self._done.append(difference)
            return True
        if answer == "s":
            self._skipped = [*(one for one in self._skipped if one != difference), difference]
            return True
        if answer == "u" and self._done:
            last = self._done.pop()
            self.adjudication.take_back(last)
            self._skipped = [one for one in self._skipped if one != last]
            return True
        if answer == "?":
            self._write(HELP)
        elif answer:
            self.failed += 1
            self._write("nothing to take back" if answer == "u" else f"{answer!r} is not an answer; ? explains them")
        return False

    def _left(self) -> int:
        return len(self.adjudication.open)

    def _next(self) -> Difference | None:
        """The first that is neither decided nor skipped; then the skipped ones, in their order."""
        still_open = self.adjudication.open
        fresh = [one for one in still_open if one not in self._skipped]
        return next(iter(fresh or [one for one in self._skipped if one in still_open]), None)

    def _show(self, difference: Difference) -> None:
        snippet = difference.snippet
        self._write("")
        self._write(f"{snippet.qid or 'snippet'} {snippet.snippet}: {mark(snippet.text, ())}")
        for name, extent in zip(self.names, (difference.first, difference.second), strict=True):
            self._write(f"  {name}: {_marked(snippet.text, extent)}")

    def _write(self, text: str) -> None:
        for line in text.split("\n"):
            self.out.write(escaped(line) + "\n")


def _marked(text: str, extent: Extent | None) -> str:
    if extent is None:
        return "no such nugget"
    return f"{mark(text, extent.spans)}{f' ({extent.type})' if extent.type else ''}"
