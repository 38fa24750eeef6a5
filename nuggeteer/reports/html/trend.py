"""The trend on the page: recorded builds and alarms."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from nuggeteer.history.trend import NuggetTimelines, Trend
from nuggeteer.measures import parse
from nuggeteer.reports import charts
from nuggeteer.reports.formatting import build_cells, number

BUILDS = 60  # of the trend
CELLS = ("value", "span", "change", "nuggets", "known")  # that the page's tables name


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
        every = self.trend.builds
        return [self._row(i) for i in reversed(range(max(len(every) - self.last, 0), len(every)))]

    def _row(self, i: int) -> dict[str, Any]:
        build = self.trend.builds[i]
        cells = dict(zip(CELLS, build_cells(self.trend, self.timelines, i), strict=True))
        about = {"build": build.scoring.build, "time": build.minute, "name": build.title}
        return about | cells | {"comparable": build.comparable}

    @property
    def alarms(self) -> list[str]:
        trend = self.trend
        return [
            f"{'Worse' if change.worse else 'Better'} since {trend.builds[change.since].title}: from "
            f"{number(change.before)} to {number(change.after)}; noticed with {trend.builds[change.at].title}."
            for change in trend.alarm.changes
        ]
