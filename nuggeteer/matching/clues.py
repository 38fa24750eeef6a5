"""What judged texts say for and against a nugget in another text.

Each clue is one number for a (text, nugget) pair: what the verdicts on judged texts predict for a text that is so
similar to each of them, and whether the text has the numbers of the description. A text unlike all judged ones, about a
nugget without numbers, has nothing but zeros. Of the many clues that were tried, these help on collections that their
weights were not learned on (docs/understanding/learned-matcher.md).

Words are stems; a word and a pair of neighbours are a gram.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer.languages import Language
from nuggeteer.matching.idf import Idf
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.settings import Match

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CLUES = (
    "regression",  # kernel ridge regression of the verdicts on the texts
    "numbers missing",  # the description has numbers, and the text not all of them
    "numbers there",
)
DEFAULT = Match()
RIDGE = 0.3
LARGEST = 1500  # judged texts of a question that are compared with; more would take the cube of time
PATTERNS = 8  # sets of texts, of a question, of which groups are left out
SLICE = 256  # texts whose clues are worked out at once

NO_NUMBERS: frozenset[str] = frozenset()
_number = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")


@dataclass(frozen=True)
class TextGrams:
    """A text as grams with weights, and its numbers."""

    grams: dict[str, float]
    numbers: frozenset[str]


class GramReader:
    """Makes `TextGrams` of texts."""

    def __init__(self, idf: Idf | None, settings: Match = DEFAULT) -> None:
        self._idf, self._settings, language = idf, settings, Language(settings.language)
        self._forms, self._find, self._folded = _StemWeights(idf, settings), language.find, language.folded

    def __call__(self, text: str) -> TextGrams:
        """`text` in the form in which texts are compared."""
        forms = list(map(self._forms.__getitem__, self._find(text)))
        stems, weights = [stem for stem, _ in forms], [weight for _, weight in forms]
        keys = [*stems, *map(" ".join, pairwise(stems))]
        values = [*weights, *((one + two) / 2 for one, two in pairwise(weights))]
        grams = dict(zip(keys, values, strict=True))
        if len(grams) < len(keys):
            grams.update(zip(reversed(keys), reversed(values), strict=True))  # of several weights, a gram has the first
        numbers = _number.findall(self._folded(text))
        return TextGrams(grams, frozenset(number.replace(",", "") for number in numbers) if numbers else NO_NUMBERS)

    def __reduce__(self) -> tuple[type[GramReader], tuple[Idf | None, Match]]:
        return GramReader, (self._idf, self._settings)  # a stemmer does not travel to workers

    def stem(self, word: str) -> str:
        return self._forms[word][0]


class _StemWeights(dict[str, tuple[str, float]]):
    """The stem and the weight of a word, worked out once a word."""

    def __init__(self, idf: Idf | None, settings: Match) -> None:
        language = Language(settings.language)
        self._stem, self._idf = language.stem, idf
        # Stems are always compared; weights are of stems only where the settings have stems.
        self._weighed = language.stem if settings.stem else str if language.english else language.plain

    def __missing__(self, word: str) -> tuple[str, float]:
        form = self[word] = self._stem(word), 1.0 if self._idf is None else float(self._idf[self._weighed(word)])
        return form


class QuestionClues:
    """The nuggets of a question and the texts that humans judged for them. `yes` and `decided` are texts × nuggets. The
    `descriptions` are asked for when they are needed, which is not for explaining a guess."""

    def __init__(
        self,
        descriptions: Callable[[], Sequence[Sequence[TextGrams]]],
        texts: Sequence[TextGrams],
        decided: Bools,
        yes: Bools,
    ) -> None:
        self._descriptions = descriptions
        carrying = np.any(yes & decided, axis=1)
        self.rows = np.sort(np.argsort(~carrying, kind="stable")[:LARGEST])  # those that carry something first
        self.decided = decided[self.rows].astype(float)
        self.yes = (yes & decided)[self.rows].astype(float)
        # In an order of their own, so that sums over grams do not depend on the order of verdicts.
        grams = sorted({gram for row in self.rows.tolist() for gram in texts[row].grams})
        self.number = {gram: number for number, gram in enumerate(grams)}
        judged = [texts[row] for row in self.rows.tolist()]
        self.vectors = self._as_vectors(judged)

    @property
    def judged(self) -> Bools:
        """The nuggets that have a verdict on some text."""
        return np.asarray(self.decided.any(axis=0))

    def clues(self, texts: Sequence[TextGrams]) -> Vector:
        """texts × nuggets × CLUES."""
        return np.concatenate([self._clues(texts[i : i + SLICE]) for i in range(0, len(texts), SLICE)])

    def without_own(self, rows: Ints, clues: Vector) -> tuple[Vector, Bools]:
        """The clues of texts, texts × nuggets × CLUES, as they are without the texts' own verdicts; and the nuggets
        about which somebody judged another text. `rows` are those of the judged texts, −1 for others."""
        decided = self.decided.sum(axis=0)
        others = np.repeat(decided[None, :], len(rows), axis=0)
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        compared = np.flatnonzero(self.rows[place] == rows)  # the others are not among those that are compared with
        own, result = self.decided[place[compared]], clues.copy()
        others[compared] -= own
        column = CLUES.index("regression")
        result[compared, :, column] = np.where(own > 0, self._left_out[place[compared]], clues[compared, :, column])
        return result, np.asarray(others > 0)

    def left_out(self, texts: Sequence[TextGrams], group: Sequence[str]) -> Vector:
        """The clues of judged texts if nobody had judged the texts of their group: texts × nuggets × CLUES; NaN where
        the text was not decided or no other group was. `texts` are those of `rows`, and so is `group`.

        The regression without some texts follows from the one with them, as it does for one text (`_left_out`)."""
        names, groups = np.unique(np.array(group), return_inverse=True)
        result = np.zeros((*self.yes.shape, len(CLUES)))
        clue = dict(zip(CLUES, np.moveaxis(result, 2, 0), strict=True))  # views
        self._nuggets.describe(clue, texts)
        regression = clue["regression"]
        regression[:] = np.nan
        for nuggets, own_texts, inverse in self._kernel.inverses(PATTERNS):
            yes, of_text = self.yes[own_texts[:, None], nuggets], groups[own_texts]
            of_yes, of_all = inverse @ yes, inverse.sum(axis=1)
            for own in range(len(names)):
                left = np.flatnonzero(of_text == own)
                if others := (len(own_texts) - len(left)) * bool(len(left)):
                    base = (yes.sum(axis=0) - yes[left].sum(axis=0) + 0.5) / (others + 1)
                    off = np.linalg.solve(inverse[left[:, None], left], of_yes[left] - of_all[left, None] * base)
                    regression[own_texts[left][:, None], nuggets] = yes[left] - base - off
        return result

    @cached_property
    def _nuggets(self) -> _Descriptions:
        return _Descriptions(self._descriptions())

    def _clues(self, texts: Sequence[TextGrams]) -> Vector:
        vectors = self._as_vectors(texts)
        result = np.zeros((len(texts), self._nuggets.size, len(CLUES)))
        clue = dict(zip(CLUES, np.moveaxis(result, 2, 0), strict=True))  # views
        self._nuggets.describe(clue, texts)
        clue["regression"][:] = _times((vectors @ self.vectors.T).toarray(), self.regression)
        return result

    def _as_vectors(self, texts: Sequence[TextGrams]) -> csr_array:
        """texts × grams, of length 1 each; grams that no judged text has only count for the length."""
        from scipy.sparse import csr_array

        columns: list[int] = []
        values: list[float] = []
        norms, ends = [], [0]
        for words in texts:
            weights = words.grams.values()
            norms.append(sum(map(mul, weights, weights)) ** 0.5 or 1.0)
            known = [gram for gram in words.grams if gram in self.number]
            columns.extend(map(self.number.__getitem__, known))
            values.extend(map(words.grams.__getitem__, known))
            ends.append(len(columns))
        shape = (len(texts), len(self.number))
        weight = np.array(values) / np.repeat(norms, np.diff(ends))
        result = csr_array((weight, np.array(columns, dtype=np.int32), np.array(ends)), shape=shape)
        result.sort_indices()
        return result

    @cached_property
    def regression(self) -> Vector:
        """Kernel ridge regression of the verdicts, less the base rate, on the judged texts: judged texts × nuggets. Of
        each nugget by the texts that were judged for it."""
        base = (self.yes.sum(axis=0) + 0.5) / (self.decided.sum(axis=0) + 1)
        return self._kernel.solve(self.yes - self.decided * base)

    @cached_property
    def _left_out(self) -> Vector:
        """What the other judged texts predict for each judged text, where it was judged: judged texts × nuggets.

        The regression without a text follows from the one with it: what is left of its verdict, divided by its entry in
        the diagonal of the inverse kernel, is how far the others' prediction is from the verdict (Stone 1974)."""
        left = np.maximum(self._kernel.inverse_diagonal(), 1e-12)
        base = (self.yes.sum(axis=0) - self.yes + 0.5) / np.maximum(self.decided.sum(axis=0), 1)
        of_yes, of_all = self._kernel.solve(self.yes), self._kernel.solve(self.decided)
        return np.asarray((self.yes - of_yes / left) - base * (self.decided - of_all / left))

    @cached_property
    def _kernel(self) -> _Kernel:
        kernel = (self.vectors @ self.vectors.T).toarray()
        kernel[np.diag_indices_from(kernel)] += RIDGE
        return _Kernel(kernel, self.decided > 0)


