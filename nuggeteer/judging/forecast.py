"""What reading costs, and what it is expected to bring: how an interval narrows, and when a gate is decided.

A verdict takes the time to read what was not read yet, and to decide. An adult reads 238 words of English prose a
minute (Brysbaert 2019). A decision takes about four seconds. The ledger has the time of each verdict, so it shows who
judges more slowly or faster. After some verdicts both constants are multiplied by one factor of the assessor.

After a card is read, what it decides is known. What is left is the variance of the unread cards, less what they have in
common with those read: the level of the build, the curve. All of this is computed from the draws of the score itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from statistics import NormalDist
from typing import Final

import numpy as np
import scipy

from nuggeteer.fields import moment
from nuggeteer.records import AnswerKey, Ints, Judgement, Vector
from nuggeteer.settings import SURE
from nuggeteer.statistics.intervals import ENDS, REACH

WORDS_A_MINUTE: Final = 238.0
SECONDS_A_DECISION: Final = 4.0
BREAK: Final = 180.0  # seconds longer than expected, after which the assessor was away
ENOUGH: Final = 20  # verdicts that show a pace
SLOWEST, FASTEST = 4.0, 0.25  # factors that are believed
SCRIPTED = 0.1  # of the usual time: whoever is faster has read nothing, as a script
LIKELY = 0.75  # that a gate is decided after the minutes that are named
SURE_REACH = NormalDist().inv_cdf(SURE)  # standard deviations to the side on which a gate is decided


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
        steps = _steps(key, sorted(given, key=lambda one: one[0]))
        # The verdicts on an answer belong together: one key may decide all that is left.
        for _, of_answer in groupby(steps, key=lambda step: step[0]):
            kept = [(seconds, usual) for _, seconds, usual in of_answer if seconds < BREAK + usual]
            seconds, usual = sum(one for one, _ in kept), sum(one for _, one in kept)
            if seconds > SCRIPTED * usual:
                count, took, expected = count + len(kept), took + seconds, expected + usual
    if count < ENOUGH or not expected:
        return Pace()
    return Pace().times(min(max(took / expected, FASTEST), SLOWEST))


def _steps(
    key: AnswerKey, given: Iterable[tuple[datetime, Judgement]]
) -> Iterator[tuple[tuple[str, str | None], float, float]]:
    """From each verdict to the next: its answer, the seconds that it took, and what it would take at the usual pace. An
    answer is read once, even if some verdicts are on sentences of it."""
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
            yield answer, (at - last).total_seconds(), more + usual.decision(key.nuggets[place].descriptions[0])
        last = at


@dataclass(frozen=True)
class Forecast:
    """The mean and the judging `widths` of an interval, expected after so many `seconds` of reading and so many
    `verdicts`. The arrays go together; the first entry is now. `sampling` says for each how much the variance of the
    expected scores between questions has grown: verdicts move into it what was noise of guesses."""

    value: float
    seconds: Vector
    verdicts: Ints
    widths: Vector
    sampling: Vector

    @property
    def now(self) -> float:
        return float(self.widths[0])

    def width_after(self, minutes: float) -> float:
        """The judging width after so many minutes."""
        return float(np.interp(60 * minutes, self.seconds, self.widths))

    def verdicts_after(self, minutes: float) -> int:
        return round(float(np.interp(60 * minutes, self.seconds, self.verdicts)))

    def minutes_for(self, width: float) -> float | None:
        """The minutes until the judging part is no wider; None if not even reading all is enough."""
        narrow = np.flatnonzero(self.widths <= width)
        return float(self.seconds[narrow[0]]) / 60 if len(narrow) else None

    def minutes_to_decide(self, limit: float, beside: Vector | float = 0.0) -> float | None:
        """The minutes after which a gate at this limit is likely to be decided; None if reading cannot decide it. This
        allows for what the change may turn out to be. `beside` is the standard deviation of what reading does not make
        surer."""
        judging = self.widths / (2 * REACH)
        moved = np.sqrt(np.maximum(judging[0] ** 2 - judging**2, 1e-18))
        deviation = np.hypot(judging, beside)
        above = scipy.special.ndtr((self.value - limit - SURE_REACH * deviation) / moved)
        below = scipy.special.ndtr((limit - self.value - SURE_REACH * deviation) / moved)
        likely = np.flatnonzero(above + below >= LIKELY)
        return float(self.seconds[likely[0]]) / 60 if len(likely) else None


def forecast_of(contributions: Vector, cards: Sequence[tuple[int, float, int, float]]) -> Forecast:
    """`contributions` are draws × questions. Each card has its question, its seconds, its verdicts, and the share of
    the variance of the sum that it decides by itself."""
    total = contributions.sum(axis=1)
    variance = max(float(total.var()), 1e-18)
    seconds, verdicts = np.cumsum([0.0, *(card[1] for card in cards)]), np.cumsum([0, *(card[2] for card in cards)])
    left, known = total - total.mean(), np.zeros(len(total))
    rest, grown, rng = [variance], [0.0], np.random.Generator(np.random.PCG64(0))
    open_: dict[int, Vector] = {}
    for question, _, _, share in cards:
        own = open_.get(question, contributions[:, question] - contributions[:, question].mean())
        spread = float(own.std())
        decided = min(share * variance / max(spread**2, 1e-18), 1.0)
        # Some of a question's nuggets tell a part of what it contributes, and nothing about the rest.
        told = decided * own + (decided * (1 - decided)) ** 0.5 * spread * rng.standard_normal(len(own))
        open_[question], left, known = own - told, left - told, known + told
        common = float(left @ known) / max(float(known @ known), 1e-18)
        rest.append(max(float(((left - common * known) ** 2).mean()), 0.0))
        grown.append(grown[-1] + decided * spread**2)
    widths = 2 * REACH * np.sqrt(np.array(rest))
    low, high = np.quantile(total, ENDS)
    # As wide now as the interval is, whatever the shape of the draws.
    widths *= (high - low) / max(widths[0], 1e-18)
    return Forecast(float(total.mean()), seconds, verdicts, np.minimum.accumulate(widths), np.array(grown))
