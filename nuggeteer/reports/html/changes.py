"""What changed, on the page: nuggets lost and gained, and the questions that changed most."""

from __future__ import annotations

from typing import Any

from nuggeteer.comparing.diff import Diff, NuggetChange, Sighting
from nuggeteer.reports.change_words import (
    absence,
    by_news,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
    worth,
)
from nuggeteer.reports.formatting import number, signed
from nuggeteer.reports.passages import beginning, excerpt, surroundings

LISTED = 8  # changes of a kind at once; more are folded away
MOST = 200  # of a kind in all
SIZE = 360  # characters of a passage


class Changes:
    """The differences from the run that the build is compared with."""

    def __init__(self, diff: Diff) -> None:
        self.diff, self.key = diff, diff.key

    @property
    def in_words(self) -> list[str]:
        return [*nuggets_in_words(self.diff), *texts_in_words(self.diff)]

    @property
    def kinds(self) -> list[dict[str, Any]]:
        """What is forbidden and claimed now, lost, gained: the first of each kind, and what is folded away."""
        kinds = []
        for title, found in by_news(self.diff):
            cut = max(len(found) - MOST, 0)
            kinds.append(
                {
                    "title": title,
                    "count": len(found),
                    "vital": sum(change.vital for change in found),
                    "shown": [self._change(change) for change in found[:LISTED]],
                    "folded": [self._change(change) for change in found[LISTED:MOST]],
                    "rest": f"{cut} more" if cut else "",
                }
            )
        return kinds

    def _change(self, change: NuggetChange) -> dict[str, Any]:
        at = self.key.position[change.question.qid]
        return {
            "name": f"{change.question.qid}/{change.nugget.nugget}",
            "importance": change.nugget.importance,
            "look": "gained" if (change.kind == "gained") != change.forbidden else "lost",
            "sign": "−" if change.kind == "lost" else "+",
            "description": beginning(change.nugget.descriptions[0], SIZE),
            "question": beginning(change.question.text, SIZE),
            "known": change.known,
            "sure": sureness(change).plain,
            "worth": worth(change, self.diff.headline.measure.title),
            "sides": [
                _side("old", change.old, bool(self.diff.old.answered[at])),
                _side("new", change.new, bool(self.diff.new.answered[at])),
            ],
        }

    @property
    def questions(self) -> list[dict[str, str]]:
        """The questions whose score changed most."""
        delta = self.diff.headline
        rows = []
        for i in delta.most_changed[:10].tolist():
            old, new = (round(float(each[i]), 3) for each in (delta.old_by_question, delta.new_by_question))
            rows.append(
                {
                    "qid": self.key.questions[i].qid,
                    "text": beginning(self.key.questions[i].text),
                    "old": number(old),
                    "new": number(new),
                    "change": signed(round(new - old, 3)),
                    "length": f"{self.diff.old.length[i]:,} → {self.diff.new.length[i]:,}",
                }
            )
        return rows


def _side(name: str, sighting: Sighting, answered: bool) -> dict[str, Any]:
    passage = sighting.passage
    before, after = surroundings(passage, SIZE) if passage else ("", "")
    return {
        "name": name,
        "known": sighting.known,
        "found": sighting.found,
        "verdict": verdict(sighting).plain,
        "before": before,
        "pieces": excerpt(passage, SIZE) if passage else [],
        "after": after,
        "nothing": absence(sighting, answered),
        "docid": (passage.docid or "") if passage else "",
    }
