"""brat standoff: NAME.txt has the text of a snippet, and NAME.ann in the same folder has a line for each nugget.

    T1<TAB>LOC 20 26<TAB>Taiwan
    T2<TAB>Nugget 0 18;59 76<TAB>A U.N. policeman was shot to death

A line has the nugget's type, its pieces (start and end in characters from 0, separated by `;`) and its words, which
must be the words of the text. The type `Nugget` stands for a nugget without a type. A subfolder is a query. Files and
folders are named after snippets and queries, with all characters but letters, digits, `-`, `_` and `~` written as %XX.
brat has no field for medium, language and structure.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from nuggeteer.errors import NuggeteerError, Problem, fail
from nuggeteer.formats.annotation import Extent, Snippet, Spans, word_bounds, wrong_spans
from nuggeteer.formats.canonical import MANIFEST, WrongLine
from nuggeteer.formats.jsonl import LONGEST_LINE, is_regular

PLAIN = "Nugget"
LONGEST_NAME = 200
_LINE = re.compile(r"T[0-9]+\t([^\s\t]+) ([0-9]{1,18} [0-9]{1,18}(?:;[0-9]{1,18} [0-9]{1,18})*+)\t(.*)", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z0-9_-]+")
_SAFE = re.compile(r"[A-Za-z0-9_~-]+")


def read_brat(path: Path, problems: list[Problem]) -> list[Snippet]:
    """The snippets of a folder, or of one .ann file. Errors and warnings go to `problems`."""
    if path.is_dir():
        root, files = path, sorted(path.rglob("*.ann"))
        for text in sorted(path.rglob("*.txt")):
            if not text.with_suffix(".ann").is_file():
                what = "has no .ann file with the same name"
                problems.append(Problem(str(text), None, what, "create an empty one if the snippet is irrelevant"))
    else:
        root, files = path.parent, [path]
    return [snippet for file in files if (snippet := _document(file, root, problems)) is not None]


def _document(path: Path, root: Path, problems: list[Problem]) -> Snippet | None:
    text, lines = (_content(one, root, problems) for one in (path.with_suffix(".txt"), path))
    if text is None or lines is None:
        return None
    *folders, _ = path.relative_to(root).parts
    qid = _id("/".join(map(unquote, folders)))
    name = _id(unquote(path.stem))
    if name is None or (folders and qid is None):
        problems.append(
            Problem(str(path), None, "the file's name is not a valid snippet name", "use printable characters")
        )
        return None
    if not text.strip():
        problems.append(Problem(str(path.with_suffix(".txt")), None, "the snippet has no text", "delete both files"))
        return None
    nuggets, skipped, first_skipped = [], 0, None
    for number, line in enumerate(lines.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.startswith("T"):
            if line.strip():
                skipped, first_skipped = skipped + 1, first_skipped or number
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            what = "is not TYPE START END;... between tabs"
            problems.append(Problem(str(path), number, what, "write T1<TAB>Nugget 0 5;10 14<TAB>the words"))
            continue
        pieces = tuple((int(start), int(end)) for start, end in (piece.split(" ") for piece in match[2].split(";")))
        spans = tuple(sorted(pieces))
        wrong = wrong_spans(spans, text)
        if wrong is None and not _has_words(text, pieces, match[3].split()):
            begins = [(start, min(end, start + 40)) for start, end in pieces[:40]]
            wrong = f"the text has {covered(text, begins)[:40]!r} at these offsets, not {match[3][:40]!r}"
        if wrong:
            problems.append(Problem(str(path), number, wrong, "correct the offsets, or the text"))
            continue
        nuggets.append(Extent(spans, None if match[1] == PLAIN else match[1]))
    if skipped:
        what = f"{skipped} lines do not start with T"
        problems.append(
            Problem(str(path), first_skipped, what, "they are skipped: only T lines are nuggets", "warning")
        )
    return Snippet(name, text, tuple(nuggets), qid, file=str(path))


def _content(path: Path, root: Path, problems: list[Problem]) -> str | None:
    if not is_regular(path, problems, root):
        return None
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


def _has_words(text: str, pieces: Spans, words: Sequence[str]) -> bool:
    """Whether the words of the pieces are these. No more of the text is looked at than they are long."""
    begins, ends = word_bounds(text)
    listed = iter(words)
    for start, end in pieces:
        for word in range(bisect_right(ends, start), bisect_left(begins, end)):
            begin, length = max(begins[word], start), min(ends[word], end) - max(begins[word], start)
            expected = next(listed, "")
            if len(expected) != length or not text.startswith(expected, begin):
                return False
    return next(listed, None) is None


def covered(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The words of a nugget's pieces, joined by single spaces."""
    return " ".join(" ".join(text[start:end] for start, end in spans).split())


def pieces(text: str, spans: Spans) -> Iterator[tuple[int, int]]:
    """Spans cut at line feeds, which brat does not allow in a span."""
    for start, end in spans:
        for line in re.finditer(r"[^\n]+", text[start:end]):
            if not line[0].isspace():
                yield start + line.start(), start + line.end()


def write_brat(folder: Path, snippets: Sequence[Snippet]) -> None:
    """Write snippets as a folder that brat can open, all or nothing."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise fail(folder, "already exists", "name a new folder")
    seen: set[tuple[str | None, str]] = set()
    for snippet in snippets:
        if (snippet.qid, snippet.snippet) in seen:
            raise fail(folder, f"two snippets are called {snippet.snippet!r}", "write a folder for each distiller")
        seen.add((snippet.qid, snippet.snippet))
    types = sorted({nugget.type or PLAIN for snippet in snippets for nugget in snippet.nuggets} | {PLAIN})
    for kind in types:
        if not _TYPE.fullmatch(kind):
            raise NuggeteerError(f"the type {kind!r} cannot be written for brat; use only letters, digits, - and _")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".nuggeteer-") as staging:
        root = Path(staging) / "brat"
        root.mkdir()
        conf = "\n".join(["[entities]", *types, "", "[relations]", "", "[events]", "", "[attributes]", ""])
        (root / "annotation.conf").write_bytes(conf.encode())
        for snippet in snippets:
            subfolder = root if snippet.qid is None else root / file_name(snippet.qid)
            subfolder.mkdir(exist_ok=True)
            name = file_name(snippet.snippet)
            (subfolder / f"{name}.txt").write_bytes(_encoded(snippet.text, snippet))
            lines = []
            for number, nugget in enumerate(snippet.nuggets, 1):
                cut = tuple(pieces(snippet.text, nugget.spans))
                where = ";".join(f"{start} {end}" for start, end in cut)
                lines.append(f"T{number}\t{nugget.type or PLAIN} {where}\t{covered(snippet.text, cut)}\n")
            (subfolder / f"{name}.ann").write_bytes(_encoded("".join(lines), snippet))
        if folder.exists():
            folder.rmdir()
        shutil.move(root, folder)


def _encoded(text: str, snippet: Snippet) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise NuggeteerError(
            f"the text of snippet {snippet.snippet!r} is not valid Unicode; remove its lone surrogates"
        ) from error


def file_name(name: str) -> str:
    """A name that every file system accepts, and that can be converted back."""
    safe = "".join(char if _SAFE.fullmatch(char) else quote(char, safe="").replace(".", "%2E") for char in name)
    if len(safe) > LONGEST_NAME:
        raise NuggeteerError(f"{name[:60]!r} is too long for a file name; shorten it")
    return safe
