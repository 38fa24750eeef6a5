"""The n-gram matcher of Nuggeteer §2.1–2.3: the share of a nugget's description that a response has.

An n-gram weighs W, the sum of its words' idf, times I = 1 − (other nuggets of the question that have it) / |G|. The
match score of a response for a nugget is Σ W·I over the nugget's distinct n-grams (n = 1..N) that the response has,
over Σ W·I of all of them. If there are several descriptions, the best score counts.

Equation 2 of the paper, read literally, counts the nugget itself among those that have the n-gram, which makes every
score 0 in a question with one nugget. Its text says "other", and so does this module.

It is fast because only the n-grams of the question's own nuggets matter. The words of a response are looked up among
those of that question alone (`word_numbers`). The n-grams are found by walking a trie of word numbers in sorted arrays,
and what each adds to each description's score is summed up for many texts at once.

Words are numbered in the order of questions and then of spelling, and longer n-grams in the order of their words'
numbers. So sums do not depend on the order of nuggets, to the last bit. An n-gram of level 1 is a word, and one of
level n is a word after one of level n − 1: a trie, which is held in sorted arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, pairwise, repeat

import numpy as np
import numpy.typing as npt

from nuggeteer.languages import Language
from nuggeteer.matching.base import SHARE, Explanation, Matcher, Material, WordEvidence
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.marks import as_written
from nuggeteer.matching.word_numbers import UNKNOWN, WordNumbers
from nuggeteer.records import AnswerKey, Ints, Nugget, Vector, ragged
from nuggeteer.settings import Match
from nuggeteer.text import normalised

Gram = tuple[str, ...]
STOP = -2
NOBODY: Set[int] = frozenset()


class GramWeights:
    """What the n-grams of a question's descriptions weigh: W·I."""

    def __init__(
        self,
        nuggets: Sequence[Sequence[Sequence[Gram]]],
        idf: Idf | None,
        informative: bool = True,
        carriers: Mapping[Gram, Set[int]] | None = None,
    ) -> None:
        """`nuggets` are the question's, each with the n-grams of its descriptions. `carriers` says which nuggets of the
        key count as having an n-gram, if not those whose descriptions have it."""
        self.having = Counter(chain.from_iterable(set(chain.from_iterable(own)) for own in nuggets))
        self._size, self._carriers = len(nuggets), carriers
        of_word = {} if idf is None else {word: idf[word] for gram in self.having for word in gram}
        self._weight = {
            gram: (1 - (others - 1) / len(nuggets) if informative and carriers is None else 1.0)
            * (sum((of_word[word] for word in gram), 0.0) if of_word else 1.0)
            for gram, others in self.having.items()
        }

    def of(self, nugget: int, grams: Iterable[Gram]) -> Mapping[Gram, float]:
        """The weights of the n-grams of a description, by the position of its nugget in the key."""
        if self._carriers is None:
            return {gram: self._weight[gram] for gram in grams}
        others = {gram: len(self._carriers.get(gram, NOBODY) - {nugget}) for gram in grams}
        return {gram: self._weight[gram] * (1 - count / self._size) for gram, count in others.items()}


class GramTables:
    """`vocabulary` has the numbers of each question's words, `tries` the codes of each level's n-grams in order.

    `first` says where each question's descriptions begin, `nugget_begin` where each nugget's do, and `total` has the
    sum of weights of each description."""

    def __init__(
        self,
        key: AnswerKey,
        descriptions: Sequence[Sequence[Sequence[Gram]]],
        n: int,
        weights: Callable[[int, Sequence[Sequence[Sequence[Gram]]]], GramWeights],
    ) -> None:
        """`descriptions` are empty for questions without texts to match. `weights` weighs those of a question."""
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
        column = 0
        for question, (begin, end) in enumerate(pairwise(offsets)):
            nuggets = descriptions[begin:end]
            if not any(nuggets):
                continue
            weight = weights(question, nuggets)
            number = self._numbered(question, weight.having, tries)
            for nugget, grams in ((begin + i, grams) for i, own in enumerate(nuggets) for grams in own):
                worth = weight.of(nugget, grams)
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
        _, nugget = self._key.pairs(question)
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


