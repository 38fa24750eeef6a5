"""`nuggeteer score`"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nuggeteer.cli import options

if TYPE_CHECKING:
    from nuggeteer.scoring.outcomes import Reading

SUMMARY = "score one or more runs: F with its interval, recall, precision, pyramids"
EXAMPLES = """\
  nuggeteer score build-102 build-103
  nuggeteer score runs/tonight.jsonl --questions
  nuggeteer score build-103 --measures f1,vital_score --json scores.json
  nuggeteer score build-103 --record --label 4f2c1ab
  nuggeteer score build-103 --audited
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a name or a file (default: all runs)")
    parser.add_argument(
        "--measures",
        metavar="NAMES",
        help="with commas between: f3 (any β), recall, precision, pyramid_f3, macro_f3, AutoNuggetizer's "
        "six: vital_score, weighted_score, all_score, each also strict_... (default: f3 to macro_f3)",
    )
    parser.add_argument("--questions", action="store_true", help="show every question's scores too")
    parser.add_argument("--nuggets", action="store_true", help="show every nugget: found, known or guessed, where")
    parser.add_argument("--audited", action="store_true", help="add what audits prove (nuggeteer judge RUN --audit N)")
    parser.add_argument("--record", action="store_true", help="keep the runs, as scored, for nuggeteer history")
    parser.add_argument("--label", metavar="TEXT", help="what to record them under: a commit, a build number")
    options.collection(parser)
    options.report(parser)
    options.seed(parser)
    options.jobs(parser)


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.measures import DEFAULT
    from nuggeteer.scoring.scorer import Scorer

    if args.label is not None and not args.record:
        raise NuggeteerError("--label is for what is recorded; add --record")
    collection = options.read(args)
    measures = args.measures.split(",") if args.measures else DEFAULT
    names = args.runs or collection.run_names
    if not names:
        raise NuggeteerError(f"{collection.root}: there are no runs here; put them in runs/, or name a file")
    runs = [collection.run(name) for name in names]
    scorer = Scorer(collection, measures, seed=args.seed, jobs=args.jobs)
    audits = []
    readings: Iterable[Reading] = map(scorer.read, runs)
    if args.audited:
        from nuggeteer.judging.audits import audit

        readings = list(readings)
        if not args.runs:  # those that have one
            readings = [reading for reading in readings if audit.find_audit(scorer, reading)]
            if not readings:
                raise NuggeteerError("no run has an audit; draw one with nuggeteer judge RUN --audit 100")
        audits = [audit.audit_result(scorer, reading, scorer.measures) for reading in readings]
    result = scorer.scores(map(scorer.score, readings))
    if not result.measures:
        raise NuggeteerError(f"{args.measures}: these nuggets have no votes or weights to measure it by")
    options.tell(collection.problems)
    if args.record:
        from nuggeteer.history.store import History

        history = History.of(collection.root)
        recorded = history.record(result, args.label)
    if args.json:
        from nuggeteer.reports import as_json

        data = as_json.scores(result)
        if args.audited:
            from nuggeteer.reports.audit import audit_as_json

            for one, audited in zip(data["runs"], audits, strict=True):
                one["audited"] = audit_as_json(audited)
        if args.record:
            data["recorded"] = as_json.recorded(recorded)
        options.write_json(args.json, data)
    if args.json != "-":
        from nuggeteer.reports import terminal

        out = terminal.console()
        terminal.scores(out, result)
        if args.audited:
            from nuggeteer.reports import audit as report

            report.audits(out, audits)
        for one in result.runs:
            if args.questions:
                terminal.questions(out, result, one)
            if args.nuggets:
                terminal.nuggets(out, result, one)
        if args.record:
            from nuggeteer.reports.history import recorded as tell_recorded

            tell_recorded(out, recorded, str(history.path))
    return 0
