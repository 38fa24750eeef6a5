"""`nuggeteer score`"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NoReturn

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.measures.base import Measure
    from nuggeteer.scoring.matched_run import MatchedRun

SUMMARY = "score one or more runs: F with its interval, recall, precision, pyramids"
EXAMPLES = """\
  nuggeteer score build-102 build-103
  nuggeteer score runs/tonight.jsonl --questions
  nuggeteer score build-103 --measures f1,vital_score --json scores.json
  nuggeteer score build-103 --record --label 4f2c1ab
  nuggeteer score build-103 --audited
  nuggeteer score --leaderboard scores.tsv --measures f3,all_score
"""
WIDTH = 79
_LABELS = ("formula", "edge cases", "source")


class _HelpMeasures(argparse.Action):
    """Works as --help does: nothing is scored, whatever else stands on the command line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(describe_measures())
        parser.exit()


def describe_measures() -> str:
    """Every measure with its formula, its edge cases and its source."""
    from nuggeteer.measures import ALL, FAMILIES

    families = ", ".join(f"{name}1" for name in FAMILIES)
    heading = wrap(f"The F measures below use β = 3; for another β, put it at the end of the name: {families}.", WIDTH)
    heading += wrap("Only rubric and strict_rubric count what is forbidden; the others leave it out.", WIDTH)
    return "\n".join([*heading, *(line for measure in ALL for line in ("", *_describe(measure)))])


def _describe(measure: Measure) -> Iterator[str]:
    yield measure.name
    indent = " " * (len(max(_LABELS, key=len)) + 4)
    for label, text in zip(_LABELS, (measure.formula, measure.edge_cases, measure.citation), strict=True):
        start = f"  {label}".ljust(len(indent))
        yield from wrap(text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a name or a file (default: all runs)")
    parser.add_argument(
        "--measures",
        metavar="NAMES",
        help="separated by commas: f3 (any β), recall, precision, pyramid_f3, macro_f3, rubric, "
        "AutoNuggetizer's vital_score, weighted_score, all_score; rubric and these three also strict_... "
        "(default: f3 to macro_f3; for a rubric, rubric first)",
    )
    parser.add_argument("--help-measures", action=_HelpMeasures, help="explain every measure and exit")
    parser.add_argument("--questions", action="store_true", help="show every question's scores too")
    parser.add_argument(
        "--nuggets",
        action="store_true",
        help="show every nugget: whether it was found, whether that is known, and where",
    )
    parser.add_argument(
        "--audited", action="store_true", help="add the scores that audits prove (nuggeteer judge RUN --audit N)"
    )
    parser.add_argument("--record", action="store_true", help="keep the runs and their scores for nuggeteer history")
    parser.add_argument(
        "--label", metavar="TEXT", help="a name for the recorded build, such as a commit or a build number"
    )
    parser.add_argument(
        "--leaderboard",
        metavar="FILE",
        help="write every score as a line for ir_measures and TREC Auto-Judge, or as a table to a FILE.csv",
    )
    options.add(parser, "--allow-empty", "--model", "--collection", "--json", "--signature", "--seed", "--jobs")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.runs import NO_ANSWER, NO_WORDS
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.measures import DEFAULT
    from nuggeteer.reports import scores
    from nuggeteer.scoring.scorer import Scorer

    if args.label is not None and not args.record:
        raise NuggeteerError("--label names a recorded build; add --record")
    collection = options.read(args)
    measures = args.measures.split(",") if args.measures else DEFAULT
    names = args.runs or collection.run_names
    if not names:
        raise NuggeteerError(f"{collection.root}: there are no runs here; put them in runs/, or name a file")
    runs = [collection.run(name) for name in names]
    scorer = Scorer(collection, measures, seed=args.seed, jobs=args.jobs)
    audits = []
    matched_runs: Iterable[MatchedRun] = map(scorer.read, runs)
    if args.audited:
        from nuggeteer.judging.audits import audit

        matched_runs = list(matched_runs)
        if not args.runs:  # those that have one
            matched_runs = [matched for matched in matched_runs if audit.find_audit(scorer, matched)]
            if not matched_runs:
                raise NuggeteerError("no run has an audit; draw one with nuggeteer judge RUN --audit 100")
        audits = [audit.audit_result(scorer, matched, scorer.measures) for matched in matched_runs]
    result = scorer.scores(map(scorer.score, matched_runs))
    told: tuple[str, ...] = () if args.json == "-" else (NO_ANSWER, NO_WORDS)  # under the table
    output.warn([problem for problem in collection.problems if not problem.what.startswith(told)])
    recorded = []
    if args.record:
        from nuggeteer.history.store import History

        history = History.of(collection.root)
        output.warn(history.problems)
        recorded = history.record(result, args.label)
    if args.leaderboard:
        content, undefined = scores.leaderboard(result, args.leaderboard.endswith(".csv"))
        output.write_bytes(args.leaderboard, content)
        if undefined and args.leaderboard != "-":
            output.tell(args, f"{args.leaderboard}: without {undefined:,} undefined scores")
    if args.json:
        output.write_json(args.json, scores.as_json(result, audits, recorded if args.record else None))
    if args.json != "-":
        from nuggeteer.reports.terminal import console

        out = console()
        scores.draw(out, result)
        if args.audited:
            scores.draw_audits(out, audits)
        for run_score in result.runs:
            if args.questions:
                scores.draw_questions(out, result, run_score)
            if args.nuggets:
                scores.draw_nuggets(out, result, run_score)
        if args.record:
            scores.draw_recorded(out, recorded, str(history.path))
        output.sign(args, result.signature)
    return 0
