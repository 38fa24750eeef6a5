"""A bound on an unknown total that stays valid however often one looks at it, by bets at fair odds.

Units are drawn one after another without replacement. Each draw gives an estimate of the total, and its mean, given all
earlier draws, is the total. Anyone who claims that the total is at most m must offer fair odds on estimates above m.
Capital bet against a true claim ever grows to 1/p times its size with probability at most p (Ville 1939). So a claim
against which capital has grown to 1/p is refuted, whatever draw one stops at. The bound is the smallest m that is not
refuted (Waudby-Smith & Ramdas 2024; for draws with unequal probabilities and without replacement: Shekhar, Xu, Lipton,
Liang & Ramdas 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector

LOG_CAPITAL = float(np.log(40))  # refutes at 2.5 % on each side
MAX_STAKE = 0.75  # the largest share of the capital in one bet
PRIOR_DRAWS = 4.0  # how many draws the expected spread counts for


@dataclass(frozen=True)
class EstimateSequence:
    """Estimates of a total, one entry for each draw.

    `estimate` is the estimate of the draw, `least` the smallest it could have been, and `centre` its value if the guess
    is right. `scale` is proportional to the spread around the centre, which falls as fewer units are left. All but
    `estimate` are known before the draw."""

    estimate: Vector
    least: Vector
    centre: Vector
    scale: Vector


def bound_below(sequence: EstimateSequence, spread: float, planned: int, floor: float, ceiling: float) -> float:
    """A lower bound on the total with 97.5 % confidence, between `floor` and `ceiling`, its certain limits.

    The bets are the best ones for `planned` draws with the spread seen so far; at the start that is `spread`."""
    size = len(sequence.estimate)
    if not size:
        return floor
    error = (sequence.estimate - sequence.centre) / sequence.scale
    draw = np.arange(size)
    away = (error - np.cumsum(error) / (PRIOR_DRAWS + draw + 1)) ** 2
    variance = (PRIOR_DRAWS * spread**2 + np.cumsum(away) - away) / (PRIOR_DRAWS + draw)
    with np.errstate(divide="ignore"):
        bet = np.sqrt(2 * LOG_CAPITAL / (np.maximum(planned, draw + 1) * variance)) / sequence.scale

    def refuted(claim: float) -> bool:
        room = claim - sequence.least
        if (room <= 0).any():
            return True
        stake = np.minimum(bet * room, MAX_STAKE)
        capital = np.cumsum(np.log1p(stake * ((sequence.estimate - sequence.least) / room - 1)))
        return bool(capital.max() >= LOG_CAPITAL)

    low, high = floor, ceiling
    for _ in range(50):
        middle = (low + high) / 2
        if refuted(middle):
            low = middle
        else:
            high = middle
    return low
