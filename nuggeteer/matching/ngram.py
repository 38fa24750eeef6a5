"""The n-gram matcher of Nuggeteer §2.1–2.3: the share of a nugget's description that a response has.

An n-gram weighs W, the sum of its words' idf, times I = 1 − (other nuggets of the question that have
it) / |G|. The match score of a response for a nugget is Σ W·I over the nugget's distinct n-grams
(n = 1..N) that the response has, over Σ W·I of all of them. If there are several descriptions, the best score counts.

Equation 2 of the paper, read literally, counts the nugget itself among those that have the n-gram,
which makes every score 0 in a question with one nugget. Its text says "other", and so does this module.

It is fast because only n-grams of the question's own nuggets matter. The words of a response are looked up among those
of that question alone (`word_numbers`). The n-grams are found by walking a trie of word numbers in sorted arrays
(`gram_tables`), and what each adds to each description's score is summed up for many texts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat

import numpy as np
import numpy.typing as npt

from nuggeteer.languages import Language
from nuggeteer.matching.base import SHARE, Explanation, Matcher, Material, WordEvidence
from nuggeteer.matching.gram_tables import STOP, Gram, GramTables
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.marks import as_written
from nuggeteer.matching.word_numbers import UNKNOWN
from nuggeteer.records import AnswerKey, Ints, Nugget, Vector
from nuggeteer.settings import Match
from nuggeteer.text import normalised

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
        self._bases: dict[int, str] = {}  # what the scores of a question depend on
        self._made = 0
        self._last: tuple[Ints, GramTables] | None = None

    @cached_property
    def _tables(self) -> GramTables:
        return self._tables_of(self.key.nuggets)

    def _tables_for(self, question: npt.NDArray[np.int32]) -> GramTables:
        """Tables that have these questions. After a few verdicts these are few, and only theirs are made, as long as
        this is a small part of the key."""
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
        return GramTables(self.key, self._described(nuggets), self.settings.n, self._idf, self.informative)

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

    def shares(self, nugget: int, alone: bool = False) -> list[dict[Gram, float]]:
        """For each description of a nugget, its n-grams and how much each adds to the match score. `alone` says that
        few other questions will be asked about."""
        tables = self._only_for(self.key.question[nugget : nugget + 1]) if alone else self._tables
        question, begin = int(self.key.question[nugget]), int(tables.nugget_begin[nugget])
        descriptions = self.key.nuggets[nugget].descriptions
        return [tables.shares(question, column, self._grams(d)) for column, d in enumerate(descriptions, begin)]

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

    def depends_on(self, question: int, carried: bool) -> str | None:
        return self._depends_on(question) if type(self) is NgramMatcher else None

    def _depends_on(self, question: int) -> str:
        if question not in self._bases:
            nuggets = self.key.nuggets[self.key.offsets[question] : self.key.offsets[question + 1]]
            self._bases[question] = repr((self._settings, [nugget.descriptions for nugget in nuggets]))
        return self._bases[question]

    @cached_property
    def _settings(self) -> str:
        return repr((self.settings, self._idf.name if self._idf else "none"))


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
