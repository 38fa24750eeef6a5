"""What a file is, what it holds, and what can be done with it now.

A file is one of our own, or in a format that can be converted, or of no known kind. It is read whole, so that its
faults are known before anything is written. `broken` says whether it can be read, not whether its kind is known.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from nuggeteer.collection.checking import check
from nuggeteer.collection.convert import counts_of, understood
from nuggeteer.collection.foreign import FORMATS, Format, recognised
from nuggeteer.collection.names import find_collection, holds_key, run_files
from nuggeteer.collection.own_files import OWN_FILES, Step, own_kind
from nuggeteer.errors import InputError, NuggeteerError, Problem, errors_in
from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import bare_name
from nuggeteer.formats.objects import Opening, open_file, read_objects

# Files that lie where a collection has them, and folders of such files.
IN_PLACE = (
    "nuggets.jsonl",
    "questions.jsonl",
    "runs.jsonl",
    "proposals.jsonl",
    "history.sqlite3",
    "judgements",
    "judges",
)
NEW = "my-collection"  # where commands put what is converted, if there is no collection yet


@dataclass(frozen=True)
class Finding:
    """What is known about a file. `format` is the name for `convert`; our own files have none."""

    path: Path
    about: str
    format: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    unused: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    steps: tuple[Step, ...] = ()
    unreadable: bool = False  # empty, or nothing in it could be read or understood

    @property
    def known(self) -> bool:
        return bool(self.steps)

    @property
    def broken(self) -> bool:
        """Whether something in it must be mended before it can be used."""
        return self.unreadable or bool(errors_in(self.problems))


def examine(path: Path | str, collection: Path | str | None = None) -> Finding:
    """Look at a file or folder. `collection` is where the commands will put its content."""
    path = Path(path)
    if path.is_dir():
        return _folder(path)
    opening = open_file(path)
    if opening.kind == "empty":
        return Finding(path, "an empty file", unreadable=True)
    folder = _named(Path(collection) if collection is not None else _nearest())
    if own := own_kind(opening):
        kind, problems = OWN_FILES[own], list[Problem]()
        try:
            counts = kind.count(path, problems)
        except InputError as error:
            counts, problems = {}, list(error.problems)
        if opening.columns and not any(counts.values()):
            problems.append(Problem(str(path), None, "there is no row in it", "name another file", "warning"))
            return Finding(path, kind.about, None, counts, problems=tuple(problems), unreadable=True)
        home = next((one for one in (path.parent, path.parent.parent) if holds_key(one)), None)
        if home is not None and (own == "responses" or path.name in IN_PLACE or path.parent.name in IN_PLACE):
            steps: tuple[Step, ...] = (_in_place(path, own, _named(home)),)
        else:
            steps = kind.steps(opening, folder)
        return Finding(path, kind.about, None, counts, problems=tuple(problems), steps=steps)
    if name := recognised(opening):
        return _foreign(path, name, FORMATS[name], folder)
    bundle = Bundle()
    if opening.kind in ("lines", "document"):
        for _ in read_objects(path, bundle, kind=opening.kind):
            pass
    said, unreadable = _unknown(opening)
    return Finding(path, said, problems=tuple(bundle.problems), unreadable=unreadable)


def _in_place(path: Path, own: str, home: str) -> Step:
    """What can be done with a file that is part of a collection already."""
    if own == "responses":
        return "to score it", f"nuggeteer score {shlex.quote(bare_name(path))} --collection {home}"
    if own == "history":
        return "to see the trend", f"nuggeteer history --collection {home}"
    if own == "judgements":
        return "its verdicts count already; to list them", f"nuggeteer judge --log --collection {home}"
    return f"it is part of the collection {home}; to see what that holds", f"nuggeteer doctor {home}"


def _foreign(path: Path, name: str, format_: Format, folder: str) -> Finding:
    finding = partial(Finding, path, format_.about, name)
    try:
        bundle = format_.read(path)
    except InputError as error:
        return finding(problems=error.problems)
    counts = counts_of(bundle)
    if not understood(counts):
        return finding(counts, bundle.unused, bundle.left_out, tuple(bundle.problems), unreadable=True)
    steps = tuple(_steps(path, name, format_, bundle, folder))
    return finding(counts, bundle.unused, bundle.left_out, tuple(bundle.problems), steps)


def _steps(path: Path, name: str, format_: Format, bundle: Bundle, folder: str) -> list[Step]:
    wrong = errors_in(bundle.problems)
    what = "when its errors are corrected, to put it into a collection" if wrong else "to put it into a collection"
    convert = f"nuggeteer convert {name} {shlex.quote(str(path))} --into {folder}"
    found = [(what, convert)]
    nuggets = bool(bundle.nuggets) or holds_key(Path(folder))
    if format_.machine and bundle.judgements:
        found = [
            (f"{what}, where the verdicts of {format_.machine} are kept and compared", convert),
            ("or as the standard to score by", f"{convert} --as-truth"),
        ]
    if bundle.responses and nuggets:
        found.append(("to score it", f"nuggeteer score --collection {folder}"))
    elif bundle.responses:
        runs = " ".join(shlex.quote(f"{folder}/runs/{run}.jsonl") for run in list(bundle.responses)[:3])
        found.append(
            (
                "it has no nuggets, which a score needs; to propose some for you to edit",
                f"nuggeteer nuggetize {runs} --propose proposed.jsonl",
            )
        )
    elif bundle.nuggets:
        found.append((f"to score answers, which belong in {folder}/runs/", f"nuggeteer score --collection {folder}"))
    return found


def _folder(path: Path) -> Finding:
    if not holds_key(path):
        about = "a folder without nuggets.jsonl, which is not a collection; name its files"
        return Finding(path, about, unreadable=True)
    problems = tuple(check(path))
    counts = {
        "runs": len(run_files(path)),
        "errors": len(errors_in(problems)),
        "warnings": len(problems) - len(errors_in(problems)),
    }
    named = _named(path)
    steps = [("to list what is wrong", f"nuggeteer check --collection {named}")] if problems else []
    if not counts["errors"] and counts["runs"]:
        steps.append(("to score its runs", f"nuggeteer score --collection {named}"))
    if not counts["runs"]:
        steps.append((f"to score a run, put it into {named}/runs/", f"nuggeteer score --collection {named}"))
    return Finding(path, "a collection", None, counts, problems=problems, steps=tuple(steps))


def _nearest() -> Path:
    try:
        found = find_collection()
    except NuggeteerError:
        return Path(NEW)
    return Path() if found == Path.cwd() else found


def _named(folder: Path) -> str:
    return shlex.quote(str(folder))


# How files in formats that we do not read begin, or what is among their columns or keys, and what can be done.
BEGINNINGS = (
    (b"PAR1", "a Parquet file; write it as JSON Lines, as with pandas' to_json(orient='records', lines=True)"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"%PDF", "a PDF file; only text can be read"),
    (b"<", "HTML or XML; export JSON or CSV instead"),
)
KEYS = (
    (
        {"Status", "Score", "Named Scores"},
        "promptfoo's results as a table; write JSON: promptfoo eval --output FILE.json",
    ),
    ({"rubric_title", "verdict"}, "verdicts on rubrics without the answers that they are about, which are needed"),
    ({"measure", "value"}, "scores; answers and nuggets are needed"),
)

KINDS: Final = "docs/reference/files.md says which kinds there are"


def _unknown(opening: Opening) -> tuple[str, bool]:
    """What a file of no known format may be, and whether it cannot be read at all."""
    for mark, said in BEGINNINGS:
        if opening.head.startswith(mark):
            return said, True
    for keys, said in KEYS:
        if keys <= opening.keys:
            return said, False
    if opening.kind == "zip" and b"xl/" in opening.head:
        return "an Excel workbook; save its sheet as CSV UTF-8", True
    if opening.kind == "zip":
        return "a zip archive of no known kind; unpack it, and name its files", True
    if opening.columns:
        columns = _some(opening.columns)
        hint = "if it has answers, name their columns: nuggeteer convert qa FILE --columns question=...,answer=..."
        return f"a table with the columns {columns}, of no known kind; {hint}", False
    if opening.kind == "text":
        if any(char < 9 for char in opening.head):
            return "no text, or text that is not UTF-8", True
        return f"text of no known kind; {KINDS}", False
    if not opening.keys:
        return "JSON of no known kind", False
    return f"JSON with the keys {_some(sorted(opening.keys))}, of no known kind; {KINDS}", False


def _some(names: list[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:10])
    return shown + (" ..." if len(names) > 10 else "")
