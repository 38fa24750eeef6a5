"""Names corrected by rule, before nuggets are cut from a parsed text.

The tagger of names takes a title into the name of a person, and an unknown city for a person. A title in front of a
name says that it is a person's, and a preposition of place in front of a name that it is a place's. What has the form
of a date is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nuggeteer.gale import expressions
from nuggeteer.gale.phrases import listed

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

TIMES = ("DATE", "TIME")
NAMES = ("PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "WORK_OF_ART")


def correct(doc: Doc) -> None:
    """Change the names of a parsed text in place."""
    written = [doc.char_span(*span, alignment_mode="expand") for span in expressions.times(doc.text)]
    times = {i for span in written if span is not None for i in range(span.start, span.end)}
    kept = [span for span in doc.ents if span.label_ in TIMES or times.isdisjoint(range(span.start, span.end))]
    named = {i for span in kept for i in range(span.start, span.end)}
    single = (doc[token.i : token.i + 1] for token in doc if token.pos_ == "PROPN" and token.i not in named)
    unseen = [_named(span, span.start, "GPE") for span in single if _leads_to_place(span)]
    doc.ents = (*map(_corrected, kept), *unseen)


def _corrected(span: Span) -> Span:
    if span.label_ not in NAMES:
        return span
    first = span.start
    while first < span.end - 1 and span.doc[first].lower_.rstrip(".") in listed("honorifics"):
        first += 1
    before = span.doc[first - 1] if first else None
    if before is not None and before.lower_.rstrip(".") in listed("honorifics") and before.text[0].isupper():
        return _named(span, first, "PERSON")
    if span.label_ in ("PERSON", "ORG") and before is not None and _leads_to_place(span):
        return _named(span, first, "GPE")
    return span


def _leads_to_place(span: Span) -> bool:
    """Whether one word of a name follows a preposition of place: in Tunis, or fled from Goma to Dakar."""
    root = span.root
    if len(span) > 1 or root.dep_ != "pobj" or root.head.i != span.start - 1:
        return False
    word, verb = root.head.lower_, root.head.head
    if verb.dep_ == "prep":
        verb = verb.head  # from Rotterdam to Dakar
    if word == "in" and span.label_ in ("PERSON", ""):
        return True
    return word in ("to", "from", "into", "near", "via", "through") and verb.lemma_.lower() in listed("moving")


def _named(span: Span, first: int, label: str) -> Span:
    from spacy.tokens import Span as NewSpan

    return NewSpan(span.doc, first, span.end, label=label)
