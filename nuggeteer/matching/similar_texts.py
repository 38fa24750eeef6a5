"""What judged texts say for and against a nugget in another text: kernel ridge regression of the verdicts on the texts.

A text unlike all judged ones has 0. Words are stems; a word and a pair of neighbours are a gram.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

DEFAULT = Match()
RIDGE = 0.3
LARGEST = 1500  # judged texts of a question that are compared with; more would take the cube of time
PATTERNS = 32  # sets of texts, of a question, of which groups are left out
SLICE = 256  # texts whose predictions are worked out at once
Grams = dict[str, float]  # of a text, with their weights


class GramReader:
    """The grams of texts."""

    def __init__(self, idf: Idf | None, settings: Match = DEFAULT) -> None:
        self._idf, self._settings, language = idf, settings, Language(settings.language)
        self._forms, self._find = _StemWeights(idf, settings), language.find

    def __call__(self, text: str) -> Grams:
        """`text` in the form in which texts are compared."""
        forms = list(map(self._forms.__getitem__, self._find(text)))
        stems, weights = [stem for stem, _ in forms], [weight for _, weight in forms]
        keys = [*stems, *map(" ".join, pairwise(stems))]
        values = [*weights, *((one + two) / 2 for one, two in pairwise(weights))]
        grams = dict(zip(keys, values, strict=True))
        if len(grams) < len(keys):
            grams.update(zip(reversed(keys), reversed(values), strict=True))  # of several weights, a gram has the first
        return grams

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


class JudgedTexts:
    """The texts of a question that humans judged for its nuggets. `yes` and `decided` are texts × nuggets."""

    def __init__(self, texts: Sequence[Grams], decided: Bools, yes: Bools) -> None:
        carrying = np.any(yes & decided, axis=1)
        self.rows = np.sort(np.argsort(~carrying, kind="stable")[:LARGEST])  # those that carry something first
        self.decided = decided[self.rows].astype(float)
        self.yes = (yes & decided)[self.rows].astype(float)
        # In an order of their own, so that sums over grams do not depend on the order of verdicts.
        grams = sorted({gram for row in self.rows.tolist() for gram in texts[row]})
        self.number = {gram: number for number, gram in enumerate(grams)}
        self.vectors = self._as_vectors([texts[row] for row in self.rows.tolist()])

    @property
    def judged(self) -> Bools:
        """The nuggets that have a verdict on some text."""
        return np.asarray(self.decided.any(axis=0))

    def predictions(self, texts: Sequence[Grams]) -> Vector:
        """texts × nuggets: how much likelier than usual their likeness to judged texts makes a yes."""
        parts = [self._as_vectors(texts[i : i + SLICE]) for i in range(0, len(texts), SLICE)]
        return np.concatenate([_times((part @ self.vectors.T).toarray(), self.regression) for part in parts])

    def left_out(self, group: Sequence[str]) -> Vector:
        """The predictions for the judged texts if nobody had judged the texts of their group: texts × nuggets; 0 where
        the text was not decided or no other group was. `group` is that of each of `rows`.

        The regression without some texts follows from the one with them: what is left of their verdicts, divided by
        their entries in the inverse kernel, is how far the others' prediction is from the verdict (Stone 1974)."""
        names, groups = np.unique(np.array(group), return_inverse=True)
        result = np.zeros(self.yes.shape)
        for nuggets, own_texts, inverse in self._kernel.inverses(PATTERNS):
            yes, of_text = self.yes[own_texts[:, None], nuggets], groups[own_texts]
            of_yes, of_all = inverse @ yes, inverse.sum(axis=1)
            for own in range(len(names)):
                left = np.flatnonzero(of_text == own)
                if others := (len(own_texts) - len(left)) * bool(len(left)):
                    base = (yes.sum(axis=0) - yes[left].sum(axis=0) + 0.5) / (others + 1)
                    off = np.linalg.solve(inverse[left[:, None], left], of_yes[left] - of_all[left, None] * base)
                    result[own_texts[left][:, None], nuggets] = yes[left] - base - off
        return result

    def _as_vectors(self, texts: Sequence[Grams]) -> csr_array:
        """texts × grams, of length 1 each; grams that no judged text has only count for the length."""
        from scipy.sparse import csr_array

        columns: list[int] = []
        values: list[float] = []
        norms, ends = [], [0]
        for grams in texts:
            weights = grams.values()
            norms.append(sum(map(mul, weights, weights)) ** 0.5 or 1.0)
            known = [gram for gram in grams if gram in self.number]
            columns.extend(map(self.number.__getitem__, known))
            values.extend(map(grams.__getitem__, known))
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


def _times(one: Vector, other: Vector) -> Vector:
    """The product of two matrices row by row, so that a row's last bits do not depend on the rows beside it."""
    return np.asarray((one[:, None, :] @ other)[:, 0])
