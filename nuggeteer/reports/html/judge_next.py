"""Where to judge next, on the page."""

from __future__ import annotations

import shlex
from typing import Any

from nuggeteer.history.briefing import Briefing, SuggestedPair
from nuggeteer.reports.formatting import percent
from nuggeteer.reports.passages import beginning, excerpt

SIZE = 360  # characters of a passage


class JudgeNext:
    """The pairs most worth judging. Their guesses are not shown, because they would sway who judges them."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing = briefing
        self.key = briefing.key

    @property
    def command(self) -> str:
        return f"nuggeteer judge {shlex.quote(self.briefing.score.run.name)}"

    @property
    def suggestions(self) -> list[dict[str, Any]]:
        return [self._suggestion(suggested) for suggested in self.briefing.suggested]

    def _suggestion(self, suggested: SuggestedPair) -> dict[str, Any]:
        suggestion, passage = suggested.suggestion, suggested.passage
        nugget = self.key.nuggets[suggestion.nugget]
        return {
            "name": f"{nugget.qid}/{nugget.nugget}",
            "question": beginning(self.key.questions[self.key.question[suggestion.nugget]].text),
            "description": beginning(nugget.descriptions[0], SIZE),
            "importance": nugget.importance,
            "share": percent(round(1000 * suggestion.share), 1000),
            "pieces": excerpt(passage, SIZE),
            "where": f"response {passage.rank}{_docid(passage.docid)}",
        }


def _docid(docid: str | None) -> str:
    return f", {docid}" if docid else ""
