"""Asking judges where their verdicts narrow a score, or a difference, most for their price: in which order, until it is
narrow enough or narrows no more, and the cheapest mixture of judges and a person.

As in `judge` (judging/reading_order), the starting point is how much of the score's variance a certain verdict on each
nugget would remove, and how the interval is forecast to narrow with it: verdicts on some answers say something about
all. A judge's verdict removes the part of this that `Worth.explained` says. But its errors have something in common:
nobody knows its rates exactly, and no number of its verdicts averages that part of the error out. Suppose that the
verdicts so far remove G of the variance V, and that the unknown rates add D. Then the score is best moved by only G /
(G + D) of what the verdicts say, and that leaves V − G² / (G + D).

For a mixture, each judge is asked first where its verdicts tell most for their price. A person reads answers in the
order of `judge`, and is paid by the minute, so a person alone takes the minutes that `judge` and `nightly` name. All
mixtures on a grid of numbers of calls of each judge are compared by their prices. Judges are assumed to err
independently of each other, given the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Final

import numpy as np

from nuggeteer.asking.budget import Price
from nuggeteer.asking.calls import NUGGETS_PER_CALL, Call, Identity, calls_of
from nuggeteer.asking.prompts import Prompt, find_prompt
from nuggeteer.asking.session import Asked
from nuggeteer.asking.store import VerdictStore
from nuggeteer.asking.worth import Worth, learn_worth
from nuggeteer.errors import NuggeteerError
from nuggeteer.fields import Count, Number, Part, about
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.measures import Measure
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import JudgeSettings
from nuggeteer.statistics.intervals import REACH

DEVIATIONS: Final = 2 * REACH  # standard deviations in an interval
NO_GAIN: Final = 0.01  # of the width: if all that is left would not narrow it by that, asking ends
TINY: Final = 1e-9
STEPS: Final = 12  # of each judge's calls to try, beside none
PERSON: Final = "person"


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


@dataclass(frozen=True)
class Source:
    """Somebody who gives verdicts: calls in their order, each with its price and its nuggets."""

    name: str
    worth: Worth
    price: Vector  # of each call
    members: list[Ints]  # the open nuggets of each call, by their positions

    def nuggets(self, calls: int, size: int) -> Bools:
        """The nuggets of the first calls, up to this number."""
        chosen = np.zeros(size, dtype=bool)
        chosen[np.concatenate([np.zeros(0, dtype=np.int64), *self.members[:calls]])] = True
        return chosen


class SourceShare(Part):
    """What one source does in a mixture."""

    name: Annotated[str, about("A judge, or `person`.")]
    calls: Count
    verdicts: Count
    minutes: Annotated[Number, about("Of reading; null for a judge.")]
    price: float


class Mixture(Part):
    """Verdicts that are expected to reach the width."""

    price: float
    width: float
    shares: tuple[SourceShare, ...]


@dataclass(frozen=True)
class VerdictPlan:
    """The cheapest mixture that reaches a width, and the cheapest without each source; None if there is none."""

    run: str
    against: str | None
    measure: str
    now: float
    width: float
    open_nuggets: int
    checked: dict[str, int]
    best: Mixture | None
    without: dict[str, Mixture | None]
    alone: dict[str, Mixture | None]


def source_of(name: str, key: AnswerKey, open_: OpenNuggets, ordered: OrderedCalls, worth: Worth) -> Source:
    """A judge, whose calls are about open nuggets of one or two runs."""
    place = {(int(s), int(n)): i for i, (s, n) in enumerate(zip(open_.side, open_.nugget, strict=True))}
    members = [
        np.array([place[side, key.nugget_position[nugget.qid, nugget.nugget]] for nugget in call.nuggets])
        for call, side in zip(ordered.calls, ordered.side, strict=True)
    ]
    return Source(name, worth, ordered.price, members)


def cheapest(open_: OpenNuggets, sources: Sequence[Source], person: float | None, width: float) -> Mixture | None:
    """The cheapest mixture of judges, and of a person whose minute has this price."""
    best: Mixture | None = None
    grids = [sorted({round(len(source.members) * step / STEPS) for step in range(STEPS + 1)}) for source in sources]
    for counts in product(*grids):
        found = _with_persons(open_, sources, counts, person, width)
        if found and (best is None or (found.price, found.width) < (best.price, best.width)):
            best = found
    return best


def _with_persons(
    open_: OpenNuggets, sources: Sequence[Source], counts: tuple[int, ...], person: float | None, width: float
) -> Mixture | None:
    """So many calls of each judge, and as many answers read by a person as it then takes; None if it cannot be
    reached."""
    size = len(open_.nugget)
    asked = [source.nuggets(count, size) for source, count in zip(sources, counts, strict=True)]
    left = np.ones(size)
    for source, own in zip(sources, asked, strict=True):
        left *= np.where(own, 1 - source.worth.explained(open_.probability), 1.0)
    if not size:
        return None
    # Position m of these arrays is after m verdicts; a person ends after an answer.
    order = np.argsort(open_.card, kind="stable")
    ends = np.concatenate([[0], 1 + np.flatnonzero(np.diff(open_.card[order], append=-1))])

    def after(values: Vector) -> Vector:
        """The sum over nuggets that no person has judged."""
        ordered = values[order]
        return np.asarray(ordered.sum(axis=0) - np.cumsum([np.zeros_like(values[0]), *ordered], axis=0))

    by_person = np.concatenate([[0.0], np.cumsum(open_.share[order])])
    by_judges = after(open_.share * (1 - left)).clip(0, None)
    doubt = np.zeros(size + 1)
    for source, own in zip(sources, asked, strict=True):
        doubt += source.worth.doubt(after(source.worth.sways(open_.weight * own, open_.probability)))
    doubt /= max(open_.variance, TINY)
    widths = open_.width_at(1 - remaining_variance(np.maximum(1 - by_person, 0), by_judges, doubt))[ends]
    if person is None:
        widths = widths[:1]
    enough = np.flatnonzero(widths <= width)
    if not len(enough):
        return None
    verdicts = int(ends[enough[0]])
    shares = [
        SourceShare(source.name, count, sum(map(len, source.members[:count])), None, float(source.price[:count].sum()))
        for source, count in zip(sources, counts, strict=True)
    ]
    if person is not None:
        minutes = float(open_.seconds[order[:verdicts]].sum()) / 60
        shares.append(SourceShare(PERSON, 0, verdicts, minutes, minutes * person))
    return Mixture(sum(share.price for share in shares), float(widths[enough[0]]), tuple(shares))


@dataclass(frozen=True)
class AskingPlan:
    """The calls that would help, in their order, as of the verdicts on disk."""

    worth: Worth
    ordered: OrderedCalls

    @property
    def width(self) -> float:
        """The width of the judging part now."""
        return float(self.ordered.width[0])

    @classmethod
    def read(cls, subject: JudgingSubject, judge: JudgeSettings, prompt: Prompt, store: VerdictStore) -> AskingPlan:
        state = JudgingState.read(subject)
        worth = learn_worth(state.collection, state.scorer, store)
        open_ = _open_nuggets(state).unasked(state.key, state.matched_runs, store)
        return cls(worth, order_calls(state.key, state.matched_runs, open_, worth, judge, prompt))


def _open_nuggets(state: JudgingState) -> OpenNuggets:
    new, *old = state.matched_runs
    return OpenNuggets.find(state.scorer, new, state.measure, *old)


def plan_mixture(subject: JudgingSubject, judges: Sequence[JudgeSettings], person: float, width: float) -> VerdictPlan:
    """The cheapest mixture of judges and a person that makes the judging part of a score so wide. What the judges have
    already said is in the guesses. New calls are planned for the other nuggets."""
    state, sources = JudgingState.read(subject), []
    key, runs, every = state.key, state.matched_runs, _open_nuggets(state)
    for judge in judges:
        prompt = find_prompt(judge.prompt)
        store = VerdictStore(state.collection.root, Identity.of(judge, prompt))
        worth = learn_worth(state.collection, state.scorer, store)
        ordered = order_calls(key, runs, every.unasked(key, runs, store), worth, judge, prompt)
        sources.append(source_of(judge.name, key, every, ordered, worth))
        store.close()
    without: dict[str, Mixture | None] = {
        source.name: cheapest(every, [other for other in sources if other is not source], person, width)
        for source in sources
    }
    without[PERSON] = cheapest(every, sources, None, width)
    alone = {source.name: cheapest(every, [source], None, width) for source in sources}
    alone[PERSON] = cheapest(every, [], person, width)
    checked = {source.name: source.worth.checked for source in sources}
    best = cheapest(every, sources, person, width)
    names, measure = [run.run.name for run in runs], state.measure.title
    against = names[1] if len(names) > 1 else None
    return VerdictPlan(names[0], against, measure, every.width, width, len(every.nugget), checked, best, without, alone)


@dataclass(frozen=True)
class Narrowed:
    """What has been asked so far, and how wide the judging part was at first and is expected to be now. If a width was
    asked for, it is the width after the last round."""

    asked: Asked
    before: float
    after: float
    checked: int  # pairs that humans have judged too, by which the judge's worth is known
    width: float | None  # that was asked for


def narrow(
    subject: JudgingSubject,
    width: float | None,
    read: Callable[[JudgingSubject], AskingPlan],
    ask: Callable[[list[Call]], Asked],
) -> Narrowed:
    """Ask until the judging part is `width` wide. Without a width, until more verdicts would hardly narrow it."""
    plan = read(subject)
    total, before = Asked(), plan.width
    while True:
        count = plan.ordered.enough(width)
        if width is not None and plan.width <= width:
            return Narrowed(total, before, plan.width, plan.worth.checked, width)
        total.add(ask(plan.ordered.calls[:count]))
        expected = float(plan.ordered.width[count])
        if width is None or total.stopped or not count:
            total.unneeded = sum(len(call.nuggets) for call in plan.ordered.calls[count:])
            after = plan.width
            if width is None and total.labels:  # what was not answered narrows nothing
                after = read(subject).width if total.left or total.failed else expected
            return Narrowed(total, before, after, plan.worth.checked, width)
        earlier, plan = plan.width, read(subject)
        if plan.width >= earlier:
            total.stopped = "no-gain"
