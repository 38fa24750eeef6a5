"""`nuggeteer demo`"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from nuggeteer.collection.folder import Collection
    from nuggeteer.history.nightly import Night

READING, ROUNDS = 20, 3  # minutes of a sitting, where the program names none; sittings at most
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
    from nuggeteer.reports import changes, html, scores
    from nuggeteer.reports.terminal import console, plain, say, say_whole
    from nuggeteer.scoring.scorer import Scorer

    folder: Path = args.folder
    fresh = copy_sample(folder)
    collection = read_collection(folder)
    builds = [name for name in collection.run_names if name.startswith("build-")]
    if len(builds) != 3 or not has_sample(collection):
        raise NuggeteerError(f"{folder}: is not the sample collection; name a new folder")
    scorer = Scorer(collection)
    matched_runs = [scorer.read(name) for name in builds]
    out = console()
    name = os.environ.get("NUGGETEER_COMMAND", "nuggeteer")  # how scripts/nuggeteer was called
    here, (old, new) = shlex.quote(str(folder)), builds[-2:]
    kept = "a sample collection" if fresh else "the sample collection that was already there"
    say(out, f"{folder}: {kept}, {scores.key_size(collection.key)}.")
    say(out, "Three nightly builds of one system; four other systems' answers were judged by a person.")
    scores.draw(out, scorer.scores(scorer.score(matched) for matched in matched_runs))
    morning = f"nightly --collection {here} {new} --against {old}"
    if fresh:  # else the history is the user's, and gets no build
        _mornings(out, collection, builds, name, here)
        collection = read_collection(folder)
        scorer = Scorer(collection)
        matched_runs = [scorer.read(name) for name in builds]
    out.print(Text("\nWhat changed last night\n", "bold"))
    changes.draw_briefly(out, diff_matched_runs(scorer, *matched_runs[-2:]))
    page = folder / "report.html"
    html.write(page, brief(collection, new, old))
    say_whole(out, "", f"All of this on one page, for a browser: {page}")
    out.print(Text("\nNext, try:", "bold"))
    for command, what in (
        *(() if fresh else ((morning, "the morning in one command: the score, the change, a decision"),)),
        (f"diff --collection {here} {old} {new}", "all that changed, and why"),
        (f"judge --collection {here} {builds[0]}", "read the answers that tell most about the score"),
        (f"score --collection {here} {new} --questions", "where the last build is weak"),
        (f"compare --collection {here}", "all runs, including the judged systems: which can be told apart"),
        (f"check --collection {here}", "problems in its files, and what to do about them"),
    ):
        out.print(plain(f"  {name} {command}"), Text(f"\n      {what}", "dim"), sep="", soft_wrap=True)
    return 0


def _mornings(out: Console, collection: Collection, builds: Sequence[str], name: str, here: str) -> None:
    """The nights of the sample, what a person judged in between, and what is true beside each decision."""
    from rich.text import Text

    from nuggeteer.collection.folder import read_collection
    from nuggeteer.collection.sample import true_sample, unjudged
    from nuggeteer.history.nightly import nightly
    from nuggeteer.reports import nightly as report
    from nuggeteer.reports.formatting import counted, signed
    from nuggeteer.reports.terminal import say_whole
    from nuggeteer.scoring.scorer import Scorer

    truth = true_sample(collection)
    scorer = Scorer(truth, ["f3"])
    true = {build: scorer.score(scorer.read(build)).measures["f3"].value or 0.0 for build in builds}
    first, last, tonight = builds

    def morning(title: str, known: Collection, build: str, whole: bool = False) -> Night:
        night = nightly(known, build)
        out.print(Text(f"\n{title}\n", "bold"))
        say_whole(out, f"$ {name} nightly --collection {here} {build}")
        if whole:
            report.draw(out, night, name, f" --collection {here}")
        else:
            report.draw_decision(out, night)
        assert night.old
        change = true[build] - true[night.old.run.name]
        out.print(f"The true change in this sample: {signed(change)}.", style="dim")
        return night

    bare = unjudged(collection)
    nightly(bare, first)
    morning("The first morning, if nobody had judged anything", bare, last)
    others = len(collection.judgements)
    morning(f"The same morning, after {others} verdicts on four other systems' answers", collection, last)
    read, minutes = _read_answers(collection, truth, [last])
    collection = read_collection(collection.root)
    out.print(f"\nA person reads all of {last}: {counted(read, 'verdict')}, {minutes:.0f} minutes.", highlight=False)
    night = morning("The next morning", collection, tonight, whole=True)
    for _ in range(ROUNDS):
        if night.decision != "UNDECIDED":
            break
        minutes = ceil(night.needed.minutes) if night.needed and night.needed.minutes else READING
        read, minutes = _read_answers(collection, truth, [tonight, last], minutes)
        collection = read_collection(collection.root)
        sitting = f"{counted(read, 'verdict')}, {minutes:.0f} minutes"
        out.print(f"\nThe person reads what judge asks for: {sitting}.", highlight=False)
        night = morning("The same morning, after reading", collection, tonight)


def _read_answers(
    collection: Collection, truth: Collection, runs: Sequence[str], most: float = inf
) -> tuple[int, float]:
    """Answer what `judge` asks for about a run, or about its difference from a second, as whoever wrote the sample
    would, for so many minutes. Returns how many verdicts that were, and the minutes."""
    import orjson

    from nuggeteer.formats.append import append_bytes
    from nuggeteer.judging.reading_order import ReadingOrder
    from nuggeteer.scoring.scorer import Scorer
    from nuggeteer.text import verdict_form

    yes = {(one.qid, one.nugget, verdict_form(one.text)) for one in truth.judgements if one.verdict}
    scorer = Scorer(collection)
    matched = [scorer.read(run) for run in runs]
    against = matched[1] if len(matched) > 1 else None
    lines, seconds = list[dict[str, object]](), 0.0
    for card in ReadingOrder(scorer, matched[0], scorer.measures[0], against).cards:
        if seconds + card.seconds > 60 * most:
            break
        seconds += card.seconds
        for asked in card.suggestions:
            nugget, run = scorer.key.nuggets[asked.nugget], matched[asked.run].run
            question = int(scorer.key.question[asked.nugget])
            own = run.texts[run.own(question)]
            whole = asked.scope == "answer"
            texts = own if whole else (run.texts[asked.response],)
            said = any((nugget.qid, nugget.nugget, verdict_form(text)) in yes for text in texts)
            line = {"qid": nugget.qid, "nugget": nugget.nugget, "verdict": said, "run": run.name, "assessor": "reader"}
            lines.append(line | {"text": run.answer(question) if whole else texts[0], "scope": asked.scope})
    whole_lines = b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
    append_bytes(collection.root / "judgements" / "reader.jsonl", whole_lines)
    return len(lines), seconds / 60
