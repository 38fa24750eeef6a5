"""The types that all stages share: question, nugget, response, run, judgement, answer key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from nuggeteer.display import Shown, counted
from nuggeteer.groups import Grouping
from nuggeteer.text import normalised

Importance = Literal["vital", "okay", "unrated", "forbidden"]
Judged = Literal["none", "best", "every"]
Scope = Literal["response", "answer"]
Vote = Literal["vital", "okay"] | float  # or how vital, from 0 to 1
Vector = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.signedinteger[Any]]

NO_EXTRA: Mapping[str, Any] = {}
# A tag for nuggets whose relevance to the question only someone with knowledge of the world can see.
WORLD_KNOWLEDGE = "world-knowledge"


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked."""

    qid: str
    text: str
    kind: str | None = None
    target: str | None = None
    template: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nugget:
    """One fact that belongs in the answer. Several `descriptions` are wordings, or answers that are all accepted.

    `unrated` is neither vital nor okay; it is used if another tool's file has an importance that cannot be read. Such a
    nugget counts only in measures where all nuggets count alike. `forbidden` is what an answer must not claim. Its
    weight is negative, and only a rubric's measures count it.

    A group has no description. It names its members, nuggets or other groups: `any_of` or `all_of` them.
    """

    qid: str
    nugget: str
    descriptions: tuple[str, ...]
    importance: Importance
    weight: float | None = None
    votes: Mapping[str, Vote] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()

    @property
    def members(self) -> tuple[str, ...]:
        """The ids of what is in a group; empty for a nugget."""
        return self.any_of or self.all_of


Pair = tuple[str, str, str]  # a question's id, a nugget's id and a normalised text


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one (nugget, response text) or, with the `scope` answer, on a nugget and a whole answer's text.

    `partial` marks a no that the assessor called partly supported; AutoNuggetizer's scores and a rubric's give credit
    for it. `contradicts` marks a no to a text that says the opposite.
    `machine` marks a verdict that no human gave, such as a language model's. It is kept and compared with others, but
    never counts as known.
    """

    qid: str
    nugget: str
    text: str
    verdict: bool
    partial: bool = False
    docid: str | None = None
    run: str | None = None
    assessor: str | None = None
    at: str | None = None
    reason: str | None = None
    span: Any = None
    machine: bool = False
    scope: Scope = "response"
    contradicts: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pair(self) -> Pair:
        """The nugget and the normalised text that this is about."""
        return self.qid, self.nugget, _normalised(self.text, self.scope)

    @property
    def word(self) -> str:
        """The verdict as one word."""
        return "yes" if self.verdict else "partly" if self.partial else "contradicts" if self.contradicts else "no"

    @property
    def flaw(self) -> str | None:
        """What is wrong with the verdict in itself."""
        marks = [word for word, marked in (("partial", self.partial), ("a contradiction", self.contradicts)) if marked]
        if self.verdict and marks:
            return f"a yes cannot be {marks[0]}"
        return "a verdict cannot be partial and a contradiction" if len(marks) > 1 else None


@dataclass(frozen=True, slots=True)
class Retraction:
    """An assessor takes back every earlier verdict of theirs on a (nugget, response text)."""

    qid: str
    nugget: str
    text: str
    assessor: str
    at: str
    run: str | None = None
    reason: str | None = None
    scope: Scope = "response"
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pair(self) -> Pair:
        """The nugget and the normalised text that this is about."""
        return self.qid, self.nugget, _normalised(self.text, self.scope)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What the manifest says about a run: its group, how it was judged, its official scores."""

    run: str
    group: str | None = None
    judged: Judged = "none"
    official: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


class Response(NamedTuple):
    """One text that a run returned for a question."""

    qid: str
    text: str
    docid: str | None = None
    rank: int | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@dataclass(frozen=True, repr=False)
class AnswerParts(Shown):
    """Where each response of a run stands in the record that it was cut from: `records[record]`, [start, end)."""

    records: list[str]
    record: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """One system's answers, stored by column so that a million responses take little memory.

    Responses lie in the order of `key`'s questions, and in run order within a question: those to
    question i are `offsets[i]:offsets[i + 1]`. `parts` is None where each record of the run is one response.
    """

    name: str
    info: RunInfo
    texts: list[str]
    docids: list[str | None] | None
    question: npt.NDArray[np.int32]
    offsets: Ints
    parts: AnswerParts | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def _summary(self) -> str:
        questions = counted(len(np.unique(self.question)), "question")
        return f"{self.name}, {counted(len(self), 'response')} to {questions}"

    @cached_property
    def normalised_texts(self) -> list[str]:
        """The normalised texts, which is how texts are compared; kept because they are needed often."""
        return list(map(normalised, self.texts))

    def rank(self, response: int) -> int:
        """The place of a response within its answer, from 1."""
        return response - int(self.offsets[self.question[response]]) + 1

    def context(self, response: int) -> tuple[str, int]:
        """The record that a response was cut from, and where the response begins in it; "" if it was not cut."""
        if self.parts is None:
            return "", 0
        return self.parts.records[int(self.parts.record[response])], int(self.parts.start[response])

    def answer(self, question: int) -> str:
        """The whole answer to a question, by its position in the key; its records joined by line feeds."""
        first, last = int(self.offsets[question]), int(self.offsets[question + 1])
        if self.parts is None or first == last:
            return "\n".join(self.texts[first:last])
        return "\n".join(self.parts.records[int(self.parts.record[first]) : int(self.parts.record[last - 1]) + 1])

    def docid(self, response: int) -> str | None:
        return None if self.docids is None else self.docids[response]


