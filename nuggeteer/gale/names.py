"""Names corrected by rule, before nuggets are cut from a parsed text.

The tagger of names takes a title into the name of a person, and an unknown city for a person. A title in front of a
name says that it is a person's, and a preposition of place in front of a name that it is a place's. What has the form
of a date is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nuggeteer.gale import expressions
from nuggeteer.gale.phrases import listed

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

TIMES = ("DATE", "TIME")
MISTAKEN = ("GPE", "LOC", "FAC", "NORP", "ORG")  # what the tagger takes a surname for
NAMES = ("PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "WORK_OF_ART")


_CAPITAL_INSIDE = re.compile("(?:Mc|Mac|De|Di|Fitz|La|Le|Van)[A-Z]")  # McDonald


def correct(doc: Doc) -> None:
    """Change the names of a parsed text in place."""
    written = [doc.char_span(*span, alignment_mode="expand") for span in expressions.times(doc.text)]
    times = {i for span in written if span is not None for i in range(span.start, span.end)}
    kept = [span for span in doc.ents if span.label_ in TIMES or times.isdisjoint(range(span.start, span.end))]
    kept = [_with_direction(_without_result(span)) for span in kept]
    named = {i for span in kept for i in range(span.start, span.end)}
    single = [doc[token.i : token.i + 1] for token in doc if token.pos_ == "PROPN" and token.i not in named]
    states = [span for span in single if span.text in listed("states") and span[0].dep_ != "compound"]
    unseen = [_named(span, span.start, "GPE") for span in single if span in states or _leads_to_place(span)]
    doc.ents = (*map(_corrected, filter(_is_name, kept)), *unseen)
    _find_persons(doc)


def _find_persons(doc: Doc) -> None:
    """One word that the tagger took for a place, a people or a body, or did not see as a name, is a person where only a
    person can be meant, and wherever else the text has it."""
    alone = [doc[token.i : token.i + 1] for token in doc if _is_unseen(token)]
    persons = {span[-1].text for span in doc.ents if span.label_ == "PERSON" and len(span) > 1}
    persons |= {span.text for span in (*doc.ents, *alone) if _is_person(span)}
    found = [_named(span, span.start, "PERSON") for span in alone if span.text in persons]
    mistaken = (span.label_ in MISTAKEN and span.text in persons for span in doc.ents)
    named = (
        _named(span, span.start, "PERSON") if wrong else span for span, wrong in zip(doc.ents, mistaken, strict=True)
    )
    doc.ents = (*named, *found)


def _is_name(span: Span) -> bool:
    """Whether it is a name of somebody or of a place: no common noun with which a sentence begins, and no storm."""
    if span.label_ not in NAMES:
        return True
    common = len(span) == 1 and span[0].tag_ in ("NN", "NNS") and span[0].is_sent_start
    before = span.doc[span.start - 1].lower_ if span.start else ""
    return not common and not {before, span[0].lower_} & listed("storms")


def _is_unseen(token: Token) -> bool:
    """Whether it is a name of one word that the tagger does not know."""
    among = token.dep_ == "compound" or any(child.dep_ == "compound" for child in token.children)
    return token.tag_ == "NNP" and not token.ent_type_ and not among


def _is_person(span: Span) -> bool:
    token = span.root
    if span.label_ not in (*MISTAKEN, "") or token.tag_ != "NNP":
        return False
    if any(word.text in listed("states") for word in span) or (span.label_ in ("ORG", "") and _is_known_body(span)):
        return False
    with_them = token.dep_ == "pobj" and token.head.lower_ == "with" and span.label_ == "GPE"
    if with_them and token.head.head.lemma_.lower() in listed("together"):
        return True
    if len(span) > 1:
        return False
    if any(child.dep_ == "appos" and child.like_num for child in token.children):
        return True  # "Menon, 43, was born in Pune"
    if any(_is_whose_clause(child) for child in token.children):
        return True  # "Menon, who is 43"
    first = token.head if token.dep_ == "conj" else token
    verb = first.head.lemma_.lower()
    if first.dep_ == "nsubj" and any(other.ent_type_ == "PERSON" for other in token.conjuncts):
        return verb in listed("human") | listed("together")
    if token.dep_ == "nsubj":
        return verb in listed("human") | listed("saying") | listed("utterable") or verb == "say"
    return token.dep_ in ("dobj", "nsubjpass") and verb in listed("upon_persons")


def _is_known_body(span: Span) -> bool:
    """Whether it is a body whose name is no surname: one of a list, or one with other capitals, as in NATO and eBay."""
    word = span[-1].text
    return word in listed("bodies") or not (word.istitle() or _CAPITAL_INSIDE.match(word))


def _is_whose_clause(verb: Token) -> bool:
    return verb.dep_ == "relcl" and any(child.lower_ in ("who", "whom") for child in verb.children)


def _without_result(span: Span) -> Span:
    """A team without what it won by: Ghana 2-1."""
    if len(span) > 1 and expressions.is_result(span[-1].text):
        return span.doc[span.start : span.end - 1].char_span(0, len(span[:-1].text), label=span.label_) or span
    return span


def _with_direction(span: Span) -> Span:
    """A place with the word in front that says which part of it: western Peru."""
    first = span.start
    while first and span.label_ in ("GPE", "LOC") and span.doc[first - 1].lower_ in listed("directions"):
        first -= 1
    return _named(span, first, span.label_) if first < span.start else span


def _corrected(span: Span) -> Span:
    if len(span) == 1 and span.text in listed("states") and span.label_ not in (*TIMES, "GPE"):
        return _named(span, span.start, "GPE")
    if span.label_ not in NAMES:
        return span
    if (
        span.label_ in MISTAKEN
        and span[-1].pos_ == "PROPN"
        and span[-1].lower_ in listed("regions") | listed("natural")
    ):
        return _named(span, span.start, "LOC")  # the Black Forest
    if span.label_ in MISTAKEN and len(span) > 1 and span[0].lower_ in ("lake", "mount"):
        return _named(span, span.start, "LOC")
    first = span.start
    titles = listed("honorifics") | (listed("callings") if len(span) > 2 else frozenset())
    while first < span.end - 1 and span.doc[first].lower_.rstrip(".") in titles:
        first += 1
    before = span.doc[first - 1] if first else None
    if before is not None and before.lower_.rstrip(".") in titles and before.text[0].isupper():
        return _named(span, first, "PERSON")
    if span.label_ == "PERSON" and span.text in listed("bodies"):
        return _named(span, first, "ORG")
    if span.label_ in ("PERSON", "ORG") and before is not None and _leads_to_place(span):
        return _named(span, first, "GPE")
    return span


def _leads_to_place(span: Span) -> bool:
    """Whether one word of a name follows a preposition of place: in Tunis, or fled from Goma to Dakar."""
    root = span.root
    if len(span) > 1 or root.dep_ != "pobj" or root.head.i != span.start - 1:
        return False
    word, verb = root.head.lower_, root.head.head
    while verb.dep_ in ("prep", "dobj", "obj") and verb.pos_ not in ("VERB", "AUX"):
        verb = verb.head  # from Rotterdam to Dakar, troops from Goma
    if word in ("in", "near") and span.label_ in ("PERSON", ""):
        return True
    if word == "in" and span.label_ == "ORG" and root.head.head.tag_ == "VBN":
        return True  # made in Oxford
    return word in ("to", "from", "into", "near", "via", "through") and verb.lemma_.lower() in listed("moving")


def _named(span: Span, first: int, label: str) -> Span:
    from spacy.tokens import Span as NewSpan

    return NewSpan(span.doc, first, span.end, label=label)
