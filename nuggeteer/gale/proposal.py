"""From good answers to an answer key: nuggets proposed for a question that has none, for a human to edit.

Each clause of the answers is a fact (Babko-Malaya 2008, §3.2.2). So is each time, place and manner together with its
clause, each title with its person, and each number with the noun that it counts. Facts of one type with the same
meaning form a nug, and the most precise of them becomes the proposed nugget. Text without a finite verb is proposed as
whole sentences, and so is all text if there is no parser. Citation markers and Markdown's marks are no part of a fact,
and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nuggeteer.formats.annotation import Extent, Snippet, Spans
from nuggeteer.gale.annotation import union
from nuggeteer.gale.nuggetizer import Found, Nuggetizer, pieces
from nuggeteer.gale.nugs import classes, containment
from nuggeteer.gale.templates import Template
from nuggeteer.records import Nugget
from nuggeteer.text import normalised, without_marks, words

NAMES = ("PER", "GPE", "ORG")  # a name alone is not a fact
MODIFIERS = ("TMP", "LOC", "MOD", "NUM")  # these are not facts without their clause or noun
FEWEST_WORDS = 2
# The least mean likeness in a nug. It is higher than in `distill --propose`, because people easily delete a repetition,
# but they do not see a fact that was merged into another.
SAME = 0.6
_NO_ABBREVIATION = (  # a full stop after these abbreviations does not end a sentence
    r"(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|Jr|Sr|No|vs)\.)(?<!\bSept\.)"
    r"(?<!\b(?:Mrs|Gen|Sen|Gov|Rep|Rev|Col|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\.)"
)
_END = re.compile(rf"(?<=[.!?…]){_NO_ABBREVIATION}[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])|[;|\n•]+")
_LEADING = re.compile(r"^(?:and|but|or|that)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement of an answer, in the answer's words, with its position."""

    text: str
    source: Snippet
    spans: Spans
    type: str | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed nugget with the facts of all answers that support it."""

    qid: str
    text: str
    type: str | None
    facts: tuple[Fact, ...]

    @property
    def answers(self) -> int:
        """How many different answers contain it."""
        return len({normalised(fact.source.text) for fact in self.facts})


def propose(
    answers: Sequence[Snippet], nuggetizer: Nuggetizer | None, template: Template | None = None
) -> list[Candidate]:
    """Candidates by question. Those that most answers contain come first, and ties keep the order of the answers."""
    facts: dict[str, list[Fact]] = {}
    for fact in _facts(answers, nuggetizer, template):
        if fact.source.qid is not None and len(words(fact.text)) >= FEWEST_WORDS:
            facts.setdefault(fact.source.qid, []).append(fact)
    return [candidate for qid, own in facts.items() for candidate in _nugs(qid, own)]


def _facts(answers: Sequence[Snippet], nuggetizer: Nuggetizer | None, template: Template | None) -> Iterator[Fact]:
    if nuggetizer is None:
        for answer in answers:
            yield from _sentences(answer)
        return
    for answer, (text, found) in zip(answers, nuggetizer.all(answer.text for answer in answers), strict=True):
        for nugget in found:
            modifier = nugget.type in MODIFIERS and nugget.core == nugget.spans
            alone = nugget.type in NAMES or (modifier and not nugget.clause)
            if not alone and (template is None or nugget.type in template.types):
                yield Fact(_words_of(text, nugget), answer, nugget.spans, nugget.type)
        clauses = [span for own in found if own.clause or own.type in ("EVT", "STM") for span in own.spans]
        for sentence in _sentences(answer):
            ((start, end),) = sentence.spans
            if not any(a < end and start < b for a, b in clauses):
                yield sentence  # without a finite verb, such as a headline


def _words_of(text: str, nugget: Found) -> str:
    """The words of a nugget as a fact: a modifier or a number together with its clause or noun."""
    merged = union((Extent(nugget.spans), Extent(nugget.clause)))
    return without_marks(" ".join(_LEADING.sub("", " ".join(piece.split())) for piece in pieces(text, merged)))


def _sentences(answer: Snippet) -> Iterator[Fact]:
    """The sentences, lines and parts between semicolons."""
    start, length = 0, len(answer.text)
    for end, after in [*(match.span() for match in _END.finditer(answer.text)), (length, length)]:
        sentence = " ".join(answer.text[start:end].split())
        if sentence:
            yield Fact(without_marks(sentence), answer, ((start, end),), None)
        start = after


def _nugs(qid: str, facts: Sequence[Fact]) -> list[Candidate]:
    """The facts of a question, sorted into nugs within their type. Statements are sorted together with events."""
    by_type: dict[str | None, list[Fact]] = {}
    for fact in facts:
        by_type.setdefault("EVT" if fact.type == "STM" else fact.type, []).append(fact)
    found: list[Candidate] = []
    for own in by_type.values():
        distinct = list({normalised(fact.text): fact.text for fact in reversed(own)}.items())
        shares = containment([text for _, text in distinct])
        labels = classes((shares + shares.T) / 2, SAME)
        label = {text: int(labels[i]) for i, (text, _) in enumerate(distinct)}
        covered = {text: float(shares[i, labels == labels[i]].sum()) for i, (text, _) in enumerate(distinct)}
        for nug in sorted(set(label.values())):
            group = [fact for fact in own if label[normalised(fact.text)] == nug]
            found += _candidates(qid, max(group, key=lambda fact: covered[normalised(fact.text)]), group)
    position = {id(fact): i for i, fact in enumerate(facts)}
    return sorted(found, key=lambda candidate: (-candidate.answers, position[id(candidate.facts[0])]))


def _candidates(qid: str, best: Fact, group: Sequence[Fact]) -> Iterator[Candidate]:
    """The candidates of a nug: its best fact, and each other fact of the same answer.

    Different facts of one answer hardly ever repeat each other: Iraq can import food, Iraq can import medicines.
    """
    separate = {normalised(fact.text) for fact in group if fact.source is best.source} - {normalised(best.text)}
    yield Candidate(qid, best.text, best.type, tuple(f for f in group if normalised(f.text) not in separate))
    for text in dict.fromkeys(normalised(f.text) for f in group if normalised(f.text) in separate):
        own = tuple(f for f in group if normalised(f.text) == text)
        yield Candidate(qid, own[0].text, own[0].type, own)


def as_nuggets(candidates: Sequence[Candidate]) -> Iterator[Nugget]:
    """Unrated nuggets p1, p2, ... of each question. A human rates them before they go into nuggets.jsonl."""
    numbers: dict[str, int] = {}
    for candidate in candidates:
        qid = candidate.qid
        numbers[qid] = numbers.get(qid, 0) + 1
        extra: dict[str, Any] = {} if candidate.type is None else {"type": candidate.type}
        extra["said"] = [_passage(fact) for fact in candidate.facts]
        yield Nugget(qid, f"p{numbers[qid]}", (candidate.text,), "unrated", tags=("proposed",), extra=extra)


def _passage(fact: Fact) -> dict[str, Any]:
    """A fact as an object, with the answer that it comes from."""
    source = {key: fact.source.extra[key] for key in ("run", "docid") if key in fact.source.extra}
    return {**source, "fact": fact.text, "text": fact.source.text, "spans": [list(span) for span in fact.spans]}
