"""`nuggeteer distill`"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.errors import Problem
    from nuggeteer.formats.annotation import Snippet
    from nuggeteer.formats.distillation import NumberedLine
    from nuggeteer.gale.annotated import AnnotatedAnswers

SUMMARY = "score distillers, from annotated answers or from nugs"
EXAMPLES = """\
  nuggeteer distill --example
  nuggeteer distill A.txt B.txt --density auto --words 500 --propose nugs.jsonl
  nuggeteer distill nugs.jsonl --by language,medium,structure
  nuggeteer distill A.txt B.txt --density auto --unchecked
  nuggeteer distill gale.jsonl --documents cited --json gale-scores.json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="files of one evaluation (docs/reference/files.md), or annotated answers: [[double brackets]] (.txt), "
        "offsets (.jsonl) or brat's (a folder)",
    )
    parser.add_argument("--example", action="store_true", help="also read the two queries of White et al. 2008")
    parser.add_argument(
        "--prior",
        type=prior,
        metavar="R,W,M,O",
        help="counts added to right, wrong, missing and other in the Bayesian tables (default: 1,1,1,1)",
    )
    parser.add_argument(
        "--propose",
        type=Path,
        metavar="NEW",
        help="put nuggets that are in no nug into proposed nugs, and write them to NEW",
    )
    parser.add_argument(
        "--unchecked", action="store_true", help="score proposed nugs, although nobody has checked them"
    )
    parser.add_argument(
        "--density",
        metavar="FILE",
        help="count how many characters of irrelevant text hold a nug, for each distiller: in an annotation of such "
        "text, or with auto in the answers' snippets without nuggets, by the nuggetizer",
    )
    parser.add_argument(
        "--words",
        type=options.positive,
        metavar="COUNT",
        help="count only the first COUNT words of each annotated answer (GALE: 500)",
    )
    parser.add_argument(
        "--by",
        type=options.conditions,
        metavar="LIST",
        help="also score the queries of each cell of these: language, medium, structure, separated by commas",
    )
    parser.add_argument(
        "--documents",
        type=Path,
        metavar="PATH",
        help="check citations against the documents: a folder of DOCID.txt, or .jsonl with docid and text",
    )
    options.add(parser, "--json")


def prior(text: str) -> tuple[float, ...]:
    """Four numbers from 0."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) != 4 or not all(math.isfinite(value) and value >= 0 for value in values):
        raise argparse.ArgumentTypeError(f"{text!r} is not four numbers from 0 up, separated by commas")
    return values


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from nuggeteer.errors import NuggeteerError, fail
    from nuggeteer.formats.annotation_files import is_annotation
    from nuggeteer.formats.distillation import read_distillation, write_distillation
    from nuggeteer.gale.citations import check_citations, read_documents
    from nuggeteer.gale.distillation import EXAMPLE, PRIOR, by_conditions, distill
    from nuggeteer.gale.nugs import accept, propose
    from nuggeteer.reports import distillation

    files = [*([EXAMPLE] if args.example else []), *args.files]
    if not files:
        raise NuggeteerError("name a file of nuggets and nugs, or annotated answers, or try --example")
    if args.propose and args.propose.exists():
        raise fail(args.propose, "exists already, and may hold somebody's work", "name a new file")
    if args.propose and (args.unchecked or args.by or args.documents):
        raise NuggeteerError("--propose writes nugs and scores nothing; leave out --unchecked, --by and --documents")
    annotations = [path for path in files if is_annotation(path)]
    lines, notes = _annotated(args, annotations)
    evaluations = [path for path in files if path not in annotations]
    ready = args.propose is None and not args.unchecked
    evaluation = read_distillation(evaluations, ready, lines)
    output.warn(evaluation.problems)
    if args.propose:
        proposed = propose(evaluation)
        write_distillation(args.propose, proposed.distillation)
        output.show_with(
            args, distillation.proposal_as_json, distillation.draw_proposal, proposed, file=str(args.propose)
        )
        output.tell(args, *notes)
        return 0
    if args.unchecked:
        evaluation, count = accept(evaluation)
        notes.append(f"{count:,} nugs are only proposed, by their words: nobody has checked them.")
    result = replace(distill(evaluation, args.prior or PRIOR), remarks=tuple(notes))
    cells = by_conditions(evaluation, args.by, args.prior or PRIOR) if args.by else []
    citations = check_citations(evaluation, read_documents(args.documents)) if args.documents else None
    output.show(args, distillation, result, cells, citations)
    return 0


def _annotated(args: argparse.Namespace, paths: list[Path]) -> tuple[list[NumberedLine], list[str]]:
    """The lines of the evaluation that the annotated answers hold, with the density of their irrelevant text."""
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.formats.annotation_files import read_snippets
    from nuggeteer.gale.annotated import annotated_answers, densities

    if not paths:
        if args.density or args.words:
            raise NuggeteerError("--density and --words are about annotated answers; name their files")
        return [], []
    problems: list[Problem] = []
    answers = annotated_answers([(path, read_snippets(path, problems)) for path in paths])
    output.warn(problems)
    lines, notes = answers.lines(args.words)
    if args.density:
        counted, more = densities(_irrelevant(args.density, answers))
        lines, notes = lines + counted, notes + more
    return lines, notes


def _irrelevant(density: str, answers: AnnotatedAnswers) -> list[Snippet]:
    """Irrelevant text with its nuggets: from an annotation, or nuggetized."""
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.formats.annotation_files import read_snippets

    if density != "auto":
        problems: list[Problem] = []
        path = Path(density)
        return [*_of_distillers(path, read_snippets(path, problems))]
    from nuggeteer.gale.automatic import cut
    from nuggeteer.gale.nuggetizer import Nuggetizer
    from nuggeteer.gale.templates import read_templates

    if not answers.irrelevant:
        raise NuggeteerError("--density auto: every snippet has nuggets, so there is no irrelevant text to count in")
    return [one.annotation for one in cut(answers.irrelevant, Nuggetizer(), read_templates())]


def _of_distillers(path: Path, snippets: list[Snippet]) -> list[Snippet]:
    from dataclasses import replace

    return [replace(snippet, distiller=snippet.distiller or path.resolve().stem) for snippet in snippets]
