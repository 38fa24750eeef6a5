"""`nuggeteer simulate`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "write a made-up collection of any size, for which the truth is known"
EXAMPLES = """\
  nuggeteer simulate made-up
  nuggeteer simulate trec-sized --questions 75 --systems 60 --judged 59
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    natural, positive = options.natural, options.positive
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    parser.add_argument("--questions", type=positive, metavar="N", default=50, help="how many questions (default: 50)")
    parser.add_argument(
        "--nuggets", type=positive, metavar="N", default=10, help="how many nuggets for each question (default: 10)"
    )
    parser.add_argument("--systems", type=positive, metavar="N", default=10, help="how many systems (default: 10)")
    parser.add_argument(
        "--judged", type=natural, metavar="N", help="how many systems were judged (default: all but one)"
    )
    parser.add_argument(
        "--responses",
        type=positive,
        metavar="N",
        default=20,
        help="how many responses from each system to each question (default: 20)",
    )
    parser.add_argument(
        "--words", type=positive, metavar="N", default=20, help="how many words in each response (default: 20)"
    )
    parser.add_argument(
        "--difficulty",
        type=float,
        metavar="SHARE",
        default=0.3,
        help="the share of a nugget's words that are paraphrased (default: 0.3)",
    )
    parser.add_argument(
        "--judge-error", type=float, metavar="SHARE", default=0.0, help="the share of wrong verdicts (default: 0)"
    )
    options.add(parser, "--seed")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.simulation import Shape, simulate

    shape = Shape(
        questions=args.questions,
        nuggets=args.nuggets,
        systems=args.systems,
        judged=args.systems - 1 if args.judged is None else args.judged,
        responses=args.responses,
        words=args.words,
        difficulty=args.difficulty,
        judge_error=args.judge_error,
    )
    simulate(args.folder, shape, args.seed)
    total = shape.questions * shape.systems * shape.responses
    output.say(f"{args.folder}: {shape.questions} questions, {shape.systems} systems, {total} responses")
    return 0
