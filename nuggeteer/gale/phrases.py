"""Phrases of time, place, cause, purpose and manner in a parsed text.

The paper used a semantic role labeller. Here a dependency parse and named entities replace it. A prepositional phrase
is one of time or place if its object is a time or a place. It is a modifier if its preposition is one of a list, or if
it comes before the subject. Otherwise it is an argument of its verb. Phrases are sets of token numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Literal

from nuggeteer.gale import expressions

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

Tokens = frozenset[int]
Kind = Literal["TMP", "LOC", "MOD"]
NOTHING: Tokens = frozenset()
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "expl")
OBJECTS = ("dobj", "obj", "iobj", "dative", "attr", "oprd")
OLDEST = 120
BY_ITSELF = ("nmod", "compound", "nummod", "ROOT", *SUBJECTS, *OBJECTS)  # roles of a time without a preposition


@cache
def listed(name: str) -> frozenset[str]:
    """The words of one of the lists in words.toml."""
    return frozenset(_words()[name].split())


@cache
def _words() -> dict[str, str]:
    return tomllib.loads(files("nuggeteer.gale").joinpath("words.toml").read_text(encoding="utf-8"))


def whole(token: Token) -> Tokens:
    """All tokens below a token, in their maximal extent."""
    return frozenset(range(token.left_edge.i, token.right_edge.i + 1))


def subordinate(verb: Token) -> Tokens:
    """All tokens below a verb. A clause of time begins with its conjunction: in "fell 7 percent after it cut jobs" the
    parse may hang the amount on it."""
    marks = [c.i for c in verb.children if c.i < verb.i and c.lower_ in listed("temporal")]
    if verb.dep_ != "advcl" or not marks:
        return whole(verb)
    return frozenset(i for i in whole(verb) if i >= min(marks))


def is_term(token: Token) -> bool:
    """Whether it is how long somebody gets: sentenced to six years."""
    to = token.dep_ == "pobj" and token.head.lower_ == "to" and token.head.head.pos_ == "VERB"
    return to and token.doc[token.left_edge.i].like_num and token.lemma_.lower() in listed("times")


def is_age(token: Token) -> bool:
    """Whether somebody is said to be so old: "she was 71"."""
    said = token.dep_ in ("attr", "acomp") and token.head.lemma_ == "be" and any(map(is_anybody, subjects(token.head)))
    return said and token.text.isdigit() and int(token.text) < OLDEST


def is_anybody(token: Token) -> bool:
    return token.lower_ in ("he", "she", "who", "i", "they") or token.ent_type_ == "PERSON"


def passive(verb: Token) -> bool:
    return any(child.dep_ == "auxpass" for child in verb.children)


def _extends(token: Token) -> bool:
    """Whether it is by how much, and not when or by whom: delayed by an hour, won by two seconds."""
    by = token.dep_ == "pobj" and token.head.lower_ == "by"
    first = token.doc[token.left_edge.i]
    return by and (first.like_num or first.lower_ in ("a", "an")) and token.lemma_.lower() in listed("units")


def is_spent(token: Token) -> bool:
    """Whether it is a time that somebody spends or that something takes, and not when: spent five days."""
    object_ = token.dep_ in ("dobj", "npadvmod") and token.i > token.head.i
    return object_ and token.head.lemma_.lower() in listed("spending") and token.lemma_.lower() in listed("units")


def _is_hour(token: Token) -> bool:
    """Whether it is an hour of the clock by itself: at six."""
    if token.pos_ != "NUM" or token.lower_ not in listed("hours") or token.right_edge != token or not token.i:
        return False
    on_verb = token.dep_ == "npadvmod" or (token.dep_ == "pobj" and token.head.head.pos_ in ("VERB", "AUX"))
    return on_verb and token.doc[token.i - 1].lower_ in ("at", "around", "about", "till", "until")


def _is_purpose(verb: Token) -> bool:
    """Whether it says what for: sold its stadium to pay debts. What others are asked to do is an argument."""
    if verb.dep_ != "xcomp":
        return False
    purpose = any(child.lower_ == "to" and child.dep_ == "aux" for child in verb.children) and not subjects(verb)
    objects = [child for child in verb.head.children if child.dep_ in ("dobj", "obj") and child.i < verb.i]
    return purpose and bool(objects) and verb.head.lemma_.lower() not in listed("controlling")


def greets(token: Token) -> bool:
    """Whether it is a time of day in a greeting: "Good evening"."""
    return any(child.lower_ == "good" for child in token.children)


def within(span: Span) -> Tokens:
    """The tokens of a span."""
    return frozenset(range(span.start, span.end))


def subjects(verb: Token) -> list[Token]:
    return [child for child in verb.children if child.dep_ in SUBJECTS]


def union(sets: Iterable[Tokens]) -> Tokens:
    return frozenset(chain.from_iterable(sets))


class Phrases:
    """Times, places and modifiers of one parsed text."""

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.entity: dict[int, Span] = {i: span for span in doc.ents for i in range(span.start, span.end)}

    @cached_property
    def time(self) -> list[tuple[Tokens, Token]]:
        """Dates and times, each with its root token. Those of the tagger and those found by their written form are
        merged where they overlap."""
        ages = union(self.ages)
        tagged = [span for span in self.doc.ents if span.label_ in ("DATE", "TIME") and not self._age(span)]
        written = [self.span(*span) for span in expressions.times(self.doc.text)]
        written += [self.doc[token.i : token.i + 1] for token in self.doc if _is_hour(token)]
        ends: list[tuple[int, int]] = []
        for span in sorted((*tagged, *written), key=lambda span: span.start):
            greeting = "good" in (span[0].lower_, self.doc[max(span.start - 1, 0)].lower_)
            length = _extends(span.root) or is_spent(span.root)
            if greeting or self._lasting(span) or length or not ages.isdisjoint(within(span)):
                continue
            if ends and span.start < ends[-1][1]:
                ends[-1] = (ends[-1][0], max(ends[-1][1], span.end))
            else:
                ends.append((span.start, span.end))
        return [(frozenset(range(start, end)), self.doc[start:end].root) for start, end in ends]

    @cached_property
    def ages(self) -> list[Tokens]:
        """Ages such as 34-year-old, which the tagger takes for a time."""
        return [within(self.span(*span)) for span in expressions.ages(self.doc.text)]

    @cached_property
    def _timed(self) -> Tokens:
        return union(tokens for tokens, _ in self.time)

    def _age(self, span: Span) -> bool:
        """Whether it is an age that the tagger takes for a date: "Menon, 43", or "who was 71"."""
        number = all(token.like_num or token.is_punct for token in span)
        return number and (span.root.dep_ == "appos" or is_age(span.root))

    def _lasting(self, span: Span) -> bool:
        """Whether it says how long something is, and not when: "a two-day visit", "sentenced to six years"."""
        root = span.root
        if root.dep_ in ("compound", "amod", "nmod"):
            return "-" in span.text and root.head.i >= span.end
        return is_term(root)

    def span(self, start: int, end: int) -> Span:
        """The tokens that contain these characters."""
        found = self.doc.char_span(start, end, alignment_mode="expand")
        assert found is not None
        return found

    @cached_property
    def distances(self) -> list[Tokens]:
        """Distances with their direction and the place from which they are measured."""
        found = []
        for start, end in expressions.distances(self.doc.text):
            span = self.span(start, end)
            last = span.end - 1
            while last + 1 < len(self.doc) and (self._nominal(last + 1) or last + 1 in self.entity):
                last += 1
            found.append(frozenset(range(span.start, last + 1)))
        return found

    def _nominal(self, i: int) -> bool:
        return self.doc[i].pos_ in ("DET", "ADJ", "NOUN", "PROPN") and self.doc[i].sent == self.doc[i - 1].sent

    def is_named_place(self, token: Token) -> bool:
        """Whether it is the name of a place, or a noun with one: Taiwan, the southern Taiwanese city of Tainan."""
        span = self.entity.get(token.i)
        if span is not None:
            return span.label_ in ("GPE", "LOC", "FAC")
        if token.lemma_.lower() not in listed("regions"):
            return False
        inside = (span for i in whole(token) if (span := self.entity.get(i)) is not None)
        return any(span.label_ in ("GPE", "LOC", "FAC") for span in inside)

    def is_place(self, token: Token) -> bool:
        """Whether it is a place with or without a name: Taiwan, a ranch, the country."""
        return self.is_named_place(token) or token.lemma_.lower() in listed("places") | listed("regions")

    @cached_property
    def modifiers(self) -> list[tuple[Kind, Tokens]]:
        """Modifiers of verbs, and phrases of time and place that modify nouns."""
        times, rest = self._merged("TMP"), [tokens for kind, tokens in self._raw if kind == "MOD"]
        # A name in a time, such as that of a holiday, is no place. A place in a clause of time is one.
        places = [tokens for tokens in self._merged("LOC") if not self._without_preposition(tokens) <= self._timed]
        apart = [t for t in (*times, *places) if not self.is_clause(t)]
        rest = [t if self.is_clause(t) else t - union(p for p in apart if p < t) for t in rest]
        return [("TMP", t) for t in times] + [("LOC", t) for t in places] + [("MOD", t) for t in rest if t]

    def _without_preposition(self, tokens: Tokens) -> Tokens:
        first = min(tokens)
        return tokens - {first} if self.doc[first].dep_ == "prep" else tokens

    def of_kind(self, kind: Kind) -> list[Tokens]:
        return [tokens for own, tokens in self.modifiers if own == kind]

    def _merged(self, kind: Kind) -> list[Tokens]:
        """Phrases of one kind, merged if they overlap or have only punctuation between them, but for clauses."""
        merged: list[Tokens] = []
        for tokens in sorted((t for own, t in self._raw if own == kind), key=lambda t: (min(t), -max(t))):
            if merged and self._adjacent(max(merged[-1]), min(tokens)) and not self.is_clause(tokens):
                merged[-1] |= frozenset(range(max(merged[-1]) + 1, max(tokens) + 1))
            else:
                merged.append(tokens)
        return merged

    def is_clause(self, tokens: Tokens) -> bool:
        """Whether it is a subordinate clause, such as "when he left": it is not merged with the time before it."""
        return any(self.doc[i].dep_ == "advcl" or _is_purpose(self.doc[i]) for i in tokens)

    def _adjacent(self, last: int, first: int) -> bool:
        same = self.doc[last].sent == self.doc[first].sent
        return same and all(self.doc[i].is_punct for i in range(last + 1, first))

    @cached_property
    def _raw(self) -> list[tuple[Kind, Tokens]]:
        found: list[tuple[Kind, Tokens]] = [("LOC", tokens) for tokens in self.distances]
        for token in self.doc:
            kind = self._kind(token)
            if kind is not None:
                below = subordinate(token) if kind == "TMP" else whole(token)
                first = min(below) - 1
                if kind == "TMP" and first >= 0 and self.doc[first].lower_ in ("late", "early"):
                    below |= {first}  # late on Sunday
                below -= {i for i in below if expressions.is_result(self.doc[i].text)}
                if kind == "MOD":
                    below |= self._votes_against(token)
                found.append((kind, below - self._beyond(kind, token)))
        timed = union(tokens for kind, tokens in found if kind == "TMP")
        for tokens, root in self.time:
            if root.i in timed or root.dep_ in BY_ITSELF:
                found.append(("TMP", self._with_preposition(tokens)))
        return found

    def _votes_against(self, prep: Token) -> Tokens:
        """The rest of a result in words: by 52 votes "to 48"."""
        last = prep.right_edge.i
        number = any(self.doc[i].like_num for i in whole(prep))
        rest = self.doc[last + 1 : last + 3]
        is_rest = prep.lower_ == "by" and number and len(rest) == 2 and rest[0].lower_ == "to" and rest[1].like_num
        return within(rest) if is_rest and rest[1].dep_ == "pobj" and rest[1].right_edge == rest[1] else NOTHING

    def _beyond(self, kind: Kind, token: Token) -> Tokens:
        """What the parse hangs on a date, a time or a place, and is no part of it: clauses and other phrases.

        In "before 9 p.m. in Sandwich" the place is a nugget of its own, and so is the clause in "at 8 a.m. when he was
        stopped". A subordinate clause of time is not cut, nor is a relative clause that says which place is meant.
        """
        _, obj = self._governed(token) if token.dep_ == "prep" else ("", token)
        if obj is None or kind == "MOD" or (kind == "TMP" and not self._is_time(obj)):
            return NOTHING
        below = [child for child in obj.subtree if child.left_edge.i > obj.i]
        if kind == "LOC":
            clauses = (c for c in below if c.dep_ == "relcl" and self.doc[c.left_edge.i - 1].is_punct)
            persons = (c for c in below if c.dep_ == "appos" and c.ent_type_ == "PERSON")
            phrases = (c for c in below if c.dep_ == "prep")
            verb = token.head
            while verb.pos_ not in ("VERB", "AUX") and verb.head != verb:
                verb = verb.head
            agents = passive(verb)  # killed in the square by soldiers
            apart = (c for c in phrases if self._is_time(self._governed(c)[1]) or (agents and c.lower_ == "by"))
            return union(map(whole, (*clauses, *persons, *apart)))
        clauses = (child for child in below if child.dep_ in ("relcl", "acl", "advcl", "ccomp"))
        phrases = (child for child in below if child.dep_ == "prep" and child.lower_ != "of")
        others = (prep for prep in phrases if not self._is_time(self._governed(prep)[1]))
        return union(map(whole, (*clauses, *others)))

    def _is_time(self, token: Token | None) -> bool:
        return token is not None and (token.i in self._timed or token.lemma_.lower() in listed("times"))

    def _with_preposition(self, tokens: Tokens) -> Tokens:
        """The tokens of a time and the preposition before them, which the parse may attach to something else."""
        before = min(tokens) - 1
        return tokens | {before} if before >= 0 and self.doc[before].dep_ == "prep" else tokens

    def _kind(self, token: Token) -> Kind | None:
        head = token.head
        on_verb = head.pos_ in ("VERB", "AUX") and token.dep_ != "conj"
        if token.dep_ in ("prep", "agent"):
            return self._prepositional(token, on_verb)
        if token.dep_ == "advcl" and on_verb:
            return self._subordinate(token)
        if token.dep_ == "xcomp" and on_verb:
            return "MOD" if _is_purpose(token) else None
        if token.lower_ in listed("degree") and token.head.tag_ in ("JJR", "RBR") and token.head.dep_ == "advmod":
            return "MOD"  # closed slightly higher
        if token.dep_ in ("npadvmod", "advmod", "tmod", "appos", "conj") and token.i in self._timed:
            return "TMP" if head.pos_ != "ADJ" and token.dep_ != "conj" else None
        if token.dep_ == "npadvmod" and on_verb and token.head.pos_ == "VERB" and self._is_time(token):
            return None if greets(token) or is_spent(token) else "TMP"  # the whole time
        if token.dep_ in ("npadvmod", "advmod") and (on_verb or token.lower_ in listed("there")):
            return self._adverbial(token)
        return None

    def _subordinate(self, verb: Token) -> Kind | None:
        first = [c.lower_ for c in verb.children if c.dep_ in ("mark", "advmod") and c.i < verb.i]
        if any(word in listed("temporal") for word in first):
            return "TMP"
        # Without a conjunction, a past tense is a main clause that the parse took for another; a bare verb, a command.
        bare = verb.tag_ == "VB" and not any(child.dep_ == "aux" for child in verb.children)
        return None if (verb.tag_ == "VBD" or bare) and not first else "MOD"

    def _adverbial(self, token: Token) -> Kind | None:
        word = token.lower_
        if self.is_named_place(token) or word in listed("there"):
            return "LOC"
        if word in listed("then") and token.dep_ == "advmod":
            late = word in ("early", "late") and token.head.lemma_ == "be"
            return None if late else "TMP"  # "was three hours late" says how somebody is
        if word == "first" and token.dep_ == "advmod" and token.i != token.sent.start:
            return "TMP"
        manner = (word.endswith("ly") and word not in listed("discourse")) or word in listed("degree")
        if token.dep_ == "advmod" and (manner or (word in listed("how") and token.i > token.head.i)):
            return "MOD"
        return None

    def _prepositional(self, prep: Token, on_verb: bool) -> Kind | None:
        word, obj = self._governed(prep)
        if obj is None or is_term(obj) or is_term(prep.head):
            return None
        if word == "of" and prep.head.pos_ in ("NOUN", "PROPN", "NUM"):
            return None
        if obj.dep_ == "pobj" and word != "about" and self._is_time(obj) and not _extends(obj):
            return "TMP"
        if prep.lower_ in listed("temporal"):
            return None if word == "after" and prep.head.lemma_.lower() in listed("after_somebody") else "TMP"
        if obj.dep_ == "pobj" and self._is_local(word, obj, prep):
            return "LOC"
        bare = obj.dep_ == "pobj" and obj.left_edge == obj and prep.lower_ != "of"
        if bare and word in ("in", "on", "by", "at") and f"{word}-{obj.lower_}" in listed("manners"):
            return "MOD"  # in retaliation, on foot
        if not on_verb:
            return None
        if prep.head.dep_ == "acl":
            return None  # of a noun: a truck loaded with bricks
        if obj.dep_ == "pobj" and self._of_journey(word, obj, prep.head):
            return "MOD"
        if prep.lower_ in listed("modifying") or self._before_subject(prep) or self._how_or_why(prep, obj):
            return "MOD"
        others = listed("together") | listed("with_something")
        if word == "with" and prep.head.lemma_.lower() not in others and not self._is_somebody(obj):
            return "MOD"
        return None

    def _governed(self, prep: Token) -> tuple[str, Token | None]:
        """The last of several prepositions and its object, as in "as of Sunday" and "from inside Iraq"."""
        inner = prep.nbor() if prep.i + 1 < len(self.doc) else prep
        chain = [inner, prep] if inner.head == prep and inner.pos_ == "ADP" else [prep]
        objects = (child for token in chain for child in token.children if child.i > chain[0].i)
        return chain[0].lower_, next((child for child in objects if child.dep_ in ("pobj", "pcomp", "advmod")), None)

    def _is_local(self, word: str, obj: Token, prep: Token) -> bool:
        if word == "at" and obj.lemma_.lower() in listed("gatherings"):
            return True
        if word in listed("at_place") and (self.is_place(obj) or obj.lemma_.lower() in listed("inside")):
            return True
        if word in listed("to_place"):
            # A direction is a place (B10, table 3): "to the border" where somebody goes, "into the hills" anywhere.
            goes = word in listed("directed") or self._goes(prep)
            seat = obj.lemma_.lower() in listed("seats")  # an argument: "fly to the headquarters" (B10)
            return self.is_named_place(obj) or (goes and self.is_place(obj) and not seat)
        if word == "for" and prep.head.lemma_.lower() in listed("setting_out"):
            return self.is_named_place(obj)  # left for Iceland
        return word in listed("nowhere_else")

    def _goes(self, prep: Token) -> bool:
        verb = prep.head
        while verb.dep_ in ("prep", "advmod", "prt", *OBJECTS) and verb.pos_ not in ("VERB", "AUX"):
            verb = verb.head  # from the camp to the border; back to the camp; troops to the border
        return verb.lemma_.lower() in listed("moving")

    def _of_journey(self, word: str, obj: Token, verb: Token) -> bool:
        """Why or how somebody goes: "arrived for talks", "fled on a motorcycle". What somebody is invited for is a part
        of the event in the papers."""
        if verb.lemma_.lower() not in listed("moving"):
            return False
        if word == "on":
            return obj.lemma_.lower() in listed("mounts")
        if word != "for" or verb.lemma_ == "run" or any(child.dep_ in OBJECTS for child in verb.children):
            return False
        return obj.pos_ == "NOUN" and not self.is_place(obj) and obj.i not in self.entity

    def _how_or_why(self, prep: Token, obj: Token) -> bool:
        """By helicopter, by a single vote, in order to pay. The "by" of a passive's agent has another role."""
        if prep.lower_ == "for" and obj.dep_ == "pcomp":
            return True  # jailed for stealing
        in_order = (
            prep.lower_ == "in" and obj.lower_ == "order" and any(c.dep_ in ("acl", "relcl") for c in obj.children)
        )
        carried = obj.lower_ in listed("vehicles") and obj.left_edge == obj  # flown out by helicopter
        by = prep.lower_ == "by" and obj.dep_ == "pobj" and (prep.dep_ == "prep" or carried or _extends(obj))
        return in_order or by

    def _before_subject(self, prep: Token) -> bool:
        return any(prep.i < subject.left_edge.i < prep.head.i for subject in subjects(prep.head))

    def _is_somebody(self, token: Token) -> bool:
        span = self.entity.get(token.i)
        if span is not None:
            return span.label_ in ("PERSON", "ORG", "GPE", "NORP")
        return token.pos_ == "PRON"
