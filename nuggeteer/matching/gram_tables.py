"""The n-grams of a key's descriptions: each with a number, and with what it adds to the score of each description.

Words are numbered in the order of questions and then of spelling, and longer n-grams in the order of their words'
numbers. So sums do not depend on the order of nuggets, to the last bit. An n-gram of level 1 is a word, and one of
level n is a word after one of level n − 1: a trie, which is held in sorted arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.idf import Idf
from nuggeteer.matching.word_numbers import WordNumbers
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Ints, Vector

Gram = tuple[str, ...]
STOP = -2
NOBODY: Set[int] = frozenset()


class GramTables:
    """`vocabulary` has the numbers of each question's words, `tries` the codes of each level's n-grams in order.

    `first` says where each question's descriptions begin, `nugget_begin` where each nugget's do, and `total` has the
    sum of weights of each description."""

    def __init__(
        self,
        key: AnswerKey,
        descriptions: Sequence[Sequence[Sequence[Gram]]],
        n: int,
        idf: Idf | None,
        informative: bool = True,
        carriers: Sequence[Mapping[Gram, Set[int]]] | None = None,
    ) -> None:
        """`descriptions` are empty for questions with which no text is matched. `carriers` says for each question which
        nuggets count as having an n-gram, if not those whose descriptions have it."""
        per_nugget = np.array([len(own) for own in descriptions], dtype=np.int64)
        begins = np.concatenate([[0], np.cumsum(per_nugget)])
        self._key, self.single = key, bool((per_nugget <= 1).all())
        self.first: Ints = begins[key.offsets]
        self.nugget_begin: Ints = begins[:-1]
        self.total = np.zeros(int(begins[-1]))
        offsets = key.offsets.tolist()
        self.vocabulary: list[dict[str, int]] = []
        self.words = 0
        for begin, end in pairwise(offsets):
            found = {gram[0] for own in descriptions[begin:end] for grams in own for gram in grams if len(gram) == 1}
            self.vocabulary.append({"": STOP, **{word: i for i, word in enumerate(sorted(found), self.words)}})
            self.words += len(found)
        tries: list[list[int]] = [list(range(self.words)), *([] for _ in range(1, n))]
        # For each level: the number of an n-gram, a description that has it, and its weight there.
        entries: list[list[tuple[int, int, float]]] = [[] for _ in range(n)]
        of_word: dict[str, float] = {}
        column = 0
        for question, (begin, end) in enumerate(pairwise(offsets)):
            nuggets = descriptions[begin:end]
            if not any(nuggets):
                continue
            having = Counter(chain.from_iterable(set(chain.from_iterable(own)) for own in nuggets))
            if idf is not None:
                of_word.update((word, idf[word]) for gram in having for word in gram if word not in of_word)
            number = self._numbered(question, having, tries)
            weight = {
                gram: (1 - (others - 1) / len(nuggets) if informative and carriers is None else 1.0)
                * (1.0 if idf is None else sum((of_word[word] for word in gram), 0.0))
                for gram, others in having.items()
            }
            for nugget, grams in ((begin + i, grams) for i, own in enumerate(nuggets) for grams in own):
                worth = weight
                if carriers is not None:
                    others = {gram: len(carriers[question].get(gram, NOBODY) - {nugget}) for gram in grams}
                    worth = {gram: weight[gram] * (1 - others[gram] / len(nuggets)) for gram in grams}
                for level in range(n):
                    own = sorted((number[gram], worth[gram]) for gram in grams if len(gram) == level + 1)
                    entries[level] += [(place, column, value) for place, value in own]
                    # Added level by level in the order of numbers, as scores are, so that a response that has
                    # everything scores exactly 1.
                    self.total[column] += sum((value for _, value in own), 0.0)
                column += 1
        self.total[self.total == 0] = np.inf  # a description without words is never found
        self.tries: list[Ints] = [np.array(codes, dtype=np.int64) for codes in tries]
        self._weights = [_Weights(len(codes), own) for codes, own in zip(tries, entries, strict=True)]

    def _numbered(self, question: int, grams: Counter[Gram], tries: list[list[int]]) -> dict[Gram, int]:
        """The numbers of a question's n-grams, which are added to the tries."""
        vocabulary = self.vocabulary[question]
        number: dict[Gram, int] = {(word,): place for word, place in vocabulary.items()}
        for level, trie in enumerate(tries[1:], 1):
            codes = sorted(
                (number[gram[:-1]] * self.words + vocabulary[gram[-1]], gram)
                for gram in grams
                if len(gram) == level + 1
            )
            number.update((gram, place) for place, (_, gram) in enumerate(codes, len(trie)))
            trie += [code for code, _ in codes]
        return number

    @cached_property
    def numbers(self) -> WordNumbers:
        """The numbers of words as they stand in texts."""
        return WordNumbers(self.vocabulary)

    def layout(self, question: npt.NDArray[np.int32]) -> tuple[Ints, Ints]:
        """Where the scores of each text begin, and the description behind each score."""
        return ragged(self.first[question], self.first[question + 1] - self.first[question])

    def nugget_starts(self, question: npt.NDArray[np.int32]) -> Ints:
        """Where each (text, nugget)'s descriptions begin among the scores."""
        _, nugget = ragged(self._key.offsets[question], self._key.counts[question])
        text = np.repeat(np.arange(len(question)), self._key.counts[question])
        begin, _ = self.layout(question)
        result: Ints = begin[text] + self.nugget_begin[nugget] - self.first[question[text]]
        return result

    def added(self, level: int, text: Ints, number: Ints, start: Ints, size: int) -> Vector:
        """What the n-grams of one level add to `size` scores. A text that has an n-gram twice has it once. `start` says
        where the scores of each text would begin if description 0 came first."""
        width, weights = len(self.tries[level]), self._weights[level]
        text, number = np.divmod(np.unique(text * width + number), max(width, 1))
        count = weights.begin[number + 1] - weights.begin[number]
        _, entry = ragged(weights.begin[number], count)
        place = np.repeat(start[text], count) + weights.column[entry]
        return np.asarray(np.bincount(place, weights.value[entry], size), dtype=float)

    def shares(self, question: int, column: int, grams: Sequence[Gram]) -> dict[Gram, float]:
        """What each n-gram of a description adds to its score."""
        vocabulary, number, result = self.vocabulary[question], dict[Gram, int](), dict[Gram, float]()
        for level, trie in enumerate(self.tries):
            own = [gram for gram in grams if len(gram) == level + 1]
            places = [vocabulary[gram[-1]] for gram in own]
            if level:
                codes = [number[gram[:-1]] * self.words + word for gram, word in zip(own, places, strict=True)]
                places = np.searchsorted(trie, codes).tolist()
            number.update(zip(own, places, strict=True))
            weights = self._weights[level].of_description(column)
            result.update((gram, weights[place]) for gram, place in zip(own, places, strict=True))
        total = float(self.total[column])
        return {gram: weight / total for gram, weight in result.items()}


class _Weights:
    """n-grams × descriptions, sparse: the entries of n-gram i begin at `begin[i]`."""

    def __init__(self, grams: int, entries: Sequence[tuple[int, int, float]]) -> None:
        number = np.array([place for place, _, _ in entries], dtype=np.int64)
        order = np.argsort(number, kind="stable")
        self.begin: Ints = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=grams))])
        self.column = np.array([column for _, column, _ in entries], dtype=np.int64)[order]
        self.value: Vector = np.array([value for _, _, value in entries], dtype=float)[order]

    def of_description(self, column: int) -> dict[int, float]:
        """The weights of the n-grams of a description, by their numbers."""
        description, number, value = self._by_description
        own = slice(*np.searchsorted(description, [column, column + 1]).tolist())
        return dict(zip(number[own].tolist(), value[own].tolist(), strict=True))

    @cached_property
    def _by_description(self) -> tuple[Ints, Ints, Vector]:
        """All entries in the order of descriptions: the description, the number of the n-gram and its weight."""
        order = np.argsort(self.column, kind="stable")
        number = np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))
        return self.column[order], number[order], self.value[order]
