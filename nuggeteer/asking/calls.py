"""What is asked: one whole answer with some of its question's nuggets a call, and what decides the reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

import orjson

from nuggeteer.asking.client import endpoint_host, is_loopback
from nuggeteer.asking.prompts import Prompt
from nuggeteer.asking.replies import reply_instruction, reply_schema
from nuggeteer.fields import Part
from nuggeteer.records import AnswerKey, Nugget, Question, Run
from nuggeteer.settings import JudgeSettings
from nuggeteer.text import verdict_form

NUGGETS_PER_CALL: Final = 10  # as AutoNuggetizer asks
PARAMETERS: Final = {"temperature": 0}


@dataclass(frozen=True)
class Identity:
    """A judge: the model with its revision, and the prompt. If any of these changes, it is another judge."""

    judge: str
    model: str
    revision: str
    endpoint: str
    prompt: Prompt

    @classmethod
    def of(cls, judge: JudgeSettings, prompt: Prompt) -> Identity:
        """On this machine the port does not matter, because it changes from start to start."""
        endpoint = "loopback" if is_loopback(endpoint_host(judge)) else judge.url
        return cls(judge.name, judge.model, judge.revision, endpoint, prompt)

    def line(self) -> dict[str, str]:
        """What each line of the ledger says about its judge."""
        revision = {"revision": self.revision} if self.revision else {}
        return {"judge": self.judge, "model": self.model, **revision, "prompt": self.prompt.name}


class UnansweredPair(Part):
    """A nugget without a verdict."""

    qid: str
    nugget: str
    run: str
    reason: str


@dataclass(frozen=True)
class Call:
    """An answer, and the nuggets that are asked about at once, in their order."""

    question: Question
    run: str
    text: str
    nuggets: tuple[Nugget, ...]

    def halves(self) -> list[Call]:
        middle = (len(self.nuggets) + 1) // 2
        return [replace(self, nuggets=part) for part in (self.nuggets[:middle], self.nuggets[middle:]) if part]

    def only(self, asked: Callable[[str], bool]) -> Call:
        """The call with only the nuggets whose digests are to be asked about."""
        pairs = zip(self.nuggets, self.digests(), strict=True)
        return replace(self, nuggets=tuple(nugget for nugget, digest in pairs if asked(digest)))

    def descriptions(self) -> list[str]:
        return [description(nugget) for nugget in self.nuggets]

    def digests(self) -> list[str]:
        """For each nugget, a hash of the question, the answer and the nugget, as far as they decide a verdict."""
        text = verdict_form(self.text)
        return [_digest([self.question.text, nugget, text]) for nugget in self.descriptions()]

    def answer_digest(self) -> str:
        """A hash of the question and the answer."""
        return _digest([self.question.qid, self.question.text, verdict_form(self.text)])

    def key(self, identity: Identity) -> str:
        """A hash of everything that decides the reply."""
        prompt = identity.prompt
        judge = [identity.model, identity.revision, identity.endpoint, prompt.name, prompt.system, prompt.user]
        return _digest([judge, PARAMETERS, self.question.text, self.text, self.descriptions()])

    def messages(self, prompt: Prompt) -> list[dict[str, str]]:
        reply = reply_instruction(len(self.nuggets))
        return prompt.messages(self.question.text, self.text, self.descriptions(), reply)

    def schema(self) -> dict[str, Any]:
        return reply_schema(len(self.nuggets))

    def size(self, prompt: Prompt) -> int:
        """Bytes that are sent, for estimates."""
        return len(orjson.dumps([self.messages(prompt), self.schema()]))


def description(nugget: Nugget) -> str:
    """A nugget as a model reads it."""
    return "; or: ".join(nugget.descriptions)


def calls_of(
    key: AnswerKey, run: Run, question: int, nuggets: Sequence[int], size: int = NUGGETS_PER_CALL
) -> Iterator[Call]:
    """The calls about some nuggets, by their positions in the key, of a run's answer to a question. An empty answer has
    none."""
    text = run.answer(question)
    if not text.strip():
        return
    for first in range(0, len(nuggets), size):
        asked = tuple(key.nuggets[nugget] for nugget in nuggets[first : first + size])
        yield Call(key.questions[question], run.name, text, asked)


def every_call(key: AnswerKey, runs: Iterable[Run]) -> Iterator[Call]:
    """The calls about every nugget in every answer. Answers that are the same are asked about once."""
    seen: set[str] = set()
    for run in runs:
        for question in range(len(key.questions)):
            nuggets = range(len(key.nuggets))[key.own(question)]
            for call in calls_of(key, run, question, nuggets):
                if fresh := {digest for digest in call.digests() if digest not in seen}:
                    seen |= fresh
                    yield call.only(fresh.__contains__)


def _digest(parts: Sequence[Any]) -> str:
    return blake2b(orjson.dumps(parts), digest_size=16).hexdigest()
