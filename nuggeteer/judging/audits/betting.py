"""A bound on an unknown total that holds for any number of looks, by bets at fair odds.

Something is drawn, then something of what is left, and so on; each draw gives an estimate of the total whose mean,
given all draws before, is the total. Who claims that the total is no more than m offers fair odds against estimates
above m. Capital that is bet against a true claim ever grows to 1/p with probability p at most (Ville 1939), so a claim
that has lost 1/p is refuted, at whatever draw one stops. The bound is the least m that is not (Waudby-Smith & Ramdas
2024; draws with unequal chances and without replacement: Shekhar, Xu, Lipton, Liang & Ramdas 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector

LOG_CAPITAL = float(np.log(40))  # 2.5 % on either side
MAX_STAKE = 0.75  # of the capital at stake in one bet
PRIOR_DRAWS = 4.0  # in draws, of the spread that was expected


@dataclass(frozen=True)
class EstimateSequence:
    """One entry a draw: the `estimate` of the total, the `least` that it could have been, and the `centre` that it has
    where a guess was right. `scale` is what the spread about the centre is proportional to, as ever less is left.
    All but `estimate` are known before the draw."""

    estimate: Vector
    least: Vector
    centre: Vector
    scale: Vector

    def first(self, draws: int) -> EstimateSequence:
        """As if there had been no more than these."""
        return EstimateSequence(self.estimate[:draws], self.least[:draws], self.centre[:draws], self.scale[:draws])


def bound_below(sequence: EstimateSequence, spread: float, planned: int, floor: float, ceiling: float) -> float:
    """What the total is not below, with 97.5 % confidence: a number from `floor` to `ceiling`, between which it lies
    in any case. Bets are those that are best for `planned` draws with the `spread` seen so far, `spread` at first."""
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
