"""`nuggeteer compare`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "rank two or more runs, and say which can be told apart"
EXAMPLES = """\
  nuggeteer compare
  nuggeteer compare build-101 build-102 build-103 --by kind
  nuggeteer compare --measure pyramid_f3 --json comparison.json
  nuggeteer compare --page comparison.html
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a name or a file (default: all runs)")
    parser.add_argument(
        "--measure", metavar="NAME", help="the measure that ranks the runs (default: f3; rubric for a rubric)"
    )
    parser.add_argument(
        "--by",
        choices=("kind", "tag", "target"),
        help="also slice by the questions' kind or target, or the nuggets' tag; differences are from the first RUN",
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write an HTML page with scatter plots")
    options.add(parser, "--allow-empty", "--model", "--collection", "--json", "--signature", "--seed", "--jobs")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.comparing.comparison import MEASURES, compare
    from nuggeteer.measures import headline
    from nuggeteer.reports import comparison

    collection = options.read(args)
    names = args.runs or collection.run_names
    first = args.measure or headline(collection.key).name
    result = compare(collection, names, [first, *MEASURES], args.by, args.seed, args.jobs)
    output.warn(collection.problems)
    if args.page:
        from nuggeteer.reports.html.comparison import write

        write(args.page, result, collection.root.resolve().name)
    output.show(args, comparison, result)
    output.sign(args, result.scores.signature)
    if args.page:
        output.tell(args, f"The page is in {args.page}.")
    return 0
