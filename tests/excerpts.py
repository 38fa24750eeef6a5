"""Excerpts of outputs in the documentation. They are checked line by line; with NUGGETEER_UPDATE_GOLDEN they follow.

What an excerpt shows stands in the output without a gap. A line with only `…` stands for lines that are left out.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.shell import run_script

ABOVE = "=== above this stands an output that the page shows"
UPDATE = bool(os.environ.get("NUGGETEER_UPDATE_GOLDEN"))
LEFT_OUT = "…"
GAP = 0.2  # what a line costs that is new, or that is gone; a pair of lines gains its likeness less 0.5


def check(page: Path, block: str, printed: Sequence[str], from_start: bool = False) -> None:
    """A page's block shows a part of what was printed, anywhere in it or `from_start`."""
    if UPDATE:
        replace(page, block, "".join(f"{line}\n" for line in nearest(block.splitlines(), printed, from_start)))
        return
    pattern = "(?:.*\n)+".join(map(re.escape, block.split(f"{LEFT_OUT}\n")))
    text = "".join(f"{line}\n" for line in printed)
    found = re.match(pattern, text) if from_start else re.search(f"^{pattern}", text, re.MULTILINE)
    assert found, f"not printed like this:\n{block}\nbut:\n{text}"


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
    """Write another block into the place of the first such one."""
    text = page.read_text(encoding="utf-8")
    fenced = re.compile(rf"^(```\w*\n){re.escape(block)}```", re.MULTILINE)
    assert fenced.search(text), block
    page.write_text(fenced.sub(lambda found: f"{found[1]}{new}```", text, count=1), encoding="utf-8")


def nearest(shown: Sequence[str], printed: Sequence[str], from_start: bool = False) -> list[str]:
    """The part of what was printed that is most like what was shown, with the lines that are new in it and without
    those that are gone.

    The two are aligned, as sequences are. What was printed and not shown costs nothing where lines are left out: at
    `…`, at the end and, unless it is shown `from_start`, at the beginning."""
    parts: list[list[str]] = [[]]
    for line in shown:
        parts.append([]) if line == LEFT_OUT else parts[-1].append(line)
    lines = [(number, line) for number, part in enumerate(parts) for line in part]
    free = {len(lines)} if from_start else {0, len(lines)}  # before which lines something may be left out
    free |= {place for place in range(1, len(lines)) if lines[place - 1][0] != lines[place][0]}
    # For each count of lines shown and printed, the best gain, and the pairs that make it.
    best: dict[tuple[int, int], tuple[float, tuple[tuple[int, int], ...]]] = {(0, 0): (0.0, ())}
    for i in range(len(lines) + 1):
        for j in range(len(printed) + 1):
            ways = []
            if i and j:
                gain, pairs = best[i - 1, j - 1]
                ratio = difflib.SequenceMatcher(None, lines[i - 1][1], printed[j - 1], autojunk=False).ratio()
                ways.append((gain + ratio - 0.5, (*pairs, (i - 1, j - 1))))
            if i:
                ways.append((best[i - 1, j][0] - GAP, best[i - 1, j][1]))
            if j:
                ways.append((best[i, j - 1][0] - (0 if i in free else GAP), best[i, j - 1][1]))
            if ways:
                best[i, j] = max(ways, key=lambda way: way[0])
    result: list[str] = []
    for number, part in enumerate(parts):
        places = [j for i, j in best[len(lines), len(printed)][1] if lines[i][0] == number]
        assert places or not part, f"nothing like this is printed any more: {part}"
        first = 0 if from_start and not number else min(places, default=0)
        result += [LEFT_OUT] * (number > 0)
        result += printed[first : max(places, default=-1) + 1]
    return result
