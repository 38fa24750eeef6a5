"""How good automatic nuggets are, type by type: precision and recall, with the same boundaries and with other ones.

Two nuggets have the same boundaries if they have the same letters and digits. They mark the same fact with other
boundaries if they share half of the longer one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nuggeteer.formats.annotation import Extent
from nuggeteer.gale.annotation import letters, nearest


@dataclass(frozen=True)
class Found:
    """Nuggets of one type, None for all of them: how many there are, how many the nuggetizer found, and how many of
    these are the same nugget with the same boundaries (`exact`) or with other ones (`near`)."""

    type: str | None
    corrected: int
    automatic: int
    exact: int
    near: int

    def precision(self, near: bool = False) -> float | None:
        return self._hits(near) / self.automatic if self.automatic else None

    def recall(self, near: bool = False) -> float | None:
        return self._hits(near) / self.corrected if self.corrected else None

    def f1(self, near: bool = False) -> float | None:
        both = self.automatic + self.corrected
        return 2 * self._hits(near) / both if both else None

    def _hits(self, near: bool) -> int:
        return self.exact + (self.near if near else 0)


def by_type(texts: Iterable[tuple[str, Sequence[Extent], Sequence[Extent]]]) -> list[Found]:
    """Texts with their corrected and their automatic nuggets, counted by type; all types together last."""
    counts: dict[str, list[int]] = {}
    for text, corrected, automatic in texts:
        for kind in sorted({nugget.type or "" for nugget in (*corrected, *automatic)}):
            right, found = (
                [letters(text, nugget) for nugget in nuggets if (nugget.type or "") == kind]
                for nuggets in (corrected, automatic)
            )
            exact, near = _matched(right, found)
            own = counts.setdefault(kind, [0, 0, 0, 0])
            for i, count in enumerate((len(right), len(found), exact, near)):
                own[i] += count
    rows = [Found(kind or "(none)", *own) for kind, own in sorted(counts.items())]
    sums = [sum(own[i] for own in counts.values()) for i in range(4)]
    return [*rows, Found(None, *sums)]


def _matched(right: Sequence[frozenset[int]], found: Sequence[frozenset[int]]) -> tuple[int, int]:
    """How many of the right nuggets were found, each by another one: with the same boundaries, and with other ones."""
    left, missing = list(found), []
    for own in right:
        if own in left:
            left.remove(own)
        else:
            missing.append(own)
    near = 0
    for own in missing:
        best = nearest(own, left)
        if best is not None:
            del left[best]
            near += 1
    return len(right) - len(missing), near
