"""The numbers of words, looked up for many texts at once.

No word becomes a string of its own, which would take most of the time of matching. Words are found in the bytes of all
texts together, and each is a hash of its bytes and of its question. By chance, two words have the same hash once in
10¹⁹ times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from nuggeteer.languages import Language
from nuggeteer.records import Ints
from nuggeteer.text import find_words, matching_form

UNKNOWN = -1
TABLE = 18  # bits
LONG = 64  # bytes; the rest of a longer word counts as one piece
# UTF-8 beyond ASCII is always a part of a word here: see `WordNumbers.of`.
_SPACE = ord(" ")
_WORDS = bytes(code if code > 127 or chr(code).isalnum() or chr(code) == "_" else _SPACE for code in range(256))
_FIRST = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)  # so many bytes of eight
_FACTOR, _QUESTION = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
Hashes = npt.NDArray[np.uint64]


class WordNumbers:
    """The numbers of each question's words, which `vocabulary` has by word."""

    def __init__(self, vocabulary: Sequence[Mapping[str, int]]) -> None:
        own = [{word: number for word, number in words.items() if word} for words in vocabulary]  # "" is not a word
        hashes, _ = _of_questions(_found([" ".join(words) for words in own]), np.arange(len(own)))
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._numbers = np.array([number for words in own for number in words.values()], dtype=np.int64)[order]
        # Whether any hash begins with some bits, which is enough to rule out most words of texts.
        bits = len(hashes).bit_length() + 4
        self._shift = np.uint64(64 - bits)
        self._begins = np.zeros(1 << bits, dtype=bool)
        self._begins[(hashes >> self._shift).view(np.int64)] = True

    def of(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> tuple[Ints, Ints]:
        """The number of each word of normalised texts, one after the other; UNKNOWN if the question has no such word.
        And how many words each text has."""
        written = [text if text.isascii() else " ".join(find_words(matching_form(text))) for text in texts]
        hashes, counts = _of_questions(_found(written), question)
        numbers = np.full(len(hashes), UNKNOWN, dtype=np.int64)
        likely = np.flatnonzero(self._begins[(hashes >> self._shift).view(np.int64)])
        asked = hashes[likely]
        place = np.searchsorted(self._hashes, asked)  # inside, but for hashes after the last
        place[place == len(self._hashes)] = 0
        known = self._hashes[place] == asked
        numbers[likely[known]] = self._numbers[place[known]]
        return numbers, counts


def _of_questions(found: _FoundWords, question: npt.NDArray[np.signedinteger]) -> tuple[Hashes, Ints]:
    """Hashes of words and their questions, and how many words each text has."""
    own = np.repeat(question.astype(np.uint64) * _QUESTION, found.counts)
    return (found.hashes ^ own) * _FACTOR, found.counts


@dataclass(frozen=True)
class _FoundWords:
    """The words of some texts: a hash of each, where it stands in the `written` bytes, and how many each text has."""

    hashes: Hashes
    written: bytes
    start: Ints
    length: Ints
    counts: Ints

    def word(self, number: int) -> str:
        start = int(self.start[number])
        return self.written[start : start + int(self.length[number])].decode("utf-8", "surrogatepass")


def _found(written: Sequence[str]) -> _FoundWords:
    """The words of some texts, each ASCII, or words between spaces."""
    sizes = [len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in written]
    joined = " ".join(written).encode("utf-8", "surrogatepass").translate(_WORDS)
    whole = b" " + joined + bytes(9)
    inside = np.frombuffer(whole, dtype=np.uint8) > _SPACE
    bounds = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    start = bounds[::2]
    length = bounds[1::2] - start
    ends = np.cumsum(np.array(sizes, dtype=np.int64) + 1)
    counts = np.diff(np.searchsorted(start, ends), prepend=0)
    eight = np.ndarray(len(whole) - 7, dtype="<u8", buffer=whole, strides=(1,))  # bytes from each on, as a number
    result: Hashes = (eight[start] & _FIRST[np.minimum(length, 8)]) * _FACTOR
    result ^= result >> np.uint64(29)
    for done in range(8, LONG, 8):
        longer = np.flatnonzero(length > done)
        rest = np.minimum(length[longer] - done, 8)
        result[longer] = (result[longer] ^ (eight[start[longer] + done] & _FIRST[rest])) * _FACTOR
    for i in np.flatnonzero(length > LONG).tolist():
        rest = blake2b(whole[start[i] + LONG : start[i] + length[i]], digest_size=8).digest()
        result[i] ^= np.uint64(int.from_bytes(rest, "little"))
    result *= _FACTOR
    result ^= result >> np.uint64(31)
    return _FoundWords(result, whole, start, length, counts)


class NumberedWords:
    """The numbers that `number` gives to words, for the words of many texts at once. It is asked once for each word.

    What is known about a word is found by the first bits of its hash. If two words have the same bits, the second is
    looked up in a dictionary each time."""

    def __init__(self, language: Language, number: Callable[[str], int]) -> None:
        self._language, self._number_of = language, number
        self._numbers: dict[int, int] = {}  # by hash
        self._hash_at = np.zeros(1 << TABLE, dtype=np.uint64)
        self._number_at = np.full(1 << TABLE, UNKNOWN, dtype=np.int64)

    def of(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The number of each word, one after the other; and how many words each text has."""
        if not self._language.english:
            return self._one_by_one(texts)
        found = _found([text if text.isascii() else " ".join(find_words(matching_form(text))) for text in texts])
        place = (found.hashes >> np.uint64(64 - TABLE)).view(np.int64)
        numbers = self._number_at[place]
        new = np.flatnonzero(self._hash_at[place] != found.hashes)
        if len(new):
            hashes, first, where = np.unique(found.hashes[new], return_index=True, return_inverse=True)
            of_hash = [
                self._number(own, found, number)
                for own, number in zip(hashes.tolist(), new[first].tolist(), strict=True)
            ]
            numbers[new] = np.array(of_hash, dtype=np.int64)[where]
        return numbers, found.counts

    def _number(self, own: int, found: _FoundWords, number: int) -> int:
        if own not in self._numbers:
            self._numbers[own] = self._number_of(found.word(number))
            place = own >> (64 - TABLE)
            if not self._hash_at[place]:
                self._hash_at[place], self._number_at[place] = own, self._numbers[own]
        return self._numbers[own]

    def _one_by_one(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        numbers, lengths = list[int](), list[int]()
        for text in texts:
            words = self._language.find(text)
            lengths.append(len(words))
            numbers += map(self._by_word, words)
        return np.array(numbers, dtype=np.int64), np.array(lengths, dtype=np.int64)

    @cached_property
    def _by_word(self) -> Callable[[str], int]:
        return cache(self._number_of)
