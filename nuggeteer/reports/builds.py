"""A recorded build and its nuggets, as the reports on builds show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, UnsetType
from rich.text import Text

from nuggeteer.fields import Count, Ends, Number, Part, about
from nuggeteer.history.store import RecordedRuling
from nuggeteer.history.trend import Build, NuggetTimelines
from nuggeteer.records import Importance
from nuggeteer.reports.formatting import chance, shortened
from nuggeteer.reports.model import NuggetId, Pairs, Signature
from nuggeteer.text import escaped

LONGEST = 10  # of a label, such as a commit's hash; a longer one is cut


class BuildOutput(Part, kw_only=True):
    """A recorded build."""

    build: Annotated[Count, about("Its number.")]
    time: str
    label: str | None
    run: str
    signature: Signature | UnsetType = UNSET
    comparable: Annotated[bool, about("Whether its score can be compared with the last build's.")]
    unlike: Annotated[Sequence[str], about("Settings in which it is unlike the last build.")]
    unasked: Annotated[Sequence[str], about("Questions that it was not asked.")]
    value: Annotated[Number, about("The expected score.")]
    hard: Annotated[Number, about("The score that takes each nugget of probability ½ or more as found.")]
    low: Annotated[Number, about("Where the 95 % interval begins.")]
    high: Annotated[Number, about("Where it ends.")]
    judging: Annotated[Ends | None, about("The interval if only guesses were uncertain.")]
    sampling: Annotated[Ends | None, about("The interval if only the choice of questions was uncertain.")]
    pairs: Pairs | UnsetType = UNSET
    ruling: Annotated[RecordedRuling | None, about("null if the build was only scored.")]


class TimelineNugget(NuggetId):
    """A nugget of recorded builds."""

    importance: Importance


def build_parts(build: Build) -> dict[str, Any]:
    """What every report says about a build."""
    scoring, interval = build.scoring, build.interval
    own = {name: getattr(scoring, name) for name in ("build", "time", "label", "run")}
    own |= {name: getattr(build, name) for name in ("comparable", "unlike", "unasked")}
    own |= {name: getattr(interval, name) for name in ("value", "low", "high", "judging", "sampling", "hard")}
    return own | {"ruling": build.ruling}


def nugget_parts(timelines: NuggetTimelines, nugget: int) -> dict[str, Any]:
    fact = timelines.nuggets[nugget]
    return {"qid": fact.qid, "nugget": fact.nugget, "importance": fact.importance}


def group_name(group: str | None) -> str:
    return "Your builds" if group is None else group


def build_name(build: Build) -> str:
    return build.title if build.scoring.label else f"{build.scoring.run} of {build.minute}"


def short_label(label: str) -> str:
    return shortened(escaped(label), LONGEST)


def probability(timelines: NuggetTimelines, nugget: int, build: int) -> Text:
    if timelines.known[nugget, build]:
        return Text("known")
    return Text(chance(float(timelines.probability[nugget, build])), "italic yellow")
