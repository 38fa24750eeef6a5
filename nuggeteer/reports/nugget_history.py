"""One nugget over the recorded builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text

from nuggeteer.fields import Count, Part, Share, about
from nuggeteer.history.trend import NuggetTimeline
from nuggeteer.records import Importance
from nuggeteer.reports.formatting import UNDEFINED, counted
from nuggeteer.reports.history import (
    BuildOutput,
    build_name,
    build_parts,
    group_name,
    nugget_parts,
    probability,
    short_label,
)
from nuggeteer.reports.model import Source
from nuggeteer.reports.terminal import fixed, left, paragraph, plain, right, say, table


class NuggetBuild(BuildOutput, kw_only=True):
    """A build, and whether it has the nugget."""

    present: Annotated[bool, about("Whether the build was asked for the nugget.")]
    found: bool
    source: Source
    probability: Share | None
    rank: Annotated[Count | None, about("Of the response that gets the credit.")]
    text: Annotated[str | None, about("Of that response.")]


class NuggetOutput(Part):
    """A nugget over the builds of a group."""

    group: Annotated[str | None, about("null: the runs that the manifest does not list.")]
    qid: str
    nugget: str
    importance: Importance
    description: str
    builds: Sequence[NuggetBuild]
    changes: Annotated[Count, about("How often it came or went.")]
    last_lost: Annotated[Count | None, about("The last build that lost it.")]


class NuggetHistoryOutput(Part):
    """What became of a nugget: with `--nugget`."""

    nuggets: Sequence[NuggetOutput]


def as_json(stories: Sequence[NuggetTimeline]) -> dict[str, Any]:
    return NuggetHistoryOutput(nuggets=[_story(story) for story in stories]).as_data()


def _story(story: NuggetTimeline) -> NuggetOutput:
    timelines = story.timelines
    last = int(timelines.last_lost[0])
    return NuggetOutput(
        group=story.trend.group,
        **nugget_parts(timelines, 0),
        description=timelines.nuggets[0].description,
        builds=[
            NuggetBuild(
                **build_parts(build),
                present=bool(timelines.present[0, i]),
                found=bool(timelines.found[0, i]),
                source="known" if timelines.known[0, i] else "guessed",
                probability=timelines.probability[0, i],
                rank=int(timelines.rank[0, i]) or None,
                text=story.texts[i],
            )
            for i, build in enumerate(timelines.builds)
        ],
        changes=int(timelines.turns[0]),
        last_lost=None if last < 0 else timelines.builds[last].scoring.build,
    )


def draw(out: Console, stories: Sequence[NuggetTimeline]) -> None:
    for story in stories:
        _draw_story(out, story)


def _draw_story(out: Console, story: NuggetTimeline) -> None:
    """One nugget over the builds: whether it was found, whether that is known, and in which text."""
    timelines, fact = story.timelines, story.timelines.nuggets[0]
    name = f"{fact.qid}/{fact.nugget}"
    title = f"{group_name(story.trend.group)}: {name}, {fact.importance}: {fact.description}"
    paragraph(out, plain(title, "bold"))
    letters: dict[str, str] = {}
    sheet = table("", fixed("time") + left("label", "run") + fixed("found") + right("") + fixed("text", ""))
    for i, build in enumerate(timelines.builds):
        text = story.texts[i]
        letter = "" if text is None else letters.setdefault(text, _letter(len(letters)))
        which = build.minute, short_label(build.scoring.label or ""), build.scoring.run
        if not timelines.present[0, i]:
            sheet.add_row(*which, UNDEFINED, "not in the key")
            continue
        found = Text("yes", "bold green") if timelines.found[0, i] else Text("no")
        mark = "gained" if timelines.gained[0, i] else "lost" if timelines.lost[0, i] else ""
        sheet.add_row(*which, found, probability(timelines, 0, i), letter, mark if build.comparable else "≠")
    out.print(sheet)
    for text, letter in letters.items():
        paragraph(out, Text.assemble((letter, "bold"), "  ", plain(text)))
    out.print()
    lost = int(timelines.last_lost[0])
    summary = f"Found in {int(timelines.found[0].sum())} of {counted(len(timelines.builds), 'build')}"
    summary += f", gained or lost {_often(int(timelines.turns[0]))}" if timelines.turns[0] else ""
    summary += f"; last lost with {build_name(timelines.builds[lost])}." if lost >= 0 else "."
    say(out, summary)


def _letter(position: int) -> str:
    """A, B ... Z, AA, AB ..."""
    rest, last = divmod(position, 26)
    return (_letter(rest - 1) if rest else "") + chr(ord("A") + last)


def _often(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
