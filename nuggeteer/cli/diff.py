"""`nuggeteer diff`"""

from __future__ import annotations

import argparse
from math import inf

from nuggeteer.cli import options, output

SUMMARY = "show what changed between two runs, nugget by nugget; gates for build servers"
EXAMPLES = """\
  nuggeteer diff build-101 build-102
  nuggeteer diff build-102 runs/tonight.jsonl --fail-if-worse 0.01
  nuggeteer diff build-101 build-102 --max-lost-vital 2 --sure 0.8 \\
    --markdown summary.md --junit gates.xml
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "old", metavar="OLD", help="the run to compare with: a name or a file, or the name or label of a recorded build"
    )
    parser.add_argument("new", metavar="NEW", help="the run to look at, a name or a file")
    parser.add_argument(
        "--measures", metavar="NAMES", help="the measures, separated by commas (see score); the gates look at the first"
    )
    parser.add_argument("--all", action="store_true", help="show every change, and the nuggets that were kept")
    parser.add_argument("--explain", action="store_true", help="show why nuggets were guessed")
    gates = parser.add_argument_group("gates; the exit code is 1 if one fails")
    gates.add_argument(
        "--fail-if-worse",
        type=options.number(float, lambda value: 0 <= value < inf, "is not a number from 0 up"),
        metavar="X",
        help="fail if NEW is surely worse by more than X; [nightly] about says on which questions",
    )
    gates.add_argument(
        "--max-lost-vital", type=options.natural, metavar="N", help="fail if more than N vital nuggets are lost"
    )
    gates.add_argument(
        "--sure",
        type=options.number(float, lambda value: 0 <= value <= 1, "does not lie between 0 and 1"),
        metavar="P",
        help="with --max-lost-vital: count only losses with at least this probability (default: 0.95)",
    )
    options.add(
        parser,
        "--allow-empty",
        "--model",
        "--collection",
        "--json",
        "--signature",
        "--markdown",
        "--junit",
        "--seed",
        "--jobs",
    )


def run(args: argparse.Namespace) -> int:
    import sys

    from nuggeteer.comparing.diff import diff
    from nuggeteer.comparing.gate import rule
    from nuggeteer.errors import InputError, NuggeteerError
    from nuggeteer.history.causes import find_causes
    from nuggeteer.measures import DEFAULT
    from nuggeteer.reports import changes
    from nuggeteer.reports.change_words import in_lines
    from nuggeteer.settings import SURE
    from nuggeteer.text import escaped

    if args.sure is not None and args.max_lost_vital is None:
        raise NuggeteerError("--sure changes what --max-lost-vital counts; add --max-lost-vital")
    options.check_outputs(args)
    collection = options.read(args)
    measures = args.measures.split(",") if args.measures else DEFAULT
    explain = bool(args.explain or args.json)
    new = collection.run(args.new)
    try:
        old = options.old_run(collection, args.new, args.old)
    except NuggeteerError as error:
        gated = args.fail_if_worse is not None or args.max_lost_vital is not None
        if args.old != new.name or gated or isinstance(error, InputError):
            raise
        old = new  # which has no change
        print(escaped(f"{args.old}: no earlier build of it is recorded; it is compared with itself"), file=sys.stderr)
    result = diff(collection, old, new, measures, seed=args.seed, jobs=args.jobs, explain=explain)
    causes = find_causes(collection, result, args.seed)
    ruling = None
    if args.fail_if_worse is not None or args.max_lost_vital is not None:
        sure, about = SURE if args.sure is None else args.sure, collection.settings.nightly.about
        ruling = rule(result, args.fail_if_worse, args.max_lost_vital, sure, about)
    output.warn(collection.problems)
    if args.junit:
        from nuggeteer.reports import junit

        junit.write(args.junit, result, ruling)
    if args.markdown:
        from nuggeteer.reports import markdown

        output.write_text(args.markdown, markdown.changes(result, ruling))
    if args.json:
        output.write_json(args.json, changes.as_json(result, ruling, causes))
    if "-" in (args.json, args.markdown):
        for line in in_lines(ruling) if ruling else ():
            print(escaped(line), file=sys.stderr)
    else:
        from nuggeteer.reports.terminal import console

        changes.draw(console(), result, ruling, args.all, args.explain, causes)
        output.sign(args, result.signature)
    return int(ruling is not None and ruling.decision == "FAIL")
