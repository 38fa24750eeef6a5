"""Work for several processors: forked processes that share what the command has read, and write into shared memory.

Nothing is sent to them, and only what they write comes back, because sending the texts of a large run takes as long as
matching them. The command itself is one of the workers: a process copies what it looks at, because Python counts
references in it. Where processes cannot be forked, as on Windows, one does the work.
"""

from __future__ import annotations

import gc
import mmap
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError

Part = TypeVar("Part")


def can_share(jobs: int, parts: int) -> int:
    """How many workers of these `jobs` there is work for."""
    return min(jobs, parts) if sys.platform == "linux" else 1


def zeros(shape: int | tuple[int, int], kind: npt.DTypeLike, workers: int) -> npt.NDArray[Any]:
    """An array of zeros that several workers can write to."""
    if workers == 1:
        return np.zeros(shape, dtype=kind)
    count = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(mmap.mmap(-1, max(count, 1)), dtype=kind, count=int(np.prod(shape))).reshape(shape)


def copies(texts: Sequence[str]) -> Sequence[str]:
    """Texts in this process's own memory. Looking at a text counts references in it, so the memory around it would be
    copied, once for the process that looks and once for those that do not. Joining texts only reads them."""
    for between in "\n\0":
        copied = between.join(texts).split(between)
        if len(copied) == len(texts):
            return copied
    return texts


def work_on(parts: Sequence[Part], work: Callable[[Part], None], workers: int) -> None:
    """Do the work on each part. This process is one of the workers. Several must write what they find to shared arrays,
    each to its own places."""
    started = []
    try:
        for number in range(1, workers):
            fork = multiprocessing.get_context("fork")
            ours, theirs = fork.Pipe(duplex=False)
            own = (parts[number::workers], work, theirs, os.getpid())
            process = fork.Process(target=_work, args=own, daemon=True)
            with _without_interrupts():
                process.start()
                started.append((process, ours))
            theirs.close()
        for part in parts[::workers]:
            work(part)
        for process, ours in started:
            try:
                failed = ours.recv()
            except EOFError:  # killed, perhaps for lack of memory
                process.join()
                raise NuggeteerError(f"a worker ended early (exit code {process.exitcode}); use --jobs 1") from None
            if failed is not None:
                raise failed
    finally:
        for process, ours in started:
            ours.close()
            process.kill()
            process.join()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """An interrupt waits until the worker being started is known. The worker itself never gets one: a terminal
    interrupts all processes at once, but only the command should report it, and it ends its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(parts: Sequence[Part], work: Callable[[Part], None], done: Connection, command: int) -> None:
    gc.disable()  # collecting garbage would copy all shared memory
    try:
        for part in parts:
            if os.getppid() != command:
                return  # it was killed, and nobody waits for this
            work(part)
    except Exception as error:
        done.send(error)
    else:
        done.send(None)
