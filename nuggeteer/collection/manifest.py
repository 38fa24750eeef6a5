"""Reads the manifest, `runs.jsonl`: the group of each run, and how it was judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from nuggeteer.errors import Problem, did_you_mean
from nuggeteer.formats import canonical
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.measures import ALL, is_measure
from nuggeteer.records import RunInfo


def read_manifest(path: Path, problems: list[Problem]) -> dict[str, RunInfo]:
    manifest: dict[str, RunInfo] = {}
    lines: dict[str, int] = {}  # in which a measure is named first
    if path.is_file() and is_regular(path, problems, path.parent):
        for line, info in canonical.MANIFEST.read(path, problems):
            if info.run in manifest:
                problems.append(Problem(str(path), line, f"the run {info.run!r} is listed twice", "delete one"))
            manifest[info.run] = info
            for name in info.official:
                lines.setdefault(name, line)
    problems.extend(_unknown_measures(path, lines))
    return manifest


def runs_without_file(path: Path, names: Collection[str]) -> Iterator[Problem]:
    """Runs that the manifest lists, other than these."""
    readable = path.is_file() and is_regular(path, [], path.parent)
    for line, info in canonical.MANIFEST.read(path, []) if readable else ():
        if info.run not in names:
            remedy = f"add runs/{info.run}.jsonl or delete the line"
            yield Problem(str(path), line, f"the run {info.run!r} has no file", remedy, "warning")


def _unknown_measures(path: Path, lines: dict[str, int]) -> Iterator[Problem]:
    for name, line in lines.items():
        if not is_measure(name):
            meant = did_you_mean(name, map(str, ALL))
            remedy = f"{meant}compare holds such scores against another measure, by rank and correlation only"
            yield Problem(str(path), line, f"'official' names {name!r}, which is no measure", remedy, "warning")
