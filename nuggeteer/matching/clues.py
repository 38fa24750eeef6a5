"""What speaks for and against a nugget in a text: its description, and texts that humans judged.

Each clue is one number for a (text, nugget) pair. Those of the description are what share of its words a text has, and
how telling the words are that it lacks. Those of judged texts ask: how like the text are texts that carry the nugget,
and how like are those that do not; which words do the first have and the others not; which words of the description
can a text lack and still carry the nugget. Judged texts of the text's own group never speak, so that a clue is worth
as much on a system that nobody judged.

Words are stems; a word and a pair of neighbours are a gram. docs/understanding/learned-matcher.md has the formulas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import mul

import numpy as np
from scipy.sparse import csr_array

from nuggeteer.matching.idf import Idf
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.text import find_words, matching_form

CLUES = (
    "recall",  # of the description's words, by idf
    "match",  # the n-gram matcher's score
    "missing",  # idf of the most telling word of the description that the text lacks
    "numbers missing",  # the description has numbers, and the text not all of them
    "numbers there",
    "base rate",  # of the nugget in other groups' texts, as log odds
    "yes texts",  # how many carry the nugget, as a logarithm
    "like yes",  # log of the similarities to texts that carry it, summed; squared, so that all count a little
    "very like yes",  # to the sixth power, so that the nearest count
    "very like no",
    "same as no",  # to the twentieth: texts that are all but the same
    "vote",  # of the texts that are like it
    "regression",  # kernel ridge regression of the verdicts on the texts
    "telling words",  # mean log odds of the three words that tell most for the nugget
    "description words",  # log odds of each word of the description, there or not
)
NEVER = 1e-6  # a similarity that is none
RIDGE = 0.3
LARGEST = 1500  # judged texts of a question that are compared with; more would take the cube of time
TELLING = 3
SLICE = 256  # texts whose clues are worked out at once

_number = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")


@dataclass(frozen=True)
class TextGrams:
    """A text as grams with weights, and its numbers."""

    grams: dict[str, float]
    numbers: frozenset[str]


class GramReader:
    """Makes `Words` of texts."""

    def __init__(self, idf: Idf | None) -> None:
        self._idf = idf
        self._forms = _StemWeights(idf)

    def __call__(self, text: str) -> TextGrams:
        """`text` in the form in which texts are compared."""
        text = matching_form(text)
        found = list(map(self._forms.__getitem__, find_words(text)))
        grams: dict[str, float] = {}
        for stem, weight in found:
            grams.setdefault(stem, weight)
        for (one, weight), (two, other) in pairwise(found):
            grams.setdefault(f"{one} {two}", (weight + other) / 2)
        return TextGrams(grams, frozenset(number.replace(",", "") for number in _number.findall(text)))

    def __reduce__(self) -> tuple[type[GramReader], tuple[Idf | None]]:
        return GramReader, (self._idf,)  # a stemmer does not travel to workers

    def stem(self, word: str) -> str:
        return self._forms[word][0]


class _StemWeights(dict[str, tuple[str, float]]):
    """The stem and the weight of a word, worked out once a word."""

    def __init__(self, idf: Idf | None) -> None:
        import Stemmer

        self._stem, self._idf = Stemmer.Stemmer("english").stemWord, idf

    def __missing__(self, word: str) -> tuple[str, float]:
        form = self[word] = self._stem(word), 1.0 if self._idf is None else float(self._idf[word])
        return form


@dataclass(frozen=True)
class ClueBreakdown:
    """What is behind the clues of one pair, as log odds: the grams that tell most, the words of the description that
    the text has, and those that it lacks. Then judged texts, by their places, with how like they are and whether they
    carry the nugget; the most like first."""

    telling: dict[str, float]
    there: dict[str, float]
    lacking: dict[str, float]
    near: list[tuple[int, float, bool]]


class QuestionClues:
    """The nuggets of a question and the texts that humans judged for them.

    `yes` and `decided` are texts × nuggets; `group` is of each text."""

    def __init__(
        self,
        descriptions: Sequence[Sequence[TextGrams]],
        texts: Sequence[TextGrams],
        group: Ints,
        decided: Bools,
        yes: Bools,
    ) -> None:
        self._nuggets = _Descriptions(descriptions)
        self._texts, self._group = texts, group
        self._told = _told(group, np.any(yes & decided, axis=1))
        self._decided = decided[self._told].astype(float)
        self._yes = (yes & decided)[self._told].astype(float)
        # In an order of their own, so that sums over grams do not hang on who else said what.
        grams = sorted({gram for i in self._told.tolist() for gram in texts[i].grams})
        self._number = {gram: number for number, gram in enumerate(grams)}
        self._vectors = self._as_vectors([texts[i] for i in self._told])
        self._there = self._nuggets.words_of([texts[i] for i in self._told])

    def judged(self, hidden: Ints) -> Vector:
        """texts × nuggets × CLUES of the judged texts: what other groups' texts say, but those of `hidden` groups."""
        return self._clues(self._judged, self._group, hidden)

    def clues(self, texts: Sequence[TextGrams]) -> Vector:
        """texts × nuggets × CLUES of any texts. The match score is left for others to fill in."""
        nobody = np.full(len(texts), -1)
        parts = [
            self._clues(self._seen(texts[i : i + SLICE]), nobody[i : i + SLICE], nobody[:0])
            for i in range(0, len(texts), SLICE)
        ]
        return np.concatenate(parts)

    def breakdown(self, words: TextGrams, nugget: int) -> ClueBreakdown:
        """What a text says of a nugget of this question, and which judged texts spoke."""
        seen = self._seen([words])
        decided, yes = self._decided[:, nugget], self._yes[:, nugget]
        count, found = decided.sum(), yes.sum()
        base = (found + 0.5) / (count + 1)

        def odds(some: Vector, all_: Vector) -> Vector:
            return _log_odds((some + 2 * base) / (all_ + 2)) - _log_odds(base)

        has, names = _ones(self._vectors).T, list(self._number)
        said = odds(has @ yes, has @ decided)
        telling = sorted(seen.vectors.indices.tolist(), key=lambda gram: -said[gram])[:TELLING]

        own = self._nuggets.best_words(seen.described, nugget)
        there = self._there[:, own]
        having, having_yes = there.T @ decided, there.T @ yes
        with_it, without = odds(having_yes, having), odds(found - having_yes, count - having)
        described: tuple[dict[str, float], dict[str, float]] = {}, {}
        for i, gram in enumerate(self._nuggets.words[own]):
            has_it = bool(seen.described[0, own][i])
            described[not has_it][gram] = float((with_it if has_it else without)[i])

        like = (seen.vectors @ self._vectors.T).toarray()[0]
        near = [i for i in np.argsort(-like, kind="stable").tolist() if decided[i] and like[i] > 0]
        return ClueBreakdown(
            {names[gram]: float(said[gram]) for gram in telling if said[gram] > 0},
            *described,
            [(int(self._told[i]), float(like[i]), bool(yes[i])) for i in near],
        )

    @cached_property
    def _judged(self) -> _Seen:
        return self._seen(self._texts)

    def _seen(self, texts: Sequence[TextGrams]) -> _Seen:
        return _Seen(texts, self._as_vectors(texts), self._nuggets.words_of(texts))

    def _clues(self, seen: _Seen, group: Ints, hidden: Ints) -> Vector:
        groups, number = np.unique(group, return_inverse=True)
        told_group = self._group[self._told]
        shown = ~np.isin(told_group, hidden)
        others = _Others(groups, told_group, shown)
        decided, yes = self._decided, self._yes
        count, found = others.sums(decided), others.sums(yes)  # groups × nuggets
        base = (found + 0.5) / (count + 1)

        result = np.zeros((len(group), self._nuggets.size, len(CLUES)))
        clue = dict(zip(CLUES, np.moveaxis(result, 2, 0), strict=True))  # views
        clue["base rate"][:] = _log_odds(base)[number]
        clue["yes texts"][:] = np.log1p(found)[number]

        nugget = self._nuggets.nugget_of_word
        having = others.sums(decided[:, nugget] * self._there)
        having_yes = others.sums(yes[:, nugget] * self._there)
        odds = [
            _log_odds((some + 2 * base[:, nugget]) / (all_ + 2)) - _log_odds(base[:, nugget])
            for some, all_ in ((having_yes, having), (found[:, nugget] - having_yes, count[:, nugget] - having))
        ]
        self._nuggets.describe(clue, seen, odds[0][number], odds[1][number])

        like = (seen.vectors @ self._vectors.T).toarray()
        near = like * (shown & (told_group != group[:, None]))
        self._compare(clue, near, base[number])
        clue["regression"][:] = self._regress(like, group, number, told_group, shown, base)
        self._tell(clue["telling words"], seen.vectors, number, others, base)
        return result

    def _as_vectors(self, texts: Sequence[TextGrams]) -> csr_array:
        """texts × grams, of length 1 each; grams that no judged text has only count for the length."""
        columns: list[int] = []
        values: list[float] = []
        norms, ends = [], [0]
        for words in texts:
            weights = words.grams.values()
            norms.append(sum(map(mul, weights, weights)) ** 0.5 or 1.0)
            known = [gram for gram in words.grams if gram in self._number]
            columns.extend(map(self._number.__getitem__, known))
            values.extend(map(words.grams.__getitem__, known))
            ends.append(len(columns))
        shape = (len(texts), len(self._number))
        weight = np.array(values) / np.repeat(norms, np.diff(ends))
        result = csr_array((weight, np.array(columns, dtype=np.int32), np.array(ends)), shape=shape)
        result.sort_indices()
        return result

    def _compare(self, clue: Mapping[str, Vector], like: Vector, base: Vector) -> None:
        square = like * like
        sixth = square * square * square
        clue["like yes"][:] = np.log(_times(square, self._yes) + NEVER)
        yes, both = _times(sixth, self._yes), _times(sixth, self._decided)
        clue["very like yes"][:] = np.log(yes + NEVER)
        clue["very like no"][:] = np.log(np.maximum(both - yes, 0.0) + NEVER)
        clue["vote"][:] = (yes + 0.01 * base) / (both + 0.01)
        twentieth = sixth * sixth * sixth * square
        clue["same as no"][:] = np.log(np.maximum(_times(twentieth, self._decided - self._yes), 0.0) + NEVER)

    def _regress(self, like: Vector, group: Ints, number: Ints, told_group: Ints, shown: Bools, base: Vector) -> Vector:
        """Kernel ridge regression of the verdicts, less the base rate, on all shown texts of other groups."""
        place = np.flatnonzero(shown)
        kernel = (self._vectors[place] @ self._vectors[place].T).toarray()
        inverse = np.linalg.inv(kernel + RIDGE * np.eye(len(place)))
        of_yes, of_all = inverse @ self._yes[place], inverse @ self._decided[place]
        result = np.empty((len(group), base.shape[1]))
        for one in range(len(base)):
            rows = np.flatnonzero(number == one)
            weights = of_yes - of_all * base[one]
            own = np.flatnonzero(told_group[place] == group[rows[0]])
            if len(own):  # taken out of the inverse
                weights -= inverse[:, own] @ np.linalg.solve(inverse[np.ix_(own, own)], weights[own])
                weights[own] = 0.0
            result[rows] = _times(like[np.ix_(rows, place)], weights) + base[one]
        return result

    def _tell(self, result: Vector, vectors: csr_array, number: Ints, others: _Others, base: Vector) -> None:
        """The mean of the three grams that tell most, of each text and nugget. One that nobody else has tells nothing,
        and of such there are always enough."""
        has = _ones(self._vectors)
        shown = np.flatnonzero(others.shown)
        count, yes = (has[shown].T @ values[shown] for values in (self._decided, self._yes))
        for one in range(len(base)):
            n, y = count.copy(), yes.copy()
            for text in others.own(one).tolist():
                grams = has.indices[has.indptr[text] : has.indptr[text + 1]]
                n[grams] -= self._decided[text]
                y[grams] -= self._yes[text]
            odds = np.maximum(_log_odds((y + 2 * base[one]) / (n + 2)) - _log_odds(base[one]), 0.0)
            for row in np.flatnonzero(number == one).tolist():
                told = odds[vectors.indices[vectors.indptr[row] : vectors.indptr[row + 1]]]
                if len(told) > TELLING:
                    told = np.partition(told, len(told) - TELLING, axis=0)[-TELLING:]
                result[row] = told.sum(axis=0) / TELLING


