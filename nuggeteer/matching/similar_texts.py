"""What verdicts carry over: what judged texts say for and against a nugget in another text, by kernel ridge regression.

A text unlike all judged ones has 0. Words are stems; a word and a pair of neighbours are a gram.

A breakdown shows what a prediction is made of: which words of a text speak for a nugget and which against it, and which
judged texts are like it. This takes more memory than anything else about a question. So explanations keep the breakdown
of one question at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nuggeteer.languages import Language
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.word_numbers import NumberedWords
from nuggeteer.records import Bools, Ints, Vector, ragged
from nuggeteer.settings import Match
from nuggeteer.thresholds.rows import joined

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEFAULT = Match()
RIDGE = 0.3
LEVEL = 1.0  # the variance of the level that all texts of a question share
LARGEST = 1500  # judged texts of a question to compare with; the time grows with the cube
PATTERNS = 32  # sets of texts, of a question, of which groups are left out
SLICE = 256  # texts whose predictions are worked out at once
Grams = dict[str, float]  # of a text, with their weights
Codes = npt.NDArray[np.uint64]  # of grams: two share a number by chance once in 10¹⁹ times


@dataclass(frozen=True)
class GramsOfTexts:
    """The grams of some texts, each once, in the order of their codes: those of text i begin at `begin[i]`."""

    begin: Ints
    code: Codes
    weight: Vector

    def of(self, rows: Ints) -> GramsOfTexts:
        """The grams of some of the texts."""
        begin, entry = ragged(self.begin[rows], np.diff(self.begin)[rows])
        return GramsOfTexts(begin, self.code[entry], self.weight[entry])

    @cached_property
    def share(self) -> Vector:
        """The weights of each text, scaled to length 1."""
        owner = np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))
        length = np.sqrt(np.bincount(owner, self.weight**2, len(self.begin) - 1))
        return np.asarray(self.weight / np.where(length > 0, length, 1.0)[owner])


class GramReader:
    """The grams of texts, which are in the form in which texts are compared."""

    def __init__(self, idf: Idf | None, settings: Match = DEFAULT) -> None:
        self._idf, self._settings, language = idf, settings, Language(settings.language)
        self._forms, self._find = _StemWeights(idf, settings), language.find
        self._words = NumberedWords(language, self._number)
        self._new: list[tuple[int, float]] = []  # words that are not in the arrays yet
        self._codes, self._weights = np.zeros(0, dtype=np.uint64), np.zeros(0)  # of stems, and of words, by number

    def __call__(self, text: str) -> Grams:
        """The grams of one text as they are written."""
        forms = list(map(self._forms.__getitem__, self._find(text)))
        stems, weights = [stem for stem, _ in forms], [weight for _, weight in forms]
        keys = [*stems, *map(" ".join, pairwise(stems))]
        values = [*weights, *((one + two) / 2 for one, two in pairwise(weights))]
        grams = dict(zip(keys, values, strict=True))
        if len(grams) < len(keys):
            grams.update(zip(reversed(keys), reversed(values), strict=True))  # of several weights, a gram has the first
        return grams

    def read(self, texts: Sequence[str]) -> GramsOfTexts:
        """The grams of many texts at once."""
        number, counts = self._words.of(texts)
        if self._new:
            codes, weights = zip(*self._new, strict=True)
            self._codes = np.append(self._codes, np.array(codes, dtype=np.uint64))
            self._weights = np.append(self._weights, weights)
            self._new.clear()
        code, weight = self._codes[number], self._weights[number]
        text = np.repeat(np.arange(len(texts)), counts)
        next_ = np.flatnonzero(text[1:] == text[:-1]) + 1
        code = np.concatenate([code, joined(code[next_ - 1], code[next_])])
        weight = np.concatenate([weight, (weight[next_ - 1] + weight[next_]) / 2])
        text = np.concatenate([text, text[next_]])
        order = np.lexsort((code, text))  # stable: of several weights, a gram has the first
        code, text = code[order], text[order]
        first = np.append(True, (np.diff(text) != 0) | (code[1:] != code[:-1]))[: len(code)]
        begin = np.searchsorted(text[first], np.arange(len(texts) + 1))
        return GramsOfTexts(begin, code[first], weight[order][first])

    def _number(self, word: str) -> int:
        stem, weight = self._forms[word]
        self._new.append((_code(stem), weight))
        return len(self._codes) + len(self._new) - 1

    def __reduce__(self) -> tuple[type[GramReader], tuple[Idf | None, Match]]:
        return GramReader, (self._idf, self._settings)  # a stemmer does not travel to workers

    def stem(self, word: str) -> str:
        return self._forms[word][0]


@lru_cache(maxsize=1 << 14)  # the texts of a question have the same stems, mostly
def _code(stem: str) -> int:
    return int.from_bytes(blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def codes_of(grams: Iterable[str]) -> Codes:
    """The codes of grams as they are written: stems have no spaces."""
    stems = [list(map(_code, gram.split(" "))) for gram in grams]
    one, last = (np.array([own[at] for own in stems], dtype=np.uint64) for at in (0, -1))
    single = np.array([len(own) == 1 for own in stems], dtype=bool)
    return np.where(single, one, joined(one, last))


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

    def __init__(self, texts: GramsOfTexts, decided: Bools, yes: Bools) -> None:
        carrying = np.any(yes & decided, axis=1)
        self.rows = np.sort(np.argsort(~carrying, kind="stable")[:LARGEST])  # those that carry something first
        self.decided = decided[self.rows].astype(float)
        self.yes = (yes & decided)[self.rows].astype(float)
        judged = texts.of(self.rows)
        # In the order of their codes, so that sums over grams do not depend on the order of verdicts.
        self._codes = np.unique(judged.code)
        self.vectors = self._as_vectors(judged)

    @property
    def judged(self) -> Bools:
        """The nuggets that have a verdict on some text."""
        return np.asarray(self.decided.any(axis=0))

    def predictions(self, texts: GramsOfTexts) -> Vector:
        """texts × nuggets: how much likelier than usual a yes is, by their likeness to judged texts."""
        vectors = self._as_vectors(texts)
        parts = [vectors[i : i + SLICE] for i in range(0, vectors.shape[0], SLICE)]
        return np.concatenate([_times((part @ self.vectors.T).toarray(), self.regression) for part in parts])

    def places(self, codes: Codes) -> Ints:
        """The places of grams in `vectors`, −1 for those that no judged text has."""
        place = np.searchsorted(self._codes, codes)
        place[place == len(self._codes)] = 0
        return np.where(self._codes[place] == codes, place, -1) if len(self._codes) else np.full(len(codes), -1)

    def left_out(self, group: Sequence[str]) -> Vector:
        """The predictions for the judged texts if nobody had judged the texts of their group: texts × nuggets; 0 where
        the text was not decided or no other group was. `group` has the group of each of `rows`.

        The regression without some texts follows from the one with them: what is left of their verdicts, divided by
        their entries in the inverse kernel, is how far the others' prediction is from the verdict (Stone 1974)."""
        names, groups = np.unique(np.array(group), return_inverse=True)
        result = np.zeros(self.yes.shape)
        for nuggets, own_texts, inverse in self._kernel.inverses(PATTERNS):
            yes, of_text = self.yes[own_texts[:, None], nuggets], groups[own_texts]
            weights, of_all = inverse @ (yes - 0.5), inverse.sum(axis=0)
            for own in range(len(names)):
                left = np.flatnonzero(of_text == own)
                if 0 < len(left) < len(own_texts):
                    off = np.linalg.solve(inverse[left[:, None], left], weights[left])
                    level = LEVEL * (weights.sum(axis=0) - of_all[left] @ off)
                    result[own_texts[left][:, None], nuggets] = yes[left] - 0.5 - off - level
        return result

    def _as_vectors(self, texts: GramsOfTexts) -> csr_array:
        """texts × grams, of length 1 each; grams that no judged text has only count for the length."""
        from scipy.sparse import csr_array

        place = self.places(texts.code)
        known = place >= 0
        ends = np.append(0, np.cumsum(known))[texts.begin]
        shape = (len(texts.begin) - 1, len(self._codes))
        return csr_array((texts.share[known], place[known].astype(np.int32), ends), shape=shape)

    @cached_property
    def regression(self) -> Vector:
        """Kernel ridge regression of the verdicts on the judged texts: judged texts × nuggets. Each nugget uses the
        texts that were judged for it.

        A level that all texts share is fitted beside it and left out, because the model has an effect for how often a
        nugget is found at all. Otherwise the little that texts on one subject have in common would count this twice.
        And for a text whose own verdict is left out it would say the opposite, because the others have one yes less."""
        return self._kernel.solve(self.decided * (self.yes - 0.5))

    @cached_property
    def _kernel(self) -> _Kernel:
        kernel = (self.vectors @ self.vectors.T).toarray() + LEVEL
        kernel[np.diag_indices_from(kernel)] += RIDGE
        return _Kernel(kernel, self.decided > 0)


