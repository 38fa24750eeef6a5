"""How an interval is expected to narrow while cards are read, and when a gate is likely to be decided.

After a card is read, what it decides is known. What is left is the variance of the unread cards, less what they have in
common with those read: the level of the build, the curve. All of this is computed from the draws of the score itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import scipy

from nuggeteer.records import Ints, Vector
from nuggeteer.settings import SURE
from nuggeteer.statistics.intervals import ENDS, REACH

LIKELY = 0.75  # that a gate is decided after the minutes that are named
SURE_REACH = NormalDist().inv_cdf(SURE)  # standard deviations to the side on which a gate is decided


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
