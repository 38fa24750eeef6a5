"""From characters to words: whether two texts are the same, how long a text is, and which words it has.

Texts may be hostile: only `escaped` texts may reach a terminal.
"""

from __future__ import annotations

import re
import unicodedata

# Underscores and apostrophes are treated as the tokenizers of scikit-learn and rouge-score treat them;
# experiments/match-settings.md has the alternatives that were measured.
find_words = re.compile(r"\w+").findall

# Matching ignores combining marks of Latin, Greek and Cyrillic, and characters without width that would
# otherwise cut a word in two. The zero-width space is not ignored, because it does end a word.
_PASSED_OVER = re.compile("[\u0300-\u036f\u00ad\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def normalised(text: str) -> str:
    """The form in which texts are compared: NFC, case folded, white space squeezed. Equal forms are the same text."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())


def length(text: str) -> int:
    """The number of non-white-space characters, which is the `l` of the official F."""
    return len("".join(text.split()))


def normalised_and_length(text: str) -> tuple[str, int]:
    """Both in one pass, because scoring needs both for every response."""
    if text.isascii():
        pieces = text.lower().split()
        same = " ".join(pieces)
        return same, len(same) - max(len(pieces) - 1, 0)
    return normalised(text), length(text)


def matching_form(text: str) -> str:
    """The form in which normalised texts are matched: compatibility forms and Latin accents are folded too.

    Assessors write `Medecins` where systems write `Médecins`, and web text has ligatures and soft hyphens.
    """
    if text.isascii():
        return text
    if unicodedata.is_normalized("NFKD", text) and not _PASSED_OVER.search(text):
        return text  # for example an arrow among plain words; takes a third of the time on web text
    decomposed = _PASSED_OVER.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", decomposed).casefold()


def words(text: str) -> list[str]:
    """The words of a text, as the matchers see them."""
    return find_words(matching_form(normalised(text)))


def escaped(text: str) -> str:
    """The text on one line with every control, format and bidirectional character written out.

    The result cannot make a terminal move its cursor, change colours or its title, or reorder text.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escaped_character, text))


def _escaped_character(char: str) -> str:
    if char == " ":
        return char
    category = unicodedata.category(char)
    if category in ("Zs", "Zl", "Zp") or category.startswith("C"):
        return char.encode("unicode_escape").decode("ascii")
    return char
