"""A recorded build and its nuggets, as the reports on builds show them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from nuggeteer.history.trend import Build, NuggetTimelines
from nuggeteer.reports.formatting import chance, shortened
from nuggeteer.text import escaped

LONGEST = 10  # of a label, such as a commit's hash; what is longer is cut


def build_as_json(build: Build) -> dict[str, Any]:
    scoring = build.scoring
    return {
        "build": scoring.build,
        "time": scoring.time,
        "label": scoring.label,
        "run": scoring.run,
        "signature": scoring.signature,
        "comparable": build.comparable,
        "unlike": list(build.unlike),
        "unasked": list(build.unasked),
        **asdict(build.interval),
        "pairs": {"known": scoring.known, "guessed": scoring.guessed},
    }


def fact_as_json(timelines: NuggetTimelines, nugget: int) -> dict[str, Any]:
    fact = timelines.nuggets[nugget]
    return {"qid": fact.qid, "nugget": fact.nugget, "importance": fact.importance}


def group_name(group: str | None) -> str:
    return "Runs without a group" if group is None else group


def build_name(build: Build) -> str:
    scoring = build.scoring
    return f"{scoring.run} ({scoring.label})" if scoring.label else f"{scoring.run} of {minute(build)}"


def minute(build: Build) -> str:
    """To the minute, in UTC."""
    return build.scoring.time[:16].replace("T", " ")


def short_label(label: str) -> str:
    return shortened(escaped(label), LONGEST)


def probability(timelines: NuggetTimelines, nugget: int, build: int) -> Text:
    if timelines.known[nugget, build]:
        return Text("known")
    return Text(chance(float(timelines.probability[nugget, build])), "italic yellow")
