"""Which folder or file is meant by the name of a collection or of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from nuggeteer.display import listed
from nuggeteer.errors import NuggeteerError, did_you_mean, fail
from nuggeteer.formats.jsonl import bare_name, json_lines_in, stored

SHOWN = 10  # names in an error


def find_collection(start: Path | None = None) -> Path:
    """The nearest folder upwards that holds `nuggets.jsonl`."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if holds_key(folder):
            return folder
    raise NuggeteerError(
        f"{start}: no nuggets.jsonl here or in any folder above; name the collection with --collection DIR"
        " (nuggeteer demo makes one to try)"
    )


def holds_key(folder: Path) -> bool:
    return is_file(stored(folder / "nuggets.jsonl", []))


def require_collection(root: Path) -> None:
    """If a folder is not a collection, raise an error that says what is there instead."""
    if holds_key(root):
        return
    refuse_file(root)
    if not root.exists():
        beside = [path.name for path in _folders(root.parent)]
        meant = did_you_mean(root.name, beside).strip() or "name a collection's folder; nuggeteer demo makes one to try"
        raise fail(root, "there is no such folder", meant)
    near = [folder for folder in (root.absolute().parent, *_folders(root)) if holds_key(folder)]
    meant = f"did you mean {near[0]}?" if near else "name a collection's folder; nuggeteer demo makes one to try"
    raise fail(root, "this folder has no nuggets.jsonl", meant)


def refuse_file(folder: Path) -> None:
    """Raise an error if what should be a folder is a file."""
    if is_file(folder):
        raise fail(folder, "is a file, and a folder is needed", "name a folder")


def run_files(root: Path) -> dict[str, Path]:
    """The files of the runs of a collection, by name."""
    files: dict[str, Path] = {}
    for path in json_lines_in(root / "runs"):
        files.setdefault(bare_name(path), path)
    return files


def find_run(name: str, root: Path, files: Mapping[str, Path]) -> Path | None:
    """The file of a run: one of these `files` by its name, any other file, or either without its ending. None if there
    is none."""
    if name in files:
        return files[name]
    path = next(filter(is_file, _places(name, root)), None)
    inside = None if path is None else files.get(bare_name(path))
    if path is None or inside is None:
        return path
    if not path.samefile(inside):
        raise NuggeteerError(f"{path}: the collection has another run {bare_name(path)!r}; rename this file")
    return inside


def no_run(name: str, root: Path, known: tuple[str, ...]) -> NuggeteerError:
    """The error for a name that no run has."""
    what = "is a folder, and no run" if name and _is_folder(Path(name)) else "no such run or file"
    meant = did_you_mean(bare_name(Path(name)), known)
    there = f"there are no runs in {root} yet; put them in runs/"
    there = f"the runs in {root} are: {listed(known, SHOWN)}" if known else there
    return NuggeteerError(f"{name}: {what}; {meant}{there}")


def _places(name: str, root: Path) -> Iterator[Path]:
    for ending in ("", ".jsonl", ".jsonl.gz"):
        for folder in (Path(), root, root / "runs"):
            if not ending or "/" in name or folder.name == "runs":  # runs.jsonl is not a run
                yield folder / f"{name}{ending}"


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long or has a NUL, a folder that may not be entered
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _folders(root: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in root.iterdir() if path.is_dir())
    return []
