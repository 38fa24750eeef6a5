"""A session: workers ask one judge about a list of calls, and every reply is on disk before the next is asked for. The
cost is estimated before anything is sent.

A reply of a wrong shape is asked for again in halves, down to single nuggets. What still fails is listed. It is never
guessed and never counted as a no.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from nuggeteer.asking.budget import Price, estimated_tokens
from nuggeteer.asking.calls import Call, UnansweredPair
from nuggeteer.asking.client import Refused, Reply, Unavailable
from nuggeteer.asking.prompts import Prompt
from nuggeteer.asking.sender import Malformed, Sender, Spending, Stopped
from nuggeteer.asking.store import VerdictStore
from nuggeteer.errors import NuggeteerError
from nuggeteer.settings import JudgeSettings

IN_A_ROW: Final = 5  # calls that fail one after the other end a session
LOOK: Final = 0.1  # seconds between two looks at how far the workers have come
T = TypeVar("T")
GLANCE: Final = 0.05  # seconds between looks at answers that another process is asking about


@dataclass
class Asked:
    """What a session did. `stopped` says why it ended before everything was asked; None if it did not."""

    calls: int = 0  # that were answered
    requests: int = 0
    spent: float = 0.0
    seconds: float = 0.0
    labels: Counter[str] = field(default_factory=Counter)
    failed: list[UnansweredPair] = field(default_factory=list)
    unavailable: set[str] = field(default_factory=set)  # why calls had no reply; the next session makes them again
    left: int = 0  # nuggets that were to be asked about and were not
    unneeded: int = 0  # nuggets that were not asked about, because their verdicts would tell hardly anything
    stopped: str | None = None

    def add(self, later: Asked) -> None:
        """Count a later session too."""
        self.calls += later.calls
        self.requests += later.requests
        self.spent += later.spent
        self.seconds += later.seconds
        self.labels.update(later.labels)
        self.failed += later.failed
        self.unavailable |= later.unavailable
        self.left, self.stopped = later.left, later.stopped or self.stopped


@dataclass(frozen=True)
class CostEstimate:
    """Calls that would be made and what they are likely to take. `known` nuggets have a verdict of this judge."""

    calls: int
    nuggets: int
    known: int
    input_tokens: int
    output_tokens: int
    price: float


def estimate(calls: Iterable[Call], store: VerdictStore, judge: JudgeSettings, prompt: Prompt) -> CostEstimate:
    """An estimate of the calls that the store has no answer for."""
    count = nuggets = known = sent = replied = 0
    for call in calls:
        pending = call.only(store.is_open)
        known += len(call.nuggets) - len(pending.nuggets)
        if pending.nuggets:
            count += 1
            nuggets += len(pending.nuggets)
            tokens = estimated_tokens(pending.size(prompt), len(pending.nuggets))
            sent, replied = sent + tokens[0], replied + tokens[1]
    return CostEstimate(count, nuggets, known, sent, replied, Price.of(judge)(sent, replied))


Progress = Callable[[int, int, float], None]  # nuggets done, of how many, and the price so far


class Session:
    """Asks the calls in their order. Several sessions may use one sender, one after the other."""

    def __init__(
        self, store: VerdictStore, sender: Sender, progress: Progress = lambda done, total, spent: None
    ) -> None:
        self._store, self._sender, self._progress = store, sender, progress
        self._queue = Queue[Call](sender.stop)
        self._lock = threading.Lock()
        self._done, self._in_a_row = 0, 0
        self._asked = Asked()

    def run(self, calls: Iterable[Call]) -> Asked:
        """Ask; returns when all is answered, the budget is spent, or the sender is told to stop. A `KeyboardInterrupt`
        waits for the replies that are on their way."""
        started, budget = time.monotonic(), self._sender.budget
        spent, requests = budget.spent, budget.requests
        self._queue.waiting.extend(calls)
        total = sum(len(call.nuggets) for call in self._queue.waiting)
        if total:
            self._store.check_writable()
        workers = Workers(min(self._sender.judge.concurrency, len(self._queue.waiting)), self._work, self._sender.stop)
        workers.run(lambda: self._progress(self._done, total, budget.spent))
        self._progress(self._done, total, budget.spent)
        asked = self._asked
        asked.spent, asked.requests = budget.spent - spent, budget.requests - requests
        asked.seconds, asked.left = time.monotonic() - started, sum(len(call.nuggets) for call in self._queue.waiting)
        asked.stopped = asked.stopped or (budget.stopped_by if asked.left else None)
        return asked

    def _work(self) -> None:
        with suppress(Stopped), closing(self._sender):
            self._queue.work(self._answer)

    def _answer(self, call: Call) -> None:
        if not self._store.claim(call):
            self._sender.stop.wait(GLANCE)
            self._queue.waiting.append(call)
            return
        try:
            self._store.refresh()
            self._store.recover(call)
            count = len(call.nuggets)
            call = call.only(self._store.is_open)
            with self._lock:
                self._done += count - len(call.nuggets)
            if not call.nuggets:
                return
            if call.key(self._store.identity) in self._store.malformed:
                self._split(call, "its reply could not be used")
                return
            self._ask(call)
        finally:
            self._store.release(call)

    def _ask(self, call: Call) -> None:
        store, spending = self._store, Spending()
        try:
            labels, reply = self._sender.ask(call, spending)
        except Malformed as wrong:
            what, reply = str(wrong), wrong.reply
            store.keep(call, "malformed", spending, what, reply.content, **server_said(reply))
            self._split(call, what)
            self._count_in_a_row(False)
        except Refused as refusal:
            store.keep(call, "failed", spending, str(refusal))
            self._give_up(call, str(refusal))
            self._count_in_a_row(True)
        except Unavailable as missing:
            store.keep(call, "unavailable", spending, str(missing))
            self._give_up(call, str(missing))
            self._asked.unavailable.add(str(missing))
            self._count_in_a_row(True)
        except Stopped:
            if spending.requests:
                store.keep(call, "unavailable", spending, "stopped")
            if spending.unavailable is not None:
                self._asked.unavailable.add(spending.unavailable)
            self._queue.waiting.appendleft(call)
            raise
        else:
            self._check_model(call, reply, spending)
            said = {**server_said(reply), "fingerprint": reply.fingerprint}
            store.keep(call, "answered", spending, labels=labels, **said)
            with self._lock:
                self._asked.calls += 1
                self._asked.labels.update(label.label for label in labels)
                self._done += len(labels)
            self._count_in_a_row(False)

    def _check_model(self, call: Call, reply: Reply, spending: Spending) -> None:
        """Refuse verdicts of another model than the one before it in this ledger."""
        with self._lock:
            earlier, model = self._store.served, reply.model
            if not (earlier and model and earlier != model):
                self._store.served = earlier or model
                return
        what = f"the endpoint now answers as the model {model!r:.80}, and the verdicts so far are of {earlier!r:.80}"
        self._store.keep(call, "unavailable", spending, what, reply.content, served=model)
        self._queue.waiting.appendleft(call)
        remedy = (
            "that is another judge: give it a section [judge.NAME] of its own, with revision set if model is the same"
        )
        raise NuggeteerError(f"{what}; {remedy}")

    def _split(self, call: Call, reason: str) -> None:
        """Ask for the halves, or give up on a single nugget, for this session and later ones."""
        if len(call.nuggets) > 1:
            self._queue.waiting.extendleft(reversed(call.halves()))
            return
        self._store.keep(call, "failed", Spending(), reason)
        self._give_up(call, reason)

    def _give_up(self, call: Call, reason: str) -> None:
        with self._lock:
            self._done += len(call.nuggets)
            self._asked.failed += [UnansweredPair(n.qid, n.nugget, call.run, reason) for n in call.nuggets]

    def _count_in_a_row(self, failed: bool) -> None:
        """End a session in which nothing works any more."""
        with self._lock:
            self._in_a_row = self._in_a_row + 1 if failed else 0
            if self._in_a_row >= IN_A_ROW:
                self._asked.stopped = f"{IN_A_ROW} calls failed one after the other"
                self._sender.stop.set()


def server_said(reply: Reply) -> dict[str, Any]:
    return {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens, "served": reply.model}


class Queue(Generic[T]):
    """What waits for the workers. They may put something back. Adding to `waiting` needs no lock."""

    def __init__(self, stop: threading.Event) -> None:
        self.waiting: deque[T] = deque()
        self._stop, self._lock, self._busy = stop, threading.Lock(), 0

    def work(self, do: Callable[[T], None]) -> None:
        """What one worker does: it takes one thing after the other, until nothing is left or `stop` is set."""
        while (one := self._take()) is not None:
            try:
                do(one)
            finally:
                with self._lock:
                    self._busy -= 1

    def _take(self) -> T | None:
        """None when nothing is left, not even what others may put back."""
        while not self._stop.is_set():
            with self._lock:
                if self.waiting:
                    self._busy += 1
                    return self.waiting.popleft()
                if not self._busy:
                    return None
            self._stop.wait(GLANCE / 5)
        return None


class Workers:
    """Threads that each do `work` once. `work` must return soon after `stop` is set, and must begin nothing then. An
    error in one of them also sets `stop`."""

    def __init__(self, count: int, work: Callable[[], None], stop: threading.Event) -> None:
        self._work, self._stop, self._one_ended = work, stop, threading.Event()
        self._threads = [threading.Thread(target=self._perform, daemon=True) for _ in range(count)]
        self._ended: set[threading.Thread] = set()
        self._errors: list[BaseException] = []

    def run(self, watch: Callable[[], None]) -> None:
        """Returns when all have ended, or raises the first error. `watch` is called now and then meanwhile.

        A `KeyboardInterrupt` waits for the replies that are on their way, which are paid for, and then goes on. A
        second one waits for nothing."""
        interrupted: KeyboardInterrupt | None = None
        left = iter(self._threads)
        while True:
            try:
                for thread in left:
                    thread.start()
                while self._are_at_work():
                    watch()
                    self._one_ended.wait(LOOK)
                    self._one_ended.clear()
                break
            except KeyboardInterrupt as error:
                if interrupted:
                    raise
                interrupted, left = error, iter(())
                self._stop.set()
        if interrupted:
            raise interrupted
        if self._errors:
            raise self._errors[0]

    def _are_at_work(self) -> bool:
        """Neither Thread.join nor is_alive says this: if one is interrupted, it may take a running thread for dead
        (CPython's issue 90882). A thread that an interrupt has kept from starting has no number yet. If it still
        starts, it finds `stop` set."""
        return any(thread.ident is not None and thread not in self._ended for thread in self._threads)

    def _perform(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._errors.append(error)
            self._stop.set()
        finally:
            self._ended.add(threading.current_thread())
            self._one_ended.set()
