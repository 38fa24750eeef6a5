"""The history of builds, on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.history.store import RecordedRun
from nuggeteer.history.trend import Build, NuggetTimeline, NuggetTimelines, Trend
from nuggeteer.measures import parse
from nuggeteer.records import Vector
from nuggeteer.reports.comparison import signed
from nuggeteer.reports.terminal import UNDEFINED, between, chance, number, plain, share, table
from nuggeteer.statistics.alarm import patience
from nuggeteer.text import escaped

SHOWN = 10  # nuggets of a kind
TICKS = "▁▂▃▄▅▆▇█"
LONGEST = 10  # of a label, such as a commit's hash; what is longer is cut


def recorded(out: Console, done: Sequence[RecordedRun], file: str) -> None:
    """What was kept, and what was kept before."""
    out.print()
    for one in done:
        if one.new and one.copies:
            what = f"recorded as another build; {_many(one.copies, 'build')} before it had the same responses"
        elif one.new:
            what = "recorded"
        else:
            what = "already recorded, with the same label, responses and signature; "
            what += f"{', '.join(one.added)} added; " if one.added else ""
            what += "if this is another build, give it another --label"
        out.print(plain(f"{one.run}: {what}"))
    out.print(plain(f"The builds are in {file}; nuggeteer history shows their trend."), soft_wrap=True)


def history(out: Console, trend: Trend, timelines: NuggetTimelines, limit: int) -> None:
    """One line for each of the last builds. `timelines` has these builds and the earlier ones to compare with."""
    gained, lost = timelines.gained.sum(axis=0), timelines.lost.sum(axis=0)
    earlier = len(trend.builds) - len(timelines.builds)
    first = max(len(trend.builds) - limit, 0)
    marks = _marks(trend)
    when = _times([build.scoring.time for build in trend.builds[first:]])
    named = len({build.scoring.run for build in trend.builds}) > 1
    columns = [("time", "left"), ("label", "left")] + ([("run", "wrap")] if named else [])
    columns += [(parse(trend.measure).title, "right"), ("95 %\ninterval", "left"), ("Δ", "right"), ("nuggets", "right")]
    columns += [("known", "right"), ("", "left")]
    rows = []
    for i in range(first, len(trend.builds)):
        build, place = trend.builds[i], i - earlier
        scoring = build.scoring
        cells = [when[i - first], _short(scoring.label or "")] + ([scoring.run] if named else [])
        cells += [number(build.interval.value), between(build.interval)]
        cells += ["" if math.isnan(trend.delta[i]) else signed(float(trend.delta[i]))]
        cells += [f"+{gained[place]} −{lost[place]}" if timelines.compared[place] else ""]
        cells += [share(scoring.known, scoring.known + scoring.guessed), marks.get(i, "")]
        rows.append([plain(cell, "" if build.comparable else "dim") for cell in cells])
    out.print()
    out.print(_head(trend))
    out.print(table("", columns, rows))
    for line in _remarks(trend, first):
        out.print()
        out.print(plain(line))
    _missing(out, timelines)
    _flicker(out, timelines)


def _head(trend: Trend) -> Text:
    runs = {build.scoring.run for build in trend.builds}
    title = plain(", ".join(dict.fromkeys([_name(trend.group), *(runs if len(runs) == 1 else ())])), "bold")
    values = trend.value[trend.comparable]
    if len(values) > 1:
        low, high = values.min(), values.max()
        title.append(f"   {sparkline(values)}   {low:.3f} to {high:.3f}", "")
    return title


def _name(group: str | None) -> str:
    return "Runs without a group" if group is None else group


def sparkline(values: Vector, most: int = 40) -> str:
    """The last values as bars, from the lowest to the highest of them."""
    values = values[-most:]
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
    """What the table means, and what to do."""
    changes = [change for change in trend.alarm.changes if change.at >= first] or trend.alarm.changes[-1:]
    for change in changes:
        what, mark = ("Worse", "▼") if change.worse else ("Better", "▲")
        yield (
            f"{mark} {what} since {_called(trend.builds[change.since])}: {parse(trend.measure).title} went from "
            f"{change.before:.3f} to {change.after:.3f}; noticed with {_called(trend.builds[change.at])} (!)."
        )
    values = trend.value[trend.comparable]
    start = sum(trend.comparable[: trend.alarm.changes[-1].since]) if trend.alarm.changes else 0
    level = len(values) - start
    if level > 1:
        since = " since" if trend.alarm.changes else ""
        yield (
            f"No alarm{since}: the {level} builds{since} may well be alike but for noise. So as to be right though you "
            f"look every night, the alarm takes its time: now about {patience(level)} builds for a drop below all of "
            "these. For tonight against last night see diff."
        )
    unlike = [build for build in trend.builds[first:] if build.unlike]
    if unlike:
        why = list(dict.fromkeys(part for build in unlike for part in build.unlike))
        yield (
            f"≠ {_many(len(unlike), 'build')} not comparable with the latest: other {_some(why)}. "
            "nuggeteer history --rescore scores what is stored with what is known today."
        )
    unasked = [build for build in trend.builds[first:] if build.unasked]
    if unasked:
        qids = list(dict.fromkeys(qid for build in unasked for qid in build.unasked))
        yield (
            f"≠ {_many(len(unasked), 'build')} not comparable: recorded before the key had {_some(qids)}, so that no "
            "answer is stored. Where you have their runs still, record them again."
        )
    if trend.group is None and len({build.scoring.run for build in trend.builds}) > 1:
        yield "runs.jsonl names no group for these runs. If they are of several systems, name their groups there."
    if first:
        earlier = len(trend.alarm.changes) - len(changes)
        noticed = f", with {_many(earlier, 'change')} of level" if earlier else ""
        yield f"{_many(first, 'earlier build')} not shown{noticed}; --limit shows more."


def _missing(out: Console, timelines: NuggetTimelines) -> None:
    missing = np.flatnonzero(timelines.missing)
    if len(missing) == 0:
        return
    vital = np.array([timelines.nuggets[i].importance != "vital" for i in missing])
    order = missing[np.lexsort((missing, -timelines.last_lost[missing], vital))]
    columns = [("lost with", "left"), ("now", "right"), ("nugget", "left"), ("", "left"), ("description", "wrap")]
    rows = []
    for i in order[:SHOWN]:
        fact = timelines.nuggets[i]
        lost = timelines.builds[timelines.last_lost[i]]
        row = [plain(_called(lost)), _sure(timelines, int(i), -1), plain(f"{fact.qid}/{fact.nugget}"), fact.importance]
        rows.append([*row, plain(fact.description)])
    out.print()
    out.print(table(f"Lost and not found again: {_first(len(missing))}", columns, rows))


def _flicker(out: Console, timelines: NuggetTimelines) -> None:
    often = timelines.flickering
    if len(often) == 0:
        return
    columns = [("changes", "right"), ("nugget", "left"), ("", "left"), ("", "left"), ("description", "wrap")]
    rows = []
    for i in often[:SHOWN]:
        fact = timelines.nuggets[i]
        row = [str(timelines.turns[i]), plain(f"{fact.qid}/{fact.nugget}"), fact.importance]
        rows.append([*row, _life_line(timelines, int(i), 20), plain(fact.description)])
    out.print()
    out.print(table(f"Flickering, found now and then: {_first(len(often))}", columns, rows))


def _first(count: int) -> str:
    return _many(count, "nugget") + (f", the first {SHOWN}; --json has all" if count > SHOWN else "")


def _life_line(timelines: NuggetTimelines, nugget: int, most: int) -> str:
    found, present = timelines.found[nugget, -most:], timelines.present[nugget, -most:]
    return "".join("●" if f else "○" if p else "·" for f, p in zip(found, present, strict=True))


def life(out: Console, story: NuggetTimeline) -> None:
    """One nugget over the builds: found or not, how we know, and in which text."""
    timelines, fact = story.timelines, story.timelines.nuggets[0]
    out.print()
    out.print(
        plain(f"{_name(story.trend.group)}: {fact.qid}/{fact.nugget}, {fact.importance}: {fact.description}", "bold")
    )
    letters: dict[str, str] = {}
    rows = []
    for i, build in enumerate(timelines.builds):
        text = story.texts[i]
        letter = "" if text is None else letters.setdefault(text, _letter(len(letters)))
        row: list[str | Text] = [_when(build), plain(_short(build.scoring.label or "")), plain(build.scoring.run)]
        if not timelines.present[0, i]:
            rows.append([*row, UNDEFINED, "not in the key", "", ""])
            continue
        found = bool(timelines.found[0, i])
        row.append(Text("yes", "bold green") if found else Text("no"))
        row.append(_sure(timelines, 0, i))
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
    columns = [("time", "left"), ("label", "left"), ("run", "wrap"), ("found", "left"), ("", "right")]
    out.print(table("", [*columns, ("text", "left"), ("", "left")], rows))
    for text, letter in letters.items():
        out.print()
        out.print(Text.assemble((letter, "bold"), "  ", plain(text)))
    out.print()
    lost = int(timelines.last_lost[0])
    told = f"Found in {int(timelines.found[0].sum())} of {_many(len(timelines.builds), 'build')}"
    told += f", gained or lost {_often(int(timelines.turns[0]))}" if timelines.turns[0] else ""
    told += f"; last lost with {_called(timelines.builds[lost])}." if lost >= 0 else "."
    out.print(plain(told))


def _sure(timelines: NuggetTimelines, nugget: int, build: int) -> Text:
    if timelines.known[nugget, build]:
        return Text("known")
    return Text(chance(float(timelines.probability[nugget, build])), "italic yellow")


def _letter(place: int) -> str:
    """A, B ... Z, AA, AB ..."""
    rest, last = divmod(place, 26)
    return (_letter(rest - 1) if rest else "") + chr(ord("A") + last)


def once(out: Console, trends: Sequence[Trend]) -> None:
    """Groups with one build, which is no trend yet."""
    columns = [
        ("recorded once", "wrap"),
        ("time", "left"),
        ("label", "left"),
        (parse(trends[0].measure).title, "right"),
    ]
    columns += [("95 % interval", "left"), ("known", "right")]
    rows = []
    for trend in trends:
        (build,) = trend.builds
        known, guessed = build.scoring.known, build.scoring.guessed
        cells = [build.scoring.run, _when(build), _short(build.scoring.label or ""), number(build.interval.value)]
        rows.append([plain(cell) for cell in (*cells, between(build.interval), share(known, known + guessed))])
    out.print()
    out.print(table("", columns, rows))


def _called(build: Build) -> str:
    scoring = build.scoring
    return f"{scoring.run} ({scoring.label})" if scoring.label else f"{scoring.run} of {_when(build)}"


def _when(build: Build) -> str:
    """To the minute, in UTC."""
    return build.scoring.time[:16].replace("T", " ")


def _times(times: Sequence[str]) -> list[str]:
    """As short as tells them apart: days, or minutes, with the year if there are several."""
    if len({time[:10] for time in times}) == len(times):
        return [time[:10] for time in times]
    first = 0 if len({time[:4] for time in times}) > 1 else 5
    return [time[first:16].replace("T", " ") for time in times]


def _short(label: str) -> str:
    label = escaped(label)
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _often(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
