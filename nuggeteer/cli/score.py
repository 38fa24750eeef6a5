"""`nuggeteer score`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options

SUMMARY = "score one or more runs: F with its interval, recall, precision, pyramids"
EXAMPLES = """\
  nuggeteer score build-102 build-103
  nuggeteer score runs/tonight.jsonl --questions
  nuggeteer score build-103 --measures f1,vital_score --json scores.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a name or a file (default: all runs)")
    parser.add_argument(
        "--measures",
        metavar="NAMES",
        help="with commas between: f3 (any β), recall, precision, pyramid_f3, macro_f3, AutoNuggetizer's "
        "six: vital_score, weighted_score, all_score, each also strict_... (default: f3 to macro_f3)",
    )
    parser.add_argument("--questions", action="store_true", help="show every question's scores too")
    parser.add_argument("--nuggets", action="store_true", help="show every nugget: found, known or guessed, where")
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.measures import DEFAULT
    from nuggeteer.scoring import score

    collection = options.read(args)
    measures = args.measures.split(",") if args.measures else DEFAULT
    names = args.runs or collection.run_names
    if not names:
        raise NuggeteerError(f"{collection.root}: there are no runs here; put them in runs/, or name a file")
    result = score(collection, names, measures, seed=args.seed, jobs=args.jobs)
    if not result.measures:
        raise NuggeteerError(f"{args.measures}: these nuggets have no votes or weights to measure it by")
    options.tell(collection.problems)
    if args.json:
        from nuggeteer.reports import as_json

        options.write_json(args.json, as_json.scores(result))
    if args.json != "-":
        from nuggeteer.reports import terminal

        out = terminal.console()
        terminal.scores(out, result)
        for one in result.runs:
            if args.questions:
                terminal.questions(out, result, one)
            if args.nuggets:
                terminal.nuggets(out, result, one)
    return 0
