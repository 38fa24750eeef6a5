"""`nuggeteer nightly`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "the morning in one command: score tonight's answers, compare, decide, record"
EXAMPLES = """\
  nuggeteer nightly tonight
  nuggeteer nightly runs/tonight.jsonl --label 4f2c1ab
  nuggeteer nightly tonight --against accepted --junit gates.xml
  nuggeteer nightly tonight --site public
  nuggeteer nightly tonight --markdown summary.md --page tonight.html
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="tonight's answers, a name or a file")
    parser.add_argument(
        "--against",
        metavar="OLD",
        help="compare with this run, file or recorded build, by its name or label "
        "(default: the build of the same system that was recorded before)",
    )
    parser.add_argument("--label", metavar="TEXT", help="what to record the build under: a commit, a date")
    options.add(parser, "--markdown", "--junit")
    parser.add_argument(
        "--site", type=Path, metavar="DIR", help="write the pages of nuggeteer report --site, whatever the decision"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page of nuggeteer report")
    options.add(parser, "--allow-empty", "--collection", "--json", "--seed", "--jobs")


def run(args: argparse.Namespace) -> int:
    import os
    import shlex

    from nuggeteer.history.nightly import nightly
    from nuggeteer.reports import nightly as report

    options.check_outputs(args)
    collection = options.read(args)
    settings = collection.settings.nightly
    page = args.page or (Path(settings.page) if settings.page else None)
    markdown_file = args.markdown or settings.markdown
    night = nightly(
        collection,
        args.run,
        args.against,
        args.label,
        args.seed,
        args.jobs,
        bool(markdown_file),
        page is not None,
        output.write_status,
    )
    output.warn([*collection.problems, *night.problems])
    if night.briefing and page:
        from nuggeteer.reports import html

        html.write(page, night.briefing)
    if junit_file := args.junit or settings.junit:
        from nuggeteer.reports import junit

        junit.write_night(Path(junit_file), night)
    if markdown_file:
        from nuggeteer.reports import markdown

        output.write_text(markdown_file, markdown.night(night))
    if args.site:
        from nuggeteer.reports.html.site import write_site

        with output.progress("pages") as progress:
            write_site(args.site, collection, args.seed, args.jobs, output.write_status, progress)
    if args.json:
        output.write_json(args.json, report.as_json(night))
    if "-" not in (args.json, args.markdown):
        from nuggeteer.reports.terminal import console

        command = os.environ.get("NUGGETEER_COMMAND", "nuggeteer")  # how scripts/nuggeteer was called
        where = f" --collection {shlex.quote(str(args.collection))}" if args.collection else ""
        report.draw(console(), night, command, where)
    return {"PASS": 0, "FAIL": 1, "UNDECIDED": settings.undecided}[night.decision]
