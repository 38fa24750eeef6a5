"""What a session may spend, and how fast it may ask.

Every request reserves the most that it can cost before it is sent, so the limits hold however many are open at once.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Final, Literal

from nuggeteer.asking.replies import LABELS
from nuggeteer.settings import JudgeSettings

Limit = Literal["max-calls", "max-cost", "minutes"]
MILLION: Final = 1_000_000
OVERHEAD: Final = 200  # tokens that a server may add around the messages
BYTES_PER_TOKEN: Final = 4  # of English text, for estimates; a token is never less than a byte
TOKENS_PER_LABEL: Final = 8  # of a reply, for estimates


@dataclass(frozen=True)
class Price:
    """The price of a million tokens."""

    input: float
    output: float

    @classmethod
    def of(cls, judge: JudgeSettings) -> Price:
        return cls(judge.input_price, judge.output_price)

    def __call__(self, input_tokens: float, output_tokens: float) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / MILLION

    def most(self, size: int, max_tokens: int) -> float:
        """What a request of so many bytes can cost at most."""
        return self(size + OVERHEAD, max_tokens)

    def estimate(self, size: int, nuggets: int) -> float:
        """What a request is likely to cost."""
        return self(*estimated_tokens(size, nuggets))


def estimated_tokens(size: int, nuggets: int) -> tuple[int, int]:
    """Tokens sent and replied, for a request of so many bytes about so many nuggets."""
    return math.ceil(size / BYTES_PER_TOKEN), TOKENS_PER_LABEL * nuggets + len(LABELS)


class Budget:
    """Requests, money and time. `spent` and `requests` are what is used up; `stopped_by` is the limit that was met
    first."""

    def __init__(
        self, max_calls: int | None = None, max_cost: float | None = None, minutes: float | None = None
    ) -> None:
        self.max_calls, self.max_cost = max_calls, max_cost
        self.deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self.spent, self.requests = 0.0, 0
        self.stopped_by: Limit | None = None
        self._reserved, self._open = 0.0, 0
        self._changed = threading.Condition()

    def reserve(self, most: float, stop: threading.Event) -> bool:
        """Reserve a request that costs at most `most`. Waits for open requests if they may leave enough; False if
        nothing is left."""
        with self._changed:
            while not stop.is_set():
                if self.left() <= 0:
                    return self._stop("minutes")
                if self.max_calls is not None and self.requests >= self.max_calls:
                    return self._stop("max-calls")
                if self.max_cost is None or self.spent + self._reserved + most <= self.max_cost:
                    self._reserved += most
                    self._open += 1
                    self.requests += 1
                    return True
                if not self._open:
                    return self._stop("max-cost")
                self._changed.wait(min(0.1, self.left()))
            return False

    def settle(self, reserved: float, cost: float, sent: bool = True) -> None:
        """The reserved request is over, and cost so much. One that was never sent does not count."""
        with self._changed:
            self._reserved -= reserved
            self._open -= 1
            self.spent += cost
            self.requests -= not sent
            self._changed.notify_all()

    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.monotonic()

    def _stop(self, limit: Limit) -> bool:
        self.stopped_by = self.stopped_by or limit
        return False


class Pacer:
    """When the next request may be sent: at most so many a minute, and none while the server asks to wait."""

    def __init__(self, per_minute: int = 0) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def wait(self, stop: threading.Event, deadline: float) -> bool:
        """Wait for this request's turn; False if the time is over before it comes."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            if turn >= deadline:
                return False
            self._next = turn + self._gap
        while (left := turn - time.monotonic()) > 0:
            if stop.wait(left):
                return False
        return not stop.is_set()
