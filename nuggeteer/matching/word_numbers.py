"""The numbers of words, looked up for many texts at once.

No word becomes a string of its own, which would take most of the time of matching. Words are found in the bytes of all
texts together, and each is a hash of its bytes and of its question. Two words have the same hash by chance once in 10¹⁹
times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from nuggeteer.records import Ints
from nuggeteer.text import find_words, matching_form

UNKNOWN = -1
LONG = 64  # bytes; what a longer word has more counts as one piece
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
        hashes, _ = _hashes([" ".join(words) for words in own], np.arange(len(own)))
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._numbers = np.array([number for words in own for number in words.values()], dtype=np.int64)[order]
        # Whether any hash begins with some bits, which most words of texts are told by.
        bits = len(hashes).bit_length() + 4
        self._shift = np.uint64(64 - bits)
        self._begins = np.zeros(1 << bits, dtype=bool)
        self._begins[(hashes >> self._shift).view(np.int64)] = True

    def of(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> tuple[Ints, Ints]:
        """The number of each word of normalised texts, one after the other; UNKNOWN if the question has no such word.
        And how many words each text has."""
        written = [text if text.isascii() else " ".join(find_words(matching_form(text))) for text in texts]
        hashes, counts = _hashes(written, question)
        numbers = np.full(len(hashes), UNKNOWN, dtype=np.int64)
        likely = np.flatnonzero(self._begins[(hashes >> self._shift).view(np.int64)])
        asked = hashes[likely]
        place = np.searchsorted(self._hashes, asked)  # inside, but for hashes after the last
        place[place == len(self._hashes)] = 0
        known = self._hashes[place] == asked
        numbers[likely[known]] = self._numbers[place[known]]
        return numbers, counts


def _hashes(written: Sequence[str], question: npt.NDArray[np.signedinteger]) -> tuple[Hashes, Ints]:
    """A hash of each word of some texts and its question; and how many words each text has. A text is ASCII, or words
    between spaces."""
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
    result ^= np.repeat(question.astype(np.uint64) * _QUESTION, counts)
    for done in range(8, LONG, 8):
        longer = np.flatnonzero(length > done)
        rest = np.minimum(length[longer] - done, 8)
        result[longer] = (result[longer] ^ (eight[start[longer] + done] & _FIRST[rest])) * _FACTOR
    for i in np.flatnonzero(length > LONG).tolist():
        rest = blake2b(whole[start[i] + LONG : start[i] + length[i]], digest_size=8).digest()
        result[i] ^= np.uint64(int.from_bytes(rest, "little"))
    result *= _FACTOR
    return result, counts