def _told(group: Ints, carrying: Bools) -> Ints:
    """The texts that others are compared with: all, or `LARGEST` taken evenly from the groups, of each those first
    that carry something. What was said of one group decides nothing about the texts of another."""
    order = np.argsort(~carrying, kind="stable")
    place = np.empty(len(group), dtype=np.int64)  # of a text within its group
    for one in np.unique(group):
        own = order[group[order] == one]
        place[own] = np.arange(len(own))
    return np.sort(np.lexsort((group, place))[:LARGEST])


def _times(one: Vector, other: Vector) -> Vector:
    """The product of two matrices row by row, so that a row's last bits do not hang on the rows beside it."""
    return np.asarray((one[:, None, :] @ other)[:, 0])


@dataclass(frozen=True)
class _Seen:
    """Texts as a field sees them: texts × grams, and texts × words of descriptions."""

    texts: Sequence[TextGrams]
    vectors: csr_array
    described: Vector


@dataclass(frozen=True)
class _Others:
    """Sums over the told texts, for each of `groups` without its own; `shown` are those that may speak."""

    groups: Ints
    told_group: Ints
    shown: Bools

    def own(self, number: int) -> Ints:
        """The told texts of a group that would have spoken."""
        return np.flatnonzero(self.shown & (self.told_group == self.groups[number]))

    def sums(self, values: Vector) -> Vector:
        """groups × columns of told texts × columns."""
        total = values[self.shown].sum(axis=0)
        return np.stack([total - values[self.own(i)].sum(axis=0) for i in range(len(self.groups))])


