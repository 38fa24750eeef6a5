"""The types that all stages share: question, nugget, response, run, judgement, answer key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from nuggeteer import fields
from nuggeteer.display import Shown, counted
from nuggeteer.fields import about
from nuggeteer.groups import Grouping
from nuggeteer.text import normalised, says_nothing

Importance = Literal["vital", "okay", "unrated", "forbidden"]
Judged = Literal["none", "best", "every"]
Scope = Literal["response", "answer"]
Vote = Literal["vital", "okay"] | float  # or how vital, from 0 to 1
Vector = npt.NDArray[np.floating[Any]]
Matrix = Vector
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.signedinteger[Any]]

QuestionId = Annotated[fields.Id, about("The question's id: a whole number, or printable characters.")]
NuggetId = Annotated[fields.Id, about("The nugget's id, unique within its question.")]

Extra = Mapping[str, Any]  # what else a line says, by keys that no field has
NO_EXTRA: Extra = {}


def no_extra() -> Extra:
    """One object for all records that have none."""
    return NO_EXTRA


# A tag for nuggets whose relevance to the question only someone with knowledge of the world can see.
WORLD_KNOWLEDGE = "world-knowledge"


class Question(Struct, frozen=True):
    """What was asked."""

    qid: QuestionId
    text: Annotated[str, about("The question.")]
    kind: Annotated[str | None, about("What kind of question it is. Scores can be shown apart by it.")] = None
    target: Annotated[str | None, about("Whom or what it is about.")] = None
    template: Annotated[str | None, about("The template that it follows.")] = None
    extra: Extra = field(default_factory=no_extra)


class Nugget(Struct, frozen=True):
    """One fact that belongs in the answer. Several `descriptions` are wordings, or answers that are all accepted.

    `unrated` is neither vital nor okay; it is used if another tool's file has an importance that cannot be read. Such a
    nugget counts only in measures where all nuggets count alike. `forbidden` is what an answer must not claim. Its
    weight is negative, and only a rubric's measures count it.

    A group has no description. It names its members, nuggets or other groups: `any_of` or `all_of` them.
    """

    qid: QuestionId
    nugget: NuggetId
    descriptions: Annotated[
        tuple[str, ...], about("Several wordings of the fact, or answers that are all accepted, instead of `text`.")
    ]
    importance: Annotated[
        Importance,
        about(
            "Without it, the nugget is vital, and a warning says on how many lines it is missing. A nugget that is "
            "`unrated` counts in `all_score`, and nowhere else. What is `forbidden` must not be claimed: it costs "
            "points in `rubric`, and counts nowhere else."
        ),
    ]
    weight: Annotated[
        fields.Weight | None,
        about(
            "The share of assessors who want the nugget, from 0 to 1, or a rubric's points, from -1,000,000 to "
            "1,000,000. A negative weight makes the nugget `forbidden`. Without a weight, what is forbidden has -1."
        ),
    ] = None
    votes: Annotated[
        fields.Votes,
        about(
            "What each assessor called the nugget, or how vital it is to them, from 0 to 1. The weight is then the "
            "mean of the votes, with `vital` as 1 and `okay` as 0."
        ),
    ] = field(default_factory=dict)
    tags: Annotated[
        tuple[str, ...],
        about(
            "Any strings. `world-knowledge` marks a fact that a reader needs outside knowledge to connect with the "
            "question. An answer that has it is credited, and an answer that lacks it loses no recall."
        ),
    ] = ()
    extra: Extra = field(default_factory=no_extra)
    any_of: Annotated[
        fields.Ids,
        about(
            "Ids of nuggets or groups of this question. The line is a group, which counts as one nugget and is found "
            "if any of them is."
        ),
    ] = ()
    all_of: Annotated[fields.Ids, about("The same for a group that is found if all of them are.")] = ()

    @property
    def hash(self) -> str:
        """What tells its words from others."""
        words = "\0".join(map(normalised, self.descriptions))
        return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()

    @property
    def members(self) -> tuple[str, ...]:
        """The ids of what is in a group; empty for a nugget."""
        return self.any_of or self.all_of


Pair = tuple[str, str, str]  # a question's id, a nugget's id and a normalised text
JudgedText = Annotated[str, about("The text that was judged: a response, or a whole answer.")]
SeenIn = Annotated[str | None, about("The run that the text was seen in.")]
Reason = Annotated[str | None, about("Why.")]
JudgedScope = Annotated[Scope, about("`answer`: `text` is a whole answer, and the verdict is about all of it.")]


class Judgement(Struct, frozen=True, gc=False):
    """A verdict on one (nugget, response text) or, with the `scope` answer, on a nugget and a whole answer's text.

    `partial` marks a no that the assessor called partly supported; AutoNuggetizer's scores and a rubric's give credit
    for it. `contradicts` marks a no to a text that says the opposite.
    `machine` marks a verdict that no human gave, such as a language model's. It is kept and compared with others, but
    never counts as known.
    """

    qid: QuestionId
    nugget: NuggetId
    text: JudgedText
    verdict: Annotated[bool, about("Does the text contain the nugget?")]
    partial: Annotated[
        bool,
        about("True marks a no that was called partly supported. AutoNuggetizer's non-strict scores count it half."),
    ] = False
    docid: Annotated[str | None, about("The document that the text came from.")] = None
    run: SeenIn = None
    assessor: Annotated[str | None, about("Who gave the verdict.")] = None
    at: Annotated[str | None, about("When, in UTC: `2026-01-31T09:30:00.000000Z`.")] = None
    reason: Reason = None
    span: Annotated[Any, about("[start, end) in characters of `text`: the words that carry the nugget.")] = None
    machine: Annotated[
        bool,
        about("True marks a verdict that no human gave. It decides nothing, unless the settings make it the standard."),
    ] = False
    scope: JudgedScope = "response"
    contradicts: Annotated[
        bool, about("True marks a no to a text that says the opposite. It counts as a no everywhere.")
    ] = False
    run_hash: Annotated[
        str | None, about("A hash of the words of all answers that the run had. It tells builds of one name apart.")
    ] = None
    nugget_hash: Annotated[
        str | None, about("A hash of the nugget's words at that time. `check` warns if they have changed since.")
    ] = None
    extra: Extra = field(default_factory=no_extra)

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
        if not (self.partial or self.contradicts):
            return None
        marks = [word for word, marked in (("partial", self.partial), ("a contradiction", self.contradicts)) if marked]
        if self.verdict and marks:
            return f"a yes cannot be {marks[0]}"
        return "a verdict cannot be partial and a contradiction" if len(marks) > 1 else None


class Retraction(Struct, frozen=True, gc=False):
    """An assessor takes back every earlier verdict of theirs on a (nugget, response text)."""

    qid: QuestionId
    nugget: NuggetId
    text: JudgedText
    assessor: Annotated[str, about("Whose verdicts are taken back.")]
    at: Annotated[fields.Time, about("Verdicts before this time are taken back.")]
    run: SeenIn = None
    reason: Reason = None
    scope: JudgedScope = "response"
    extra: Extra = field(default_factory=no_extra)

    @property
    def pair(self) -> Pair:
        """The nugget and the normalised text that this is about."""
        return self.qid, self.nugget, _normalised(self.text, self.scope)


class RunInfo(Struct, frozen=True):
    """What the manifest says about a run: its group, how it was judged, its official scores."""

    run: Annotated[fields.Id, about("The run's name: that of its file in `runs/`.")]
    group: Annotated[
        str | None,
        about(
            "The system or institution that the run belongs to. All runs that the manifest does not list are builds "
            "of one system; a listed run without a group is a system of its own."
        ),
    ] = None
    judged: Annotated[
        Judged,
        about(
            "`every`: each response was read against each nugget, so silence means no. `best`: TREC's way, where only "
            "the best response of a run was marked. `none`: only what is written down is known."
        ),
    ] = "none"
    official: Annotated[
        fields.Scores,
        about(
            'Scores by measure, `{"f3": 0.299}`. `check` warns about a name that is not a Nuggeteer measure; '
            "`compare` compares such scores with the measure that ranks the runs."
        ),
    ] = field(default_factory=dict)
    extra: Extra = field(default_factory=no_extra)


class Response(Struct, frozen=True, gc=False):
    """One text that a run returned for a question."""

    qid: QuestionId
    text: Annotated[fields.Answer, about("What the system answered.")]
    docid: Annotated[str | None, about("The document that it came from.")] = None
    rank: Annotated[
        int | None, about("Its place in the answer. The order of the lines counts; `check` compares it with this.")
    ] = None
    extra: Extra = field(default_factory=no_extra)


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

    Responses lie in the order of `key`'s questions, and in run order within a question (`own`). `parts` is None where
    each record of the run is one response. A run from the history has the time at which it was `recorded`, and the
    `label` that it was given.
    """

    name: str
    info: RunInfo
    texts: list[str]
    docids: list[str | None] | None
    question: npt.NDArray[np.int32]
    offsets: Ints
    parts: AnswerParts | None = None
    recorded: str | None = None
    label: str | None = None

    @property
    def title(self) -> str:
        return titled(self.name, self.label)

    def __len__(self) -> int:
        return len(self.texts)

    def _summary(self) -> str:
        questions = counted(len(np.unique(self.question)), "question")
        return f"{self.name}, {counted(len(self), 'response')} to {questions}"

    @cached_property
    def normalised_texts(self) -> list[str]:
        """The normalised texts, which is how texts are compared; kept because they are needed often."""
        return list(map(normalised, self.texts))

    @cached_property
    def speaks(self) -> Bools:
        """The responses that have words."""
        return np.fromiter((not says_nothing(text) for text in self.texts), bool, len(self.texts))

    @cached_property
    def answered(self) -> Bools:
        """The questions to which some response has words."""
        return np.bincount(self.question, self.speaks, len(self.offsets) - 1) > 0

    def own(self, question: int) -> slice:
        """Where the responses to a question are, by its position in the key."""
        return slice(int(self.offsets[question]), int(self.offsets[question + 1]))

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
        own = self.own(question)
        if self.parts is None or own.start == own.stop:
            return "\n".join(self.texts[own])
        return "\n".join(
            self.parts.records[int(self.parts.record[own.start]) : int(self.parts.record[own.stop - 1]) + 1]
        )

    def docid(self, response: int) -> str | None:
        return None if self.docids is None else self.docids[response]


