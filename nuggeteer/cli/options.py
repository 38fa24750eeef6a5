"""Options that several commands have, and what they mean."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuggeteer.collection.folder import Collection
    from nuggeteer.records import Run
    from nuggeteer.settings import JudgeSettings


def number(kind: type, good: Callable[[float], bool], wrong: str) -> Callable[[str], Any]:
    """Reads a number of this kind, if it is a good one."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = nan
        if not good(value):
            raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
        return value

    return read


natural = number(int, lambda value: value >= 0, "is not a whole number from 0 up")
positive = number(int, lambda value: value >= 1, "is not a whole number from 1 up")
width = number(float, lambda value: 0 < value < 2, "is not a width: give a number above 0 and below 2")
amount = number(float, lambda value: 0 < value < inf, "is not a number above 0")


SHARED: Mapping[str, Mapping[str, Any]] = {
    "--collection": {
        "type": Path,
        "metavar": "DIR",
        "help": "the collection's folder (default: the nearest folder upwards with a nuggets.jsonl)",
    },
    "--allow-empty": {"action": "store_true", "help": "score a run even if it answers nothing (default: an error)"},
    "--model": {
        "metavar": "NAME",
        "dest": "deciding_model",
        "help": "use this threshold model instead of the one in nuggeteer.toml; package.module:make runs code of yours",
    },
    "--measure": {"metavar": "NAME", "help": "the score whose interval to narrow (default: f3; rubric for a rubric)"},
    "--json": {"metavar": "FILE", "help": "write the results as JSON to FILE, or with - to standard output"},
    "--signature": {"action": "store_true", "help": "print also what the scores depend on, in one line"},
    "--markdown": {
        "metavar": "FILE",
        "help": "write a summary in GitHub's Markdown to FILE, or with - to standard output",
    },
    "--junit": {"type": Path, "metavar": "FILE", "help": "write gates and vital nuggets lost as JUnit XML"},
    "--seed": {"type": natural, "default": 0, "help": "the seed of the random numbers (default: 0)"},
    "--jobs": {"type": positive, "default": 1, "help": "how many worker processes to use (default: 1)"},
    "--backend": {
        "choices": ("loky", "dask"),
        "default": "loky",
        "help": "where workers run (default: loky, on this machine)",
    },
    "--scheduler": {"metavar": "ADDRESS", "help": "the address of the Dask cluster, for example tcp://host:8786"},
}


def add(parser: argparse._ActionsContainer, *names: str) -> None:
    """Add options that mean the same in several commands."""
    for name in names:
        parser.add_argument(name, **SHARED[name])


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse to write both JSON and Markdown to standard output."""
    from nuggeteer.errors import NuggeteerError

    if args.json == "-" and args.markdown == "-":
        raise NuggeteerError("--json and --markdown cannot both go to standard output; name a file for one")


@contextmanager
def workers(args: argparse.Namespace) -> Iterator[None]:
    """Run work where the command line says: in processes on this machine, or on a Dask cluster."""
    from nuggeteer.errors import NuggeteerError

    if (args.backend == "dask") != (args.scheduler is not None):
        raise NuggeteerError("--backend dask needs --scheduler ADDRESS, and --scheduler needs --backend dask")
    if args.backend != "dask":
        yield
        return
    try:
        connect: Any = import_module("distributed").Client
    except ImportError as error:
        raise NuggeteerError("--backend dask needs the package distributed: install nuggeteer[dask]") from error
    from joblib import parallel_config

    try:
        client = connect(args.scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise NuggeteerError(f"{args.scheduler}: no Dask scheduler answers there: {error}") from error
    with client, parallel_config(backend="dask"):
        yield


def conditions(text: str) -> tuple[str, ...]:
    """Some of the conditions of texts, each once."""
    from nuggeteer.formats.annotation import CONDITIONS

    names = tuple(part.strip() for part in text.split(","))
    if not set(names) <= set(CONDITIONS) or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of {', '.join(sorted(CONDITIONS))}, separated by commas"
        )
    return names


def judge(collection: Collection, name: str | None) -> JudgeSettings:
    """The judge of that name; without a name, the only one."""
    judges = collection.settings.judges
    return collection.settings.judge(name or (judges[0].name if len(judges) == 1 else "NAME"))


def read(args: argparse.Namespace) -> Collection:
    """The collection that the command line names, or the nearest one."""
    from nuggeteer.collection.folder import read_collection
    from nuggeteer.collection.names import find_collection

    found = read_collection(args.collection or find_collection(), getattr(args, "allow_empty", False))
    by_pymc = "pymc" in (found.settings.threshold.engine, getattr(args, "engine", None))
    if by_pymc and args.command != "judge":  # its screen is the application's
        from nuggeteer.cli import output
        from nuggeteer.scoring.sampling import progress

        progress.set(output.progress)
    name = getattr(args, "deciding_model", None)
    return found if name is None else _decided_by(found, name)


def _decided_by(collection: Collection, model: str) -> Collection:
    """The collection, with this threshold model in place of that of its settings. Naming code on the command line lets
    it run, in worker processes too."""
    from nuggeteer.settings import ALLOWED_MODELS, Threshold, allow

    allow(ALLOWED_MODELS, model)
    return collection.with_settings(threshold=Threshold(model, value=collection.settings.threshold.value))


def moment(text: str) -> str:
    """A time, in UTC unless it says otherwise, as verdicts have it."""
    from datetime import UTC

    from nuggeteer import fields

    if (time := fields.moment(text)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write 2026-11-18 or 2026-11-18T09:30Z")
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def matched_by(collection: Collection, matcher: str | None, judges: str | None = None) -> Collection:
    """The collection, with `matcher` and `judges` (names or files in it, separated by commas) in place of those in its
    settings. Who names code on the command line allows it to run."""
    from dataclasses import replace

    from nuggeteer.settings import ALLOWED_MATCHERS, allow, judge_files

    match = collection.settings.match
    if matcher is not None:
        allow(ALLOWED_MATCHERS, matcher)
        match = replace(match, matcher=matcher)
    if judges is not None:
        match = replace(match, judges=judge_files(collection.root, filter(None, judges.split(","))))
    return collection.with_settings(match=match)


def old_run(collection: Collection, new: str, old: str) -> Run:
    """The run that `--against` names: a run or a file, or a recorded build by its name or label."""
    from nuggeteer.history.ruling import find_old_run
    from nuggeteer.history.store import History

    return find_old_run(collection, History.of(collection.root), collection.run(new), old).run
