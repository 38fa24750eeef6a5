"""From good answers to an answer key: nuggets proposed for a question that has none, for a human to edit.

Each clause of the answers is a fact (Babko-Malaya 2008, §3.2.2), and so is each time, place and manner with its
clause, each title with its person and each number with what it counts. Facts of one kind that say the same are a nug,
told in the words that say most of it. What has no finite verb, and without a parser everything, is proposed as it
stands between full stops and semicolons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nuggeteer.formats.annotation import Snippet, Spans
from nuggeteer.gale.nuggetizer import Found, Nuggetizer, pieces
from nuggeteer.gale.nugs import classes, containment
from nuggeteer.gale.templates import Template
from nuggeteer.records import Nugget
from nuggeteer.text import normalised, words

NAMES = ("PER", "GPE", "ORG")  # a name by itself is no fact
ADDED = ("TMP", "LOC", "MOD", "NUM")  # nor are these without what they are said of
FEWEST = 2  # words of a fact
# The least mean likeness in a nug: more than `distill` asks, for a repetition is soon struck out, and a fact that went
# into another is not seen.
SAME = 0.6
_SHORT = (  # what a full stop does not end
    r"(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|Jr|Sr|No|vs)\.)(?<!\bSept\.)"
    r"(?<!\b(?:Mrs|Gen|Sen|Gov|Rep|Rev|Col|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\.)"
)
_END = re.compile(rf"(?<=[.!?…]){_SHORT}[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])|[;|\n•]+")
_LEADING = re.compile(r"^(?:and|but|or|that)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """What one answer says, in its own words, and where."""

    text: str
    source: Snippet
    spans: Spans
    type: str | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed nugget: its words, and everything that says it."""

    qid: str
    text: str
    type: str | None
    facts: tuple[Fact, ...]

    @property
    def answers(self) -> int:
        """In how many different texts it stands."""
        return len({normalised(fact.source.text) for fact in self.facts})


def propose(
    answers: Sequence[Snippet], nuggetizer: Nuggetizer | None, template: Template | None = None
) -> list[Candidate]:
    """Candidates by question: first what most answers say, then in the order of the answers."""
    facts: dict[str, list[Fact]] = {}
    for fact in _facts(answers, nuggetizer, template):
        if fact.source.qid is not None and len(words(fact.text)) >= FEWEST:
            facts.setdefault(fact.source.qid, []).append(fact)
    return [candidate for qid, own in facts.items() for candidate in _nugs(qid, own)]


def _facts(answers: Sequence[Snippet], nuggetizer: Nuggetizer | None, template: Template | None) -> Iterator[Fact]:
    if nuggetizer is None:
        for one in answers:
            yield from _stretches(one)
        return
    for one, (text, found) in zip(answers, nuggetizer.all(one.text for one in answers), strict=True):
        for nugget in found:
            added = nugget.type in ADDED and nugget.core == nugget.spans
            alone = nugget.type in NAMES or (added and not nugget.clause)
            if not alone and (template is None or nugget.type in template.types):
                yield Fact(_in_words(text, nugget), one, nugget.spans, nugget.type)
        told = [span for own in found if own.clause or own.type in ("EVT", "STM") for span in own.spans]
        for stretch in _stretches(one):
            ((start, end),) = stretch.spans
            if not any(a < end and start < b for a, b in told):
                yield stretch  # without a finite verb, such as a headline


def _in_words(text: str, nugget: Found) -> str:
    """A nugget as a fact: what modifies a clause or counts a noun, together with that."""
    places = sorted({*nugget.spans, *nugget.clause})
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return " ".join(_LEADING.sub("", " ".join(piece.split())) for piece in pieces(text, tuple(merged)))


def _stretches(one: Snippet) -> Iterator[Fact]:
    start = 0
    for end, after in [*(match.span() for match in _END.finditer(one.text)), (len(one.text), len(one.text))]:
        said = " ".join(one.text[start:end].split())
        if said:
            yield Fact(said, one, ((start, end),), None)
        start = after


def _nugs(qid: str, facts: Sequence[Fact]) -> list[Candidate]:
    """Facts of a kind sorted into nugs; statements are sorted with clauses."""
    kinds: dict[str | None, list[Fact]] = {}
    for fact in facts:
        kinds.setdefault("EVT" if fact.type == "STM" else fact.type, []).append(fact)
    found: list[Candidate] = []
    for own in kinds.values():
        distinct = list({normalised(fact.text): fact.text for fact in reversed(own)}.items())
        shares = containment([text for _, text in distinct])
        labels = classes((shares + shares.T) / 2, SAME)
        label = {same: int(labels[i]) for i, (same, _) in enumerate(distinct)}
        says = {same: float(shares[i, labels == labels[i]].sum()) for i, (same, _) in enumerate(distinct)}
        for nug in sorted(set(label.values())):
            group = [fact for fact in own if label[normalised(fact.text)] == nug]
            found += _candidates(qid, max(group, key=lambda fact: says[normalised(fact.text)]), group)
    order = {id(fact): place for place, fact in enumerate(facts)}
    return sorted(found, key=lambda one: (-one.answers, order[id(one.facts[0])]))


def _candidates(qid: str, best: Fact, group: Sequence[Fact]) -> Iterator[Candidate]:
    """A nug told in its best words; but one answer says different things in different words: Iraq can import food,
    Iraq can import medicines."""
    said = {normalised(fact.text) for fact in group if fact.source is best.source} - {normalised(best.text)}
    yield Candidate(qid, best.text, best.type, tuple(f for f in group if normalised(f.text) not in said))
    for other in dict.fromkeys(normalised(f.text) for f in group if normalised(f.text) in said):
        own = tuple(f for f in group if normalised(f.text) == other)
        yield Candidate(qid, own[0].text, own[0].type, own)


def as_nuggets(candidates: Sequence[Candidate]) -> Iterator[Nugget]:
    """Lines for nuggets.jsonl, once a human has rated them: p1, p2, ... within a question."""
    numbers: dict[str, int] = {}
    for one in candidates:
        numbers[one.qid] = numbers.get(one.qid, 0) + 1
        extra: dict[str, Any] = {} if one.type is None else {"type": one.type}
        extra["said"] = [_said(fact) for fact in one.facts]
        yield Nugget(one.qid, f"p{numbers[one.qid]}", (one.text,), "unrated", tags=("proposed",), extra=extra)


def _said(fact: Fact) -> dict[str, Any]:
    own = {key: fact.source.extra[key] for key in ("run", "docid") if key in fact.source.extra}
    return {**own, "fact": fact.text, "text": fact.source.text, "spans": [list(span) for span in fact.spans]}
