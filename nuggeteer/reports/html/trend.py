"""The trend on the page: recorded builds and alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from nuggeteer.history.trend import Build, NuggetTimelines, Trend
from nuggeteer.measures import parse
from nuggeteer.reports import charts
from nuggeteer.reports.formatting import (
    between,
    difference_of,
    number,
    percent,
)

BUILDS = 60  # of the trend


class TrendSection:
    """The builds of one group: all of them, or the last ones."""

    def __init__(self, trend: Trend, timelines: NuggetTimelines, last: int | None = BUILDS) -> None:
        self.trend, self.timelines = trend, timelines
        self.last = last or len(trend.builds)

    @property
    def chart(self) -> Markup:
        """Nothing if there is no more than one build."""
        return Markup(charts.trend(self.trend, BUILDS) if len(self.trend.builds) > 1 else "")

    @property
    def axis(self) -> Markup:
        """What stays in sight of the chart's left side."""
        return Markup(charts.trend_axis(self.trend, BUILDS))

    @property
    def title(self) -> str:
        return parse(self.trend.measure).title

    @property
    def hollow(self) -> bool:
        """Whether some build cannot be compared with the newest."""
        return not self.trend.comparable.all()

    @property
    def builds(self) -> list[dict[str, Any]]:
        """The recorded builds, the newest first."""
        trend, timelines = self.trend, self.timelines
        gained, lost = timelines.gained.sum(axis=0), timelines.lost.sum(axis=0)
        rows: list[dict[str, Any]] = []
        for i in range(max(len(trend.builds) - self.last, 0), len(trend.builds)):
            build, scoring = trend.builds[i], trend.builds[i].scoring
            rows.append(
                {
                    "build": scoring.build,
                    "time": scoring.time[:16].replace("T", " "),
                    "name": title_of(build),
                    "value": number(build.interval.value),
                    "span": between(build.interval),
                    "change": "" if np.isnan(trend.delta[i]) else difference_of(float(trend.delta[i])),
                    "nuggets": f"+{gained[i]} −{lost[i]}" if timelines.compared[i] else "",
                    "known": percent(scoring.known, scoring.known + scoring.guessed),
                    "comparable": build.comparable,
                }
            )
        return rows[::-1]

    @property
    def alarms(self) -> list[str]:
        trend = self.trend
        return [
            f"{'Worse' if change.worse else 'Better'} since {title_of(trend.builds[change.since])}: from "
            f"{number(change.before)} to {number(change.after)}; noticed with {title_of(trend.builds[change.at])}."
            for change in trend.alarm.changes
        ]


def title_of(build: Build) -> str:
    scoring = build.scoring
    return f"{scoring.run} ({scoring.label})" if scoring.label else scoring.run
