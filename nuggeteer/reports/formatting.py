"""Numbers, counts and lists of names, as every report writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from nuggeteer.display import chance as chance
from nuggeteer.display import counted as counted
from nuggeteer.display import listed as listed
from nuggeteer.display import p_value as p_value
from nuggeteer.display import shortened as shortened
from nuggeteer.measures import Measure
from nuggeteer.records import Ints, Nugget, share_of
from nuggeteer.statistics.intervals import MIN_QUESTIONS, Estimate, Interval

if TYPE_CHECKING:
    from nuggeteer.history.trend import Build, NuggetTimelines, Trend
    from nuggeteer.judging.forecast import Forecast
    from nuggeteer.scoring.outcomes import Outcome

UNDEFINED = "–"
SETTLED = 0.0005  # of a width: less is printed as nothing


def number(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None or math.isnan(value) else f"{value:,.{digits}f}".replace("-", "−")


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def difference_of(value: float | None) -> str:
    """A change with its sign. One that would be printed as zero has none."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return signed(value) if round(value, 3) else "<0.0005" if value else "0"


def span(low: float | None, high: float | None) -> str:
    """The two ends of an interval of scores."""
    if low is None or high is None:
        return UNDEFINED
    return f"{low:.3f}–{high:.3f}" if low >= 0 else f"{number(low)} to {number(high)}"


def short_span(low: float | None, high: float | None, to: str = "–") -> str:
    """The two ends of an interval with two digits each."""
    return UNDEFINED if low is None or high is None else f"{number(low, 2)}{to}{number(high, 2)}"


def with_span(estimate: Estimate) -> tuple[str, str]:
    """A value, and the two ends of its interval with two digits each."""
    return number(estimate.value), short_span(estimate.low, estimate.high)


def between(interval: Interval) -> str:
    return span(interval.low, interval.high)


def no_interval(questions: str = "questions") -> str:
    """Why a value has no interval."""
    return f"No 95 % interval: that takes {MIN_QUESTIONS} {questions} or more that do not all have the same value."


def not_calibrated(intervals: Iterable[tuple[Measure, Interval]]) -> Iterator[str]:
    """What readers must know about intervals that promise too much."""
    for measure, interval in intervals:
        if measure.promises_too_much(interval):
            yield f"The interval of {measure.title} is not calibrated: it is too narrow where much is guessed."


def lacks_interval(interval: Interval) -> bool:
    return interval.value is not None and interval.low is None


def signed_span(low: float | None, high: float | None) -> str:
    """The two ends of an interval of differences, with enough digits to tell them apart, up to six."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return UNDEFINED
    digits = 3
    while digits < 6 and low < high and f"{low:+.{digits}f}" == f"{high:+.{digits}f}":
        digits += 1
    ends = [f"{end:+.{digits}f}".replace("-", "−") if round(end, digits) else "0" for end in (low, high)]
    return "0" if ends == ["0", "0"] else " to ".join(ends)


def judging_share(interval: Interval) -> str:
    """How much of the interval's width the guessed verdicts alone would make."""
    share = interval.judging_share
    if share is None:
        return UNDEFINED
    if share == 0:  # of 95 %; the rest may know better
        return "none" if interval.hard == interval.value else "<1 %"
    return percent(min(share, 1.0))


def open_by(width: float) -> str:
    """How far apart the ends are between which guesses leave the score open."""
    return number(width) if round(width, 3) else "nothing"


def forecast_words(ahead: Forecast, after: Iterable[int]) -> str:
    """What reading is expected to leave open after some minutes, if there is something to read."""
    whole, settled = math.ceil(float(ahead.seconds[-1]) / 60), ahead.minutes_for(SETTLED)
    some = sorted({min(minutes, whole) for minutes in after} - {0})
    left = {minutes: ahead.width_after(minutes) for minutes in some if ahead.width_after(minutes) > SETTLED}
    likely = ", ".join(f"{number(width)} after {minutes}" for minutes, width in left.items())
    words = [f"probably {likely} minutes"] if likely else []
    if settled is not None and some and settled <= max(some):
        words.append(f"all is read after about {counted(math.ceil(settled), 'minute')}")
    return "; ".join(words)


def expected_count(outcome: Outcome, which: Ints) -> str:
    """How many of some nuggets an answer has. If some are guessed, this is the expected number, with a digit after the
    point."""
    if outcome.known[which].all() or np.isnan(outcome.probability[which]).any():
        return str(int(outcome.found[which].sum()))
    return f"{float(outcome.probability[which].sum()):.1f}"


def percent(part: float, whole: float = 1.0) -> str:
    """A part of a whole: 0 % means none at all, and 100 % means all."""
    if not whole or math.isnan(part):
        return UNDEFINED
    rounded = round(100 * part / whole)
    if part > 0 and rounded == 0:
        return "<1 %"
    return ">99 %" if part < whole and rounded == 100 else f"{rounded} %"


def known_of(build: Build) -> str:
    """The share of its pairs that are known."""
    return percent(build.scoring.known, build.scoring.known + build.scoring.guessed)


def build_cells(trend: Trend, timelines: NuggetTimelines, i: int) -> tuple[str, str, str, str, str]:
    """A build's score, its interval, how much the score and how many nuggets changed, and the share of known pairs.
    `timelines` may be of the last builds only."""
    build, place = trend.builds[i], i - len(trend.builds)
    change = "" if math.isnan(trend.delta[i]) else difference_of(float(trend.delta[i]))
    gained, lost = timelines.gained[:, place].sum(), timelines.lost[:, place].sum()
    nuggets = f"+{gained} −{lost}" if timelines.compared[place] else ""
    return number(build.interval.value), between(build.interval), change, nuggets, known_of(build)


def importance(nugget: Nugget) -> str:
    """Whether a nugget is vital, and who says so."""
    if nugget.importance == "forbidden":
        return f"forbidden, which an answer must not claim, weight {nugget.weight:g}".replace("-", "−")
    if not nugget.votes:
        return nugget.importance if nugget.weight is None else f"{nugget.importance}, weight {nugget.weight:g}"
    assessors, vital = len(nugget.votes), sum(map(share_of, nugget.votes.values()))
    if not all(isinstance(vote, str) for vote in nugget.votes.values()):
        return f"{nugget.importance}, weight {vital / assessors:.2f} by {assessors} assessors"
    return f"{nugget.importance}, {vital:g} of {assessors} assessors say vital"
