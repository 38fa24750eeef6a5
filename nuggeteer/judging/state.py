"""How things stand, given all verdicts on disk: the score, what is worth asking next, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.comparing.diff import diff_matched_runs
from nuggeteer.judging.audits.audit import draw_audit, units_to_judge
from nuggeteer.judging.suggest import Forecast, Suggestion, VerdictValues
from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Marker, Span
from nuggeteer.measures import DEFAULT, Measure
from nuggeteer.records import AnswerKey, Run
from nuggeteer.scoring.explanation import Explainer
from nuggeteer.scoring.known import UNKNOWN, YES
from nuggeteer.scoring.outcomes import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import normalised

SUGGESTIONS_AHEAD = 30  # questions worth asking that are worked out at once; a new state comes after every verdict


@dataclass(frozen=True)
class JudgingSubject:
    """What is judged: a run, by name or by file, its score or its difference from `against`; by `measure` (by default
    the first that applies)."""

    root: Path
    run: str
    against: str | None = None
    measure: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class PendingPair:
    """Does this response carry this nugget? `side` is 0 for the run, 1 for the one that it is compared with; `share`
    what the verdict is expected to take off the variance of the score, None where it was not asked for that.

    In an `audit` (what its verdicts are marked with) the whole answer is asked about, and no response is pointed at."""

    side: int
    nugget: int
    response: int
    share: float | None = None
    audit: Mapping[str, Any] | None = None


class JudgingState:
    """The score of a subject and what would make it surer, as the verdicts on disk have it.

    `before` is an earlier state on the same subject, whose marked texts need not be marked again."""

    def __init__(
        self, subject: JudgingSubject, before: JudgingState | None = None, ahead: int = SUGGESTIONS_AHEAD
    ) -> None:
        self.subject = subject
        self.collection: Collection = read_collection(subject.root)
        measures = [subject.measure] if subject.measure else DEFAULT
        self.scorer = Scorer(self.collection, measures, seed=subject.seed)
        self.measure: Measure = self.scorer.measures[0]
        self.scorer.measures = (self.measure,)
        names = [subject.run] if subject.against is None else [subject.run, subject.against]
        self.matched_runs: list[MatchedRun] = [self.scorer.read(name) for name in names]
        self.interval: Interval = self._interval()
        self.forecast: Forecast | None = None
        self.suggested: list[Suggestion] = []
        if self.scorer.draws is not None:
            new, old = self.matched_runs[0], self.matched_runs[1] if len(names) > 1 else None
            values = VerdictValues(self.scorer, new, self.measure, old)
            self.forecast = values.forecast()
            self.suggested = values.suggest(ahead)
        self._chance: dict[tuple[int, int], float | None] = {}
        self._explained: dict[tuple[int, str], Explanation | None] = {}
        for side in range(len(names)):  # now, so that no key has to wait for it
            self._guess(side, [self._pair(side, one.nugget, one.response) for one in self.suggested if one.run == side])
        alike = before is not None and before._telling == self._telling
        self._marked: dict[tuple[int, str], tuple[Span, ...]] = before._marked if before and alike else {}

    def _interval(self) -> Interval:
        if len(self.matched_runs) > 1:
            return diff_matched_runs(self.scorer, self.matched_runs[1], self.matched_runs[0]).headline.interval
        return self.scorer.score(self.matched_runs[0]).measures[self.measure.name]

    @property
    def key(self) -> AnswerKey:
        return self.scorer.key

    def run(self, side: int) -> Run:
        return self.matched_runs[side].run

    @property
    def title(self) -> str:
        """What the interval is of."""
        name = self.run(0).name
        return name if len(self.matched_runs) == 1 else f"{self.run(1).name} → {name}"

    def pending_pairs(self) -> Iterator[PendingPair]:
        """What is suggested; then all that is open, in the order of the key, a nugget's likeliest response first.
        Nuggets that an answer is known to have are not open."""
        for one in self.suggested:
            yield PendingPair(one.run, one.nugget, one.response, one.share)
        for side, matched in enumerate(self.matched_runs):
            open_ = matched.undecided & ~matched.certain(len(self.key.nuggets))[matched.pairs.nugget]
            where = np.flatnonzero(open_)
            order = np.lexsort((where, -matched.pairs.scores[where], matched.pairs.nugget[where]))
            for pair in where[order].tolist():
                response = int(np.searchsorted(matched.begin, pair, side="right")) - 1
                yield PendingPair(side, int(matched.pairs.nugget[pair]), response)

    def audit(self, count: int | None) -> list[PendingPair] | None:
        """The first nuggets of the run's audit, in its order; it is drawn and recorded now if there is none. None if
        none is asked for."""
        if count is None:
            return None
        # All measures that may be asked of it later.
        every = Scorer(self.collection, [self.measure, *DEFAULT], seed=self.subject.seed)
        drawn = draw_audit(every, self.matched_runs[0], self.measure, count)
        return [PendingPair(0, nugget, -1, audit=mark) for nugget, mark in units_to_judge(drawn, count)]

    def responses(self, side: int, nugget: int) -> range:
        """The answer in which the nugget is looked for: positions in the run."""
        question = int(self.key.question[nugget])
        offsets = self.run(side).offsets
        return range(int(offsets[question]), int(offsets[question + 1]))

    def verdict(self, side: int, nugget: int, response: int) -> bool | None:
        """What is known of a pair."""
        state = self.matched_runs[side].states[self._pair(side, nugget, response)]
        return None if state == UNKNOWN else bool(state == YES)

    def guesses(self, side: int, nugget: int, responses: Sequence[int]) -> list[tuple[float | None, float]]:
        """Of each response, the probability that it carries the nugget, None where the model cannot say; and its match
        score."""
        pairs = [self._pair(side, nugget, response) for response in responses]
        if any((side, pair) not in self._chance for pair in pairs):
            self._guess(side, pairs)
        return [(self._chance[side, pair], float(self.matched_runs[side].pairs.scores[pair])) for pair in pairs]

    def _guess(self, side: int, pairs: Sequence[int]) -> None:
        """Work out and keep the probabilities of pairs."""
        matched, chances = self.matched_runs[side], None
        if self.scorer.draws is not None and len(pairs):
            drawn = self.scorer.draws.chances(matched.pairs[np.array(pairs)], matched.group, np.arange(len(pairs)))
            chances = drawn.mean(axis=0, dtype=float).tolist()
        for place, pair in enumerate(pairs):
            self._chance[side, pair] = None if chances is None else chances[place]

    def _pair(self, side: int, nugget: int, response: int) -> int:
        first = int(self.key.offsets[self.key.question[nugget]])
        return int(self.matched_runs[side].begin[response]) + nugget - first

    @cached_property
    def _marker(self) -> Marker:
        return Marker(self.scorer.ngrams)

    @property
    def _telling(self) -> tuple[object, ...]:
        """What marks depend on."""
        idf = self.scorer.material.idf
        return self.key.nuggets, self.scorer.ngrams.signature, idf.name if idf else None

    def marks(self, text: str, nugget: int) -> tuple[Span, ...]:
        """Where the words stand that made the match score."""
        if (nugget, text) not in self._marked:
            self._marked[nugget, text] = self._marker(text, nugget)
        return self._marked[nugget, text]

    def explanation(self, text: str, nugget: int) -> Explanation | None:
        """What spoke for the guess, where that is more than what is marked."""
        if (nugget, text) not in self._explained:
            self._explained[nugget, text] = self._explainer(text, nugget)
        found = self._explained[nugget, text]
        return found if found and found.beyond_marks else None

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.scorer.matcher, self._marker, self.collection)

    @cached_property
    def _examples(self) -> dict[tuple[str, str], dict[str, str]]:
        found: dict[tuple[str, str], dict[str, str]] = {}
        for judgement in self.collection.judgements:
            if judgement.verdict:
                own = found.setdefault((judgement.qid, judgement.nugget), {})
                own.setdefault(normalised(judgement.text), judgement.text)
        return found

    def examples(self, nugget: int) -> dict[str, str]:
        """Texts that were judged yes for a nugget, by their identity."""
        one = self.key.nuggets[nugget]
        return self._examples.get((one.qid, one.nugget), {})
