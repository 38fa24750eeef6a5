"""The evidence that the page shows on demand: the answers of both runs, and where in them each nugget was seen.

The page has it as JSON, in which nothing stands twice: neither an answer, however many nuggets point to it, nor a
response that both runs have, nor what is said of many nuggets. If all answers together are too long, only the passages
that nuggets point to are kept of the longest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.sightings import Passage, Sighting
from nuggeteer.history.briefing import Briefing
from nuggeteer.records import Ints, Run
from nuggeteer.reports.formatting import chance
from nuggeteer.reports.passages import LIKE, beginning, excerpt, in_words
from nuggeteer.text import escaped

ANSWERS = 3_000_000  # characters of all answers together
SIZE = 360  # characters of a passage where the answer is left out
WHY = 160  # characters of a line on why a nugget was guessed
WHITE = str.maketrans({"\r": None, "\t": " "})


class Evidence:
    """What the page's script reads. `cut` is how many answers are reduced to their passages."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing, self.key, self.diff, self._words = briefing, briefing.key, briefing.diff, _Numbered()
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
        """For each question: its id, text, and the answers of the new and the old run. For each nugget: its question,
        name, importance, description, whether it was gained or lost, and how it stands in the new run and the old. A
        number in place of words is their place among the `words`."""
        nuggets = [self._nugget(i) for i in range(len(self.key.nuggets))]
        lines = Counter(line for row in nuggets for side in row[5:] for line in _lines(side))
        repeated = _Numbered(line for line, count in lines.items() if count > 1)
        for row in nuggets:
            for side in row[5:]:
                _lines(side)[:] = [repeated.get(line, line) for line in _lines(side)]
        return {
            "questions": [self._question(q) for q in range(len(self.key.questions))],
            "nuggets": nuggets,
            "words": list(self._words),
            "lines": list(repeated),
        }

    def _question(self, q: int) -> list[Any]:
        question, sides = self.key.questions[q], [side[q].data for side in self._answers]
        if self.diff and not any(side[q].cut for side in self._answers):
            sides[1] = "same" if self.diff.identical[q] else _as_in(sides[0], sides[1])
        return [escaped(question.qid), beginning(question.text, 2 * SIZE), *sides]

    def _nugget(self, i: int) -> list[Any]:
        nugget, q = self.key.nuggets[i], int(self.key.question[i])
        description = beginning(nugget.descriptions[0], SIZE)
        row = [q, escaped(nugget.nugget), self._words[nugget.importance], description, self._words[turn(self.diff, i)]]
        return [*row, self._now(i, q), *([self._before(i, q)] if self.diff else [])]

    def _now(self, i: int, q: int) -> list[Any]:
        """How a nugget stands in the new run: what is said about it, the place of its passage, the match score and the
        threshold, and why it was guessed. Missing values at the end are left out."""
        sighting = self.briefing.sightings[i]
        side = [self._words[status(sighting)], self._answers[0][q].place(sighting.passage)]
        score = threshold = None
        if sighting.passage and sighting.score is not None:  # else nothing matches
            score = round(sighting.score, 2)
            threshold = self._threshold.get(i)
        why = sighting.why(LIKE) if sighting.why else None
        lines = in_words(why, WHY) if why and why.beyond_marks else None
        return _without_end([*side, score, threshold, lines])

    @cached_property
    def _threshold(self) -> dict[int, float]:
        """The thresholds, if any, of guessed nuggets that have a passage."""
        shown = [i for i, one in enumerate(self.briefing.sightings) if one.passage and not one.known]
        found = self.briefing.scores.thresholds_of(np.array(shown, dtype=np.int64))
        return {i: round(float(at), 2) for i, at in zip(shown, found, strict=True) if not np.isnan(at)}

    def _before(self, i: int, q: int) -> list[Any]:
        """How a nugget stood in the old run. It has a passage if one of the two runs has the nugget."""
        assert self.diff
        seen = self._seen_before.get(i)
        outcome = self.diff.old
        said = in_words_of(bool(outcome.found[i]), bool(outcome.known[i]), float(outcome.probability[i]))
        if seen:
            said = status(seen)
        return _without_end([self._words[said], self._answers[1][q].place(seen.passage) if seen else None])

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
        """The records, each with its docid if it has one; after a number, how long the answer is, if it is cut."""
        return [len(self.run.answer(self.question)), *self.records] if self.cut else self.records

    def place(self, passage: Passage | None) -> list[Any] | None:
        """Where a passage is: its record, beginning and end, those of each mark, and its rank."""
        if passage is None:
            return None
        if self.cut:
            pieces = excerpt(passage, SIZE)
            text = "".join(words for words, _ in pieces)
            record = self._passages.setdefault((passage.rank, text), len(self._passages))
            if record == len(self.records):
                self.records.append([text, escaped(passage.docid)] if passage.docid else [text])
            places = list(accumulate((_units(words) for words, _ in pieces), initial=0))
            marks = [at for i, (_, marked) in enumerate(pieces) if marked for at in places[i : i + 2]]
            return [record, 0, places[-1], marks, passage.rank]
        record = self._number[self._record_of[self._first + passage.rank - 1]]
        start = passage.start
        ends = [start, start + len(passage.text), *(start + end for mark in passage.marks for end in mark)]
        at = self._at(record, ends)
        return [record, *at[:2], at[2:], passage.rank]

    def _at(self, record: int, positions: Sequence[int]) -> list[int]:
        """Positions in a record's text as positions in what is shown of it, counted as browsers count."""
        if record not in self._offsets:
            text = self._texts[record]
            plain = "\r" not in text and text.replace("\n", "").isprintable() and max(text, default="") <= "\uffff"
            self._offsets[record] = None if plain else [0, *accumulate(_units(_shown(char)) for char in text)]
        moved = self._offsets[record]
        return list(positions) if moved is None else [moved[position] for position in positions]


class _Numbered(dict[str, int]):
    """Words with a number each, by the order in which they are first asked for."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        super().__init__((word, number) for number, word in enumerate(words))

    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        return self[word]


def _without_end(side: list[Any]) -> list[Any]:
    """Without missing values at the end."""
    while side[-1] is None:
        side.pop()
    return side


def _lines(side: list[Any]) -> list[Any]:
    """Why a nugget was guessed."""
    return side[4] if len(side) > 4 else []


def _as_in(new: list[Any], old: list[Any]) -> list[Any]:
    """The records of an old answer, with the number of an equal record of the new one in place of its text."""
    numbers = {tuple(record): number for number, record in enumerate(new)}
    return [[numbers[key]] if (key := tuple(record)) in numbers else record for record in old]


def _record(text: str, docid: str | None) -> list[str]:
    return [_shown(text), escaped(docid)] if docid else [_shown(text)]


def _shown(text: str) -> str:
    """A text with its line breaks. What it makes of a character does not depend on the others."""
    return "\n".join(map(escaped, text.translate(WHITE).split("\n")))


def _units(text: str) -> int:
    """The length of a text by browsers' count."""
    return len(text) + sum(char > "\uffff" for char in text)


def _longest_whole(lengths: Ints, most: int) -> int:
    """The length of the longest answer that stays whole, if the whole ones together may have at most so many
    characters."""
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