class _Kernel:
    """The inverse of a kernel between judged texts, for each nugget of the texts `decided` for it (texts × nuggets).

    Most texts are decided for every nugget that anyone judged, or are few. So the inverse of those is worked out once,
    and each other set of texts bordered to it."""

    def __init__(self, kernel: Vector, decided: Bools) -> None:
        self._kernel, self._decided = kernel, decided
        asked = decided.any(axis=0)
        self._common = np.flatnonzero(decided[:, asked].all(axis=1))
        self._inverse = np.linalg.inv(kernel[self._common[:, None], self._common])
        patterns: dict[bytes, list[int]] = {}
        for nugget in np.flatnonzero(asked).tolist():
            patterns.setdefault(decided[:, nugget].tobytes(), []).append(nugget)
        self._patterns = [(np.array(nuggets), self._border(nuggets[0])) for nuggets in patterns.values()]

    def _border(self, nugget: int) -> tuple[Ints, Vector, Vector]:
        """The texts decided for a nugget beyond the common ones; what the common ones say of them, and the inverse of
        what that leaves."""
        more = np.setdiff1d(np.flatnonzero(self._decided[:, nugget]), self._common)
        cross = self._inverse @ self._kernel[self._common[:, None], more]
        rest = self._kernel[more[:, None], more] - self._kernel[more[:, None], self._common] @ cross
        return more, cross, 1 / rest if len(more) == 1 else np.linalg.inv(rest)

    def solve(self, right: Vector) -> Vector:
        """The inverse times each column, 0 where a text is not decided."""
        result = np.zeros(right.shape)
        for nuggets, (more, cross, inverse) in self._patterns:
            own = right[self._common[:, None], nuggets]
            border = inverse @ (right[more[:, None], nuggets] - cross.T @ own)
            result[more[:, None], nuggets] = border
            result[self._common[:, None], nuggets] = self._inverse @ own - cross @ border
        return result

    def inverses(self, most: int) -> Iterator[tuple[Ints, Ints, Vector]]:
        """Nuggets that were decided for the same texts, these texts, and their inverse: of the sets of texts with most
        pairs, up to so many."""
        by_pairs = sorted(self._patterns, key=lambda own: -len(own[0]) * (len(self._common) + len(own[1][0])))
        for nuggets, (more, cross, inverse) in by_pairs[:most]:
            across = cross @ inverse
            whole = np.block([[self._inverse + across @ cross.T, -across], [-across.T, inverse]])
            yield nuggets, np.concatenate([self._common, more]), whole

    def inverse_diagonal(self) -> Vector:
        """The diagonal of each nugget's inverse, 0 where a text is not decided: texts × nuggets."""
        result = np.zeros(self._decided.shape)
        for nuggets, (more, cross, inverse) in self._patterns:
            result[more[:, None], nuggets] = np.diag(inverse)[:, None]
            common = np.diag(self._inverse) + ((cross @ inverse) * cross).sum(axis=1)
            result[self._common[:, None], nuggets] = common[:, None]
        return result


