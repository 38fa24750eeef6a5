"""The state of judging, given all verdicts on disk: the score, the pairs worth asking about next, and what is left."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.judging.audits.audit import draw_audit, units_to_judge
from nuggeteer.judging.draws import RecordedDraw
from nuggeteer.judging.suggest import Forecast, Suggestion, VerdictValues
from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Marker, Span
from nuggeteer.measures import DEFAULT, Measure
from nuggeteer.records import AnswerKey, Run
from nuggeteer.scoring.explanation import Explainer
from nuggeteer.scoring.known import UNKNOWN, YES
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import verdict_form

SUGGESTIONS_AHEAD = 30  # suggestions computed at once; a new state is read after every verdict


@dataclass(frozen=True)
class JudgingSubject:
    """What is judged: the score of a run, given by name or file, or its difference from the run `against`, which
    may also be a recorded build.

    `measure` is by default the first one that applies to the key."""

    root: Path
    run: str
    against: str | Run | None = None
    measure: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class PendingPair:
    """A pair to judge: does this response carry this nugget?

    `side` is 0 for the run and 1 for the run it is compared with. `share` of the score's variance that the verdict is
    expected to remove; None if the pair was not `drawn`. In an audit, `audit` is what the verdicts are marked with;
    the question is then about the whole answer, and `response` is −1."""

    side: int
    nugget: int
    response: int
    share: float | None = None
    drawn: Suggestion | None = None
    audit: Mapping[str, Any] | None = None


def return_memory() -> None:
    """Give back to the system what was freed. The C library of Linux keeps a hundred megabytes of it in pieces, after
    each of the states that a session reads."""
    with suppress(OSError, AttributeError, TypeError):  # systems that have no such function
        ctypes.CDLL(None).malloc_trim(0)


class JudgingState:
    """The verdicts that would make the score of a subject more certain, as of the verdicts on disk; and the score.

    What is asked next, `suggested`, is known at once. `interval` and `forecast` are worked out when somebody wants
    them, which takes as long again on a large collection: a screen asks for both in a thread (`score`)."""

    def __init__(
        self,
        subject: JudgingSubject,
        scorer: Scorer,
        matched_runs: Sequence[MatchedRun],
        ahead: int = SUGGESTIONS_AHEAD,
    ) -> None:
        self.subject, self.scorer, self.matched_runs, self.ahead = subject, scorer, matched_runs, ahead
        self.collection: Collection = scorer.collection
        self.measure: Measure = scorer.measures[0]
        self.drawn = RecordedDraw(scorer, matched_runs)
        self.suggested: list[Suggestion] = []
        if ahead and scorer.draws is not None:
            self.suggested = self.drawn.next_pairs(self._values, ahead)
        self._chance: dict[tuple[int, int], float | None] = {}
        self._marked: dict[tuple[int, str], tuple[Span, ...]] = {}
        self._explained: dict[tuple[int, str], Explanation | None] = {}

    @classmethod
    def read(
        cls, subject: JudgingSubject, earlier: JudgingState | None = None, ahead: int = SUGGESTIONS_AHEAD
    ) -> JudgingState:
        """Read the collection and compute `ahead` suggestions; none for an audit, which has an order of its own.

        `earlier` is an earlier state of the same subject. The texts marked for it are not marked again."""
        collection = read_collection(subject.root)
        scorer = Scorer(collection, [subject.measure] if subject.measure else DEFAULT, seed=subject.seed)
        scorer.measures = scorer.measures[:1]
        runs = [subject.run] if subject.against is None else [subject.run, subject.against]
        matched_runs = [scorer.read(run) for run in runs]
        if earlier is not None:
            return_memory()
        state = cls(subject, scorer, matched_runs, ahead)
        for side in range(len(state.matched_runs)):  # now, so that no key press has to wait for it
            pairs = [state._pair(side, pair.nugget, pair.response) for pair in state.suggested if pair.run == side]
            state._guess(side, pairs)
        if earlier is not None and earlier._marks_basis == state._marks_basis:
            state._marked = earlier._marked
        return state

    @cached_property
    def _values(self) -> VerdictValues:
        return VerdictValues(self.scorer, self.matched_runs[0], self.measure, *self.matched_runs[1:])

    @cached_property
    def interval(self) -> Interval:
        """The interval of the score, or of the difference."""
        if len(self.matched_runs) == 1:
            return self.scorer.score(self.matched_runs[0]).measures[self.measure.name]
        from nuggeteer.comparing.diff import change_of

        new, old = self.matched_runs
        return change_of(self.scorer, old, new, self.measure).interval

    @cached_property
    def forecast(self) -> Forecast | None:
        """How the interval is expected to narrow; None if the model cannot say."""
        return None if self.scorer.draws is None else self._values.forecast(self.interval.judging)

    @property
    def is_scored(self) -> bool:
        """Whether interval and forecast are there without further computation."""
        return "interval" in vars(self) and "forecast" in vars(self)

    def score(self) -> None:
        """Work out interval and forecast, and then forget what only these need."""
        if not self.is_scored:
            _ = self.interval, self.forecast
            vars(self).pop("_values", None)
            self.scorer.forget_outcomes()

    @property
    def key(self) -> AnswerKey:
        return self.scorer.key

    def run(self, side: int) -> Run:
        return self.matched_runs[side].run

    @property
    def title(self) -> str:
        """The run or the two runs whose score the interval is for."""
        name = self.run(0).name
        return name if len(self.matched_runs) == 1 else f"{self.run(1).name} → {name}"

    def pending_pairs(self) -> Iterator[PendingPair]:
        """The suggestions, then every open pair in the order of the key, the best matching response of a nugget first.
        Nuggets that an answer is known to have are not open."""
        for pair in self.suggested:
            yield PendingPair(pair.run, pair.nugget, pair.response, pair.share or None, drawn=pair)
        for side, matched in enumerate(self.matched_runs):
            open_ = matched.undecided & ~matched.certain[matched.pairs.nugget]
            where = np.flatnonzero(open_)
            order = np.lexsort((where, -matched.pairs.scores[where], matched.pairs.nugget[where]))
            for position in where[order].tolist():
                response = int(np.searchsorted(matched.begin, position, side="right")) - 1
                yield PendingPair(side, int(matched.pairs.nugget[position]), response)

    def audit(self, count: int | None) -> list[PendingPair] | None:
        """The first `count` nuggets of the run's audit, in its order; None without a count. An audit is drawn and
        recorded now if there is none yet."""
        if count is None:
            return None
        # With all measures that `score --audited` may be asked for later.
        every = Scorer(self.collection, [self.measure, *DEFAULT], seed=self.subject.seed)
        drawn = draw_audit(every, self.matched_runs[0], self.measure, count)
        return [PendingPair(0, nugget, -1, audit=mark) for nugget, mark in units_to_judge(drawn, count)]

    def responses(self, side: int, nugget: int) -> range:
        """The positions in the run of the answer in which the nugget is looked for."""
        question = int(self.key.question[nugget])
        offsets = self.run(side).offsets
        return range(int(offsets[question]), int(offsets[question + 1]))

    def verdict(self, side: int, nugget: int, response: int) -> bool | None:
        """The known verdict on a pair; None if it is not known."""
        state = self.matched_runs[side].states[self._pair(side, nugget, response)]
        return None if state == UNKNOWN else bool(state == YES)

    def guesses(self, side: int, nugget: int, responses: Sequence[int]) -> list[tuple[float | None, float]]:
        """For each response the probability that it carries the nugget, None if the model gives none, and its match
        score."""
        pairs = [self._pair(side, nugget, response) for response in responses]
        if any((side, pair) not in self._chance for pair in pairs):
            self._guess(side, pairs)
        return [(self._chance[side, pair], float(self.matched_runs[side].pairs.scores[pair])) for pair in pairs]

    def _guess(self, side: int, pairs: Sequence[int]) -> None:
        """Compute and keep the probabilities of pairs."""
        matched, chances = self.matched_runs[side], None
        if self.scorer.draws is not None and len(pairs):
            drawn = matched.rates(self.scorer.draws, np.array(pairs), np.arange(len(pairs)))
            chances = (-np.expm1(-drawn)).mean(axis=1, dtype=float).tolist()
        for i, pair in enumerate(pairs):
            self._chance[side, pair] = None if chances is None else chances[i]

    def _pair(self, side: int, nugget: int, response: int) -> int:
        first = int(self.key.offsets[self.key.question[nugget]])
        return int(self.matched_runs[side].begin[response]) + nugget - first

    @cached_property
    def _marker(self) -> Marker:
        return Marker(self.scorer.ngrams, few=True)

    @property
    def _marks_basis(self) -> tuple[object, ...]:
        """What the marks depend on."""
        idf = self.scorer.material.idf
        return self.key.nuggets, self.scorer.ngrams.signature, idf.name if idf else None

    def marks(self, text: str, nugget: int) -> tuple[Span, ...]:
        """The spans of the words that made the match score."""
        if (nugget, text) not in self._marked:
            self._marked[nugget, text] = self._marker(text, nugget)
        return self._marked[nugget, text]

    def explanation(self, text: str, nugget: int) -> Explanation | None:
        """The evidence for the guess, if it is more than the marked words."""
        if (nugget, text) not in self._explained:
            self._explained[nugget, text] = self._explainer(text, nugget)
        found = self._explained[nugget, text]
        return found if found and found.beyond_marks else None

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.scorer.matcher, self._marker, self.collection, self.scorer.carried_weight)

    @cached_property
    def _examples(self) -> dict[tuple[str, str], dict[str, str]]:
        found: dict[tuple[str, str], dict[str, str]] = {}
        for judgement in self.collection.judgements:
            if judgement.verdict and judgement.scope == "response":
                own = found.setdefault((judgement.qid, judgement.nugget), {})
                own.setdefault(verdict_form(judgement.text), judgement.text)
        return found

    def examples(self, nugget: int) -> dict[str, str]:
        """Texts judged yes for a nugget, by their verdict form."""
        wanted = self.key.nuggets[nugget]
        return self._examples.get((wanted.qid, wanted.nugget), {})
