"""The nuggets that were found in texts automatically."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.formats.annotation import Spans
from nuggeteer.formats.annotation_files import as_line
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.automatic import Cut
from nuggeteer.gale.nuggetizer import Found
from nuggeteer.gale.templates import TYPES
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.terminal import plain

AROUND = 60  # characters shown on either side of a nugget
LONG = 200  # characters; a longer text is cut


def as_json(found: Sequence[Cut], model: str) -> dict[str, Any]:
    return {"model": model, "snippets": [_snippet_as_json(cut) for cut in found]}


def _snippet_as_json(cut: Cut) -> dict[str, Any]:
    line = as_line(cut.snippet)
    line["template"] = cut.template.name if cut.template else None
    line["nuggets"] = [nugget_as_json(found, cut.snippet.text) for found in cut.found]
    return line


def nugget_as_json(found: Found, text: str) -> dict[str, Any]:
    return {
        "type": found.type,
        "spans": [list(span) for span in found.spans],
        "core": [list(span) for span in found.core],
        "text": " ".join(text[start:end] for start, end in found.spans),
    }


def draw(out: Console, found: Sequence[Cut], model: str) -> None:
    """Each text, and each of its nuggets in double brackets."""
    for cut in found:
        name = cut.snippet.snippet if cut.snippet.qid is None else f"{cut.snippet.qid} {cut.snippet.snippet}"
        out.print(Text.assemble(plain(name, "bold"), "  ", plain(_on_one_line(cut.snippet.text))))
        rows = Table.grid(padding=(0, 1, 0, 0))
        for nugget in cut.found:
            rows.add_row(Text(f"  {nugget.type}", "cyan"), _marked(cut.snippet.text, nugget.spans))
        out.print(rows if cut.found else Text("  no nugget", "dim"))
        out.print()
    counts = Counter(nugget.type for cut in found for nugget in cut.found)
    by_type = ", ".join(f"{counts[kind]} {kind}" for kind in TYPES if counts[kind])
    out.print(
        plain(f"{counted(sum(counts.values()), 'nugget')} in {counted(len(found), 'text')}{by_type and ': '}{by_type}")
    )
    out.print(plain(model, "dim"))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _marked(text: str, spans: Spans) -> Text:
    """The text with a nugget in double brackets. Of a long text, only the part around the nugget is shown."""
    start, end = 0, len(text)
    if end > LONG:
        start = max(0, spans[0][0] - AROUND)
        start = text.find(" ", start, spans[0][0]) + 1 or start if start else 0
        end = min(len(text), spans[-1][1] + AROUND)
        end = max(text.rfind(" ", spans[-1][1], end), spans[-1][1]) if end < len(text) else end
    shown = mark(text[start:end], tuple((a - start, b - start) for a, b in spans))
    return Text.assemble("… " if start else "", plain(shown), " …" if end < len(text) else "")
