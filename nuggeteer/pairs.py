"""(response, nugget) pairs as flat arrays: each response has one pair for every nugget of its question."""

from __future__ import annotations

import numpy as np

from nuggeteer.records import Ints


def ragged(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Sequences of consecutive numbers, laid end to end: `first[i], first[i] + 1, ...`, `count[i]` numbers each.

    Returns where each sequence begins (with the whole length as the last entry), and the numbers.
    """
    begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    numbers = np.arange(begin[-1]) + np.repeat(first - begin[:-1], count)
    return begin, numbers
