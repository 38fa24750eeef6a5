"""Find typed nuggets in English text: Babko-Malaya et al. 2010, §4, with the manual rules of Babko-Malaya 2008, §3.

    PER GPE ORG    names that are arguments of a verb, but not possessives or parts of noun phrases
    TITLE          a person's title, with the person
    NUM            numbers, quantities, ages
    EVT            a finite verb and its arguments, without modifiers
    TMP LOC MOD    phrases of time, place, and cause, purpose or manner
    STM            a verb of saying with its statement

A nugget's extent may have several pieces. Its `core` is the part that makes it a nugget, such as the verb of an event,
or a title without the person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.annotation import Spans
from nuggeteer.gale import expressions, parser
from nuggeteer.gale.clauses import Clauses
from nuggeteer.gale.names import TIMES, correct
from nuggeteer.gale.phrases import (
    NOTHING,
    OBJECTS,
    SUBJECTS,
    Phrases,
    Tokens,
    is_age,
    is_spent,
    is_term,
    listed,
    union,
    whole,
    within,
)
from nuggeteer.gale.templates import TYPES, Template, Type

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

BATCH = 256
LONGEST = 100_000  # characters
MULTIPLES = ("ten", "dozen", "hundred", "thousand")
_EDGES = set(",;:.!?…–—-")


@dataclass(frozen=True, slots=True)
class Found:
    """A nugget in a text: its type, its extent and its core, as [start, end) in characters.

    For a time, place or manner, `clause` is the event or statement that it modifies. For a number, it is the noun that
    the number counts. Otherwise it is empty.
    """

    type: Type
    spans: Spans
    core: Spans
    clause: Spans = ()


class Nuggetizer:
    """Cuts texts into nuggets with a parser and the rules."""

    def __init__(self, model: str | None = None) -> None:
        self.nlp = parser.load(model)
        meta = self.nlp.meta
        self.name = f"{meta['lang']}_{meta['name']} {meta['version']}"

    def all(self, texts: Iterable[str]) -> Iterator[tuple[str, list[Found]]]:
        """Each text with all its nuggets, parsed in batches."""
        docs = (parser.tokens(self.nlp, text) for text in self._checked(texts))
        for doc in self.nlp.pipe(docs, batch_size=BATCH):
            yield doc.text, find(doc)

    def _checked(self, texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            if len(text) > LONGEST:
                raise NuggeteerError(f"a text has {len(text):,} characters; cut it into pieces of at most {LONGEST:,}")
            yield text


def select(found: tuple[str, list[Found]], template: Template) -> list[Found]:
    """The nuggets that count under a template, without names that the template's query already contains."""
    text, nuggets = found
    counted: list[Found] = []
    for nugget in nuggets:
        if nugget.type not in template.types:
            continue
        if nugget.type in template.once and any(nugget.type == previous.type for previous in counted):
            continue
        if nugget.type in ("PER", "GPE", "ORG") and template.known(" ".join(pieces(text, nugget.spans))):
            continue
        counted.append(nugget)
    return counted


def pieces(text: str, spans: Spans) -> list[str]:
    return [text[start:end] for start, end in spans]


def find(doc: Doc) -> list[Found]:
    """All nuggets of a parsed text."""
    correct(doc)
    return _Finder(doc).found()


