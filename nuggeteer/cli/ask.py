"""`nuggeteer ask`"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.asking.calls import Call
    from nuggeteer.asking.session import Progress
    from nuggeteer.collection.folder import Collection
    from nuggeteer.records import Run
    from nuggeteer.settings import JudgeSettings

SUMMARY = "let a language model judge, where its verdicts narrow the score's interval most"
EXAMPLES = """\
  nuggeteer ask build-103 --judge gpt --dry-run
  nuggeteer ask build-103 --judge gpt --max-cost 2.50
  nuggeteer ask build-103 --judge gpt --against build-102 --width 0.1
  nuggeteer ask aurora --judge gpt --all
  nuggeteer ask documents.jsonl --judge gpt --propose documents
"""
UNANSWERED = "nothing was answered; the same command asks again"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run whose answers are read, a name or a file")
    parser.add_argument(
        "--judge", metavar="NAME", help="the judge, a section [judge.NAME] of nuggeteer.toml (default: the only one)"
    )
    where = parser.add_argument_group("where to ask")
    where.add_argument(
        "--against", metavar="OLD", help="ask where a verdict says most about the difference from this run"
    )
    options.add(where, "--measure")
    where.add_argument(
        "--width", type=options.width, metavar="W", help="stop when guesses alone make the interval no wider than W"
    )
    where.add_argument(
        "--all", action="store_true", help="ask about every nugget, also of answers that people have judged"
    )
    parser.add_argument(
        "--propose",
        choices=("answers", "documents"),
        help="propose nuggets for the key, from the whole answers of RUN or from each of its records by itself",
    )
    parser.add_argument("--again", action="store_true", help="ask also for what failed before")
    limits = parser.add_argument_group("limits, exact to the request")
    limits.add_argument(
        "--dry-run", action="store_true", help="send nothing; say how many calls, tokens and what price"
    )
    limits.add_argument("--max-calls", type=options.positive, metavar="N", help="send at most N requests")
    limits.add_argument(
        "--max-cost", type=options.amount, metavar="X", help="spend at most X, by the prices in the settings"
    )
    limits.add_argument("--minutes", type=options.amount, metavar="M", help="send nothing after M minutes")
    options.add(parser, "--collection", "--json", "--seed")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.asking.budget import Budget
    from nuggeteer.asking.calls import Identity, every_call
    from nuggeteer.asking.client import Client
    from nuggeteer.asking.narrowing import AskingPlan, narrow
    from nuggeteer.asking.prompts import find_prompt
    from nuggeteer.asking.sender import Sender
    from nuggeteer.asking.session import Asked, Session, estimate
    from nuggeteer.asking.store import VerdictStore
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.judging.state import JudgingSubject
    from nuggeteer.reports import asked as report

    if args.propose and (args.all or args.dry_run or args.again or args.width or args.against or args.measure):
        raise NuggeteerError("--propose goes with --judge, --max-calls, --max-cost and --minutes only")
    if args.all and (args.width or args.against or args.measure):
        raise NuggeteerError("--all asks about everything; --width, --against and --measure say where to begin")
    collection = options.read(args)
    judge = options.judge(collection, args.judge)
    if args.max_cost is not None and not judge.input_price and not judge.output_price:
        raise NuggeteerError(f"--max-cost needs prices: write input_price and output_price into [judge.{judge.name}]")
    prompt = find_prompt(judge.prompt)
    store = VerdictStore(collection.root, Identity.of(judge, prompt))
    if args.again:
        store.ask_again()
    run = collection.run(args.run)
    output.warn(collection.problems)
    old = options.old_run(collection, args.run, args.against) if args.against else None
    subject = JudgingSubject(collection.root, args.run, old, args.measure, args.seed)

    def read(subject: JudgingSubject) -> AskingPlan:
        with output.waiting("Finding out where verdicts tell most"):
            return AskingPlan.read(subject, judge, prompt, store)

    if args.propose:
        return _propose(args, collection, judge, run)
    if args.dry_run:
        if args.all:
            calls = list(every_call(collection.key, [run]))
        else:
            plan = read(subject)
            calls = plan.ordered.calls[: plan.ordered.enough(args.width)]
        found = estimate(calls, store, judge, prompt)
        output.show_with(args, report.estimate_as_json, report.draw_estimate, judge, run.name, found)
        return 0
    Client(judge).close()  # what is wrong with the address or the key is said before anything starts
    sender = Sender(judge, prompt, Budget(args.max_calls, args.max_cost, args.minutes))

    def ask(calls: Iterable[Call]) -> Asked:
        with _progress(f"Asking {judge.name}") as progress:
            return Session(store, sender, progress).run(calls)

    try:
        narrowed = None if args.all else narrow(subject, args.width, read, ask)
        asked = ask(every_call(collection.key, [run])) if narrowed is None else narrowed.asked
    finally:
        output.warn(store.problems)
        store.close()
    ledger = str(store.path.relative_to(collection.root))
    output.show(args, report, judge, run.name, asked, ledger, narrowed)
    if asked.unavailable and not asked.calls:
        raise NuggeteerError(f"{judge.name}: {'; '.join(sorted(asked.unavailable))}; {UNANSWERED}")
    if asked.failed and not asked.labels and not asked.unavailable:
        raise NuggeteerError(f"{judge.name}: no reply could be used: {asked.failed[0].reason}; --again asks again")
    if asked.stopped and asked.stopped not in report.STOPPED:
        raise NuggeteerError(f"{judge.name}: {asked.stopped}; what was answered before is kept")
    return 0


def _propose(args: argparse.Namespace, collection: Collection, judge: JudgeSettings, run: Run) -> int:
    from nuggeteer.asking.budget import Budget
    from nuggeteer.asking.client import Client
    from nuggeteer.asking.prompts import own_prompt
    from nuggeteer.asking.proposing import PROMPT, Proposing, texts_of
    from nuggeteer.asking.sender import Sender
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.reports import asked as report

    Client(judge).close()
    sender = Sender(judge, own_prompt(PROMPT), Budget(args.max_calls, args.max_cost, args.minutes))
    with _progress(f"Asking {judge.name}") as progress:
        proposing = Proposing(collection.root, collection.key, sender, progress)
        try:
            found = proposing.run(list(texts_of(collection.key, run, args.propose)))
        finally:
            output.warn(proposing.store.problems)
            proposing.store.close()
    output.show_with(args, report.proposals_as_json, report.draw_proposals, judge, run.name, found)
    if found.unavailable and not found.texts:
        raise NuggeteerError(f"{judge.name}: {found.unavailable}; {UNANSWERED}")
    return 0


@contextmanager
def _progress(what: str) -> Iterator[Progress]:
    """A bar with the price so far and the time left, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda done, total, spent: None
        return
    from rich import progress
    from rich.console import Console

    from nuggeteer.reports.asked import price

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("price {task.fields[price]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, price="0")
        yield lambda done, total, spent: bar.update(task, completed=done, total=total, price=price(spent))
