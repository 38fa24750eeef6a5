"""Whose answer an answer is, where several builds return the same one.

The effect of a build is a part of every guess. But an answer means the same whoever returns it, so its guess must be
one. It is of the first judged build that returned it, by name, and else of the build that is asked about.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from nuggeteer.collection.folder import Collection
from nuggeteer.records import Ints, Run
from nuggeteer.scoring.evidence import builds_of
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.normalising import forms_and_lengths
from nuggeteer.thresholds.model import Build
from nuggeteer.thresholds.rows import key_of

Answer = tuple[int, tuple[int, ...]]  # a question, and the numbers of its responses' texts


class Owners:
    """Which judged builds returned which answers. Their runs are read when somebody asks."""

    def __init__(self, collection: Collection, known: VerdictIndex) -> None:
        builds, _ = builds_of(collection, known)
        there = set(collection.run_names)
        self._collection, self._left = collection, [build for build in builds if build.run in there]
        self._first: dict[Answer, Build] = {}

    def assign(self, matched: MatchedRun) -> MatchedRun:
        """The same run, with the builds of those of its answers that others returned first."""
        for build in self._left:
            if build.run != matched.run.name:
                run = self._collection.run(build.run)
                numbers = list(map(key_of, forms_and_lengths(run.texts)[1]))
                for question, texts in _answers(run, numbers):
                    self._first.setdefault((question, texts), build)
            else:
                for question, texts in _answers(matched.run, matched.text.tolist()):
                    self._first.setdefault((question, texts), build)
        self._left = []
        found = {
            question: self._first[question, texts]
            for question, texts in _answers(matched.run, matched.text.tolist())
            if (question, texts) in self._first
        }
        return replace(matched, owners=found)


def _answers(run: Run, numbers: list[int] | Ints) -> list[Answer]:
    offsets = run.offsets.tolist()
    return [
        (question, tuple(numbers[begin:end])) for question, (begin, end) in enumerate(pairwise(offsets)) if begin < end
    ]
