"""Reads the manifest, `runs.jsonl`: the group of each run, and how it was judged.

TREC's tags have the name of the institution that sent a run, often with the year and a letter: `lcc05a`, `nyu_05_1`,
`MIT2006b`, `05lcca`. Runs of one institution are alike. If they are not in one group, each is guessed from the others'
verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from nuggeteer.errors import Problem, did_you_mean
from nuggeteer.formats import canonical
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.measures import ALL, is_measure
from nuggeteer.records import RunInfo

_SHOWN = 5
_AHEAD = re.compile(r"([^\W\d_]{2,})()[_-]?\d")
_BEHIND = re.compile(r"(?:19|20)?\d\d[_-]?(?:([^\W\d_]{2,})[_-]?\d+|([^\W\d_]{3,})[^\W\d_])")
_YEAR = re.compile(r"\D*(?:19|20)?(\d\d)(?!\d)")


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


def institution_of(tag: str) -> str | None:
    """The letters that a run's tag begins with, if digits follow: `lcc` for `lcc05a`. If the tag begins with a year,
    the letters after it, without the letter of the run: `lcc` for `05lcca`, too."""
    found = _AHEAD.match(tag) or _BEHIND.fullmatch(tag)
    return (found[1] or found[2]).casefold() if found else None


def alike_tags(path: Path, manifest: Mapping[str, RunInfo]) -> Iterator[Problem]:
    """Runs that look like those of one institution in one year, some of them in no group."""
    alike: dict[tuple[str, str], list[RunInfo]] = {}
    for info in manifest.values():
        if (name := institution_of(info.run)) and (year := _YEAR.match(info.run)):
            alike.setdefault((name, year[1]), []).append(info)
    for (name, _), runs in alike.items():
        if len(runs) > 1 and not all(info.group for info in runs):
            shown = ", ".join(info.run for info in runs[:_SHOWN]) + (", ..." if len(runs) > _SHOWN else "")
            what = f"{shown} look like runs of one institution, and each is guessed from the verdicts on the others"
            yield Problem(str(path), None, what, f'give each its group, such as "group": "{name}"', "warning")


def runs_without_file(path: Path, names: Collection[str]) -> Iterator[Problem]:
    """Runs that the manifest lists but that are not among these."""
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
            yield Problem(str(path), line, f"'official' names {name!r}, which is not a measure", remedy, "warning")
