"""The nuggets proposed from good answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.gale.proposal import Candidate
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.terminal import plain, table
from nuggeteer.text import escaped

BEGINNING = 20  # candidates shown


def as_json(found: Sequence[Candidate], model: str | None) -> dict[str, Any]:
    return {
        "model": model,
        "nuggets": [
            {
                "qid": candidate.qid,
                "text": candidate.text,
                "type": candidate.type,
                "answers": candidate.answers,
                "said": list(dict.fromkeys(fact.text for fact in candidate.facts)),
            }
            for candidate in found
        ],
    }


def draw(out: Console, found: Sequence[Candidate], model: str | None, file: str) -> None:
    """The first candidates of each question. The file has all of them."""
    for qid in dict.fromkeys(candidate.qid for candidate in found):
        own = [candidate for candidate in found if candidate.qid == qid]
        columns = [("", "left"), ("answers", "right"), ("proposed nugget", "wrap")]
        rows: list[list[str | Text]] = [
            [candidate.type or "", str(candidate.answers), plain(candidate.text)] for candidate in own[:BEGINNING]
        ]
        out.print(table(f"{qid}: {counted(len(own), 'candidate')}", columns, rows))
        if len(own) > BEGINNING:
            out.print(plain(f"... and {len(own) - BEGINNING:,} more"))
        out.print()
    for line in _next(found, model, file):
        out.print(plain(line))


def _next(found: Sequence[Candidate], model: str | None, file: str) -> Iterable[str]:
    if model is None:
        yield "Without spaCy and a model these are sentences and their parts, not clauses, and need more editing."
    yield (
        f"Edit {escaped(file)}: no line has an importance yet. Write vital or okay, or delete the line. Then add the "
        "file to nuggets.jsonl."
    )
    if model is not None:
        yield model
