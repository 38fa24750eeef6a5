"""Workers: an interrupt waits for all that have begun, wherever it comes, and nothing begins after it."""

from __future__ import annotations

import threading

import pytest

from nuggeteer.asking.session import Workers


class Work:
    """Counts what was begun and what was done. Nothing is done before `go` is set."""

    def __init__(self):
        self.stop, self.go = threading.Event(), threading.Event()
        self.begun, self.done = [], []

    def __call__(self):
        while not self.stop.is_set():
            self.begun.append(1)
            self.go.wait()
            self.done.append(1)


@pytest.mark.parametrize("last", [1, 2, 3])
def test_an_interrupt_while_workers_are_started_waits_for_those_that_have_begun(monkeypatch, last):
    work, started, start = Work(), [], threading.Thread.start

    def interrupted(thread):
        start(thread)
        started.append(thread)
        if len(started) == last:
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Workers(3, work, work.stop).run(work.go.set)
    assert len(started) == last
    assert len(work.done) == len(work.begun)
    monkeypatch.undo()
    for thread in started:
        thread.join()
    assert len(work.done) == len(work.begun)


def test_an_interrupt_waits_and_a_second_does_not():
    work, seen = Work(), []

    def watch():
        seen.append(work.stop.is_set())
        if len(seen) < 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Workers(2, work, work.stop).run(watch)
    assert seen == [False, True]
    assert work.done == []
    work.go.set()


def test_the_first_error_ends_all_and_is_raised():
    stop = threading.Event()

    def work():
        if not stop.is_set():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Workers(3, work, stop).run(lambda: None)
    assert stop.is_set()


def test_without_workers_there_is_nothing_to_wait_for():
    Workers(0, lambda: None, threading.Event()).run(lambda: pytest.fail("nobody works"))
