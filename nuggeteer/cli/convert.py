"""`nuggeteer convert`"""

from __future__ import annotations

import argparse
from pathlib import Path

from nuggeteer.cli import options, output

SUMMARY = "bring other formats into a collection, or write a collection in other formats"
EXAMPLES = """\
  nuggeteer convert trec-key t12.def_answers.txt --into my-collection
  nuggeteer convert trec-key pyramid.txt --into my-collection \\
      --columns qid,nugget,importance,text,votes
  nuggeteer convert trec-judgements j.txt --into my-collection \\
      --columns qid,run,docid,rank,nuggets,text --by-institution
  nuggeteer convert nuggetizer-assignments assignments.jsonl --into rag
  nuggeteer convert nuggetizer-assignments one.jsonl two.jsonl --into rag \\
      --as-truth
  nuggeteer convert rag-answers --collection rag --run my-run --out my-run.jsonl
  nuggeteer convert qa tonight.csv --into rag --run build-104
  nuggeteer convert qa bot.csv --into rag --columns question=Ask,answer=Reply
  nuggeteer convert nugget-rows --collection rag --out nuggets.csv
  nuggeteer convert annotation first.txt --out first.jsonl

formats:
  trec-key                TREC QA answer key
  trec-run                TREC QA run
  trec-judgements         TREC QA judgement file
  nuggetizer-nuggets      AutoNuggetizer nuggets
  nuggetizer-assignments  AutoNuggetizer assignments
  rag-answers             answers of TREC RAG, RAGTIME, NeuCLIR or DRAGUN
  nugget-bank             NuggetBanks of TREC Auto-Judge (autojudge-base)
  rubrics                 weighted criteria, as ResearchRubrics has them
  label-studio            annotations of Label Studio, and tasks for it
  argilla                 records of Argilla
  promptfoo               promptfoo's results, from JSON or JSON Lines
  inspect                 Inspect's log, .eval or JSON
  nugget-rows             nuggets in rows (CSV, TSV, JSON, JSON Lines)
  qa                      questions and answers in rows (CSV, TSV, JSON, JSON
                          Lines): yours, RAGAS's, DeepEval's
  annotation              snippets with nuggets marked: .txt ([[brackets]]),
                          .jsonl (offsets) or a folder (brat), by their names
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", metavar="FORMAT", help="see below; with --into it may be left out")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="files to read")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--into", type=Path, metavar="DIR", help="add them to the collection in DIR")
    where.add_argument("--out", type=Path, metavar="FILE", help="write the collection's key or run to FILE")
    parser.add_argument("--run", metavar="NAME", help="the run to write; or what to call the run that is read")
    parser.add_argument(
        "--as-truth",
        action="store_true",
        help="score by these verdicts of a machine as if people had given them; every report then says so",
    )
    parser.add_argument(
        "--columns",
        metavar="NAMES",
        help="the columns of a TREC file, or ROLE=COLUMN of rows (qa), separated by commas",
    )
    parser.add_argument(
        "--by-institution",
        action="store_true",
        help="of TREC's runs: those whose tags begin with the same letters (lcc05a, lcc05b) are one group",
    )
    options.add(parser, "--collection", "--json")


def run(args: argparse.Namespace) -> int:
    from collections import Counter

    from nuggeteer.collection.convert import convert_into, convert_out, losses
    from nuggeteer.collection.foreign import ALIASES, FORMATS, common_format, format_of
    from nuggeteer.collection.names import is_file
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.reports import foreign_files

    if args.format == "annotation":
        return _annotation(args)
    if args.out:
        if args.as_truth:
            raise NuggeteerError("--as-truth goes with --into: it says what the verdicts of a file are")
        if args.by_institution:
            raise NuggeteerError("--by-institution goes with --into: it says which runs are a group")
        if args.files:
            raise NuggeteerError("with --out, leave out FILE: it writes the collection that --collection names")
        from nuggeteer.collection.folder import read_collection
        from nuggeteer.collection.names import find_collection

        folder = args.collection or find_collection()
        written = convert_out(args.format, folder, args.out, args.run)
        lost = losses(args.format, folder, args.out, args.run) if is_file(args.out) else Counter[str]()
        if format_of(args.format).machine and (machine := len(read_collection(folder).machine)):
            lost["verdicts of machines, which are not the standard here"] = machine
        output.show_with(args, foreign_files.written_as_json, foreign_files.draw_written, args.out, written, lost)
        return 0
    if args.format not in (*FORMATS, *ALIASES) and is_file(Path(args.format)):
        args.files = [Path(args.format), *args.files]
        args.format = common_format(args.files)
        output.tell(args, f"format: {args.format} ({FORMATS[args.format].about})")
    if not args.files:
        raise NuggeteerError("name at least one file to read")
    columns = args.columns.split(",") if args.columns else None
    done = convert_into(args.format, args.files, args.into, columns, args.as_truth, args.run, args.by_institution)
    for one in done:
        output.warn(one.problems)
    output.show_with(args, foreign_files.conversions_as_json, foreign_files.draw_conversions, done)
    return 0


def _annotation(args: argparse.Namespace) -> int:
    from nuggeteer.collection.convert import convert_annotation
    from nuggeteer.errors import NuggeteerError

    if not args.out or len(args.files) != 1:
        raise NuggeteerError("convert annotation takes one FILE and --out FILE; it does not go into a collection")
    count, lost, problems = convert_annotation(args.files[0], args.out)
    output.warn(problems)
    output.say(f"{args.out}: {count} snippets")
    if lost:
        output.say(f"  without {', '.join(lost)}: the format has no place for them")
    return 0
