"""From characters to words: when two texts are the same, how long one is, which words it has.

Texts are hostile: `visible` is the only way one of them reaches a terminal.
"""

from __future__ import annotations

import re
import unicodedata

# An underscore or an apostrophe ends a word no more than scikit-learn's or rouge-score's tokenizers
# would have it; see experiments/match-settings.md for the alternatives that were measured.
find_words = re.compile(r"\w+").findall

_COMBINING = re.compile("[\u0300-\u036f]")
# Characters without width that would otherwise cut a word in two. The zero-width space is not
# among them: it does end a word.
_INVISIBLE = dict.fromkeys([0xAD, 0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, 0xFEFF])
_INVISIBLE.update(dict.fromkeys(range(0x2066, 0x206A)))


def identity(text: str) -> str:
    """What two responses share when they are the same text: NFC, case folded, white space squeezed."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())


def length(text: str) -> int:
    """Non-white-space characters, the `l` of the official F."""
    return len("".join(text.split()))


def matchable(identical: str) -> str:
    """An `identity` made ready for matching: compatibility forms and Latin accents are folded too.

    Assessors write `Medecins`, systems `Médecins`; web text brings ligatures and soft hyphens.
    """
    if identical.isascii():
        return identical
    decomposed = unicodedata.normalize("NFKD", identical).translate(_INVISIBLE)
    return unicodedata.normalize("NFC", _COMBINING.sub("", decomposed)).casefold()


def words(text: str) -> list[str]:
    """The words of a text, as the matchers see them."""
    return find_words(matchable(identity(text)))


def visible(text: str) -> str:
    """The text on one line with every control, format and bidirectional character written out.

    No terminal can be made to move, colour, retitle or reorder anything by what comes back.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(char: str) -> str:
    if char == " ":
        return char
    category = unicodedata.category(char)
    if category in ("Zs", "Zl", "Zp") or category.startswith("C"):
        return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
    return char
