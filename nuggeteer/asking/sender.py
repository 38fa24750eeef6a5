"""One call, however many requests it takes: paced, paid from the budget, tried again if that can help."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import Any, Final

import orjson

from nuggeteer.asking.budget import Budget, Pacer, Price
from nuggeteer.asking.calls import Call
from nuggeteer.asking.client import Client, Refused, Reply, Unavailable
from nuggeteer.asking.prompts import Prompt
from nuggeteer.asking.replies import Label, WrongShape, read_labels
from nuggeteer.settings import JudgeSettings

TRIES: Final = 6  # of a request that the server did not answer
LONGEST_WAIT: Final = 600.0  # seconds that a server may ask to wait
FIRST_PAUSE: Final = 0.5  # seconds, doubled with each try
LONGEST_PAUSE: Final = 30.0
FALLBACKS: Final = ("response_format", "logprobs")  # left out, in this order, where a server refuses a request


class Stopped(Exception):
    """The session ended before the call was answered."""


class Malformed(Exception):
    """A reply that was paid for and cannot be used."""

    def __init__(self, what: str, reply: Reply) -> None:
        super().__init__(what)
        self.reply = reply


@dataclass
class Spending:
    """What one call took."""

    cost: float = 0.0
    requests: int = 0
    unavailable: str | None = None  # why the last request that came to nothing did


class Sender:
    """Asks one endpoint. Workers share it, but each has its own client."""

    def __init__(self, judge: JudgeSettings, prompt: Prompt, budget: Budget) -> None:
        self.judge, self.prompt, self.budget = judge, prompt, budget
        self.stop = threading.Event()
        self._price, self._pacer, self._random = Price.of(judge), Pacer(judge.requests_per_minute), random.Random()
        self._own = threading.local()
        self._without: frozenset[str] = frozenset()

    def ask(self, call: Call, spending: Spending) -> tuple[list[Label], Reply]:
        """The labels of a call. `spending` is filled in, whatever is raised: `Malformed`, `Refused`, `Unavailable`,
        `Stopped`, or an error that ends the session."""
        reply = self.reply(call.messages(self.prompt), call.schema(), spending)
        try:
            return read_labels(reply.content, len(call.nuggets), reply.tokens), reply
        except WrongShape as wrong:
            raise Malformed(str(wrong), reply) from wrong

    def reply(self, messages: list[dict[str, str]], schema: dict[str, Any], spending: Spending) -> Reply:
        """A whole reply, of whatever shape."""
        without, tries = self._without, 0
        while True:
            try:
                reply = self._send(messages, schema, without, spending)
                break
            except Refused as refusal:
                named = refusal.without - without
                dropped = named or frozenset([part for part in FALLBACKS if part not in without][:1])
                if not dropped:
                    raise
                without |= dropped
            except Unavailable as unavailable:
                tries += 1
                if tries == TRIES or (unavailable.wait or 0.0) > LONGEST_WAIT:
                    raise
                self._pause(unavailable.wait, tries)
        self._without |= without
        if not reply.finished:
            raise Malformed(f"the reply was cut off after max_tokens = {self.judge.max_tokens}", reply)
        return reply

    def close(self) -> None:
        """Close the connection of this worker, which has ended."""
        if client := vars(self._own).pop("client", None):
            client.close()

    def _send(
        self,
        messages: list[dict[str, str]],
        schema: dict[str, Any],
        without: frozenset[str],
        spending: Spending,
    ) -> Reply:
        most = self._price.most(len(orjson.dumps([messages, schema])), self.judge.max_tokens)
        if not self.budget.reserve(most, self.stop):
            raise Stopped
        cost, sent = most, True  # what is not known to be free is taken as spent
        try:
            if not self._pacer.wait(self.stop, self.budget.deadline):
                cost, sent = 0.0, False
                if self.budget.left() <= 0 or not self.stop.is_set():
                    self.budget.stopped_by = self.budget.stopped_by or "minutes"
                raise Stopped
            reply = self._client().send(messages, schema, without)
            if reply.input_tokens is not None and reply.output_tokens is not None:
                cost = self._price(reply.input_tokens, reply.output_tokens)
            return reply
        except Unavailable as unavailable:
            cost = cost if unavailable.sent else 0.0
            spending.unavailable = str(unavailable)
            raise
        except Stopped:
            raise
        except Exception:  # a refusal
            cost = 0.0
            raise
        finally:
            self.budget.settle(most, cost, sent)
            spending.cost += cost
            spending.requests += sent

    def _client(self) -> Client:
        if not hasattr(self._own, "client"):
            self._own.client = Client(self.judge)
        client: Client = self._own.client
        return client

    def _pause(self, wait: float | None, tries: int) -> None:
        """Wait before the next try. All workers wait as long as the server asks; otherwise this one waits, longer each
        time."""
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (tries - 1)) * self._random.uniform(0.5, 1.5)
        if wait is not None:
            self._pacer.hold(wait)
            pause = self._random.uniform(0, 0.1 * wait)  # so that not all come back at once
        if self.stop.wait(min(pause, max(0.0, self.budget.left()))):
            raise Stopped
