"""`nuggeteer history`"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nuggeteer.history.ruling import NightRuling
    from nuggeteer.history.store import History
    from nuggeteer.history.trend import Trend

SUMMARY = "show recorded builds: the trend with its alarm, and each nugget over time"
EXAMPLES = """\
  nuggeteer nightly build-101 --label a1
  nuggeteer nightly build-102 --label a2
  nuggeteer history
  nuggeteer history --nugget def-01/1
  nuggeteer history --rescore --json history.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measure", metavar="NAME", help="the measure to show (default: f3; rubric for a rubric)")
    parser.add_argument("--nugget", metavar="QID/NUGGET", help="show one nugget over the builds instead")
    parser.add_argument(
        "--limit",
        type=options.positive,
        default=30,
        metavar="N",
        help="how many builds of each trend to show (default: 30)",
    )
    parser.add_argument(
        "--rescore", action="store_true", help="first score the stored builds again with what is known today"
    )
    options.add(parser, "--collection", "--json", "--seed", "--jobs")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.names import find_collection
    from nuggeteer.history.store import History
    from nuggeteer.history.trend import nugget_timelines, timelines_of, trends, trends_today
    from nuggeteer.reports import history as report
    from nuggeteer.reports import nugget_history

    history = History.of(args.collection or find_collection())
    if args.rescore:
        count, _ = history.rescore(options.read(args), args.seed, args.jobs)
        output.tell(args, f"{count} builds scored again" if count else "no build needs scoring again")
    found = trends(history, args.measure)
    if not args.rescore:
        tell = partial(output.tell, args)
        found, undone = trends_today(history, lambda: options.read(args), args.measure, args.seed, args.jobs, tell)
        output.warn(undone)
    if args.nugget:
        stories = timelines_of(history, found, args.nugget)
        output.warn(history.problems)
        output.show(args, nugget_history, stories)
        return 0
    result = [(trend, nugget_timelines(history, trend.builds[-args.limit - 1 :])) for trend in found]
    today = _decided_today(args, history, found) if not history.problems else {}
    output.warn(history.problems)
    output.show(args, report, result, args.limit, today)
    return 0


def _decided_today(args: argparse.Namespace, history: History, found: Sequence[Trend]) -> dict[int, NightRuling]:
    """By build, what today's verdicts decide, where that may differ from what was recorded."""
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.history.ruling import ruled_again
    from nuggeteer.history.trend import SOON

    shown = [build for trend in found for build in trend.builds[-args.limit :]]
    if not any(build.ruling and build.ruling.signature != build.scoring.signature for build in shown):
        return {}
    try:
        collection = options.read(args)
        return dict(ruled_again(collection, history, found, shown, args.seed, args.jobs, SOON))
    except NuggeteerError:
        return {}
