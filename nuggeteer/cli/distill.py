"""`nuggeteer distill`"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "score distillers by nugs, or propose nugs for their nuggets"
EXAMPLES = """\
  nuggeteer distill --example
  nuggeteer distill gale.jsonl --json gale-scores.json
  nuggeteer distill found.jsonl --propose nugs.jsonl
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="files of one evaluation (docs/reference/files.md)"
    )
    parser.add_argument("--example", action="store_true", help="also read the two queries of White et al. 2008")
    parser.add_argument(
        "--prior",
        type=prior,
        metavar="R,W,M,O",
        help="counts added to right, wrong, missing and other in the Bayesian tables (default: 1,1,1,1)",
    )
    parser.add_argument(
        "--propose",
        type=Path,
        metavar="NEW",
        help="put nuggets that are in no nug into proposed nugs, and write them to NEW",
    )
    options.report(parser)


def prior(text: str) -> tuple[float, ...]:
    """Four numbers from 0."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) != 4 or not all(math.isfinite(value) and value >= 0 for value in values):
        raise argparse.ArgumentTypeError(f"{text!r} is not four numbers from 0 up, separated by commas")
    return values


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError, fail
    from nuggeteer.formats.distillation import read_distillation, write_distillation
    from nuggeteer.gale.distillation import EXAMPLE, PRIOR, distill
    from nuggeteer.reports import distillation

    files = [*([EXAMPLE] if args.example else []), *args.files]
    if not files:
        raise NuggeteerError("name a file of nuggets and nugs, or try --example")
    if args.propose and args.propose.exists():
        raise fail(args.propose, "exists already, and may hold somebody's work", "name a new file")
    evaluation = read_distillation(files, ready=args.propose is None)
    output.warn(evaluation.problems)
    if args.propose:
        from nuggeteer.gale.nugs import propose
        from nuggeteer.reports import nug_proposal

        proposed = propose(evaluation)
        write_distillation(args.propose, proposed.distillation)
        output.show(args, nug_proposal, proposed, file=str(args.propose))
        return 0
    output.show(args, distillation, distill(evaluation, args.prior or PRIOR))
    return 0
