"""The recorded builds: their trend with its alarm, and the nuggets that were lost or flicker. Also how a build and its
nuggets are shown elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import UNSET, UnsetType, field
from rich.console import Console
from rich.text import Text

from nuggeteer.fields import Count, Ends, Number, Part, about
from nuggeteer.history.ruling import NightRuling
from nuggeteer.history.store import RecordedRuling
from nuggeteer.history.trend import Build, NuggetTimelines, Trend
from nuggeteer.measures import parse
from nuggeteer.records import Bools, Importance, Vector
from nuggeteer.reports.change_words import SIGNS
from nuggeteer.reports.formatting import between, build_cells, chance, counted, known_of, listed, number, shortened
from nuggeteer.reports.model import NuggetId, Pairs, Signature
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, say, table, wrap
from nuggeteer.statistics.alarm import builds_until_alarm
from nuggeteer.text import escaped

SHOWN = 10  # nuggets of a kind
LONG = 20  # builds
TICKS = "▁▂▃▄▅▆▇█"
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


class TrendBuild(BuildOutput, kw_only=True):
    """A build of a trend."""

    today: Annotated[str | None, about("What today's verdicts decide, where the ruling rests on others.")]
    delta: Annotated[
        Number,
        about(
            "How much its score changed since the last comparable build, as nightly recorded it or their difference."
        ),
    ]
    evidence: Annotated[Number, about("The alarm's e-value.")]
    gained: Sequence[TimelineNugget]
    lost: Sequence[TimelineNugget]


class TrendChange(Part):
    """A change that the alarm noticed."""

    worse: bool
    since: Annotated[Count, about("The first build of the new level.")]
    noticed: Annotated[Count, about("The build at which the alarm rang.")]
    before: Number
    after: Number


class LostNugget(TimelineNugget):
    """A nugget that was found and is lost."""

    with_: Annotated[Count, about("The last build that lost it.")] = field(name="with")


class FlickeringNugget(TimelineNugget):
    """A nugget that comes and goes."""

    changes: Annotated[Count, about("How often it came or went.")]


class TrendOutput(Part):
    """The builds of one group."""

    group: Annotated[str | None, about("null: the runs that the manifest does not list.")]
    measure: str
    builds: Sequence[TrendBuild]
    changes: Sequence[TrendChange]
    lost: Sequence[LostNugget]
    flickering: Sequence[FlickeringNugget]


class HistoryOutput(Part):
    """Trends of recorded builds."""

    trends: Sequence[TrendOutput]


def as_json(
    result: Sequence[tuple[Trend, NuggetTimelines]], limit: int, today: Mapping[int, NightRuling] | None = None
) -> dict[str, Any]:
    """The last `limit` builds of each trend. `today` is what today's verdicts decide of builds."""
    trends = [_trend(trend, timelines, limit, today or {}) for trend, timelines in result]
    return HistoryOutput(trends=trends).as_data()


def _trend(trend: Trend, timelines: NuggetTimelines, limit: int, today: Mapping[int, NightRuling]) -> TrendOutput:
    first = max(len(trend.builds) - limit, 0)
    earlier = len(trend.builds) - len(timelines.builds)
    return TrendOutput(
        group=trend.group,
        measure=trend.measure,
        builds=[
            TrendBuild(
                **build_parts(trend.builds[i]),
                signature=trend.builds[i].scoring.signature,
                pairs=Pairs(known=trend.builds[i].scoring.known, guessed=trend.builds[i].scoring.guessed),
                today=today[trend.builds[i].scoring.build].title if trend.builds[i].scoring.build in today else None,
                delta=trend.delta[i],
                evidence=trend.alarm.evidence[i],
                gained=_turned(timelines, timelines.gained[:, i - earlier]),
                lost=_turned(timelines, timelines.lost[:, i - earlier]),
            )
            for i in range(first, len(trend.builds))
        ],
        changes=[
            TrendChange(
                worse=change.worse,
                since=trend.builds[change.since].scoring.build,
                noticed=trend.builds[change.at].scoring.build,
                before=change.before,
                after=change.after,
            )
            for change in trend.alarm.changes
        ],
        lost=[
            LostNugget(**nugget_parts(timelines, i), with_=timelines.builds[timelines.last_lost[i]].scoring.build)
            for i in np.flatnonzero(timelines.missing).tolist()
        ],
        flickering=[
            FlickeringNugget(**nugget_parts(timelines, i), changes=int(timelines.turns[i]))
            for i in timelines.flickering.tolist()
        ],
    )


