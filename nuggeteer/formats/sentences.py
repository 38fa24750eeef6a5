"""Whole answers cut into responses: sentences, list items, headings and table rows; a block of code stays whole.

Answers are Markdown or plain text. They are cut only where there is white space, so that the pieces in their order,
with white space between them, are the answer again, and its length for the official F stays the same. The rules are
fixed and written for English; a text that they do not fit, such as one without capital letters, is cut at its lines
only. Time is linear in the length of the text.

A line ends a piece unless it plainly goes on: the next line begins with a small letter, or the line ends with a comma
or a word that no sentence ends with. A list item of several sentences is cut into these. A piece without a word, such
as a rule under a heading or a citation on a line of its own, belongs to the piece before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nuggeteer.settings import Split

VERSION = 1  # part of the signature of scores; a higher number for every change of where texts are cut

REMEMBERED = 4096  # answers whose pieces are kept: the same answer is in a run and was judged

Piece = tuple[int, int]  # [start, end) in the text

_CITATION = r"(?:\[\^?\w{1,8}(?:[ ,;–-]{1,3}\w{1,8}){0,8}\]|【[^】\n]{0,80}】)"
# A full stop or the like, what closes with it, and citations; a run of stops is one. Possessive, to stay linear.
_STOP = re.compile(rf"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*+(?:[ ]?{_CITATION})*+[\"'”’»)*_]*+(?=\s)")
_ANY_STOP = ".!?…"
_OPENING = "\"'“‘«([*_`"
_CITATIONS = re.compile(_CITATION)
_WORD = re.compile(r"\w")

_FENCE = re.compile(r"```|~~~")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:>\s*)?(?:[-*+•‣◦▪–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|[a-z]\.|\([ivx]{1,4}\))\s+(?=\S)")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence; those in _NUMBERED only before a number.
_TITLES = _words(
    "dr mr mrs ms mx prof gen sen rep gov lt col sgt capt cpt cmdr adm maj rev hon pres st mt ft messrs vs v e.g "
    "i.e cf viz approx ca c esp incl resp"
)
_NUMBERED = _words(
    "no nos fig figs eq eqs sec ch chap vol vols art pp p para ver jan feb mar apr jun jul aug sep sept oct nov dec"
)
# The end of a sentence only before a word that often begins one.
_ABBREVIATED = _words(
    "al inc ltd co corp bros dept univ est etc jr sr ave blvd rd sq assn natl intl ed eds ph.d m.d b.a m.a b.sc "
    "m.sc a.m p.m a.d b.c d.c u.s u.k u.n e.u calif conn fla"
)
_OPENERS = _words(
    "the a an this that these those it he she they we i you there here in on at by for from to with without "
    "within his her its their our my your some many most all both each another other others one two three no not "
    "and but or so yet however moreover furthermore therefore thus hence also then if when while after before "
    "since although though because as during until unless once later today now finally first second third instead "
    "according what who where why how which is are was were do does did can could will would should has have had"
)
# No sentence ends with one of these.
_GOES_ON = _words(
    "a an the of in on at by for from to with and or but nor as than into onto upon between among through during "
    "under over against about is are was were be been being has have had will would can could may might must "
    "shall should its their his her our my your this these those such very more most not who which whose where "
    "when while because although"
)


def split(text: str) -> list[str]:
    """The pieces of an answer, without the white space around them; a text without any word is one piece."""
    found = pieces(text)
    return [text] if len(found) == 1 else [text[start:end] for start, end in found]


def responses_in(answer: str, setting: Split) -> list[str]:
    """The responses of an answer that a verdict has as its text: its records stand on lines of their own."""
    if setting == "sentences":
        return split(answer)
    return [record for record in answer.split("\n") if record.strip()]


@lru_cache(maxsize=REMEMBERED)
def pieces(text: str) -> Sequence[Piece]:
    """Where the pieces of an answer stand in it, in order. What is one piece anyway stands there whole, with the white
    space around it."""
    if "\n" not in text and not _has_inner_stop(text):
        return [(0, len(text))]
    found: list[Piece] = []
    pending: int | None = None  # where something without a word began that has no piece before it
    for start, end in _raw_pieces(text):
        if not _WORD.search(text, start, end) or not _WORD.search(_CITATIONS.sub("", text[start:end])):
            if found:
                found[-1] = found[-1][0], end
            elif pending is None:
                pending = start
            continue
        found.append((start if pending is None else pending, end))
        pending = None
    return found if len(found) > 1 else [(0, len(text))]


def _has_inner_stop(text: str) -> bool:
    """Whether a sentence might end before the text does; quick, because most short responses are one sentence."""
    last = len(text) - 1
    return any(text.find(stop, 0, last) >= 0 for stop in _ANY_STOP)


def _raw_pieces(text: str) -> Iterator[Piece]:
    """The pieces, and what has no word in it. Each begins and ends with something that is not white space."""
    prose: Piece | None = None  # lines that go on
    fence: tuple[int, str] | None = None
    position = 0
    for line in text.split("\n"):
        start, position = position, position + len(line) + 1
        stripped = line.strip()
        begin = start + len(line) - len(line.lstrip())
        end = begin + len(stripped)
        if fence is not None:
            if stripped.startswith(fence[1]):
                yield fence[0], end
                fence = None
            continue
        mark = _FENCE.match(stripped)
        whole = bool(mark or _HEADING.match(stripped) or (stripped[:1] == "|" and "|" in stripped[1:]))
        if prose and (not stripped or whole or _ITEM.match(stripped) or not _goes_on(text, prose[1], begin)):
            yield from _sentences(text, *prose)
            prose = None
        if mark:
            fence = begin, mark[0]
        elif whole:
            yield begin, end
        elif stripped:
            prose = (prose[0] if prose else begin), end
    if fence is not None:
        yield fence[0], len(text.rstrip())
    if prose:
        yield from _sentences(text, *prose)


def _goes_on(text: str, end: int, begin: int) -> bool:
    """Whether the line that ends at `end` goes on in the next, which begins at `begin`."""
    if text[begin].islower() or text[end - 1] == ",":
        return True
    last = text[max(end - 20, 0) : end].split()[-1]
    return last in _GOES_ON


def _sentences(text: str, start: int, end: int) -> Iterator[Piece]:
    item = _ITEM.match(text, start, end)
    begin = start
    for stop in _STOP.finditer(text, item.end() if item else start, end):
        if _ends_sentence(text, begin, stop, end):
            yield begin, stop.end()
            begin = stop.end()
            while text[begin].isspace():
                begin += 1
    yield begin, end


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    """Whether the stop ends the sentence that begins at `begin`."""
    after = text[stop.end() : min(stop.end() + 60, end)].lstrip().lstrip(_OPENING)
    if after and after[0].islower():
        return False
    mark = stop[0]
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = text[max(begin, stop.start() - 40) : stop.start()].split()
    if not before:
        return False
    word = before[-1].lstrip(_OPENING + "-–—/")
    alone = len(before) == 1 and stop.start() - begin <= 40  # nothing but this word in the sentence
    if word.isdecimal():  # the number of a list item, or a number
        return not alone and not (len(word) <= 2 and len(before) > 1 and before[-2].endswith((":", ";")))
    short, initial = word.casefold(), len(word) == 1 and word.isupper()
    if short in _TITLES and not initial:
        return False
    if short in _NUMBERED:
        return not after[:1].isdecimal()
    dotted = "." in word and all(len(part) <= 2 for part in word.split("."))
    if short in _ABBREVIATED or dotted or initial:
        opener = re.match(r"\w+", after)
        closed = len(mark) > 1 and mark[1] in '"”)'
        return closed or (opener is not None and opener[0].casefold() in _OPENERS)
    return True
