"""`nuggeteer plan`"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.collection.folder import Collection

SUMMARY = "plan how to narrow an interval: whose verdicts, how many minutes, what price"
EXAMPLES = """\
  nuggeteer plan --width 0.1
  nuggeteer plan build-103 --width 0.1 --judge mini --judge large
  nuggeteer plan build-103 --against build-102 --width 0.1 --person 0.40
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="the run to score, a name or a file (default: the last one that was not judged completely)",
    )
    parser.add_argument(
        "--width", type=options.width, required=True, metavar="W", help="how wide guesses alone may make the interval"
    )
    parser.add_argument("--against", metavar="OLD", help="plan for the difference from this run")
    options.add(parser, "--measure")
    parser.add_argument(
        "--judge",
        action="append",
        metavar="NAME",
        help="a judge, a section [judge.NAME] of nuggeteer.toml; up to three (default: all)",
    )
    parser.add_argument(
        "--person",
        type=options.amount,
        default=0.5,
        metavar="X",
        help="what a minute of a person's reading costs, in the currency of the settings (default: 0.5)",
    )
    options.add(parser, "--collection", "--json", "--seed")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.asking.narrowing import plan_mixture
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.judging.state import JudgingSubject
    from nuggeteer.reports import plan as report

    collection = options.read(args)
    names = args.judge or [judge.name for judge in collection.settings.judges]
    judges = [collection.settings.judge(name) for name in dict.fromkeys(names)]
    if len(judges) > 3:
        raise NuggeteerError("plan compares up to three judges; name them with --judge")
    run = args.run or _newest(collection)
    old = options.old_run(collection, run, args.against) if args.against else None
    subject = JudgingSubject(collection.root, run, old, args.measure, args.seed)
    with output.waiting("Finding out where verdicts tell most"):
        found = plan_mixture(subject, judges, args.person, args.width)
    output.warn(collection.problems)
    output.show(args, report, found)
    return 0


def _newest(collection: Collection) -> str:
    """The last run that was not judged completely."""
    from nuggeteer.errors import NuggeteerError

    open_ = [
        name
        for name in collection.run_names
        if name not in collection.manifest or collection.manifest[name].judged == "none"
    ]
    if not open_:
        raise NuggeteerError("every run was judged completely, so there is nothing to plan; name a run")
    return open_[-1]
