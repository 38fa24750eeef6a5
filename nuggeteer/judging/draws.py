"""The pairs that `judge` asks about: drawn at random, and recorded before they are shown.

The chance of each is proportional to what its verdict is expected to take off the variance of the score (`suggest`),
so the draw asks mostly where a verdict narrows the interval, and yet says something about all open pairs. Pairs that
were drawn and not judged are asked about first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from nuggeteer.formats.cache import own_path
from nuggeteer.formats.draws import DrawnPair, append_draw
from nuggeteer.formats.fields import as_written
from nuggeteer.judging.audits.audit import hash_of_responses, stem
from nuggeteer.judging.suggest import Place, Suggestion, VerdictValues
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.rows import key_of


class RecordedDraw:
    """What was drawn of one or two runs, and what is drawn next."""

    def __init__(self, scorer: Scorer, matched_runs: Sequence[MatchedRun]) -> None:
        self._scorer, self._runs = scorer, matched_runs
        self._answers = [hash_of_responses(matched, scorer.key) for matched in matched_runs]

    def next_pairs(self, values: VerdictValues, count: int) -> list[Suggestion]:
        """At least `count` pairs, if there are so many: those that wait for a verdict, and then new ones."""
        number = key_of("".join(self._answers))
        rng = np.random.Generator(np.random.PCG64([self._scorer.seed, 6, number, len(self._recorded)]))
        return values.draw(count, rng, self.waiting)

    def record(self, pair: Suggestion) -> None:
        """Write a pair before it is shown; nothing if it was drawn before."""
        drawn = self._drawn(pair)
        identity = self._identity(drawn)
        if pair.chance and identity not in self._recorded:
            path = own_path(self._scorer.collection.root, f"judgements/draws/{stem(drawn.run)}.jsonl")
            append_draw(path, drawn)
            self._recorded[identity] = drawn

    @property
    def waiting(self) -> list[Place]:
        """(run, nugget, response) of what was drawn and not judged, in the order of drawing."""
        found = []
        place = self._scorer.key.nugget_position
        for drawn in self._recorded.values():
            side = next(i for i, matched in enumerate(self._runs) if matched.run.name == drawn.run)
            nugget = place.get((drawn.qid, drawn.nugget))
            response = self._responses[side].get((drawn.qid, verdict_form(drawn.text)))
            if nugget is not None and response is not None:
                found.append((side, nugget, response))
        return found

    @cached_property
    def _recorded(self) -> dict[tuple[str, str, str, str], DrawnPair]:
        own = {(matched.run.name, answers) for matched, answers in zip(self._runs, self._answers, strict=True)}
        drawn = [pair for pair in self._scorer.collection.draws if (pair.run, pair.answers) in own]
        found: dict[tuple[str, str, str, str], DrawnPair] = {}
        for pair in drawn:
            found.setdefault(self._identity(pair), pair)
        return found

    @cached_property
    def _responses(self) -> list[dict[tuple[str, str], int]]:
        """For each run, its first response with each text."""
        questions, found = self._scorer.key.questions, []
        for matched in self._runs:
            own: dict[tuple[str, str], int] = {}
            rows = zip(matched.run.question.tolist(), matched.run.texts, strict=True)
            for response, (question, text) in enumerate(rows):
                own.setdefault((questions[question].qid, verdict_form(text)), response)
            found.append(own)
        return found

    def _drawn(self, pair: Suggestion) -> DrawnPair:
        matched, nugget = self._runs[pair.run], self._scorer.key.nuggets[pair.nugget]
        text, at = matched.run.texts[pair.response], as_written(datetime.now(UTC))
        asked = (matched.run.name, self._answers[pair.run], nugget.qid, nugget.nugget, text)
        return DrawnPair(*asked, pair.probability, pair.chance, pair.spread, at)

    @staticmethod
    def _identity(pair: DrawnPair) -> tuple[str, str, str, str]:
        return pair.run, pair.qid, pair.nugget, verdict_form(pair.text)
