"""The map on the page: a row for each question, a cell for each nugget, and the evidence that a cell shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nuggeteer.comparing.diff import Sighting
from nuggeteer.history.briefing import Briefing
from nuggeteer.reports.explanation import in_words
from nuggeteer.reports.formatting import (
    chance,
    number,
    signed,
)
from nuggeteer.reports.passages import Piece, beginning, excerpt
from nuggeteer.text import escaped

SIZE = 360  # characters of a passage
EVIDENCE = 2_000_000  # characters of all passages of the map together
LEAST = 80  # of one of them
WHY = 160  # characters of a line on why a nugget was guessed


@dataclass(frozen=True)
class Cell:
    """A nugget in the map: what is written in it, what a screen reader says, how it looks."""

    position: int
    mark: str
    label: str
    look: str


@dataclass(frozen=True)
class Row:
    """A question in the map."""

    qid: str
    text: str
    value: str
    change: str
    changed: bool
    vital: tuple[Cell, ...]
    others: tuple[Cell, ...]


class NuggetMap:
    """Every nugget of the key, as the build has it."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing, self.key, self.diff = briefing, briefing.key, briefing.diff
        self.size = max(LEAST, min(SIZE, EVIDENCE // max(len(self.key.nuggets), 1)))

    @cached_property
    def rows(self) -> list[Row]:
        values = self.briefing.score.by_question[self.briefing.headline.name]
        rows = []
        for q, (question, nuggets) in enumerate(self.key):
            first = int(self.key.offsets[q])
            cells = [self._cell(first + i) for i in range(len(nuggets))]
            vital = [n.importance == "vital" for n in nuggets]
            change = ""
            if self.diff:
                moved = float(self.diff.headline.by_question[q])
                change = "" if np.isnan(moved) or not round(moved, 3) else signed(moved)
            rows.append(
                Row(
                    question.qid,
                    beginning(question.text),
                    number(float(values[q])),
                    change,
                    any(cell.look.endswith(("gained", "lost")) for cell in cells),
                    tuple(cell for cell, is_vital in zip(cells, vital, strict=True) if is_vital),
                    tuple(cell for cell, is_vital in zip(cells, vital, strict=True) if not is_vital),
                )
            )
        return rows

    def _cell(self, position: int) -> Cell:
        sighting, nugget = self.briefing.sightings[position], self.key.nuggets[position]
        sign, turned = self._turn(position)
        if sighting.contradicted:
            mark, look = "≠", "no contradicted"
        elif sighting.known:
            mark, look = ("✓", "yes") if sighting.found else ("×", "no")
        elif sighting.probability is None:
            mark, look = ("y?", "g4") if sighting.found else ("n?", "g1")
        else:
            mark = f"{min(max(round(100 * sighting.probability), 1), 99)}"
            look = f"g{min(int(5 * sighting.probability), 4)}"
        forbidden = " forbidden" if nugget.importance == "forbidden" else ""
        label = f"{forbidden} nugget {nugget.nugget}: {_status(sighting)}".lstrip() + (f", {turned}" if turned else "")
        return Cell(position, sign + mark, label, f"{look}{forbidden} {turned}".strip())

    def _turn(self, position: int) -> tuple[str, str]:
        """Whether the nugget was gained or lost."""
        if self.diff:
            if position in self.diff.gained_places:
                return "+", "gained"
            if position in self.diff.lost_places:
                return "−", "lost"
        return "", ""

    @property
    def evidence(self) -> dict[str, Any]:
        """What the map shows on demand. Of each nugget: its question, name, importance, description, whether it was
        gained or lost, how it stands, how it stood, numbers, the response, its words, plain and marked by turns, and
        what else spoke for the guess."""
        nuggets = []
        for i, (nugget, sighting) in enumerate(zip(self.key.nuggets, self.briefing.sightings, strict=True)):
            passage = sighting.passage
            numbers = ""
            if not sighting.known and sighting.score is not None:
                numbers = f"match {sighting.score:.2f}, threshold {self.briefing.scores.threshold[i]:.2f}"
            elif sighting.score is not None:
                numbers = f"match {sighting.score:.2f}"
            before = ""
            if self.diff:
                before = _outcome_in_words(
                    bool(self.diff.old.found[i]), bool(self.diff.old.known[i]), float(self.diff.old.probability[i])
                )
            where = f"response {passage.rank}{_docid(passage.docid)}" if passage else ""
            words = _turns(excerpt(passage, self.size)) if passage else []
            why = sighting.explanation
            lines = in_words(why, min(WHY, self.size)) if why and why.beyond_marks else []
            shown = (nugget.nugget, nugget.importance, beginning(nugget.descriptions[0], self.size))
            about = (_status(sighting), before, numbers, where)
            nuggets.append(
                [int(self.key.question[i]), *map(escaped, shown), self._turn(i)[1], *map(escaped, about), words, lines]
            )
        questions = [[escaped(q.qid), beginning(q.text, self.size)] for q in self.key.questions]
        return {"questions": questions, "nuggets": nuggets}

    @property
    def cut(self) -> int:
        """How many passages of the map are cut."""
        return sum(
            sighting.passage is not None and len(sighting.passage.text) > self.size
            for sighting in self.briefing.sightings
        )


def _status(sighting: Sighting) -> str:
    probability = float("nan") if sighting.probability is None else sighting.probability
    if sighting.contradicted:
        return "contradicted: the answer says the opposite, known"
    return _outcome_in_words(sighting.found, sighting.known, probability)


def _outcome_in_words(found: bool, known: bool, probability: float) -> str:
    word = "found" if found else "not found"
    if known:
        return f"{word}, known"
    return f"{word}, guessed" + ("" if np.isnan(probability) else f": {chance(probability)}")


def _turns(pieces: Sequence[Piece]) -> list[str]:
    """Pieces without their flags: plain and marked by turns, the first plain."""
    result = [""]
    for text, marked in pieces:
        if marked == (len(result) % 2 == 0):
            result[-1] += text
        else:
            result.append(text)
    return result


def _docid(docid: str | None) -> str:
    return f", {docid}" if docid else ""
