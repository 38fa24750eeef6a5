"""Threads that ask: they take work until none is left or the session is stopped, and an interrupt loses no reply."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

LOOK: Final = 0.1  # seconds between two looks at how far the workers have come


class Workers:
    """So many threads, each of which does `work` once. It must return soon after `stop` is set, and must not begin
    anything then. An error in one of them sets `stop`, too."""

    def __init__(self, count: int, work: Callable[[], None], stop: threading.Event) -> None:
        self._work, self._stop, self._one_ended = work, stop, threading.Event()
        self._threads = [threading.Thread(target=self._perform, daemon=True) for _ in range(count)]
        self._ended: set[threading.Thread] = set()
        self._errors: list[BaseException] = []

    def run(self, watch: Callable[[], None]) -> None:
        """Returns when all have ended, or raises the first error. `watch` is called now and then meanwhile.

        A `KeyboardInterrupt` waits for the replies that are on their way, which are paid for, and then goes on. The
        second time, nothing is waited for."""
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
        """Neither Thread.join nor is_alive says so: where one is interrupted, it may take a thread that is running for
        dead (CPython's issue 90882). A thread that an interrupt has kept from starting has no number yet; if it starts
        all the same, it finds `stop` set."""
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
