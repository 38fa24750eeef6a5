"""`nuggeteer experiment`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "make a table or a figure of the papers, from any collections"
EXAMPLES = """\
  nuggeteer experiment --list
  nuggeteer experiment table-1
  nuggeteer experiment figure-6 --out results \\
      --collection trec-2003 --collection trec-2004
  nuggeteer experiment own.toml

a definition of your own is TOML: title, source, what (data, found, thresholds,
agreement, scatter, models, judgements, responses or matchers), measure, steps,
and [[match]] tables of settings; where a setting is a list, every combination
is tried
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "definition", nargs="?", metavar="EXPERIMENT", help="an experiment's name, or a file with a definition (TOML)"
    )
    parser.add_argument("--list", action="store_true", help="list the experiments that have a name")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="also write the table, the plot and the command into DIR"
    )
    parser.add_argument(
        "--collection",
        type=Path,
        action="append",
        metavar="DIR",
        help="a collection's folder; of several, such as the years of a track, each and their mean (default: the "
        "nearest folder upwards with a nuggets.jsonl)",
    )
    options.add(parser, "--json", "--seed", "--jobs", "--backend", "--scheduler")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.folder import read_collection
    from nuggeteer.collection.names import find_collection
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.reports import experiment
    from nuggeteer.trust.experiments.definition import average, find_definition, papers_definitions
    from nuggeteer.trust.experiments.kinds import run_experiment

    if args.list:
        output.show_with(args, experiment.list_as_json, experiment.draw_list, papers_definitions().values())
        return 0
    if args.definition is None:
        raise NuggeteerError("name an experiment; nuggeteer experiment --list shows them")
    definition = find_definition(args.definition)
    collections = [read_collection(folder) for folder in args.collection or [find_collection()]]
    names = [collection.root.resolve().name for collection in collections]
    if len(set(names)) < len(names):
        raise NuggeteerError("two collections have the same name; give each a folder of another name")
    with options.workers(args):
        results = [run_experiment(definition, collection, args.jobs, args.seed) for collection in collections]
    for collection in collections:
        output.warn(collection.problems)
    found = average(results)
    if args.out:
        output.tell(args, *(f"written: {path}" for path in experiment.write(found, args.out)))
    output.show(args, experiment, found)
    return 0
