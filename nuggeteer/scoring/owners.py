"""Whose text a response counts as, where several systems return the same text.

The effect of a system is a part of every guess. But a text means the same whoever returns it, so its guess must be one.
A text counts as one of the first group that returns it, among the runs that the manifest lists: the groups are in the
order of their names, whatever runs are in a call. Runs that the manifest does not list come last.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nuggeteer.collection.folder import UNLISTED, Collection
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.rows import key_of

Place = tuple[int, int]  # a question, and a text as a number


class Owners:
    """Which groups of a collection return which texts. Runs are read when a run of a later group asks."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        listed = [name for name in collection.run_names if name in collection.manifest]
        self._left = sorted(((collection.group(name), name) for name in listed), reverse=True)
        self._first: dict[Place, tuple[str, str]] = {}  # the group, and the verdict form

    def assign(self, matched: MatchedRun) -> MatchedRun:
        """The same run, with the groups as whose texts its open responses count."""
        own = matched.group
        if not self._read_before(own) or not matched.guessed.any():
            return matched
        owners = [own] * len(matched.run)
        for response, place in enumerate(zip(matched.run.question.tolist(), matched.text.tolist(), strict=True)):
            group, form = self._first.get(place, (own, ""))
            if self._comes_before(group, own) and form == verdict_form(matched.run.texts[response]):
                owners[response] = group
        groups = tuple(sorted(set(owners)))
        if groups == (own,):
            return matched
        number = {group: i for i, group in enumerate(groups)}
        return replace(matched, groups=groups, owner=np.array([number[group] for group in owners], dtype=np.int64))

    def _read_before(self, group: str) -> bool:
        """Read the runs of all groups before this one. Whether there are any texts."""
        while self._left and self._comes_before(self._left[-1][0], group):
            earlier, name = self._left.pop()
            run = self._collection.run(name)
            for question, text in zip(run.question.tolist(), run.texts, strict=True):
                form = verdict_form(text)
                self._first.setdefault((question, key_of(form)), (earlier, form))
        return bool(self._first)

    @staticmethod
    def _comes_before(one: str, other: str) -> bool:
        return one != other and (other == UNLISTED or (one != UNLISTED and one < other))
