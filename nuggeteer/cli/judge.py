"""`nuggeteer judge`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.judging.session import Session
    from nuggeteer.judging.state import JudgingState

SUMMARY = "judge by hand: read the answers that narrow the score's interval most"
EXAMPLES = """\
  nuggeteer judge build-103 --minutes 10
  nuggeteer judge build-103 --question rag-02 --assessor ann
  nuggeteer judge build-103 --against build-102 --width 0.1
  nuggeteer judge build-103 --list 5
  nuggeteer judge build-103 --plan 0.1
  nuggeteer judge build-103 --audit 50
  nuggeteer judge build-103 --page for-ann.html --minutes 20
  nuggeteer judge --import verdicts-build-103.jsonl --assessor ann
  nuggeteer judge --import verdicts.csv --assessor bob
  nuggeteer judge --log --assessor bob
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="the run to judge, a name or a file")
    parser.add_argument(
        "--against",
        metavar="OLD",
        help="read the answers that say most about the difference from this run or recorded build",
    )
    options.add(parser, "--measure")
    parser.add_argument("--question", metavar="QID", help="judge this question only")
    parser.add_argument("--nugget", metavar="ID", help="judge nuggets with this id only")
    parser.add_argument(
        "--assessor",
        metavar="NAME",
        help="the name to record verdicts under (default: $NUGGETEER_ASSESSOR, else the login name)",
    )
    parser.add_argument(
        "--minutes", type=options.amount, metavar="M", help="end at the first answer that is done after M minutes"
    )
    parser.add_argument(
        "--width",
        type=options.width,
        metavar="W",
        help="say how many minutes are left until guesses alone make the interval no wider than W",
    )
    parser.add_argument(
        "--pairs", action="store_true", help="ask about one response and one nugget at a time, not about whole answers"
    )
    how = parser.add_argument_group("screen or page")
    how.add_argument(
        "--plain",
        action="store_true",
        help="ask line by line; the default without a terminal, or with TERM=dumb",
    )
    how.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write a page for somebody else to judge in a browser; --import takes what they hand back",
    )
    how.add_argument(
        "--count",
        type=options.positive,
        metavar="N",
        help="with --page: ask for at least N verdicts (default: 50, or as many as --minutes takes)",
    )
    else_ = parser.add_argument_group("instead of judging where it narrows most")
    what = else_.add_mutually_exclusive_group()
    what.add_argument(
        "--audit",
        type=options.positive,
        metavar="N",
        help="judge a random sample, as much as N single nuggets take, without seeing guesses; score --audited then "
        "needs no model",
    )
    what.add_argument(
        "--list",
        type=options.positive,
        nargs="?",
        const=10,
        metavar="COUNT",
        help="only list what it asks about next, at least COUNT verdicts (default: 10)",
    )
    what.add_argument(
        "--plan", type=options.width, metavar="WIDTH", help="only say how many minutes an interval of this width needs"
    )
    what.add_argument(
        "--import",
        type=Path,
        dest="import_",
        metavar="FILE",
        help="import verdicts made elsewhere (docs/reference/files.md)",
    )
    what.add_argument(
        "--log", action="store_true", help="list all verdicts with assessor, time and reason, newest last"
    )
    else_.add_argument(
        "--as-truth",
        action="store_true",
        help="with --import: score by these verdicts of a machine as if people had given them",
    )
    options.add(parser, "--collection", "--json", "--seed")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError

    if args.as_truth and not args.import_:
        raise NuggeteerError("--as-truth needs --import: it says what the verdicts of a file are")
    if args.log:
        return _log(_fitting(args, "--log", "question", "nugget", "assessor"))
    if args.import_:
        return _import(_fitting(args, "--import", "assessor"))
    if args.run is None:
        raise NuggeteerError("judge needs a run, by name or by file")
    if args.page is not None:
        return _page(
            _fitting(
                args, "--page", "run", "against", "measure", "question", "nugget", "page", "count", "minutes", "pairs"
            )
        )
    if args.count is not None:
        raise NuggeteerError("--count needs --page: it says how many verdicts the page asks for")
    if args.list is not None:
        return _list(_fitting(args, "--list", "run", "against", "measure"))
    if args.plan is not None:
        return _plan(_fitting(args, "--plan", "run", "measure"))
    if args.json:
        raise NuggeteerError("--json needs --page, --list, --plan, --import or --log")
    if args.audit is not None:
        _fitting(args, "--audit", "run", "measure", "assessor", "plain", "minutes")
    return _judge(args)