def _turned(timelines: NuggetTimelines, which: Bools) -> list[TimelineNugget]:
    return [TimelineNugget(**nugget_parts(timelines, i)) for i in np.flatnonzero(which).tolist()]


def draw(
    out: Console,
    result: Sequence[tuple[Trend, NuggetTimelines]],
    limit: int,
    today: Mapping[int, NightRuling] | None = None,
) -> None:
    """Each trend with several builds, then the groups with only one build."""
    for trend, timelines in result:
        if len(trend.builds) > 1:
            _draw_trend(out, trend, timelines, limit, today or {})
    if single := [trend for trend, _ in result if len(trend.builds) == 1]:
        _draw_single(out, single)


def _draw_trend(
    out: Console, trend: Trend, timelines: NuggetTimelines, limit: int, today: Mapping[int, NightRuling]
) -> None:
    """One line for each of the last builds. `timelines` has these builds, and perhaps earlier ones."""
    first = max(len(trend.builds) - limit, 0)
    marks = _marks(trend)
    when = _times([build.scoring.time for build in trend.builds[first:]])
    named = len({build.scoring.run for build in trend.builds}) > 1
    labelled = any(build.scoring.label for build in trend.builds[first:])
    columns = fixed("time") + left(*["label"] * labelled, *["run"] * named) + right(parse(trend.measure).title)
    sheet = table("", columns + fixed("95 %\ninterval") + right("Δ", "nuggets", "known") + fixed(""))
    for i in range(first, len(trend.builds)):
        build, scoring = trend.builds[i], trend.builds[i].scoring
        cells = [when[i - first], *[short_label(scoring.label or "")] * labelled, *[scoring.run] * named]
        cells += build_cells(trend, timelines, i)
        cells += [f"{SIGNS[build.ruling.decision] if build.ruling else ' '}{marks.get(i, '')}".rstrip()]
        sheet.add_row(*(plain(cell, "" if build.comparable else "dim") for cell in cells))
    paragraph(out, _head(trend))
    out.print(sheet)
    say(out, *_decisions(trend.builds[first:], today))
    paragraphs(out, _remarks(trend, first))
    _missing(out, timelines)
    _flicker(out, timelines)


def _decisions(builds: Sequence[Build], today: Mapping[int, NightRuling]) -> Iterator[str]:
    """What `nightly` recorded about the last builds, and what it would say today if that is different."""
    decided = [(build, build.ruling) for build in builds if build.ruling]
    if len(decided) > SHOWN:
        yield f"The last {SHOWN} decisions, as nightly recorded them; --json has all:"
    elif decided:
        yield "As nightly recorded it:"
    for build, ruling in decided[-SHOWN:]:
        against = f" against {ruling.against}" if ruling.against else ""
        yield f"{SIGNS[ruling.decision]} {ruling.title}  {build_name(build)}{against}: {ruling.reason}"
        now = today.get(build.scoring.build)
        if now and (line := now.today(ruling, build_name(build))):
            yield line


def _head(trend: Trend) -> Text:
    runs = {build.scoring.run for build in trend.builds}
    title = plain(", ".join(dict.fromkeys([group_name(trend.group), *(runs if len(runs) == 1 else ())])), "bold")
    values = trend.value[trend.comparable]
    if len(values) > 1:
        low, high = values.min(), values.max()
        title.append(f"   {sparkline(values)}   {number(low)} to {number(high)}", "")
    return title


def sparkline(values: Vector) -> str:
    """The last forty values as bars, scaled from their minimum to their maximum."""
    values = values[-40:]
    spread = np.ptp(values)
    level = (values - values.min()) / spread if spread else np.full(len(values), 0.5)
    return "".join(TICKS[i] for i in np.rint(level * (len(TICKS) - 1)).astype(int))


def _marks(trend: Trend) -> dict[int, str]:
    marks = {i: "≠" for i, build in enumerate(trend.builds) if not build.comparable}
    for change in trend.alarm.changes:
        marks[change.at] = "!"
    for change in trend.alarm.changes:
        marks[change.since] = "▼" if change.worse else "▲"
    return marks


