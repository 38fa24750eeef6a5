"""`nuggeteer experiment`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "make a table or figure of the papers, on any collection, from its definition"
EXAMPLES = """\
  nuggeteer experiment experiments/table-1.toml
  nuggeteer experiment experiments/figure-4.toml --out results

a definition is TOML: title, source, what (data, found, thresholds, agreement,
scatter, models, judgements, responses or matchers), measure, steps, and
[[match]] tables of settings; where a setting is a list, every combination is tried
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("definition", type=Path, metavar="DEFINITION", help="the definition, a TOML file")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="also write the table, the plot and the command into DIR"
    )
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)
    options.cluster(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.reports import experiment
    from nuggeteer.trust.experiments.definition import read_definition
    from nuggeteer.trust.experiments.kinds import run_experiment

    definition = read_definition(args.definition)
    collection = options.read(args)
    with options.workers(args):
        result = run_experiment(definition, collection, args.jobs, args.seed)
    output.warn(collection.problems)
    if args.out:
        for path in experiment.write(result, args.out):
            if args.json != "-":
                output.say(f"written: {path}")
    output.show(args, experiment, result)
    return 0
