"""The evidence that the page shows on demand: the answers of both runs, and where in them each nugget was seen.

It stands in the page as JSON. An answer stands there once, however many nuggets point to it. If all answers together
are too long, those of the longest are left out but for the passages that nuggets point to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.sightings import Passage, Sighting
from nuggeteer.history.briefing import Briefing
from nuggeteer.records import Ints, Run
from nuggeteer.reports.explanation import LIKE, in_words
from nuggeteer.reports.formatting import chance
from nuggeteer.reports.passages import beginning, excerpt
from nuggeteer.text import escaped

ANSWERS = 3_000_000  # characters of all answers together
SIZE = 360  # characters of a passage where the answer is left out
WHY = 160  # characters of a line on why a nugget was guessed
WHITE = str.maketrans({"\r": None, "\t": " "})


class Evidence:
    """What the page's script reads. `cut` is how many answers are left out but for their passages."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing, self.key, self.diff = briefing, briefing.key, briefing.diff
        runs = [briefing.new.run, *([self.diff.old_run] if self.diff else [])]
        lengths = [np.array([len(run.answer(q)) for q in range(len(self.key.questions))]) for run in runs]
        most = _longest_whole(np.concatenate(lengths), ANSWERS)
        self._answers = [
            [_Answer(run, q, bool(own[q] > most)) for q in range(len(own))]
            for run, own in zip(runs, lengths, strict=True)
        ]

    @property
    def cut(self) -> int:
        return sum(answer.cut for side in self._answers for answer in side)

    @cached_property
    def data(self) -> dict[str, Any]:
        """Of each question: its id, text, and the answers of the new and the old run. Of each nugget: its question,
        name, importance, description, whether it was gained or lost, and how it stands in the new run and the old."""
        nuggets = [self._nugget(i) for i in range(len(self.key.nuggets))]
        questions = []
        for q, question in enumerate(self.key.questions):
            sides = [side[q].data for side in self._answers]
            if self.diff and self.diff.identical[q] and not any(side[q].cut for side in self._answers):
                sides[1] = "same"
            questions.append([escaped(question.qid), beginning(question.text, 2 * SIZE), *sides])
        return {"questions": questions, "nuggets": nuggets}

    def _nugget(self, i: int) -> list[Any]:
        nugget, sighting, q = self.key.nuggets[i], self.briefing.sightings[i], int(self.key.question[i])
        numbers = ""
        if not sighting.known and sighting.score is not None:
            numbers = f"match {sighting.score:.2f}, threshold {self.briefing.scores.threshold[i]:.2f}"
        elif sighting.score is not None:
            numbers = f"match {sighting.score:.2f}"
        why = sighting.why(LIKE) if sighting.why else None
        lines = in_words(why, WHY) if why and why.beyond_marks else []
        new = [status(sighting), numbers, self._answers[0][q].place(sighting.passage), lines]
        about = map(escaped, (nugget.nugget, nugget.importance, beginning(nugget.descriptions[0], SIZE)))
        row = [q, *about, turn(self.diff, i), new]
        return [*row, self._before(i, q)] if self.diff else row

    def _before(self, i: int, q: int) -> list[Any]:
        """How a nugget stood in the old run. It has a passage if one of the two runs has the nugget."""
        assert self.diff
        seen = self._seen_before.get(i)
        outcome = self.diff.old
        said = in_words_of(bool(outcome.found[i]), bool(outcome.known[i]), float(outcome.probability[i]))
        if seen:
            said = status(seen)
        return [said, "", self._answers[1][q].place(seen.passage) if seen else None, []]

    @cached_property
    def _seen_before(self) -> dict[int, Sighting]:
        assert self.diff
        changes = (*self.diff.lost, *self.diff.gained, *self.diff.doubtful, *self.diff.kept)
        return {self.key.counted_position[c.question.qid, c.nugget.nugget]: c.old for c in changes}


