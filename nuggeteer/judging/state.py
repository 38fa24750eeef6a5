"""The state of judging, given all verdicts on disk: the score, the answers worth reading next, and what is left; and
what a session has changed since."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.runs import run_hash
from nuggeteer.judging.audits.audit import draw_audit, units_to_judge
from nuggeteer.judging.forecast import Forecast, Pace, pace_of
from nuggeteer.judging.reading_order import MOST, ReadingCard, ReadingOrder, outcomes_of
from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Span
from nuggeteer.measures import DEFAULT, Measure
from nuggeteer.records import AnswerKey, Judgement, Run, Scope, Vector, number_or_none, titles_of
from nuggeteer.scoring.explanation import Explainer
from nuggeteer.scoring.known import UNKNOWN, YES
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import verdict_form


@dataclass(frozen=True)
class JudgingSubject:
    """What is judged: the score of a run, given by name or file, or its difference from the run `against`, which
    may also be a recorded build.

    `measure` is by default the first one that applies to the key. Minutes are those of the `assessor`, by the times of
    earlier verdicts; without a name, those of everybody who judged here."""

    root: Path
    run: str
    against: str | Run | None = None
    measure: str | None = None
    seed: int = 0
    assessor: str | None = None


@dataclass(frozen=True)
class AnswerCard:
    """What is asked at once: which of some nuggets one answer has.

    `side` is 0 for the run and 1 for the run that it is compared with. With a `response`, the question is whether this
    response has the only nugget. In an audit, `audit` is what the verdicts are marked with."""

    side: int
    question: int
    nuggets: tuple[int, ...]
    response: int | None = None
    audit: Mapping[str, Any] | None = None


def return_memory() -> None:
    """Give freed memory back to the system. The C library of Linux keeps a hundred megabytes of it in pieces after each
    state that a session reads."""
    with suppress(OSError, AttributeError, TypeError):  # systems that have no such function
        ctypes.CDLL(None).malloc_trim(0)


class JudgingState:
    """The answers whose verdicts would make the score of a subject more certain, as of the verdicts on disk; and the
    score.

    What to ask next is known soon. `interval` and `forecast` are computed only when they are wanted. On a large
    collection this takes as long again, so a screen asks for both in a thread (`score`)."""

    def __init__(self, subject: JudgingSubject, scorer: Scorer, matched_runs: Sequence[MatchedRun]) -> None:
        self.subject, self.scorer, self.matched_runs = subject, scorer, matched_runs
        self.collection: Collection = scorer.collection
        self.measure: Measure = scorer.measures[0]
        self._marked: dict[tuple[int, str], tuple[Span, ...]] = {}
        self._explained: dict[tuple[int, str], Explanation | None] = {}

    @classmethod
    def read(cls, subject: JudgingSubject, earlier: JudgingState | None = None) -> JudgingState:
        """Read the collection. `earlier` is an earlier state of the same subject. The texts marked for it are not
        marked again."""
        collection = read_collection(subject.root)
        scorer = Scorer(collection, [subject.measure] if subject.measure else DEFAULT, seed=subject.seed)
        scorer.measures = scorer.measures[:1]
        runs = [subject.run] if subject.against is None else [subject.run, subject.against]
        matched_runs = [scorer.read(run) for run in runs]
        if earlier is not None:
            return_memory()
        state = cls(subject, scorer, matched_runs)
        if earlier is not None and earlier._marks_basis == state._marks_basis:
            state._marked = earlier._marked
        return state

    @cached_property
    def _order(self) -> ReadingOrder:
        pace = pace_of(self.key, self.collection.judgements, self.subject.assessor)
        against = self.matched_runs[1] if len(self.matched_runs) == 2 else None
        return ReadingOrder(self.scorer, self.matched_runs[0], self.measure, against, pace)

    @cached_property
    def cards(self) -> tuple[ReadingCard, ...]:
        """What to read, in order: each card has the answers of one or two runs."""
        return self._order.cards

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
        return None if self.scorer.draws is None else self._order.forecast()

    @cached_property
    def _chances(self) -> list[Vector]:
        """For each run, the probability that its answer has each nugget."""
        return [outcome.probability for outcome in outcomes_of(self.scorer, self.matched_runs)]

    @property
    def is_scored(self) -> bool:
        """Whether interval and forecast are there without further computation."""
        return "interval" in vars(self) and "forecast" in vars(self)

    def score(self) -> None:
        """Compute what screens show, and then forget the draws, which only this needs."""
        if not self.is_scored:
            _ = self.cards, self._chances, self.interval, self.forecast
            vars(self).pop("_order", None)
            self.scorer.forget_outcomes()

    @property
    def key(self) -> AnswerKey:
        return self.scorer.key

    def run(self, side: int) -> Run:
        return self.matched_runs[side].run

    @cached_property
    def run_hashes(self) -> tuple[str, ...]:
        """What tells the answers of each run apart from those that another build of its name has."""
        return tuple(run_hash(matched.run, self.key) for matched in self.matched_runs)

    @property
    def title(self) -> str:
        """The run or the two runs whose score the interval is for."""
        return " → ".join(reversed(self.titles))

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Of each side's run."""
        new = self.run(0)
        return (new.title,) if len(self.matched_runs) == 1 else titles_of(self.run(1), new)[::-1]

    def tells(self, question: int) -> bool:
        """Whether verdicts on answers to a question narrow the interval."""
        return any(card.question == question for card in self.cards)

    def seconds(self, card: AnswerCard) -> float:
        """What a card takes: reading, and a decision for each nugget; nothing if it has none."""
        if not card.nuggets:
            return 0.0
        run, pace = self.run(card.side), Pace()
        text = run.answer(card.question) if card.response is None else run.texts[card.response]
        read = pace.reading(self.key.questions[card.question].text, text)
        return read + sum(pace.decision(self.key.nuggets[nugget].descriptions[0]) for nugget in card.nuggets)

    def answers(self) -> Iterator[AnswerCard]:
        """Each answer with its open nuggets, in the order in which to read them: those that move the score, and then
        the rest. With two runs, the old answer to a question comes before the new one."""
        given: list[set[int]] = [set() for _ in self.matched_runs]
        for card in self.cards:
            for side, own in groupby(card.suggestions, key=lambda suggestion: suggestion.run):
                nuggets = tuple(suggestion.nugget for suggestion in own)
                given[side].update(nuggets)
                yield AnswerCard(side, card.question, nuggets)
        left = [np.flatnonzero(matched.open_nuggets) for matched in self.matched_runs]
        for question in np.unique(self.key.question[np.concatenate(left)]).tolist():
            for side in reversed(range(len(left))):
                begin, end = np.searchsorted(left[side], self.key.offsets[question : question + 2])
                if nuggets := tuple(n for n in left[side][begin:end].tolist() if n not in given[side]):
                    yield AnswerCard(side, question, nuggets)

    def pairs(self) -> Iterator[AnswerCard]:
        """One response and one nugget at a time: for each open nugget its best response first, then all others."""
        for others in (False, True):
            for card in self.answers():
                scores = self.matched_runs[card.side].scores
                for nugget in card.nuggets:
                    best = self.best_response(card.side, nugget)
                    responses = [best]
                    if others:
                        whole = [response for response in self.responses(card.side, card.question) if response != best]
                        responses = sorted(whole, key=lambda response: -scores[self._pair(card.side, nugget, response)])
                    for response in responses:
                        yield replace(card, nuggets=(nugget,), response=response)

    def audit(self, count: int | None) -> list[AnswerCard] | None:
        """What the run's audit drew, in its order, as much as fits into the time of `count` nuggets; None without a
        count. If there is no audit yet, it is drawn and recorded now."""
        if count is None:
            return None
        # With all measures that `score --audited` may be asked for later.
        every = Scorer(self.collection, [self.measure, *DEFAULT], seed=self.subject.seed)
        drawn = draw_audit(every, self.matched_runs[0], self.measure, count)
        units = units_to_judge(every, self.matched_runs[0], drawn, count)
        return [AnswerCard(0, int(self.key.question[unit[0]]), unit, audit=mark) for unit, mark in units]

    def responses(self, side: int, question: int) -> range:
        """The positions in the run of its answer to a question."""
        own = self.run(side).own(question)
        return range(own.start, own.stop)

    def verdict(self, side: int, nugget: int) -> bool | None:
        """Whether an answer is known to have a nugget; None if it is not known."""
        matched = self.matched_runs[side]
        return None if matched.open_nuggets[nugget] else bool(matched.certain[nugget])

    def known(self, side: int, question: int) -> list[int]:
        """The first nuggets of a question for which it is known whether an answer has them."""
        own = self.key.own(question)
        return [own.start + int(n) for n in np.flatnonzero(~self.matched_runs[side].open_nuggets[own])[:MOST]]

    def verdict_on(self, side: int, nugget: int, response: int) -> bool | None:
        """The known verdict on a response; None if it is not known."""
        known = self.matched_runs[side].by_response[self._pair(side, nugget, response)]
        return None if known == UNKNOWN else bool(known == YES)

    def guess(self, side: int, nugget: int) -> tuple[float | None, float | None]:
        """The probability that an answer has a nugget, None if the model gives none, and the match score of its best
        response."""
        matched = self.matched_runs[side]
        pair = matched.best[nugget]
        score = None if pair < 0 else float(matched.scores[pair])
        return number_or_none(self._chances[side][nugget]), score

    def best_response(self, side: int, nugget: int) -> int:
        """The response that matches an open nugget best."""
        matched = self.matched_runs[side]
        return int(matched.response_of(matched.best[nugget : nugget + 1])[0])

    def _pair(self, side: int, nugget: int, response: int) -> int:
        first = int(self.key.offsets[self.key.question[nugget]])
        return int(self.matched_runs[side].begin[response]) + nugget - first

    @property
    def _marks_basis(self) -> tuple[object, ...]:
        """What the marks depend on."""
        idf = self.scorer.material.idf
        return self.key.nuggets, self.scorer.ngrams.signature, idf.name if idf else None

    def marks(self, text: str, nugget: int) -> tuple[Span, ...]:
        """The spans of the words that made the match score."""
        if (nugget, text) not in self._marked:
            self._marked[nugget, text] = self.scorer.marker(text, nugget)
        return self._marked[nugget, text]

    def explanation(self, text: str, nugget: int) -> Explanation | None:
        """The evidence for the guess, if it is more than the marked words."""
        if (nugget, text) not in self._explained:
            self._explained[nugget, text] = self._explainer(text, nugget)
        found = self._explained[nugget, text]
        return found if found and found.beyond_marks else None

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.scorer.matcher, self.scorer.marker, self.collection, self.scorer.worth_of_carried)

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


