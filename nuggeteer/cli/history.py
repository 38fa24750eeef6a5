"""`nuggeteer history`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options

SUMMARY = "show recorded builds: the trend with its alarm, and the lives of nuggets"
EXAMPLES = """\
  nuggeteer score build-101 --record --label a1
  nuggeteer score build-102 --record --label a2
  nuggeteer history
  nuggeteer history --nugget def-01/1
  nuggeteer history --rescore --json history.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measure", metavar="NAME", help="of which measure (default: f3)")
    parser.add_argument("--nugget", metavar="QID/NUGGET", help="show one nugget's life instead")
    parser.add_argument(
        "--limit", type=options.positive, default=30, metavar="N", help="builds to show of each trend (default: 30)"
    )
    parser.add_argument("--rescore", action="store_true", help="first score the stored builds with what is known today")
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.folder import find_collection
    from nuggeteer.history.store import History
    from nuggeteer.history.trend import nugget_timelines, timelines_of, trends

    history = History.of(args.collection or find_collection())
    if args.rescore:
        collection = options.read(args)
        count = history.rescore(collection, args.seed, args.jobs)
        if args.json != "-":
            options.say(f"{count} builds scored anew" if count else "every build is scored as of today")
    found = trends(history, args.measure)
    stories = timelines_of(history, found, args.nugget) if args.nugget else ()
    fate = [nugget_timelines(history, trend.builds[-args.limit - 1 :]) for trend in found if not args.nugget]
    if args.json:
        from nuggeteer.reports import as_json

        data = as_json.lives(stories) if args.nugget else as_json.history(found, fate, args.limit)
        options.write_json(args.json, data)
    if args.json != "-":
        from nuggeteer.reports import history as draw
        from nuggeteer.reports import terminal

        out = terminal.console()
        for story in stories:
            draw.life(out, story)
        for trend, fate_ in zip(found, fate, strict=False):
            if len(trend.builds) > 1:
                draw.history(out, trend, fate_, args.limit)
        if not args.nugget and (single := [trend for trend in found if len(trend.builds) == 1]):
            draw.once(out, single)
    return 0
