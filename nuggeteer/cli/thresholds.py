"""`nuggeteer thresholds`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options, output

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
    from nuggeteer.reports import thresholds
    from nuggeteer.scoring.scorer import compare_thresholds

    collection = options.read(args)
    result = compare_thresholds(collection, args.jobs)
    output.warn(collection.problems)
    output.show(args, thresholds, result)
    return 0