def _remarks(trend: Trend, first: int) -> Iterator[str]:
    """The notes below the table."""
    changes = [change for change in trend.alarm.changes if change.at >= first] or trend.alarm.changes[-1:]
    for change in changes:
        what, mark = ("Worse", "▼") if change.worse else ("Better", "▲")
        yield (
            f"{mark} {what} since {build_name(trend.builds[change.since])}: {parse(trend.measure).title} went "
            f"from {number(change.before)} to {number(change.after)}; noticed with "
            f"{build_name(trend.builds[change.at])} (!)."
        )
    values = trend.value[trend.comparable]
    start = sum(trend.comparable[: trend.alarm.changes[-1].since]) if trend.alarm.changes else 0
    level = len(values) - start
    if level > 1:
        since = "since then" if trend.alarm.changes else "so far"
        needed = builds_until_alarm(level)
        if needed > LONG:
            yield f"{level} builds {since} are too few to show a trend; for last night, use diff."
        else:
            shows = f"only a fall that lasts {needed} builds would show here"
            yield f"No lasting change {since}. With {level} builds, {shows}; for last night, use diff."
    unlike = [build for build in trend.builds[first:] if build.unlike]
    if unlike:
        why = list(dict.fromkeys(part for build in unlike for part in build.unlike))
        yield (
            f"≠ {counted(len(unlike), 'build')} not comparable with the latest: other {listed(why)}. "
            "nuggeteer history --rescore scores the stored builds with what is known today."
        )
    unasked = [build for build in trend.builds[first:] if build.unasked]
    if unasked:
        qids = list(dict.fromkeys(qid for build in unasked for qid in build.unasked))
        yield (
            f"≠ {counted(len(unasked), 'build')} not comparable: recorded before the key had {listed(qids)}, so "
            "no answer is stored. If you still have their runs, record them again."
        )
    if trend.group is None and len({build.scoring.run for build in trend.builds}) > 1:
        yield "All runs are taken as builds of one system. If not, say so in runs.jsonl."
    if first:
        earlier = len(trend.alarm.changes) - len(changes)
        noticed = f", with {counted(earlier, 'change')} of level" if earlier else ""
        yield f"{counted(first, 'earlier build')} not shown{noticed}; --limit shows more."


def _missing(out: Console, timelines: NuggetTimelines) -> None:
    missing = timelines.still_missing
    if len(missing) == 0:
        return
    columns = left("lost with") + right("now") + left("nugget") + fixed("") + wrap("description")
    sheet = table(f"Lost and not found again: {_first(len(missing))}", columns)
    for i in missing[:SHOWN].tolist():
        fact, lost, now = timelines.nuggets[i], timelines.builds[timelines.last_lost[i]], probability(timelines, i, -1)
        sheet.add_row(build_name(lost), now, f"{fact.qid}/{fact.nugget}", fact.importance, fact.description)
    paragraph(out, sheet)


def _flicker(out: Console, timelines: NuggetTimelines) -> None:
    often = timelines.flickering
    if len(often) == 0:
        return
    columns = right("changes") + left("nugget") + fixed("", "") + wrap("description")
    sheet = table(f"Flickering (found in some builds and not in others): {_first(len(often))}", columns)
    for i in often[:SHOWN].tolist():
        fact, turns = timelines.nuggets[i], str(timelines.turns[i])
        sheet.add_row(turns, f"{fact.qid}/{fact.nugget}", fact.importance, _life_line(timelines, i), fact.description)
    paragraph(out, sheet)


def _first(count: int) -> str:
    return counted(count, "nugget") + (f", the first {SHOWN}; --json has all" if count > SHOWN else "")


def _life_line(timelines: NuggetTimelines, nugget: int) -> str:
    """In the last twenty builds."""
    found, present = timelines.found[nugget, -20:], timelines.present[nugget, -20:]
    return "".join("●" if f else "○" if p else "·" for f, p in zip(found, present, strict=True))


def _draw_single(out: Console, trends: Sequence[Trend]) -> None:
    """The groups with only one build, which have no trend yet."""
    columns = left("recorded once") + fixed("time") + left("label") + right(parse(trends[0].measure).title)
    sheet = table("", columns + fixed("95 % interval") + right("known"))
    for trend in trends:
        (build,) = trend.builds
        which = build.scoring.run, build.minute, short_label(build.scoring.label or "")
        sheet.add_row(*which, number(build.interval.value), between(build.interval), known_of(build))
    paragraph(out, sheet)


def _times(times: Sequence[str]) -> list[str]:
    """The shortest form in which the times differ: days or minutes, with the year if there are several years."""
    if len({time[:10] for time in times}) == len(times):
        return [time[:10] for time in times]
    first = 0 if len({time[:4] for time in times}) > 1 else 5
    return [time[first:16].replace("T", " ") for time in times]
