"""Where in a text the words of a nugget are, so that a reader sees at a glance why it was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from nuggeteer.languages import ENGLISH, Language
from nuggeteer.text import normalised

if TYPE_CHECKING:
    from nuggeteer.matching.ngram import Gram, NgramMatcher

Span = tuple[int, int]
# N-grams with less than this share of the mean weight of a description's n-grams, such as "of", are not marked.
TELLING = 0.25
REMEMBERED = 256  # texts: an answer is shown for each nugget of its question

DEFAULT = Language(ENGLISH)
_word = re.compile(r"\w+")


class Marker:
    """Finds the words of a text that the matcher counted."""

    def __init__(self, matcher: NgramMatcher) -> None:
        self._matcher = matcher
        self._grams: dict[int, tuple[set[Gram], set[str]]] = {}

    def __call__(self, text: str, nugget: int) -> tuple[Span, ...]:
        """[start, end), in characters, of the parts of a text that are n-grams of the nugget's descriptions."""
        if nugget not in self._grams:
            telling = self._telling(nugget)
            self._grams[nugget] = telling, {gram[0] for gram in telling}
        (grams, first), settings = self._grams[nugget], self._matcher.settings
        found = _formed(text, self._matcher.form, self._matcher.language)
        marked: list[Span] = []
        for i, word in enumerate(found):
            if word[0] not in first:
                continue
            gram: Gram = ()
            for form, _, end in found[i : i + settings.n]:
                gram = (*gram, form)
                if gram in grams:
                    marked.append((found[i][1], end))
        return _joined(marked, text)

    def _telling(self, nugget: int) -> set[Gram]:
        """The nugget's n-grams that have enough weight in its match score."""
        found: set[Gram] = set()
        for weights in self._matcher.shares(nugget):
            least = TELLING * sum(weights.values()) / max(len(weights), 1)
            found |= {gram for gram, weight in weights.items() if weight > 0 and weight >= least}
        return found


@lru_cache(maxsize=REMEMBERED)
def as_written(text: str, form: Callable[[str], str], sizes: Sequence[int], language: Language) -> Mapping[Gram, str]:
    """The n-grams of a text by the forms of their words, each as it is first written."""
    found = _formed(text, form, language)
    forms, words = [form for form, _, _ in found], [text[start:end] for _, start, end in found]
    result: dict[Gram, str] = {}
    for size in sizes:
        grams = list(zip(*(forms[i:] for i in range(size)), strict=False))
        written = list(map(" ".join, zip(*(words[i:] for i in range(size)), strict=False)))
        result.update(zip(reversed(grams), reversed(written), strict=True))  # the first one stays
    return result


@lru_cache(maxsize=REMEMBERED)
def _formed(text: str, form: Callable[[str], str], language: Language) -> Sequence[tuple[str, int, int]]:
    """The forms of a text's words with their start and end, without the words that are skipped."""
    return [(formed, start, end) for word, start, end in words_at(text, language) if (formed := form(word))]


def words_at(text: str, language: Language = DEFAULT) -> list[tuple[str, int, int]]:
    """The words of a text as the matcher sees them (`Language.find`), each with its start and end in the original
    text."""
    if not text:
        return []
    if text.isascii() and language.english:
        return [(found[0].lower(), *found.span()) for found in _word.finditer(text)]
    pieces: list[str] = []
    owner: list[int] = []
    starts: list[int] = []
    for start, cluster in _clusters(text):
        folded = (
            cluster.lower() if cluster.isascii() else " " * cluster[0].isspace() + language.folded(normalised(cluster))
        )
        pieces.append(folded)
        owner += [len(starts)] * len(folded)
        starts.append(start)
    starts.append(len(text))
    found = language.places("".join(pieces))
    return [(word, starts[owner[begin]], starts[owner[end - 1] + 1]) for word, begin, end in found]


def _clusters(text: str) -> list[tuple[int, str]]:
    """Each character with its combining marks, and where it starts."""
    starts = [i for i, char in enumerate(text) if i == 0 or not _continues(char)]
    return [(start, text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _continues(char: str) -> bool:
    # The vowels and finals of a decomposed Korean syllable combine with the characters before them. So does a mark
    # after a soft hyphen, because matching ignores soft hyphens, and a sound mark after half-width katakana.
    return not char.isascii() and (
        unicodedata.combining(char) > 0
        or "\u1160" <= char <= "\u11ff"
        or char in "\uff9e\uff9f"
        or unicodedata.category(char) == "Cf"
    )


def _joined(marked: list[Span], text: str) -> tuple[Span, ...]:
    """Without overlaps. Parts with only white space between them are joined."""
    result: list[Span] = []
    for start, end in sorted(marked):
        if result and (start <= result[-1][1] or text[result[-1][1] : start].isspace()):
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)
