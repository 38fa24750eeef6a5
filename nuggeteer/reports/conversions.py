"""What became of files that were converted into a collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from nuggeteer.collection.convert import Converted
from nuggeteer.reports import problems
from nuggeteer.reports.json_values import file_name
from nuggeteer.reports.terminal import plain


def as_json(done: Sequence[Converted]) -> dict[str, Any]:
    return {
        "files": [
            {"file": file_name(str(one.source)), "written": [file_name(str(p)) for p in one.written], **one.counts}
            | problems.as_json(one.problems)
            for one in done
        ]
    }


def draw(out: Console, done: Sequence[Converted]) -> None:
    for one in done:
        counts = ", ".join(f"{count} {what}" for what, count in one.counts.items() if count)
        out.print(plain(f"{one.source}: {counts}"), soft_wrap=True)
        for path in one.written:
            out.print(plain(f"  wrote {path}"), soft_wrap=True)
