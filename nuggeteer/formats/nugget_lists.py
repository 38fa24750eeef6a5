"""Lists of nuggets without ids, such as AutoNuggetizer's. A nugget of a key is recognised by its text.

A language model that labels nuggets drops some and changes the order of others, so a place in a list says nothing. A
text is first compared as it is, then without regard to case and white space (`text.normalised`), then as verdicts are
(`text.verdict_form`). Each nugget is taken once: of equal texts, the first is the first nugget with that text.
"""

from __future__ import annotations

from collections.abc import Sequence

from nuggeteer.records import Nugget
from nuggeteer.text import normalised, verdict_form

NOT_ASSIGNED = "not_assigned"  # which we write for a nugget that nobody judged
BETWEEN = " / "  # joins several descriptions of a nugget


def places(texts: Sequence[str], nuggets: Sequence[Nugget]) -> list[int | None]:
    """The index in `nuggets` of each text, None if no nugget has it."""
    found: list[int | None] = [None] * len(texts)
    taken: set[int] = set()
    for form in (str, normalised, verdict_form):
        free: dict[str, list[int]] = {}
        for i in reversed([i for i in range(len(nuggets)) if i not in taken]):
            own = nuggets[i].descriptions
            for text in {form(text) for text in (*own, BETWEEN.join(own))}:
                free.setdefault(text, []).append(i)
        for at in [at for at, place in enumerate(found) if place is None]:
            candidates = free.get(form(texts[at]), [])
            while candidates and found[at] is None:
                if (place := candidates.pop()) not in taken:
                    found[at] = place
                    taken.add(place)
    return found
