"""What several results have as JSON, beside the results of other rooms that are parts by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from msgspec import UNSET, Meta, UnsetType

from nuggeteer.fields import Count, Ends, Number, Part, about, copied

if TYPE_CHECKING:  # `check` needs neither, and they take a quarter of a second
    from nuggeteer.history.ruling import BriefedRun
    from nuggeteer.measures import Measure
    from nuggeteer.statistics import intervals

Source = Annotated[Literal["known", "guessed"], about("A human verdict, or a guess.")]
Contradicted = Annotated[bool, about("By a verdict, the answer says the opposite. Otherwise left out.")]
Signature = Annotated[str, about("Version, hashes and settings that made the numbers.")]
Notes = Annotated[Sequence[str], about("Remarks that a reader of the numbers should know.")]
AsTruth = Annotated[Sequence[str], about("Machines whose verdicts count as a human's.")]
# Fields whose own keys stand beside the others: the names of measures, and whatever keys a line has.
BY_MEASURE = Meta(description="By the name of the measure.", extra={"spread": "MEASURE"})
OTHER_KEYS = Meta(description="The other keys of the line.", extra={"spread": "..."})


class ReportedRun(Part):
    """A run, and its recorded build."""

    run: str
    build: Annotated[Count | None, about("Its number in the history; null if it is not recorded.")]
    label: str | None
    time: Annotated[str | None, about("When it was recorded, in UTC.")]

    @classmethod
    def of(cls, found: BriefedRun) -> ReportedRun:
        scoring = found.build.scoring if found.build else None
        own = (scoring.build, scoring.time) if scoring else (None, None)
        return cls(run=found.run.name, build=own[0], label=found.label, time=own[1])


class Pairs(Part):
    """How many (response, nugget) pairs have a human verdict, and how many are guessed."""

    known: Count
    guessed: Count


class Interval(Part):
    """A score with its 95 % interval."""

    value: Annotated[Number, about("The expected score; null where it is undefined.")]
    hard: Annotated[Number, about("The score that takes each nugget of probability ½ or more as found.")]
    low: Annotated[Number, about("Where the 95 % interval begins.")]
    high: Annotated[Number, about("Where it ends.")]
    judging: Annotated[Ends | None, about("The interval if only guesses were uncertain.")]
    sampling: Annotated[Ends | None, about("The interval if only the choice of questions was uncertain.")]
    calibrated: Annotated[
        Literal[False] | UnsetType,
        about("false where the interval is too narrow: of precision, where much is guessed."),
    ] = UNSET

    @classmethod
    def of(cls, interval: intervals.Interval, measure: Measure, **more: Any) -> Self:
        return copied(cls, interval, calibrated=False if measure.promises_too_much(interval) else UNSET, **more)


class NuggetId(Part):
    """A nugget, or a group in place of its nuggets."""

    qid: str
    nugget: str
