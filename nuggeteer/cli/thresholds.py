"""`nuggeteer thresholds`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "fit and compare the threshold models on a collection's judgements"
EXAMPLES = """\
  nuggeteer thresholds
  nuggeteer thresholds --json thresholds.json
  nuggeteer thresholds --model nugget
  nuggeteer thresholds --model nugget --nugget def-01/3
  nuggeteer thresholds --model nugget --nugget def-01/3 --figure threshold.svg
  nuggeteer thresholds --model nugget --engine pymc
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="show the thresholds and error rates of this model: global, question, nugget, nugget-errors or "
        "pooled, and with --engine pymc also coin and smooth",
    )
    parser.add_argument("--nugget", metavar="QID/ID", help="show the scores and verdicts of this nugget")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw these scores and verdicts, and the threshold, as SVG to FILE"
    )
    parser.add_argument(
        "--engine",
        choices=("exact", "pymc"),
        default="exact",
        help="compute the model exactly (default), or sample it with PyMC and say how both agree",
    )
    options.add(parser, "--collection", "--json", "--jobs")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError

    if args.figure and not args.nugget:
        raise NuggeteerError("--figure draws the threshold of one nugget: name it with --nugget QID/ID")
    collection = options.read(args)
    if args.model or args.nugget or args.engine != "exact":
        from nuggeteer.reports import parameters
        from nuggeteer.scoring.parameters import parameters_of

        model = args.model or "nugget"
        found = parameters_of(collection, model, args.engine, args.nugget, args.jobs)
        output.warn(collection.problems)
        if args.figure:
            parameters.write(args.figure, found)
        output.show(args, parameters, found)
        return 0
    from nuggeteer.reports import thresholds
    from nuggeteer.scoring.scorer import compare_thresholds

    result = compare_thresholds(collection, args.jobs)
    output.warn(collection.problems)
    output.show(args, thresholds, result)
    return 0
