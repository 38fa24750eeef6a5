"""`nuggeteer report`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "write one build's scores, changes and evidence as an HTML page"
EXAMPLES = """\
  nuggeteer report
  nuggeteer report build-102 --against build-101 --output tonight.html
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="a name or a file (default: the newest recorded build, or the last run that was not judged completely)",
    )
    parser.add_argument(
        "--against",
        metavar="OLD",
        help="the run to compare it with (default: the build or run before it)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="the page to write (default: report.html)",
    )
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.history.briefing import brief
    from nuggeteer.reports import briefing, html

    collection = options.read(args)
    found = brief(collection, args.run, args.against, args.seed, args.jobs, output.write_status)
    output.warn([*collection.problems, *found.problems])
    html.write(args.output, found)
    if args.json:
        output.write_json(args.json, briefing.as_json(found))
    if args.json != "-":
        against = f" against {found.old.title}" if found.old else ""
        output.say(f"{found.new.title}{against}")
        output.say(f"The page is in {args.output}.")
    return 0
