"""A key, and how it is struck out of what a server says.

A server that quotes the key may escape it as in JSON, addresses or HTML, or write it in base64 or hexadecimal digits,
each within any other. Nobody who decodes what we keep must find it. So a text is decoded here until nothing is left to
decode. If the key shows after escapes were read, it is struck out. If it shows in what base64, digits or
quoted-printable hide, or if decoding would take too long, nothing of the text is kept.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import Final
from urllib.parse import quote, unquote

from nuggeteer.asking.replies import LONGEST_REPLY

STRUCK: Final = "***"
SHORTEST: Final = 8  # characters of what is struck out; shorter ones are in many texts by chance
READ: Final = 2 * LONGEST_REPLY  # characters; nothing after them is kept
MOST: Final = 20 * READ  # characters to look at, in everything decoded from a text
_BLANK: Final = {"n": "\n", "r": "\r", "t": "\t"}
_escape = re.compile(r"\\(?:(?:u00|U000000|x)([0-7][0-9a-fA-F])|u\{0*([0-7]?[0-9a-fA-F])\}|(.))")
_wide_percent = re.compile(r"%u00([0-7][0-9a-fA-F])")
_octal = re.compile(r"\\([01]?[0-7]{2})")
_quoted_printable = re.compile(r"=(?:([0-7][0-9a-fA-F])|\r?\n)")
_line_end = re.compile(r"\s*[\r\n]\s*")
_base64 = re.compile(r"[A-Za-z0-9+/_-]{11,}")  # as many as the shortest key has
_separator = re.compile(r"0x|[\s:;,.=-]")
_hexadecimal = re.compile(r"[0-9a-fA-F]{16,}")
_text = re.compile(rb"[\t\n\r -~]{8,}")


@dataclass(frozen=True)
class Secret:
    """A key that does not show itself. It has printable ASCII characters only."""

    value: str = field(repr=False)

    def hidden(self, text: str) -> str:
        """The beginning of the text without the key; decoded, if that is how the key was found. Cut it only afterwards:
        half a key is not recognised."""
        text = text[:READ]
        if len(self.value) < SHORTEST:
            return text
        find, forms = _in_any_form(self.value), _readings(self.value)
        kept = find.sub(STRUCK, text)
        steps, looked_at = _decoded(kept), 0
        while (read := next(steps, None)) is not None:
            looked_at += len(read)
            if looked_at > MOST:
                return STRUCK
            if _has(read, forms) or find.search(read):
                kept = find.sub(STRUCK, read)
                steps = _decoded(kept)
        return STRUCK if _holds(kept, forms) else kept


def _holds(text: str, forms: frozenset[str]) -> bool:
    """Whether the key is in anything that the text unpacks to, or may be beyond what is looked at."""
    waiting, looked_at = [text], 0
    while waiting:
        for read in _every_reading(waiting.pop()):
            looked_at += len(read)
            if looked_at > MOST or _has(read, forms):
                return True
            waiting += _unpacked(read)
    return False


def _has(text: str, forms: frozenset[str]) -> bool:
    small = text.replace("\0", "").lower()
    return any(form in small for form in forms)


def _every_reading(text: str) -> Iterator[str]:
    yield text
    yield from _decoded(text)


def _decoded(text: str) -> Iterator[str]:
    """The text after each step of reading escapes, until none is left. Each step makes it shorter."""
    before = None
    while text != before:
        before = text
        for decode in (_without_escapes, unescape, _without_percents):
            decoded = decode(text)
            if decoded != text:
                yield (text := decoded)


def _without_escapes(text: str) -> str:
    """A JSON string as it is read, as far as that matters for ASCII."""

    def read(escape: re.Match[str]) -> str:
        digits = escape[1] or escape[2]
        return chr(int(digits, 16)) if digits else _BLANK.get(escape[3], escape[3])

    return _escape.sub(read, text)


def _without_percents(text: str) -> str:
    return unquote(_wide_percent.sub(lambda one: chr(int(one[1], 16)), text))


def _unpacked(text: str) -> Iterator[str]:
    """What a text holds in base64, in lines of any length, and in hexadecimal digits, wherever they begin; and the text
    as quoted-printable and with octal escapes."""
    runs = _base64.findall(_line_end.sub("", text).replace("-", "+").replace("_", "/"))
    for start in range(4) if runs else ():
        yield _joined(b64decode(_in_fours(run[start:])) for run in runs)
    runs = _hexadecimal.findall(_separator.sub("", text))
    for start in range(2) if runs else ():
        yield _joined(bytes.fromhex(run[start : len(run) - (len(run) - start) % 2]) for run in runs)
    quoted_printable = _quoted_printable.sub(lambda one: chr(int(one[1], 16)) if one[1] else "", text)
    octal = _octal.sub(lambda one: chr(int(one[1], 8)), text)
    yield from (decoded for decoded in (quoted_printable, octal) if decoded != text)


def _in_fours(digits: str) -> str:
    """Base64 without its padding, as a decoder takes it."""
    return digits[: len(digits) - (len(digits) % 4 == 1)] + "=" * (-len(digits) % 4 % 3)


def _joined(found: Iterator[bytes]) -> str:
    """What is text in some bytes. UTF-16 has a zero beside each character of ASCII."""
    return "\n".join(text.decode() for one in found for text in _text.findall(one.replace(b"\0", b"")))


@lru_cache(maxsize=8)
def _readings(key: str) -> frozenset[str]:
    """The key in small letters, and what it becomes when apparent escapes in it are read."""
    return frozenset(form.lower() for form in _every_reading(key) if len(form) >= SHORTEST)


@lru_cache(maxsize=8)
def _in_any_form(key: str) -> re.Pattern[str]:
    quoted = (key, key.replace("/", r"\/"), quote(key, safe=""))
    forms = {*_every_reading(key), *(digits for text in quoted for digits in _digits(text))}
    longest_first = sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def _digits(text: str) -> Iterator[str]:
    """A text in hexadecimal digits, and in the three forms that base64 gives to it within another text."""
    yield text.encode().hex()
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            digits = encode(bytes(before) + text.encode()).decode().rstrip("=")
            # At both ends, digits also depend on what stands beside the text.
            yield digits[(0, 2, 3)[before] : len(digits) - (len(digits) % 4 != 0)]