class _Kernel:
    """The inverse of a kernel between judged texts, for each nugget of the texts `decided` for it (texts × nuggets).

    Most texts are decided for every nugget that anyone judged, or are few. So the inverse of those is computed once,
    and each other set of texts is bordered onto it."""

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
        """The texts decided for a nugget beyond the common ones; what the common ones say about them, and the inverse
        of what that leaves."""
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


NAMED = 2  # judged texts of a kind that an explanation names


@dataclass(frozen=True)
class ComparedText:
    """A text beside the judged texts of its question: the grams that it shares with them, with their numbers there and
    their weights, its similarity to each judged text, and those that are similar at all, the most similar first."""

    grams: list[str]
    numbers: Ints
    weights: Vector
    similarity: Vector
    near: list[int]


@dataclass(frozen=True)
class Breakdown:
    """What makes up the regression of one pair: the part of each of `ComparedText.grams`; and judged texts that carry
    the nugget and then some that do not, by their rows, with their similarity, the most similar of each kind first."""

    parts: Vector
    near: list[tuple[int, float, bool]]


class Breakdowns:
    """Breaks down the regressions of texts of one question."""

    def __init__(self, judged: JudgedTexts) -> None:
        self.judged = judged.judged
        self._rows = judged.rows.tolist()
        # nuggets × judged texts: 1 is a yes, 0 a no, −1 nothing.
        self._verdicts: list[list[int]] = np.where(judged.decided > 0, judged.yes, -1).T.astype(int).tolist()
        self._places, self._judged = judged.places, judged.vectors.tocsc()
        self._worth = np.asarray(judged.vectors.T @ judged.regression)  # grams × nuggets: what having a gram adds

    def compare(self, text: Grams) -> ComparedText:
        """A text compared with the judged texts of the question."""
        numbers, weights, grams = self._as_vector(text)
        begin, end = self._judged.indptr[numbers], self._judged.indptr[numbers + 1]
        _, entry = ragged(begin, end - begin)
        products = self._judged.data[entry] * np.repeat(weights, end - begin)
        similarity = np.asarray(np.bincount(self._judged.indices[entry], products, len(self._rows)), dtype=float)
        near = np.flatnonzero(similarity > 0)
        near = near[np.argsort(-similarity[near], kind="stable")]
        return ComparedText(grams, numbers, weights, similarity, near.tolist())

    def _as_vector(self, text: Grams) -> tuple[Ints, Vector, list[str]]:
        """The numbers of a text's grams that judged texts have, in order; their weights in a vector of length 1; and
        the grams."""
        grams, weights = list(text), np.array(list(text.values()), dtype=float)
        numbers = self._places(codes_of(grams))
        order = np.argsort(numbers, kind="stable")[int((numbers < 0).sum()) :]
        length = float(np.sqrt((weights**2).sum())) or 1.0
        return numbers[order], weights[order] / length, [grams[i] for i in order.tolist()]

    def breakdown(self, text: ComparedText, nugget: int) -> Breakdown:
        """What a text says about a nugget of this question, and which judged texts speak for it."""
        verdicts = self._verdicts[nugget]
        near = [
            (self._rows[i], float(text.similarity[i]), kind == 1)
            for kind in (1, 0)
            for i in islice((i for i in text.near if verdicts[i] == kind), NAMED)
        ]
        return Breakdown(text.weights * self._worth[text.numbers, nugget], near)
