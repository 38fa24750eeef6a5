"""What reading costs: a verdict takes the time to read what was not read yet, and to decide.

An adult reads 238 words of English prose a minute (Brysbaert 2019). A decision takes about four seconds. The ledger has
the time of each verdict, so it shows who judges more slowly or faster. After some verdicts both constants are
multiplied by one factor of the assessor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nuggeteer.fields import moment
from nuggeteer.records import AnswerKey, Judgement

WORDS_A_MINUTE: Final = 238.0
SECONDS_A_DECISION: Final = 4.0
BREAK: Final = 180.0  # seconds longer than expected, after which the assessor was away
ENOUGH: Final = 20  # verdicts that show a pace
SLOWEST, FASTEST = 4.0, 0.25  # factors that are believed
SCRIPTED = 0.1  # of the usual time: whoever is faster has read nothing, as a script


@dataclass(frozen=True)
class Pace:
    """How fast somebody reads and decides."""

    words_a_minute: float = WORDS_A_MINUTE
    seconds_a_decision: float = SECONDS_A_DECISION

    def reading(self, *texts: str) -> float:
        """Seconds to read some texts."""
        return 60 / self.words_a_minute * sum(len(text.split()) for text in texts)

    def decision(self, description: str) -> float:
        """Seconds to read what a nugget says, and to decide."""
        return self.seconds_a_decision + self.reading(description)

    def times(self, factor: float) -> Pace:
        """The pace of somebody who takes this many times as long."""
        return Pace(self.words_a_minute / factor, self.seconds_a_decision * factor)


def pace_of(key: AnswerKey, judgements: Iterable[Judgement], assessor: str | None = None) -> Pace:
    """The pace of an assessor, or of all who judged here, from the times of their verdicts: what these took, divided by
    what they would take at the usual pace. The usual pace until there are enough."""
    own: dict[str | None, list[tuple[datetime, Judgement]]] = {}
    for judgement in judgements:
        at = moment(judgement.at or "")
        if at and assessor in (None, judgement.assessor) and judgement.extra.get("source") in ("judge", "page"):
            own.setdefault(judgement.assessor, []).append((at, judgement))
    count, took, expected = 0, 0.0, 0.0
    for given in own.values():
        for seconds, usual in _steps(key, sorted(given, key=lambda one: one[0])):
            if SCRIPTED * usual < seconds < BREAK + usual:
                count, took, expected = count + 1, took + seconds, expected + usual
    if count < ENOUGH or not expected:
        return Pace()
    return Pace().times(min(max(took / expected, FASTEST), SLOWEST))


def _steps(key: AnswerKey, given: Iterable[tuple[datetime, Judgement]]) -> Iterator[tuple[float, float]]:
    """From each verdict to the next: the seconds that it took, and what it would take at the usual pace. An answer is
    read once, even if some verdicts are on sentences of it."""
    usual, read = Pace(), 0.0
    answer: tuple[str, str | None] | None = None
    last: datetime | None = None
    for at, judgement in given:
        place = key.nugget_position.get((judgement.qid, judgement.nugget))
        if place is None:
            continue
        if answer != (judgement.qid, judgement.run):
            answer, read = (judgement.qid, judgement.run), 0.0
        more = max(usual.reading(judgement.text) - read, 0.0)
        read += more
        if last is not None:
            yield (at - last).total_seconds(), more + usual.decision(key.nuggets[place].descriptions[0])
        last = at
