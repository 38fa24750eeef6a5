"""Where in a text the words stand that speak for a nugget, so that a reader sees at a glance why it was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from nuggeteer.text import matching_form, normalised

if TYPE_CHECKING:
    from nuggeteer.matching.ngram import Gram, NgramMatcher

Span = tuple[int, int]
TELLING = 0.25  # of the mean weight of a description's n-grams; what weighs less, such as a lone "of", is not marked

_word = re.compile(r"\w+")


class Marker:
    """Finds in texts what the matcher found in them."""

    def __init__(self, matcher: NgramMatcher) -> None:
        self._matcher = matcher
        self._grams: dict[int, set[Gram]] = {}

    def __call__(self, text: str, nugget: int) -> tuple[Span, ...]:
        """[start, end) of the stretches of a text, in characters, that have n-grams of a nugget's descriptions."""
        if nugget not in self._grams:
            self._grams[nugget] = self._telling(nugget)
        grams, settings = self._grams[nugget], self._matcher.settings
        found = _formed(text, self._matcher.form)
        marked: list[Span] = []
        for i in range(len(found)):
            gram: Gram = ()
            for form, _, end in found[i : i + settings.n]:
                gram = (*gram, form)
                if gram in grams:
                    marked.append((found[i][1], end))
        return _joined(marked, text)

    def _telling(self, nugget: int) -> set[Gram]:
        """The nugget's n-grams that have some weight in its match score."""
        found: set[Gram] = set()
        for weights in self._matcher.shares(nugget):
            least = TELLING * sum(weights.values()) / max(len(weights), 1)
            found |= {gram for gram, weight in weights.items() if weight > 0 and weight >= least}
        return found


def as_written(text: str, form: Callable[[str], str], sizes: Iterable[int]) -> dict[Gram, str]:
    """The n-grams of a text by the forms of their words, each as it is written where it stands first."""
    found = _formed(text, form)
    result: dict[Gram, str] = {}
    for size in sizes:
        for i in range(len(found) - size + 1):
            own = found[i : i + size]
            result.setdefault(tuple(word for word, _, _ in own), " ".join(text[start:end] for _, start, end in own))
    return result


def _formed(text: str, form: Callable[[str], str]) -> list[tuple[str, int, int]]:
    """The forms of a text's words, but those that are passed over, each with its place."""
    found = [(form(word), start, end) for word, start, end in words_at(text)]
    return [word for word in found if word[0]]


def words_at(text: str) -> list[tuple[str, int, int]]:
    """The words of a text as the matcher sees them (`text.words`), each with its place in the text as it stands."""
    if text.isascii():
        return [(found[0].lower(), *found.span()) for found in _word.finditer(text)]
    pieces: list[str] = []
    owner: list[int] = []
    starts: list[int] = []
    for start, cluster in _clusters(text):
        folded = (
            cluster.lower() if cluster.isascii() else " " * cluster[0].isspace() + matching_form(normalised(cluster))
        )
        pieces.append(folded)
        owner += [len(starts)] * len(folded)
        starts.append(start)
    starts.append(len(text))
    return [
        (found[0], starts[owner[found.start()]], starts[owner[found.end() - 1] + 1])
        for found in _word.finditer("".join(pieces))
    ]


def _clusters(text: str) -> list[tuple[int, str]]:
    """Each character with the marks that are put on it, and where it stands."""
    starts = [i for i, char in enumerate(text) if i == 0 or not _continues(char)]
    return [(start, text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _continues(char: str) -> bool:
    # Vowels and finals of Korean syllables written in pieces compose with what is before them, and so does a mark
    # behind a soft hyphen, which matching passes over.
    return not char.isascii() and (
        unicodedata.combining(char) > 0 or "\u1160" <= char <= "\u11ff" or unicodedata.category(char) == "Cf"
    )


def _joined(marked: list[Span], text: str) -> tuple[Span, ...]:
    """Without overlaps; stretches with nothing but space between them are one."""
    result: list[Span] = []
    for start, end in sorted(marked):
        if result and (start <= result[-1][1] or text[result[-1][1] : start].isspace()):
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)
