"""`nuggeteer doctor`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "look at any file: what is in it, and what can be done with it now"
EXAMPLES = """\
  nuggeteer doctor results.json
  nuggeteer doctor *.jsonl answers.csv.gz
  nuggeteer doctor my-collection
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="any file, or a collection's folder")
    options.collection(parser)
    options.report(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.doctor import examine
    from nuggeteer.reports import findings

    found = [examine(path, args.collection) for path in args.files]
    output.show(args, findings, found)
    return 0 if all(finding.known for finding in found) else 2