class SessionVerdicts:
    """The verdicts that hold in a session: those that its state has read, and those that were written or taken back
    since. A screen shows the next question at once, and a newer state comes later. What the session does meanwhile is
    remembered here until a state has it.

    A verdict belongs to a nugget and to the form of a text, a response's or a whole answer's."""

    def __init__(self, state: JudgingState) -> None:
        self._state = state
        self.revision = 0  # grows with every verdict and retraction
        # For each nugget with a verdict: by form, the verdict (None if it was taken back) and its revision.
        self._unread: dict[int, dict[str, tuple[bool | None, int]]] = {}
        self.form = cache(verdict_form)

    def remember(self, judgement: Judgement, verdict: bool | None) -> None:
        """A judgement was written, or taken back (None)."""
        nugget, form = self.pair(judgement)
        self.revision += 1
        self._unread.setdefault(nugget, {})[form] = verdict, self.revision

    def take_over(self, state: JudgingState, revision: int) -> None:
        """A newer state has all verdicts up to a revision."""
        self._state = state
        for nugget, own in list(self._unread.items()):
            self._unread[nugget] = {form: said for form, said in own.items() if said[1] > revision}
            if not self._unread[nugget]:
                del self._unread[nugget]

    def pair(self, judgement: Judgement) -> tuple[int, str]:
        """The nugget and the form of the text."""
        nugget = self._state.key.nugget_position[judgement.qid, judgement.nugget]
        return nugget, self._form_of(judgement.text, judgement.scope)

    def is_taken_back(self, judgement: Judgement) -> bool:
        """Whether a judgement that the state has was taken back since."""
        nugget, form = self.pair(judgement)
        return self._unread.get(nugget, {}).get(form, (True, 0))[0] is None

    def is_yes_still(self, nugget: int, form: str) -> bool:
        """Whether a yes that the state has on such a text holds."""
        return bool(self._unread.get(nugget, {}).get(form, (True, 0))[0])

    def on_response(self, side: int, nugget: int, response: int) -> bool | None:
        """The known verdict on a response."""
        known, own = self._state.verdict_on(side, nugget, response), self._unread.get(nugget)
        return own.get(self.form(self._state.run(side).texts[response]), (known, 0))[0] if own else known

    def on_answer(self, side: int, nugget: int) -> bool | None:
        """Whether an answer is known to have a nugget. After a verdict was taken back, that is open."""
        known, own = self._state.verdict(side, nugget), self._unread.get(nugget)
        if not own:
            return known
        question = int(self._state.key.question[nugget])
        run, responses = self._state.run(side), self._state.responses(side, question)
        forms = [self.form(run.texts[response]) for response in responses]
        whole = self._form_of(run.answer(question), "answer")
        said = {own[form][0] for form in (whole, *forms) if form in own}
        if True in said:
            return True
        if whole in own:
            return own[whole][0]
        if None in said:
            return None
        # What is left is a no on some of the responses.
        on_each = {self.on_response(side, nugget, response) for response in responses}
        return False if known is None and on_each == {False} else known

    def is_open(self, card: AnswerCard, nugget: int) -> bool:
        """Whether something is left to ask about a nugget of a card."""
        if self.on_answer(card.side, nugget) is not None:
            return False
        return card.response is None or self.on_response(card.side, nugget, card.response) is None

    def _form_of(self, text: str, scope: Scope) -> str:
        """A verdict form has no line feed; one before it says that the text is a whole answer's."""
        return f"\n{self.form(text)}" if scope == "answer" else self.form(text)
