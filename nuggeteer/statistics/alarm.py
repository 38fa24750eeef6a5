"""Has a trend changed? An alarm that can be checked every night.

Checking every night is testing every night. The alarm is therefore an e-process: a fair bet against "nothing has
changed" whose capital starts at 1. If nothing has changed, the probability that the capital ever reaches 20 is at most
1/20, no matter how often anyone looks and when they stop (Ville's inequality).

The bets are on ranks. If nothing has changed, the builds could have come in any order, so all orders of their
scores are equally likely, whatever the noise. A bet assumes that since build τ a build scores like the worst of h
earlier builds. Orders then have different probabilities: an earlier build weighs 1, a later one weighs h, and each is
the lowest of the remaining builds with probability weight / sum of weights (Savage 1956). The bet pays the ratio of the
two probabilities. Bets on the best of h look for a rise. The capital is spread over the direction, τ and h.

Among equal scores, bets on a drop rank the later build higher, and bets on a rise rank it lower. For every τ and h
this order pays the least, so never more than ties broken at random, for which the guarantee is exact. The result
is therefore not random, and builds with equal scores raise no alarm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector

ALARM = 20.0  # a false alarm has at most this probability: 1/20, or 5 %
DROP_SHARE = 0.8  # the share of the capital that is bet on a drop
HAZARD = 1 / 50  # the capital is spread over τ as if each build brought the change with this probability
STRENGTHS = (2.0, 6.0, 40.0)  # the values of h
DIGITS = 9  # scores that are equal to so many decimals count as equal


@dataclass(frozen=True)
class LevelChange:
    """A change for which there was enough evidence at build `at`, and which most likely came with build `since`. Both
    are positions in the trend. `before` and `after` are the mean scores on its two sides, as known at the alarm."""

    at: int
    since: int
    before: float
    after: float

    @property
    def worse(self) -> bool:
        return self.after < self.before


@dataclass(frozen=True)
class Alarm:
    """The changes of a trend. `evidence` is the e-value at each build, counted from the last change on."""

    evidence: Vector
    changes: tuple[LevelChange, ...]


def watch_trend(scores: Vector) -> Alarm:
    """Find the changes in a trend's scores, given in the order of its builds, as if they were checked every night.

    After an alarm the trend starts again with the builds since the change. These builds were chosen because they were
    low (or high), so after a false alarm a second one in the other direction has a probability above 5 %.
    """
    scores = np.round(scores, DIGITS)
    evidence, changes, start = np.ones(len(scores)), [], 0
    for now in range(len(scores)):
        evidence[now], split = e_value(scores[start : now + 1])
        if evidence[now] >= ALARM:
            before, after = scores[start : start + split], scores[start + split : now + 1]
            start += split
            changes.append(LevelChange(now, start, float(before.mean()), float(after.mean())))
    return Alarm(evidence, tuple(changes))


def e_value(scores: Vector) -> tuple[float, int]:
    """The capital after these builds, and the position of the first build after the most likely change."""
    drop, at_drop = _bets(scores)
    rise, at_rise = _bets(-scores)
    drop, rise = DROP_SHARE * drop, (1 - DROP_SHARE) * rise
    return drop + rise, at_drop if drop >= rise else at_rise


def _bets(scores: Vector) -> tuple[float, int]:
    """The capital of the bets on a drop, and the τ with most of it."""
    count = len(scores)
    if count < 2:
        return 1.0, 0
    start = np.arange(1, count)
    # From the highest score, which is drawn last, down to the lowest. Of equal scores the earlier build comes first.
    order = np.argsort(scores, kind="stable")[::-1]
    left = np.arange(1, count + 1)  # how many builds remain when each is drawn, itself included
    left_since = (order >= start[:, None]).cumsum(axis=1, dtype=np.int32)
    even = math.lgamma(count + 1)  # the logarithm of the number of orders
    prior = HAZARD * (1 - HAZARD) ** (start - 1)
    capital = np.zeros(count - 1)
    for h in STRENGTHS:
        weight_left = np.multiply.reduceat(left + (h - 1) * left_since, np.arange(0, count, 32), axis=1)
        log_ratio = even + (count - start) * math.log(h) - np.log(weight_left).sum(axis=1)
        capital += prior / len(STRENGTHS) * np.exp(log_ratio)
    return float(capital.sum() + 1 - prior.sum()), int(start[capital.argmax()])


def builds_until_alarm(builds: int) -> int:
    """About how many builds it takes until the alarm, if all of them score below all of the `builds` before them."""
    worse = 1
    while e_value(np.repeat([1.0, 0.0], [builds, worse]))[0] < ALARM:
        worse += 1
    return worse
