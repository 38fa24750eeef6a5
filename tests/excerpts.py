"""Excerpts of outputs in the documentation. They are checked line by line; with NUGGETEER_UPDATE_GOLDEN they follow."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.shell import run_script

ABOVE = "=== above this stands an output that the page shows"
UPDATE = bool(os.environ.get("NUGGETEER_UPDATE_GOLDEN"))


def check(page: Path, block: str, printed: Sequence[str]) -> None:
    """A page's block has printed lines, each of them once and in their order."""
    shown = block.splitlines()
    if UPDATE:
        replace(page, block, "".join(f"{line}\n" for line in nearest(shown, printed)))
        return
    left = iter(printed)
    for line in shown:
        assert line in left, f"not printed, or not in this place: {line}\n" + "\n".join(printed)


def check_guide(
    page: Path, folder: Path, timeout: int = 300, before: str = "", as_shown: Callable[[str], str] = str.rstrip
) -> int:
    """The commands of a guide's `sh` blocks run one after the other in a folder, and print what its `text` blocks show.
    Returns how many of these there are. Commands `before` run first, and a printed line is compared `as_shown`."""
    blocks = re.findall(r"```(sh|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    script = [before, *(block if language == "sh" else f"echo '{ABOVE}'" for language, block in blocks)]
    done = run_script("\n".join(script), folder, timeout, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    shown = [block for language, block in blocks if language == "text"]
    for block, printed in zip(shown, done.stdout.split(f"{ABOVE}\n"), strict=False):
        check(page, block, [as_shown(line) for line in printed.splitlines()])
    return len(shown)


def replace(page: Path, block: str, new: str) -> None:
    page.write_text(page.read_text(encoding="utf-8").replace(block, new), encoding="utf-8")


def nearest(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """For each line that is shown, another printed line, in their order; all together as like them as can be."""
    best = [(0.0, list[str]())] * (len(printed) + 1)  # with the first printed lines only
    for line in shown:
        alike = [difflib.SequenceMatcher(None, line, other, autojunk=False).ratio() for other in printed]
        reached = [(-1.0, list[str]())]
        for (likeness, lines), other, more in zip(best, printed, alike, strict=False):
            reached.append(max(reached[-1], (likeness + more, [*lines, other]), key=lambda found: found[0]))
        best = reached
    return best[-1][1]