class _Weights:
    """n-grams × descriptions, sparse: the entries of n-gram i begin at `begin[i]`."""

    def __init__(self, grams: int, entries: Sequence[tuple[int, int, float]]) -> None:
        number = np.array([place for place, _, _ in entries], dtype=np.int64)
        order = np.argsort(number, kind="stable")
        self.begin: Ints = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=grams))])
        self.column = np.array([column for _, column, _ in entries], dtype=np.int64)[order]
        self.value: Vector = np.array([value for _, _, value in entries], dtype=float)[order]


CHUNK = 1024  # texts scored at once: their arrays fit the processor's cache


class NgramMatcher(Matcher):
    """Match scores of texts for every nugget of their question."""

    informative = True  # whether n-grams that other nuggets have weigh less

    def __init__(self, key: AnswerKey, settings: Match, idf: Idf | None) -> None:
        self.settings = settings
        self.key = key
        self._idf = idf
        self.language = Language(settings.language)
        changed = settings.stem or settings.stopwords == "remove" or not self.language.english
        self._forms = _WordForms(settings) if changed else None
        # Questions whose tables were made, and the last of these tables, if they are not those of the whole key.
        self._made = 0
        self._last: tuple[Ints, GramTables] | None = None
        # The question whose descriptions were asked for last: their n-grams, and what these weigh.
        self._weighed: tuple[int, list[list[list[Gram]]], GramWeights] | None = None

    @cached_property
    def _tables(self) -> GramTables:
        return self._tables_of(self.key.nuggets)

    def _tables_for(self, question: npt.NDArray[np.int32]) -> GramTables:
        """Tables that have these questions. After a few verdicts these are few. Then only their tables are made, as
        long as they are a small part of the key."""
        asked = np.unique(question)
        self._made += len(asked)
        if "_tables" in vars(self) or self._made > len(self.key.questions) // 8:
            return self._tables
        return self._only_for(asked)

    def _only_for(self, asked: Ints) -> GramTables:
        """Tables that have only these questions."""
        last = self._last
        if last is None or not np.array_equal(last[0], asked):
            own = np.isin(self.key.question, asked).tolist()
            nuggets = [nugget if has else None for nugget, has in zip(self.key.nuggets, own, strict=True)]
            last = self._last = asked, self._tables_of(nuggets)
        return last[1]

    def _tables_of(self, nuggets: Sequence[Nugget | None]) -> GramTables:
        """Tables of the key with these of its nuggets."""
        return GramTables(self.key, self._described(nuggets), self.settings.n, self._weights)

    def _weights(self, question: int, nuggets: Sequence[Sequence[Sequence[Gram]]]) -> GramWeights:
        return GramWeights(nuggets, self._idf, self.informative)

    def _described(self, nuggets: Sequence[Nugget | None]) -> list[list[list[Gram]]]:
        return [[self._grams(d) for d in nugget.descriptions] if nugget else [] for nugget in nuggets]

    def _grams(self, text: str) -> list[Gram]:
        found = self.language.find(normalised(text))
        if self._forms is not None:
            found = [form for form in map(self._forms.__getitem__, found) if form]
        sizes = range(1, self.settings.n + 1)
        return list(dict.fromkeys(tuple(found[i : i + n]) for n in sizes for i in range(len(found) - n + 1)))

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        """Match scores of normalised texts (`text.normalised`), for each text one for each nugget of its question."""
        tables = self._tables_for(question)
        result, end = np.empty(int(self.key.counts[question].sum())), 0
        for i in range(0, len(texts), CHUNK):
            part = self._score_chunk(texts[i : i + CHUNK], question[i : i + CHUNK], tables)
            result[end : end + len(part)] = part
            end += len(part)
        return result

    def _score_chunk(self, texts: Sequence[str], question: npt.NDArray[np.int32], tables: GramTables) -> Vector:
        tokens, lengths = self._tokens(texts, question, tables)
        owner = np.repeat(np.arange(len(texts)), lengths)
        if self.settings.stopwords == "remove":
            tokens, owner = tokens[tokens != STOP], owner[tokens != STOP]
        start, pair = tables.layout(question)
        found, origin = np.zeros(int(start[-1])), start[:-1] - tables.first[question]
        for level, text, gram in self._walk(tokens, owner, tables):
            found += tables.added(level, text, gram, origin, len(found))
        found /= tables.total[pair]
        if tables.single or not len(found):
            return found
        best: Vector = np.maximum.reduceat(found, tables.nugget_starts(question))
        return best

    def explain(self, text: str, nugget: int) -> Explanation:
        """The n-grams of the best description: those that the text has, and those that it lacks."""
        have = set(self._grams(text))
        descriptions, shares = self.key.nuggets[nugget].descriptions, self.shares(nugget)
        best = max(range(len(shares)), key=lambda i: (sum(shares[i][gram] for gram in shares[i] if gram in have), -i))
        sizes = range(1, self.settings.n + 1)
        described = as_written(descriptions[best], self.form, sizes, self.language)
        written = {**described, **as_written(text, self.form, sizes, self.language)}
        evidence = [
            WordEvidence(written.get(g, " ".join(g)), s if g in have else -s, g in have)
            for g, s in shares[best].items()
            if s
        ]
        return Explanation(SHARE, tuple(sorted(evidence, key=lambda word: -abs(word.weight))))

    def shares(self, nugget: int) -> list[dict[Gram, float]]:
        """For each description of a nugget, its n-grams and how much each adds to the match score."""
        question = int(self.key.question[nugget])
        if self._weighed is None or self._weighed[0] != question:
            described = self._described(self.key.nuggets[self.key.own(question)])
            self._weighed = question, described, self._weights(question, described)
        _, described, weights = self._weighed
        of_each = [weights.of(nugget, grams) for grams in described[nugget - int(self.key.offsets[question])]]
        return [{gram: weight / (sum(own.values()) or np.inf) for gram, weight in own.items()} for own in of_each]

    @property
    def form(self) -> Callable[[str], str]:
        """Gives the form in which a word is compared; "" if the word is skipped."""
        return str if self._forms is None else self._forms.__getitem__

    # The n-grams of the responses.

    def _tokens(self, texts: Sequence[str], question: npt.NDArray[np.int32], tables: GramTables) -> tuple[Ints, Ints]:
        """All texts' words as numbers of their questions' vocabularies, one after the other."""
        if self._forms is None:
            return tables.numbers.of(texts, question)
        asked = question.tolist()
        look_up = {q: tables.vocabulary[q].get for q in set(asked)}
        form, find = self._forms.__getitem__, self.language.find
        unknown = repeat(UNKNOWN)
        numbers: list[int] = []
        lengths: list[int] = []
        for text, q in zip(texts, asked, strict=True):
            found = find(text)
            lengths.append(len(found))
            # One text at a time: its words are still in the processor's cache when they are looked up,
            # which took a third off the time of looking up all texts' words at the end.
            numbers.extend(map(look_up[q], map(form, found), unknown))
        return np.array(numbers, dtype=np.int64), np.array(lengths, dtype=np.int64)

    def _walk(self, tokens: Ints, owner: Ints, tables: GramTables) -> Iterator[tuple[int, Ints, Ints]]:
        """For each level of the trie, the texts and the n-grams that they have."""
        at = np.flatnonzero(tokens >= 0)
        node = tokens[at]
        yield 0, owner[at], node
        for level in range(1, self.settings.n):
            trie = tables.tries[level]
            inside = at + level < len(tokens)
            at, node = at[inside], node[inside]
            following = tokens[at + level]
            joined = (following >= 0) & (owner[at] == owner[at + level])
            at = at[joined]
            code = node[joined] * tables.words + following[joined]
            index = np.searchsorted(trie, code)
            hit = np.zeros(len(code), dtype=bool)
            within = index < len(trie)
            hit[within] = trie[index[within]] == code[within]
            at, node = at[hit], index[hit]
            yield level, owner[at], node

    @property
    def signature(self) -> str:
        return f"{str(self.settings)[:-1]}{self.language.signature})"

    @property
    def scores_overlap(self) -> bool:
        return True


def make(material: Material) -> NgramMatcher:
    return NgramMatcher(material.key, material.settings, material.idf)


class _WordForms(dict[str, str]):
    """The form in which a word is compared, computed once for each word; "" for a stop word."""

    def __init__(self, settings: Match) -> None:
        self._settings, language = settings, Language(settings.language)
        self._stem: Callable[[str], str] = language.stem if settings.stem else language.plain
        if settings.stopwords == "remove":
            self.update(dict.fromkeys(language.stop_words(), ""))

    def __missing__(self, word: str) -> str:
        form = self[word] = self._stem(word)
        return form

    def __reduce__(self) -> tuple[type[_WordForms], tuple[Match]]:
        return _WordForms, (self._settings,)  # a stemmer cannot be pickled for workers, but its settings can
