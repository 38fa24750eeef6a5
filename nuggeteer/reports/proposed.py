"""Nuggets that a language model proposes for the key."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from nuggeteer.asking.proposing import Proposed
from nuggeteer.reports.asked import price
from nuggeteer.reports.formatting import counted, shortened
from nuggeteer.reports.terminal import plain
from nuggeteer.settings import JudgeSettings

SHOWN = 20


def as_json(judge: JudgeSettings, run: str, proposed: Proposed) -> dict[str, Any]:
    return {
        "judge": judge.name,
        "model": judge.model,
        "run": run,
        "texts": proposed.texts,
        "proposals": [
            {"qid": one.qid, "text": one.text, "importance": one.importance, "from": one.response, "docid": one.docid}
            for one in proposed.proposals
        ],
        "repeated": proposed.repeated,
        "unfounded": proposed.unfounded,
        "failed": [{"qid": qid, "reason": reason} for qid, reason in proposed.failed],
        "left": proposed.left,
        "price": proposed.spent,
    }


def draw(out: Console, judge: JudgeSettings, run: str, proposed: Proposed) -> None:
    """What is new, and what was left out."""
    count = counted(len(proposed.proposals), "nugget")
    texts = counted(proposed.texts, "text")
    out.print(plain(f"{judge.name} read {texts} of {run}, price {price(proposed.spent)}, and proposes {count}:"))
    for one in proposed.proposals[:SHOWN]:
        out.print(plain(f"  {one.qid} ({one.importance}): {shortened(one.text, 60)}"))
    if len(proposed.proposals) > SHOWN:
        out.print(f"  and {len(proposed.proposals) - SHOWN:,} more")
    out.print(
        f"Left out: {counted(proposed.repeated, 'fact')} of the key or proposed before, {proposed.unfounded:,} whose "
        "words are not in the text."
    )
    for qid, reason in proposed.failed[:SHOWN]:
        out.print(plain(f"No reply to use on {qid}: {reason}"))
    if proposed.left:
        out.print(f"{counted(proposed.left, 'text')} not asked about; the same command goes on.")
    out.print(
        "They are in proposals.jsonl. Nothing counts until somebody moves it to nuggets.jsonl and gives it an id."
    )
