"""The trend on the page: recorded builds and alarms."""

from __future__ import annotations

from typing import Any

import numpy as np

from nuggeteer.history.briefing import Briefing
from nuggeteer.history.trend import Build
from nuggeteer.measures import parse
from nuggeteer.reports.formatting import (
    between,
    number,
    percent,
    signed,
)

BUILDS = 60  # of the trend


class TrendSection:
    """The builds of the group that the build belongs to."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing = briefing

    @property
    def drawn(self) -> bool:
        return self.briefing.trend is not None and len(self.briefing.trend.builds) > 1

    @property
    def title(self) -> str:
        assert self.briefing.trend
        return parse(self.briefing.trend.measure).title

    @property
    def builds(self) -> list[dict[str, Any]]:
        """The recorded builds, the newest first."""
        trend, timelines = self.briefing.trend, self.briefing.timelines
        assert trend
        assert timelines
        gained, lost = timelines.gained.sum(axis=0), timelines.lost.sum(axis=0)
        rows: list[dict[str, Any]] = []
        for i in range(max(len(trend.builds) - BUILDS, 0), len(trend.builds)):
            build, scoring = trend.builds[i], trend.builds[i].scoring
            rows.append(
                {
                    "time": scoring.time[:16].replace("T", " "),
                    "name": _build_title(build),
                    "value": number(build.interval.value),
                    "span": between(build.interval),
                    "change": "" if np.isnan(trend.delta[i]) else signed(float(trend.delta[i])),
                    "nuggets": f"+{gained[i]} −{lost[i]}" if timelines.compared[i] else "",
                    "known": percent(scoring.known, scoring.known + scoring.guessed),
                    "comparable": build.comparable,
                }
            )
        return rows[::-1]

    @property
    def alarms(self) -> list[str]:
        trend = self.briefing.trend
        assert trend
        return [
            f"{'Worse' if change.worse else 'Better'} since {_build_title(trend.builds[change.since])}: from "
            f"{change.before:.3f} to {change.after:.3f}; noticed with {_build_title(trend.builds[change.at])}."
            for change in trend.alarm.changes
        ]


def _build_title(build: Build) -> str:
    scoring = build.scoring
    return f"{scoring.run} ({scoring.label})" if scoring.label else scoring.run
