"""`nuggeteer agree`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "measure how far assessors or annotators agree, with each other and the tool"
EXAMPLES = """\
  nuggeteer agree
  nuggeteer agree --list 5
  nuggeteer agree --since 2026-11-18
  nuggeteer agree first.txt second.txt
  nuggeteer agree first.txt second.txt --list --json agreement.json
  nuggeteer agree first.txt second.txt --by language,medium
  nuggeteer agree first.txt second.txt --adjudicate agreed.txt
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
    parser.add_argument(
        "--by",
        type=options.conditions,
        metavar="LIST",
        help="also a row for each cell of these conditions of annotations: language, medium, structure",
    )
    parser.add_argument(
        "--adjudicate",
        type=Path,
        metavar="NEW",
        help="make one annotation of two: keep what both marked, ask where they differ, and write NEW",
    )
    options.add(parser, "--collection", "--json", "--seed", "--jobs")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError

    if len(args.files) not in (0, 2):
        raise NuggeteerError("name two annotations to compare, or none for the assessors of a collection")
    if args.files and args.since:
        raise NuggeteerError("--since is about language models of a collection, not about annotations")
    if not args.files and (args.by or args.adjudicate):
        raise NuggeteerError("--by and --adjudicate are about annotations; name two files")
    if args.adjudicate:
        return _adjudicate(args)
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
    result = agree_on(args.files[0], args.files[1], problems, args.by or ())
    output.warn(problems)
    output.show(args, annotators, result, listed=args.list)
    return 0


def _adjudicate(args: argparse.Namespace) -> int:
    import sys

    from nuggeteer.errors import NuggeteerError, Problem, fail
    from nuggeteer.formats.annotation_files import read_snippets, write_snippets
    from nuggeteer.gale.adjudication import adjudicate
    from nuggeteer.screens.adjudication import AdjudicationScreen

    if args.json or args.by or args.list:
        raise NuggeteerError("--adjudicate asks, and has no --json, --by or --list")
    target: Path = args.adjudicate
    if target.exists():
        raise fail(target, "exists already, and may hold somebody's work", "name a new file")
    problems: list[Problem] = []
    first, second = (read_snippets(path, problems) for path in args.files)
    output.warn(problems)
    decisions = target.with_name(f"{target.name}.decisions.jsonl")
    adjudication = adjudicate(first, second, decisions)
    names = str(args.files[0]), str(args.files[1])
    screen = AdjudicationScreen(adjudication, names, sys.stdin, sys.stdout)
    if screen.run():
        for what in write_snippets(target, adjudication.result()):
            output.say(f"{target}: this format has no place for {what}")
        output.say(f"written: {target}; what was decided is in {decisions}")
    return 2 if screen.failed and not sys.stdin.isatty() else 0
