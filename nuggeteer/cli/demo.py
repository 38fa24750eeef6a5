"""`nuggeteer demo`"""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

SUMMARY = "put a sample collection in a folder, score it, show what changed"
EXAMPLES = """\
  nuggeteer demo
  nuggeteer demo /tmp/try
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("nuggeteer-demo"),
        metavar="DIR",
        help="the folder for the sample collection (default: nuggeteer-demo)",
    )


def run(args: argparse.Namespace) -> int:
    from rich.text import Text

    from nuggeteer.collection.folder import read_collection
    from nuggeteer.collection.sample import copy_sample, has_sample
    from nuggeteer.comparing.diff import diff_matched_runs
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.history.briefing import brief
    from nuggeteer.history.nightly import nightly
    from nuggeteer.reports import changes, html, scores
    from nuggeteer.reports import nightly as night_report
    from nuggeteer.reports.terminal import console, plain
    from nuggeteer.scoring.scorer import Scorer

    folder: Path = args.folder
    fresh = copy_sample(folder)
    collection = read_collection(folder)
    builds = [name for name in collection.run_names if name.startswith("build-")]
    if len(builds) < 2 or not has_sample(collection):
        raise NuggeteerError(f"{folder}: is not the sample collection; name a new folder")
    scorer = Scorer(collection)
    matched_runs = [scorer.read(name) for name in builds]
    out = console()
    name = os.environ.get("NUGGETEER_COMMAND", "nuggeteer")  # how scripts/nuggeteer was called
    here, (old, new) = shlex.quote(str(folder)), builds[-2:]
    kept = "a sample collection" if fresh else "the sample collection that was already there"
    out.print(plain(f"{folder}: {kept}, {scores.key_size(collection.key)}."))
    out.print("Three nightly builds of one system; four other systems' answers were judged by a person.")
    scores.draw(out, scorer.scores(scorer.score(matched) for matched in matched_runs))
    morning = f"nightly --collection {here} {new} --against {old}"
    if fresh:  # else the history is the user's, and gets no build
        out.print(Text("\nThe morning in one command\n", "bold"))
        out.print(plain(f"$ {name} {morning}"), soft_wrap=True)
        night_report.draw(out, nightly(collection, new, old), name, f" --collection {here}")
    out.print(Text("\nWhat changed last night\n", "bold"))
    changes.draw_briefly(out, diff_matched_runs(scorer, *matched_runs[-2:]))
    page = folder / "report.html"
    html.write(page, brief(collection, new, old))
    out.print()
    out.print(plain(f"All of this on one page, for a browser: {page}"), soft_wrap=True)
    out.print(Text("\nNext, try:", "bold"))
    for command, what in (
        *(() if fresh else ((morning, "the morning in one command: the score, the change, a decision"),)),
        (f"diff --collection {here} {old} {new}", "all that changed, and why"),
        (f"judge --collection {here} {new}", "judge a few answers by hand, where that narrows the interval most"),
        (f"score --collection {here} {new} --questions", "where the last build is weak"),
        (f"compare --collection {here}", "all runs, including the judged systems: which can be told apart"),
        (f"check --collection {here}", "problems in its files, and what to do about them"),
    ):
        out.print(plain(f"  {name} {command}"), Text(f"\n      {what}", "dim"), sep="", soft_wrap=True)
    return 0
