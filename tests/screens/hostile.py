"""Texts that would do harm if anything interpreted them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nuggeteer.collection.folder import Collection

BAD = (
    "\x1b]0;owned\x07 \x1b[2J [red]not red[/red] [@click=app.quit]no[/] :bomb: a\u202eb\u200b\u2066c\x9b31m "
    "\ud55c\uae00 漢字 e\u0301 \x00\x08\r\nend"
)
LONG = f"reactor {BAD} " + "Ünïcode 漢字 wörds and more of them. " * 5500  # 200 KB


def collection(collect: Callable[..., Collection]) -> Path:
    """Everything in it is hostile that may be."""
    return collect(
        [
            {"qid": "q1", "nugget": "[b]1[/b]", "text": f"first nuclear reactor {BAD}", "tags": [BAD]},
            {"qid": "q1", "nugget": "2", "descriptions": ["reactor " + "x" * 5000, BAD]},
        ],
        {"tonight": [("q1", f"A reactor. {BAD}"), ("q1", LONG), ("q1", "x" * 20_000), ("q1", "")]},
        [{"qid": "q1", "nugget": "[b]1[/b]", "text": f"The first reactor {BAD}", "verdict": True, "assessor": "bob"}],
        folder="hostile",
    ).root
