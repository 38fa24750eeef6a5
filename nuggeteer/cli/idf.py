"""`nuggeteer idf`"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from nuggeteer.cli import output

SUMMARY = "count a corpus into a table of word weights for the matcher"
EXAMPLES = """\
  nuggeteer idf news.txt --out my-collection/news.idf
  nuggeteer idf docs/*.jsonl --out my-collection/docs.idf
  nuggeteer idf news.txt --language de --out my-collection/german.idf
then, in my-collection/nuggeteer.toml:
  [match]
  idf = "news.idf"
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="text with one document per line, or .jsonl with the key text",
    )
    parser.add_argument(
        "--language",
        default="en",
        metavar="CODE",
        help="the language of the documents, as in [match] language (default: en)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="TABLE", help="the table to write")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.errors import NuggeteerError, Problem, stop_at_errors
    from nuggeteer.formats.toml_settings import wrong_setting
    from nuggeteer.matching.idf import read_documents, write_table
    from nuggeteer.settings import Match

    if wrong := wrong_setting("language", args.language, Match().language):
        raise NuggeteerError(f"--language is {args.language!r}; {wrong}")

    problems: list[Problem] = []

    def documents() -> Iterator[str]:
        yield from read_documents(args.files, problems)
        stop_at_errors(problems)

    count, words = write_table(args.out, documents(), args.language)
    output.warn(problems)
    output.say(f"{args.out}: {words} words from {count} documents")
    return 0
