"""Excerpts of outputs in the documentation. They are checked line by line; with NUGGETEER_UPDATE_GOLDEN they follow."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

UPDATE = bool(os.environ.get("NUGGETEER_UPDATE_GOLDEN"))


def check(page: Path, block: str, printed: Sequence[str]) -> None:
    """Every line of a page's block is printed."""
    if UPDATE:
        lines = [line if line in printed else nearest(line, printed) for line in block.splitlines()]
        replace(page, block, "".join(f"{line}\n" for line in lines))
        return
    for line in block.splitlines():
        assert line in printed, "\n".join(printed)


def replace(page: Path, block: str, new: str) -> None:
    page.write_text(page.read_text(encoding="utf-8").replace(block, new), encoding="utf-8")


def nearest(line: str, printed: Sequence[str]) -> str:
    """The printed line that is most like it."""
    return max(printed, key=lambda other: difflib.SequenceMatcher(None, line, other, autojunk=False).ratio())