@dataclass(frozen=True, repr=False)
class AnswerKey(Shown):
    """All nuggets, by question: those of question i are `offsets[i]:offsets[i + 1]`. `groups` are nuggets that count as
    one. What counts (`vital`, `weight` and so on) is a group at its carrier, and nothing at its other nuggets."""

    questions: tuple[Question, ...]
    nuggets: tuple[Nugget, ...]
    offsets: Ints
    groups: tuple[Nugget, ...] = ()

    def _summary(self) -> str:
        sizes = f"{counted(len(self.questions), 'question')}, {counted(len(self.nuggets), 'nugget')}"
        return f"{sizes}, {int(self.vital.sum()):,} of them vital"

    def _rows(self) -> Iterator[dict[str, Any]]:
        for nugget in self.nuggets:
            row = {"qid": nugget.qid, "nugget": nugget.nugget, "importance": nugget.importance}
            yield row | {"description": nugget.descriptions[0]}

    def __iter__(self) -> Iterator[tuple[Question, tuple[Nugget, ...]]]:
        for i, question in enumerate(self.questions):
            yield question, self.nuggets[self.offsets[i] : self.offsets[i + 1]]

    @cached_property
    def position(self) -> dict[str, int]:
        """The index of each question, by its id."""
        return {question.qid: i for i, question in enumerate(self.questions)}

    @cached_property
    def nugget_position(self) -> dict[tuple[str, str], int]:
        """The index of each nugget, by question id and nugget id."""
        return {(nugget.qid, nugget.nugget): i for i, nugget in enumerate(self.nuggets)}

    @cached_property
    def grouping(self) -> Grouping:
        """Which nuggets count as one."""
        return Grouping.of(self.nuggets, self.groups)

    @cached_property
    def counted(self) -> Bools:
        """Where something counts: nuggets that are in no group, and the carriers of groups."""
        return np.array([n is not None for n in self.grouping.counted], dtype=bool)

    @cached_property
    def counted_position(self) -> dict[tuple[str, str], int]:
        """The position of what counts, by question id and the id of the nugget or group."""
        return {(n.qid, n.nugget): i for i, n in enumerate(self.grouping.counted) if n is not None}

    @cached_property
    def counts(self) -> Ints:
        """The number of nuggets of each question."""
        return np.diff(self.offsets)

    @cached_property
    def question(self) -> Ints:
        """The index of each nugget's question."""
        return np.repeat(np.arange(len(self.questions)), self.counts)

    @cached_property
    def vital(self) -> Bools:
        return self._rated("vital")

    @cached_property
    def okay(self) -> Bools:
        return self._rated("okay")

    def _rated(self, importance: Importance) -> Bools:
        counted = self.grouping.counted
        return np.array([n is not None and n.importance == importance for n in counted], dtype=bool)

    @cached_property
    def forbidden(self) -> Bools:
        """What answers must not claim."""
        return self._rated("forbidden")

    @cached_property
    def world_knowledge(self) -> Bools:
        """Nuggets that earn credit if found and cost no recall if missed (Babko-Malaya 2008, §4)."""
        return np.array([n is not None and WORLD_KNOWLEDGE in n.tags for n in self.grouping.counted], dtype=bool)

    @cached_property
    def weighted(self) -> bool:
        """Whether any nugget has votes or a weight."""
        return any(n is not None and (n.votes or n.weight is not None) for n in self.grouping.counted)

    @cached_property
    def points(self) -> Vector:
        """A rubric's weights: the mean of the assessors' votes; without votes, the `weight`, which is negative for what
        is forbidden; without either, 1 for vital and 0 for okay (Dang & Lin 2007, footnote 1)."""
        return np.array([0.0 if n is None else _weight(n) for n in self.grouping.counted], dtype=float)

    @cached_property
    def weight(self) -> Vector:
        """The pyramid's weights: the same, and 0 for what is forbidden."""
        return self.points.clip(min=0.0)

    @cached_property
    def rubric(self) -> bool:
        """Whether the weights are a rubric's points: some are negative or above 1."""
        return bool(((self.points < 0) | (self.points > 1)).any())

    @cached_property
    def assessors(self) -> tuple[str, ...]:
        """Everyone who voted on any nugget."""
        return tuple(sorted({assessor for n in self.grouping.counted if n is not None for assessor in n.votes}))

    @cached_property
    def votes(self) -> Vector:
        """assessors × nuggets: 1 for vital, 0 for okay and for no vote, or the number between that was given."""
        counted = self.grouping.counted
        votes = [[0.0 if n is None else share_of(n.votes.get(a, "okay")) for n in counted] for a in self.assessors]
        return np.array(votes, dtype=float).reshape(len(self.assessors), len(self.nuggets))


@lru_cache(maxsize=64)  # a whole answer is judged for one nugget after the other
def _normalised(text: str, scope: Scope) -> str:
    """A normalised text has no line feed; one before it says that the text is a whole answer's."""
    return f"\n{normalised(text)}" if scope == "answer" else normalised(text)


def share_of(vote: Vote) -> float:
    """A vote as a number: 1 for vital, 0 for okay."""
    return float(vote == "vital") if isinstance(vote, str) else float(vote)


def number_or_none(value: float | np.floating[Any]) -> float | None:
    """A number, or None for NaN, which stands for what is undefined or cannot be said."""
    number = float(value)
    return None if np.isnan(number) else number


def _weight(nugget: Nugget) -> float:
    if nugget.votes:
        return sum(map(share_of, nugget.votes.values())) / len(nugget.votes)
    if nugget.weight is not None:
        return nugget.weight
    return float(nugget.importance == "vital")