class _Descriptions:
    """The descriptions of a question's nuggets, and their single words, one after the other."""

    def __init__(self, descriptions: Sequence[Sequence[TextGrams]]) -> None:
        self.size = len(descriptions)
        self._flat = [words for own in descriptions for words in own]
        counts = np.array([len(own) for own in descriptions])
        self._first = np.cumsum(counts) - counts
        self._single = bool((counts == 1).all())
        words = [[gram for gram in own.grams if " " not in gram] for own in self._flat]
        lengths = np.array([len(own) for own in words])
        self._described = np.flatnonzero(lengths > 0)  # a description without words is never found
        self._start = (np.cumsum(lengths) - lengths)[self._described]
        self._lengths = lengths[self._described]
        self._bounds = np.append(0, np.cumsum(lengths))
        self.words = [gram for own in words for gram in own]
        self.nugget_of_word = np.repeat(np.repeat(np.arange(self.size), counts), lengths)
        self._idf = np.array([own.grams[gram] for own, found in zip(self._flat, words, strict=True) for gram in found])
        self._place: dict[str, list[int]] = {}
        for place, gram in enumerate(self.words):
            self._place.setdefault(gram, []).append(place)

    def words_of(self, texts: Sequence[TextGrams]) -> Vector:
        """texts × words of descriptions: 1 where the text has the word."""
        result = np.zeros((len(texts), len(self._idf)))
        for row, words in enumerate(texts):
            for gram in words.grams.keys() & self._place.keys():
                result[row, self._place[gram]] = 1.0
        return result

    def describe(self, clue: Mapping[str, Vector], seen: _Seen, there: Vector, absent: Vector) -> None:
        """Fill in what the descriptions say. `there` and `absent` are texts × words: the log odds that a word speaks
        with if the text has it, and if not."""
        texts, has = seen.texts, seen.described
        recall = self._recall(has)
        missing = self._each(np.maximum, (1 - has) * self._idf)
        words = self._each(np.add, np.where(has > 0, there, absent))
        words[:, self._described] /= np.sqrt(self._lengths)
        numbers = np.zeros((len(texts), len(self._flat)))
        for column, own in enumerate(self._flat):
            if own.numbers:
                numbers[:, column] = [1.0 if own.numbers <= words_.numbers else -1.0 for words_ in texts]
        best = self._best(recall)
        rows = np.arange(len(texts))[:, None]
        clue["recall"][:] = recall[rows, best]
        clue["missing"][:] = missing[rows, best]
        clue["description words"][:] = words[rows, best]
        clue["numbers missing"][:] = numbers[rows, best] < 0
        clue["numbers there"][:] = numbers[rows, best] > 0

    def best_words(self, has: Vector, nugget: int) -> slice:
        """Where among the words those of the description stand of which a text, the one row, has most."""
        best = int(self._best(self._recall(has))[0, nugget])
        return slice(int(self._bounds[best]), int(self._bounds[best + 1]))

    def _recall(self, has: Vector) -> Vector:
        """texts × descriptions: the share of its words, by idf, that the text has."""
        total = self._each(np.add, self._idf[None, :])
        return self._each(np.add, has * self._idf) / np.maximum(total, NEVER)

    def _each(self, ufunc: np.ufunc, values: Vector) -> Vector:
        """Over the words of each description; 0 of one without."""
        result = np.zeros((len(values), len(self._flat)))
        if len(self._start):
            result[:, self._described] = ufunc.reduceat(values, self._start, axis=1)
        return result

    def _best(self, recall: Vector) -> Ints:
        """texts × nuggets: the description of which a text has most."""
        if self._single:
            return np.broadcast_to(self._first, (len(recall), self.size))
        ends = np.append(self._first[1:], len(self._flat))
        best = [begin + recall[:, begin:end].argmax(axis=1) for begin, end in zip(self._first, ends, strict=True)]
        return np.stack(best, axis=1)


def _ones(matrix: csr_array) -> csr_array:
    return csr_array((np.ones(len(matrix.data)), matrix.indices, matrix.indptr), shape=matrix.shape)


def _log_odds(chance: Vector) -> Vector:
    return np.asarray(np.log(chance) - np.log1p(-chance))