class _Finder:
    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.phrases = Phrases(doc)
        self.clauses = Clauses(self.phrases)
        self.quoted = union(tokens for tokens, _ in self.clauses.quotations)
        self.times = self.phrases.of_kind("TMP")
        self.places = self.phrases.of_kind("LOC")
        self.numbers = list(self._numbers())

    def found(self) -> list[Found]:
        """All nuggets, each once. Direct speech gives a statement and no nuggets inside of it."""
        unique: dict[tuple[Type, Tokens], Found] = {}
        for type_, tokens, core, clause in self._all():
            if not self.quoted.isdisjoint(core if type_ == "STM" else tokens):
                continue
            spans = self._spans(tokens)
            if spans:
                unique.setdefault((type_, tokens), Found(type_, spans, self._spans(core) or spans, self._spans(clause)))
        return sorted(unique.values(), key=lambda nugget: (nugget.spans[0][0], TYPES.index(nugget.type)))

    def _all(self) -> Iterator[tuple[Type, Tokens, Tokens, Tokens]]:
        yield from self._names()
        yield from self._titles()
        cores: dict[int, Tokens] = {}
        phrases = [*self.times, *self.places]
        # Not "was a year old".
        ages = [t for t in self.phrases.ages if self.doc[max(t)].dep_ == "amod" or self.doc[min(t)].lower_ == "at"]
        numbers = union([*(tokens for _, tokens in self.numbers), *ages])
        for verb in self.clauses.verbs:
            core = frozenset({verb.i})
            if self.clauses.says(verb):
                for tokens in self.clauses.statements(verb):
                    yield "STM", tokens, core, NOTHING
                    cores[verb.i] = tokens
            else:
                removed = union(tokens for tokens in phrases if verb.i not in tokens) - self.clauses.antecedent(verb)
                removed |= numbers
                for tokens in self.clauses.clause(verb):
                    yield "EVT", tokens - removed, core, NOTHING
                    cores[verb.i] = tokens - removed
        for tokens in self.times:
            yield "TMP", tokens, tokens, self._clause_of(tokens, cores)
        for tokens in self.places:
            yield "LOC", tokens, tokens, self._clause_of(tokens, cores)
        for tokens in self.phrases.of_kind("MOD"):
            if clause := self._clause_of(tokens, cores):
                yield "MOD", tokens, tokens, clause
        for tokens, _ in self.numbers:
            yield "NUM", tokens, tokens, self._noun(tokens)
        yield from self._ages()

    def _clause_of(self, tokens: Tokens, cores: dict[int, Tokens]) -> Tokens:
        """The core of the clause that a phrase belongs to."""
        top = next((self.doc[i] for i in sorted(tokens) if self.doc[i].head.i not in tokens), None)
        while top is not None:
            if top.i in cores and top.i not in tokens:
                return cores[top.i]
            top = top.head if top.head.i != top.i else None
        return NOTHING

    # Names

    def _names(self) -> Iterator[tuple[Type, Tokens, Tokens, Tokens]]:
        for span in self.doc.ents:
            type_ = self._type_of(span)
            if type_ is not None and any(char.isupper() for char in span.text):
                tokens = within(span)
                if type_ != "PER" and any(tokens <= place for place in self.places):
                    continue  # the whole phrase of place is a nugget already
                yield type_, tokens, tokens, NOTHING

    def _type_of(self, span: Span) -> Type | None:
        role = self._role(span.root)
        if role is None:
            return None
        if span.label_ == "PERSON":
            return "PER"
        if span.label_ == "ORG":
            return "ORG"
        if span.label_ in ("LOC", "FAC"):
            return "LOC" if role == "place" else None  # a mountain and a building are no state
        if span.label_ == "GPE":
            return "LOC" if role == "place" else "GPE"
        return None

    def _role(self, token: Token) -> str | None:
        """Whether a name is an argument of a verb ("agent"), or a place; None if it is neither."""
        while token.dep_ in ("conj", "appos"):
            token = token.head
        head = token.head
        if token.dep_ == "ROOT":
            return "agent" if token.pos_ in ("NOUN", "PROPN") else None
        if token.dep_ in ("dobj", "obj") and head.lemma_.lower() in listed("visiting"):
            return "place"
        if token.dep_ in SUBJECTS or token.dep_ in OBJECTS:
            return "agent"
        if token.dep_ in ("npadvmod", "advmod") and head.pos_ in ("VERB", "AUX"):
            return "place"
        if token.dep_ == "pobj" and head.head.pos_ in ("VERB", "AUX"):
            return "agent" if head.dep_ == "agent" or head.lower_ == "with" else "place"
        return None

    # Titles

    def _titles(self) -> Iterator[tuple[Type, Tokens, Tokens, Tokens]]:
        for span in self.doc.ents:
            if span.label_ != "PERSON":
                continue
            root = span.root
            name = within(span)
            before = frozenset(range(root.left_edge.i, span.start))
            quotes = [i for i in before if self.doc[i].is_quote]
            before = frozenset(i for i in before if i > max(quotes, default=-1))
            if any(self.doc[i].pos_ in ("NOUN", "PROPN") and self.doc[i].head.i in name for i in before):
                yield "TITLE", before | name, before - self._articles(before), NOTHING
            for child in root.children:
                if child.dep_ == "appos" and child.pos_ in ("NOUN", "PROPN") and self._office(child):
                    core = whole(child) - union(whole(c) for c in child.children if c.dep_ in ("relcl", "conj", "cc"))
                    yield "TITLE", name | core, core, NOTHING
            if root.dep_ == "appos" and root.head.pos_ == "NOUN":
                core = frozenset(range(root.head.left_edge.i, span.start))
                yield "TITLE", core | name, core - self._articles(core), NOTHING

    def _office(self, token: Token) -> bool:
        span = self.phrases.entity.get(token.i)
        return span is None or span.label_ == "NORP"

    def _articles(self, tokens: Tokens) -> Tokens:
        return frozenset(i for i in tokens if self.doc[i].dep_ == "det")

    # Numbers

    def _numbers(self) -> Iterator[tuple[Tokens, Tokens]]:
        """Each number, and what of it is left out of the clause: nothing, unless it counts a noun."""
        times = union(tokens for tokens in self.times if not self.phrases.is_clause(tokens))
        taken = set(union([times, *self.phrases.distances, *self.phrases.ages]))
        for span in self.doc.ents:
            if span.label_ in ("QUANTITY", "MONEY", "PERCENT") and taken.isdisjoint(within(span)):
                taken |= within(span)
                counts = span.root.dep_ in ("nummod", "amod", "compound", "nmod", "npadvmod")
                yield within(span), within(span) if counts else NOTHING
        for token in self.doc:
            if (amount := self._amount(token)) and taken.isdisjoint(amount):
                taken |= amount
                counts = token.dep_ in ("nummod", "amod", "compound", "nmod", "npadvmod")
                yield amount, amount if counts else NOTHING
        for token in self.doc:
            if token.i in taken or not self._counts(token):
                continue
            of = next((child for child in token.children if child.lower_ == "of" and child.i == token.i + 1), None)
            counts = token.dep_ in ("nummod", "amod")
            tokens = self._approximately(whole(token) if counts else self._figures(token))
            first = min(tokens) - 1
            if counts and first >= 0 and self.doc[first].dep_ == "det":
                tokens |= {first}
            if taken.isdisjoint(tokens):
                taken |= tokens
                quantity = token.pos_ == "NOUN" and of is not None  # thousands of families
                cut = tokens | {of.i} if quantity and of is not None else tokens
                apart = counts or quantity or token.pos_ == "ADV" or expressions.is_result(token.text)
                yield tokens, cut if apart else NOTHING

    def _figures(self, token: Token) -> Tokens:
        """A number that counts no noun, with the figures before it: 2 million."""
        return frozenset({token.i, *(child.i for child in token.children if child.i < token.i and child.like_num)})

    def _amount(self, token: Token) -> Tokens:
        """An amount that the tagger does not know: 5 percent, 20 million euros, two thirds of the voters."""
        fraction = token.lower_ in listed("fractions") and any(child.lower_ == "of" for child in token.children)
        if not fraction and token.lemma_.lower() not in listed("currencies"):
            return NOTHING
        number = next((child for child in token.children if child.dep_ == "nummod" and child.like_num), None)
        return self._approximately(frozenset(range(number.left_edge.i, token.i + 1))) if number else NOTHING

    def _approximately(self, tokens: Tokens) -> Tokens:
        """A number with the words in front of it that say how exact it is."""
        first = min(tokens)
        while first > 1 and self.doc[first - 1].lower_ == "of" and self.doc[first - 2].lemma_.lower() in MULTIPLES:
            first -= 2  # tens of thousands
        while first and self.doc[first - 1].lower_ in listed("approximately"):
            first -= 1
        return tokens | frozenset(range(first, min(tokens)))

    def _counts(self, token: Token) -> bool:
        span = self.phrases.entity.get(token.i)
        term = token.dep_ == "nummod" and (is_term(token.head) or is_spent(token.head))
        lasts = term or is_age(token)
        if span is not None and span.label_ not in ("CARDINAL", "QUANTITY", "MONEY", "PERCENT", *TIMES * lasts):
            return False
        if expressions.is_result(token.text):
            return True
        if token.lemma_.lower() in MULTIPLES and self.doc[token.i + 1 : token.i + 3].text.lower() == "of thousands":
            return False  # tens of thousands are one number
        if token.dep_ == "appos" or (token.dep_ == "nummod" and token.i > token.head.i):
            return False  # an age, or part of a name, as in "Apollo 8"
        if token.lower_ in listed("quantities") or (token.pos_ == "NOUN" and token.lemma_ in listed("quantities")):
            return token.pos_ in ("NOUN", "NUM", "ADJ") and token.dep_ != "compound"
        if token.lower_ == "twice":
            return True
        if token.dep_ == "compound":
            return False
        return bool(token.pos_ == "NUM" and token.like_num)

    def _noun(self, tokens: Tokens) -> Tokens:
        """The noun phrase that a number counts."""
        head = self.doc[max(tokens)].head
        return whole(head) if head.pos_ in ("NOUN", "PROPN") else NOTHING

    def _ages(self) -> Iterator[tuple[Type, Tokens, Tokens, Tokens]]:
        """Ages: "43-year-old" alone, and a number after a name together with the name ("Menon, 43")."""
        for tokens in self.phrases.ages:
            yield "NUM", tokens, tokens, NOTHING
        for token in self.doc:
            if token.dep_ == "appos" and token.like_num and token.head.pos_ == "PROPN":
                yield "NUM", frozenset(range(token.head.left_edge.i, token.i + 1)), frozenset({token.i}), NOTHING

    # Extents

    def _spans(self, tokens: Tokens) -> Spans:
        """The characters of tokens. Pieces are joined over punctuation, and do not begin or end with it."""
        pieces: list[tuple[int, int]] = []
        kept = sorted(i for i in tokens if not self.doc[i].is_space and not _EDGES.issuperset(self.doc[i].text))
        for i in kept:
            if pieces and all(self.doc[k].is_punct or self.doc[k].is_space for k in range(pieces[-1][1], i)):
                pieces[-1] = (pieces[-1][0], i + 1)
            else:
                pieces.append((i, i + 1))
        return tuple((self.doc[a].idx, self.doc[b - 1].idx + len(self.doc[b - 1])) for a, b in pieces)
