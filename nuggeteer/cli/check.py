"""`nuggeteer check`"""

from __future__ import annotations

import argparse

from nuggeteer.cli import options

SUMMARY = "read every file of a collection and list its problems"
EXAMPLES = """\
  nuggeteer check
  nuggeteer check --collection my-collection --json problems.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.collection(parser)
    options.report(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.folder import check, find_collection

    folder = args.collection or find_collection()
    problems = check(folder)
    errors = sum(problem.severity == "error" for problem in problems)
    if args.json:
        from nuggeteer.reports import as_json

        options.write_json(args.json, as_json.problems(problems))
    if args.json != "-":
        from nuggeteer.reports import terminal

        out = terminal.console()
        terminal.problems(out, problems)
        warnings = len(problems) - errors
        out.print(terminal.plain(f"{folder}: {errors} errors, {warnings} warnings"), soft_wrap=True)
    return 2 if errors else 0
