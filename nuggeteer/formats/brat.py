"""brat standoff: NAME.txt holds a snippet, NAME.ann beside it a line for each nugget.

    T1<TAB>LOC 20 26<TAB>Taiwan
    T2<TAB>Nugget 0 18;59 76<TAB>A U.N. policeman was shot to death

Type, then the pieces of a nugget: start and end, in characters from 0, with `;` between; then the words, which must be
those. The type `Nugget` says no more than that it is one. A folder in the folder is a query. Names of files are those
of snippets and queries with all but letters, digits, `-`, `_` and `~` written as %XX. brat has no place for medium,
language and structure.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from nuggeteer.errors import NuggeteerError, Problem, fail
from nuggeteer.formats.annotation import Extent, Snippet, Spans, wrong_spans
from nuggeteer.formats.canonical import MANIFEST, WrongLine
from nuggeteer.formats.jsonl import LONGEST_LINE

PLAIN = "Nugget"
LONGEST_NAME = 200
_LINE = re.compile(r"T\d+\t([^\s\t]+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z0-9_-]+")
_SAFE = re.compile(r"[A-Za-z0-9_~-]+")


def read_brat(path: Path, problems: list[Problem]) -> list[Snippet]:
    """The snippets of a folder, or of one .ann file; what is wrong goes to `problems`."""
    if path.is_dir():
        root, files = path, sorted(path.rglob("*.ann"))
        for text in sorted(path.rglob("*.txt")):
            if not text.with_suffix(".ann").is_file():
                what = "has no .ann beside it"
                problems.append(Problem(str(text), None, what, "make an empty one if nothing in it is relevant"))
    else:
        root, files = path.parent, [path]
    return [one for file in files if (one := _document(file, root, problems)) is not None]


def _document(path: Path, root: Path, problems: list[Problem]) -> Snippet | None:
    text, lines = _content(path.with_suffix(".txt"), problems), _content(path, problems)
    if text is None or lines is None:
        return None
    *folders, _ = path.relative_to(root).parts
    qid = _id("/".join(map(unquote, folders)))
    name = _id(unquote(path.stem))
    if name is None or (folders and qid is None):
        problems.append(Problem(str(path), None, "its name cannot be a snippet's", "use printable characters"))
        return None
    if not text.strip():
        problems.append(Problem(str(path.with_suffix(".txt")), None, "the snippet has no text", "delete both files"))
        return None
    nuggets, others, first = [], 0, None
    for number, line in enumerate(lines.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.startswith("T"):
            if line.strip():
                others, first = others + 1, first or number
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            what = "is not TYPE START END;... between tabs"
            problems.append(Problem(str(path), number, what, "write T1<TAB>Nugget 0 5;10 14<TAB>the words"))
            continue
        pieces = tuple((int(start), int(end)) for start, end in (one.split(" ") for one in match[2].split(";")))
        spans = tuple(sorted(pieces))
        wrong = wrong_spans(spans, text)
        if wrong is None and covered(text, pieces) != " ".join(match[3].split()):
            wrong = f"the text has {covered(text, pieces)[:40]!r} there, not {match[3][:40]!r}"
        if wrong:
            problems.append(Problem(str(path), number, wrong, "correct the offsets, or the text"))
            continue
        nuggets.append(Extent(spans, None if match[1] == PLAIN else match[1]))
    if others:
        what = f"{others} lines are no T lines"
        problems.append(Problem(str(path), first, what, "they are passed over: nuggets are T lines", "warning"))
    return Snippet(name, text, tuple(nuggets), qid, file=str(path))


def _content(path: Path, problems: list[Problem]) -> str | None:
    try:
        if path.stat().st_size > LONGEST_LINE:
            problems.append(Problem(str(path), None, f"is larger than {LONGEST_LINE:,} bytes", "split it"))
            return None
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as bad:
        problems.append(Problem(str(path), None, f"byte {bad.start + 1} is not UTF-8", "save the file as UTF-8"))
    except OSError as error:
        problems.append(Problem(str(path), None, f"cannot be read: {error.strerror}", "check the name"))
    return None


def _id(name: str) -> str | None:
    try:
        return MANIFEST.parse({"run": name}).run
    except WrongLine:
        return None


def covered(text: str, spans: Spans) -> str:
    """The words of a nugget's pieces, with single spaces."""
    return " ".join(" ".join(text[start:end] for start, end in spans).split())


def pieces(text: str, spans: Spans) -> Iterator[tuple[int, int]]:
    """Spans cut at line feeds, which brat's may not hold."""
    for start, end in spans:
        for line in re.finditer(r"[^\n]*\S[^\n]*", text[start:end]):
            yield start + line.start(), start + line.end()


def write_brat(folder: Path, snippets: Sequence[Snippet]) -> None:
    """Write snippets as a folder that brat can open, all or nothing."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise fail(folder, "is there already", "name a new folder")
    types = sorted({nugget.type or PLAIN for one in snippets for nugget in one.nuggets} | {PLAIN})
    for kind in types:
        if not _TYPE.fullmatch(kind):
            raise NuggeteerError(f"brat's types have letters, digits, - and _ only: rename the type {kind!r}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".nuggeteer-") as staging:
        root = Path(staging) / "brat"
        root.mkdir()
        conf = "\n".join(["[entities]", *types, "", "[relations]", "", "[events]", "", "[attributes]", ""])
        (root / "annotation.conf").write_bytes(conf.encode())
        for one in snippets:
            place = root if one.qid is None else root / file_name(one.qid)
            place.mkdir(exist_ok=True)
            name = file_name(one.snippet)
            (place / f"{name}.txt").write_bytes(_encoded(one.text, one))
            lines = []
            for number, nugget in enumerate(one.nuggets, 1):
                cut = tuple(pieces(one.text, nugget.spans))
                where = ";".join(f"{start} {end}" for start, end in cut)
                lines.append(f"T{number}\t{nugget.type or PLAIN} {where}\t{covered(one.text, cut)}\n")
            (place / f"{name}.ann").write_bytes(_encoded("".join(lines), one))
        if folder.exists():
            folder.rmdir()
        shutil.move(root, folder)


def _encoded(text: str, one: Snippet) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise NuggeteerError(f"the text of snippet {one.snippet!r} is no Unicode; mend its surrogates") from error


def file_name(name: str) -> str:
    """A name that every file system takes, and that can be read back."""
    safe = "".join(char if _SAFE.fullmatch(char) else quote(char, safe="").replace(".", "%2E") for char in name)
    if len(safe) > LONGEST_NAME:
        raise NuggeteerError(f"{name[:60]!r} is too long for the name of a file; shorten it")
    return safe
