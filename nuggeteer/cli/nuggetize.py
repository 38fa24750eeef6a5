"""`nuggeteer nuggetize`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nuggeteer.cli import options, output

if TYPE_CHECKING:
    from nuggeteer.errors import Problem
    from nuggeteer.formats.annotation import Snippet
    from nuggeteer.gale.nuggetizer import Nuggetizer
    from nuggeteer.gale.templates import Template

SUMMARY = "cut text into typed nuggets; score, count or propose with them"
EXAMPLES = """\
  nuggeteer nuggetize snippets.txt
  nuggeteer nuggetize snippets.txt \\
      --template "WHERE HAS [Chen Yunlin] BEEN AND WHEN?"
  nuggeteer nuggetize snippets.txt --out automatic.jsonl
  nuggeteer nuggetize --corrected corrected.txt
  nuggeteer nuggetize --score judged.jsonl
  nuggeteer nuggetize --score judged.jsonl --by language,medium
  nuggeteer nuggetize good-answer.txt --propose proposed.jsonl --question q9
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="one text per line, or .jsonl with the key text; - is standard input; with --propose also runs",
    )
    parser.add_argument(
        "--template",
        metavar="QUERY",
        help="keep only nuggets that answer QUERY: a template's name, or a query with its arguments in brackets",
    )
    parser.add_argument("--templates", type=Path, metavar="FILE", help="your own templates (TOML)")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="a spaCy model of English, or its folder (default: the largest installed of en_core_web_lg, _md and _sm)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the nuggets as an annotation, for a human to edit"
    )
    parser.add_argument(
        "--corrected", type=Path, metavar="FILE", help="compare with this annotation, which a human has corrected"
    )
    parser.add_argument(
        "--score", type=Path, metavar="FILE", help="compute precision and recall of these judged snippets"
    )
    parser.add_argument(
        "--by",
        type=options.conditions,
        metavar="LIST",
        help="with --score: also the means of each cell of these: language, medium, structure, separated by commas",
    )
    parser.add_argument(
        "--propose", type=Path, metavar="FILE", help="write nuggets proposed from good answers, for a human to edit"
    )
    parser.add_argument("--question", metavar="QID", help="with --propose: the question that the texts answer")
    options.add(parser, "--collection", "--json")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError

    if sum(map(bool, (args.out, args.corrected, args.score, args.propose))) > 1:
        raise NuggeteerError("--out, --corrected, --score and --propose do different things; keep one of them")
    target = args.out or args.propose
    if target and target.exists():
        raise NuggeteerError(f"{target}: exists already, and somebody may have edited it; name another file")
    named = args.score or args.corrected
    if bool(args.files) == bool(named):
        raise NuggeteerError("name a file of texts, or - for standard input" if not named else f"name {named} only")
    if args.question and not args.propose:
        raise NuggeteerError("--question goes with --propose")
    if args.by and not args.score:
        raise NuggeteerError("--by goes with --score")
    if args.score and args.template:
        raise NuggeteerError(f"{args.score} names its own templates; leave out --template")
    if args.score:
        return _score(args)
    if args.corrected:
        return _corrected(args)
    return _propose(args) if args.propose else _cut(args)


def _nuggetizer(args: argparse.Namespace) -> Nuggetizer:
    from nuggeteer.gale.nuggetizer import Nuggetizer

    return Nuggetizer(args.model)


def _templates(args: argparse.Namespace) -> tuple[dict[str, Template], Template | None]:
    """All templates, and the one that is asked for."""
    from nuggeteer.gale.templates import find_template, read_templates

    templates = read_templates(args.templates)
    return templates, None if args.template is None else find_template(args.template, templates)


def _read(names: list[str], problems: list[Problem]) -> list[Snippet]:
    from nuggeteer.formats.snippets import read_texts

    return [one for name in names for one in read_texts(Path("/dev/stdin" if name == "-" else name), problems)]


