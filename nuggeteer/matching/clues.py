"""What the words of a text say about each nugget of its question: the match score of the default matcher, and its
clues.

Words are stems. A stem of a description weighs its idf times its informativeness, as in the n-gram matcher: the share
of the question's other nuggets that do not have it.

- `window`, the match score: the share of a description's weight that stands together in a text, in the best window of
  twice as many words as the description has. In a long text, these words stand in many places. They say what the
  description says only if they stand together.
- `order`: the share of the description's pairs of neighbours that the text has in this order, at most three words
  apart.
- `density`: the weight of the description's words (by idf alone) for each word of the text.
- `asked`: the share of the description that the question itself has. Every answer repeats that.
- `names`: the share of the description that is names, and that the text lacks.
- `numbers`: 1 if the text lacks a number of the description.

If there are several descriptions, the one with the best window counts. Everything is computed for many texts at once,
from the places where a text has a word of a description (`_Hits`), in time that grows with the number of words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from nuggeteer.languages import Language
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.word_numbers import UNKNOWN, NumberedWords
from nuggeteer.records import AnswerKey, Ints, Nugget, Vector, ragged
from nuggeteer.settings import Match
from nuggeteer.text import normalised

CLUES: Final = ("window", "order", "density", "asked", "names", "numbers")
WINDOW = 2  # times as many words as the description has
APART = 3  # words between which neighbours may still stand
CHUNK = 1024  # texts at once: their arrays fit the processor's cache
_number = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")
_word = re.compile(r"\w+")


@dataclass(frozen=True)
class _Description:
    """One description: its stems, each with its weights, and what else its clues need."""

    stems: list[str]
    idf: Vector
    share: Vector  # of the whole weight, by idf and informativeness
    names: Vector  # of the whole idf, of stems that are names
    asked: float
    words: int
    pairs: dict[tuple[int, int], float]  # neighbours, by their places among the stems
    numbers: frozenset[str]


class ClueTables:
    """The descriptions of a key's nuggets, as arrays. A *slot* is a stem of a description."""

    def __init__(self, key: AnswerKey, settings: Match, idf: Idf | None) -> None:
        self._key, self._language = key, Language(settings.language)
        self._idf = idf
        by_nugget = [described for question, own in key for described in self._descriptions(question.text, own)]
        descriptions = [one for own in by_nugget for one in own]
        counts = np.array([len(own) for own in by_nugget], dtype=np.int64)
        begins = np.concatenate([[0], np.cumsum(counts)])
        self.first: Ints = begins[key.offsets]  # the first description of each question
        self.nugget_begin: Ints = begins[:-1]
        self.single = bool((counts <= 1).all())
        sizes = np.array([len(one.stems) for one in descriptions], dtype=np.int64)
        self.slot_begin: Ints = np.concatenate([[0], np.cumsum(sizes)])
        self.share = _joined([one.share for one in descriptions])
        self.idf = _joined([one.idf for one in descriptions])
        self.names = _joined([one.names for one in descriptions])
        self.reach = np.array([WINDOW * one.words for one in descriptions], dtype=np.int64)
        self.asked = np.array([one.asked for one in descriptions])
        self.all_names = np.array([one.names.sum() for one in descriptions])
        self.numbers = {i: one.numbers for i, one in enumerate(descriptions) if one.numbers}
        stems = [stem for one in descriptions for stem in one.stems]
        self.stem = {stem: number for number, stem in enumerate(sorted(set(stems)))}
        # A stem of a question's descriptions has a code, and the slots that have it.
        question_of = np.repeat(np.arange(len(key.questions)), np.diff(self.first))
        slot_question = np.repeat(question_of, sizes)
        code = slot_question * len(self.stem) + np.array([self.stem[stem] for stem in stems], dtype=np.int64)
        self.slots = np.argsort(code, kind="stable")
        self.codes, self.code_begin = np.unique(code[self.slots], return_index=True)
        self.code_begin = np.append(self.code_begin, len(code))
        self.description_of_slot = np.repeat(np.arange(len(descriptions)), sizes)
        pairs = sorted(
            (int(begin) + one_place, int(begin) + other, weight)
            for begin, one in zip(self.slot_begin, descriptions, strict=False)
            for (one_place, other), weight in one.pairs.items()
        )
        self.pair_codes = np.array([a * len(stems) + b for a, b, _ in pairs], dtype=np.int64)
        self.pair_weight = np.array([weight for _, _, weight in pairs])
        self.has_pairs = np.array([bool(one.pairs) for one in descriptions], dtype=bool)

    def _descriptions(self, question: str, nuggets: Sequence[Nugget]) -> list[list[_Description]]:
        asked = set(self._stems(question))
        stems = [[self._stems(text) for text in nugget.descriptions] for nugget in nuggets]
        having: dict[str, int] = {}
        for own in stems:
            for stem in set().union(*own):
                having[stem] = having.get(stem, 0) + 1
        informative = {stem: 1 - (count - 1) / len(nuggets) for stem, count in having.items()}
        return [
            [
                self._description(text, own, informative, asked)
                for text, own in zip(nugget.descriptions, of, strict=True)
            ]
            for nugget, of in zip(nuggets, stems, strict=True)
        ]

    def _description(
        self, text: str, stems: list[str], informative: Mapping[str, float], asked: set[str]
    ) -> _Description:
        place = {stem: number for number, stem in enumerate(dict.fromkeys(stems))}
        written = normalised(text)
        weight: dict[str, float] = {}
        for word, stem in zip(self._language.find(written), stems, strict=True):
            weight[stem] = max(weight.get(stem, 0.0), 1.0 if self._idf is None else float(self._idf[word]))
        idf = np.array([weight[stem] for stem in place])
        whole = max(float(idf.sum()), 1e-9)
        share = idf * np.array([informative[stem] for stem in place])
        if share.sum() <= 0:  # other nuggets have all of its words
            share = idf
        raw = _word.findall(text)[1:]  # the capital of a sentence's first word does not make it a name
        named = {stem for word in raw if word[:1].isupper() and len(word) > 1 for stem in self._stems(word)}
        pairs = {(place[a], place[b]): (weight[a] + weight[b]) / 2 for a, b in pairwise(stems) if a != b}
        of_pairs = sum(pairs.values()) or 1.0
        return _Description(
            list(place),
            idf,
            share / max(float(share.sum()), 1e-9),
            np.array([weight[stem] / whole if stem in named else 0.0 for stem in place]),
            float(sum(weight[stem] for stem in place if stem in asked) / whole),
            len(stems),
            {pair: value / of_pairs for pair, value in pairs.items()},
            frozenset(number.replace(",", "") for number in _number.findall(written)),
        )

    def _stems(self, text: str) -> list[str]:
        return list(map(self._language.stem, self._language.find(normalised(text))))

    @cached_property
    def _numbers(self) -> NumberedWords:
        return NumberedWords(self._language, lambda word: self.stem.get(self._language.stem(word), UNKNOWN))

    def clues(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Vector:
        """For each normalised text and each nugget of its question, one after the other: pairs × CLUES."""
        parts = [self._chunk(texts[i : i + CHUNK], question[i : i + CHUNK]) for i in range(0, len(texts), CHUNK)]
        return np.concatenate(parts) if parts else np.zeros((0, len(CLUES)), dtype=np.float32)

    def _chunk(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Vector:
        stems, lengths = self._numbers.of(texts)
        first = self.first[question]
        begin, description = ragged(first, self.first[question + 1] - first)
        hits = _Hits.of(self, stems, lengths, question, begin[:-1] - first)
        size = len(description)
        result = np.zeros((size, len(CLUES)), dtype=np.float32)
        result[:, 0] = hits.best_window(self, size)
        result[:, 1] = np.where(self.has_pairs[description], hits.in_order(self, size), result[:, 0])
        slots = hits.present
        weight, names = (np.bincount(slots.group, table[slots.slot], size) for table in (self.idf, self.names))
        result[:, 2] = weight / np.repeat(np.maximum(lengths, 1), np.diff(begin))
        result[:, 3] = self.asked[description]
        result[:, 4] = self.all_names[description] - names
        result[:, 5] = self._lacking_numbers(texts, begin, description)
        if self.single or not size:
            return result
        starts = self._nugget_starts(question, begin)
        return result[_first_best(result[:, 0], starts)]

    def _lacking_numbers(self, texts: Sequence[str], begin: Ints, description: Ints) -> Vector:
        result = np.zeros(len(description))
        if not self.numbers:
            return result
        wanted = np.flatnonzero(np.isin(description, np.fromiter(self.numbers, np.int64)))
        text = np.searchsorted(begin, wanted, side="right") - 1
        found: dict[int, set[str]] = {}
        for place, row in zip(wanted.tolist(), text.tolist(), strict=True):
            if row not in found:
                found[row] = {number.replace(",", "") for number in _number.findall(texts[row])}
            result[place] = not self.numbers[int(description[place])] <= found[row]
        return result

    def _nugget_starts(self, question: npt.NDArray[np.signedinteger], begin: Ints) -> Ints:
        counts = self._key.counts[question]
        _, nugget = ragged(self._key.offsets[question], counts)
        text = np.repeat(np.arange(len(question)), counts)
        return np.asarray(begin[text] + self.nugget_begin[nugget] - self.first[question[text]])

    @cached_property
    def stem_of_slot(self) -> list[str]:
        numbered = sorted(self.stem, key=self.stem.__getitem__)
        of = np.empty(len(self.slots), dtype=np.int64)
        of[self.slots] = np.repeat(self.codes % max(len(self.stem), 1), np.diff(self.code_begin))
        return [numbered[number] for number in of.tolist()]

    def words_of(self, nugget: int) -> list[dict[str, float]]:
        """For each description of a nugget, its stems and what each adds to the window."""
        end = len(self.slot_begin) - 1 if nugget + 1 == len(self.nugget_begin) else int(self.nugget_begin[nugget + 1])
        return [
            {self.stem_of_slot[slot]: float(self.share[slot]) for slot in range(*self.slot_begin[i : i + 2].tolist())}
            for i in range(int(self.nugget_begin[nugget]), end)
        ]


@dataclass(frozen=True)
class _Present:
    """Slots that a text has, each once: the (text, description), and the slot."""

    group: Ints
    slot: Ints


@dataclass(frozen=True)
class _Hits:
    """Where texts have words of descriptions, in the order of `group`, a (text, description), and of `place`, the
    number of the word in its text. `before` is the number of the hit before it with the same slot and group, −1 if
    there is none."""

    group: Ints
    place: Ints
    slot: Ints
    before: Ints

    @classmethod
    def of(cls, tables: ClueTables, stems: Ints, lengths: Ints, question: Ints, origin: Ints) -> _Hits:
        at = np.flatnonzero(stems >= 0)
        text = np.repeat(np.arange(len(lengths)), lengths)[at]
        place = at - (np.cumsum(lengths) - lengths)[text]
        code = question[text].astype(np.int64) * len(tables.stem) + stems[at]
        where = np.searchsorted(tables.codes, code)
        inside = where < len(tables.codes)
        inside[inside] = tables.codes[where[inside]] == code[inside]
        text, place, where = text[inside], place[inside], where[inside]
        count = tables.code_begin[where + 1] - tables.code_begin[where]
        slot = tables.slots[ragged(tables.code_begin[where], count)[1]]
        text, place = np.repeat(text, count), np.repeat(place, count)
        group = origin[text] + tables.description_of_slot[slot]
        order = np.argsort(group, kind="stable")
        group, place, slot = group[order], place[order], slot[order]
        by_slot = np.lexsort((np.arange(len(slot)), slot, group))
        before = np.full(len(slot), -1, dtype=np.int64)
        same = (np.diff(slot[by_slot]) == 0) & (np.diff(group[by_slot]) == 0)
        before[by_slot[1:][same]] = by_slot[:-1][same]
        return cls(group, place, slot, before)

    @cached_property
    def present(self) -> _Present:
        first = self.before < 0
        return _Present(self.group[first], self.slot[first])

    def best_window(self, tables: ClueTables, size: int) -> Vector:
        """For each group, the largest share of its description in a window that begins at a hit."""
        share = tables.share[self.slot]
        total = share.copy()
        end = self.place + tables.reach[tables.description_of_slot[self.slot]]
        begin, hit = np.arange(len(share)), np.arange(len(share))
        while len(begin):
            hit = hit + 1
            kept = hit < len(share)
            begin, hit = begin[kept], hit[kept]
            kept = (self.group[hit] == self.group[begin]) & (self.place[hit] < end[begin])
            begin, hit = begin[kept], hit[kept]
            new = self.before[hit] < begin
            total[begin[new]] += share[hit[new]]
        result = np.zeros(size)
        np.maximum.at(result, self.group, total)
        return np.minimum(result, 1.0)

    def in_order(self, tables: ClueTables, size: int) -> Vector:
        """For each group, the share of its description's pairs of neighbours that the text has in their order."""
        found: list[Ints] = []
        begin, hit = np.arange(len(self.slot)), np.arange(len(self.slot))
        slots = len(tables.slots)
        while len(begin):
            hit = hit + 1
            kept = hit < len(self.slot)
            begin, hit = begin[kept], hit[kept]
            kept = (self.group[hit] == self.group[begin]) & (self.place[hit] <= self.place[begin] + APART)
            begin, hit = begin[kept], hit[kept]
            code = self.slot[begin] * slots + self.slot[hit]
            where = np.searchsorted(tables.pair_codes, code)
            known = (self.place[hit] > self.place[begin]) & (where < len(tables.pair_codes))
            known[known] = tables.pair_codes[where[known]] == code[known]
            found.append(self.group[begin[known]] * len(tables.pair_codes) + where[known])
        codes = np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
        group, pair = np.divmod(codes, max(len(tables.pair_codes), 1))
        return np.asarray(np.bincount(group, tables.pair_weight[pair], size), dtype=float)


def _joined(parts: Sequence[Vector]) -> Vector:
    return np.concatenate(parts) if parts else np.zeros(0)


def _first_best(values: Vector, starts: Ints) -> Ints:
    """The place of the first largest value of each sequence."""
    best = np.maximum.reduceat(values, starts)
    owner = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(values))))
    hits = np.flatnonzero(values == best[owner])
    return hits[np.unique(owner[hits], return_index=True)[1]]
