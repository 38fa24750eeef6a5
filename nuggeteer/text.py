"""From characters to words: whether two texts are the same, how long a text is, and which words it has.

Texts may be hostile: only `escaped` texts may reach a terminal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Literal

# Underscores and apostrophes are treated as the tokenizers of scikit-learn and rouge-score treat them;
# experiments/match-settings.md has the alternatives that were measured.
_find_words = re.compile(r"\w+").findall
_SEPARATED = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)) + bytes(128)

# Matching ignores combining marks of Latin, Greek and Cyrillic, and characters without width that would
# otherwise cut a word in two. The zero-width space is not ignored, because it does end a word.
_PASSED_OVER = re.compile("[\u0300-\u036f\u00ad\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_INVISIBLE = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


# How a build server's log begins a command: GitHub at the start of a line, and it and others anywhere in one.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)

# Where a letter may have more marks than any language gives it: a mark is no letter, digit or white space.
_MANY_MARKS = re.compile(r"[^\w\s]{31,}")

# The version of `verdict_form`. It is part of the signature of scores.
VERDICT_FORM = 2
_CITATION = re.compile(r" ?(?:\[\^?\d{1,3}(?: ?[,;–-] ?\^?\d{1,3}){0,20}\](?:\([^()\s]{0,500}\))?|【[^】]{0,80}】)")
_PART_OF_THE_SENTENCE = frozenset(
    ["=", "ci", "interval", "range", "in", "of", "from", "to", "is", "at", "by", "and", "or"]
)
_FOOTNOTE = re.compile("(?<=[.,;:!?])[⁰¹²³⁴-⁹]{1,3}(?!\\w)")
_HEAD = re.compile(r"(?:(?:[-*+•‣◦▪–—]|#{1,6}|\d{1,2}[.)]|\(\d{1,2}\)|\(?[a-z]\)|\(?[ivx]{2,4}\)) )+")
_HEAD_BEGINS = frozenset("-*+#(0123456789")
_EMPHASIS = re.compile(r"\*+|_+|`+")
_STYLES = str.maketrans(
    {**dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‘’‚‛‹›′", "'"), **dict.fromkeys("‐‑‒–−", "-"), "…": "..."}
)
_SILENT = frozenset(["Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Cc", "Cf"])  # kinds of characters
_LONG_DASH = re.compile("[—―](?=\\d)|( ?[—―] ?)")


def find_words(text: str) -> list[str]:
    """Sequences of letters, digits and underscores (the pattern \\w+)."""
    if text.isascii():  # in two thirds of the time of the pattern
        return str(text.encode().translate(_SEPARATED), "ascii").split()
    return _find_words(text)


def one_line(text: str) -> str:
    """A text without line breaks, and with single blanks."""
    return " ".join(text.split())


def normalised(text: str) -> str:
    """The form in which texts are compared: NFC, case folded, white space squeezed."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = _normal_form("NFC", _normal_form("NFC", text).casefold())
    return " ".join(folded.split())


