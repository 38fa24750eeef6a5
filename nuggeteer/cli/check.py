"""`nuggeteer check`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options, output

SUMMARY = "read every file of a collection and list its problems"
EXAMPLES = """\
  nuggeteer check
  nuggeteer check --collection my-collection --json problems.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "--collection", "--json")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.checking import check
    from nuggeteer.collection.names import find_collection
    from nuggeteer.display import counted
    from nuggeteer.errors import errors_in
    from nuggeteer.reports import problems

    folder = args.collection or find_collection()
    found = check(folder)
    errors = len(errors_in(found))
    output.show(args, problems, found)
    output.tell(args, f"{folder}: {counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}")
    return 2 if errors else 0
