"""`nuggeteer report`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.collection.folder import Collection

SUMMARY = "write an HTML page of one build: its scores, changes and evidence"
EXAMPLES = """\
  nuggeteer report
  nuggeteer report build-102 --against build-101 --output tonight.html
  nuggeteer report --site public
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
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="the page to write (default: report.html)",
    )
    where.add_argument(
        "--site",
        type=Path,
        metavar="DIR",
        help="write a page for each recorded build that has none yet, and index.html, which lists them",
    )
    options.add(parser, "--collection", "--json", "--seed", "--jobs")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.history.briefing import brief
    from nuggeteer.reports import html

    if args.site is not None and (args.run, args.against) != (None, None):
        raise NuggeteerError("--site writes the pages of recorded builds: leave out RUN and --against")
    collection = options.read(args)
    if args.site is not None:
        return _site(args, collection)
    found = brief(collection, args.run, args.against, args.seed, args.jobs, output.write_status)
    output.warn([*collection.problems, *found.problems])
    if args.json:  # before the page, which then has its explanations from those for JSON, and not the other way round
        from nuggeteer.reports import briefing

        output.write_json(args.json, briefing.as_json(found))
    html.write(args.output, found)
    against = f" against {found.old.title}" if found.old else ""
    output.tell(args, f"{found.new.title}{against}", f"The page is in {args.output}.")
    return 0


def _site(args: argparse.Namespace, collection: Collection) -> int:
    from nuggeteer.reports.html import site

    with output.progress("pages") as progress:
        made, history = site.write_site(args.site, collection, args.seed, args.jobs, output.write_status, progress)
    output.warn([*collection.problems, *history.problems])
    output.show(args, site, made)
    return 0
