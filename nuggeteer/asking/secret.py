"""A key, and how it is struck out of what a server says.

A server that quotes the key may write it as JSON, addresses and HTML have it, once or within each other, or in base64.
Whoever decodes what we keep must not find it. So a text is decoded here until nothing is left to decode, and the key is
struck out of it at every step.
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import Final
from urllib.parse import quote, unquote

from nuggeteer.asking.replies import LONGEST_REPLY

SHORTEST: Final = 8  # characters of what is struck out; shorter ones are in many texts by chance
STEPS: Final = 5  # encodings within each other
READ: Final = 2 * LONGEST_REPLY  # characters; nothing that lies behind them is kept
_escape = re.compile(r"\\(?:(?:u00|x)([2-7][0-9a-fA-F])|(.))")


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
        find = _in_any_form(self.value)
        kept = find.sub("***", text)
        for read in _decoded(kept):
            if find.search(read):
                return self.hidden(find.sub("***", read))
        return kept


def _decoded(text: str) -> Iterator[str]:
    """The text after each step of decoding, until there is nothing left to decode."""
    for _ in range(STEPS):
        before = text
        for decode in (_without_escapes, unescape, unquote):
            decoded = decode(text)
            if decoded != text:
                yield (text := decoded)
        if text == before:
            return


def _without_escapes(text: str) -> str:
    """A JSON string as it is read, as far as that matters for ASCII."""
    return _escape.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else escape[2], text)


@lru_cache(maxsize=8)
def _in_any_form(key: str) -> re.Pattern[str]:
    quoted = (key, key.replace("/", r"\/"), quote(key, safe=""))
    forms = {key, *_decoded(key), *(digits for text in quoted for digits in _digits(text))}
    longest_first = sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def _digits(text: str) -> Iterator[str]:
    """A text in hexadecimal digits, and in the three forms that base64 gives to it within another text."""
    yield text.encode().hex()
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            digits = encode(bytes(before) + text.encode()).decode().rstrip("=")
            # At both ends there are digits that also depend on what stands beside the text.
            yield digits[(0, 2, 3)[before] : len(digits) - (len(digits) % 4 != 0)]
