"""Where nuggets were seen: the passage of an answer that carries a nugget or comes nearest to it.

A report shows these as the evidence for what changed and for each nugget of a build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Marker, Span
from nuggeteer.records import AnswerKey, Ints, number_or_none
from nuggeteer.scoring.explanation import Explainer
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.outcomes import Outcome


@dataclass(frozen=True, repr=False)
class Passage(Shown):
    """A response, and the `marks` in its text: the words that support a nugget, as [start, end) in characters.

    If the response was cut from a `record`, it begins there at `start`, and `before` and `after` are the rest of the
    record."""

    text: str
    marks: tuple[Span, ...]
    docid: str | None
    rank: int
    record: str = ""
    start: int = 0

    @property
    def before(self) -> str:
        return self.record[: self.start]

    @property
    def after(self) -> str:
        return self.record[self.start + len(self.text) :] if self.record else ""


@dataclass(frozen=True, repr=False)
class Sighting(Shown):
    """A nugget in the answer of one run, `contradicted` if the answer, by a verdict, says the opposite.

    `probability` is None if the model gives none. `look` finds the passage when somebody asks for it. `why` makes the
    explanation of the guess on the passage, if requested, with judged texts that are at least so similar: a page has
    thousands of explanations, and shows them one after the other."""

    found: bool
    known: bool
    probability: float | None
    score: float | None
    look: Callable[[], Passage | None] = field(compare=False)
    why: Callable[[float], Explanation | None] | None = field(default=None, compare=False)
    contradicted: bool = False

    @cached_property
    def passage(self) -> Passage | None:
        """The response that got the credit or, for a nugget that was not found, the best match; None if no response has
        a marked word of it."""
        return self.look()

    @property
    def explanation(self) -> Explanation | None:
        """With all that the matcher says."""
        return None if self.why is None else self.why(0.0)


def sightings_of(marker: Marker, matched: MatchedRun, outcome: Outcome, shown: Ints) -> dict[int, Sighting]:
    """The sightings of these nuggets in the answers of a run, by their positions in the key."""
    run, nearest = matched.run, _nearest(matched, shown, len(outcome.found))

    def look(i: int) -> Passage | None:
        response = int(outcome.response[i]) if outcome.found[i] else -1
        response = max(response, outcome.contradicted.get(i, -1))
        if response < 0 and (outcome.found[i] or outcome.best[i] > 0):
            response = int(nearest[i])
        if response < 0:
            return None
        text = run.texts[response]
        passage = Passage(text, marker(text, i), run.docid(response), run.rank(response), *run.context(response))
        return passage if outcome.found[i] or passage.marks or i in outcome.contradicted else None

    return {
        i: Sighting(
            bool(outcome.found[i]),
            bool(outcome.known[i]),
            number_or_none(outcome.probability[i]),
            number_or_none(outcome.best[i]),
            partial(look, i),
            contradicted=i in outcome.contradicted,
        )
        for i in shown.tolist()
    }


def of_groups(key: AnswerKey, outcome: Outcome, sightings: dict[int, Sighting]) -> dict[int, Sighting]:
    """Adds for each group the sighting of one of its nuggets: of one that is there, if the group is; otherwise of one
    that is contradicted, or else of the missing one with the best match."""
    response, best = outcome.response, np.nan_to_num(outcome.best, nan=-1.0)
    for at in key.grouping.inside:
        if int(at[0]) in sightings:
            there = response[at] >= 0
            opposed = np.array([int(i) in outcome.contradicted for i in at])
            wanted = there if outcome.found[at[0]] else opposed if opposed.any() else ~there
            order = np.lexsort((-best[at], ~wanted))
            sightings[int(at[0])] = sightings[int(at[order[0]])]
    return sightings


def explained(explainer: Explainer, sighting: Sighting, nugget: int) -> Sighting:
    """The sighting with an explanation of its guess; a known verdict needs none."""
    if sighting.known or sighting.passage is None:
        return sighting
    return replace(sighting, why=partial(explainer, sighting.passage.text, nugget))


def _nearest(matched: MatchedRun, shown: Ints, nuggets: int) -> Ints:
    """The first response with the highest match score for each of these nuggets; −1 without an answer."""
    wanted = np.zeros(nuggets, dtype=bool)
    wanted[shown] = True
    where = np.flatnonzero(wanted[matched.nugget])
    order = np.lexsort((where, -matched.scores[where], matched.nugget[where]))
    own, first = np.unique(matched.nugget[where][order], return_index=True)
    result = np.full(nuggets, -1, dtype=np.int64)
    result[own] = np.searchsorted(matched.begin, where[order][first], side="right") - 1
    return result
