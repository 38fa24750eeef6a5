"""One nugget over the recorded builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.history.trend import NuggetTimeline
from nuggeteer.records import number_or_none
from nuggeteer.reports.builds import (
    build_as_json,
    build_name,
    fact_as_json,
    group_name,
    minute,
    probability,
    short_label,
)
from nuggeteer.reports.formatting import UNDEFINED, counted
from nuggeteer.reports.terminal import plain, table


def as_json(stories: Sequence[NuggetTimeline]) -> dict[str, Any]:
    return {"nuggets": [_story_as_json(story) for story in stories]}


def _story_as_json(story: NuggetTimeline) -> dict[str, Any]:
    timelines = story.timelines
    last = int(timelines.last_lost[0])
    return {
        "group": story.trend.group,
        **fact_as_json(timelines, 0),
        "description": timelines.nuggets[0].description,
        "builds": [
            {
                **{key: value for key, value in build_as_json(build).items() if key not in ("signature", "pairs")},
                "present": bool(timelines.present[0, i]),
                "found": bool(timelines.found[0, i]),
                "source": "known" if timelines.known[0, i] else "guessed",
                "probability": number_or_none(timelines.probability[0, i]),
                "rank": int(timelines.rank[0, i]) or None,
                "text": story.texts[i],
            }
            for i, build in enumerate(timelines.builds)
        ],
        "changes": int(timelines.turns[0]),
        "last_lost": None if last < 0 else timelines.builds[last].scoring.build,
    }


def draw(out: Console, stories: Sequence[NuggetTimeline]) -> None:
    for story in stories:
        _draw_story(out, story)


def _draw_story(out: Console, story: NuggetTimeline) -> None:
    """One nugget over the builds: whether it was found, whether that is known, and in which text."""
    timelines, fact = story.timelines, story.timelines.nuggets[0]
    out.print()
    out.print(
        plain(
            f"{group_name(story.trend.group)}: {fact.qid}/{fact.nugget}, {fact.importance}: {fact.description}", "bold"
        )
    )
    letters: dict[str, str] = {}
    rows = []
    for i, build in enumerate(timelines.builds):
        text = story.texts[i]
        letter = "" if text is None else letters.setdefault(text, _letter(len(letters)))
        row: list[str | Text] = [minute(build), plain(short_label(build.scoring.label or "")), plain(build.scoring.run)]
        if not timelines.present[0, i]:
            rows.append([*row, UNDEFINED, "not in the key", "", ""])
            continue
        found = bool(timelines.found[0, i])
        row.append(Text("yes", "bold green") if found else Text("no"))
        row.append(probability(timelines, 0, i))
        mark = (
            "≠"
            if not build.comparable
            else "gained"
            if timelines.gained[0, i]
            else "lost"
            if timelines.lost[0, i]
            else ""
        )
        rows.append([*row, letter, mark])
    columns = [("time", "fixed"), ("label", "left"), ("run", "left"), ("found", "fixed"), ("", "right")]
    out.print(table("", [*columns, ("text", "fixed"), ("", "fixed")], rows))
    for text, letter in letters.items():
        out.print()
        out.print(Text.assemble((letter, "bold"), "  ", plain(text)))
    out.print()
    lost = int(timelines.last_lost[0])
    summary = f"Found in {int(timelines.found[0].sum())} of {counted(len(timelines.builds), 'build')}"
    summary += f", gained or lost {_often(int(timelines.turns[0]))}" if timelines.turns[0] else ""
    summary += f"; last lost with {build_name(timelines.builds[lost])}." if lost >= 0 else "."
    out.print(plain(summary))


def _letter(position: int) -> str:
    """A, B ... Z, AA, AB ..."""
    rest, last = divmod(position, 26)
    return (_letter(rest - 1) if rest else "") + chr(ord("A") + last)


def _often(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