def _fitting(args: argparse.Namespace, what: str, *fits: str) -> argparse.Namespace:
    """The command line, after refusing options that mean nothing here."""
    from nuggeteer.errors import NuggeteerError

    names = (
        *("run", "against", "measure", "question", "nugget", "assessor", "minutes", "width", "pairs", "plain"),
        *("page", "count"),
    )
    for name in names:
        if name not in fits and getattr(args, name):
            raise NuggeteerError(f"{what} and {'a run' if name == 'run' else f'--{name}'} do not go together")
    return args


def _log(args: argparse.Namespace) -> int:
    from nuggeteer.collection.log import read_log
    from nuggeteer.collection.names import find_collection
    from nuggeteer.reports import log

    found = read_log(args.collection or find_collection(), args.assessor, args.question, args.nugget)
    output.warn(found.problems)
    output.show(args, log, found)
    return 0


def _import(args: argparse.Namespace) -> int:
    from nuggeteer.collection.importing import import_verdicts
    from nuggeteer.reports import foreign_files

    collection = options.read(args)
    output.warn(collection.problems)
    done = import_verdicts(collection, args.import_, args.assessor, args.as_truth)
    output.warn(done.problems)
    output.show(args, foreign_files, done)
    return 0


def _page(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.judging.cards import Filter
    from nuggeteer.reports.html import sheet

    if args.list is not None or args.plan is not None:
        raise NuggeteerError(f"--page and --{'plan' if args.list is None else 'list'} do not go together")
    if args.audit is not None:
        _fitting(args, "--audit", "run", "measure", "page", "minutes")
    state = _state(args)
    output.warn(state.collection.problems)
    made = sheet.make_sheet(
        state, Filter(args.question, args.nugget), args.count, args.minutes, state.audit(args.audit), args.pairs
    )
    if not made.asked:
        raise NuggeteerError(f"{state.title}: there is nothing left to ask; no page was written")
    sheet.write(args.page, made)
    output.show(args, sheet, made, args.page)
    return 0


def _list(args: argparse.Namespace) -> int:
    from nuggeteer.reports import suggestions

    state = _state(args)
    output.warn(state.collection.problems)
    output.show(args, suggestions, state, args.list)
    return 0


def _plan(args: argparse.Namespace) -> int:
    from nuggeteer.judging.audits.planning import plan
    from nuggeteer.reports import reading_plan as report

    state = _state(args)
    output.warn(state.collection.problems)
    output.show(args, report, plan(state.scorer, state.matched_runs[0], state.measure, args.plan))
    return 0


def _state(args: argparse.Namespace, assessor: str | None = None) -> JudgingState:
    from nuggeteer.collection.folder import read_collection
    from nuggeteer.collection.names import find_collection
    from nuggeteer.judging.state import JudgingState, JudgingSubject

    root: Path = args.collection or find_collection()
    against = options.old_run(read_collection(root), args.run, args.against) if args.against else None
    return JudgingState.read(JudgingSubject(root, args.run, against, args.measure, args.seed, assessor))


def _session(args: argparse.Namespace) -> Session:
    from nuggeteer.collection.ledger import Ledger, default_assessor
    from nuggeteer.judging.cards import Filter
    from nuggeteer.judging.session import Session

    assessor = args.assessor or default_assessor()
    with output.waiting("Reading the collection, and finding what to read first"):
        state = _state(args, assessor)
    ledger, only = Ledger(state.collection.root, assessor), Filter(args.question, args.nugget)
    return Session(state, ledger, only, state.audit(args.audit), args.pairs, args.minutes)


def _judge(args: argparse.Namespace) -> int:
    import sys

    from nuggeteer.errors import NuggeteerError
    from nuggeteer.reports.formatting import counted
    from nuggeteer.text import escaped

    session, failed = _session(args), 0
    output.warn(session.state.collection.problems)
    if args.plain or not _can_draw():
        from nuggeteer.screens.plain import PlainScreen

        screen = PlainScreen(session, sys.stdin, sys.stdout, args.width)
        screen.run()
        failed = 0 if sys.stdin.isatty() else screen.failed  # a person has read it and can try again
    else:
        from nuggeteer.screens.app import run as run_app

        run_app(session, args.width)
    output.warn(session.ledger.problems)
    before = session.total - session.judged
    with_earlier = f", {session.total} with those of earlier sessions" if before > 0 else ""
    verdicts = f"{counted(session.judged, 'verdict')} by {session.ledger.assessor}{with_earlier}"
    over = "The time is over. " if session.is_over else ""
    print(escaped(f"{over}{verdicts}. Run the same command to go on."))
    if failed:
        raise NuggeteerError(f"not everything was written: {failed} of the lines failed")
    return 0


def _can_draw() -> bool:
    import os
    import sys

    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
