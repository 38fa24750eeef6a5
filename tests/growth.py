"""How processor time grows with the size of an input, compared within one process, so no machine is too slow."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 5
LITTLE = 0.05  # seconds that may always be taken: they cannot be told from nothing


def grows_less_than(factor: float, short: Callable[[], object], long: Callable[[], object]) -> bool:
    """Whether the long run takes less than so many times the processor time of the short one. What disturbs a machine
    only ever adds time, so a run that is too long is tried again; what really grows so fast does so each time."""
    quickest = [float("inf"), float("inf")]
    for _ in range(TRIES):
        quickest = [min(least, _seconds(run)) for least, run in zip(quickest, (short, long), strict=True)]
        if quickest[1] < max(factor * quickest[0], LITTLE):
            return True
    return False


def _seconds(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun
