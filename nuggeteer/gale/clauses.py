"""Clauses in a parsed text: finite verbs with their arguments, and verbs of saying with their statements.

Nuggets have a fixed granularity (Babko-Malaya 2008, §3.1). A nugget is the core verb with its arguments in their
maximal extent, without modifiers. Each conjunct makes a nugget of its own. Speech stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice, pairwise, product
from typing import TYPE_CHECKING

from nuggeteer.gale.phrases import (
    NOTHING,
    OBJECTS,
    SUBJECTS,
    Phrases,
    Tokens,
    greets,
    listed,
    subjects,
    subordinate,
    union,
    whole,
    within,
)

if TYPE_CHECKING:
    from spacy.tokens import Token

HEADS = ("ROOT", "conj", "ccomp", "relcl", "advcl", "parataxis")
FINITE = ("VBD", "VBP", "VBZ")
FEWEST_QUOTED = 4  # tokens; shorter quotations are names and figures of speech
MOST_CHOICES = 64  # ways to choose among conjuncts; a clause with more of them stays whole
_QUOTED = re.compile(r"“[^“”]+”|\"[^\"]+\"|``[^`]{1,5000}?''|‘[^‘’]+’(?!\w)")


class Clauses:
    """Verbs and statements of one parsed text."""

    def __init__(self, phrases: Phrases) -> None:
        self.doc = phrases.doc
        self.phrases = phrases

    @cached_property
    def verbs(self) -> list[Token]:
        """Finite verbs of clauses, without verbs of conditions: no infinitives, gerunds and participles."""
        return [token for token in self.doc if self._core(token)]

    def _core(self, token: Token) -> bool:
        first = token
        while first.dep_ == "conj" and first.head.pos_ in ("VERB", "AUX"):
            first = first.head
        if (
            token.pos_ not in ("VERB", "AUX")
            or first.dep_ not in HEADS
            or not (finite(token) or self._shares_auxiliary(token))
        ):
            return False
        if token.sent.text.rstrip("\"'”’) ").endswith("?"):
            return False  # a question states nothing
        if _fills(first) or _defines(first):
            return False
        if first.dep_ == "ccomp":
            return self.says(first.head) or _spliced(first)
        if first.dep_ == "advcl":
            return not any(c.lower_ in listed("conditional") for c in first.children if c.dep_ in ("mark", "advmod"))
        return True

    def _shares_auxiliary(self, token: Token) -> bool:
        """Whether it shares the auxiliary of the verb that it is conjoined to, as in "was shot and killed"."""
        if any(child.dep_ in ("aux", "auxpass") for child in token.children):
            return False
        while token.dep_ == "conj" and (token.tag_ == token.head.tag_ or self._mistagged(token)):
            token = token.head
            if finite(token):
                return True
        return False

    def _mistagged(self, token: Token) -> bool:
        """Whether it is the past tense of a verb whose forms are alike, after another: "patrolled and set up"."""
        no_helper = not any(child.dep_ in ("aux", "auxpass") for child in token.head.children)
        return token.tag_ in ("VB", "VBN", "VBP") and token.head.tag_ in FINITE and no_helper

    def says(self, token: Token) -> bool:
        """Whether a token is a finite verb of saying."""
        lemma = token.lemma_.lower()
        if token.pos_ != "VERB" or not finite(token):
            return False
        return lemma in listed("saying") or (lemma in listed("utterable") and self._introduces_speech(token))

    def _introduces_speech(self, verb: Token) -> bool:
        """Whether the verb's object is a clause or a quotation: "added that", and not "added salt"."""
        if any(child.dep_ in ("auxpass", "nsubjpass") for child in verb.children):
            return False
        return any(child.dep_ == "ccomp" or child.is_quote for child in verb.children)

    def clause(self, verb: Token) -> list[Tokens]:
        """The verb with its arguments in their maximal extent, once for each way to choose among conjuncts."""
        own = (subordinate(verb) - self._outside_core(verb)) | self.antecedent(verb)
        if verb.dep_ == "conj" and not subjects(verb):
            own |= self._shared(verb)
        heads = [child for child in verb.children if self._is_split(child)]
        agents = ("prep",) if self._joint(verb, SUBJECTS) else ("prep", "agent")
        phrases = [child for child in verb.children if child.dep_ in agents]
        held = (c for child in verb.children if child.dep_ in OBJECTS for c in child.children)
        phrases += [c for c in held if c.dep_ == "prep" and c.lower_ in listed("of_verbs")]  # protect them against rain
        objects = [c for phrase in phrases for c in phrase.children]
        heads += [child for child in objects if child.dep_ == "pobj" and child.i in own and any(conjuncts(child))]
        ways = [[(whole(head), part) for part in parts(head, conjuncts(head))] for head in heads]
        chosen = list(islice(product(*ways), MOST_CHOICES + 1))
        if len(chosen) > MOST_CHOICES:
            return [own]
        return [own - union(argument - part for argument, part in way) for way in chosen]

    def antecedent(self, verb: Token) -> Tokens:
        """The noun phrase that a relative pronoun stands for, if the pronoun is the subject."""
        if verb.dep_ != "relcl" or not any(subject.tag_ in ("WP", "WDT") for subject in subjects(verb)):
            return NOTHING
        return frozenset(range(verb.head.left_edge.i, verb.head.i + 1))

    def _is_split(self, child: Token) -> bool:
        """Whether each conjunct of an argument makes a nugget. Subjects of verbs such as "meet" do not, nor do those
        who sign a treaty with each other."""
        if next(conjuncts(child), None) is None:
            return False
        if child.dep_ in ("nsubj", "nsubjpass"):
            return child.head.lemma_.lower() not in listed("together") and not self._joint(child.head, OBJECTS)
        return child.dep_ in OBJECTS

    def _joint(self, verb: Token, roles: tuple[str, ...]) -> bool:
        """Whether it is about something that several have with each other, such as a treaty, or about each other."""
        own = [child for child in verb.children if child.dep_ in roles]
        return any(child.lemma_.lower() in listed("joint") or _reciprocal(child) for child in own)

    def _shared(self, verb: Token) -> Tokens:
        """The subject and the auxiliaries that a conjoined verb shares with the first verb."""
        head = verb.head
        while head.dep_ == "conj" and not subjects(head):
            head = head.head
        # In "will go and cut", the tagger may take "cut" for a past tense.
        bare = verb.tag_ in ("VB", "VBN", "VBG") or (head.tag_ == "VB" and verb.lower_ == verb.lemma_)
        aux = bare and not any(child.dep_ in ("aux", "auxpass") for child in verb.children)
        deps = (*SUBJECTS, "aux", "auxpass") if aux else SUBJECTS
        return union(whole(child) for child in head.children if child.dep_ in deps)

    def _outside_core(self, verb: Token) -> Tokens:
        """The tokens below a verb that are not part of its core."""
        result: set[int] = set()
        for child in verb.children:
            if (child.dep_ in ("conj", "parataxis") and child.pos_ in ("VERB", "AUX")) or _spliced(child):
                result |= whole(child)
            elif (
                child.dep_ in ("cc", "preconj", "mark", "discourse", "intj")
                or child.tag_ == "WRB"
                or _opens_sentence(child)
            ):
                result.add(child.i)
            elif child.dep_ in ("aux", "auxpass"):
                result |= {c.i for c in child.children if c.dep_ in ("discourse", "intj")}  # "have, uh, left"
            elif (child.dep_ == "npadvmod" and child.i < verb.i and greets(child)) or self._is_addressed(child):
                result |= whole(child)
            elif child.dep_ == "advmod" and child.lower_ == "even" and child.nbor().dep_ == "mark":
                result.add(child.i)
        for kind, tokens in self.phrases.modifiers:
            if verb.i not in tokens and (kind != "MOD" or tokens <= whole(verb)):
                result |= tokens
        for child in verb.subtree:
            about = child is not verb and child.dep_ == "relcl" and finite(child) and not _defines(child)
            if about and verb.i not in whole(child):
                result |= whole(child)
        return frozenset(result)

    def _is_addressed(self, token: Token) -> bool:
        """Whether it says to whom somebody speaks: "General, you told us that", "it was dead, Senator"."""
        alone = token.pos_ in ("NOUN", "PROPN") and token.dep_ in ("npadvmod", "advmod") and token.left_edge == token
        ends = (max(token.i - 1, 0), min(token.i + 1, len(self.doc) - 1))
        commas = [self.doc[i].text for i in ends]
        opens = token.i == token.sent.start and commas[1] == ","
        closes = commas[0] == "," and bool(self.doc[ends[1]].is_sent_end)
        time = any(token.i in tokens for tokens in self.phrases.of_kind("TMP"))
        return alone and not time and (opens or closes) and token.head.pos_ in ("VERB", "AUX")

    @cached_property
    def quotations(self) -> list[tuple[Tokens, Token]]:
        """Direct speech, each with its verb of saying, which is in the sentence where the speech begins or ends."""
        found = []
        for match in _QUOTED.finditer(self.doc.text):
            span = self.phrases.span(*match.span())
            if len(span) - 2 < FEWEST_QUOTED:
                continue
            around = [*span[-1].sent, *span[0].sent]
            verb = next((t for t in around if not span.start <= t.i < span.end and self.says(t)), None)
            if verb is not None:
                found.append((within(span), verb))
        return found

    def statements(self, verb: Token) -> list[Tokens]:
        """The verb of saying with its whole statement, once for each conjoined clause of the statement."""
        statements = [child for child in verb.children if child.dep_ == "ccomp"]
        utterance = union(map(whole, statements))
        own = whole(verb) - self._outside_statement(verb, utterance)
        own |= union(tokens for _, tokens in self.phrases.modifiers if not utterance.isdisjoint(tokens))
        own |= union(tokens for tokens, sayer in self.quotations if sayer == verb)
        if verb.dep_ == "conj" and not subjects(verb):
            own |= self._shared(verb)
        quoted = any(sayer == verb for _, sayer in self.quotations)
        for clause in statements:
            conjoined = [conjunct for conjunct in conjuncts(clause) if subjects(conjunct)]
            if conjoined and not quoted:
                return [own - (whole(clause) - self._without_conjunction(p)) for p in parts(clause, conjoined)]
        return [own]

    def _without_conjunction(self, part: Tokens) -> Tokens:
        """Without the "and" in "and that he was ill"; in "and he was ill" it stays, as in the papers."""
        first = min(part)
        both = self.doc[first].dep_ == "cc" and first + 1 in part and self.doc[first + 1].dep_ == "mark"
        return part - {first} if both else part

    def _outside_statement(self, verb: Token, utterance: Tokens) -> Tokens:
        """Modifiers of the verb of saying itself, and clauses that are conjoined to it."""
        result: set[int] = set()
        for child in verb.children:
            if child.dep_ in ("conj", "parataxis") and child.pos_ in ("VERB", "AUX"):
                result |= whole(child)
            elif child.dep_ in ("cc", "mark"):
                result.add(child.i)
            elif self._is_addressed(child):
                result |= whole(child)
        result |= {i for i in utterance if self._is_addressed(self.doc[i])}
        for _, tokens in self.phrases.modifiers:
            if tokens <= whole(verb) and verb.i not in tokens and utterance.isdisjoint(tokens):
                result |= tokens
        return frozenset(result)


