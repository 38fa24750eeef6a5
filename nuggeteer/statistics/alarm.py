"""Has a trend changed? An alarm that may be looked at every night.

Looking every night is testing every night. The alarm is therefore an e-process: a fair bet against "nothing has
changed" that starts with 1. If nothing has, it ever reaches 20 with probability 1/20 at most, however
often one looks and whenever one stops (Ville's inequality).

The bets are on ranks. If nothing has changed, the builds could have come in any order, so all orders of their
scores are equally likely, whatever the noise. A bet says: since build τ, a build scores like the worst of h
from before. Orders then have other probabilities (Savage 1956: a build from before weighs 1, one since weighs
h, and the lowest of those left is each with probability weight / sum of weights), and the bet pays the ratio.
Bets on the best of h watch for better. The capital is spread over direction, τ and h.

Of equal scores, bets on a drop take the later for the higher, and those on a rise for the lower. For every τ and
h that pays least, hence never more than ties broken at random, for which the guarantee is exact. So nothing here
is random, and builds that are all the same raise no alarm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Vector

ALARM = 20.0  # one in twenty: 5 %
WORSE = 0.8  # the share of the capital that is on a drop
HAZARD = 1 / 50  # how the capital is spread over τ: as if each build brought the change with this probability
OF = (2.0, 6.0, 40.0)  # h
DIGITS = 9  # scores that differ by less are equal


@dataclass(frozen=True)
class Change:
    """An alarm: at build `at`, a position in the trend, there was evidence enough of a change, which most likely
    came with build `since`. `before` and `after` are the mean scores on its two sides, as known at the alarm."""

    at: int
    since: int
    before: float
    after: float

    @property
    def worse(self) -> bool:
        return self.after < self.before


@dataclass(frozen=True)
class Alarm:
    """What is to be said of a trend: `evidence` is the e-value at each build, counted from the last change on."""

    evidence: Vector
    changes: tuple[Change, ...]


def watch(scores: Vector) -> Alarm:
    """Look at a trend's scores, in the order of its builds, as one would have every night.

    After an alarm the trend starts anew with the builds since the change. These were picked for being low (or high),
    so after a false alarm a second, in the other direction, is likelier than 5 %.
    """
    scores = np.round(scores, DIGITS)
    evidence, changes, start = np.ones(len(scores)), [], 0
    for now in range(len(scores)):
        evidence[now], split = e_value(scores[start : now + 1])
        if evidence[now] >= ALARM:
            before, after = scores[start : start + split], scores[start + split : now + 1]
            start += split
            changes.append(Change(now, start, float(before.mean()), float(after.mean())))
    return Alarm(evidence, tuple(changes))


def e_value(scores: Vector) -> tuple[float, int]:
    """The capital after these builds, and where the change most likely is: the position of the first build
    since."""
    drop, at_drop = _bets(scores)
    rise, at_rise = _bets(-scores)
    drop, rise = WORSE * drop, (1 - WORSE) * rise
    return drop + rise, at_drop if drop >= rise else at_rise


def _bets(scores: Vector) -> tuple[float, int]:
    """The capital of the bets on a drop, and the τ with most of it."""
    count = len(scores)
    if count < 2:
        return 1.0, 0
    start = np.arange(1, count)
    order = np.argsort(scores, kind="stable")[::-1]  # from the last that is drawn; of equal scores the earlier first
    left = np.arange(1, count + 1)  # how many are left when one is drawn, itself among them
    left_since = (order >= start[:, None]).cumsum(axis=1, dtype=np.int32)
    even = math.lgamma(count + 1)  # the logarithm of how many orders there are
    prior = HAZARD * (1 - HAZARD) ** (start - 1)
    capital = np.zeros(count - 1)
    for h in OF:
        weight_left = np.multiply.reduceat(left + (h - 1) * left_since, np.arange(0, count, 32), axis=1)
        log_ratio = even + (count - start) * math.log(h) - np.log(weight_left).sum(axis=1)
        capital += prior / len(OF) * np.exp(log_ratio)
    return float(capital.sum() + 1 - prior.sum()), int(start[capital.argmax()])


def patience(builds: int) -> int:
    """About how many builds it takes until the alarm, where all of them are below all of so many from before."""
    worse = 1
    while e_value(np.repeat([1.0, 0.0], [builds, worse]))[0] < ALARM:
        worse += 1
    return worse
