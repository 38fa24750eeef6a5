"""The entry point: which command, and which exit code. Commands with gates return theirs.

0 done; 1 a gate failed; 2 the input or the command line is wrong; 70 a bug in nuggeteer; 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from textwrap import wrap
from typing import Any, NoReturn

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.text import escaped, without_commands

# By what users do. Those of the first line are enough for most mornings.
GROUPS = {
    "each morning": ("nightly", "score", "diff", "history", "report"),
    "judging": ("judge", "ask", "plan", "agree"),
    "setting up": ("demo", "doctor", "convert", "check", "idf", "mcp"),
    "research": ("compare", "thresholds", "crossval", "experiment", "simulate"),
    "GALE": ("nuggetize", "distill"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
WIDTH, INDENT = 80, " " * 14  # columns
DESCRIPTION = """\
Nuggeteer decides which facts (nuggets) each answer of a question-answering
system contains: it reuses human judgements, guesses the rest from shared words
and from verdicts on similar texts, and scores runs with honest intervals.

Start with: nuggeteer demo
"""


class _Parser(argparse.ArgumentParser):
    """An error about a command's options shows that command's usage, and guesses what was meant."""

    def error(self, message: str) -> NoReturn:
        super().error(escaped(message))  # it may hold a file's name

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """As `parse_args`, which would show the usage of all commands."""
        first = arguments[0] if arguments else ""
        if first.startswith("-") and first not in self._option_string_actions:
            self.error(f"{first}: options stand after the command, as in nuggeteer score {first}")
        found, rest = self.parse_known_args(arguments)
        if rest:
            self._chosen(found.command).reject(next((one for one in rest if one.startswith("-")), rest[0]))
        return found

    def _chosen(self, command: str | None) -> _Parser:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and command:
                chosen: _Parser = action.choices[command]
                return chosen
        return self

    def reject(self, argument: str) -> NoReturn:
        """Say that there is no such option, or that an argument is one too many."""
        if argument.startswith("-"):
            option = argument.partition("=")[0]
            self.error(f"there is no option {option}; {did_you_mean(option, self._option_string_actions)}".rstrip("; "))
        self.error(f"{argument!r} is one argument too many")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            meant = did_you_mean(str(value), known) or "nuggeteer --help lists the commands"
            self.error(f"there is no command {str(value)!r}; {meant.strip()}")
        meant = did_you_mean(str(value), known)
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(known)}; {meant}".rstrip("; "))


def parser(names: Sequence[str] = COMMANDS) -> _Parser:
    """Reads the command lines of these commands."""
    modules = {name: import_module(f"nuggeteer.cli.{name}") for name in names}
    result = _Parser(
        prog="nuggeteer",
        usage="nuggeteer [-h] [--version] COMMAND ...",
        description=DESCRIPTION,
        epilog=_listed({name: module.SUMMARY for name, module in modules.items()}) if len(names) > 1 else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action="store_true", help="print the version and exit")
    commands = result.add_subparsers(dest="command", metavar="COMMAND", prog="nuggeteer", help=argparse.SUPPRESS)
    for name, module in modules.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}.",
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(command)
        command.set_defaults(perform=module.run)
    return result


def _listed(summaries: Mapping[str, str]) -> str:
    """All commands with what they do, by group."""
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"{title}:"]
        for name in names:
            first = f"  {name}".ljust(len(INDENT))
            lines += wrap(summaries[name], WIDTH, initial_indent=first, subsequent_indent=INDENT)
    return "\n".join(lines[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit code."""
    try:
        code = _command(argv)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        # A library in which an interrupt comes may make another error of it: numpy while it is imported, SQLite.
        if isinstance(error, KeyboardInterrupt) or _interrupts:
            _complain("nuggeteer: interrupted")
            return 130
        return _told(error)


def _told(error: Exception) -> int:
    """Say what went wrong; returns the exit code."""
    match error:
        case NuggeteerError():
            for line in str(error).split("\n"):
                _complain(f"nuggeteer: {escaped(line)}")
        case BrokenPipeError():
            return 0  # the reader stopped reading (`| head`)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            _complain(escaped(f"nuggeteer: {error}; make room on the disk to which the output goes"))
        case OSError():  # a folder that may not be entered
            _complain(escaped(f"nuggeteer: {error}"))
        case MemoryError():
            _complain(escaped(f"nuggeteer: this needs more memory than there is ({error})".replace(" ()", "")))
        case _:
            import traceback

            for line in traceback.format_exception(error):
                for part in line.splitlines():
                    _complain(escaped(part))
            _complain("nuggeteer: this is a bug in nuggeteer; please report it with the lines above")
            return 70
    return 2


_interrupts: list[int] = []


def _interrupt(number: int, frame: object) -> NoReturn:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _complain(line: str) -> None:
    """Print a line to standard error. Where that fails, as on a full disk, the exit code must still say what is
    wrong."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def _command(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else argv
    parse = parser(given[:1] if given and given[0] in COMMANDS else COMMANDS)  # of one command, if one is named
    try:
        args = parse.read(given)
    except SystemExit as stop:  # argparse has printed the error or the help
        return stop.code if isinstance(stop.code, int) else 2
    if args.version:
        from importlib.metadata import version

        print(f"nuggeteer {version('nuggeteer')}")
        return 0
    if args.command is None:
        parse.print_help()
        return 2
    code: int = args.perform(args)
    return code


class _Log(io.TextIOWrapper):
    """Output that a build server may read. Only here lines are whole: a text can be cut and wrapped after it was
    escaped."""

    def write(self, text: str) -> int:
        super().write(without_commands(text))
        return len(text)


def run() -> NoReturn:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background ignores it
        signal.signal(signal.SIGINT, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals without UTF-8
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it is closed
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            raw = os.fdopen(stream.fileno(), "wb", 0 if stream.write_through else -1, closefd=False)
            log = _Log(raw, stream.encoding, stream.errors, None, stream.line_buffering, stream.write_through)
            setattr(sys, name, log)
    # The matrices are small: a second thread of linear algebra, which is asked for before numpy is imported, costs more
    # than it saves.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A command keeps most of what it makes. Collecting garbage less often saves 5 to 10 % of its time.
    gc.set_threshold(50_000, 20, 100)
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would try it again when it leaves, and exit with 120
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