def _opens_sentence(token: Token) -> bool:
    """Whether it opens a sentence or a clause and says nothing of its event: "Honestly, he lied", "so he left"."""
    if token.dep_ != "advmod" or token.lower_ not in listed("opening"):
        return False
    return token.i == token.sent.start or any(token.i + 1 == own.left_edge.i for own in subjects(token.head))


def _reciprocal(token: Token) -> bool:
    return token.i > 0 and token.doc[token.i - 1 : token.i + 1].text.lower() in ("each other", "one another")


def _spliced(verb: Token) -> bool:
    """Whether it is a main clause with only a comma between it and the next, which the parse takes for its object:
    "they want peace, they want jobs"."""
    if verb.dep_ != "ccomp" or verb.head.lemma_.lower() in listed("saying") | listed("utterable"):
        return False
    after = verb.doc[verb.right_edge.i + 1] if verb.right_edge.i + 1 < len(verb.doc) else verb
    return bool(subjects(verb)) and after.text == "," and any(verb.i < own.i for own in subjects(verb.head))


def _defines(verb: Token) -> bool:
    """Whether it says who is meant by a pronoun, which means nothing without it: those who stayed."""
    return verb.dep_ == "relcl" and verb.head.lower_ in listed("whoever") and verb.i > verb.head.i


