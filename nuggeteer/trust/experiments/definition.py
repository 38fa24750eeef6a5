"""An experiment's definition, a TOML file: what is measured, with which matchers, at which thresholds. Those of the
papers come with the package, and are called by their names.

title = "Thresholds against Kendall's tau"
source = "Marton & Radul 2006, figure 6"
what = "thresholds"    # what kind of experiment: one of KINDS in kinds.py
measure = "f3"         # of runs
steps = 50             # thresholds are 0, 1/50, ... up to 1

[[match]]              # settings as in nuggeteer.toml; of lists, every combination
n = [1, 2, 3]
stem = [false, true]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.errors import NuggeteerError, did_you_mean, fail
from nuggeteer.formats.settings import wrong_setting
from nuggeteer.measures import parse
from nuggeteer.records import Vector
from nuggeteer.settings import Match

PAPERS = Path(__file__).parent / "definitions"


@dataclass(frozen=True)
class Definition:
    """What an experiment is. `match` holds the settings to change, one entry for each combination. `file` is what the
    user calls their own definition."""

    name: str
    title: str
    source: str
    what: str
    measure: str = "f3"
    steps: int = 50
    match: tuple[dict[str, Any], ...] = ({},)
    file: str | None = None

    @property
    def thresholds(self) -> Vector:
        return np.arange(self.steps + 1) / self.steps

    def settings(self, base: Match) -> list[Match]:
        """The collection's settings with each combination in turn."""
        return [replace(base, **changed) for changed in self.match]


def papers_definitions() -> Mapping[str, Definition]:
    """The experiments that come with the package, by name."""
    return {path.stem: read_definition(path) for path in sorted(PAPERS.glob("*.toml"))}


def find_definition(name: str) -> Definition:
    """The experiment of this name, or else the definition in this file."""
    known = papers_definitions()
    if name in known:
        return known[name]
    if Path(name).exists() or name.endswith(".toml"):
        return replace(read_definition(Path(name)), file=name)
    hint = did_you_mean(name, known).strip() or f"there are {', '.join(known)}"
    raise NuggeteerError(f"{name}: neither an experiment nor a file with a definition; {hint}")


def read_definition(path: Path) -> Definition:
    """Read a definition; an unknown key is an error."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise fail(path, f"cannot be read: {error.strerror}", "name an experiment's definition") from error
    except (ValueError, RecursionError) as error:
        raise fail(path, f"not TOML: {error}", "mend it") from error
    match = table.pop("match", [{}])
    kinds = {"title": str, "source": str, "what": str, "measure": str, "steps": int}
    for key, value in table.items():
        if type(value) is not kinds.get(key):
            known = ", ".join([*kinds, "[[match]]"])
            raise fail(path, f"{key} is {value!r:.60}", f"a definition has {known}; see nuggeteer experiment --help")
    missing = [key for key in ("title", "source", "what") if key not in table]
    if missing:
        raise fail(path, f"no {' and no '.join(missing)}", "every definition says these")
    if not 1 <= table.get("steps", 50) <= 1000:
        raise fail(path, f"steps is {table['steps']}", "write a number from 1 to 1000")
    if not isinstance(match, list) or not all(isinstance(one, dict) for one in match):
        raise fail(path, "match is not a list of tables", "write [[match]]")
    try:
        parse(table.get("measure", "f3"))
        combinations = tuple(combination for one in match for combination in _combinations(one))
    except NuggeteerError as error:
        raise fail(path, str(error), "correct it") from error
    return Definition(path.stem, **table, match=combinations)


def _combinations(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    defaults = {field.name: field.default for field in fields(Match)}
    for key, value in table.items():
        for one in value if isinstance(value, list) else [value]:
            remedy = wrong_setting(key, one, defaults[key]) if key in defaults else f"there are {', '.join(defaults)}"
            if remedy:
                raise NuggeteerError(f"[[match]] {key} is {one!r:.60}; {remedy}")
    lists = [value if isinstance(value, list) else [value] for value in table.values()]
    for values in product(*lists):
        yield dict(zip(table, values, strict=True))