def titled(run: str, label: str | None) -> str:
    """A run's name, with the label of its recorded build if it has one."""
    return f"{run} ({label})" if label else run


def titles_of(old: Run, new: Run) -> tuple[str, str]:
    """The titles of two runs, with the time at which the old one was recorded if nothing else tells them apart."""
    if old.title == new.title and old.recorded:
        return f"{old.title} ({old.recorded[:16].replace('T', ' ')})", new.title
    return old.title, new.title


@dataclass(frozen=True, repr=False)
class AnswerKey(Shown):
    """All nuggets, by question (`own`). `groups` are nuggets that count as one. What counts (`vital`, `weight` and so
    on) is a group at its carrier, and nothing at its other nuggets. `unscored` are the ids of questions that are listed
    and have no nuggets."""

    questions: tuple[Question, ...]
    nuggets: tuple[Nugget, ...]
    offsets: Ints
    groups: tuple[Nugget, ...] = ()
    unscored: frozenset[str] = frozenset()

    def _summary(self) -> str:
        sizes = f"{counted(len(self.questions), 'question')}, {counted(len(self.nuggets), 'nugget')}"
        return f"{sizes}, {int(self.vital.sum()):,} of them vital"

    def _rows(self) -> Iterator[dict[str, Any]]:
        for nugget in self.nuggets:
            row = {"qid": nugget.qid, "nugget": nugget.nugget, "importance": nugget.importance}
            yield row | {"description": nugget.descriptions[0]}

    def __iter__(self) -> Iterator[tuple[Question, tuple[Nugget, ...]]]:
        for i, question in enumerate(self.questions):
            yield question, self.nuggets[self.own(i)]

    def own(self, question: int) -> slice:
        """Where the nuggets of a question are."""
        return slice(int(self.offsets[question]), int(self.offsets[question + 1]))

    def why_not(self, qid: str) -> tuple[str, str]:
        """Why an id is that of no scored question, and what to do."""
        if qid in self.unscored:
            return f"question {qid!r} has no nuggets", "add nuggets to the question"
        return f"unknown question {qid!r}", "correct the qid"

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

    def pairs(self, question: Ints) -> tuple[Ints, Ints]:
        """Texts, each with every nugget of its question, laid end to end: where the pairs of each text begin (with the
        whole length as the last entry), and the nugget of each pair."""
        return ragged(self.offsets[question], self.counts[question])

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


def ragged(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Sequences of consecutive numbers, laid end to end: `first[i], first[i] + 1, ...`, `count[i]` numbers each.

    Returns where each sequence begins (with the whole length as the last entry), and the numbers.
    """
    begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    numbers = np.arange(begin[-1]) + np.repeat(first - begin[:-1], count)
    return begin, numbers