def _cut(args: argparse.Namespace) -> int:
    from nuggeteer.formats.annotation_files import write_snippets
    from nuggeteer.gale.automatic import cut
    from nuggeteer.reports import automatic_nuggets

    problems: list[Problem] = []
    templates, template = _templates(args)
    texts = _read(args.files, problems)
    nuggetizer = _nuggetizer(args)
    found = cut(texts, nuggetizer, templates, template)
    output.warn(problems)
    if args.out:
        lost = write_snippets(args.out, [one.annotation for one in found])
        for what in lost:
            output.say(f"{args.out}: this format has no place for {what}")
    output.show(args, automatic_nuggets, found, nuggetizer.name)
    return 0


def _corrected(args: argparse.Namespace) -> int:
    from nuggeteer.formats.annotation_files import read_snippets
    from nuggeteer.gale.automatic import compare, cut
    from nuggeteer.reports import automatic_nuggets

    problems: list[Problem] = []
    templates, template = _templates(args)
    snippets = read_snippets(args.corrected, problems)
    nuggetizer = _nuggetizer(args)
    result = compare(cut(snippets, nuggetizer, templates, template), nuggetizer.name)
    output.warn(problems)
    output.show_with(args, automatic_nuggets.corrections_as_json, automatic_nuggets.draw_corrections, result)
    return 0


def _score(args: argparse.Namespace) -> int:
    from nuggeteer.formats.snippets import read_judged
    from nuggeteer.gale.automatic import score
    from nuggeteer.reports import automatic_scores

    problems: list[Problem] = []
    templates, _ = _templates(args)
    snippets, asked = read_judged(args.score, problems)
    result = score(snippets, asked, _nuggetizer(args), templates, args.by or ())
    output.warn(problems)
    output.show(args, automatic_scores, result)
    return 0


def _propose(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError, Problem
    from nuggeteer.formats.canonical import as_line
    from nuggeteer.formats.jsonl import write_jsonl
    from nuggeteer.gale.parser import NoParser
    from nuggeteer.gale.proposal import as_nuggets, propose
    from nuggeteer.reports import automatic_nuggets

    if args.propose.name == "nuggets.jsonl":
        raise NuggeteerError(
            f"{args.propose}: name another file; a human edits the proposals before they become nuggets"
        )
    problems: list[Problem] = []
    _, template = _templates(args)
    answers = _answers(args, problems)
    nuggetizer = None
    try:
        nuggetizer = _nuggetizer(args)
    except NoParser as error:
        if args.model or template:
            raise
        problems.append(
            Problem(
                "nuggetize",
                None,
                f"no parser: {error}",
                "install one to get clauses; until then, sentences are proposed",
                "warning",
            )
        )
    found = propose(answers, nuggetizer, template)
    if not found:
        raise NuggeteerError("these answers hold no fact to propose")
    write_jsonl(args.propose, map(as_line, as_nuggets(found)))
    output.warn(problems)
    model = nuggetizer.name if nuggetizer else None
    output.show_with(
        args,
        automatic_nuggets.candidates_as_json,
        automatic_nuggets.draw_candidates,
        found,
        model,
        file=str(args.propose),
    )
    return 0


def _answers(args: argparse.Namespace, problems: list[Problem]) -> list[Snippet]:
    """The texts of files and runs, each with its question."""
    from dataclasses import replace

    from nuggeteer.errors import InputError, NuggeteerError

    found = []
    for name in args.files:
        path = _run_or_file(args, name)
        for one in _read([path], problems):
            run = {"run": Path(path).stem} if one.qid is not None else {}
            if one.qid is None and args.question is None:
                raise InputError([one.problem("which question does this text answer?", "name it with --question QID")])
            if args.question in (None, one.qid) or one.qid is None:
                found.append(replace(one, qid=one.qid or args.question, extra={**run, **one.extra}))
    if not found:
        raise NuggeteerError(f"no answer to {args.question} in {', '.join(args.files)}")
    return found


def _run_or_file(args: argparse.Namespace, name: str) -> str:
    """The name of a file, or of the file of a run in the collection."""
    if name == "-" or Path(name).is_file():
        return name
    from nuggeteer.collection.names import find_collection
    from nuggeteer.errors import NuggeteerError

    try:
        root = args.collection or find_collection()
    except NuggeteerError:
        return name
    run = root / "runs" / f"{name}.jsonl"
    return str(run) if run.is_file() else name