def _fills(verb: Token) -> bool:
    """Whether it fills a pause of speech and says nothing: "you know", "I mean"."""
    own = [child for child in verb.children if not child.is_punct and child.dep_ not in ("cc", "intj")]
    said = [child.lower_ for child in own] in (["you"], ["i"])
    return verb.dep_ == "parataxis" and verb.lower_ in ("know", "mean") and said


def finite(verb: Token) -> bool:
    """Whether a verb is finite or has a finite auxiliary. A participle with a subject and without an auxiliary is a
    past tense that the tagger took for one, as in "the factory closed"."""
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass")]
    if not helpers and verb.tag_ == "VBN":
        opened = any(child.dep_ == "mark" or child.tag_ in ("WP", "WDT", "WRB") for child in verb.children)
        subject = any(child.dep_ == "nsubj" and child.i < verb.i for child in verb.children)
        return subject and (opened or verb.dep_ in ("ROOT", "conj"))
    return verb.tag_ in FINITE or any(child.tag_ in (*FINITE, "MD") for child in helpers)


def conjuncts(head: Token) -> Iterator[Token]:
    """The tokens that are conjoined to a token, in order, as in "food, medicines and other goods"."""
    while conjunct := next((child for child in head.children if child.dep_ == "conj" and child.i > head.i), None):
        yield conjunct
        head = conjunct


def parts(head: Token, conjoined: Iterable[Token]) -> list[Tokens]:
    """Each conjunct with the text up to the next: a modifier belongs to the conjunct before it.

    A conjunction belongs to the conjunct after it, as in the papers: "and other goods".
    """
    cuts = [head.left_edge.i]
    for conjunct in conjoined:
        start = conjunct.left_edge.i
        before = conjunct.doc[start - 1] if start else conjunct
        cuts.append(start - 1 if before.dep_ == "cc" else start)
    cuts.append(head.right_edge.i + 1)
    return [frozenset(range(a, b)) for a, b in pairwise(cuts)]
