"""How many verdicts of each judge and of a person narrow a score to a width, and at what price.

Each judge is asked first where its verdicts tell most for their price. A person reads answers in the order of `judge`,
and is paid by the minute, so a person alone takes the minutes that `judge` and `nightly` name. All mixtures on a grid
of numbers of calls of each judge are compared by their prices. Judges are assumed to err independently of each other,
given the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Final

import numpy as np

from nuggeteer.asking.order import TINY, OpenNuggets, OrderedCalls, remaining_variance
from nuggeteer.asking.worth import Worth
from nuggeteer.fields import Count, Number, Part, about
from nuggeteer.records import AnswerKey, Bools, Ints, Vector

STEPS: Final = 12  # of each judge's calls to try, beside none
PERSON: Final = "person"


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


def plan_verdicts(
    open_: OpenNuggets,
    sources: Sequence[Source],
    person: float,
    width: float,
    run: str,
    against: str | None,
    measure: str,
) -> VerdictPlan:
    """The cheapest mixture of all, without each, and of each alone."""
    without: dict[str, Mixture | None] = {
        source.name: cheapest(open_, [other for other in sources if other is not source], person, width)
        for source in sources
    }
    without[PERSON] = cheapest(open_, sources, None, width)
    alone = {source.name: cheapest(open_, [source], None, width) for source in sources}
    alone[PERSON] = cheapest(open_, [], person, width)
    checked = {source.name: source.worth.checked for source in sources}
    best = cheapest(open_, sources, person, width)
    return VerdictPlan(run, against, measure, open_.width, width, len(open_.nugget), checked, best, without, alone)
