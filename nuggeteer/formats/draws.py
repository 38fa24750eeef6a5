"""Pairs that `judge` drew at random: `judgements/draws/RUN.jsonl`, a line each, in the order of drawing.

    run, answers         the run, and a hash of its responses
    qid, nugget, text    the pair
    guess                the probability that the response carries the nugget, as it was believed then
    chance               of being drawn next, among the pairs of the run that were open then
    spread               how far an estimate of the score from this draw alone may be off, in standard deviations
    at                   when

A line is written before the pair is shown, so nobody can choose the sample by its verdicts. What is wrong with a line
is a warning: its verdict then counts like one that nobody drew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.errors import Problem
from nuggeteer.formats.append import append_line
from nuggeteer.formats.jsonl import is_regular, json_lines_in, read_jsonl
from nuggeteer.records import Vector

STRINGS = ("run", "answers", "qid", "nugget", "text", "at")
NUMBERS = ("guess", "chance", "spread")


@dataclass(frozen=True)
class DrawnPair:
    """A (nugget, response) pair, as it was drawn."""

    run: str
    answers: str
    qid: str
    nugget: str
    text: str
    guess: float
    chance: float
    spread: float
    at: str = ""


def read_draws(folder: Path, problems: list[Problem]) -> list[DrawnPair]:
    """The pairs of all files of a folder, in the order of drawing."""
    found = []
    for path in json_lines_in(folder):
        wrong: list[Problem] = []
        if is_regular(path, wrong, folder.parent.parent):
            for number, line in read_jsonl(path, wrong):
                pair = _pair(line)
                if pair is None:
                    wrong.append(Problem(str(path), number, "is no drawn pair", "restore the line"))
                else:
                    found.append(pair)
        problems += [Problem(p.file, p.line, f"{p.what}: the draw is not used", p.remedy, "warning") for p in wrong]
    return found


def _pair(line: dict[str, Any]) -> DrawnPair | None:
    strings, numbers = ([line.get(name) for name in names] for names in (STRINGS, NUMBERS))
    if not all(isinstance(value, str) for value in strings):
        return None
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in numbers):
        return None
    pair = DrawnPair(**{name: line[name] for name in (*STRINGS, *NUMBERS)})
    return pair if 0 <= pair.guess <= 1 and 0 < pair.chance <= 1 and pair.spread >= 0 else None


def append_draw(path: Path, pair: DrawnPair) -> None:
    """Write a pair. It is on the disk on return."""
    with suppress(OSError):  # whatever is wrong, the append says it
        path.parent.parent.mkdir(exist_ok=True)
    append_line(path, asdict(pair))


def represented(drawn: Sequence[DrawnPair]) -> Vector:
    """How many open pairs of its run each drawn pair represents, in the order of drawing.

    Each draw gives an unbiased estimate of any sum over all pairs (Des Raj 1956): the pairs drawn before, plus the new
    one over its chance. Their mean, in which the more exact estimates weigh more, is a weighted sum over the pairs."""
    chance, spread = (np.array([getattr(pair, name) for pair in drawn]) for name in ("chance", "spread"))
    exactness = np.maximum(spread / max(spread.max(), 1e-300), 1e-6) ** -2
    later = exactness[::-1].cumsum()[::-1] - exactness
    return np.asarray((exactness / chance + later) / exactness.sum())
