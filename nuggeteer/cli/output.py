"""What commands write: their report, lines, warnings and how far they are."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from nuggeteer.errors import NuggeteerError, Problem, by_kind


class Report(Protocol):
    """A module of `nuggeteer.reports`."""

    as_json: Callable[..., dict[str, Any]]
    draw: Callable[..., None]


def show(args: argparse.Namespace, report: Report, *result: Any, **drawing: Any) -> None:
    """Write the result as JSON if the command line asks for it, and draw it unless JSON goes to standard output."""
    show_with(args, report.as_json, report.draw, *result, **drawing)


def show_with(
    args: argparse.Namespace,
    as_json: Callable[..., dict[str, Any]],
    draw: Callable[..., None],
    *result: Any,
    **drawing: Any,
) -> None:
    """The same of a report that has several results."""
    if args.json:
        write_json(args.json, as_json(*result))
    if args.json != "-":
        from nuggeteer.reports.terminal import console

        draw(console(), *result, **drawing)


def say(text: str) -> None:
    """Print a line, harmless whatever file or folder it names."""
    from nuggeteer.text import escaped

    print(escaped(text))


def tell(args: argparse.Namespace, *lines: str) -> None:
    """Print lines, unless JSON goes to standard output."""
    if args.json != "-":
        for line in lines:
            say(line)


def sign(args: argparse.Namespace, signature: str) -> None:
    """Print the signature if the command line asks for it, unless JSON goes to standard output."""
    if args.signature:
        tell(args, "", signature)


def warn(problems: Sequence[Problem]) -> None:
    """Write warnings to standard error: one line for each of the first ten kinds, with how many there are."""
    from nuggeteer.text import escaped

    kinds = by_kind(problems)
    for first, *others in kinds[:10]:
        more = f" ({len(others):,} more of this kind)" if others else ""
        print(escaped(f"warning: {first}{more}"), file=sys.stderr)
    if len(kinds) > 10:
        print(f"warning: ... and {len(kinds) - 10} more kinds; nuggeteer check lists them all", file=sys.stderr)


def write_json(where: str, data: dict[str, Any]) -> None:
    """Write JSON to a file, or with - to standard output."""
    import orjson

    from nuggeteer.formats.jsonl import write_file

    body = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if where == "-":
        sys.stdout.buffer.write(re.sub(r"[^\n -~]|#(?=#\w*\[)", _harmless, body.decode()).encode())
        sys.stdout.buffer.flush()
    else:
        write_file(Path(where), body)


def write_bytes(where: str, content: bytes) -> None:
    """Write a file, or with - to standard output. There, names are data for another program and cannot be escaped, so
    those that a terminal or a build server would obey are an error."""
    from nuggeteer.formats.jsonl import write_file
    from nuggeteer.text import escaped, without_commands

    if where == "-":
        for line in content.decode().split("\n"):
            cells = line.replace("\t", " ")
            if without_commands(escaped(cells)) != cells:
                what = "a terminal or a build server may take it for a command; write it to a file"
                raise NuggeteerError(f"{escaped(cells)!r:.120} is not written to standard output: {what}")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_file(Path(where), content)


def write_text(where: str, text: str) -> None:
    """Write a text to a file, or with - to standard output."""
    from nuggeteer.formats.jsonl import write_file

    if where == "-":
        sys.stdout.write(text)
    else:
        write_file(Path(where), text.encode())


def _harmless(char: re.Match[str]) -> str:
    """An escape that means the same to a reader of JSON, and nothing to a terminal or a build server."""
    if char[0] == "#":
        return r"\u0023"
    return char[0] if char[0].isprintable() else json.dumps(char[0])[1:-1]


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar, on a terminal only; call what it yields with how much is done, and of how much."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say on a terminal's standard error what takes a moment, for as long as it does."""
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def write_status(line: str) -> None:
    """Say on a terminal's standard error what is being done."""
    from nuggeteer.text import escaped

    if sys.stderr.isatty():
        print(escaped(line), file=sys.stderr)