def _times(one: Vector, other: Vector) -> Vector:
    """The product of two matrices row by row, so that a row's last bits do not hang on the rows beside it."""
    return np.asarray((one[:, None, :] @ other)[:, 0])


class _Descriptions:
    """The descriptions of a question's nuggets, and their single words, one after the other."""

    def __init__(self, descriptions: Sequence[Sequence[TextGrams]]) -> None:
        self.size = len(descriptions)
        self._flat = [text for nugget in descriptions for text in nugget]
        counts = np.array([len(nugget) for nugget in descriptions])
        self._first = np.cumsum(counts) - counts
        words = [[gram for gram in text.grams if " " not in gram] for text in self._flat]
        lengths = np.array([len(own) for own in words])
        self._described = np.flatnonzero(lengths > 0)  # a description without words is never found
        self._start = (np.cumsum(lengths) - lengths)[self._described]
        weights = [text.grams[gram] for text, found in zip(self._flat, words, strict=True) for gram in found]
        self._idf = np.array(weights, dtype=float)
        self._columns: dict[str, list[int]] = {}
        for column, gram in enumerate(gram for own in words for gram in own):
            self._columns.setdefault(gram, []).append(column)

    def describe(self, clue: Mapping[str, Vector], texts: Sequence[TextGrams]) -> None:
        """Fill in what the descriptions say: by the description of which a text has most."""
        has = np.zeros((len(texts), len(self._idf)))
        for row, text in enumerate(texts):
            for gram in text.grams.keys() & self._columns.keys():
                has[row, self._columns[gram]] = 1.0
        recall = self._sum(has * self._idf) / np.maximum(self._sum(self._idf[None, :]), 1e-6)
        numbers = np.zeros((len(texts), len(self._flat)))
        for column, description in enumerate(self._flat):
            if description.numbers:
                numbers[:, column] = [1.0 if description.numbers <= text.numbers else -1.0 for text in texts]
        ends = np.append(self._first[1:], len(self._flat))
        best = [first + recall[:, first:end].argmax(axis=1) for first, end in zip(self._first, ends, strict=True)]
        chosen = (np.arange(len(texts))[:, None], np.stack(best, axis=1))
        clue["numbers missing"][:] = numbers[chosen] < 0
        clue["numbers there"][:] = numbers[chosen] > 0

    def _sum(self, values: Vector) -> Vector:
        """Over the words of each description; 0 of one without."""
        result = np.zeros((len(values), len(self._flat)))
        if len(self._start):
            result[:, self._described] = np.add.reduceat(values, self._start, axis=1)
        return result
