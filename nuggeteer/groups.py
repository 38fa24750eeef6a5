"""Groups: nuggets that count as one, if any of them is found or only if all are.

No, partly and yes are three levels. A group has the highest level of its members if any of them is enough, and the
lowest if all are needed. Members may be groups, too. Arrays over a key's nuggets have a group's value at the position
of the first nugget in it, which is its `carrier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

if TYPE_CHECKING:
    from nuggeteer.records import Nugget

Positions = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True)
class Grouping:
    """What counts at each position of a key: a nugget that is in no group, a whole group at its carrier, and None for
    its other nuggets. `steps` are the groups with the carriers of their members, inner groups first. `inside` has all
    nuggets of each outermost group, by its carrier."""

    counted: tuple[Nugget | None, ...]
    steps: tuple[tuple[Nugget, Positions], ...] = ()
    inside: tuple[Positions, ...] = ()

    @classmethod
    def of(cls, nuggets: Sequence[Nugget], groups: Sequence[Nugget]) -> Grouping:
        """Of nuggets by position, and the groups of them."""
        if not groups:
            return cls(tuple(nuggets))
        position = {(nugget.qid, nugget.nugget): i for i, nugget in enumerate(nuggets)}
        by_name = {(group.qid, group.nugget): group for group in groups}
        members = {(group.qid, name) for group in groups for name in group.members}
        counted: list[Nugget | None] = list(nuggets)
        steps: list[tuple[Nugget, Positions]] = []
        inside = []

        def settle(group: Nugget) -> tuple[int, list[int]]:
            """The carrier of a group, and all nuggets in it."""
            carriers, leaves = [], []
            for name in group.members:
                inner = by_name.get((group.qid, name))
                at, below = settle(inner) if inner else (i := position[group.qid, name], [i])
                carriers.append(at)
                leaves += below
            steps.append((group, np.array(carriers)))
            return carriers[0], leaves

        for name, group in by_name.items():
            if name not in members:
                carrier, leaves = settle(group)
                for leaf in leaves:
                    counted[leaf] = None
                counted[carrier] = structs.replace(group, descriptions=(_described(group, nuggets, leaves),))
                inside.append(np.array([carrier, *(leaf for leaf in leaves if leaf != carrier)]))
        return cls(tuple(counted), tuple(steps), tuple(inside))

    def combine(self, levels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Levels by nugget (the last axis), with those of the groups at their carriers."""
        if not self.steps:
            return levels
        result = levels.copy()
        for group, at in self.steps:
            best = np.maximum if group.any_of else np.minimum
            result[..., at[0]] = best.reduce(result[..., at], axis=-1)
        return result

    def spread(self, levels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same, with a group's level at all of its nuggets. It stays what it is if it is combined again."""
        result = self.combine(levels)
        for at in self.inside:
            result[..., at] = result[..., at[:1]]
        return result


def _described(group: Nugget, nuggets: Sequence[Nugget], leaves: Sequence[int]) -> str:
    how = "one of" if group.any_of else "all of"
    return f"{how}: {'; '.join(nuggets[leaf].descriptions[0] for leaf in leaves)}"
