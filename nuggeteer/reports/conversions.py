"""The results of converting files into a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from nuggeteer.collection.convert import Converted
from nuggeteer.reports import problems
from nuggeteer.reports.findings import counts_as_json, draw_rest, indent, listed
from nuggeteer.reports.imported import AS_TRUTH, NOT_KNOWN
from nuggeteer.reports.model import file_name
from nuggeteer.reports.terminal import plain


def as_json(done: Sequence[Converted]) -> dict[str, Any]:
    return {
        "files": [
            {
                "file": file_name(str(converted.source)),
                "written": [file_name(str(p)) for p in converted.written],
                **converted.counts,
                "unused": counts_as_json(converted.unused),
                "left_out": counts_as_json(converted.left_out),
                "machine": converted.machine,
                "as_truth": converted.as_truth,
            }
            | problems.as_json(converted.problems)
            for converted in done
        ]
    }


def written_as_json(target: Path, lines: int, lost: Mapping[str, int]) -> dict[str, Any]:
    """A file that was written, and what it has no place for."""
    return {"file": file_name(str(target)), "lines": lines, "lost": counts_as_json(lost)}


def draw_losses(out: Console, lost: Mapping[str, int]) -> None:
    """What a file that was written has no place for."""
    if any(lost.values()):
        indent(out, f"the format has no place for {listed(lost)}")


def draw(out: Console, done: Sequence[Converted]) -> None:
    for converted in done:
        out.print(plain(f"{converted.source}: {listed(converted.counts)}"), soft_wrap=True)
        for path in converted.written:
            out.print(plain(f"  wrote {path}"), soft_wrap=True)
        draw_rest(out, converted.unused, converted.left_out)
    if any(converted.machine for converted in done):
        out.print(AS_TRUTH if any(converted.as_truth for converted in done) else NOT_KNOWN, soft_wrap=True)
