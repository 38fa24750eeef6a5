"""Where to judge next, on the page."""

from __future__ import annotations

import json
from typing import Any

from nuggeteer.history.briefing import Briefing, SuggestedPair
from nuggeteer.reports.formatting import (
    chance,
    percent,
)
from nuggeteer.reports.passages import beginning, excerpt
from nuggeteer.text import escaped

SIZE = 360  # characters of a passage


class JudgeNext:
    """The pairs most worth judging."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing = briefing
        self.key = briefing.key

    @property
    def suggestions(self) -> list[dict[str, Any]]:
        return [self._suggestion(suggested) for suggested in self.briefing.suggested]

    def _suggestion(self, suggested: SuggestedPair) -> dict[str, Any]:
        suggestion, passage = suggested.suggestion, suggested.passage
        nugget = self.key.nuggets[suggestion.nugget]
        run = self.briefing.score.run
        record = {"qid": nugget.qid, "nugget": nugget.nugget, "text": passage.text, "verdict": True}
        record |= {"docid": passage.docid} if passage.docid is not None else {}
        return {
            "name": f"{nugget.qid}/{nugget.nugget}",
            "question": beginning(self.key.questions[self.key.question[suggestion.nugget]].text),
            "description": beginning(nugget.descriptions[0], SIZE),
            "importance": nugget.importance,
            "chance": chance(suggestion.probability),
            "share": percent(round(1000 * suggestion.share), 1000),
            "pieces": excerpt(passage, SIZE),
            "where": f"response {passage.rank}{_docid(passage.docid)}",
            "line": json_line(record | {"run": run.name}),
        }


def json_line(record: dict[str, Any]) -> str:
    """A line for a file of judgements, with nothing in it that cannot be seen."""
    line = json.dumps(record, ensure_ascii=False)
    return "".join(c if escaped(c) == c else json.dumps(c)[1:-1] for c in line)


def _docid(docid: str | None) -> str:
    return f", {docid}" if docid else ""
