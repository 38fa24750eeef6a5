"""`nuggeteer crossval`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options, output

SUMMARY = "measure how good the guesses are: leave out one group of runs at a time"
EXAMPLES = """\
  nuggeteer crossval
  nuggeteer crossval --matcher pourpre --jobs 2
  nuggeteer crossval --judges judges/gpt-4o.jsonl
  nuggeteer crossval --model nugget --json crossval.json
  nuggeteer crossval --measure f3
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--matcher", metavar="NAME", help="the matcher (default: as in nuggeteer.toml)")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the threshold model: smooth, fixed, or another that nuggeteer thresholds lists (default: as in "
        "nuggeteer.toml)",
    )
    parser.add_argument(
        "--judges",
        metavar="NAMES",
        help="language models beside the words: files in the collection, or machines in judgements/, with commas "
        "between them (default: as in nuggeteer.toml)",
    )
    parser.add_argument(
        "--measure", metavar="NAME", help="compare runs by this score, such as f3 (default: recall by weight)"
    )
    options.add(parser, "--collection", "--json", "--seed", "--jobs", "--backend", "--scheduler")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.reports import crossval as report
    from nuggeteer.trust.crossval import crossval

    collection = options.matched_by(options.read(args), args.matcher, args.judges)
    model = args.model or collection.settings.threshold.model
    with options.workers(args), output.progress("groups left out") as notify:
        result = crossval(collection, model, args.seed, args.jobs, notify, args.measure)
    output.warn(collection.problems)
    output.show(args, report, result)
    return 0
