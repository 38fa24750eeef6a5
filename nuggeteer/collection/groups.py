"""Groups of nuggets in an answer key: whether they make sense."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from nuggeteer.errors import Problem
from nuggeteer.records import Nugget

DEEPEST = 10  # groups inside groups


def group_problems(
    path: Path, nuggets: Mapping[str, Mapping[str, Nugget]], lines: Mapping[tuple[str, str], int]
) -> Iterator[Problem]:
    """What is wrong with the groups of each question: unknown members, members of two groups, circles, and members with
    a weight of their own, which would count for nothing."""
    for qid, own in nuggets.items():
        groups = {name: nugget for name, nugget in own.items() if nugget.members}
        within: dict[str, str] = {}
        for name, group in groups.items():
            at = str(path), lines[qid, name]
            for member in group.members:
                if member not in own:
                    what = f"the group {name!r} of {qid!r} has the member {member!r}, which is no nugget of {qid!r}"
                    yield Problem(*at, what, "correct the id, or add the nugget")
                elif other := within.get(member):
                    what = f"the nugget {member!r} of {qid!r} is in the groups {other!r} and {name!r}"
                    yield Problem(*at, what, "keep it in one of them")
                else:
                    within[member] = name
                    if own[member].weight is not None or own[member].votes:
                        what = f"{member!r} is in the group {name!r} of {qid!r}, so its own weight does not count"
                        yield Problem(at[0], lines[qid, member], what, "give the group a weight instead", "warning")
        for name in groups:
            above: list[str] = []
            while (name := within.get(name, "")) and len(above) < DEEPEST:
                above.append(name)
            if name:
                what = f"a group of {qid!r} contains itself, or groups are more than {DEEPEST} deep, at {name!r}"
                yield Problem(str(path), lines[qid, name], what, "take a group out of another")
                break