@dataclass
class _Answer:
    """An answer to one question: its records as they are shown; if it is cut, its passages instead."""

    run: Run
    question: int
    cut: bool
    records: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._first, last = (int(at) for at in self.run.offsets[self.question : self.question + 2])
        self._offsets: dict[int, list[int] | None] = {}
        self._passages: dict[tuple[int, str], int] = {}
        responses, parts = range(self._first, last), self.run.parts
        # The record of each response, and the first response of each record.
        self._record_of = {i: i if parts is None else int(parts.record[i]) for i in responses}
        firsts = {record: i for i, record in reversed(self._record_of.items())}
        self._number = {record: number for number, record in enumerate(sorted(firsts))}
        every = self.run.texts if parts is None else parts.records
        self._texts = [every[record] for record in self._number]
        if not self.cut:
            docids = (self.run.docid(firsts[record]) for record in self._number)
            self.records = [_record(text, docid) for text, docid in zip(self._texts, docids, strict=True)]

    @property
    def data(self) -> Any:
        """The records, each with its docid if it has one; behind a number, how long the answer is, if it is cut."""
        return [len(self.run.answer(self.question)), *self.records] if self.cut else self.records

    def place(self, passage: Passage | None) -> list[Any] | None:
        """Where a passage is: its record, beginning and end, those of each mark, and what the passage is called."""
        if passage is None:
            return None
        docid = escaped(passage.docid) if passage.docid else ""
        name = f"response {passage.rank}" + (f", {docid}" if docid else "")
        if self.cut:
            pieces = excerpt(passage, SIZE)
            text = "".join(words for words, _ in pieces)
            record = self._passages.setdefault((passage.rank, text), len(self._passages))
            if record == len(self.records):
                self.records.append([text, docid] if docid else [text])
            places = list(accumulate((_units(words) for words, _ in pieces), initial=0))
            marks = [at for i, (_, marked) in enumerate(pieces) if marked for at in places[i : i + 2]]
            return [record, 0, places[-1], marks, name]
        record = self._number[self._record_of[self._first + passage.rank - 1]]
        start = len(passage.before)
        ends = [start, start + len(passage.text), *(start + end for mark in passage.marks for end in mark)]
        at = self._at(record, ends)
        return [record, *at[:2], at[2:], name]

    def _at(self, record: int, positions: Sequence[int]) -> list[int]:
        """Positions in a record's text as positions in what is shown of it, counted as browsers count."""
        if record not in self._offsets:
            text = self._texts[record]
            plain = "\r" not in text and text.replace("\n", "").isprintable() and max(text, default="") <= "\uffff"
            self._offsets[record] = None if plain else [0, *accumulate(_units(_shown(char)) for char in text)]
        moved = self._offsets[record]
        return list(positions) if moved is None else [moved[position] for position in positions]


def _record(text: str, docid: str | None) -> list[str]:
    return [_shown(text), escaped(docid)] if docid else [_shown(text)]


def _shown(text: str) -> str:
    """A text with its line breaks. What it makes of a character does not depend on the others."""
    return "\n".join(map(escaped, text.translate(WHITE).split("\n")))


def _units(text: str) -> int:
    """How long browsers take a text to be."""
    return len(text) + sum(char > "\uffff" for char in text)


def _longest_whole(lengths: Ints, most: int) -> int:
    """The longest answer that stays whole, if those that do have at most so many characters together."""
    lengths = np.sort(lengths)
    ends = np.flatnonzero(np.diff(lengths, append=-1))  # the last of each length
    fits = ends[np.cumsum(lengths)[ends] <= most]
    return int(lengths[fits[-1]]) if len(fits) else 0


def turn(diff: Diff | None, position: int) -> str:
    """Whether the nugget was gained or lost."""
    if diff and position in diff.gained_places:
        return "gained"
    return "lost" if diff and position in diff.lost_places else ""


def status(sighting: Sighting) -> str:
    """How a nugget stands, in words."""
    probability = float("nan") if sighting.probability is None else sighting.probability
    if sighting.contradicted:
        return "contradicted: the answer says the opposite, known"
    return in_words_of(sighting.found, sighting.known, probability)


def in_words_of(found: bool, known: bool, probability: float) -> str:
    word = "found" if found else "not found"
    if known:
        return f"{word}, known"
    return f"{word}, guessed" + ("" if np.isnan(probability) else f": {chance(probability)}")
