"""What changed, on the page: nuggets lost and gained."""

from __future__ import annotations

from typing import Any

from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.reports.change_words import (
    absence,
    by_news,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
    worth,
)
from nuggeteer.reports.html import permalinks
from nuggeteer.reports.passages import beginning, excerpt, surroundings

OPEN = 2  # changes of a kind that are shown with both answers; of the others only the nugget, until it is pressed
LISTED = 6  # changes of a kind at once; more are folded away
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
            listed = [self._change(change, i < OPEN) for i, change in enumerate(found[:MOST])]
            kinds.append(
                {
                    "title": title,
                    "count": len(found),
                    "vital": sum(change.vital for change in found),
                    "shown": listed[:LISTED],
                    "folded": listed[LISTED:],
                    "rest": f"{cut} more" if cut else "",
                }
            )
        return kinds

    def _change(self, change: NuggetChange, is_open: bool) -> dict[str, Any]:
        at = self.key.position[change.question.qid]
        return {
            "name": f"{change.question.qid}/{change.nugget.nugget}",
            "place": permalinks.of_nugget(change.question.qid, change.nugget.nugget),
            "open": is_open,
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