def _normal_form(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """`unicodedata.normalize`, but not quadratic where a letter has thousands of marks: these are sorted before."""
    return unicodedata.normalize(form, _MANY_MARKS.sub(_sorted_marks, text))


def _sorted_marks(run: re.Match[str]) -> str:
    """Characters in canonical order, as a normal form has them."""
    result: list[str] = []
    marks: list[str] = []
    for char in run[0]:
        for part in unicodedata.normalize("NFD", char):
            if unicodedata.combining(part):
                marks.append(part)
            else:
                result += [*sorted(marks, key=unicodedata.combining), part]
                marks.clear()
    return "".join([*result, *sorted(marks, key=unicodedata.combining)])


@lru_cache(maxsize=1 << 16)  # a text is judged for each nugget
def verdict_form(text: str) -> str:
    """The form in which texts are the same for a verdict. See `verdict_form_of_normalised`."""
    return verdict_form_of_normalised(normalised(text))


def verdict_form_of_normalised(same: str) -> str:
    """A normalised text without what does not change what it says.

    Left out are citation markers, Markdown's emphasis, marks of headings and list items and their numbers at the
    start, and punctuation at the end, but not a question mark. Quotes and dashes are written in one way. Words, their
    order, numbers and signs stay. A text of which nothing would be left stays whole.
    """
    text, plain = _without_marks(same), same.isascii()
    if not plain:
        text = _LONG_DASH.sub(lambda dash: " - " if dash[1] else "-", text.translate(_STYLES)).strip()
    if " -- " in text:
        text = text.replace(" -- ", " - ")
    text = _without_stops(text)
    inner = text.rstrip("\"')")
    if len(inner) < len(text):  # a full stop before closing quotes is as one behind them
        text = _without_stops(inner) + text[len(inner) :]
    return text or same


def without_marks(text: str) -> str:
    """A text on one line without citation markers, Markdown's emphasis, and marks of headings and list items. One of
    which nothing would be left stays whole."""
    return _without_marks(text) or text


def _without_marks(same: str) -> str:
    text, plain = same, same.isascii()
    if "[" in text or not plain:
        text = _CITATION.sub(_unless_part_of_the_sentence, text)
        text = (text if plain else _FOOTNOTE.sub("", text)).strip()
    if "*" in text or "_" in text or "`" in text:
        text = _without_emphasis(text)
    if text[:1] in _HEAD_BEGINS or ")" in text[1:5] or not plain:
        head = _HEAD.match(text)
        text = text[head.end() :] if head else text
    return text


def _unless_part_of_the_sentence(marker: re.Match[str]) -> str:
    """Nothing for a citation; what looks like one after such a word as `in`, or after a single letter, is none."""
    before = marker.string[max(0, marker.start() - 10) : marker.start()].rpartition(" ")[2].casefold()
    attached = not marker[0].startswith(" ")
    keep = before in _PART_OF_THE_SENTENCE or (attached and len(before) == 1 and before.isalpha())
    return marker[0] if keep else ""


def _without_emphasis(text: str) -> str:
    """Without pairs of `*`, `_` or backticks around words; others, as in `2 * 3` and `snake_case`, stay."""
    opened: dict[str, re.Match[str]] = {}
    cuts: list[tuple[int, int]] = []
    for mark in _EMPHASIS.finditer(text):
        before, after = text[mark.start() - 1 : mark.start()] or " ", text[mark.end() : mark.end() + 1] or " "
        closes = before != " " and not after.isalnum()
        if closes and (opening := opened.pop(mark[0], None)):
            cuts += [opening.span(), mark.span()]
        elif after != " " and not before.isalnum():
            opened[mark[0]] = mark
    if not cuts:
        return text
    kept, position = [], 0
    for start, end in sorted(cuts):
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]]).strip()


def _without_stops(text: str) -> str:
    """Without punctuation at the end. `5!` is a number."""
    rest = text.rstrip(" .,;:!")
    return text if rest[-1:].isdigit() and text[len(rest) : len(rest) + 1] == "!" else rest


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
    decomposed = _PASSED_OVER.sub("", _normal_form("NFKD", text))
    return _normal_form("NFC", decomposed).casefold()


def compatible_form(text: str) -> str:
    """The form in which words of other languages than English are looked for: letters keep their marks."""
    if text.isascii():
        return text
    return _normal_form("NFKC", _normal_form("NFKC", _INVISIBLE.sub("", text)).casefold())


def words(text: str) -> list[str]:
    """The words of a text, as the matchers see them in English."""
    return find_words(matching_form(normalised(text)))


def says_nothing(text: str) -> bool:
    """Whether a text is white space, punctuation and Markdown's marks at most. A sign such as ∞ says something."""
    return not any(map(str.isalnum, text)) and all(
        char.isspace() or char in "`~|" or unicodedata.category(char) in _SILENT for char in text
    )


def likeliest(responses: Sequence[Set[str]], descriptions: Sequence[str]) -> int:
    """The response, given as its words, with the largest share of the words of a description; the first one if several
    are equal. This uses no matcher, because matchers learn from the result."""
    shares = [0.0] * len(responses)
    for wanted in filter(None, (set(words(description)) for description in descriptions)):
        shares = [max(share, len(wanted & own) / len(wanted)) for share, own in zip(shares, responses, strict=True)]
    return shares.index(max(shares))


def without_commands(text: str) -> str:
    """Lines for a log in which no build server finds a command: `::error::` begins none, and `##[error]` and
    `##vso[...]` are nowhere in them."""
    if "::" not in text and "##" not in text:
        return text
    return _COMMAND.sub(lambda found: r"\x23" if found[1] is None else rf"{found[1]}\x3a", text)


def escaped(text: str) -> str:
    """The text on one line with every control, format and bidirectional character written out.

    The result cannot make a terminal move its cursor, change colours or its title, or reorder text.
    """
    if text.isprintable():  # without separators other than a space, and without anything of the category Other
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
