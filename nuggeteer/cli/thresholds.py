"""`nuggeteer thresholds`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options

SUMMARY = "fit and compare the threshold models on a collection's judgements"
EXAMPLES = """\
  nuggeteer thresholds
  nuggeteer thresholds --json thresholds.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.collection(parser)
    options.report(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.scoring.scorer import compare_thresholds

    collection = options.read(args)
    result = compare_thresholds(collection, args.jobs)
    options.tell(collection.problems)
    if args.json:
        from nuggeteer.reports import as_json

        options.write_json(args.json, as_json.thresholds(result))
    if args.json != "-":
        from nuggeteer.reports import terminal

        terminal.thresholds(terminal.console(), result)
    return 0
