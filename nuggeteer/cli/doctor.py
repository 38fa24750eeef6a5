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

exit code:
  0  every file was read, also one of a kind that is not known
  2  a file has an error, is empty, or nothing in it is understood
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="any file, or a collection's folder")
    options.add(parser, "--collection", "--json")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.doctor import examine
    from nuggeteer.reports import foreign_files

    found = [examine(path, args.collection) for path in args.files]
    output.show_with(args, foreign_files.findings_as_json, foreign_files.draw_findings, found)
    return 2 if any(finding.broken for finding in found) else 0
