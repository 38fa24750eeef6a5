"""From characters to words: when two texts are the same, how long one is, which words it has.

Texts are hostile: `escaped` is the only way one of them reaches a terminal.
"""

from __future__ import annotations

import re
import unicodedata

# An underscore or an apostrophe ends a word no more than scikit-learn's or rouge-score's tokenizers
# would have it; see experiments/match-settings.md for the alternatives that were measured.
find_words = re.compile(r"\w+").findall

# What matching passes over: combining marks of Latin, Greek and Cyrillic, and characters without width
# that would otherwise cut a word in two. The zero-width space is not among them: it does end a word.
_PASSED_OVER = re.compile("[\u0300-\u036f\u00ad\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def normalised(text: str) -> str:
    """What two responses share when they are the same text: NFC, case folded, white space squeezed."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())


def length(text: str) -> int:
    """Non-white-space characters, the `l` of the official F."""
    return len("".join(text.split()))


def normalised_and_length(text: str) -> tuple[str, int]:
    """Both at once, for the price of one."""
    if text.isascii():
        pieces = text.lower().split()
        same = " ".join(pieces)
        return same, len(same) - max(len(pieces) - 1, 0)
    return normalised(text), length(text)


def matching_form(text: str) -> str:
    """A normalised text made ready for matching: compatibility forms and Latin accents are folded too.

    Assessors write `Medecins`, systems `Médecins`; web text brings ligatures and soft hyphens.
    """
    if text.isascii():
        return text
    if unicodedata.is_normalized("NFKD", text) and not _PASSED_OVER.search(text):
        return text  # such as an arrow among plain words: a third of the time on web text
    decomposed = _PASSED_OVER.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", decomposed).casefold()


def words(text: str) -> list[str]:
    """The words of a text, as the matchers see them."""
    return find_words(matching_form(normalised(text)))


def escaped(text: str) -> str:
    """The text on one line with every control, format and bidirectional character written out.

    No terminal can be made to move, colour, retitle or reorder anything by what comes back.
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
