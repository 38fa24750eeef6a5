"""`nuggeteer report`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options

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
        help="a name or a file (default: the newest recorded build; without any, the last run not judged whole)",
    )
    parser.add_argument(
        "--against",
        metavar="OLD",
        help="the run to compare with (default: the build recorded before it, or the run before it)",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("report.html"), metavar="FILE", help="(default: report.html)"
    )
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    import sys

    from nuggeteer.history.briefing import brief
    from nuggeteer.reports import html
    from nuggeteer.text import escaped

    def tell(line: str) -> None:
        if sys.stderr.isatty():
            print(escaped(line), file=sys.stderr)

    collection = options.read(args)
    briefing = brief(collection, args.run, args.against, args.seed, args.jobs, tell)
    options.tell(collection.problems)
    html.write(args.output, briefing)
    if args.json:
        from nuggeteer.reports.briefing import briefing as as_json

        options.write_json(args.json, as_json(briefing))
    if args.json != "-":
        against = f" against {html.View.called(briefing.old)}" if briefing.old else ""
        options.say(f"{html.View.called(briefing.new)}{against}")
        options.say(f"The page is in {args.output}.")
    return 0
