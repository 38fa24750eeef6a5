"""In which order to ask: the calls whose verdicts are expected to narrow a score most for their price come first.

As in `judge` (judging/suggest), the starting point is how much of the score's variance a certain verdict on each nugget
would remove, and how the interval is forecast to narrow with it: verdicts on some answers say something about all. A
judge's verdict removes the part of this that `Worth.explained` says. But its errors have something in common: nobody
knows its rates exactly, and no number of its verdicts averages that part of the error out. Suppose that the verdicts so
far remove G of the variance V, and that the unknown rates add D. Then the score is best moved by only G / (G + D) of
what the verdicts say, and that leaves V − G² / (G + D).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from nuggeteer.asking.budget import Price
from nuggeteer.asking.calls import NUGGETS_PER_CALL, Call, calls_of
from nuggeteer.asking.prompts import Prompt
from nuggeteer.asking.store import VerdictStore
from nuggeteer.asking.worth import Worth
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.suggest import ReadingOrder
from nuggeteer.measures import Measure
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import JudgeSettings
from nuggeteer.statistics.intervals import REACH

DEVIATIONS: Final = 2 * REACH  # standard deviations in an interval
NO_GAIN: Final = 0.01  # of the width: if all that is left would not narrow it by that, asking ends
TINY: Final = 1e-9


@dataclass(frozen=True)
class OpenNuggets:
    """The nuggets of one answer or of two runs' answers whose verdicts would narrow a score.

    `share` is the share of everything unknown that a certain verdict tells. `weight` is the nugget's in the score
    (negative in the run that is compared with). A person reads `card` by card, and takes `seconds` for each nugget.
    After so much is `told`, the judging part is likely to have these `widths`; the first is now."""

    side: Ints
    nugget: Ints
    probability: Vector
    share: Vector
    weight: Vector
    card: Ints
    seconds: Vector
    told: Vector
    widths: Vector

    @property
    def width(self) -> float:
        return float(self.widths[0])

    def width_at(self, told: Vector) -> Vector:
        return np.sqrt(np.interp(told, self.told, self.widths**2))

    @property
    def variance(self) -> float:
        return (self.width / DEVIATIONS) ** 2

    def __getitem__(self, which: Bools) -> OpenNuggets:
        return replace(
            self,
            side=self.side[which],
            nugget=self.nugget[which],
            probability=self.probability[which],
            share=self.share[which],
            weight=self.weight[which],
            card=self.card[which],
            seconds=self.seconds[which],
        )

    def unasked(self, key: AnswerKey, runs: Sequence[MatchedRun], store: VerdictStore) -> OpenNuggets:
        """Those that the judge has no verdict on yet."""
        which = np.zeros(len(self.nugget), dtype=bool)
        question = key.question[self.nugget]
        for side, number in sorted(set(zip(self.side.tolist(), question.tolist(), strict=True))):
            own = np.flatnonzero((self.side == side) & (question == number))
            for call in calls_of(key, runs[side].run, number, self.nugget[own].tolist(), size=len(own)):
                which[own] = [store.is_open(pair) for pair in call.digests()]
        return self[which]

    @classmethod
    def find(
        cls, scorer: Scorer, matched: MatchedRun, measure: Measure, against: MatchedRun | None = None
    ) -> OpenNuggets:
        """By what is known now."""
        if scorer.draws is None:
            raise NuggeteerError("a fixed threshold cannot say how sure its guesses are; ask about all: --all")
        order = ReadingOrder(scorer, matched, measure, against)
        ahead = order.forecast()
        found = [(place, one) for place, card in enumerate(order.cards) for one in card.suggestions]
        side, nugget, card = np.array([(one.run, one.nugget, i) for i, one in found], dtype=np.int64).reshape(-1, 3).T
        probability = np.array([one.probability for _, one in found]).clip(TINY, 1 - TINY)
        shares = np.array([one.share for _, one in found]).clip(0, None)
        shares = shares / max(shares.sum(), TINY)  # when all are judged, nothing is left
        told = np.concatenate([[0.0], np.cumsum(np.bincount(card, shares, minlength=len(order.cards)))])
        variance = (ahead.now / DEVIATIONS) ** 2
        weight = np.sqrt(shares * variance / (probability * (1 - probability))) * np.where(side == 0, 1, -1)
        seconds = np.array([one.seconds for _, one in found])
        return cls(side, nugget, probability, shares, weight, card, seconds, told, ahead.widths)


@dataclass(frozen=True)
class OrderedCalls:
    """The calls in their order. `width[k]` is the expected width after k of them, `price` what each is likely to
    cost."""

    calls: list[Call]
    side: list[int]  # of each call, the run that it is about
    width: Vector
    price: Vector

    def enough(self, width: float | None) -> int:
        """How many calls to make: until the width is expected, or until the rest would not narrow it any more."""
        if width is not None:
            return int(np.argmax(self.width <= width)) if (self.width <= width).any() else int(self.width.argmin())
        return int(np.argmax(self.width - self.width.min() <= NO_GAIN * self.width[0]))


def order_calls(
    key: AnswerKey,
    runs: Sequence[MatchedRun],
    open_: OpenNuggets,
    worth: Worth,
    judge: JudgeSettings,
    prompt: Prompt,
) -> OrderedCalls:
    """Calls about the open nuggets, the most valuable for their price first."""
    gain = open_.share * worth.explained(open_.probability)
    sways = worth.sways(open_.weight, open_.probability)
    groups: dict[tuple[int, int], list[int]] = {}
    for index in np.argsort(-gain, kind="stable").tolist():
        place = int(open_.side[index]), int(key.question[open_.nugget[index]])
        groups.setdefault(place, []).append(index)
    calls: list[Call] = []
    sides: list[int] = []
    members: list[list[int]] = []
    for (side, question), found in groups.items():
        for first in range(0, len(found), NUGGETS_PER_CALL):
            chosen = sorted(found[first : first + NUGGETS_PER_CALL], key=lambda i: int(open_.nugget[i]))
            for call in calls_of(key, runs[side].run, question, [int(open_.nugget[i]) for i in chosen]):
                calls.append(call)
                sides.append(side)
                members.append(chosen)
    price = np.array([Price.of(judge).estimate(call.size(prompt), len(call.nuggets)) for call in calls])
    gains = np.array([gain[own].sum() for own in members])
    order = np.argsort(-gains / np.maximum(price, TINY), kind="stable")
    moved = [sways[members[i]].sum(axis=0) for i in order]
    before = (
        np.concatenate([np.zeros((1, *sways.shape[1:])), np.cumsum(moved, axis=0)]) if moved else np.zeros((1, 2, 3))
    )
    taken = np.concatenate([[0.0], np.cumsum(gains[order])]) * open_.variance
    left = remaining_variance(open_.variance, taken, worth.doubt(before))
    widths = open_.width_at(1 - left / max(open_.variance, TINY))
    chosen = order.tolist()
    return OrderedCalls([calls[i] for i in chosen], [sides[i] for i in chosen], widths, price[order])


def remaining_variance(variance: float | Vector, taken: Vector, doubt: Vector) -> Vector:
    """What is left of a variance from which verdicts remove `taken`, and to which they add `doubt`."""
    used = np.divide(taken**2, taken + doubt, out=np.zeros_like(taken), where=taken > 0)
    return np.asarray(np.maximum(variance - used, 0.0))
