"""`nuggeteer agree`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "how far assessors agree, with each other and with the tool; or annotators"
EXAMPLES = """\
  nuggeteer agree
  nuggeteer agree --list 5
  nuggeteer agree --since 2026-11-18
  nuggeteer agree first.txt second.txt
  nuggeteer agree first.txt second.txt --list --json agreement.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="two annotations of the same snippets: [[double brackets]] (.txt), offsets (.jsonl) or brat's "
        "(a folder); without files, the assessors of the collection",
    )
    parser.add_argument(
        "--list",
        nargs="?",
        type=options.positive,
        const=10,
        default=0,
        metavar="COUNT",
        help="show where they differ (default: 10 places)",
    )
    parser.add_argument(
        "--since",
        type=options.moment,
        metavar="TIME",
        help="compare each language model's verdicts since this time (2026-11-18, or with T09:30Z) with those before",
    )
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError

    if len(args.files) not in (0, 2):
        raise NuggeteerError("name two annotations to compare, or none for the assessors of a collection")
    if args.files and args.since:
        raise NuggeteerError("--since is about language models of a collection, not about annotations")
    return _annotations(args) if args.files else _assessors(args)


def _assessors(args: argparse.Namespace) -> int:
    from nuggeteer.reports import assessors
    from nuggeteer.trust.agreement import agree

    collection = options.read(args)
    result = agree(collection, args.seed, args.jobs, output.write_status, args.since)
    output.warn(collection.problems)
    output.show(args, assessors, result, listed=args.list)
    return 0


def _annotations(args: argparse.Namespace) -> int:
    from nuggeteer.errors import Problem
    from nuggeteer.gale.annotation import agree_on
    from nuggeteer.reports import annotators

    problems: list[Problem] = []
    result = agree_on(args.files[0], args.files[1], problems)
    output.warn(problems)
    output.show(args, annotators, result, listed=args.list)
    return 0
